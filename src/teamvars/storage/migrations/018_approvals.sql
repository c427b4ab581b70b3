-- expand, admits 1: a node that does not know the column approves without it, which no approval's
-- MAC covers, and so hands out nothing until it is approved anew.

-- By whose rule a version was approved: an operator's, or that of owners.
ALTER TABLE runners ADD COLUMN approved_mode {text};

-- Since when somebody has been an active owner, and who proposed a version: few entries of the trail.
-- The condition is a query's to repeat. For more than two values of an IN, SQLite would build a table
-- whenever it adds an entry.
CREATE INDEX audit_entries_standing ON audit_entries (stream_id, subject_id, sequence)
    WHERE action = 'member.add' OR action = 'member.remove'
    OR action = 'membership.create' OR action = 'membership.update'
    OR action = 'invitation.accept' OR action = 'user.enable'
    OR action = 'runner.create' OR action = 'runner.update';
