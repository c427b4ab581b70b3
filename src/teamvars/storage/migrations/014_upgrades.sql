-- expand, admits 1: no node of 0.1.0 reads these columns, and none looks whether it is admitted.

-- The lowest node that may go on changing things: the number of the newest migration it knows.
ALTER TABLE schema_migrations ADD COLUMN admits BIGINT NOT NULL DEFAULT 1;
-- How many of its steps are still to be done, and how far the first of these has come: the key of
-- the last row that was looked at, as JSON.
ALTER TABLE schema_migrations ADD COLUMN remaining BIGINT NOT NULL DEFAULT 0;
ALTER TABLE schema_migrations ADD COLUMN position {text};
