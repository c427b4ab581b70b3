"""`keys rewrap`: has everything under the keys in use."""

import sys
import time

import click

from teamvars.cli.exits import CONFLICT, DIFFERENCES, Failure
from teamvars.cli.operator.context import run
from teamvars.cli.options import command, option
from teamvars.cli.output import note, say
from teamvars.services.rewraps import Outcome, Progress, UnderWay

_SECONDS_BETWEEN = 5.0
"""How often it says how far it is."""


@command
@option(
    "--rate",
    "Seal at most N values a second. Otherwise it works a tenth of the time, and rests.",
    type=click.IntRange(min=1),
    metavar="N",
)
def rewrap(rate: int | None) -> None:
    """Put everything under the keys in use, while nodes serve: data keys, and what they seal.

    Safe to stop and to repeat; one at a time. No version of anything changes. Exit with 3 if a
    value does not open: it is left as it is, and named.
    """
    try:
        outcome = run(
            lambda services, caller: services.rewraps.run(caller, _Telling().tell, rate=rate)
        )
    except UnderWay:
        text = "Another 'keys rewrap' is under way, and goes on alone."
        raise Failure(text, CONFLICT) from None
    _end_with(outcome)


def _end_with(outcome: Outcome) -> None:
    say(f"sealed {outcome.sealed}")
    if not outcome.broken:
        note("Everything is under the keys in use: 'teamvars keys status' says what needs others.")
        return
    for text in outcome.broken:
        note(text)
    note(f"{len(outcome.broken)} did not open, and are as they were: see 'teamvars doctor --all'.")
    sys.exit(DIFFERENCES)


class _Telling:
    """Says how far it is and how long it may take, every few seconds, counted from the first page:
    a job may have waited before for the place of one that was killed.
    """

    def __init__(self) -> None:
        self._begun: tuple[float, int] | None = None
        self._told = 0.0

    def tell(self, progress: Progress) -> None:
        """A line, unless there was one just now."""
        now = time.monotonic()
        if self._begun is None:
            self._begun, self._told = (now, progress.done), now
        if now - self._told < _SECONDS_BETWEEN:
            return
        self._told = now
        since, before = self._begun
        rate = (progress.done - before) / (now - since)
        left = f", {(progress.all - progress.done) / rate:,.0f} s left" if rate else ""
        note(f"{progress.done:,} of {progress.all:,} values, {rate:,.0f} a second{left}")
