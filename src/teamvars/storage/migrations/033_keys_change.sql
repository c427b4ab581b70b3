-- contract, admits 33: a node that does not know the table of nodes would go on with keys that were
-- retired, and nobody would wait for it.

-- What the `init` of such a release has noted since.
UPDATE keyring_keys SET activated_at = created_at WHERE activated_at IS NULL;
