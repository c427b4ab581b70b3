"""What a workspace gets from itself and from sets: the variables that count, with those that do not
or alone.
"""

from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from teamvars.domain.effective import Level, Rule, Source
from teamvars.domain.variables import Variable
from teamvars.domain.workspaces import Workspace
from teamvars.services.effective import (
    EVERY,
    WINNERS,
    EffectiveList,
    EffectiveVariable,
    EffectiveVariables,
    Kind,
    Overridden,
    Render,
)
from teamvars.services.rendered import Rendered
from teamvars.web.dialects import Dialect
from teamvars.web.http.negotiation import IF_NONE_MATCH
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import SelfLink
from teamvars.web.http.routes import Route
from teamvars.web.http.sending import Response, rendered
from teamvars.web.variables import documents
from teamvars.web.variables.documents import (
    OwnAttributes,
    Place,
    VariableListDocument,
    VariableRelationships,
    entity_tag,
    place_of,
    set_place,
)
from teamvars.web.variables.routes import list_response

T = TypeVar("T")
_ALL = "/api/v2/workspaces/{workspace_id}/all-vars"
_EFFECTIVE = "/api/v2/workspaces/{workspace_id}/effective-vars"
_LEVEL = Annotated[
    str,
    Meta(
        description="How it comes to the workspace, which says what comes before what.",
        extra_json_schema={"enum": [one.value for one in Level]},
    ),
]
_RULE = Annotated[
    str,
    Meta(
        description="`level`: the other's is higher. `name`: of two sets alike it comes first.",
        extra_json_schema={"enum": [one.value for one in Rule]},
    ),
]


class VariableSource(msgspec.Struct):
    """The workspace or the variable set that has a variable."""

    id: str
    type: str
    name: str


class OverriddenVariable(msgspec.Struct, rename="kebab"):
    """A variable that does not count; `value` is null when it is sensitive."""

    id: str
    value: str | None
    sensitive: bool
    version_id: str
    source: VariableSource
    level: _LEVEL
    rule: _RULE


class EffectiveAttributes(OwnAttributes):
    """A variable that counts, where it is from, and what it comes before; `value` is null when it
    is sensitive.
    """

    source: VariableSource
    level: _LEVEL
    overrides: list[OverriddenVariable]


class EffectiveResource(msgspec.Struct):
    """What a workspace gets of a key and category; its id is that of the variable that counts."""

    id: str
    type: str
    attributes: EffectiveAttributes
    relationships: VariableRelationships
    links: SelfLink


class EffectiveListDocument(msgspec.Struct):
    """All that a workspace gets."""

    data: list[EffectiveResource]


class EffectiveRoutes:
    """Both lists, for whoever reads the variables of the workspace."""

    def __init__(self, effective: EffectiveVariables, dialect: Dialect) -> None:
        self._effective = effective
        self._dialect = dialect

    def routes(self) -> list[Route]:
        """The variables that count alone, and with what they come before."""
        said: dict[str, Any] = {
            "precondition": IF_NONE_MATCH,
            "has_entity_tag": True,
            "tag": "Variables",
        }
        return [
            Route(
                "GET",
                _ALL,
                partial(self._list, kind=WINNERS, render=self._render_winners),
                {200: VariableListDocument},
                name="listAllVariables",
                text="List all variables that count in a workspace, those of sets among them.",
                **said,
            ),
            Route(
                "GET",
                _EFFECTIVE,
                partial(self._list, kind=EVERY, render=self._render_every),
                {200: EffectiveListDocument},
                name="listEffectiveVariables",
                text="List what a workspace gets, where it is from, and what it comes before.",
                **said,
            ),
        ]

    async def _list(self, request: Request, kind: Kind[T], render: Render[T]) -> Response:
        caller, workspace_id = request.require_caller(), request.parameters["workspace_id"]
        found = await self._effective.list(caller, workspace_id, kind, render)
        return list_response(request, found)

    async def _render_winners(self, found: EffectiveList[Variable]) -> Rendered:
        places, dialect = _Places(found.workspace), self._dialect
        batches = (
            [
                resource
                for owner_id, some in groupby(batch, attrgetter("owner_id"))
                for resource in documents.variables(some, places.of(owner_id), dialect)
            ]
            for batch in found.batches
        )
        return await rendered(entity_tag(found.version, found.workspace, dialect), batches)

    async def _render_every(self, found: EffectiveList[EffectiveVariable]) -> Rendered:
        places = _Places(found.workspace)
        batches = ([self._resource(one, places) for one in batch] for batch in found.batches)
        return await rendered(entity_tag(found.version, found.workspace, self._dialect), batches)

    def _resource(self, one: EffectiveVariable, places: "_Places") -> EffectiveResource:
        variable, place = one.variable, places.of(one.variable.owner_id)
        attributes = EffectiveAttributes(
            variable.key,
            variable.value,
            variable.description,
            self._dialect.categories[variable.category],
            variable.hcl,
            variable.sensitive,
            variable.version_id,
            places.source(one.source),
            one.source.level.value,
            [_overridden(each, places) for each in one.overridden],
        )
        return EffectiveResource(
            variable.id,
            "effective-vars",
            attributes,
            place.relationships,
            SelfLink(place.path + variable.id),
        )


class _Places:
    """Where the variables are that come to one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._places = {workspace.id: place_of(workspace)}

    def of(self, owner_id: str) -> Place:
        """Where those of an owner are."""
        return self._places.get(owner_id) or self._places.setdefault(owner_id, set_place(owner_id))

    def source(self, source: Source) -> VariableSource:
        """What is told of a source."""
        if source.id == self._workspace.id:
            return VariableSource(source.id, "workspaces", self._workspace.name)
        return VariableSource(source.id, "varsets", source.name)


def _overridden(one: Overridden, places: _Places) -> OverriddenVariable:
    variable = one.variable
    said = variable.id, variable.value, variable.sensitive, variable.version_id
    return OverriddenVariable(
        *said, places.source(one.source), one.source.level.value, one.rule.value
    )
