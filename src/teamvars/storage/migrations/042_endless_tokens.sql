-- expand, admits 1: a node that does not know the index keeps it, and counts no tokens.

-- Tokens that never end are counted each minute, however many others there are.
CREATE INDEX tokens_endless ON tokens (expires_at) WHERE expires_at IS NULL;
