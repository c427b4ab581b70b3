"""The documents of variables that the service takes, and reading them.

The types are what the OpenAPI document shows. A document that fits them is read by them, and any
other by hand, to collect every fault. The rules are in the domain. Faults are handed on, not
raised: until permission is settled nothing about the request is told (contract §2).
"""

from collections.abc import Mapping, Set
from typing import Annotated, Any, Literal, get_type_hints

import msgspec
from msgspec import UNSET, Meta, UnsetType

from teamvars.domain.errors import Code, Refusal
from teamvars.domain.variables import (
    ANY_VERSION,
    MAX_DESCRIPTION_CHARACTERS,
    VariableDraft,
    Versions,
)
from teamvars.domain.workspaces import WorkspaceFilter
from teamvars.kernel.variables import (
    FORBIDDEN_IN_KEY,
    MAX_KEY_CHARACTERS,
    MAX_VALUE_BYTES,
    Category,
)
from teamvars.web.dialects import Dialect
from teamvars.web.examples import IDS
from teamvars.web.http.negotiation import wanted_tags
from teamvars.web.http.reader import ItemReader, Reader
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import Identifier
from teamvars.web.http.routes import RequestBody

KEY = Meta(
    min_length=1,
    max_length=MAX_KEY_CHARACTERS,
    pattern=rf"^[^{FORBIDDEN_IN_KEY}]+$",
    description="Unique with its category; no white space, control characters or '='.",
)
VALUE = Meta(
    max_length=MAX_VALUE_BYTES,
    description=f"At most {MAX_VALUE_BYTES} bytes of UTF-8; kept as it is.",
)
DESCRIPTION = Meta(max_length=MAX_DESCRIPTION_CHARACTERS)
CATEGORY = Meta(description="A variable of the tool, or an environment variable.")
HCL = Meta(description="Evaluate the value as configuration-language code.")
SENSITIVE = Meta(description="Written once and never shown; once true, always true.")


