-- expand, admits 1: a node that does not know the table shows no tags of projects, and finds no
-- workspace by them; with a project its tags go.

-- Keys of projects with values. The workspaces in a project have them as well, unless they have the key
-- themselves.
CREATE TABLE project_tags (
    id {text} PRIMARY KEY,
    project_id {text} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    key {text} NOT NULL,
    key_folded {text} NOT NULL,
    value {text} NOT NULL
);
CREATE INDEX project_tags_project_id ON project_tags (project_id, key_folded);
