"""`run --explain`: which variable comes from where, and who is handed it. No value is shown."""

from collections.abc import Iterator, Sequence

from teamvars.cli.client.api import Api
from teamvars.cli.client.contents import category_of, contents_of, gotten
from teamvars.cli.client.environments import WorkspaceVariable, chosen
from teamvars.cli.output import Row
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
    runners = [one["attributes"] for one in api.pages(found.owner.path("runners"))]
    in_force = [one for one in runners if one["status"] in _IN_FORCE]
    for variable in chosen(found.variables, only):
        names = [
            one["name"] for one in in_force if one["include-sensitive"] or not variable.sensitive
        ]
        source = sources.get((variable.key, variable.category), found.name)
        yield _row(source, variable, [*([] if variable.sensitive else ["you"]), *names])


def _row(source: str, variable: WorkspaceVariable, names: Sequence[str]) -> Row:
    form = "a variable of terraform" if variable.category is Category.TOOL else "environment"
    handed = f"handed to {', '.join(names)}" if names else "handed to nobody"
    return variable.key, form, f"from {escaped(source)}", handed
