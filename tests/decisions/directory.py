"""What there is to find in an organization, and what decisions about it say."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from teamvars.decisions import Decision, Found
from teamvars.decisions.needs import (
    BindingsOf,
    ProjectWithId,
    TokensIssued,
    ToOrganization,
    ToOrganizationWithId,
    ToProject,
    ToTeam,
    ToWorkspaceAt,
    WhoCalls,
)
from teamvars.decisions.set_reach import touched_by
from teamvars.domain.access import (
    Caller,
    Level,
    OrganizationAccess,
    ProjectAccess,
    TeamAccess,
    WorkspaceAccess,
    WrappedKey,
)
from teamvars.domain.audit import SYSTEM_STREAM, Actor, Stream
from teamvars.domain.errors import Refusal, not_found
from teamvars.domain.memberships import Membership, Status
from teamvars.domain.organizations import Organization
from teamvars.domain.projects import Project, default_project
from teamvars.domain.set_effects import Standing
from teamvars.domain.teams import ALL_RIGHTS, Right, Team, Visibility, owners_of, whole
from teamvars.domain.tokens import IssuedToken, Token
from teamvars.domain.users import User
from teamvars.domain.workspaces import Workspace

NOW = 7
ACME = Organization("org-1", "acme", None, 1)
NETWORK = Workspace("ws-1", "network", "org-1", "acme")
DEFAULT = default_project("org-1", 1)
SHOP = Project("prj-2", "org-1", "shop", 2)
CREW = Team("team-1", "org-1", "crew", Visibility.SECRET, frozenset(), False)
OWNERS = owners_of("org-1", "team-0")
ALICE = User("user-1", "alice", "alice@example.com", site_admin=False)
MEMBER = Membership("ou-1", "org-1", "acme", ALICE, Status.ACTIVE, 1)
INVITED = Membership("ou-2", "org-1", "acme", ALICE, Status.INVITED, 1, invited_as="a@example.com")
USER = Actor("user", "user-1", "at-1")
OPERATOR = Actor.operator("root")

Answers = Mapping[Any, Any]
"""Needs, each with what was found."""


def to_acme(
    *,
    owner: bool = True,
    member: bool = True,
    teams: tuple[str, ...] = (),
    rights: Iterable[Right] = (),
) -> Answers:
    """What somebody may do with the organization, whether or not they have said its name, and its
    default project.
    """
    stream = Stream("org-1", "org-1", 1, b"", b"")
    has = ALL_RIGHTS if owner else whole(rights)
    access = OrganizationAccess(ACME, owner, member, frozenset(teams), has, stream)
    return {
        ToOrganization("acme"): access,
        ToOrganizationWithId("org-1"): access,
        ProjectWithId(DEFAULT.id): DEFAULT,
        BindingsOf((DEFAULT.id,)): {},
    }


def to_project(
    project: Project = DEFAULT,
    *,
    seen: bool = True,
    bindings: Mapping[str, str] | None = None,
    **may: Any,
) -> Answers:
    """What somebody may do with a project, if they see it; see `to_acme`."""
    acme = to_acme(**may)
    access = ProjectAccess(project, acme[ToOrganization("acme")], 1, 0, bindings or {})
    granted = access if seen else not_found()
    return {**acme, BindingsOf((project.id,)): {}, ToProject(project.id): granted}


def to_team(
    team: Team = CREW,
    *,
    owner: bool = True,
    inside: bool = True,
    in_team: bool = True,
    rights: Iterable[Right] = (),
    lacks_grant: bool = False,
) -> Answers:
    """What an owner, a member of the organization or a stranger may do with a team."""
    stream = Stream(team.id, "org-1", 1, b"", b"")
    has = ALL_RIGHTS if owner else whole(rights)
    said = owner, inside, inside and in_team, has, lacks_grant, False
    access = TeamAccess(team, "acme", *said, stream)
    return {ToTeam(team.id): access}


def to_network(level: Level) -> Answers:
    """What somebody with that level may do in a workspace."""
    stream = Stream("ws-1", "org-1", 1, b"", b"")
    key = WrappedKey("org-1", 1, "k", b"")
    return {ToWorkspaceAt("ws-1"): WorkspaceAccess(NETWORK, level, stream, key)}


def to_sets(*found: tuple[Standing, bool]) -> Answers:
    """The sets of the projects or attached to them."""
    return {touched_by(NETWORK, DEFAULT.id, SHOP.id): found}


def there_is(*tokens: Token) -> Answers:
    """Each of these tokens is there still."""
    return {TokensIssued("id", one.id): [IssuedToken(one, "alice")] for one in tokens}


def found(*answers: Answers, actor: Actor = USER, locked: tuple[str, ...] = ()) -> Found:
    """What that actor decides by, who has found all this and has these streams locked."""
    known = Found(Caller(b"", "req-1", actor), NOW)
    known.answers[WhoCalls()] = actor
    for some in answers:
        known.answers |= some
    known.streams |= {id_: Stream(id_, "org-1", 1, b"", b"") for id_ in locked}
    return known


ALL = ("org-1", SYSTEM_STREAM, "team-0", "team-1", "ws-1")
"""The streams there are."""


def actions(decision: Decision[Any]) -> list[tuple[str, str]]:
    """What is recorded: the stream and the action of each event, in order."""
    return [(note.stream_id, note.event.action) for note in decision.notes]


def refused(decide: Callable[..., object], *asked: Any, **more: Any) -> list[str]:
    """The codes with which it is refused."""
    with pytest.raises(Refusal) as refusal:
        decide(*asked, **more)
    return [fault.code.word for fault in refusal.value.faults]
