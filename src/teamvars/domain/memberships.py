"""Memberships of organizations, the invitations that they begin as, and what somebody who leaves an
organization leaves behind in it; and members of teams: how a request names them, and the rules of
contract §5.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from teamvars.domain.errors import LAST_OWNER, Code, Fault
from teamvars.domain.invitations import Invitation
from teamvars.domain.linked import IdsDraft, lacking
from teamvars.domain.names import email_faults
from teamvars.domain.runners import Runner
from teamvars.domain.teams import Team
from teamvars.domain.tokens import Token
from teamvars.domain.users import User

EMAIL_POINTER = "/data/attributes/email"


class Status(StrEnum):
    """Of an organization membership: `invited` until the user has accepted."""

    INVITED = "invited"
    ACTIVE = "active"


class Membership(msgspec.Struct, frozen=True):
    """A user's membership of an organization. `created_at` in µs UTC.

    `invited_as` is the address that an invitation gave, until it is accepted; `invitation` is None
    where there is no link to accept it by. `team_ids` are its teams, in order, as far as they were
    asked for.
    """

    id: str
    organization_id: str
    organization_name: str
    user: User
    status: Status
    created_at: int
    invited_as: str | None = None
    team_ids: Sequence[str] = ()
    invitation: Invitation | None = None

    @property
    def shown_username(self) -> str:
        """The name the organization is told: whoever is invited goes by the invitation's address,
        and by nothing of their own."""
        return self.user.username if self.invited_as is None else self.invited_as

    @property
    def shown_email(self) -> str | None:
        """The address the organization is told."""
        return self.user.email if self.invited_as is None else self.invited_as

    @property
    def counts_as_owner(self) -> bool:
        """Whether it makes somebody an active owner, once it is in the owners team: who is only
        invited can do nothing yet, and who is disabled nothing any more."""
        return self.status is Status.ACTIVE and not self.user.disabled

    def lacks_link(self, now: int) -> bool:
        """Whether it waits for somebody with an address, whom no link was ever made for."""
        return (
            self.status is Status.INVITED
            and self.shown_email is not None
            and (self.invitation is None or not self.invitation.has_link(now))
        )

    def with_status(self, status: Status) -> "Membership":
        """The membership with that status; from then on its user is known."""
        return replace(self, status=status, invited_as=None, invitation=None)


class MembershipFilter(msgspec.Struct, frozen=True):
    """Which memberships are wanted, and in which order; None lets all through.

    `search` is a part of the username or e-mail address; `names` are whole ones of either, or ids
    of the user or the membership; `emails` are whole addresses. A `status` that there is not finds
    none.
    """

    search: str | None = None
    emails: tuple[str, ...] | None = None
    names: tuple[str, ...] | None = None
    status: str | None = None
    by_name: bool = False


class InvitationDraft(msgspec.Struct, frozen=True):
    """Whom a request invites, and into which teams: `team_ids[n]` is None where it is at fault."""

    email: str | None = None
    team_ids: Sequence[str | None] = ()
    faults: tuple[Fault, ...] = ()

    def all_faults(self) -> list[Fault]:
        """Those of the document, and every rule it breaks."""
        return [*self.faults, *email_faults(self.email)]

    def wanted(self) -> list[str]:
        """Each team once, in order."""
        return list(dict.fromkeys(id_ for id_ in self.team_ids if id_ is not None))

    def missing(self, found: Iterable[str]) -> list[Fault]:
        """A fault for each item that names no team of the organization."""
        unknown = Fault(Code.NOT_FOUND, "No team of the organization has this id.")
        return lacking(self.team_ids, [*found], unknown, "/data/relationships/teams/data")


class LeftBehind(msgspec.Struct, frozen=True):
    """What goes on without them: `tokens` of the organization and its teams that they made, runners
    that they proposed, and invitations that they sent and nobody has accepted; and the teams in
    which nobody else can act.
    """

    organization_id: str
    organization: str
    user_id: str
    tokens: Sequence[Token]
    runners: Sequence[Runner]
    invitations: Sequence[Membership]
    teams: Sequence[Team]

    @property
    def is_nothing(self) -> bool:
        """Whether there is none of it."""
        return not (self.tokens or self.runners or self.invitations or self.teams)


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


NO_SUCH_MEMBER = Fault(Code.NOT_FOUND, "No membership of the team's organization has this id.")


class MembersDraft(IdsDraft, frozen=True):
    """Whom a request adds or removes."""

    def renamed(self, ids: Mapping[str, str]) -> "MembersDraft":
        """The draft with some ids given in the place of names."""
        given = [id_ if id_ is None else ids.get(id_, id_) for id_ in self.ids]
        return replace(self, ids=given)

    def not_accepted(self, invited: Iterable[str]) -> list[Fault]:
        """A fault for each item that names an invited user by user id (contract §5)."""
        detail = (
            "This user has not accepted the invitation to the organization yet. "
            "Add them by organization membership id, or wait until they accept."
        )
        return self._naming(set(invited), Fault(Code.INVITATION_NOT_ACCEPTED, detail))

    def last_owners(self, owners: Iterable[str]) -> list[Fault]:
        """A fault for each item that would leave the organization without an active owner."""
        return self._naming(set(owners), LAST_OWNER)

    def _naming(self, ids: set[str], fault: Fault) -> list[Fault]:
        return [fault.at(f"/data/{n}/id") for n, id_ in enumerate(self.ids) if id_ in ids]


def owners_lost(active_owners: Iterable[str], removed: Iterable[str]) -> set[str]:
    """The membership ids whose removal would leave no active owner; empty when one remains.

    An organization that has no active owner already loses none, so nothing is in its way.
    """
    owners = set(active_owners)
    return owners if owners <= set(removed) else set()
