-- One row for each membership that waits for its user and was invited since this release: its link,
-- of which only a hash is kept, and the message that carries it. Ends with the invitation, whichever
-- way that goes. `sealed_secret` and `due_at` are there while the message is to be sent: a node that
-- sends it moves `due_at` on first, and nobody else tries before then.
CREATE TABLE invitations (
    membership_id {text} PRIMARY KEY REFERENCES memberships (id) ON DELETE CASCADE,
    link_hash {bytes} UNIQUE,
    expires_at BIGINT NOT NULL,
    invited_by {text} REFERENCES users (id) ON DELETE SET NULL,
    delivery {text} NOT NULL CHECK (delivery IN ('none', 'shown', 'waiting', 'sent', 'failed')),
    sealed_secret {bytes},
    key_version BIGINT,
    due_at BIGINT,
    attempts BIGINT NOT NULL DEFAULT 0,
    CHECK ((due_at IS NULL) = (sealed_secret IS NULL)),
    CHECK ((due_at IS NULL) = (delivery <> 'waiting'))
);
CREATE INDEX invitations_due_at ON invitations (due_at);
CREATE INDEX invitations_expires_at ON invitations (expires_at);
CREATE INDEX invitations_invited_by ON invitations (invited_by);

-- What the bounds of a day count: one row for each link that was asked for. No foreign key: who takes
-- an invitation back, or an organization away, has asked for it all the same.
CREATE TABLE invitation_requests (
    organization_id {text} NOT NULL,
    address_folded {text} NOT NULL,
    at BIGINT NOT NULL
);
CREATE INDEX invitation_requests_organization_id ON invitation_requests (organization_id, at);
CREATE INDEX invitation_requests_address_folded ON invitation_requests (address_folded, at);
CREATE INDEX invitation_requests_at ON invitation_requests (at);

-- Users whom nobody has been known as, for those who clear away after invitations.
CREATE INDEX users_placeholder ON users (created_at) WHERE placeholder = 1;
