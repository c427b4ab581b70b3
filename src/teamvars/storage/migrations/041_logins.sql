-- expand, admits 1: a node that does not know the table logs in no program, and knows none that waits.

-- A program that waits for somebody to approve it, or for its token. `network` tells apart from where
-- they were begun, and says no more. With the token with which it was approved it goes, so that nothing
-- is handed out once a session has ended.
CREATE TABLE logins (
    id {text} PRIMARY KEY,
    code_hash {bytes} NOT NULL UNIQUE,
    host {text} NOT NULL,
    lifetime BIGINT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    challenge {text},
    redirect {text},
    user_code {text} UNIQUE,
    address {text},
    network {text} NOT NULL,
    polled_at BIGINT,
    denied BIGINT NOT NULL CHECK (denied IN (0, 1)),
    token_id {text} REFERENCES tokens (id) ON DELETE CASCADE,
    ends_at BIGINT,
    issued_id {text}
);
CREATE INDEX logins_expiry ON logins (expires_at);
CREATE INDEX logins_token ON logins (token_id);
