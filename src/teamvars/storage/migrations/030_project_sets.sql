-- expand, admits 1: a node that does not know the columns hands out nothing of sets, and gives nobody
-- a right to those of a project.

-- The project whose set it is; NULL: the organization's. That of a project is never global.
ALTER TABLE variable_sets ADD COLUMN project_id {text} REFERENCES projects (id)
    CHECK (project_id IS NULL OR scope = id);
CREATE INDEX variable_sets_project_id ON variable_sets (project_id);

-- A project that a set is attached to, with all workspaces in it.
ALTER TABLE set_targets ADD COLUMN project_id {text} REFERENCES projects (id) ON DELETE CASCADE;
CREATE INDEX set_targets_project_id ON set_targets (project_id);

-- What a team may do with the sets of the project: as `level`, of their variables.
ALTER TABLE project_grants ADD COLUMN set_level BIGINT NOT NULL DEFAULT 0
    CHECK (set_level IN (0, 1, 2));
UPDATE project_grants SET set_level = 2 WHERE access = 'admin';
