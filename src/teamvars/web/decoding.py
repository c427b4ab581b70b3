"""From a JSON document to what a service takes, with every fault found on the way.

Faults are collected and handed on, not raised: until permission is settled nothing about the
request is answered (contract §2).
"""

from collections.abc import Mapping
from typing import Any, TypeVar, get_type_hints

from msgspec.structs import fields

from teamvars.domain.errors import Code, Fault
from teamvars.domain.teams import MAX_ITEMS, LinkageType, MembersDraft
from teamvars.domain.variables import Category, VariableDraft, WorkspaceFilter
from teamvars.web.dialects import Dialect
from teamvars.web.json_body import pointer_token, strings
from teamvars.web.requests import NewVariableAttributes

_ATTRIBUTES: Mapping[str, type] = get_type_hints(NewVariableAttributes)
_REQUIRED_TO_CREATE = tuple(f.name for f in fields(NewVariableAttributes) if f.required)
_ASSIGNED_BY_SERVICE = {"version-id", "created-at"}
_TYPE_NAMES = {dict: "an object", list: "an array", str: "a string", bool: "true or false"}

T = TypeVar("T")


def variable_create(
    document: object, workspace_id: str, dialect: Dialect
) -> tuple[VariableDraft, WorkspaceFilter]:
    """What a create asks for (spec.md, Create a variable)."""
    read = _Reader(document)
    data = read.data(dict)
    read.require_type(data, "vars")
    read.refuse_client_id(data)
    attributes = read.member(data, "attributes", dict, "/data")
    read.require_workspace(data, workspace_id)
    deprecated = read.filter()
    return read.draft(attributes, dialect, required=_REQUIRED_TO_CREATE), deprecated


def variable_update(
    document: object, workspace_id: str, variable_id: str, dialect: Dialect
) -> VariableDraft:
    """What an update asks for (spec.md, Update a variable)."""
    read = _Reader(document)
    data = read.data(dict)
    read.require_type(data, "vars")
    read.require_id(data, variable_id)
    attributes = read.member(data, "attributes", dict, "/data")
    read.require_workspace(data, workspace_id)
    return read.draft(attributes, dialect, required=())


def members(document: object, linkage: LinkageType) -> MembersDraft:
    """Whom a request adds or removes (spec.md, Team membership)."""
    read = _Reader(document)
    items = read.data(list) or []
    if len(items) > MAX_ITEMS:
        detail = f"A request has at most {MAX_ITEMS} items."
        read.faults.append(Fault(Code.TOO_MANY_ITEMS, detail, pointer="/data"))
        items = []
    ids = [read.linkage_id(item, linkage, f"/data/{n}") for n, item in enumerate(items)]
    return MembersDraft(ids, tuple(read.faults))


def has_deprecated_filter(document: object) -> bool:
    """Whether the request uses the deprecated `filter.*` properties."""
    return isinstance(document, dict) and "filter" in document


