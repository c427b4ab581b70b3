"""Reading the members of a request document, with every fault found on the way; and documents that
name resources by id, all or none of which a change concerns.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from itertools import islice
from typing import Annotated, Any, TypeVar, cast

import msgspec
from msgspec import UNSET, Meta, UnsetType

from teamvars.domain.errors import Code, Fault, Faults
from teamvars.domain.linked import MAX_ITEMS, IdsDraft
from teamvars.domain.names import fold
from teamvars.web.http.json_body import nul_places, pointer, pointer_token

_TYPE_NAMES = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "true or false",
    int: "an integer",
}

T = TypeVar("T")

Linkage = set[tuple[str, str]]
"""What a relationship names, by type and id."""

DRY_RUN_NAME = "dry-run"
"""What is an option wherever a change can be asked about without being made."""


class Reader:
    """Reads one document and keeps the faults it meets.

    A parent that is None was at fault itself, and nothing more is said of its members. `at` is
    where the resource stands in the document that was sent.
    """

    at = "/data"

    def __init__(self, document: object, options: Collection[str] = ()) -> None:
        """`options`: what `meta` may say of the request. Where that is nothing, it is ignored as
        other members are, but for a dry run: whoever asks for one wants nothing changed.
        """
        self.document = document
        self._faults = Faults()
        if _may_have_nul(document):
            detail = "A string has no NUL character."
            self._each(Code.INVALID_VALUE, detail, nul_places(document), pointer)
        whole = document if isinstance(document, dict) else {}
        self._options: dict[str, Any] | None = None
        if options:
            self._options = self.member(whole, "meta", dict, "", required=False)
            self.refuse_unknown(self._options, {*options}, "/meta")
            return
        meta = whole.get("meta")
        if isinstance(meta, dict) and meta.get(DRY_RUN_NAME, False) is not False:
            self.fault(Code.NOT_OFFERED, "There is no dry run here.", f"/meta/{DRY_RUN_NAME}")

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What was found so far; the last one counts those that were too many to keep."""
        return self._faults.all()

    def option(self, name: str) -> bool:
        """An option, false unless it says true."""
        return self.member(self._options, name, bool, "/meta", required=False) or False

    def data(self, type_: type[T]) -> T | None:
        """The document's `data`."""
        return self.member(self.as_object(self.document, ""), "data", type_, "")

    def as_object(self, value: object, at: str) -> dict[str, Any] | None:
        """What stands there, which has to be an object."""
        if not isinstance(value, dict):
            self.wrong_type(at, dict)
            return None
        return value

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
                self.fault(Code.MISSING_MEMBER, f"The member '{name}' is required.", f"{at}/{name}")
            return None
        value = parent[name]
        if not isinstance(value, type_) or (type_ is int and isinstance(value, bool)):
            self.wrong_type(f"{at}/{name}", type_)
            return None
        return value

    def texts(self, members: T | None, at: str) -> T | None:
        """An array or object of texts that stands there, with an empty one for each member that is
        none.
        """
        if members is None:
            return None
        is_object, whole = isinstance(members, dict), cast(Any, members)
        found: dict[Any, Any] = dict(whole if is_object else enumerate(whole))
        for name in [name for name, text in found.items() if not isinstance(text, str)]:
            self.wrong_type(f"{at}/{pointer_token(str(name))}", str)
            found[name] = ""
        return cast(T, found if is_object else [*found.values()])

    def resource(self, type_: str, also: Collection[str | None] = ()) -> dict[str, Any] | None:
        """The `data` of a document: a resource of that type, or of one of those `also`."""
        data = self.data(dict)
        self.require_type(data, type_, also=also)
        return data

    def new_resource(self, type_: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """The `data` of a create, and its attributes."""
        data = self.resource(type_)
        self.refuse_client_id(data)
        return data, self.member(data, "attributes", dict, "/data")

    def changed_resource(
        self, type_: str, also: Collection[str | None] = ()
    ) -> tuple[dict[str, Any] | None, str | None, dict[str, Any] | None]:
        """The `data` of an update, its id and its attributes; clients may leave out either."""
        data = self.resource(type_, also)
        id_ = self.member(data, "id", str, "/data", required=False)
        return data, id_, self.member(data, "attributes", dict, "/data", required=False)

    def attributes(self, type_: str) -> dict[str, Any] | None:
        """Those of a document that asks for something of that type, which has no id."""
        return self.member(self.resource(type_), "attributes", dict, "/data")

    def require_type(
        self,
        resource: Mapping[str, Any] | None,
        wanted: str,
        at: str = "/data",
        also: Collection[str | None] = (),
    ) -> None:
        """`type` must be the endpoint's, or one of those `also`; None: it may be absent."""
        if resource is not None and resource.get("type") in also:
            return
        given = self.member(resource, "type", str, at)
        if given is not None and given != wanted:
            detail = f"This endpoint takes resources of type '{wanted}'."
            self.fault(Code.TYPE_CONFLICT, detail, f"{at}/type")

    def require_id(self, data: Mapping[str, Any] | None, wanted: str, *, required: bool) -> None:
        """`id` must be the path's."""
        given = self.member(data, "id", str, "/data", required=required)
        if given is not None and given != wanted:
            self.fault(Code.ID_CONFLICT, "This is not the id in the path.", "/data/id")

    def refuse_client_id(self, data: Mapping[str, Any] | None) -> None:
        """The service assigns ids; an empty one counts as absent."""
        if data is None or data.get("id") in (None, ""):
            return
        if self.member(data, "id", str, "/data"):
            self.fault(Code.CLIENT_ID_NOT_SUPPORTED, "The service assigns ids.", "/data/id")

    def refuse_unknown(
        self, attributes: Mapping[str, Any] | None, known: Set[str], at: str = "/data/attributes"
    ) -> None:
        """A mistyped attribute is not ignored: `sensitve` must not publish a secret."""
        unknown = (name for name in attributes or {} if name not in known)
        self._each(
            Code.UNKNOWN_ATTRIBUTE,
            "There is no such attribute.",
            unknown,
            lambda name: f"{at}/{pointer_token(name)}",
        )

    def refuse_related(
        self, relationships: Mapping[str, Any] | None, name: str, detail: str
    ) -> None:
        """A relationship to what is not here; to nothing it may be."""
        at = "/data/relationships"
        relation = self.member(relationships, name, dict, at, required=False)
        if relation is None:
            return
        if "data" not in relation:
            self.member(relation, "data", dict, f"{at}/{name}")
        elif relation["data"] is not None:
            self.fault(Code.NOT_OFFERED, detail, f"{at}/{name}/data")

    def refuse_some(self, relationships: Mapping[str, Any] | None, name: str, detail: str) -> None:
        """A relationship to several of what is not taken here; to none it may be."""
        at = "/data/relationships"
        relation = self.member(relationships, name, dict, at, required=False)
        if relation is not None and relation.get("data"):
            self.fault(Code.NOT_OFFERED, detail, f"{at}/{name}/data")

    def choice(self, word: str | None, known: Mapping[str, T], text: str, at: str) -> T | None:
        """What a word stands for that was read there; None when it is at fault, or was.

        `text` has a `{}` for the known words.
        """
        if word is None:
            return None
        if word not in known:
            words = " or ".join(f"'{one}'" for one in known)
            self.fault(Code.INVALID_VALUE, text.format(words), at)
            return None
        return known[word]

    def at_most(self, most: int, items: list[Any], at: str) -> list[Any]:
        """The items, or none when there are more than that."""
        if len(items) <= most:
            return items
        self.fault(Code.TOO_MANY_ITEMS, f"A request has at most {most} items.", at)
        return []

    def relation(self, relationships: Mapping[str, Any] | None, name: str) -> dict[str, Any] | None:
        """A relationship that need not be there. None: nothing is said of what is related, as where
        there are links alone.
        """
        found = self.member(relationships, name, dict, "/data/relationships", required=False)
        return None if found and "data" not in found else found

    def related_id(
        self, relationships: Mapping[str, Any] | None, name: str, type_: str
    ) -> str | None:
        """The id of a required relationship to one resource of that type."""
        at = f"/data/relationships/{name}"
        relation = self.member(relationships, name, dict, "/data/relationships")
        item = self.member(relation, "data", dict, at)
        return None if item is None else self.identifier(item, type_, f"{at}/data")

    def related_or_none(
        self, relationships: Mapping[str, Any] | None, name: str, type_: str
    ) -> str | UnsetType | None:
        """The id of a relationship to one resource of that type; None where it is to none. UNSET:
        the request says nothing usable of it.
        """
        relation = self.relation(relationships, name)
        if relation is None:
            return UNSET
        if relation.get("data", UNSET) is None:
            return None
        id_ = self.related_id(relationships, name, type_)
        return UNSET if id_ is None else id_

    def linkages(
        self, relationships: Mapping[str, Any] | None, names: Iterable[str]
    ) -> dict[str, Linkage]:
        """What is named by those relationships of these names that have `data`."""
        found = {name: self.relation(relationships, name) for name in names}
        return {name: named_in(one["data"]) for name, one in found.items() if one}

    def related_ids(
        self, relationships: Mapping[str, Any] | None, name: str, type_: str, most: int
    ) -> tuple[str | None, ...] | None:
        """The ids of a relationship to at most so many resources of that type, in order, with None
        for each that is at fault. None: the request says nothing usable of it.
        """
        at = f"/data/relationships/{name}"
        items = self.member(self.relation(relationships, name), "data", list, at)
        return None if items is None else self.identifiers(items, type_, most, f"{at}/data")

    def identifiers(
        self, items: list[Any], type_: str, most: int, at: str = "/data"
    ) -> tuple[str | None, ...]:
        """The ids of at most so many resource identifiers, as `related_ids`."""
        listed = enumerate(self.at_most(most, items, at))
        return tuple(self.identifier(item, type_, f"{at}/{n}") for n, item in listed)

    def identifier(self, item: object, type_: str, at: str) -> str | None:
        """The id of a resource identifier of that type; None when it is at fault."""
        before = self._faults.count
        resource = self.as_object(item, at)
        self.require_type(resource, type_, at)
        id_ = self.member(resource, "id", str, at)
        at_fault = self._faults.count > before or "\0" in (id_ or "")
        return None if at_fault else id_

    def wrong_type(self, at: str, wanted: type) -> None:
        """Notes that a member is of another JSON type than `wanted`."""
        self.fault(Code.WRONG_TYPE, f"This must be {_TYPE_NAMES[wanted]}.", at)

    def fault(self, code: Code, detail: str, pointer: str) -> None:
        """Notes a fault of the member there; of too many it is only counted."""
        self.add(Fault(code, detail, pointer=pointer))

    def add(self, fault: Fault) -> None:
        """Notes a fault of the document as it was sent."""
        self._faults.add(fault)

    def _each(
        self, code: Code, detail: str, places: Iterator[T], pointer_to: Callable[[T], str]
    ) -> None:
        """Notes a fault of each place. Pointers are made for those alone that are kept."""
        for place in islice(places, self._faults.room):
            self.fault(code, detail, pointer_to(place))
        self._faults.omit(sum(1 for _ in places))


class ItemReader(Reader):
    """Reads one item of a document's `data` as if it were all of it, with the item's pointers."""

    def __init__(self, item: object, number: int) -> None:
        self.at = f"/data/{number}"
        super().__init__({"data": item})

    def fault(self, code: Code, detail: str, pointer: str) -> None:
        super().fault(code, detail, self.at + pointer.removeprefix("/data"))


def named_in(data: Any) -> Linkage:
    """What the `data` of a relationship names: one resource, several or none. The id of an
    organization is its name, in which case does not count.
    """
    items = data if isinstance(data, list) else [] if data is None else [data]
    named = [item if isinstance(item, dict) else {} for item in items]
    pairs = ((str(item.get("type")), str(item.get("id"))) for item in named)
    return {(type_, fold(id_) if type_ == "organizations" else id_) for type_, id_ in pairs}


def _may_have_nul(document: object) -> bool:
    """Whether a string of it may hold a NUL, in a tenth of the time it takes to look at each.

    True as well for some that hold none, such as a backslash before `u0000`.
    """
    return rb"\u0000" in msgspec.json.encode(document)


class DryRunOptions(msgspec.Struct, rename="kebab", omit_defaults=True):
    """How to change what resources are linked to."""

    dry_run: Annotated[bool, Meta(description="Change nothing, and say what would come of it.")] = (
        False
    )


def ids_draft(document: object, type_: str) -> IdsDraft:
    """The ids of a document that names resources of that type alone."""
    read = Reader(document)
    return IdsDraft(read.identifiers(read.data(list) or [], type_, MAX_ITEMS), read.faults)


def ids_or_dry_run(document: object, type_: str) -> tuple[IdsDraft, bool]:
    """The same, and whether they are only asked about."""
    read = Reader(document, (DRY_RUN_NAME,))
    ids = read.identifiers(read.data(list) or [], type_, MAX_ITEMS)
    dry_run = read.option(DRY_RUN_NAME)
    return IdsDraft(ids, read.faults), dry_run
