"""What resource objects of JSON:API are made of, whatever their type.

The types of texts are for those who read `/openapi.json`: the rules that count are in the domain.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeVar

import msgspec
import structlog
from msgspec import Meta

from teamvars.domain.times import moment
from teamvars.web.http.attributes import Attribute, Group

Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
# A path of this service, which may stand behind any host.
Path = Annotated[str, Meta(extra_json_schema={"format": "uri-reference"})]
# With letters of every script: JSON Schema's `email` has ASCII alone.
Email = Annotated[str, Meta(extra_json_schema={"format": "idn-email"})]

_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

T = TypeVar("T")

log = structlog.get_logger("teamvars")


class Identifier(msgspec.Struct):
    """A resource identifier object."""

    id: str
    type: str


class WorkspaceIdentifier(msgspec.Struct):
    """A workspace by its id."""

    type: Literal["workspaces"]
    id: str


class ProjectIdentifier(msgspec.Struct):
    """A project by its id."""

    type: Literal["projects"]
    id: str


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


def to_one(
    member: str,
    name: str,
    text: str,
    type_: str,
    id_of: Callable[[T], str],
    **more: Any,
) -> Attribute[T]:
    """A relationship to a resource of that type; `name` and `text` are those of its own type, and
    `more` is said of the attribute besides.
    """
    data = Attribute[T]("data", Identifier, lambda one: Identifier(id_of(one), type_))
    return Attribute(member, Group(name, text, data), **more)


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
