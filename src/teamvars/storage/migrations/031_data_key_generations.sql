-- expand, admits 1: a node that does not know the columns leaves them at the one generation there is,
-- and no other is made before such nodes are shut out.

-- Each organization has a data key of each generation that it needs, and seals under that which was
-- activated last.
CREATE TABLE data_key_generations (
    version BIGINT PRIMARY KEY,
    created_at BIGINT NOT NULL,
    activated_at BIGINT,
    retired_at BIGINT
);
INSERT INTO data_key_generations (version, created_at, activated_at) VALUES (1, 0, 0);

-- The generation of the key that has sealed the value. A list reads it with the value, if at all, so that
-- it costs no further page.
ALTER TABLE variables ADD COLUMN key_version BIGINT NOT NULL DEFAULT 1;
ALTER TABLE set_variables ADD COLUMN key_version BIGINT NOT NULL DEFAULT 1;
