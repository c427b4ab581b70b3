"""`python3 dev.py mutants [PATH…] [--since REV] [--record] [--tests N] [--minutes N]`.

Takes guards out of the code one at a time (conditions, comparisons, locks, calls named `require*`,
`verify*`, `lock*`, `check*`), runs the nearest tests and lists what no test noticed.
`survivors.toml` says why that is right where it is. Calls and locks that no test would miss, and
that it gives no reason for, end with exit code 1; conditions are listed, and so is what there was
no time for.
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
from tests.mutants.recording import ROOMS, ROOT, TracedTest, forget, recorded
from tests.mutants.running import Means, Verdict, judge
from tests.support.postgres import LocalPostgres

_WATCHED = (
    *(f"{room}/**/*.py" for room in ("changes", "decisions", "domain", "security", "services")),
    "storage/access*.py",
)
_EXPLAINED = Path(__file__).with_name("survivors.toml")


def main() -> int:
    """Tries every mutant that is asked for; 1 if no test would miss a call or a lock, and why is
    not explained.
    """
    options = _options()
    paths = _paths(options.paths, options.since)
    mutants = [mutant for path in paths for mutant in of_file(ROOT, path)]
    if not mutants:
        print("Nothing that is watched was changed.")
        return 0
    with LocalPostgres() as server:
        os.environ["TEAMVARS_TEST_POSTGRES_URL"] = server.admin_url
        tests = _recorded(anew=options.record)
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
        "--minutes", type=float, default=math.inf, help="after how many no further one is tried"
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


def _recorded(*, anew: bool) -> list[TracedTest]:
    """Which test calls what; found out where that is not known yet."""
    if anew:
        forget()
    if not recorded():
        print("Finding out which test calls what …", flush=True)
        rooms = [f"tests/{room}" for room in ROOMS]
        plugin = ["-p", "tests.mutants.recording", "-n", "2", "--dist", "worksteal"]
        subprocess.run([sys.executable, "-m", "pytest", *plugin, *rooms], cwd=ROOT, check=False)
    return recorded()


def _report(judged: Iterable[tuple[Mutant, Verdict]]) -> int:
    """Lists what was not killed; 1 if a call or a lock among these has no reason."""
    explained = tomllib.loads(_EXPLAINED.read_text()) if _EXPLAINED.exists() else {}
    counts: Counter[Verdict] = Counter()
    unexplained: Counter[bool] = Counter()
    for mutant, verdict in judged:
        counts[verdict] += 1
        reason = explained.get(mutant.path, {}).get(f"{mutant.function}: {mutant.change}")
        if verdict is Verdict.KILLED:
            if reason:
                print(f"killed, so that its reason can go: {mutant}", flush=True)
            continue
        if verdict is not Verdict.LATE:
            unexplained[mutant.is_call] += reason is None
        print(f"{verdict.value}: {mutant}" + (f"\n    {reason}" if reason else ""), flush=True)
    print(", ".join(f"{count} {verdict.value}" for verdict, count in counts.items()))
    without = f"{unexplained[True]} calls and locks and {unexplained[False]} conditions"
    print(f"{without} without a reason in {_EXPLAINED.relative_to(ROOT)}")
    return min(unexplained[True], 1)


if __name__ == "__main__":
    sys.exit(main())
