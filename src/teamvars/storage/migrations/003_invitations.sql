-- A placeholder was made by an invitation, and nobody has been known as that user since: they never
-- had a token, were in no organization, and stood in no directory file.
ALTER TABLE users ADD COLUMN placeholder BIGINT NOT NULL DEFAULT 0
    CHECK (placeholder IN (0, 1));

-- The address as the invitation gave it: all that the organization learns of whoever is invited,
-- and NULL from the moment they accept.
ALTER TABLE memberships ADD COLUMN invited_as {text};
ALTER TABLE memberships ADD COLUMN invited_as_folded {text};

UPDATE memberships SET
    invited_as = (SELECT email FROM users WHERE users.id = memberships.user_id),
    invited_as_folded = (SELECT email_folded FROM users WHERE users.id = memberships.user_id)
WHERE status = 'invited';

-- The details of both kinds of entry end with the user's id, as in {…"user user-4EXAMPLE4EXAMPLE"}.
UPDATE users SET placeholder = 1
WHERE id IN (
    SELECT subject_id FROM audit_entries
    WHERE stream_id = 'system' AND action = 'user.create' AND actor_kind <> 'operator'
) AND id NOT IN (
    SELECT subject_id FROM audit_entries
    WHERE stream_id = 'system' AND action = 'user.update' AND actor_kind = 'operator'
) AND id NOT IN (
    SELECT substr(details, length(details) - 22, 21) FROM audit_entries
    WHERE action = 'token.create' OR (
        action IN ('membership.create', 'membership.update')
        AND details LIKE '{"status":"active"%'
    )
) AND id NOT IN (SELECT user_id FROM tokens WHERE user_id IS NOT NULL)
AND id NOT IN (SELECT user_id FROM memberships WHERE status = 'active');
