-- expand, admits 1: an index alone, which every release keeps without knowing of it.

-- What organizations, teams and workspaces were called before, by stream and kind: few entries
-- of the trail. The condition is a query's to repeat.
CREATE INDEX audit_entries_renames ON audit_entries (stream_id, subject_type, sequence)
    WHERE action IN ('organization.update', 'team.rename', 'workspace.rename');
