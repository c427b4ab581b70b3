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