class NewVariableAttributes(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What a create says about a variable; what has no default is required (contract §4)."""

    key: Annotated[str, KEY]
    value: Annotated[str, VALUE] = ""
    description: Annotated[str, DESCRIPTION]
    category: Annotated[str, CATEGORY]
    hcl: Annotated[bool, HCL] = False
    sensitive: Annotated[bool, SENSITIVE] = False


class VariableChanges(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What an update says about a variable; what is left out stays."""

    key: Annotated[str, KEY] | UnsetType = UNSET
    value: Annotated[str, VALUE] | UnsetType = UNSET
    description: Annotated[str, DESCRIPTION] | UnsetType = UNSET
    category: Annotated[str, CATEGORY] | UnsetType = UNSET
    hcl: Annotated[bool, HCL] | UnsetType = UNSET
    sensitive: Annotated[bool, SENSITIVE] | UnsetType = UNSET


class OwnerLinkage(msgspec.Struct):
    """A relationship to the workspace or the variable set that has the variable."""

    data: Identifier


class NewVariableRelationships(msgspec.Struct):
    """Each must be what the path names; a variable of a workspace has no `varset`, and one of a
    variable set no `workspace`.
    """

    configurable: OwnerLinkage | UnsetType = UNSET
    workspace: OwnerLinkage | UnsetType = UNSET
    varset: OwnerLinkage | UnsetType = UNSET


class NewVariableResource(msgspec.Struct):
    """A variable to create; the service assigns its id."""

    type: Literal["vars"]
    attributes: NewVariableAttributes
    relationships: NewVariableRelationships | UnsetType = UNSET


class Named(msgspec.Struct):
    """Something by its name."""

    name: str | UnsetType = UNSET


class DeprecatedFilter(msgspec.Struct):
    """Deprecated, and to be removed: names that the path implies already."""

    workspace: Named | UnsetType = UNSET
    organization: Named | UnsetType = UNSET


class NewVariableDocument(msgspec.Struct):
    """Creates a variable."""

    data: NewVariableResource
    filter: DeprecatedFilter | UnsetType = UNSET


class NamedWorkspace(msgspec.Struct):
    """The workspace that is to have a variable."""

    workspace: OwnerLinkage


class NewNamedVariableResource(msgspec.Struct):
    """A variable to create, and of which workspace."""

    type: Literal["vars"]
    attributes: NewVariableAttributes
    relationships: NamedWorkspace


class NewNamedVariableDocument(msgspec.Struct):
    """Creates a variable of a workspace that it names."""

    data: NewNamedVariableResource
    filter: DeprecatedFilter | UnsetType = UNSET


class ChangedVariableResource(msgspec.Struct):
    """A variable to update; `id` is the path's."""

    id: str
    type: Literal["vars"]
    attributes: VariableChanges


class ChangedVariableDocument(msgspec.Struct):
    """Updates a variable."""

    data: ChangedVariableResource


class _PlainData(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["vars"]
    attributes: VariableChanges
    id: str | UnsetType = UNSET


class _Plain(msgspec.Struct, forbid_unknown_fields=True):
    """A variable of which a request says no more than almost every request does."""

    data: _PlainData


_PLAIN = msgspec.json.Decoder(_Plain)
_ATTRIBUTES: Mapping[str, type] = get_type_hints(NewVariableAttributes)
NAMES_A_VARIABLE = frozenset({"key", "category"})
_OWNERS = {"workspaces": ("workspace", "workspace"), "varsets": ("varset", "variable set")}
"""By type, what an owner is called as a relationship, and in words."""
_KNOWN = _ATTRIBUTES.keys() | {"version-id", "created-at"}  # those two the service assigns
_SHOWN = _KNOWN | {"workspace-name", "varset-name"}
"""Those of what a search finds. A new variable may name none: it comes where the path says."""


def new_body(dialect: Dialect) -> RequestBody:
    """A document that creates a variable."""
    return RequestBody(NewVariableDocument, {"data": _new(dialect)}, plain=plain)


def new_named_body(dialect: Dialect) -> RequestBody:
    """The same of a workspace that it names."""
    workspace = {"data": {"type": "workspaces", "id": IDS["workspace_id"]}}
    example = {"data": {**_new(dialect), "relationships": {"workspace": workspace}}}
    return RequestBody(NewNamedVariableDocument, example)


def changed_body(dialect: Dialect, parameter: str) -> RequestBody:
    """A document that updates the variable which that parameter of the path names."""
    changes = {
        "key": "OTHER_KEY",
        "value": "secret",
        "category": dialect.categories[Category.ENV],
        "sensitive": True,
    }
    example = {"data": {"id": IDS[parameter], "type": "vars", "attributes": changes}}
    return RequestBody(ChangedVariableDocument, example, plain=plain)


def plain(body: bytes) -> object | None:
    """A document that says nothing but attributes; None: it is to be parsed, whatever it is.

    Of a member that stands twice the decoder keeps the last. Then there are more quotation marks in
    the body than in what was kept, since no string has one without a backslash before it.
    """
    if b"\\" in body:
        return None
    try:
        document = _PLAIN.decode(body)
    except ValueError:
        return None
    kept = msgspec.json.encode(document)
    return document if kept.count(b'"') == body.count(b'"') else None


def named_workspace(document: object, dialect: Dialect) -> str:
    """The workspace, by its id, that a create names. Refuses what names none, with all faults."""
    read = _by_hand(document)
    data, attributes = read.new_resource("vars")
    relationships = read.member(data, "relationships", dict, "/data")
    id_ = read.related_id(relationships, "workspace", "workspaces")
    if id_ is None:
        draft = _draft(read, attributes, dialect, required=dialect.required_to_create)
        raise Refusal(*draft.all_faults())
    return id_


def create_draft(
    document: object, owner: Identifier, dialect: Dialect
) -> tuple[VariableDraft, WorkspaceFilter | None]:
    """What a create asks for (contract §4), and by which deprecated filter, if there is one."""
    faultless = _faultless(document, UNSET, dialect, dialect.required_to_create)
    if faultless is not None:
        return faultless, None
    read = _by_hand(document)
    data, attributes = read.new_resource("vars")
    _require_owner(read, data, owner)
    deprecated = _filter(read)
    return _draft(read, attributes, dialect, required=dialect.required_to_create), deprecated


def update_draft(
    document: object, owner: Identifier, variable_id: str, dialect: Dialect
) -> VariableDraft:
    """What an update asks for (contract §4)."""
    faultless = _faultless(document, variable_id, dialect, frozenset())
    if faultless is not None:
        return faultless
    read = _by_hand(document)
    data = read.resource("vars")
    read.require_id(data, variable_id, required="id" in dialect.required_to_update)
    return _changes(read, data, owner, dialect)


def changed_item(
    read: ItemReader, owner: Identifier, dialect: Dialect
) -> tuple[str | None, VariableDraft]:
    """The id of the variable that an item updates, None if it is at fault, and what it asks for."""
    data = read.resource("vars")
    id_ = read.member(data, "id", str, "/data")
    return id_, _changes(read, data, owner, dialect)


def item_draft(read: ItemReader, owner: Identifier, dialect: Dialect) -> VariableDraft:
    """What an item of an apply asks for: what it does not say stays or takes its default."""
    data, attributes = read.new_resource("vars")
    _require_owner(read, data, owner)
    return _draft(read, attributes, dialect, required=NAMES_A_VARIABLE)


def _changes(
    read: Reader, data: dict[str, Any] | None, owner: Identifier, dialect: Dialect
) -> VariableDraft:
    required = "attributes" in dialect.required_to_update
    attributes = read.member(data, "attributes", dict, "/data", required=required)
    _require_owner(read, data, owner)
    return _draft(read, attributes, dialect, required=frozenset())


def wanted_versions(request: Request) -> Versions:
    """The versions that `If-Match` admits: each tag up to its dot."""
    tags = wanted_tags(request.header("if-match"))
    if tags is None:
        return ANY_VERSION
    return Versions(frozenset(tag.partition(".")[0] for tag in tags))


def _new(dialect: Dialect) -> dict[str, object]:
    """A variable to create, as an example."""
    attributes = {
        "key": "some_key",
        "value": "some_value",
        "description": "some description",
        "category": dialect.categories[Category.TOOL],
        "hcl": False,
        "sensitive": False,
    }
    return {"type": "vars", "attributes": attributes}


def _faultless(
    document: object, id_: str | UnsetType, dialect: Dialect, required: Set[str]
) -> VariableDraft | None:
    """The draft of a document that says nothing but attributes, and is not at fault in any.

    None: it is read by hand, which finds all its faults. Almost every document is read here.
    """
    try:
        plain = document if isinstance(document, _Plain) else msgspec.convert(document, _Plain)
    except msgspec.ValidationError:
        return None
    data = plain.data
    said = msgspec.to_builtins(data.attributes)  # without what is left out
    if data.id != id_ or not required <= said.keys():
        return None
    for told in said.values():
        if isinstance(told, str) and "\0" in told:
            return None
    category = dialect.words.get(said.pop("category", None))
    if category is None and data.attributes.category is not UNSET:
        return None
    return VariableDraft(**said, category=category)


def _by_hand(document: object) -> Reader:
    return Reader(msgspec.to_builtins(document) if isinstance(document, _Plain) else document)


def _require_owner(read: Reader, data: Mapping[str, Any] | None, owner: Identifier) -> None:
    """A relationship to what has the variable, when there is one, must be to the path's."""
    relationships = read.member(data, "relationships", dict, "/data", required=False)
    if relationships is None:
        return
    own, noun = _OWNERS[owner.type]
    for name in ("configurable", "workspace", "varset"):
        at = f"/data/relationships/{name}"
        relation = read.member(relationships, name, dict, "/data/relationships", required=False)
        if name not in ("configurable", own) and relation and relation.get("data") is None:
            continue  # a variable of the one has none of the other
        linkage = read.member(relation, "data", dict, at, required=False)
        for member, wanted in (("type", owner.type), ("id", owner.id)):
            given = read.member(linkage, member, str, f"{at}/data")
            if given is not None and given != wanted:
                detail = f"This is not the variable's {noun}."
                read.fault(Code.RELATIONSHIP_CONFLICT, detail, f"{at}/data/{member}")


def _filter(read: Reader) -> WorkspaceFilter | None:
    """The deprecated `filter` object beside `data`."""
    if not isinstance(read.document, dict) or "filter" not in read.document:
        return None
    filters = read.member(read.document, "filter", dict, "", required=False)
    names = []
    for noun in ("workspace", "organization"):
        named = read.member(filters, noun, dict, "/filter", required=False)
        names.append(read.member(named, "name", str, f"/filter/{noun}", required=False))
    return WorkspaceFilter(*names)


def _draft(
    read: Reader,
    attributes: Mapping[str, Any] | None,
    dialect: Dialect,
    required: Set[str],
) -> VariableDraft:
    """The attributes of a variable, and all faults of the document."""
    at = "/data/attributes"
    read.refuse_unknown(attributes, known=_KNOWN if required else _SHOWN)
    given: dict[str, Any] = {
        name: read.member(attributes, name, type_, at, required=name in required)
        for name, type_ in _ATTRIBUTES.items()
    }
    given["category"] = category(read, given["category"], dialect, f"{at}/category")
    return VariableDraft(**given, faults=read.faults, at=f"{read.at}/attributes")


def category(read: Reader, word: str | None, dialect: Dialect, at: str) -> Category | None:
    """The category that a request calls by that word, which stands there; None: it has none."""
    return read.choice(word, dialect.words, "A category is {}.", at)
