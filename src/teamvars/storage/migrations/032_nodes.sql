-- expand, admits 1: a node that does not know the table has no row in it, and keys are changed once
-- no such node runs.

-- The processes that serve, each for as long as it says so, with the ids of the keys that it has and of
-- those that it signs and seals with, as JSON.
CREATE TABLE nodes (
    id {text} PRIMARY KEY,
    name {text} NOT NULL,
    held {text} NOT NULL,
    active {text} NOT NULL,
    seen_at BIGINT NOT NULL
);

-- A key that was never activated may be missing in a keyring, and nothing is under it. One that was
-- retired is none that a keyring may use.
ALTER TABLE keyring_keys ADD COLUMN activated_at BIGINT;
ALTER TABLE keyring_keys ADD COLUMN retired_at BIGINT;
UPDATE keyring_keys SET activated_at = created_at;
