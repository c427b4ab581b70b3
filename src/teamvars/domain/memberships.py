"""Memberships of organizations as clients of the directory see them, and invitations."""

from collections.abc import Iterable, Sequence

import msgspec

from teamvars.domain.errors import Code, Fault
from teamvars.domain.names import email_faults
from teamvars.domain.teams import Status

EMAIL_POINTER = "/data/attributes/email"


class MembershipView(msgspec.Struct, frozen=True):
    """A membership with its user, and those of its teams that the one who looks may see.

    `created_at` in µs UTC.
    """

    id: str
    organization_id: str
    organization_name: str
    user_id: str
    username: str
    email: str | None
    status: Status
    created_at: int
    team_ids: Sequence[str] = ()


class MembershipFilter(msgspec.Struct, frozen=True):
    """Which memberships are wanted; None lets all through.

    `search` is a part of the username or e-mail address; `emails` are whole ones.
    """

    search: str | None = None
    emails: tuple[str, ...] | None = None
    status: Status | None = None


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
        known = {None, *found}
        return [
            Fault(
                Code.NOT_FOUND,
                "No team of the organization has this id.",
                pointer=f"/data/relationships/teams/data/{n}/id",
            )
            for n, id_ in enumerate(self.team_ids)
            if id_ not in known
        ]

    def already_member(self) -> Fault:
        """The address belongs to somebody who is in the organization or invited to it."""
        detail = "The user with this address is in the organization or invited to it already."
        return Fault(Code.ALREADY_MEMBER, detail, pointer=EMAIL_POINTER)
