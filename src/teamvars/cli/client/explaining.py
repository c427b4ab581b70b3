"""`run --explain`: which variable comes from where, and who is handed it. No value is shown.

A person sees whence, and all runners. A job asks the service as `run` would, for names alone.
"""

from collections.abc import Sequence
from typing import NamedTuple

from teamvars.cli.client.api import Api
from teamvars.cli.client.contents import category_of, gotten, workspace_of
from teamvars.cli.client.deliveries import names
from teamvars.cli.client.environments import chosen
from teamvars.cli.client.jobs import Asked, Place
from teamvars.cli.output import Fields, Row, note
from teamvars.domain.runners import RunnerStatus
from teamvars.kernel.variables import Category

_IN_FORCE = (RunnerStatus.APPROVED, RunnerStatus.CHANGED)
Told = tuple[Sequence[Fields], Sequence[Row]]
"""What is shown of each variable: to programs, and to people."""


class _Counting(NamedTuple):
    """A variable that counts in the workspace, and the name of what it is from."""

    key: str
    category: str
    source: str
    sensitive: bool


def explained(api: Api, only: Sequence[str]) -> Told:
    """Key, category, whence, and to whom: the person who asks, and runners by name."""
    workspace = workspace_of(api.workspace())
    counting = [
        _Counting(one["key"], one["category"], one["source"]["name"], one["sensitive"])
        for one in gotten(api, workspace)
    ]
    runners = [one["attributes"] for one in api.listed(workspace.path("runners"))]
    in_force = [one for one in runners if one["status"] in _IN_FORCE]
    fields: list[Fields] = []
    rows: list[Row] = []
    for one in chosen(counting, only):
        to = [each["name"] for each in in_force if each["include-sensitive"] or not one.sensitive]
        told = {"key": one.key, "category": one.category, "source": one.source}
        fields.append({**told, "to-you": not one.sensitive, "runners": to})
        handed = ", ".join([*([] if one.sensitive else ["you"]), *to]) or "nobody"
        rows.append((one.key, _form(one.category), f"from {one.source}", f"handed to {handed}"))
    return fields, rows


def explained_to_job(asked: Asked, place: Place) -> Told:
    """Key, category, and whether this job is handed it.

    Says on stderr by which runner, and what a job is not told.
    """
    found = names(asked, place)
    note(f"{place.name}: the runner {found.runner} would deliver {asked.workspace_id}.")
    if not found.is_bound:
        note("This took one of the job's tokens, each of which is good once: 'run' takes another.")
    note("A job is not told which set a value comes from. To see it, run this where you log in.")
    fields: list[Fields] = []
    rows: list[Row] = []
    for one in chosen(found.variables, asked.only):
        fields.append({"key": one.key, "category": one.category, "handed-out": one.handed_out})
        given = "handed to this job" if one.handed_out else "sensitive: not handed to this job"
        rows.append((one.key, _form(one.category), given))
    return fields, rows


def _form(category: str) -> str:
    return "a variable of terraform" if category_of(category) is Category.TOOL else "environment"
