-- expand, admits 1: to PostgreSQL, where nodes of two releases meet, the index is as good for an IN.

-- As `audit_entries_renames`, whose condition was an IN: of its values SQLite builds a table whenever it
-- adds an entry, which took a third of the time of adding it.
CREATE INDEX audit_entries_renamed ON audit_entries (stream_id, subject_type, sequence)
    WHERE action = 'organization.update' OR action = 'team.rename' OR action = 'workspace.rename';
DROP INDEX audit_entries_renames;
