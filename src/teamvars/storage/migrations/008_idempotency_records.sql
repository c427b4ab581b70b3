-- What a change was answered that was sent with an Idempotency-Key, for whoever repeats it. The name
-- stands for the token and the key. No foreign keys: a request may revoke the very token it was sent
-- with, and a record that nobody can ask for any more expires like the others.
CREATE TABLE idempotency_records (
    name {text} PRIMARY KEY,
    principal {text} NOT NULL,
    key_id {text} NOT NULL,
    fingerprint {bytes} NOT NULL,
    bytes BIGINT NOT NULL CHECK (bytes >= 0),
    expires_at BIGINT NOT NULL,
    answer {bytes} NOT NULL
);
CREATE INDEX idempotency_records_expires_at ON idempotency_records (expires_at);
CREATE INDEX idempotency_records_principal ON idempotency_records (principal, expires_at, bytes);
