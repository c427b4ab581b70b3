-- Where a variable stands among all of its organization's: by key, then the workspace's name as it is
-- compared, then category. A workspace that is renamed takes its variables along by itself. Both
-- columns are NULL in what an older release adds while it still runs; housekeeping fills them in.
CREATE UNIQUE INDEX workspaces_name ON workspaces (id, organization_id, name_folded);

-- First of all, since this locks the table: what is added from here on waits for the new one.
ALTER TABLE variables RENAME TO variables_before;

-- The value comes last: on SQLite whatever came after one of several pages would be behind them.
CREATE TABLE variables (
    id {text} PRIMARY KEY,
    workspace_id {text} NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    organization_id {text},
    workspace_name {text},
    key {text} NOT NULL,
    category {text} NOT NULL CHECK (category IN ('tool', 'env')),
    description {text} NOT NULL,
    hcl BIGINT NOT NULL CHECK (hcl IN (0, 1)),
    sensitive BIGINT NOT NULL CHECK (sensitive IN (0, 1)),
    value_bytes BIGINT NOT NULL CHECK (value_bytes >= 0),
    version_id {text} NOT NULL,
    created_at BIGINT NOT NULL,
    sealed_value {bytes} NOT NULL,
    UNIQUE (workspace_id, key, category),
    CHECK ((organization_id IS NULL) = (workspace_name IS NULL)),
    FOREIGN KEY (workspace_id, organization_id, workspace_name)
        REFERENCES workspaces (id, organization_id, name_folded)
        ON UPDATE CASCADE ON DELETE CASCADE
);

-- In the order of a list, so that the rows of one are neighbours.
INSERT INTO variables (id, workspace_id, organization_id, workspace_name, key, category,
    description, hcl, sensitive, value_bytes, version_id, created_at, sealed_value)
SELECT before.id, before.workspace_id, workspaces.organization_id, workspaces.name_folded,
    before.key, before.category, before.description, before.hcl, before.sensitive,
    before.value_bytes, before.version_id, before.created_at, before.sealed_value
FROM variables_before AS before JOIN workspaces ON workspaces.id = before.workspace_id
ORDER BY before.workspace_id, before.key, before.category;

DROP TABLE variables_before;

-- With the workspace's id, by which rights are looked up before any row is. The condition holds for
-- every row and is a search's to repeat: without it a foreign key that looks for the variables of a
-- workspace might go through its organization's in this index, since it has all that the key compares.
CREATE INDEX variables_search
    ON variables (organization_id, key, workspace_name, category, workspace_id) WHERE key >= '';
