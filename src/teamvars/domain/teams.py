"""Teams of organizations, and the rights that their members have in all of it."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from teamvars.domain.client_settings import Setting, Settings, Values
from teamvars.domain.errors import Code, Fault, other_id, unknown_word
from teamvars.domain.linked import ResourceDraft
from teamvars.domain.names import NAME_POINTER, team_name_faults

ACCESS = "organization-access/"
"""What the names of rights in a document begin with."""
OWNERS = "owners"
"""The name of the team that every organization has, and that cannot be renamed or deleted."""

SETTINGS = Settings(
    Setting("sso-team-id", "", "Kept; it puts nobody into the team."),
    *(
        Setting(f"{ACCESS}{name}", False, text)
        for name, text in {
            "manage-policies": "Policies; there are none.",
            "manage-policy-overrides": "Exceptions to policies; there are none.",
            "delegate-policy-overrides": "Exceptions to policies; there are none.",
            "manage-vcs-settings": "Connections to repositories; there are none.",
            "manage-providers": "Providers; there are none.",
            "manage-modules": "Modules; there are none.",
            "manage-run-tasks": "Tasks of runs; there are none.",
            "manage-agent-pools": "Agent pools; there are none.",
        }.items()
    ),
)


def is_right(name: str) -> bool:
    """Whether the setting with that name is a right, which has no subject here."""
    return name.startswith(ACCESS)


class Visibility(StrEnum):
    """`secret`: seen by its members and by owners alone; else by the whole organization."""

    ORGANIZATION = "organization"
    SECRET = "secret"


class Right(StrEnum):
    """What a team may do in all of its organization (contract §6)."""

    READ_WORKSPACES = "read-workspaces"
    MANAGE_WORKSPACES = "manage-workspaces"
    READ_PROJECTS = "read-projects"
    MANAGE_PROJECTS = "manage-projects"
    MANAGE_MEMBERSHIP = "manage-membership"
    MANAGE_TEAMS = "manage-teams"
    MANAGE_ORGANIZATION_ACCESS = "manage-organization-access"
    ACCESS_SECRET_TEAMS = "access-secret-teams"


Rights = frozenset[Right]

ALL_RIGHTS: Rights = frozenset(Right)
BOTH_MANAGE: Rights = frozenset({Right.MANAGE_WORKSPACES, Right.MANAGE_PROJECTS})
"""What it takes to move workspaces, and to change sets: either may be a way for others to read."""
INCLUDED: Mapping[Right, Right] = {
    Right.MANAGE_WORKSPACES: Right.READ_WORKSPACES,
    Right.MANAGE_PROJECTS: Right.READ_PROJECTS,
    Right.MANAGE_ORGANIZATION_ACCESS: Right.MANAGE_TEAMS,
}
"""The right that another one includes."""


def whole(rights: Iterable[Right]) -> Rights:
    """The rights with those that they include."""
    given = frozenset(rights)
    return given | {INCLUDED[one] for one in given if one in INCLUDED}


class Team(msgspec.Struct, frozen=True):
    """A team of an organization.

    `rights` are those that it was given, in all of the organization. `members_manage_token`: its
    members may make and revoke its token; those of `owners` may whatever it says. `settings` are
    those of `SETTINGS` that are no defaults, by name.
    """

    id: str
    organization_id: str
    name: str
    visibility: Visibility
    rights: Rights
    is_owners: bool
    members_manage_token: bool = False
    settings: Values = {}

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
        rights=frozenset(),
        is_owners=True,
        members_manage_token=True,
    )


class TeamFilter(msgspec.Struct, frozen=True):
    """Which teams are wanted; None lets all through. `search` is a part of the name."""

    names: tuple[str, ...] | None = None
    search: str | None = None


class TeamDraft(ResourceDraft, frozen=True):
    """What a request says of a team; None where it says nothing usable.

    `rights` are those that it names, and whether the team is to have them; `settings` are those of
    `SETTINGS` that it names.
    """

    name: str | None = None
    visibility: str | None = None
    rights: Mapping[str, bool] = {}
    members_manage_token: bool | None = None
    settings: Values = msgspec.field(default_factory=dict)

    def all_faults(self) -> list[Fault]:
        """Those of the document, and every rule it breaks."""
        return [
            *self.faults,
            *team_name_faults(self.name),
            *unknown_word("visibility", self.visibility, Visibility, "A visibility"),
            *SETTINGS.faults(self.settings),
        ]

    def conflicts(self, team: Team) -> list[Fault]:
        """A fault for another id than the path's, and those of the owners team: one for a new name,
        and one for each right that it is not to have.
        """
        faults = other_id(self.id, team.id, "team")
        if team.is_owners and self.name not in (None, team.name):
            detail = "The owners team keeps its name."
            faults.append(Fault(Code.OWNERS_IS_PERMANENT, detail, pointer=NAME_POINTER))
        if team.is_owners:
            detail, at = "The owners team has every right.", "/data/attributes/"
            faults += [
                Fault(Code.OWNERS_IS_PERMANENT, detail, pointer=at + name)
                for name, is_given in self._said_rights().items()
                if not is_given
            ]
        return faults

    def applied_to(self, team: Team) -> Team:
        """The team as a draft without faults makes it."""
        said = {
            "name": self.name,
            "visibility": self.visibility and Visibility(self.visibility),
            "members_manage_token": self.members_manage_token,
        }
        return replace(
            team,
            **{name: value for name, value in said.items() if value is not None},
            rights=self._rights(team),
            settings=self._settings(team),
        )

    def gives_rights(self, team: Team) -> bool:
        """Whether it changes what the team may do in the organization, be it without a subject."""
        differing = SETTINGS.differing(team.settings, self._settings(team))
        return self._rights(team) != team.rights or any(map(is_right, differing))

    def _rights(self, team: Team) -> Rights:
        if team.is_owners:  # which has all of them, whatever is stored
            return team.rights
        return frozenset(one for one in Right if self.rights.get(one, one in team.rights))

    def _settings(self, team: Team) -> Values:
        said = self.settings.items()
        others = {name: one for name, one in said if not (team.is_owners and is_right(name))}
        return SETTINGS.changed(team.settings, others)

    def _said_rights(self) -> Mapping[str, object]:
        """By name in the document, those without a subject included."""
        subject = {f"{ACCESS}{name}": one for name, one in self.rights.items()}
        return subject | {name: one for name, one in self.settings.items() if is_right(name)}
