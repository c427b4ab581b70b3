-- expand, admits 1: an index alone, which every release keeps without knowing of it.

-- What variable sets were called before, by stream. The condition is a query's to repeat.
CREATE INDEX audit_entries_of_sets ON audit_entries (stream_id, sequence)
    WHERE action = 'varset.rename';
