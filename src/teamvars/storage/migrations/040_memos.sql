-- expand, admits 1: a node that does not know the table sends none of these messages, and others do.

-- What somebody is told by mail, from `due_at` on until it is sent or given up.
CREATE TABLE memos (
    id {text} PRIMARY KEY,
    address {text} NOT NULL,
    subject {text} NOT NULL,
    text {text} NOT NULL,
    page {text} NOT NULL DEFAULT '',
    due_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX memos_due_at ON memos (due_at);
