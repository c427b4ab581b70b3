-- expand, admits 1: a node that does not know the table goes on with the server key of its keyring, and
-- keys are changed once no such node runs.

-- The keys that sign what jobs are handed, as `keyring_keys` has the others; a store of an older release
-- has none here before one is added.
CREATE TABLE server_keys (
    id {text} PRIMARY KEY,
    check_value {bytes} NOT NULL,
    created_at BIGINT NOT NULL,
    activated_at BIGINT,
    retired_at BIGINT
);
