"""The changes of one workspace as one request: all of them or none."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from teamvars.cli.client.api import Api, at
from teamvars.cli.client.errors import ApiError, says
from teamvars.cli.client.held import TERRAFORM, Held, Place, held
from teamvars.cli.client.wanted import Change
from teamvars.cli.failures import Failure
from teamvars.domain.applies import Outcome
from teamvars.domain.variables import Variable

_ATTEMPTS = 5
_STALE = "precondition_failed"
_VERSIONED = "/meta/versioned"
"""What a service refuses that is older than this command."""


class Work(NamedTuple):
    """What is to be done in a workspace.

    `versioned`: only the variables it is about must be as they were read, not the whole workspace.
    """

    held: Held
    changes: list[Change]
    versioned: bool = False


def send(api: Api, work: Work, *, dry_run: bool = False) -> list[dict[str, Any]]:
    """What became of each variable that is another now. Raises ApiError, nothing being changed.

    Versioned work that is refused as stale is sent again where its variables are at the versions
    they had nevertheless: what somebody made meanwhile is gone again.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return _spoken(api, work, dry_run=dry_run)
        except ApiError as error:
            if not (work.versioned and says(error.faults, _STALE) and _stands(api, work)):
                raise
    return _spoken(api, work, dry_run=dry_run)


def _spoken(api: Api, work: Work, *, dry_run: bool) -> list[dict[str, Any]]:
    """Sends it in the service's words; names the keys that are refused."""
    try:
        return _sent(api, work, dry_run=dry_run)
    except ApiError as error:
        pointers = [fault.pointer or "" for fault in error.faults]
        if _VERSIONED in pointers:
            raise Failure(
                f"The service at {api.target.address} is older than this command, and cannot hold "
                "a change to single variables: nothing was changed. Whether they fit: teamvars "
                "version"
            ) from None
        if work.held.variables or not any(one.endswith("/category") for one in pointers):
            raise error.about(_keys_at_fault(work, error)) from None
    # An empty workspace does not tell how the service calls its own variables.
    return _sent(api, work._replace(held=work.held._replace(tool=TERRAFORM)), dry_run=dry_run)


def _sent(api: Api, work: Work, *, dry_run: bool) -> list[dict[str, Any]]:
    deletes = any(one.outcome is Outcome.DELETED for one in work.changes)
    how = {"versioned": True} if work.versioned else {"prune": deletes}
    changes = _named(work)
    items = [_item(work, one) for one in changes]
    stays = _stays(work) if deletes and not work.versioned else ()
    document = {
        "data": [*items, *({"type": "vars", "attributes": name} for name in stays)],
        "meta": {**how, "dry-run": dry_run},
    }
    answer = api.post(
        at("workspaces", work.held.id, "actions", "apply"),
        document,
        if_match=None if work.versioned else work.held.etag,
        quotable={
            "data": [
                None if one.is_secret else item for one, item in zip(changes, items, strict=True)
            ]
        },
    )
    results: list[dict[str, Any]] = answer.document["meta"]["results"]
    return [one for one in results if one["outcome"] != Outcome.UNCHANGED]


def _named(work: Work) -> list[Change]:
    """The changes that have an item: what goes has one in versioned work alone."""
    return [one for one in work.changes if work.versioned or one.wanted is not None]


def _item(work: Work, change: Change) -> dict[str, Any]:
    item: dict[str, Any] = {"type": "vars", "attributes": _name(work.held, change)}
    if work.versioned:
        item["meta"] = {"version-id": change.before.version_id if change.before else None}
    if change.wanted is None:
        item["meta"]["delete"] = True
        return item
    said = {
        "value": change.wanted.value,
        "hcl": change.wanted.hcl,
        # Said again of what is sensitive already, so that no fault ever shows its value.
        "sensitive": change.wanted.sensitive or (change.before and change.before.sensitive) or None,
        "description": change.wanted.description,
    }
    item["attributes"].update({name: value for name, value in said.items() if value is not None})
    return item


def _stays(work: Work) -> Iterator[dict[str, str]]:
    """The names of all that a request which prunes leaves as it is."""
    touched = {(one.key, one.category) for one in work.changes}
    for variable in work.held.variables:
        if (variable.key, variable.category) not in touched:
            yield _name(work.held, variable)


def _name(held: Held, one: Change | Variable) -> dict[str, str]:
    return {"key": one.key, "category": held.word(one.category)}


def _stands(api: Api, work: Work) -> bool:
    """Whether all the variables it is about are at the versions they had."""
    now = held(api, Place(work.held.id, work.held.name))
    versions = {(one.key, one.category): one.version_id for one in now.variables}
    return all(
        versions.get((one.key, one.category)) == (one.before.version_id if one.before else None)
        for one in work.changes
    )


def _keys_at_fault(work: Work, error: ApiError) -> str:
    """The keys of the items that are refused; a request begins with those of the changes."""
    keys = [one.key for one in _named(work)]
    places = (re.match(r"/data/(\d+)/", fault.pointer or "") for fault in error.faults)
    numbers = [int(place[1]) for place in places if place]
    return ", ".join(dict.fromkeys(keys[number] for number in numbers if number < len(keys)))
