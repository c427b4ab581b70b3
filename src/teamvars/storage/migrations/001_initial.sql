-- Written once for both engines. {text} and {bytes} are the driver's column types; times are
-- microseconds UTC; booleans are 0 or 1.

CREATE TABLE keyring_keys (
    id {text} PRIMARY KEY,
    purpose {text} NOT NULL CHECK (purpose IN ('master', 'audit')),
    check_value {bytes} NOT NULL,
    created_at BIGINT NOT NULL
);

-- One row a subject with a history: the system, an organization, a team, a workspace.
CREATE TABLE streams (
    id {text} PRIMARY KEY,
    sequence BIGINT NOT NULL CHECK (sequence >= 0),
    link {bytes} NOT NULL,
    head {bytes} NOT NULL,
    variables BIGINT NOT NULL DEFAULT 0 CHECK (variables >= 0),
    value_bytes BIGINT NOT NULL DEFAULT 0 CHECK (value_bytes >= 0)
);

-- No foreign keys: entries outlive what they speak of.
CREATE TABLE audit_entries (
    stream_id {text} NOT NULL,
    sequence BIGINT NOT NULL CHECK (sequence > 0),
    at BIGINT NOT NULL,
    actor_kind {text} NOT NULL,
    actor_id {text} NOT NULL,
    token_id {text},
    request_id {text} NOT NULL,
    action {text} NOT NULL,
    subject_type {text} NOT NULL,
    subject_id {text} NOT NULL,
    details {text} NOT NULL,
    key_id {text} NOT NULL,
    previous {bytes} NOT NULL,
    link {bytes} NOT NULL,
    PRIMARY KEY (stream_id, sequence)
);
CREATE INDEX audit_entries_newest ON audit_entries (at, stream_id, sequence);

CREATE TABLE users (
    id {text} PRIMARY KEY,
    username {text} NOT NULL,
    username_folded {text} NOT NULL UNIQUE,
    email {text},
    email_folded {text} UNIQUE,
    site_admin BIGINT NOT NULL CHECK (site_admin IN (0, 1)),
    created_at BIGINT NOT NULL
);

CREATE TABLE organizations (
    id {text} PRIMARY KEY REFERENCES streams (id),
    name {text} NOT NULL,
    name_folded {text} NOT NULL UNIQUE,
    email {text},
    data_key_version BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE data_keys (
    organization_id {text} NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    version BIGINT NOT NULL,
    master_key_id {text} NOT NULL REFERENCES keyring_keys (id),
    wrapped {bytes} NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (organization_id, version)
);
CREATE INDEX data_keys_master_key_id ON data_keys (master_key_id);

CREATE TABLE memberships (
    id {text} PRIMARY KEY,
    organization_id {text} NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    user_id {text} NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    status {text} NOT NULL CHECK (status IN ('invited', 'active')),
    created_at BIGINT NOT NULL,
    UNIQUE (organization_id, user_id),
    UNIQUE (id, organization_id)
);
CREATE INDEX memberships_user_id ON memberships (user_id);

CREATE TABLE workspaces (
    id {text} PRIMARY KEY REFERENCES streams (id),
    organization_id {text} NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    name {text} NOT NULL,
    name_folded {text} NOT NULL,
    execution_mode {text} NOT NULL DEFAULT 'remote'
        CHECK (execution_mode IN ('remote', 'local', 'agent')),
    terraform_version {text} NOT NULL DEFAULT 'latest',
    locked_by {text},
    created_at BIGINT NOT NULL,
    UNIQUE (organization_id, name_folded),
    UNIQUE (id, organization_id)
);

CREATE TABLE teams (
    id {text} PRIMARY KEY REFERENCES streams (id),
    organization_id {text} NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    name {text} NOT NULL,
    name_folded {text} NOT NULL,
    visibility {text} NOT NULL CHECK (visibility IN ('organization', 'secret')),
    manage_membership BIGINT NOT NULL CHECK (manage_membership IN (0, 1)),
    is_owners BIGINT NOT NULL CHECK (is_owners IN (0, 1)),
    created_at BIGINT NOT NULL,
    UNIQUE (organization_id, name_folded),
    UNIQUE (id, organization_id)
);
CREATE UNIQUE INDEX teams_owners ON teams (organization_id) WHERE is_owners = 1;

-- Team and membership are of one organization, and the rows go with either.
CREATE TABLE team_members (
    team_id {text} NOT NULL,
    membership_id {text} NOT NULL,
    organization_id {text} NOT NULL,
    PRIMARY KEY (team_id, membership_id),
    FOREIGN KEY (team_id, organization_id)
        REFERENCES teams (id, organization_id) ON DELETE CASCADE,
    FOREIGN KEY (membership_id, organization_id)
        REFERENCES memberships (id, organization_id) ON DELETE CASCADE
);
CREATE INDEX team_members_membership_id ON team_members (membership_id);

CREATE TABLE grants (
    id {text} PRIMARY KEY,
    team_id {text} NOT NULL,
    workspace_id {text} NOT NULL,
    organization_id {text} NOT NULL,
    -- What it is called; what counts is the level: 0 none, 1 read, 2 write of variables.
    access {text} NOT NULL CHECK (access IN ('read', 'plan', 'write', 'admin', 'custom')),
    level BIGINT NOT NULL CHECK (level IN (0, 1, 2)),
    UNIQUE (team_id, workspace_id),
    FOREIGN KEY (team_id, organization_id)
        REFERENCES teams (id, organization_id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, organization_id)
        REFERENCES workspaces (id, organization_id) ON DELETE CASCADE
);
CREATE INDEX grants_workspace_id ON grants (workspace_id);

CREATE TABLE tokens (
    id {text} PRIMARY KEY,
    hash {bytes} NOT NULL UNIQUE,
    user_id {text} REFERENCES users (id) ON DELETE CASCADE,
    team_id {text} REFERENCES teams (id) ON DELETE CASCADE,
    organization_id {text} REFERENCES organizations (id) ON DELETE CASCADE,
    description {text} NOT NULL DEFAULT '',
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    last_used_at BIGINT,
    CHECK (
        CASE WHEN user_id IS NULL THEN 0 ELSE 1 END
        + CASE WHEN team_id IS NULL THEN 0 ELSE 1 END
        + CASE WHEN organization_id IS NULL THEN 0 ELSE 1 END = 1
    )
);
CREATE INDEX tokens_user_id ON tokens (user_id);
CREATE INDEX tokens_team_id ON tokens (team_id);
CREATE INDEX tokens_organization_id ON tokens (organization_id);

CREATE TABLE variables (
    id {text} PRIMARY KEY,
    workspace_id {text} NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    key {text} NOT NULL,
    category {text} NOT NULL CHECK (category IN ('tool', 'env')),
    description {text} NOT NULL,
    hcl BIGINT NOT NULL CHECK (hcl IN (0, 1)),
    sensitive BIGINT NOT NULL CHECK (sensitive IN (0, 1)),
    sealed_value {bytes} NOT NULL,
    value_bytes BIGINT NOT NULL CHECK (value_bytes >= 0),
    version_id {text} NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (workspace_id, key, category)
);
