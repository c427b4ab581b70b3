-- expand, admits 1: a node that does not know the index keeps it, and sorts all it finds.

-- The newest deliveries of an organization are a page of many: nobody sorts the others for it.
CREATE INDEX runner_deliveries_newest
    ON runner_deliveries (organization_id, at DESC, runner_id, workspace_id);

-- Of two indexes that are as good SQLite takes the last one made: this one for what is looked for
-- in all of them, since it has them in the order in which they are stored.
DROP INDEX runner_deliveries_organization_id;
CREATE INDEX runner_deliveries_organization_id ON runner_deliveries (organization_id);
