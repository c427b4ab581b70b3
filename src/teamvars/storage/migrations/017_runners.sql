-- expand, admits 1: a node that does not know runners hands out nothing, and what it deletes takes
-- their rows along.

-- Who may be handed values, in its present version, and what an operator has approved. `body` and
-- `approved_body` are JSON; `approval_mac` covers all that was approved, so a row that was changed
-- behind the service's back hands out nothing more.
CREATE TABLE runners (
    id {text} PRIMARY KEY,
    organization_id {text} NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    name {text} NOT NULL,
    name_folded {text} NOT NULL,
    version BIGINT NOT NULL,
    body {text} NOT NULL,
    proposed_by {text},
    created_at BIGINT NOT NULL,
    approved_version BIGINT,
    approved_body {text},
    approved_reach {text},
    approved_issuer {text},
    approved_at BIGINT,
    approved_by {text},
    approval_key_id {text},
    approval_mac {bytes},
    UNIQUE (organization_id, name_folded),
    CHECK ((approved_version IS NULL) = (approval_mac IS NULL))
);

-- Tokens of jobs, as hashes. One delivers to one key, which `thumbprint` names. `mac` covers all of
-- a row, so that one which was written behind the service's back delivers nothing.
CREATE TABLE runner_tokens (
    hash {bytes} PRIMARY KEY,
    runner_id {text} NOT NULL REFERENCES runners (id) ON DELETE CASCADE,
    version BIGINT NOT NULL,
    workspace_id {text} NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    thumbprint {text} NOT NULL,
    is_bound BIGINT NOT NULL CHECK (is_bound IN (0, 1)),
    claims {text} NOT NULL,
    run_link {text},
    expires_at BIGINT NOT NULL,
    key_id {text} NOT NULL,
    mac {bytes} NOT NULL
);
CREATE INDEX runner_tokens_runner_id ON runner_tokens (runner_id);
CREATE INDEX runner_tokens_workspace_id ON runner_tokens (workspace_id);
CREATE INDEX runner_tokens_expires_at ON runner_tokens (expires_at);

-- What issuers say is good once: the primary key judges.
CREATE TABLE used_assertions (
    hash {bytes} PRIMARY KEY,
    expires_at BIGINT NOT NULL
);
CREATE INDEX used_assertions_expires_at ON used_assertions (expires_at);

-- The last delivery of a workspace to a runner, to be looked at: the trail has each of them. No
-- foreign keys: what was handed out stays handed out when the runner or the workspace is gone.
CREATE TABLE runner_deliveries (
    runner_id {text} NOT NULL,
    workspace_id {text} NOT NULL,
    organization_id {text} NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    at BIGINT NOT NULL,
    versions {text} NOT NULL,
    run_link {text},
    PRIMARY KEY (runner_id, workspace_id)
);
CREATE INDEX runner_deliveries_workspace_id ON runner_deliveries (workspace_id);
CREATE INDEX runner_deliveries_organization_id ON runner_deliveries (organization_id);
