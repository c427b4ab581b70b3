-- expand, admits 1: releases that do not know the table do without.

-- Which store this is: one row from `init` on. A dump, a clone and a move to another engine keep it,
-- and a file beside the keyring has it too. Of a store that there is already it is made of what every
-- copy has alike, older backups included.
CREATE TABLE lineage (
    one BIGINT PRIMARY KEY DEFAULT 1 CHECK (one = 1),
    id {text} NOT NULL
);
INSERT INTO lineage (id)
SELECT 'store-' || substr(id, 4) || '-' || created_at
FROM keyring_keys ORDER BY created_at, id LIMIT 1;
