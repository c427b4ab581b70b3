-- A disabled user's tokens authenticate nobody, and they count as nobody's owner. Their tokens and
-- memberships stay as they are: this is the only place that says so.
ALTER TABLE users ADD COLUMN disabled BIGINT NOT NULL DEFAULT 0 CHECK (disabled IN (0, 1));
