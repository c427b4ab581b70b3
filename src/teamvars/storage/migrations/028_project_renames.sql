-- expand, admits 1: an index alone, which every release keeps without knowing of it.

-- What projects were called before, by stream. The condition is a query's to repeat.
CREATE INDEX audit_entries_of_projects ON audit_entries (stream_id, sequence)
    WHERE action = 'project.update';
