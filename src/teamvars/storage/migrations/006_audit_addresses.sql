-- How an entry was authenticated. What older releases wrote, or still write, is version 1.
ALTER TABLE audit_entries ADD COLUMN version BIGINT NOT NULL DEFAULT 1;

-- Whence the request came; NULL in version 1, for operators, and where addresses are left out.
ALTER TABLE audit_entries ADD COLUMN address {text};
