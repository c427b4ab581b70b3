-- expand, admits 1: a node that does not know the index keeps it, and finds nobody by it.

-- Whoever was invited by an address is found by it without a look at each member. Few are invited.
CREATE INDEX memberships_invited_as ON memberships (organization_id, invited_as_folded)
    WHERE invited_as_folded IS NOT NULL;
