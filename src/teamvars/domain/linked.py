"""What a request names by id, all or none of which a change concerns."""

from collections.abc import Collection

import msgspec

from teamvars.domain.errors import Fault

MAX_ITEMS = 1000
"""Of a document that names several resources."""


class IdsDraft(msgspec.Struct, frozen=True):
    """Resources of one type that a request names by id; an empty one is at fault itself."""

    ids: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()

    @property
    def wanted(self) -> tuple[str, ...]:
        """Each id once."""
        return tuple(dict.fromkeys(filter(None, self.ids)))

    def all_faults(self, known: Collection[str], unknown: Fault) -> list[Fault]:
        """Those of the document, and one for each id that is not known."""
        named = enumerate(self.ids)
        lacking = [unknown.at(f"/data/{n}/id") for n, id_ in named if id_ and id_ not in known]
        return [*self.faults, *lacking]
