-- expand, admits 1: a node that does not know the column has no keys but those that there were.

-- In the row of the first migration: how often keys were changed. A node that has not looked up since
-- then whether its own are too old does so before it changes anything.
ALTER TABLE schema_migrations ADD COLUMN key_changes BIGINT NOT NULL DEFAULT 0;
