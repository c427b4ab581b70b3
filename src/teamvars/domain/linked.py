"""What a request names by id, all or none of which a change concerns."""

from collections.abc import Collection, Sequence

import msgspec

from teamvars.domain.errors import Fault

MAX_ITEMS = 1000
"""Of a document that names several resources."""


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
        named, there = enumerate(self.ids), {None, *known}
        lacking = [unknown.at(f"/data/{n}/id") for n, id_ in named if id_ not in there]
        return [*self.faults, *lacking]
