"""`run --explain`: which variable comes from where, and who is handed it. No value is shown.

A person sees whence, and all runners. A job asks the service as `run` would, for names alone.
"""

from collections.abc import Iterator, Sequence

from teamvars.cli.client.api import Api
from teamvars.cli.client.contents import category_of, contents_of, gotten
from teamvars.cli.client.deliveries import names
from teamvars.cli.client.environments import WorkspaceVariable, chosen
from teamvars.cli.client.jobs import Asked, Place
from teamvars.cli.output import Row, note
from teamvars.domain.names import escaped
from teamvars.domain.runners import RunnerStatus
from teamvars.kernel.variables import Category

_IN_FORCE = (RunnerStatus.APPROVED, RunnerStatus.CHANGED)


def explained(api: Api, only: Sequence[str]) -> Iterator[Row]:
    """A row for each variable: key, category, whence, and to whom: `you`, and runners by name."""
    found = contents_of(api, effective=True)
    sources = {
        (one["key"], category_of(one["category"])): one["source"]["name"]
        for one in gotten(api, found.owner)
    }
    runners = [one["attributes"] for one in api.listed(found.owner.path("runners"))]
    in_force = [one for one in runners if one["status"] in _IN_FORCE]
    for variable in chosen(found.variables, only):
        given = [
            one["name"] for one in in_force if one["include-sensitive"] or not variable.sensitive
        ]
        source = sources.get((variable.key, variable.category), found.name)
        yield _row(source, variable, [*([] if variable.sensitive else ["you"]), *given])


def explained_to_job(asked: Asked, place: Place) -> Iterator[Row]:
    """A row for each variable: key, category, and whether this job is handed it.

    Says on stderr by which runner, and what a job is not told.
    """
    found = names(asked, place)
    note(f"{place.name}: the runner {found.runner} would deliver {asked.workspace_id}.")
    if not found.is_bound:
        note("This took one of the job's tokens, each of which is good once: 'run' takes another.")
    note("A job is not told which set a value comes from. To see it, run this where you log in.")
    for one in chosen(found.variables, asked.only):
        given = "handed to this job" if one.handed_out else "sensitive: not handed to this job"
        yield one.key, _form(category_of(one.category)), given


def _row(source: str, variable: WorkspaceVariable, names: Sequence[str]) -> Row:
    handed = f"handed to {', '.join(names)}" if names else "handed to nobody"
    return variable.key, _form(variable.category), f"from {escaped(source)}", handed


def _form(category: Category | None) -> str:
    return "a variable of terraform" if category is Category.TOOL else "environment"
