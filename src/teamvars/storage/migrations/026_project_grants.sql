-- expand, admits 1: a node that does not know the table gives nobody access by it, and lets whoever
-- manages teams add members to one that has more by it than they: give it once no such node is left.

-- A team's access to a project: a level in each workspace of it.
CREATE TABLE project_grants (
    id {text} PRIMARY KEY,
    team_id {text} NOT NULL,
    project_id {text} NOT NULL,
    organization_id {text} NOT NULL,
    access {text} NOT NULL CHECK (access IN ('read', 'write', 'maintain', 'admin', 'custom')),
    level BIGINT NOT NULL CHECK (level IN (0, 1, 2)),
    custom {text} NOT NULL DEFAULT '{}',
    UNIQUE (team_id, project_id),
    FOREIGN KEY (team_id, organization_id)
        REFERENCES teams (id, organization_id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, organization_id)
        REFERENCES projects (id, organization_id) ON DELETE CASCADE
);
CREATE INDEX project_grants_project_id ON project_grants (project_id);
