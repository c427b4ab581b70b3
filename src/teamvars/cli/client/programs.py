"""Programs of the place that a job runs in, which know how to ask for its token."""

import shutil
import subprocess
from collections.abc import Sequence

from teamvars.cli.exits import Failure

_SECONDS = 30


def printed(place: str, words: Sequence[str], path: str | None) -> str:
    """The one thing that the program prints, which is looked for on that path. Fails where it is
    not there, ends badly, says nothing or takes too long.
    """
    program, *rest = words
    found = shutil.which(program, path=path)
    if found is None:
        raise Failure(f"{place} has no program {program} here.")
    try:
        done = subprocess.run(
            [found, *rest],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        raise Failure(f"{program} does not answer.") from None
    said = done.stdout.decode(errors="replace").strip()
    if done.returncode or not said:
        raise Failure(f"{program} ended with {done.returncode} and gave no token.")
    return said
