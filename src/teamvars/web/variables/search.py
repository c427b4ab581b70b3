"""The route that searches the variables of an organization: decode, call, encode."""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import fields

from teamvars.domain.variable_search import FoundVariable, KeyRange, VariableSearch
from teamvars.domain.variable_sets import VariableSet
from teamvars.fair_slots import Turns
from teamvars.kernel.variables import Category
from teamvars.services.variable_search import Searches
from teamvars.web.dialects import Dialect
from teamvars.web.http.negotiation import MEDIA_TYPE
from teamvars.web.http.paging import BY_CURSOR, CursorLinks, cursor_links, requested_cursor
from teamvars.web.http.parameters import (
    FLAG,
    MAX_CHARACTERS,
    Parameter,
    requested_flag,
    text_of,
    words_of,
)
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import SelfLink
from teamvars.web.http.routes import Route
from teamvars.web.http.sending import Response, rendered
from teamvars.web.variables import documents
from teamvars.web.variables.documents import (
    VariableAttributes,
    VariableRelationships,
    place_of,
)

_PATH = "/api/v2/organizations/{organization}/vars"
_KEY = Parameter(
    "filter[key]",
    "A key, or the beginning of keys with a `*` behind it.",
    {"type": "string", "maxLength": MAX_CHARACTERS, "examples": ["region", "AWS_*"]},
)
_PART = Parameter("q", "Only variables with this part in their key, in any case.")
_WORKSPACE = Parameter("filter[workspace]", "Only variables in the workspace of that name.")
_SENSITIVE = Parameter("filter[sensitive]", "Only sensitive variables, or only others.", FLAG)
_VALUE, _CREATED_AT = "value", "created-at"
_RELATIONSHIPS = frozenset(field.name for field in fields(VariableRelationships))


_SHOWN = {field.name: field.type for field in fields(VariableAttributes)} | {
    "workspace_name": str,
    "varset_name": str,
}
FoundAttributes: Any = msgspec.defstruct(
    "FoundAttributes",
    [(name, type_ | UnsetType, UNSET) for name, type_ in _SHOWN.items()],
    rename="kebab",
    namespace={
        "__doc__": (
            "A variable's attributes and the name of the workspace or of the variable set that "
            "has it, or those of them that were asked for.\n\n`value` is there if it was asked "
            "for, and null when the variable is sensitive. Of `workspace-name` and `varset-name` "
            "one is empty."
        )
    },
)


class FoundResource(msgspec.Struct):
    """A variable that was found."""

    id: str
    type: str
    attributes: FoundAttributes
    links: SelfLink
    relationships: VariableRelationships | UnsetType = UNSET


class VariableSearchDocument(msgspec.Struct):
    """One page of the variables that were found."""

    data: list[FoundResource]
    links: CursorLinks


_ATTRIBUTES = {name.replace("_", "-"): name for name in _SHOWN}


class VariableSearchRoutes:
    """All variables of an organization that the caller may read, of sets as well."""

    def __init__(self, searches: Searches, turns: Turns, dialect: Dialect) -> None:
        """`turns`: those of all searches."""
        self._searches = searches
        self._turns = turns
        self._dialect = dialect
        words = {"type": "string", "enum": list(dialect.words)}
        self._category = Parameter("filter[category]", "Only variables of a category.", words)
        # `created-at` is the `terraform` dialect's own, as in every list of variables.
        own = _ATTRIBUTES if dialect.has_created_at else _ATTRIBUTES.keys() - {_CREATED_AT}
        self._known = _RELATIONSHIPS | {*own}
        self._fields = Parameter(
            "fields[vars]",
            "The only attributes and relationships to show; without it all but `value`.",
            {"type": "string", "enum": sorted(self._known)},
            is_list=True,
        )

    def routes(self) -> list[Route]:
        """The one operation."""
        filters = _PART, _KEY, self._category, _SENSITIVE, _WORKSPACE
        return [
            Route(
                "GET",
                _PATH,
                self.search,
                {200: VariableSearchDocument},
                turn=lambda request: request.turn(self._turns),
                reads=(*BY_CURSOR, *filters, self._fields),
                name="searchVariables",
            )
        ]

    async def search(self, request: Request) -> Response:
        """Search the variables of an organization that the caller may read, by key."""
        fields = words_of(request, self._fields)
        cursor, size = requested_cursor(request)
        shown = self._known - {_VALUE} if fields is None else frozenset(fields)
        key = text_of(request, _KEY)
        wanted = VariableSearch(
            keys=KeyRange() if key is None else KeyRange.of(key),
            part=text_of(request, _PART),
            category=self._wanted_category(request),
            sensitive=requested_flag(request, _SENSITIVE),
            workspace=text_of(request, _WORKSPACE),
            size=size,
            values=_VALUE in shown,
        )
        caller, organization = request.require_caller(), request.parameters["organization"]
        found = await self._searches.variables(caller, organization, wanted, cursor)
        links = cursor_links(request, size, cursor, found.further)
        batches = ([self._resource(one, shown) for one in batch] for batch in found.batches)
        document = await rendered("", batches, b',"links":' + msgspec.json.encode(links))
        return Response(200, document, {"Content-Type": MEDIA_TYPE})

    def _wanted_category(self, request: Request) -> Category | None:
        word = text_of(request, self._category)
        return None if word is None else self._dialect.words[word]

    def _resource(self, one: FoundVariable, shown: frozenset[str]) -> FoundResource:
        (whole,) = documents.variables([one.variable], place_of(one.owner), self._dialect)
        of_set = isinstance(one.owner, VariableSet)
        names = {"varset_name" if of_set else "workspace_name": one.owner.name}
        attributes: dict[str, Any] = {
            name: getattr(whole.attributes, name, names.get(name, ""))
            for wire, name in _ATTRIBUTES.items()
            if wire in shown
        }
        related = "varset" if of_set else "configurable"
        return FoundResource(
            whole.id,
            whole.type,
            FoundAttributes(**attributes),
            whole.links,
            whole.relationships if related in shown else UNSET,
        )
