"""One process that inserts a row and commits it, again and again: what SQLite and the disk can do.

Arguments: the file to make, and for how many seconds. Prints the commits a second.
"""

import os
import sys
import time

import apsw

_TABLE = """
CREATE TABLE inserted (
    id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, key TEXT NOT NULL, category TEXT NOT NULL,
    description TEXT NOT NULL, hcl BIGINT NOT NULL, sensitive BIGINT NOT NULL,
    sealed_value BLOB NOT NULL, value_bytes BIGINT NOT NULL, version_id TEXT NOT NULL,
    created_at BIGINT NOT NULL, UNIQUE (workspace_id, key, category)
)
"""


def main(path: str, seconds: str) -> None:
    """A row has the columns and indexes of a variable; a commit is as durable as the service's."""
    connection = apsw.Connection(path)
    for pragma, value in (("journal_mode", "wal"), ("synchronous", 2)):
        connection.pragma(pragma, value)
    connection.execute(_TABLE)
    sealed, count = os.urandom(40), 0
    begun = time.monotonic()
    while time.monotonic() - begun < float(seconds):
        count += 1
        id_, workspace_id = f"var-{count:016}", f"ws-{count % 64:016}"
        row = (id_, workspace_id, id_, "tool", "", 0, 0, sealed, 12, "0" * 36, count)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(f"INSERT INTO inserted VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608
        connection.execute("COMMIT")
    print(count / (time.monotonic() - begun))


if __name__ == "__main__":
    main(*sys.argv[1:])
