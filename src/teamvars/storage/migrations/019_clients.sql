-- expand, admits 1: a node that does not know the columns leaves what they hold as it is, and gives what
-- it makes their defaults.

-- What describes a workspace and is no default, as a JSON object.
ALTER TABLE workspaces ADD COLUMN settings {text} NOT NULL DEFAULT '{}';
