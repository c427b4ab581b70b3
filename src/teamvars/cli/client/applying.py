"""Changes on their way: shown, agreed to, and made in one request for each workspace."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import typer

from teamvars.cli.asking import confirm
from teamvars.cli.client.api import Api, at
from teamvars.cli.client.errors import ApiError
from teamvars.cli.client.held import TERRAFORM, Held, held, places
from teamvars.cli.client.tables import NOTHING, change_row
from teamvars.cli.client.wanted import Change
from teamvars.cli.failures import Failure
from teamvars.cli.output import DIFFERENCES, ERROR, aligned, note, print_json
from teamvars.domain.applies import Outcome
from teamvars.domain.variables import Variable


class Work(NamedTuple):
    """What is to be done in a workspace."""

    held: Held
    changes: Sequence[Change]


class How(NamedTuple):
    """What a command was told of the way to do it."""

    yes: bool = False
    dry_run: bool = False
    as_json: bool = False
    asks: bool = True
    """Whether it asks even where it is about one workspace."""


def change(api: Api, planned: Callable[[Held], Sequence[Change]], how: How) -> None:
    """Makes the changes that are planned for each of the command's workspaces, once agreed to.

    Each workspace is changed whole or not at all, and only as it was when its changes were shown.
    """
    api.announce()
    work = [Work(found, planned(found)) for found in (held(api, place) for place in places(api))]
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
        codes = {failure.code for failure in failures}
        raise Failure(
            f"{len(failures)} of {len(to_do)} workspaces failed. Running the command again does "
            "what is left.",
            codes.pop() if len(codes) == 1 else ERROR,
        )
    if to_do and how.dry_run:
        raise typer.Exit(DIFFERENCES)


def counted(changes: Sequence[Change]) -> str:
    """How many of each kind, in words."""
    counts = {kind: sum(one.outcome is kind for one in changes) for kind in Outcome}
    return ", ".join(f"{count} {kind}" for kind, count in counts.items() if count) or "unchanged"


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
            made = _send(api, one, dry_run=how.dry_run)
        except Failure as failure:
            if len(work) == 1:
                raise
            failures.append(failure)
            note(f"{one.held.name}: failed, and nothing was changed there.\n{failure}")
            continue
        results += [{"workspace": one.held.name, **result} for result in made]
        note(f"{one.held.name}: {'would be ' if how.dry_run else ''}{counted(one.changes)}.")
    return results, failures


def _send(api: Api, work: Work, *, dry_run: bool) -> list[dict[str, Any]]:
    try:
        return _sent(api, work, dry_run=dry_run)
    except ApiError as error:
        if work.held.variables or not _is_about_category(error):
            keys = _keys_at_fault(work, error)
            raise Failure(f"{keys}: {error}", error.code) if keys else error from None
    # An empty workspace does not tell how the service calls its own variables.
    otherwise = work.held._replace(tool=TERRAFORM)
    return _sent(api, Work(otherwise, work.changes), dry_run=dry_run)


def _sent(api: Api, work: Work, *, dry_run: bool) -> list[dict[str, Any]]:
    prune = any(one.outcome is Outcome.DELETED for one in work.changes)
    document = {
        "data": [{"type": "vars", "attributes": item} for item in _items(work, prune)],
        "meta": {"prune": prune, "dry-run": dry_run},
    }
    path = at("workspaces", work.held.id, "actions", "apply")
    answer = api.post(path, document, if_match=work.held.etag, quote_values=True)
    results: list[dict[str, Any]] = answer.document["meta"]["results"]
    return [one for one in results if one["outcome"] != Outcome.UNCHANGED]


def _items(work: Work, prune: bool) -> Iterator[dict[str, Any]]:
    """What is sent: all that changes, and when something goes, the names of all that stays."""
    touched = set()
    for one in work.changes:
        touched.add((one.key, one.category))
        if one.wanted is None:
            continue
        said = {
            "value": one.wanted.value,
            "hcl": one.wanted.hcl,
            # Said again of what is sensitive already, so that no fault ever shows its value.
            "sensitive": one.wanted.sensitive or (one.before and one.before.sensitive) or None,
            "description": one.wanted.description,
        }
        yield {
            **_name(work.held, one),
            **{name: value for name, value in said.items() if value is not None},
        }
    for variable in work.held.variables if prune else []:
        if (variable.key, variable.category) not in touched:
            yield _name(work.held, variable)


def _name(held: Held, one: Change | Variable) -> dict[str, str]:
    return {"key": one.key, "category": held.word(one.category)}


def _keys_at_fault(work: Work, error: ApiError) -> str:
    """The keys of the items that are refused; what is sent begins with all that is wanted."""
    keys = [one.key for one in work.changes if one.wanted is not None]
    places = (re.match(r"/data/(\d+)/", fault.pointer or "") for fault in error.faults)
    numbers = [int(place[1]) for place in places if place]
    return ", ".join(dict.fromkeys(keys[number] for number in numbers if number < len(keys)))


def _is_about_category(error: ApiError) -> bool:
    return any((fault.pointer or "").endswith("/category") for fault in error.faults)
