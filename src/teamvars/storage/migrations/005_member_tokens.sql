-- Whether a team's members may make, see and revoke its token. Of teams that there are they may not,
-- as before; owners always could.
ALTER TABLE teams ADD COLUMN members_manage_token BIGINT NOT NULL DEFAULT 0
    CHECK (members_manage_token IN (0, 1));
UPDATE teams SET members_manage_token = 1 WHERE is_owners = 1;
