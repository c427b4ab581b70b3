"""Applies: what the variables of a workspace or a set should be, `actions/apply`, item by item."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from teamvars.domain.applies import MAX_ITEMS, ApplyDraft, ItemDraft, Result
from teamvars.domain.errors import Code
from teamvars.domain.set_effects import Effects
from teamvars.domain.variables import ATTRIBUTES, Expected
from teamvars.fair_slots import Turns
from teamvars.kernel.variables import Category
from teamvars.pace import Pace
from teamvars.services.applies import Applies
from teamvars.services.planning import Applied
from teamvars.web.dialects import Dialect
from teamvars.web.http.idempotency import changed
from teamvars.web.http.negotiation import IF_MATCH
from teamvars.web.http.reader import ItemReader, Reader
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import Identifier
from teamvars.web.http.routes import RequestBody, Route
from teamvars.web.http.sending import Response
from teamvars.web.set_effects import EffectOnWorkspace, rows_of
from teamvars.web.variables import owners
from teamvars.web.variables.documents import entity_tag
from teamvars.web.variables.owners import OwnerKind
from teamvars.web.variables.requests import (
    CATEGORY,
    KEY,
    NAMES_A_VARIABLE,
    VariableChanges,
    item_draft,
    wanted_versions,
)

DRY_RUN = Meta(description="Change nothing, and say what would happen to each variable.")
VERSIONED = Meta(description="Items may name versions and be deleted; older releases refuse this.")
EXPECTED = Meta(description="The version it must be at; null: it must not exist.")
_VERSIONED = "versioned"
_CONDITIONS = _VERSION_ID, _DELETE = "version-id", "delete"
_OPTIONS = "/data/meta"
_STAYS = [name for name in ATTRIBUTES if name not in NAMES_A_VARIABLE]
_SHORT_BYTES = 64 * 1024
"""A body of so many bytes takes a worker some 30 ms, and waits for no turn."""


class ItemAttributes(VariableChanges, kw_only=True, forbid_unknown_fields=True):
    """A variable by key and category. What is left out stays as it is, or has the default of a
    create where the variable is new.
    """

    key: Annotated[str, KEY]
    category: Annotated[str, CATEGORY]


class ItemOptions(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    """Of an item of an apply that is `versioned`."""

    version_id: Annotated[str | None, EXPECTED] | UnsetType = UNSET
    delete: Annotated[bool, Meta(description="Delete it; then give only a key and a category.")] = (
        False
    )


class Item(msgspec.Struct):
    """What a variable should be."""

    type: Literal["vars"]
    attributes: ItemAttributes
    meta: ItemOptions | UnsetType = UNSET


class ApplyOptions(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    """How it is applied."""

    prune: Annotated[
        bool, Meta(description="Delete the variables that are not among the items.")
    ] = False
    dry_run: Annotated[bool, DRY_RUN] = False
    versioned: Annotated[bool, VERSIONED] = False


class ApplyDocument(msgspec.Struct):
    """What the variables of a workspace or a variable set should be."""

    data: Annotated[list[Item], Meta(max_length=MAX_ITEMS)]
    meta: ApplyOptions | UnsetType = UNSET


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


class EffectsOnWorkspaces(msgspec.Struct):
    """How many workspaces would get a value that they have not, another value, or lose one; and the
    first of all these by name that the caller sees.
    """

    gaining: int
    changing: int
    losing: int
    workspaces: list[EffectOnWorkspace]


class Results(msgspec.Struct, rename="kebab"):
    """In the order of the request, and then what was deleted. A dry run of a variable set has the
    `effects` on workspaces.
    """

    dry_run: Annotated[bool, Meta(description="True if nothing was changed.")]
    results: list[VariableResult]
    effects: EffectsOnWorkspaces | UnsetType = UNSET


class ResultsDocument(msgspec.Struct):
    """What became of each variable."""

    meta: Results


def body(dialect: Dialect) -> RequestBody:
    """A document that is applied."""
    tool, env = dialect.categories[Category.TOOL], dialect.categories[Category.ENV]
    region = {"key": "region", "value": "eu-central-1", "category": env}
    zones = {"key": "zones", "value": '["a", "b"]', "category": tool, "hcl": True}
    items = [{"type": "vars", "attributes": attributes} for attributes in (region, zones)]
    example = {"data": items, "meta": {"prune": False, "dry-run": True}}
    return RequestBody(ApplyDocument, example, max_items=MAX_ITEMS)


async def draft(document: object, owner: Identifier, dialect: Dialect) -> ApplyDraft:
    """What an apply asks for. Between its items other tasks have the event loop."""
    if not isinstance(document, dict):
        read = Reader(document)
        read.data(list)
        return ApplyDraft(faults=read.faults)
    # Without the items: each has a reader of its own.
    read = Reader({name: value for name, value in document.items() if name != "data"})
    items = read.member(document, "data", list, "")
    options = read.member(document, "meta", dict, "", required=False)
    names = ("prune", "dry-run", _VERSIONED)
    read.refuse_unknown(options, set(names), "/meta")
    prune, dry_run, versioned = (flag(read, options, name) for name in names)
    pace = Pace()
    found = []
    for number, item in enumerate(items or ()):
        reader = ItemReader(item, number)
        expected, goes = _conditions(reader, item, versioned=versioned)
        draft = item_draft(reader, owner, dialect)
        found.append(ItemDraft(draft, expected, goes, reader.at))
        await pace.keep()
    return ApplyDraft(found, prune=prune, dry_run=dry_run, faults=read.faults)


def _conditions(read: ItemReader, item: object, *, versioned: bool) -> tuple[Expected, bool]:
    """The version that an item expects, and whether its variable goes."""
    if not isinstance(item, dict) or "meta" not in item:
        return UNSET, False
    options = read.member(item, "meta", dict, "/data") or {}
    if not versioned:  # a condition must not be ignored
        detail = f"This needs a request whose meta.{_VERSIONED} is true."
        _refuse(read, options, _CONDITIONS, _OPTIONS, detail)
        return UNSET, False
    read.refuse_unknown(options, set(_CONDITIONS), _OPTIONS)
    goes = read.member(options, _DELETE, bool, _OPTIONS, required=False) or False
    if goes:
        detail = "An item that is deleted has only a key and a category."
        _refuse(read, item.get("attributes"), _STAYS, "/data/attributes", detail)
    return expectation(read, options, _VERSION_ID, _OPTIONS), goes


def _refuse(read: ItemReader, given: object, names: Iterable[str], at: str, detail: str) -> None:
    """Notes a fault of each of these members that an object has."""
    for name in names:
        if isinstance(given, dict) and name in given:
            read.fault(Code.INVALID_VALUE, detail, f"{at}/{name}")


def expectation(
    read: Reader, parent: Mapping[str, Any], name: str, at: str, *, null: bool = True
) -> Expected:
    """The version that a member says, or, where that may be, null for none; `at` its parent."""
    if name not in parent:
        return UNSET
    found = parent[name]
    if isinstance(found, str) or (null and found is None):
        return found
    words = "a string or null" if null else "a string"
    read.fault(Code.WRONG_TYPE, f"This must be {words}.", f"{at}/{name}")
    return UNSET


def flag(read: Reader, options: dict[str, object] | None, name: str) -> bool:
    """An option of `meta`, false unless it says true."""
    return read.member(options, name, bool, "/meta", required=False) or False


def _effects(found: Effects | None) -> EffectsOnWorkspaces | UnsetType:
    if found is None:
        return UNSET
    return EffectsOnWorkspaces(found.gaining, found.changing, found.losing, rows_of(found))


class ApplyRoutes:
    """`actions/apply` of workspaces and sets, and what `actions/copy` has in common with it."""

    def __init__(self, applies: Applies, dialect: Dialect) -> None:
        self._applies = applies
        self._turns = Turns()
        self._dialect = dialect

    def routes(self) -> list[Route]:
        """The operation, on each kind of what has variables."""
        return [
            Route(
                "POST",
                f"{kind.path}/actions/apply",
                partial(self.apply, kind),
                {200: ResultsDocument},
                takes=body(self._dialect),
                keyed=True,
                admit=partial(self.admit, kind),
                turn=self._turn_unless_short,
                precondition=IF_MATCH,
                has_entity_tag=True,
                may_forbid=True,
                tag="Applies",
                name=f"apply{kind.names}Variables",
                text=f"Make the variables of {kind.noun} what the request says, all or none.",
            )
            for kind in owners.EVERY
        ]

    async def admit(self, kind: OwnerKind, request: Request) -> None:
        """Refuses callers who may not change the variables of what the path names."""
        await self._applies.admit(request.require_caller(), kind.asked(request))

    def turn(self, request: Request) -> AbstractAsyncContextManager[None]:
        """A turn, in place of a slot: a short request may copy as much as there is."""
        request.leave_slot()
        return self._turns.turn(request.require_caller())

    def _turn_unless_short(self, request: Request) -> AbstractAsyncContextManager[None]:
        return nullcontext() if request.body_bytes <= _SHORT_BYTES else self.turn(request)

    async def apply(self, kind: OwnerKind, request: Request) -> Response:
        """Make variables what the request says, all or none."""
        asked = await draft(request.document, kind.identifier(request), self._dialect)
        # A short one that prunes may delete as much as there is.
        has_turn = not asked.prune or request.body_bytes > _SHORT_BYTES
        async with nullcontext() if has_turn else self.turn(request):
            where = request.require_caller(), kind.asked(request)
            work = self._applies.apply(*where, asked, wanted_versions(request))
            return await changed(request, work, self.applied)

    def applied(self, applied: Applied) -> Response:
        """What became of each variable, with the entity tag of the list as it is now."""
        tag = entity_tag(applied.version, applied.owner, self._dialect)
        results = [self._result(result) for result in applied.results]
        document = ResultsDocument(Results(applied.dry_run, results, _effects(applied.effects)))
        return Response.document(200, document, {"ETag": tag})

    def _result(self, result: Result) -> VariableResult:
        key, category = result.name
        return VariableResult(
            key,
            self._dialect.categories[category],
            result.outcome.value,
            list(result.changed),
            result.id,
            result.version_id,
        )
