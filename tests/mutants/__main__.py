"""`python3 dev.py mutants [PATH…] [--since REV] [--record] [--tests N] [--minutes N]`.

Takes guards out of the code one at a time (conditions, comparisons, locks, calls named `require*`,
`verify*`, `lock*`, `check*`), runs the nearest tests and lists what no test noticed.
`survivors.toml` says why that is right where it is. Calls and locks that no test would miss, and
that it gives no reason for, end with exit code 1, and those that there was no time for with 124;
conditions are listed. Which tests are near is known from a recording; without one, by the names of
their files and by what they import.
"""

import argparse
import math
import os
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.mutants.mutations import Mutant, of_file
from tests.mutants.recording import ROOT, record, recorded
from tests.mutants.running import Means, Verdict, judge
from tests.support.postgres import LocalPostgres

_WATCHED = (
    *(f"{room}/**/*.py" for room in ("changes", "decisions", "domain", "security", "services")),
    "storage/access*.py",
)
_EXPLAINED = Path(__file__).with_name("survivors.toml")
_NOTICED = (Verdict.KILLED, Verdict.HUNG)
_NO_TIME = 124
"""As `timeout` ends."""


def main() -> int:
    """Tries every mutant that is asked for; 1 if no test would miss a call or a lock, and why is
    not explained, 124 if there was no time to try them all.
    """
    options = _options()
    paths = _paths(options.paths, options.since)
    mutants = [mutant for path in paths for mutant in of_file(ROOT, path)]
    if not mutants:
        print("Nothing that is watched was changed.")
        return 0
    with LocalPostgres() as server:
        os.environ["TEAMVARS_TEST_POSTGRES_URL"] = server.admin_url
        if options.record:
            record()
        tests = recorded()
        print(f"{len(mutants)} mutants of {len(paths)} files", flush=True)
        means = Means(options.tests, options.n, time.monotonic() + options.minutes * 60)
        return _report(judge(mutants, tests, means))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dev.py mutants", allow_abbrev=False)
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files; all that are watched")
    parser.add_argument("--since", metavar="REV", help="only files that were changed since then")
    parser.add_argument(
        "--record", action="store_true", help="find out anew which test calls what (minutes)"
    )
    parser.add_argument(
        "--tests", type=int, default=80, help="how many of the nearest tests each mutant faces"
    )
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="after how many none is tried any longer"
    )
    parser.add_argument("-n", type=int, default=os.cpu_count(), help="how many at a time")
    return parser.parse_args()


def _paths(asked: Sequence[str], since: str | None) -> list[str]:
    """The files to mutate, from the project's folder."""
    source = ROOT / "src/teamvars"
    watched = {str(path.relative_to(ROOT)) for glob in _WATCHED for path in source.glob(glob)}
    if asked:
        watched = {str(Path(path).resolve().relative_to(ROOT)) for path in asked}
    if since is not None:
        diff = ["git", "diff", "--name-only", "--diff-filter=d", since, "--", "src"]
        changed = subprocess.run(diff, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        watched &= set(changed.split())
    return sorted(watched)


def _report(judged: Iterable[tuple[Mutant, Verdict]]) -> int:
    """Lists what no test noticed; 1 if a call or a lock among these has no reason, 124 if there was
    no time to find that out.
    """
    explained = tomllib.loads(_EXPLAINED.read_text()) if _EXPLAINED.exists() else {}
    counts: Counter[Verdict] = Counter()
    unexplained: Counter[bool] = Counter()
    undecided = 0
    for mutant, verdict in judged:
        counts[verdict] += 1
        reason = explained.get(mutant.path, {}).get(f"{mutant.function}: {mutant.change}")
        if verdict in _NOTICED:
            if reason:
                print(f"killed, so that its reason can go: {mutant}", flush=True)
            continue
        if verdict is Verdict.LATE:
            undecided += mutant.is_call
        else:
            unexplained[mutant.is_call] += reason is None
        print(f"{verdict.value}: {mutant}" + (f"\n    {reason}" if reason else ""), flush=True)
    print(", ".join(f"{count} {verdict.value}" for verdict, count in counts.items()))
    without = f"{unexplained[True]} calls and locks and {unexplained[False]} conditions"
    print(f"{without} without a reason in {_EXPLAINED.relative_to(ROOT)}")
    if undecided:
        print(f"{undecided} calls and locks are undecided: there was no time for them")
    return 1 if unexplained[True] else _NO_TIME if undecided else 0


if __name__ == "__main__":
    sys.exit(main())