class _Reader:
    """Reads one document and keeps the faults it meets.

    A parent that is None was at fault itself, and nothing more is said of its members.
    """

    def __init__(self, document: object) -> None:
        self.document = document
        self.faults = [
            Fault(Code.INVALID_VALUE, "A string has no NUL character.", pointer=pointer)
            for pointer, text in strings(document)
            if "\0" in text
        ]

    def data(self, type_: type[T]) -> T | None:
        """The document's `data`."""
        if not isinstance(self.document, dict):
            self._wrong_type("", dict)
            return None
        return self.member(self.document, "data", type_, "")

    def member(
        self,
        parent: Mapping[str, Any] | None,
        name: str,
        type_: type[T],
        at: str,
        *,
        required: bool = True,
    ) -> T | None:
        """A member of that JSON type; `at` points to its parent."""
        if parent is None:
            return None
        if name not in parent:
            if required:
                detail = f"The member '{name}' is required."
                self._fault(Code.MISSING_MEMBER, detail, f"{at}/{name}")
            return None
        value = parent[name]
        if not isinstance(value, type_):
            self._wrong_type(f"{at}/{name}", type_)
            return None
        return value

    def require_type(
        self, resource: Mapping[str, Any] | None, wanted: str, at: str = "/data"
    ) -> None:
        """`type` must be the endpoint's."""
        given = self.member(resource, "type", str, at)
        if given is not None and given != wanted:
            detail = f"This endpoint takes resources of type '{wanted}'."
            self._fault(Code.TYPE_CONFLICT, detail, f"{at}/type")

    def require_id(self, data: Mapping[str, Any] | None, wanted: str) -> None:
        """`id` must be the path's."""
        given = self.member(data, "id", str, "/data")
        if given is not None and given != wanted:
            self._fault(Code.ID_CONFLICT, "This is not the id of the path.", "/data/id")

    def refuse_client_id(self, data: Mapping[str, Any] | None) -> None:
        """The service assigns ids; an empty one counts as absent."""
        if data is None or data.get("id") in (None, ""):
            return
        if self.member(data, "id", str, "/data"):
            self._fault(Code.CLIENT_ID_NOT_SUPPORTED, "The service assigns ids.", "/data/id")

    def require_workspace(self, data: Mapping[str, Any] | None, workspace_id: str) -> None:
        """A relationship to a workspace, when there is one, must be to the path's."""
        relationships = self.member(data, "relationships", dict, "/data", required=False)
        for name in ("configurable", "workspace"):
            at = f"/data/relationships/{name}"
            relation = self.member(relationships, name, dict, "/data/relationships", required=False)
            linkage = self.member(relation, "data", dict, at, required=False)
            for member, wanted in (("type", "workspaces"), ("id", workspace_id)):
                given = self.member(linkage, member, str, f"{at}/data")
                if given is not None and given != wanted:
                    detail = "The variable belongs to the workspace of the path."
                    self._fault(Code.RELATIONSHIP_CONFLICT, detail, f"{at}/data/{member}")

    def filter(self) -> WorkspaceFilter:
        """The deprecated `filter` object beside `data`."""
        if not isinstance(self.document, dict):
            return WorkspaceFilter()
        filters = self.member(self.document, "filter", dict, "", required=False)
        names = []
        for noun in ("workspace", "organization"):
            named = self.member(filters, noun, dict, "/filter", required=False)
            names.append(self.member(named, "name", str, f"/filter/{noun}", required=False))
        return WorkspaceFilter(*names)

    def draft(
        self,
        attributes: Mapping[str, Any] | None,
        dialect: Dialect,
        required: tuple[str, ...],
    ) -> VariableDraft:
        """The attributes of a variable, and all faults of the document."""
        at = "/data/attributes"
        for name in (attributes or {}).keys() - _ATTRIBUTES.keys() - _ASSIGNED_BY_SERVICE:
            detail = "There is no such attribute."
            self._fault(Code.UNKNOWN_ATTRIBUTE, detail, f"{at}/{pointer_token(name)}")
        given: dict[str, Any] = {
            name: self.member(attributes, name, type_, at, required=name in required)
            for name, type_ in _ATTRIBUTES.items()
        }
        given["category"] = self._category(given["category"], dialect)
        return VariableDraft(**given, faults=tuple(self.faults))

    def _category(self, word: str | None, dialect: Dialect) -> Category | None:
        for category, known in dialect.categories.items():
            if word == known:
                return category
        if word is not None:
            words = " or ".join(f"'{known}'" for known in dialect.categories.values())
            detail = f"A category is {words}."
            self._fault(Code.INVALID_VALUE, detail, "/data/attributes/category")
        return None

    def linkage_id(self, item: object, linkage: LinkageType, at: str) -> str | None:
        """The id of a linkage object of the endpoint's type; None when it is at fault."""
        if not isinstance(item, dict):
            self._wrong_type(at, dict)
            return None
        before = len(self.faults)
        self.require_type(item, linkage, at)
        id_ = self.member(item, "id", str, at)
        at_fault = len(self.faults) > before or "\0" in (id_ or "")
        return None if at_fault else id_

    def _wrong_type(self, at: str, wanted: type) -> None:
        self._fault(Code.WRONG_TYPE, f"This must be {_TYPE_NAMES[wanted]}.", at)

    def _fault(self, code: Code, detail: str, pointer: str) -> None:
        self.faults.append(Fault(code, detail, pointer=pointer))
