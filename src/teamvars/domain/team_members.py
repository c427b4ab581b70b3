"""Members of teams: how a request names them, and the rules of contract §5."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from teamvars.domain.errors import LAST_OWNER, Code, Fault
from teamvars.domain.memberships import Status

MAX_ITEMS = 1000
"""Of a document that names several resources."""


class LinkageType(StrEnum):
    """What a linkage object names a member by (contract §5)."""

    USERS = "users"
    ORGANIZATION_MEMBERSHIPS = "organization-memberships"


class Linked(msgspec.Struct, frozen=True):
    """A membership that a request names, by which id, and whether it is in the team."""

    id: str
    membership_id: str
    status: Status
    in_team: bool


class MembersDraft(msgspec.Struct, frozen=True):
    """Whom a request adds or removes: `ids[n]` is None where item n has a fault of its own."""

    ids: Sequence[str | None] = ()
    faults: tuple[Fault, ...] = ()

    def wanted(self) -> list[str]:
        """Each id once, in order, so that repeated items count once."""
        return list(dict.fromkeys(id_ for id_ in self.ids if id_ is not None))

    def renamed(self, ids: Mapping[str, str]) -> "MembersDraft":
        """The draft with some ids given in the place of names."""
        given = [id_ if id_ is None else ids.get(id_, id_) for id_ in self.ids]
        return replace(self, ids=given)

    def missing(self, found: Iterable[str]) -> list[Fault]:
        """A fault for each item that names nobody with a membership of the organization."""
        known = set(found)
        return self._item_faults(
            {id_ for id_ in self.ids if id_ is not None} - known,
            Code.NOT_FOUND,
            "No membership of the team's organization has this id.",
        )

    def not_accepted(self, invited: Iterable[str]) -> list[Fault]:
        """A fault for each item that names an invited user by user id (contract §5)."""
        return self._item_faults(
            set(invited),
            Code.INVITATION_NOT_ACCEPTED,
            "This user has not accepted the invitation to the organization yet. "
            "Add them by organization membership id, or wait until they accept.",
        )

    def last_owners(self, owners: Iterable[str]) -> list[Fault]:
        """A fault for each item that would leave the organization without an active owner."""
        return self._item_faults(
            set(owners),
            LAST_OWNER.code,
            LAST_OWNER.detail,
        )

    def _item_faults(self, ids: set[str], code: Code, detail: str) -> list[Fault]:
        return [
            Fault(code, detail, pointer=f"/data/{n}/id")
            for n, id_ in enumerate(self.ids)
            if id_ in ids
        ]


def owners_lost(active_owners: Iterable[str], removed: Iterable[str]) -> set[str]:
    """The membership ids whose removal would leave no active owner; empty when one remains.

    An organization that has no active owner already loses none, so nothing is in its way.
    """
    owners = set(active_owners)
    return owners if owners <= set(removed) else set()
