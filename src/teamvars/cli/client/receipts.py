"""`deliveries list`: which runner was handed what, when and in which run."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from teamvars.cli.client.api import RUNNER, Api, Resource, at
from teamvars.cli.client.changes import number
from teamvars.cli.client.contents import CATEGORIES, Owner, owners_for, searched
from teamvars.cli.client.options import connected, offered, require_said
from teamvars.cli.exits import NOT_FOUND, Failure, Misuse
from teamvars.cli.options import command, flag, json_option, option
from teamvars.cli.output import Row, show

_DAYS = 90


@command
@option("--runner", "Only to this runner, by name or id.", shell_complete=offered("runner"))
@option("--key", "Only of this variable: who was handed it.")
@flag("--unused", f"Variables that no runner was handed for {_DAYS} days.")
@json_option
@connected("organization", "workspace")
def deliveries(api: Api, runner: str | None, key: str | None, unused: bool) -> None:
    """List the last delivery of each workspace to each runner, newest first.

    Of a workspace for whoever reads it; without one, of the whole organization, for its owners.
    -w 'prod-*' or -w eu,us means every workspace that matches.

    Example: teamvars deliveries list --workspace network
    """
    require_said({"runner": runner, "key": key})
    if (unused or key is not None) and api.target.workspace is None:
        raise Misuse("Say in which workspace: --workspace NAME.")
    if unused:
        if runner is not None or key is not None:
            raise Misuse("--unused is about all runners and variables of a workspace.")
        _show_unused(api)
        return
    found = [_told(one) for one in _receipts(api, runner, key)]
    if runner is not None and not found:
        RUNNER.named(api, runner)  # one that is gone may be named while there are receipts
    found.sort(key=lambda one: str(one["delivered-at"]), reverse=True)
    show(found, map(_row, found), empty="Nothing was delivered.")


def _receipts(api: Api, runner: str | None, key: str | None) -> Iterator[Resource]:
    query = {} if runner is None else {"filter[runner]": runner}
    if api.target.workspace is None:
        yield from api.pages(at("organizations", api.organization, "deliveries", query=query))
        return
    missing = True
    for workspace in owners_for(api):
        ids = [None] if key is None else _ids(api, workspace, key)
        for id_ in ids:
            missing = False
            asked = query if id_ is None else {**query, "filter[variable]": id_}
            yield from api.pages(workspace.path("deliveries", query=asked))
    if missing:
        raise Failure(f"There is no variable {key} there.", NOT_FOUND)


def _ids(api: Api, workspace: Owner, key: str) -> list[str]:
    return [one["id"] for one in _variables(api, workspace) if one["key"] == key]


def _variables(api: Api, workspace: Owner) -> Iterator[Resource]:
    """Id, key and category of each, and no value: one that is damaged keeps nothing from being told
    of receipts.
    """
    return searched(api, {"filter[workspace]": workspace.name}, ("key", "category"))


def _told(receipt: Resource) -> Resource:
    said, related = receipt["attributes"], receipt["relationships"]
    return {
        **said,
        "runner": related["runner"]["data"]["id"],
        "workspace": related["workspace"]["data"]["id"],
    }


def _row(one: Resource) -> Row:
    versions = len(one["versions"]) + len(one["earlier"])
    return (
        one["delivered-at"],
        one["runner-name"] or one["runner"],
        one["workspace-name"] or one["workspace"],
        number(versions, "variable"),
        ", ".join(_warnings(one)) or one["runner-status"],
        one["run-link"] or "-",
    )


def _warnings(one: Resource) -> Iterator[str]:
    if one["to-rotate"]:
        keys = " ".join(each["key"] for each in one["to-rotate"])
        yield f"{one['runner-status']} since: rotate {keys}"
    if one["delivered-at"] < _long_ago():
        yield f"not delivered for {_DAYS} days"


def _long_ago() -> str:
    return (datetime.now(UTC) - timedelta(days=_DAYS)).isoformat()


def _show_unused(api: Api) -> None:
    found = [
        {"workspace": each.name, "key": key, "category": category, "delivered-at": at_}
        for each in owners_for(api)
        for key, category, at_ in _last_of(api, each)
        if at_ is None or at_ < _long_ago()
    ]
    rows = (
        (
            one["workspace"] or "",
            one["key"] or "",
            one["category"] or "",
            one["delivered-at"] or "never",
        )
        for one in found
    )
    show(found, rows, empty=f"Every variable was delivered in the last {_DAYS} days.")


def _last_of(api: Api, workspace: Owner) -> Iterator[tuple[str, str, str | None]]:
    """Key, category and the time of its last delivery, of each variable."""
    receipts = [*api.pages(workspace.path("deliveries"))]
    for one in _variables(api, workspace):
        times = [at_ for each in receipts if (at_ := _time_of(each["attributes"], one["id"]))]
        yield one["key"], CATEGORIES[one["category"]].value, max(times, default=None)


def _time_of(said: Resource, variable_id: str) -> str | None:
    """When the variable was last handed to the runner of a receipt."""
    if variable_id in said["versions"]:
        return str(said["delivered-at"])
    earlier = said["earlier"].get(variable_id)
    return None if earlier is None else str(earlier["delivered-at"])
