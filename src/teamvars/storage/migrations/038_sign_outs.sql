-- expand, admits 1: what somebody signs in for at a node that does not know of these columns is no
-- sign-in's, and stays when the provider signs them out.

-- The provider with which somebody has signed in for a token, or for the one it was made with, and what
-- the provider calls the session that they have there.
ALTER TABLE tokens ADD COLUMN provider {text};
ALTER TABLE tokens ADD COLUMN sid {text};
CREATE INDEX tokens_sid ON tokens (sid) WHERE sid IS NOT NULL;
