"""Applies: what the variables of a workspace or a set should be, `actions/apply`, item by item; and
updates of many.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from teamvars.domain.applies import MAX_ITEMS, ApplyDraft, ItemDraft, Result, VariableId
from teamvars.domain.errors import Code
from teamvars.domain.set_effects import Effects
from teamvars.domain.variables import ATTRIBUTES, Expected, VariableDraft
from teamvars.fair_slots import Turns
from teamvars.kernel.variables import Category
from teamvars.pace import Pace
from teamvars.services.applies import Applies
from teamvars.services.planning import Applied
from teamvars.web.dialects import Dialect
from teamvars.web.examples import IDS
from teamvars.web.http.idempotency import changed
from teamvars.web.http.negotiation import IF_MATCH
from teamvars.web.http.reader import DRY_RUN_NAME, ItemReader, Reader
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import Identifier
from teamvars.web.http.routes import Handler, RequestBody, Route
from teamvars.web.http.sending import Response
from teamvars.web.variables import owners
from teamvars.web.variables.documents import EffectOnWorkspace, effect_rows, entity_tag
from teamvars.web.variables.owners import OwnerKind
from teamvars.web.variables.requests import (
    CATEGORY,
    KEY,
    NAMES_A_VARIABLE,
    VariableChanges,
    changed_item,
    item_draft,
    wanted_versions,
)

DRY_RUN = Meta(description="Change nothing, and say what would happen to each variable.")
VERSIONED = Meta(description="Items may name versions and be deleted; older releases refuse this.")
EXPECTED = Meta(description="The version it must be at; null: it must not exist.")
VERSIONED_NAME = "versioned"
_OPTIONS = _PRUNE, _, _ = "prune", DRY_RUN_NAME, VERSIONED_NAME
_CONDITIONS = VERSION_ID, _DELETE = "version-id", "delete"
_META = "/data/meta"
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


class ItemVersion(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    """Of an item of updates that are `versioned`."""

    version_id: Annotated[str, Meta(description="The version it must be at.")] | UnsetType = UNSET


class ChangedItem(msgspec.Struct):
    """A variable to update, by its id; what is left out stays."""

    type: Literal["vars"]
    id: str
    attributes: VariableChanges
    meta: ItemVersion | UnsetType = UNSET


class UpdateOptions(msgspec.Struct, forbid_unknown_fields=True):
    """How they are updated."""

    versioned: Annotated[bool, Meta(description="Items may name versions.")] = False


class UpdatesDocument(msgspec.Struct):
    """Updates variables of a workspace."""

    data: Annotated[list[ChangedItem], Meta(max_length=MAX_ITEMS)]
    meta: UpdateOptions | UnsetType = UNSET


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


async def draft(
    document: object,
    read_item: Callable[[ItemReader], tuple[VariableId, VariableDraft]],
    options: Collection[str] = _OPTIONS,
    conditions: Collection[str] = _CONDITIONS,
) -> ApplyDraft:
    """What a document of items asks for. It may have these `options`, and each item these
    `conditions`. Between its items other tasks have the event loop.
    """
    if not isinstance(document, dict):
        read = Reader(document)
        read.data(list)
        return ApplyDraft(faults=read.faults)
    # Without the items: each has a reader of its own.
    read = Reader({name: value for name, value in document.items() if name != "data"}, options)
    items = read.at_most(MAX_ITEMS, read.member(document, "data", list, "") or [], "/data")
    flags = {name: read.option(name) for name in options}
    pace = Pace()
    found = []
    for number, item in enumerate(items):
        reader = ItemReader(item, number)
        expected, goes = _conditions(reader, item, conditions, versioned=flags[VERSIONED_NAME])
        variable_id, asked = read_item(reader)
        found.append(ItemDraft(asked, expected, goes, reader.at, variable_id))
        await pace.keep()
    prune, dry_run = (flags.get(name, False) for name in (_PRUNE, DRY_RUN_NAME))
    return ApplyDraft(found, prune=prune, dry_run=dry_run, faults=read.faults)


def _updates_body(dialect: Dialect) -> RequestBody:
    """A document that updates variables."""
    attributes = {"value": "eu-west-1", "category": dialect.categories[Category.ENV]}
    region = {"type": "vars", "id": IDS["variable_id"], "attributes": attributes}
    return RequestBody(UpdatesDocument, {"data": [region]}, max_items=MAX_ITEMS)


def _item(
    read: ItemReader, owner: Identifier, dialect: Dialect
) -> tuple[VariableId, VariableDraft]:
    return UNSET, item_draft(read, owner, dialect)


def _conditions(
    read: ItemReader, item: object, known: Collection[str], *, versioned: bool
) -> tuple[Expected, bool]:
    """The version that an item expects, and whether its variable goes, where that is `known`."""
    if not isinstance(item, dict) or "meta" not in item:
        return UNSET, False
    options = read.member(item, "meta", dict, "/data") or {}
    if not versioned:  # a condition must not be ignored
        options = {name: options[name] for name in _CONDITIONS if name in options}
    read.refuse_unknown(options, set(known), _META)
    if not versioned:
        detail = f"This needs a request whose meta.{VERSIONED_NAME} is true."
        _refuse(read, options, known, _META, detail)
        return UNSET, False
    deletes = options if _DELETE in known else None
    goes = read.member(deletes, _DELETE, bool, _META, required=False) or False
    if goes:
        detail = "An item that is deleted has only a key and a category."
        _refuse(read, item.get("attributes"), _STAYS, "/data/attributes", detail)
    return expectation(read, options, VERSION_ID, _META), goes


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


def _effects(found: Effects | None) -> EffectsOnWorkspaces | UnsetType:
    if found is None:
        return UNSET
    return EffectsOnWorkspaces(found.gaining, found.changing, found.losing, effect_rows(found))


class ApplyRoutes:
    """`actions/apply` of workspaces and sets, and what copies share with it."""

    def __init__(self, applies: Applies, dialect: Dialect) -> None:
        self._applies = applies
        self._turns = Turns()
        self._dialect = dialect

    def routes(self) -> list[Route]:
        """The operation, on each kind of what has variables."""
        return [
            self.route(
                kind,
                "POST actions/apply",
                partial(self.apply, kind),
                {200: ResultsDocument},
                takes=body(self._dialect),
                turn=self.turn_unless_short,
                precondition=IF_MATCH,
                name=f"apply{kind.names}Variables",
                text=f"Make the variables of {kind.noun} what the request says, all or none.",
            )
            for kind in owners.EVERY
        ]

    def update_routes(self) -> list[Route]:
        """Updates of many variables of a workspace by their ids, where clients look for that: an
        apply but for its documents.
        """
        kind = owners.OF_WORKSPACES
        return [
            self.route(
                kind,
                "PATCH relationships/vars",
                partial(self.update, kind),
                {204: None},
                takes=_updates_body(self._dialect),
                turn=self.turn_unless_short,
                precondition=IF_MATCH,
                name="updateVariables",
                text="Update variables of a workspace by their ids, all or none.",
            )
        ]

    def route(
        self,
        kind: OwnerKind,
        operation: str,
        handler: Handler,
        responses: Mapping[int, type | None],
        **said: Any,
    ) -> Route:
        """An operation that changes many variables of what the path names, all or none."""
        method, path = operation.split()
        return Route(
            method,
            f"{kind.path}/{path}",
            handler,
            responses,
            keyed=True,
            admit=partial(self.admit, kind),
            has_entity_tag=True,
            may_forbid=True,
            tag="Applies",
            **said,
        )

    async def admit(self, kind: OwnerKind, request: Request) -> None:
        """Refuses callers who may not change the variables of what the path names."""
        await self._applies.admit(request.require_caller(), kind.asked(request))

    def turn(self, request: Request) -> AbstractAsyncContextManager[None]:
        """A turn, in place of a slot: a short request may copy as much as there is."""
        return request.turn(self._turns)

    def turn_unless_short(self, request: Request) -> AbstractAsyncContextManager[None]:
        """The same, for whatever is long; what is short and yet takes long gets one in `make`."""
        return nullcontext() if request.body_bytes <= _SHORT_BYTES else self.turn(request)

    async def apply(self, kind: OwnerKind, request: Request) -> Response:
        """Make variables what the request says, all or none."""
        owner = kind.identifier(request)
        asked = await draft(request.document, partial(_item, owner=owner, dialect=self._dialect))
        return await self.make(kind, request, asked, self.applied)

    async def update(self, kind: OwnerKind, request: Request) -> Response:
        """Update what the request names of variables, all or none."""
        read_item = partial(changed_item, owner=kind.identifier(request), dialect=self._dialect)
        asked = await draft(request.document, read_item, (VERSIONED_NAME,), (VERSION_ID,))
        return await self.make(kind, request, asked, self.updated)

    async def make(
        self,
        kind: OwnerKind,
        request: Request,
        asked: ApplyDraft,
        render: Callable[[Applied], Response],
    ) -> Response:
        """What `render` makes of what has become of the variables."""
        has_turn = not asked.may_move_all or request.body_bytes > _SHORT_BYTES
        async with nullcontext() if has_turn else self.turn(request):
            where = request.require_caller(), kind.asked(request)
            work = self._applies.apply(*where, asked, wanted_versions(request))
            return await changed(request, work, render)

    def applied(self, applied: Applied) -> Response:
        """What became of each variable, with the entity tag of the list as it is now."""
        results = [self._result(result) for result in applied.results]
        document = ResultsDocument(Results(applied.dry_run, results, _effects(applied.effects)))
        return Response.document(200, document, {"ETag": self._tag(applied)})

    def updated(self, applied: Applied) -> Response:
        """Nothing, with the same entity tag."""
        return Response(204, headers={"ETag": self._tag(applied)})

    def _tag(self, applied: Applied) -> str:
        return entity_tag(applied.version, applied.owner, self._dialect)

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
