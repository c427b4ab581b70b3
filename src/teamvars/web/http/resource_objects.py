"""What resource objects of JSON:API are made of, whatever their type: what an attribute shows, and
what it takes, is said once.

The types of documents follow from the attributes, their encoder, and the reader of those that are
sent. The types of texts are for those who read `/openapi.json`: the rules that count are in the
domain.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from types import NoneType
from typing import Annotated, Any, Generic, Literal, TypeVar, cast, get_args, get_origin

import msgspec
import structlog
from msgspec import NODEFAULT, UNSET, Meta, UnsetType

from teamvars.domain.linked import MAX_ITEMS
from teamvars.domain.times import moment
from teamvars.web.http.reader import DryRunOptions, Reader

Field = tuple[str, Any] | tuple[str, Any, Any]
"""Of a type: its name, type and default."""
REQUIRED: Any = NODEFAULT
"""What a create without an attribute means that no create may lack."""

T = TypeVar("T")

Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
# A path of this service, which may stand behind any host.
Path = Annotated[str, Meta(extra_json_schema={"format": "uri-reference"})]
# With letters of every script: JSON Schema's `email` has ASCII alone.
Email = Annotated[str, Meta(extra_json_schema={"format": "idn-email"})]

_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

log = structlog.get_logger("teamvars")


class Attribute(msgspec.Struct, Generic[T], frozen=True):
    """A member of the documents of a `T`, by its name on the wire.

    `shown` is its type in answers, and `of` finds it; `when` says of which it is shown at all. What
    has a `default` alone is the same for all.

    `given` is its type in requests. A create without it means `new`; where that is UNSET, the
    service decides. Where the type admits null, it means `null`, which is nothing unless said. A
    draft calls it `to`; after a slash stands its name in a mapping that the draft has.

    Where it is an object of several, both types are a `Group`.
    """

    name: str
    shown: Any = None
    of: Callable[[T], Any] | None = None
    given: Any = None
    new: Any = UNSET
    to: str = ""
    default: Any = UNSET
    when: Callable[[T], bool] | None = None
    null: Any = None

    @property
    def field(self) -> str:
        """What Python calls it."""
        return self.name.replace("-", "_")

    def finder(self) -> Callable[[T], Any] | None:
        """What finds it; None: it is the same for all."""
        of, when = self.of, self.when
        if of is None and isinstance(self.shown, Group) and not self.shown.is_fixed:
            of = self.shown.of
        return of if of is None or when is None else lambda one: of(one) if when(one) else UNSET

    def as_shown(self) -> Field:
        """The field of answers."""
        type_, options = self.shown, {} if self.default is UNSET else {"default": self.default}
        if isinstance(type_, Group):
            type_ = type_.type
            options = {} if self.finder() else {"default_factory": type_}
        if self.when is not None:
            type_, options = type_ | UnsetType, {"default": UNSET}
        return self.field, type_, msgspec.field(name=self.name, **options)

    def as_given(self, new: Any) -> Field:
        """The field of requests in which it is absent for `new`."""
        type_ = self.given.given if isinstance(self.given, Group) else self.given
        type_ = type_ | UnsetType if new is UNSET else type_
        return self.field, type_, msgspec.field(name=self.name, default=new)


class Group(Generic[T]):
    """An object of several attributes of a `T`.

    `type` is that of answers, and `given` that of requests, if they may say something of it.
    """

    def __init__(
        self, name: str, text: str, *attributes: Attribute[T], tag: str = "", given: str = ""
    ) -> None:
        """`given`: what `/openapi.json` says of it in requests.

        With a `tag`, its `type`, an object can stand in a list beside others.
        """
        shown = [one for one in attributes if one.shown is not None]
        self.type = structure(name, text, [one.as_shown() for one in shown], tag)
        self._finders = [(one.field, find) for one in shown if (find := one.finder())]
        self.is_fixed = not self._finders
        self._taken = [one for one in attributes if one.given is not None]
        self._read = [_Reading.of(one) for one in self._taken]
        self.given = structure(f"Given{name}", given, self.changed_fields()) if given else None

    def of(self, one: T) -> msgspec.Struct:
        """What is shown of one."""
        found: msgspec.Struct = self.type(**{name: find(one) for name, find in self._finders})
        return found

    def new_fields(self) -> list[Field]:
        """What a create says."""
        return [one.as_given(one.new) for one in self._taken]

    def changed_fields(self) -> list[Field]:
        """What an update says: what is left out stays."""
        return [one.as_given(UNSET) for one in self._taken]

    def read(
        self, read: Reader, parent: Mapping[str, Any] | None, at: str, *, is_new: bool
    ) -> Iterator[tuple[str, Any]]:
        """What a request says, in an object that stands there, by the names that a draft has."""
        for one in self._read:
            found = one.null if parent and one.name in parent else None
            if not (one.is_nullable and parent and parent.get(one.name) is None):
                required = is_new and one.is_required
                found = read.member(parent, one.name, one.type, at, required=required)
            if one.of_texts:
                found = read.texts(found, f"{at}/{one.name}")
            if one.group is None:
                yield one.to, found
            else:
                yield from one.group.read(read, found, f"{at}/{one.name}", is_new=is_new)


class _Reading(msgspec.Struct):
    """How an attribute is read: its JSON type, and what a draft calls it. `of_texts`: an array or
    object, all of whose members are texts.
    """

    name: str
    to: str
    type: type
    group: Group[Any] | None
    is_nullable: bool
    is_required: bool
    of_texts: bool
    null: Any

    @classmethod
    def of(cls, one: Attribute[Any]) -> "_Reading":
        """How that one is read."""
        given = _bare(one.given)
        is_nullable = NoneType in get_args(given)
        if is_nullable:
            given = _bare(next(type_ for type_ in get_args(given) if type_ is not NoneType))
        group = given if isinstance(given, Group) else None
        whole = get_origin(given) if get_origin(given) in (dict, list) else None
        kind = whole or (given if given in (bool, int) else str if group is None else dict)
        to = one.to or one.field
        is_required = one.new is REQUIRED
        of_texts = whole is not None and _bare(get_args(given)[-1]) is str
        return cls(one.name, to, kind, group, is_nullable, is_required, of_texts, one.null)


def _bare(type_: Any) -> Any:
    """The type without what is said about it."""
    return get_args(type_)[0] if get_origin(type_) is Annotated else type_


def fixed(members: Mapping[str, bool | int | str]) -> list[Attribute[Any]]:
    """The attributes that are the same for all."""
    return [Attribute(name, type(value), default=value) for name, value in members.items()]


def flags(of: Callable[[T], bool], *names: str) -> list[Attribute[T]]:
    """The attributes that are true alike."""
    return [Attribute(name, bool, of) for name in names]


def one_of(words: Iterable[str], said: Meta) -> Any:
    """The type of a text that is one of these."""
    return cast(Any, Annotated)[cast(Any, Literal)[tuple(words)], said]


def structure(name: str, text: str, fields: Iterable[Field], tag: str = "") -> Any:
    """A type for `/openapi.json`, with its description."""
    tagged: Any = {"tag_field": "type", "tag": tag} if tag else {}
    return msgspec.defstruct(name, fields, kw_only=True, namespace={"__doc__": text}, **tagged)


class Identifier(msgspec.Struct, gc=False):
    """A resource identifier object."""

    id: str
    type: str


def identifier(name: str, text: str, type_: str) -> Any:
    """The type of what names a resource of that type in a request."""
    return structure(name, text, [("type", cast(Any, Literal)[type_]), ("id", str)])


def several(
    name: str, text: str, item: Any, most: int = MAX_ITEMS, *, dry_run: bool = False
) -> Any:
    """The type of a request's document, or of a relationship in one, of at most so many items; it
    may ask for a `dry_run`.
    """
    items = cast(Any, Annotated)[cast(Any, list)[item], Meta(max_length=most)]
    options: list[Field] = [("meta", DryRunOptions | UnsetType, UNSET)] if dry_run else []
    return structure(name, text, [("data", items), *options])


WorkspaceIdentifier: Any = identifier("WorkspaceIdentifier", "A workspace by its id.", "workspaces")
ProjectIdentifier: Any = identifier("ProjectIdentifier", "A project by its id.", "projects")


class RelatedLink(msgspec.Struct):
    """The path of a related resource."""

    related: Path


class SelfLink(msgspec.Struct, gc=False):
    """The path of the resource itself."""

    self: Path


def self_link(path: Callable[[T], str]) -> Attribute[T]:
    """The `links` of a resource that is there."""
    return Attribute("links", SelfLink, lambda one: SelfLink(path(one)))


def identifiers(
    type_: str,
    ids_of: Callable[[T], Iterable[str]],
    when: Callable[[T], bool] | None = None,
) -> Attribute[T]:
    """The `data` of a relationship to several resources of that type, where it is shown."""

    def of(one: T) -> list[Identifier]:
        return [Identifier(id_, type_) for id_ in ids_of(one)]

    return Attribute("data", list[Identifier], of, when=when)


def related(
    member: str, linkage: Any, type_: str, id_of: Callable[[T], str], **more: Any
) -> Attribute[T]:
    """A relationship to a resource of that type, where several of ours have one, by the type
    `linkage` of them all; `more` is said of the attribute besides.
    """
    return Attribute(
        member, linkage, lambda one: linkage(data=Identifier(id_of(one), type_)), **more
    )


def linkage(name: str, text: str) -> Any:
    """The type of a relationship to one resource."""
    return structure(name, text, [("data", Identifier)])


def to_one(
    member: str,
    name: str,
    text: str,
    type_: str,
    id_of: Callable[[T], str],
    **more: Any,
) -> Attribute[T]:
    """As `related`; `name` and `text` are those of a type of its own."""
    return related(member, linkage(name, text), type_, id_of, **more)


def to_many(
    member: str,
    name: str,
    text: str,
    type_: str,
    ids_of: Callable[[T], Iterable[str]],
    **more: Any,
) -> Attribute[T]:
    """A relationship to several resources of that type, as `to_one`."""
    return Attribute(member, Group(name, text, identifiers(type_, ids_of)), **more)


def timestamp(at: object, row: str) -> str:
    """A time in µs UTC as HCP Terraform writes it: milliseconds and a Z.

    As for `written`, `row` names the row it is of.
    """
    return written(at, row).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def written(at: object, row: str) -> datetime:
    """A stored time, or the nearest one that can be written, which is then logged.

    So a row that somebody broke by hand hides no other, and clients can read the answer.
    """
    found = moment(at)
    if found is not None:
        return found
    log.warning("a stored time cannot be written", row=row)
    return _LAST if isinstance(at, int) and at > 0 else _FIRST
