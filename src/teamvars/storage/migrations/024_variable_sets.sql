-- expand, admits 1: a node that does not know sets hands out none of their variables, and with an
-- organization or a workspace that it deletes their rows go.

-- `scope` is that in which no two variables have the same key and category: the set, or where it is
-- global its organization. It says as well whether a set is global.
CREATE TABLE variable_sets (
    id {text} PRIMARY KEY REFERENCES streams (id),
    organization_id {text} NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    name {text} NOT NULL,
    name_folded {text} NOT NULL,
    description {text} NOT NULL,
    scope {text} NOT NULL,
    priority BIGINT NOT NULL CHECK (priority IN (0, 1)),
    created_at BIGINT NOT NULL,
    UNIQUE (organization_id, name_folded),
    UNIQUE (id, scope),
    CHECK (scope IN (id, organization_id))
);

-- What sets are attached to: workspaces and, where a set is global, the organization.
CREATE TABLE set_targets (
    id {text} PRIMARY KEY,
    set_id {text} NOT NULL REFERENCES variable_sets (id) ON DELETE CASCADE,
    target_id {text} NOT NULL,
    workspace_id {text} REFERENCES workspaces (id) ON DELETE CASCADE,
    UNIQUE (target_id, set_id)
);
CREATE INDEX set_targets_set_id ON set_targets (set_id);
CREATE INDEX set_targets_workspace_id ON set_targets (workspace_id);

-- As `variables`, with a set in the place of a workspace. A set that becomes global takes its
-- variables along into the scope of all that are.
CREATE TABLE set_variables (
    id {text} PRIMARY KEY,
    set_id {text} NOT NULL,
    scope {text} NOT NULL,
    key {text} NOT NULL,
    category {text} NOT NULL CHECK (category IN ('tool', 'env')),
    description {text} NOT NULL,
    hcl BIGINT NOT NULL CHECK (hcl IN (0, 1)),
    sensitive BIGINT NOT NULL CHECK (sensitive IN (0, 1)),
    value_bytes BIGINT NOT NULL CHECK (value_bytes >= 0),
    version_id {text} NOT NULL,
    created_at BIGINT NOT NULL,
    sealed_value {bytes} NOT NULL,
    UNIQUE (scope, key, category),
    FOREIGN KEY (set_id, scope) REFERENCES variable_sets (id, scope)
        ON UPDATE CASCADE ON DELETE CASCADE
);
CREATE INDEX set_variables_set_id ON set_variables (set_id, key, category);
