-- expand, admits 1: a node that does not know `reach` knows no token that a session has either, but one
-- that was made in a session has there the rights of its user, wherever they are. Providers are named
-- once no such node is left.

-- By what name a provider means whom. A user may have several.
CREATE TABLE identities (
    id {text} PRIMARY KEY,
    issuer {text} NOT NULL,
    subject {text} NOT NULL,
    user_id {text} NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    UNIQUE (issuer, subject)
);
CREATE INDEX identities_user ON identities (user_id);

-- A session is a token of its user, which ends with it, and what the browser has to show for it. The
-- token's end moves with its use, up to `ends_at`; `longest` is how long a token lives at most that is
-- made with it, in µs.
CREATE TABLE sessions (
    token_id {text} PRIMARY KEY REFERENCES tokens (id) ON DELETE CASCADE,
    cookie_hash {bytes} NOT NULL UNIQUE,
    provider {text} NOT NULL,
    ends_at BIGINT NOT NULL,
    longest BIGINT NOT NULL
);

-- The ids of the organizations in which a user's token has rights, with blanks between; NULL: wherever
-- its user has. It is read with every request, and never looked for.
ALTER TABLE tokens ADD COLUMN reach {text};
