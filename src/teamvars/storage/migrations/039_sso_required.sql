-- expand, admits 1: a node that does not know the column lets tokens in that no session made. An owner
-- sets it once no such node is left.

-- Whether members of an organization have rights there only where they have signed in.
ALTER TABLE organizations ADD COLUMN sso_required BIGINT NOT NULL DEFAULT 0
    CHECK (sso_required IN (0, 1));
