"""What resource objects of JSON:API are made of, whatever their type."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec

from teamvars.web.http.attributes import Attribute, Group
from teamvars.web.http.formats import Path

T = TypeVar("T")


class Identifier(msgspec.Struct):
    """A resource identifier object."""

    id: str
    type: str


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


def to_one(name: str, text: str, type_: str, id_of: Callable[[T], str]) -> Group[T]:
    """A relationship to a resource of that type."""
    data = Attribute[T]("data", Identifier, lambda one: Identifier(id_of(one), type_))
    return Group(name, text, data)


def to_many(name: str, text: str, type_: str, ids_of: Callable[[T], Iterable[str]]) -> Group[T]:
    """A relationship to several resources of that type."""
    return Group(name, text, identifiers(type_, ids_of))
