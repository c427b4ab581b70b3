-- expand, admits 1: a node that does not know the table makes tokens that may live longer than it says.

-- How long the tokens of an organization, and those of its teams, may live.
CREATE TABLE token_limits (
    id {text} PRIMARY KEY,
    organization_id {text} NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    kind {text} NOT NULL,
    max_ttl_ms BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE INDEX token_limits_organization_id ON token_limits (organization_id);
