"""Teams and their membership: the linkage objects and the rules of contract §5."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from teamvars.domain.errors import Code, Fault
from teamvars.domain.names import NAME_POINTER, team_name_faults

MAX_ITEMS = 1000
OWNERS = "owners"
"""The name of the team that every organization has, and that cannot be renamed or deleted."""


class Visibility(StrEnum):
    """`secret`: seen by its members and by owners alone; else by the whole organization."""

    ORGANIZATION = "organization"
    SECRET = "secret"


class Status(StrEnum):
    """Of an organization membership: `invited` until the user has accepted."""

    INVITED = "invited"
    ACTIVE = "active"


class LinkageType(StrEnum):
    """What a linkage object names a member by (contract §5)."""

    USERS = "users"
    ORGANIZATION_MEMBERSHIPS = "organization-memberships"


class Team(msgspec.Struct, frozen=True):
    """A team of an organization."""

    id: str
    name: str
    organization_id: str
    organization_name: str
    visibility: Visibility
    is_owners: bool

    @property
    def is_secret(self) -> bool:
        """Whether only its members and owners see it."""
        return self.visibility is Visibility.SECRET


class Membership(msgspec.Struct, frozen=True):
    """A user's membership of an organization, and whether it is in the team under discussion.

    Whether the user is disabled is known of those who are in it.
    """

    id: str
    user_id: str
    status: Status
    in_team: bool
    user_disabled: bool = False

    @property
    def counts_as_owner(self) -> bool:
        """Whether it makes somebody an active owner, once it is in the owners team."""
        return counts_as_owner(self.status, disabled=self.user_disabled)

    def named_by(self, linkage: LinkageType) -> str:
        """Its id in a linkage object of that type."""
        return self.user_id if linkage is LinkageType.USERS else self.id


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
            "Add them by organization membership id, or wait until they have.",
        )

    def last_owners(self, owners: Iterable[str]) -> list[Fault]:
        """A fault for each item that would leave the organization without an active owner."""
        return self._item_faults(
            set(owners),
            Code.LAST_OWNER,
            "This would leave the organization without an active owner.",
        )

    def _item_faults(self, ids: set[str], code: Code, detail: str) -> list[Fault]:
        return [
            Fault(code, detail, pointer=f"/data/{n}/id")
            for n, id_ in enumerate(self.ids)
            if id_ in ids
        ]


class TeamFilter(msgspec.Struct, frozen=True):
    """Which teams are wanted; None lets all through. `search` is a part of the name."""

    names: tuple[str, ...] | None = None
    search: str | None = None


class TeamDraft(msgspec.Struct, frozen=True):
    """What a request says of a team; None where it says nothing usable.

    `id` is that of the document, when it has one. `sso_team_id` can only be empty: what would put
    people into the team by it is not there.
    """

    id: str | None = None
    name: str | None = None
    visibility: str | None = None
    manage_membership: bool | None = None
    members_manage_token: bool | None = None
    sso_team_id: str | None = None
    faults: tuple[Fault, ...] = ()

    def all_faults(self) -> list[Fault]:
        """Those of the document, and every rule it breaks."""
        return [
            *self.faults,
            *team_name_faults(self.name),
            *self._visibility_faults(),
            *self._sso_faults(),
        ]

    def conflicts(self, team: Team) -> list[Fault]:
        """A fault for another id than the path's, and one for a new name of the owners team."""
        faults = []
        if self.id not in (None, team.id):
            detail = "This is not the id of the path's team."
            faults.append(Fault(Code.ID_CONFLICT, detail, pointer="/data/id"))
        if team.is_owners and self.name not in (None, team.name):
            detail = "The owners team keeps its name."
            faults.append(Fault(Code.OWNERS_IS_PERMANENT, detail, pointer=NAME_POINTER))
        return faults

    def _visibility_faults(self) -> list[Fault]:
        words = [word.value for word in Visibility]
        if self.visibility is None or self.visibility in words:
            return []
        detail = f"A visibility is one of {', '.join(words)}."
        return [Fault(Code.INVALID_VALUE, detail, pointer="/data/attributes/visibility")]

    def _sso_faults(self) -> list[Fault]:
        if not self.sso_team_id:
            return []
        detail = "There is no single sign-on here: nobody would join the team by this id."
        return [Fault(Code.INVALID_VALUE, detail, pointer="/data/attributes/sso-team-id")]


def counts_as_owner(status: Status, *, disabled: bool) -> bool:
    """Who is only invited can do nothing yet, and who is disabled nothing any more."""
    return status is Status.ACTIVE and not disabled


def owners_lost(active_owners: Iterable[str], removed: Iterable[str]) -> set[str]:
    """The membership ids whose removal would leave no active owner; empty when one remains.

    An organization that has no active owner already loses none, so nothing is in its way.
    """
    owners = set(active_owners)
    return owners if owners and owners <= set(removed) else set()
