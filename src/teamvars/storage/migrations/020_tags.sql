-- expand, admits 1: a node that does not know the table shows no tags; with a workspace its tags go.

-- Tags of workspaces: names that stand alone, which have a `tag_id` and no value, and keys with values.
CREATE TABLE workspace_tags (
    id {text} PRIMARY KEY,
    workspace_id {text} NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    tag_id {text},
    key {text} NOT NULL,
    key_folded {text} NOT NULL,
    value {text},
    CHECK ((tag_id IS NULL) <> (value IS NULL))
);

CREATE INDEX workspace_tags_workspace_id ON workspace_tags (workspace_id, key_folded);
CREATE INDEX workspace_tags_tag_id ON workspace_tags (tag_id);
