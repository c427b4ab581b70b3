"""The release after this one, made up: it has a column more, which its nodes fill in.

`python -m tests.faults.next_release WORD…` is its `teamvars`, and `worker` what its server runs.
"""

import subprocess
import sys

from msgspec.structs import replace

from teamvars import wiring
from teamvars.cli import main
from teamvars.storage import migrations, variables
from teamvars.web.http.app import ASGIApp
from tests.faults.hasty import ROOT, AlteredHost
from tests.storage.later import later

EXPAND = """-- expand, admits {before}: who does not know it leaves it NULL: not counted yet.
ALTER TABLE variables ADD COLUMN key_length BIGINT;
-- backfill variables (id)
UPDATE variables SET key_length = length(key)
WHERE {page} AND (key_length IS NULL OR key_length <> length(key));
"""
CONTRACT = """-- contract, admits {expand}: what a node adds that does not count is refused.
-- backfill variables (id)
UPDATE variables SET key_length = length(key)
WHERE {page} AND (key_length IS NULL OR key_length <> length(key));
-- then
ALTER TABLE variables ADD CONSTRAINT key_is_counted CHECK (key_length IS NOT NULL) NOT VALID;
"""


class NextHost(AlteredHost):
    """A host on which that release is installed."""

    factory = "tests.faults.next_release:worker"

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs its `teamvars`."""
        return subprocess.run(
            [sys.executable, "-m", "tests.faults.next_release", *words],
            cwd=self.folder,
            env={**self.environment, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
            capture_output=True,
            text=True,
            check=False,
        )


def become() -> None:
    """From here on this process is of that release."""
    known = (*migrations.known(), *later(EXPAND, CONTRACT))
    migrations.__dict__["known"] = lambda: known
    before = variables.OF_WORKSPACES
    counting = replaced(before.insert, "key_version)\n", "key_version, key_length)\n")
    counting = replaced(counting, "\nFROM (", ", length(CAST($3 AS TEXT))\nFROM (")
    variables.__dict__["OF_WORKSPACES"] = replace(before, insert=counting)


def replaced(sql: str, old: str, new: str) -> str:
    """The statement with one part replaced."""
    assert sql.count(old) == 1, f"the next release finds no {old!r} to replace in:{sql}"
    return sql.replace(old, new)


def worker() -> ASGIApp:
    """The application of a worker process."""
    become()
    return wiring.worker()


if __name__ == "__main__":
    become()
    main()
