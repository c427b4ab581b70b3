"""From a JSON document to what a service takes, with every fault found on the way.

Faults are collected and handed on, not raised: until permission is settled nothing about the
request is answered (contract §2).
"""

from collections.abc import Mapping, Set
from typing import Any, get_type_hints

from teamvars.domain.errors import Code
from teamvars.domain.team_members import MAX_ITEMS, LinkageType, MembersDraft
from teamvars.domain.variables import Category, ValueDraft, VariableDraft, WorkspaceFilter
from teamvars.web.dialects import Dialect
from teamvars.web.reader import Reader
from teamvars.web.requests import NewVariableAttributes

_ATTRIBUTES: Mapping[str, type] = get_type_hints(NewVariableAttributes)
_KNOWN = _ATTRIBUTES.keys() | {"version-id", "created-at"}  # those two the service assigns


def variable_create(
    document: object, workspace_id: str, dialect: Dialect
) -> tuple[VariableDraft, WorkspaceFilter]:
    """What a create asks for (contract §4)."""
    read = Reader(document)
    data, attributes = read.new_resource("vars")
    _require_workspace(read, data, workspace_id)
    deprecated = _filter(read)
    return _draft(read, attributes, dialect, required=dialect.required_to_create), deprecated


def variable_update(
    document: object, workspace_id: str, variable_id: str, dialect: Dialect
) -> VariableDraft:
    """What an update asks for (contract §4)."""
    read = Reader(document)
    data = read.data(dict)
    read.require_type(data, "vars")
    read.require_id(data, variable_id, required="id" in dialect.required_to_update)
    required = "attributes" in dialect.required_to_update
    attributes = read.member(data, "attributes", dict, "/data", required=required)
    _require_workspace(read, data, workspace_id)
    return _draft(read, attributes, dialect, required=frozenset())


def value_check(document: object) -> ValueDraft:
    """What value somebody wants to try."""
    read = Reader(document)
    data = read.data(dict)
    read.require_type(data, "value-checks")
    attributes = read.member(data, "attributes", dict, "/data")
    read.refuse_unknown(attributes, known={"value", "hcl"})
    value = read.member(attributes, "value", str, "/data/attributes")
    hcl = read.member(attributes, "hcl", bool, "/data/attributes", required=False)
    return ValueDraft(value, hcl or False, read.faults)


def members(document: object, linkage: LinkageType) -> MembersDraft:
    """Whom a request adds or removes (contract §5)."""
    read = Reader(document)
    items = read.at_most(MAX_ITEMS, read.data(list) or [], "/data")
    ids = [read.identifier(item, linkage, f"/data/{n}") for n, item in enumerate(items)]
    return MembersDraft(ids, read.faults)


def has_deprecated_filter(document: object) -> bool:
    """Whether the request uses the deprecated `filter.*` properties."""
    return isinstance(document, dict) and "filter" in document


def _require_workspace(read: Reader, data: Mapping[str, Any] | None, workspace_id: str) -> None:
    """A relationship to a workspace, when there is one, must be to the path's."""
    relationships = read.member(data, "relationships", dict, "/data", required=False)
    if relationships is None:
        return
    for name in ("configurable", "workspace"):
        at = f"/data/relationships/{name}"
        relation = read.member(relationships, name, dict, "/data/relationships", required=False)
        linkage = read.member(relation, "data", dict, at, required=False)
        for member, wanted in (("type", "workspaces"), ("id", workspace_id)):
            given = read.member(linkage, member, str, f"{at}/data")
            if given is not None and given != wanted:
                detail = "The variable belongs to the workspace of the path."
                read.fault(Code.RELATIONSHIP_CONFLICT, detail, f"{at}/data/{member}")


def _filter(read: Reader) -> WorkspaceFilter:
    """The deprecated `filter` object beside `data`."""
    if not isinstance(read.document, dict):
        return WorkspaceFilter()
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
    read.refuse_unknown(attributes, known=_KNOWN)
    given: dict[str, Any] = {
        name: read.member(attributes, name, type_, at, required=name in required)
        for name, type_ in _ATTRIBUTES.items()
    }
    given["category"] = _category(read, given["category"], dialect)
    return VariableDraft(**given, faults=read.faults)


def _category(read: Reader, word: str | None, dialect: Dialect) -> Category | None:
    for category, known in dialect.categories.items():
        if word == known:
            return category
    if word is not None:
        words = " or ".join(f"'{known}'" for known in dialect.categories.values())
        detail = f"A category is {words}."
        read.fault(Code.INVALID_VALUE, detail, "/data/attributes/category")
    return None
