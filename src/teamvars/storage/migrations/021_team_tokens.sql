-- expand, admits 1: a node that does not know of descriptions that are a team's once has one token of a
-- team take the place of all others.

-- A team has any number of tokens with a description, each once, and one without. The team is in the
-- condition, or whoever names described tokens by id would go through all of this index.
CREATE UNIQUE INDEX tokens_described ON tokens (team_id, description)
WHERE team_id IS NOT NULL AND description <> '';
