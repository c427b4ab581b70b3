-- Whose entry it is: an organization's, for its owners to find, or the system's, ''. It follows from
-- the stream, and is NULL where an older release has written the entry, until housekeeping fills it.
ALTER TABLE audit_entries ADD COLUMN organization_id {text};

-- The stream above says where each began, also of those that are gone. None began twice, but where
-- somebody has touched the trail this must not fail: `audit verify` tells.
CREATE TEMPORARY TABLE stream_organizations (
    stream_id {text} PRIMARY KEY,
    organization_id {text} NOT NULL
);
INSERT INTO stream_organizations (stream_id, organization_id)
SELECT subject_id, min(CASE WHEN stream_id = 'system' THEN subject_id ELSE stream_id END)
FROM audit_entries
WHERE action IN ('organization.create', 'team.create', 'workspace.create')
GROUP BY subject_id;
INSERT INTO stream_organizations (stream_id, organization_id)
VALUES ('system', '') ON CONFLICT (stream_id) DO NOTHING;

-- The operator's list goes without an index of its own: it has always read all entries for names.
DROP INDEX audit_entries_newest;
UPDATE audit_entries SET organization_id = (
    SELECT stream_organizations.organization_id FROM stream_organizations
    WHERE stream_organizations.stream_id = audit_entries.stream_id
);
DROP TABLE stream_organizations;
CREATE INDEX audit_entries_by_organization
    ON audit_entries (organization_id, at, stream_id, sequence);
