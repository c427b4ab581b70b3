-- expand, admits 1: a node that does not know the columns leaves what they hold as it is, and gives what
-- it makes their defaults.

-- What describes a workspace and is no default, as a JSON object.
ALTER TABLE workspaces ADD COLUMN settings {text} NOT NULL DEFAULT '{}';
ALTER TABLE organizations ADD COLUMN settings {text} NOT NULL DEFAULT '{}';

-- The address in the form in which it is searched. Until it is written again, one that such a node
-- writes is found by what stood there before.
ALTER TABLE organizations ADD COLUMN email_folded {text};
UPDATE organizations SET email_folded =
    replace(replace(replace(replace(replace(replace(replace(replace(replace(
    replace(replace(replace(replace(replace(replace(replace(replace(replace(
    replace(replace(replace(replace(replace(replace(replace(replace(email
    , 'A', 'a'), 'B', 'b'), 'C', 'c'), 'D', 'd')
    , 'E', 'e'), 'F', 'f'), 'G', 'g'), 'H', 'h')
    , 'I', 'i'), 'J', 'j'), 'K', 'k'), 'L', 'l')
    , 'M', 'm'), 'N', 'n'), 'O', 'o'), 'P', 'p')
    , 'Q', 'q'), 'R', 'r'), 'S', 's'), 'T', 't')
    , 'U', 'u'), 'V', 'v'), 'W', 'w'), 'X', 'x')
    , 'Y', 'y'), 'Z', 'z')
WHERE email IS NOT NULL;

-- What a custom access says besides the level of variables, as a JSON object.
ALTER TABLE grants ADD COLUMN custom {text} NOT NULL DEFAULT '{}';

-- What a team may do in all of its organization; `manage_membership` is there already. Such a node
-- knows none of these rights, and lets whoever manages membership add members to a team that has
-- them: give them once no such node is left.
ALTER TABLE teams ADD COLUMN read_workspaces BIGINT NOT NULL DEFAULT 0
    CHECK (read_workspaces IN (0, 1));
ALTER TABLE teams ADD COLUMN manage_workspaces BIGINT NOT NULL DEFAULT 0
    CHECK (manage_workspaces IN (0, 1));
ALTER TABLE teams ADD COLUMN read_projects BIGINT NOT NULL DEFAULT 0
    CHECK (read_projects IN (0, 1));
ALTER TABLE teams ADD COLUMN manage_projects BIGINT NOT NULL DEFAULT 0
    CHECK (manage_projects IN (0, 1));
ALTER TABLE teams ADD COLUMN manage_teams BIGINT NOT NULL DEFAULT 0
    CHECK (manage_teams IN (0, 1));
ALTER TABLE teams ADD COLUMN manage_organization_access BIGINT NOT NULL DEFAULT 0
    CHECK (manage_organization_access IN (0, 1));
ALTER TABLE teams ADD COLUMN access_secret_teams BIGINT NOT NULL DEFAULT 0
    CHECK (access_secret_teams IN (0, 1));
ALTER TABLE teams ADD COLUMN settings {text} NOT NULL DEFAULT '{}';
