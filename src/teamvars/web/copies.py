"""Copies of variables from another workspace or set: the document, and reading it."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from teamvars.domain.applies import MAX_ITEMS, CopyDraft, Name, OnConflict, Original
from teamvars.domain.errors import REPEATED_ITEM
from teamvars.domain.variables import ANY_VERSION, Versions
from teamvars.kernel.variables import Category
from teamvars.pace import Pace
from teamvars.services.applies import Copies
from teamvars.web.applies import (
    DRY_RUN,
    EXPECTED,
    VERSIONED,
    VERSIONED_NAME,
    ApplyRoutes,
    ResultsDocument,
    expectation,
)
from teamvars.web.dialects import Dialect
from teamvars.web.examples import IDS
from teamvars.web.http.idempotency import changed
from teamvars.web.http.negotiation import IF_MATCH
from teamvars.web.http.reader import DRY_RUN_NAME, Reader
from teamvars.web.http.request import Request
from teamvars.web.http.routes import RequestBody, Route
from teamvars.web.http.sending import Response
from teamvars.web.variables import owners
from teamvars.web.variables.owners import OwnerKind
from teamvars.web.variables.requests import CATEGORY, KEY, category, wanted_versions

_ON_CONFLICT = {one.value: one for one in OnConflict}
_KEYS = "/data/attributes/keys"
_VERSIONS = ("version-id", "target-version-id")


class VariableName(msgspec.Struct, rename="kebab"):
    """A variable of the source."""

    key: Annotated[str, KEY]
    category: Annotated[str, CATEGORY]
    version_id: Annotated[str, Meta(description="The version it must be at.")] | UnsetType = UNSET
    target_version_id: Annotated[str | None, EXPECTED] | UnsetType = UNSET


class CopyAttributes(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    """What is copied: all variables, unless `keys` are given."""

    keys: Annotated[list[VariableName], Meta(max_length=MAX_ITEMS)] | UnsetType = UNSET
    on_conflict: Annotated[
        Literal["refuse", "skip", "replace"],
        Meta(description="What happens to a variable that already exists."),
    ] = "refuse"


class SourceIdentifier(msgspec.Struct):
    """A workspace or a variable set by id."""

    type: Literal["workspaces", "varsets"]
    id: str


class SourceLinkage(msgspec.Struct):
    """A relationship to a workspace or a variable set."""

    data: SourceIdentifier


class CopyRelationships(msgspec.Struct):
    """What is copied from, of the same organization."""

    source: SourceLinkage


class Copy(msgspec.Struct):
    """A copy of variables."""

    type: Literal["copies"]
    relationships: CopyRelationships
    attributes: CopyAttributes | UnsetType = UNSET


class CopyOptions(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    """How it is copied."""

    dry_run: Annotated[bool, DRY_RUN] = False
    versioned: Annotated[bool, VERSIONED] = False


class CopyDocument(msgspec.Struct):
    """Copies variables from another workspace or variable set."""

    data: Copy
    meta: CopyOptions | UnsetType = UNSET


def body(dialect: Dialect) -> RequestBody:
    """A document that copies variables."""
    name = {"key": "region", "category": dialect.categories[Category.ENV]}
    example = {
        "data": {
            "type": "copies",
            "attributes": {"keys": [name], "on-conflict": "skip"},
            "relationships": {"source": {"data": {"type": "workspaces", "id": IDS["source_id"]}}},
        },
        "meta": {"dry-run": True},
    }
    return RequestBody(CopyDocument, example)


async def draft(document: object, dialect: Dialect, versions: Versions = ANY_VERSION) -> CopyDraft:
    """What a copy asks for of a target whose list is at one of these versions. Between its names
    other tasks have the event loop.
    """
    read = Reader(document, (DRY_RUN_NAME, VERSIONED_NAME))
    data = read.resource("copies")
    read.refuse_client_id(data)
    attributes = read.member(data, "attributes", dict, "/data", required=False)
    read.refuse_unknown(attributes, {"keys", "on-conflict"})
    keys = read.member(attributes, "keys", list, "/data/attributes", required=False)
    originals = None if keys is None else await _originals(read, keys, dialect)
    word = read.member(attributes, "on-conflict", str, "/data/attributes", required=False)
    on_conflict = read.choice(word, _ON_CONFLICT, "This is {}.", "/data/attributes/on-conflict")
    relationships = read.member(data, "relationships", dict, "/data")
    is_from_set = _is_of_set(relationships)
    type_ = "varsets" if is_from_set else "workspaces"
    source_id = read.related_id(relationships, "source", type_)
    read.option(VERSIONED_NAME)  # older releases refuse it, and what it stands for
    return CopyDraft(
        source_id,
        is_from_set,
        originals,
        on_conflict if "on-conflict" in (attributes or {}) else OnConflict.REFUSE,
        read.option(DRY_RUN_NAME),
        read.faults,
        versions,
    )


def _is_of_set(relationships: object) -> bool:
    """Whether a source says that it is a set; whatever else is wrong with it is found elsewhere."""
    match relationships:
        case {"source": {"data": {"type": "varsets"}}}:
            return True
    return False


async def _originals(read: Reader, keys: list[object], dialect: Dialect) -> Sequence[Original]:
    """What the items name, without those that have faults or the name of an earlier one."""
    pace = Pace()
    found: dict[Name, Original] = {}
    for number, item in enumerate(read.at_most(MAX_ITEMS, keys, _KEYS)):
        at = f"{_KEYS}/{number}"
        original = _original(read, item, at, dialect)
        if original is not None and found.setdefault(original.name, original) is not original:
            read.add(REPEATED_ITEM.at(f"{at}/key"))
        await pace.keep()
    return list(found.values())


def _original(read: Reader, item: object, at: str, dialect: Dialect) -> Original | None:
    named = read.as_object(item, at)
    if named is None:
        return None
    read.refuse_unknown(named, {"key", "category", *_VERSIONS}, at)
    key = read.member(named, "key", str, at)
    word = read.member(named, "category", str, at)
    found = category(read, word, dialect, f"{at}/category")
    expected = expectation(read, named, _VERSIONS[0], at, null=False)
    target_expected = expectation(read, named, _VERSIONS[1], at)
    if key is None or found is None:
        return None
    return Original((key, found), at, expected, target_expected)


def routes(copies: Copies, applies: ApplyRoutes, dialect: Dialect) -> list[Route]:
    """The operation, on each kind of what has variables."""

    async def copy(kind: OwnerKind, request: Request) -> Response:
        asked = await draft(request.document, dialect, wanted_versions(request))
        work = copies.copy(request.require_caller(), kind.asked(request), asked)
        return await changed(request, work, applies.applied)

    return [
        applies.route(
            kind,
            "POST actions/copy",
            partial(copy, kind),
            {200: ResultsDocument},
            takes=body(dialect),
            turn=applies.turn,
            precondition=IF_MATCH,
            name=f"copy{kind.names}Variables",
            text=(
                f"Copy variables into {kind.noun} from another workspace or set of the "
                "organization, all or none."
            ),
        )
        for kind in owners.EVERY
    ]
