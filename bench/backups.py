"""What a backup of a SQLite store costs beside `cp`: `python -m bench.backups [--variables N]`.

It makes a store of so many variables in a folder of TMPDIR, and copies it there in turns: with
`cp`, with `cp` and then `sync`, since a backup is on the disk before it is said to be made, and
with `teamvars backup create`, plain and encrypted. At the end the backup is verified. What runs is
compiled, as it is wherever pip has installed it, and not anew each time.
"""

import argparse
import asyncio
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import DEVNULL, Popen

import pyrage

from bench.dataset import Size, build
from tests.support.commands import SCRIPT, Host

EACH = 20
"""Variables of a workspace."""
_UNCOMPILED = "PYTHONDONTWRITEBYTECODE"


def main() -> None:
    """Prints, of each way, the seconds by the clock and of the processor, and both beside `cp`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variables", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="teamvars-bench-") as folder:
        host = Host(Path(folder))
        asyncio.run(build(host, Size(wanted.variables // EACH, 0, 0)))
        took = measured(host, wanted.rounds)
        print(f"{(host.data / 'teamvars.db').stat().st_size / 1e6:,.0f} MB")
        for name, times in took.items():
            _print(name, times, took["cp"])
        host.succeed("backup", "create", "whole")
        clock, processor = _run((SCRIPT, "backup", "verify", "whole"), host)
        print(f"verified in {clock:.1f} s by the clock, {processor:.1f} s of the processor")


def measured(host: Host, rounds: int) -> Mapping[str, list[tuple[float, float]]]:
    """Of each way the seconds of the clock and of the processor in each round."""
    source, to = str(host.data / "teamvars.db"), str(pyrage.x25519.Identity.generate().to_public())
    create = SCRIPT, "backup", "create", "copy"
    ways: dict[str, Sequence[str]] = {
        "cp": ("cp", source, "copy"),
        "cp and sync": ("sh", "-c", 'cp "$0" copy && sync copy', source),
        "backup create": create,
        "to a recipient": (*create, "--recipient", to),
    }
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, words in ways.items():
            took[name].append(_run(words, host))
            (host.folder / "copy").unlink()
            os.sync()  # what the next one would wait for
    return took


def _run(words: Sequence[str], host: Host) -> tuple[float, float]:
    program = shutil.which(words[0])
    assert program is not None
    begun = time.monotonic()
    environment = {k: v for k, v in host.environment.items() if k != _UNCOMPILED}
    with Popen([program, *words[1:]], cwd=host.folder, env=environment, stderr=DEVNULL) as running:
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    assert running.returncode == 0
    return time.monotonic() - begun, used.ru_utime + used.ru_stime


def _print(
    name: str, times: Sequence[tuple[float, float]], beside: Sequence[tuple[float, float]]
) -> None:
    clock, processor = (statistics.median(column) for column in zip(*times, strict=True))
    ratios = [
        statistics.median(ours[n] / theirs[n] for ours, theirs in zip(times, beside, strict=True))
        for n in (0, 1)
    ]
    print(
        f"{name:15} {clock:6.2f} s by the clock, {ratios[0]:4.1f} times cp"
        f"   {processor:6.2f} s of the processor, {ratios[1]:4.1f} times cp"
    )


if __name__ == "__main__":
    main()
