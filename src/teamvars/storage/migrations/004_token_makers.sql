-- The user who made a token over HTTP, for whoever has to know what somebody who leaves has made.
-- NULL where an operator, a team or an organization made it, or an older release.
ALTER TABLE tokens ADD COLUMN created_by {text} REFERENCES users (id);
CREATE INDEX tokens_created_by ON tokens (created_by);
