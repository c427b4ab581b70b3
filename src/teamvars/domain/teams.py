"""Teams of organizations."""

from enum import StrEnum

import msgspec
from msgspec.structs import replace

from teamvars.domain.errors import OTHER_ID, Code, Fault, invalid, unknown_word
from teamvars.domain.names import NAME_POINTER, team_name_faults

OWNERS = "owners"
"""The name of the team that every organization has, and that cannot be renamed or deleted."""


class Visibility(StrEnum):
    """`secret`: seen by its members and by owners alone; else by the whole organization."""

    ORGANIZATION = "organization"
    SECRET = "secret"


class Team(msgspec.Struct, frozen=True):
    """A team of an organization.

    `manage_membership`: its members may change those of other teams, `owners` excepted.
    `members_manage_token`: its members may make and revoke its token; those of `owners` may
    whatever it says.
    """

    id: str
    organization_id: str
    name: str
    visibility: Visibility
    manage_membership: bool
    is_owners: bool
    members_manage_token: bool = False

    @property
    def is_secret(self) -> bool:
        """Whether only its members and owners see it."""
        return self.visibility is Visibility.SECRET


def owners_of(organization_id: str, id_: str) -> Team:
    """The team that every organization has."""
    return Team(
        id=id_,
        organization_id=organization_id,
        name=OWNERS,
        visibility=Visibility.ORGANIZATION,
        manage_membership=False,
        is_owners=True,
        members_manage_token=True,
    )


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
            *unknown_word("visibility", self.visibility, Visibility, "A visibility"),
            *self._sso_faults(),
        ]

    def conflicts(self, team: Team) -> list[Fault]:
        """A fault for another id than the path's, and one for a new name of the owners team."""
        faults = []
        if self.id not in (None, team.id):
            faults.append(OTHER_ID.filled(what="team"))
        if team.is_owners and self.name not in (None, team.name):
            detail = "The owners team keeps its name."
            faults.append(Fault(Code.OWNERS_IS_PERMANENT, detail, pointer=NAME_POINTER))
        return faults

    def applied_to(self, team: Team) -> Team:
        """The team as a draft without faults makes it."""
        said = {
            "name": self.name,
            "visibility": self.visibility and Visibility(self.visibility),
            "manage_membership": self.manage_membership,
            "members_manage_token": self.members_manage_token,
        }
        return replace(team, **{name: value for name, value in said.items() if value is not None})

    def _sso_faults(self) -> list[Fault]:
        if not self.sso_team_id:
            return []
        detail = "There is no single sign-on here: nobody would join the team by this id."
        return [invalid("sso-team-id", detail)]
