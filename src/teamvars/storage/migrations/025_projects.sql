-- expand, admits 1: a node that does not know projects leaves the column NULL, which is the default
-- project, and gives an organization that it makes no row for that one.

-- The id of an organization's default project is the organization's with another prefix.
CREATE TABLE projects (
    id {text} PRIMARY KEY,
    organization_id {text} NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    name {text} NOT NULL,
    name_folded {text} NOT NULL,
    settings {text} NOT NULL DEFAULT '{}',
    created_at BIGINT NOT NULL,
    UNIQUE (organization_id, name_folded),
    UNIQUE (id, organization_id)
);
INSERT INTO projects (id, organization_id, name, name_folded, created_at)
SELECT 'prj-' || substr(id, 5), id, 'Default Project', 'default project', created_at
FROM organizations;

ALTER TABLE workspaces ADD COLUMN project_id {text} REFERENCES projects (id);

-- The condition and the expression are a query's to repeat. Without the cast SQLite would compare the
-- expression with no column that holds texts.
CREATE INDEX workspaces_project_id ON workspaces (project_id) WHERE project_id IS NOT NULL;
CREATE INDEX workspaces_in_project
    ON workspaces (CAST(coalesce(project_id, 'prj-' || substr(organization_id, 5)) AS TEXT));
