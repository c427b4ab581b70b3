"""The document of an apply, and reading it item by item."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from teamvars.domain.applies import MAX_ITEMS, ApplyDraft
from teamvars.domain.variables import Category
from teamvars.pace import Pace
from teamvars.web.dialects import Dialect
from teamvars.web.http.reader import Reader
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

DRY_RUN = Meta(description="Change nothing, and answer what would become of each variable.")


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


class Item(msgspec.Struct):
    """What a variable should be."""

    type: Literal["vars"]
    attributes: ItemAttributes


class ApplyOptions(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    """How it is applied."""

    prune: Annotated[bool, Meta(description="Delete the variables that are not among them.")] = (
        False
    )
    dry_run: Annotated[bool, DRY_RUN] = False


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
    read.refuse_unknown(options, {"prune", "dry-run"}, "/meta")
    prune, dry_run = (flag(read, options, name) for name in ("prune", "dry-run"))
    pace = Pace()
    drafts = []
    for number, item in enumerate(items or ()):
        drafts.append(item_draft(item, number, workspace_id, dialect))
        await pace.keep()
    return ApplyDraft(drafts, prune=prune, dry_run=dry_run, faults=read.faults)


def flag(read: Reader, options: dict[str, object] | None, name: str) -> bool:
    """An option of `meta`, false unless it says true."""
    return read.member(options, name, bool, "/meta", required=False) or False
