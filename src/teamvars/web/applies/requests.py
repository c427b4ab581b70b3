"""The document of an apply, and reading it item by item."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from teamvars.domain.applies import MAX_ITEMS, ApplyDraft, ItemDraft
from teamvars.domain.errors import Code
from teamvars.domain.preconditions import Expected
from teamvars.kernel.variables import Category
from teamvars.pace import Pace
from teamvars.web.dialects import Dialect
from teamvars.web.http.reader import ItemReader, Reader
from teamvars.web.http.routes import RequestBody
from teamvars.web.variables.requests import (
    CATEGORY,
    DESCRIPTION,
    HCL,
    KEY,
    SENSITIVE,
    VALUE,
    item_draft,
)

DRY_RUN = Meta(description="Change nothing, and say what would happen to each variable.")
VERSIONED = Meta(description="Items may name versions and be deleted; older releases refuse this.")
EXPECTED = Meta(description="The version it must be at; null: it must not exist.")
_VERSIONED = "versioned"
_CONDITIONS = _VERSION_ID, _DELETE = "version-id", "delete"
_OPTIONS = "/data/meta"
_STAYS = ("value", "description", "hcl", "sensitive")


class ItemAttributes(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A variable by key and category. What is left out stays as it is, or has the default of a
    create where the variable is new.
    """

    key: Annotated[str, KEY]
    category: Annotated[str, CATEGORY]
    value: Annotated[str, VALUE] | UnsetType = UNSET
    description: Annotated[str, DESCRIPTION] | UnsetType = UNSET
    hcl: Annotated[bool, HCL] | UnsetType = UNSET
    sensitive: Annotated[bool, SENSITIVE] | UnsetType = UNSET


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
    """What the variables of a workspace should be."""

    data: Annotated[list[Item], Meta(max_length=MAX_ITEMS)]
    meta: ApplyOptions | UnsetType = UNSET


def body(dialect: Dialect) -> RequestBody:
    """A document that is applied."""
    tool, env = dialect.categories[Category.TOOL], dialect.categories[Category.ENV]
    region = {"key": "region", "value": "eu-central-1", "category": env}
    zones = {"key": "zones", "value": '["a", "b"]', "category": tool, "hcl": True}
    items = [{"type": "vars", "attributes": attributes} for attributes in (region, zones)]
    example = {"data": items, "meta": {"prune": False, "dry-run": True}}
    return RequestBody(ApplyDocument, example, max_items=MAX_ITEMS)


async def draft(document: object, workspace_id: str, dialect: Dialect) -> ApplyDraft:
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
        draft = item_draft(reader, workspace_id, dialect)
        found.append(ItemDraft(draft, expected, goes, reader.at))
        await pace.keep()
    return ApplyDraft(found, prune=prune, dry_run=dry_run, faults=read.faults)


def _conditions(read: ItemReader, item: object, *, versioned: bool) -> tuple[Expected, bool]:
    """The version that an item expects, and whether its variable goes."""
    if not isinstance(item, dict) or "meta" not in item:
        return UNSET, False
    if not versioned:
        _refuse_conditions(read, item["meta"])
        return UNSET, False
    options = read.member(item, "meta", dict, "/data") or {}
    read.refuse_unknown(options, set(_CONDITIONS), _OPTIONS)
    goes = read.member(options, _DELETE, bool, _OPTIONS, required=False) or False
    if goes:
        _refuse_more(read, item)
    return expectation(read, options, _VERSION_ID, _OPTIONS), goes


def _refuse_conditions(read: ItemReader, options: object) -> None:
    """Of a request that is not versioned: a condition must not be ignored."""
    given: Mapping[str, Any] = options if isinstance(options, dict) else {}
    for name in _CONDITIONS:
        if name in given:
            detail = f"This needs a request whose meta.{_VERSIONED} is true."
            read.fault(Code.INVALID_VALUE, detail, f"{_OPTIONS}/{name}")


def _refuse_more(read: ItemReader, item: Mapping[str, Any]) -> None:
    """What goes has a key and a category, and nothing to become."""
    attributes = item.get("attributes")
    given: Mapping[str, Any] = attributes if isinstance(attributes, dict) else {}
    for name in _STAYS:
        if name in given:
            detail = "An item that is deleted has only a key and a category."
            read.fault(Code.INVALID_VALUE, detail, f"/data/attributes/{name}")


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
