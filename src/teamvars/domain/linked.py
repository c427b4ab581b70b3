"""What a request names by id: the resource that it is about, what that is related to, and those all
or none of which a change concerns.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import msgspec

from teamvars.domain.errors import Fault

MAX_ITEMS = 1000
"""Of a document that names several resources."""


class ResourceDraft(msgspec.Struct, frozen=True, kw_only=True):
    """What a request says of a resource, beside its attributes, and the faults of the document.

    `id` is that of the document, when it has one. `unlike` is asked of the resource before it is
    updated: it finds a fault for each relationship that the request names otherwise than it is, and
    that no update changes.
    """

    id: str | None = None
    faults: tuple[Fault, ...] = ()
    unlike: Callable[[Any], list[Fault]] = lambda _: []


class IdsDraft(msgspec.Struct, frozen=True):
    """Resources of one type that a request names: `ids[n]` is None where item n has a fault of its
    own.
    """

    ids: Sequence[str | None] = ()
    faults: tuple[Fault, ...] = ()

    @property
    def wanted(self) -> tuple[str, ...]:
        """Each id once, in order, so that repeated items count once."""
        return tuple(dict.fromkeys(id_ for id_ in self.ids if id_ is not None))

    def all_faults(self, known: Collection[str], unknown: Fault) -> list[Fault]:
        """Those of the document, and one for each id that is not known."""
        return [*self.faults, *lacking(self.ids, known, unknown)]


def lacking(
    ids: Iterable[str | None], known: Collection[str], unknown: Fault, at: str = "/data"
) -> list[Fault]:
    """A fault for each id of a list, which is there in the document, that is not known."""
    there = {None, *known}
    return [unknown.at(f"{at}/{n}/id") for n, id_ in enumerate(ids) if id_ not in there]
