"""Changes on their way: shown, agreed to, and made in one request for each workspace."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import typer

from teamvars.cli.asking import confirm
from teamvars.cli.client.api import Api
from teamvars.cli.client.applies import Work, send
from teamvars.cli.client.tables import NOTHING, change_row
from teamvars.cli.client.wanted import Change
from teamvars.cli.exits import DIFFERENCES, ERROR, UNKNOWN_OUTCOME
from teamvars.cli.failures import Failure
from teamvars.cli.output import aligned, note, print_json
from teamvars.domain.applies import Outcome


class How(NamedTuple):
    """What a command was told of the way to do it."""

    yes: bool = False
    dry_run: bool = False
    as_json: bool = False
    asks: bool = True
    """Whether it asks even where it is about one workspace."""


def change(api: Api, work: Sequence[Work], how: How) -> None:
    """Makes the changes of each workspace once they were shown and, where it asks, agreed to.

    Each workspace is changed whole or not at all, and only as it was when its changes were shown.
    """
    api.announce()
    to_do = [one for one in work if one.changes]
    for one in to_do if how.asks or len(work) > 1 or how.dry_run else []:
        _show(one)
    if not to_do:
        note(NOTHING)
    elif not how.dry_run and (how.asks or len(to_do) > 1):
        confirm(_question(to_do), yes=how.yes)
    results, failures = _carried_out(api, to_do, how)
    if how.as_json:
        print_json(results)
    if failures:
        raise Failure(
            f"{len(failures)} of {len(to_do)} workspaces failed. Running the command again does "
            "what is left.",
            _together(failures),
        )
    if to_do and how.dry_run:
        raise typer.Exit(DIFFERENCES)


def counted(changes: Sequence[Change], *, is_done: bool) -> str:
    """How many of each kind, in words: as what was done, or as what would be."""
    counts = {kind: sum(one.outcome is kind for one in changes) for kind in Outcome}
    verb = "" if is_done else "would be "
    said = (f"{count} {verb}{kind}" for kind, count in counts.items() if count)
    return ", ".join(said) or "unchanged"


def _show(work: Work) -> None:
    note(f"{work.held.name}:")
    for line in aligned([change_row(one, work.held.word(one.category)) for one in work.changes]):
        note(f"  {line}")


def _question(work: Sequence[Work]) -> str:
    total = sum(len(one.changes) for one in work)
    where = work[0].held.name if len(work) == 1 else f"{len(work)} workspaces"
    return f"Make {'this change' if total == 1 else f'these {total} changes'} in {where}?"


def _carried_out(
    api: Api, work: Sequence[Work], how: How
) -> tuple[list[dict[str, Any]], list[Failure]]:
    """What became of each variable, and what failed. Says how it goes; one alone fails at once."""
    results: list[dict[str, Any]] = []
    failures: list[Failure] = []
    for one in work:
        try:
            made = send(api, one, dry_run=how.dry_run)
        except Failure as failure:
            if len(work) == 1:
                raise
            failures.append(failure)
            is_known = failure.code != UNKNOWN_OUTCOME
            what = "failed, and nothing was changed there" if is_known else "nobody knows"
            note(f"{one.held.name}: {what}.\n{failure}")
            continue
        results += [{"workspace": one.held.name, **result} for result in made]
        note(f"{one.held.name}: {counted(one.changes, is_done=not how.dry_run)}.")
    return results, failures


def _together(failures: Sequence[Failure]) -> int:
    """What several failures are to whoever has one exit code for them."""
    codes = {failure.code for failure in failures}
    if UNKNOWN_OUTCOME in codes:
        return UNKNOWN_OUTCOME
    return codes.pop() if len(codes) == 1 else ERROR
