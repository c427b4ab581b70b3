"""What an apply or a copy answers with: no resources, but what became of each variable."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from teamvars.domain.applies import Result
from teamvars.services.planning import Applied
from teamvars.web.dialects import Dialect


class VariableResult(msgspec.Struct, rename="kebab", gc=False):
    """What became of one variable. `changed` names the attributes that are others now.

    In a dry run what would be made has no `id`, and what would change no `version-id`.
    """

    key: str
    category: str
    outcome: Literal["created", "updated", "unchanged", "deleted"]
    changed: list[str]
    id: str | None
    version_id: str | None


class Results(msgspec.Struct, rename="kebab"):
    """In the order of the request, and then what was deleted."""

    dry_run: Annotated[bool, Meta(description="True if nothing was changed.")]
    results: list[VariableResult]


class ResultsDocument(msgspec.Struct):
    """What became of each variable."""

    meta: Results


def results(applied: Applied, dialect: Dialect) -> ResultsDocument:
    """The answer."""
    told = [_result(result, dialect) for result in applied.results]
    return ResultsDocument(Results(applied.dry_run, told))


def _result(result: Result, dialect: Dialect) -> VariableResult:
    key, category = result.name
    return VariableResult(
        key,
        dialect.categories[category],
        result.outcome.value,
        list(result.changed),
        result.id,
        result.version_id,
    )
