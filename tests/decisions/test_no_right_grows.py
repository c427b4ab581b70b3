"""No right grows by itself (contract §6): whatever anybody asks for in whatever order, nobody gains
what the one who asked for it did not have, but for the grants that managing membership gives.
"""

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from teamvars.decisions import (
    Decision,
    Delete,
    Found,
    Insert,
    Needs,
    Update,
    needs,
    projects,
    team_access,
    teams,
)
from teamvars.decisions import tokens as token_decisions
from teamvars.decisions import workspaces as workspace_decisions
from teamvars.decisions.set_reach import SetsAttached, SetsOfProjects
from teamvars.decisions.teams import LinkedBy, MembersChange, PutMembers
from teamvars.domain.access import (
    Caller,
    Level,
    OrganizationAccess,
    ProjectAccess,
    TeamAccess,
    WorkspaceAccess,
    WrappedKey,
)
from teamvars.domain.audit import Actor, Stream
from teamvars.domain.errors import Refusal, not_found
from teamvars.domain.memberships import LinkageType, Linked, MembersDraft, Status
from teamvars.domain.moves import MoveDraft
from teamvars.domain.project_grants import ProjectAccessType, ProjectGrant, ProjectGrantDraft
from teamvars.domain.projects import Project, ProjectDraft
from teamvars.domain.tags import Tags
from teamvars.domain.team_access import AccessType, Grant, GrantDraft, GrantLevel
from teamvars.domain.teams import ALL_RIGHTS, Right, Team, TeamDraft, Visibility, owners_of
from teamvars.domain.tokens import HashedToken, IssuedToken, OfTeam, Token, TokenDraft
from teamvars.domain.workspaces import (
    Workspace,
    WorkspaceDetails,
    WorkspaceDraft,
    WorkspaceRecord,
    WorkspaceSettings,
)
from tests.decisions.directory import ACME, DEFAULT, MEMBER, SHOP
from tests.decisions.test_deliveries import TRUST
from tests.support.powers import Place, Power, gains

SPACES = ("ws-1", "ws-2")
USERS = LinkageType.USERS


def _teams() -> Iterator[Team]:
    """Owners, a team with each right, and three without: visible, secret, and with no grants."""
    yield owners_of("org-1", "team-0")
    for right in Right:
        yield Team(right, "org-1", right, Visibility.ORGANIZATION, frozenset({right}), False)
    for name, seen in (("granted", "organization"), ("secret", "secret"), ("bare", "organization")):
        yield Team(name, "org-1", name, Visibility(seen), frozenset(), False)


TEAMS = {team.id: team for team in _teams()}
LEVELS: Sequence[tuple[str, str, GrantLevel]] = (
    ("granted", "ws-1", Level.WRITE),
    ("granted", "ws-2", Level.READ),
    ("secret", "ws-2", Level.WRITE),
    (Right.MANAGE_TEAMS, "ws-2", Level.READ),
    (Right.ACCESS_SECRET_TEAMS, "ws-1", Level.READ),
)
PROJECT_LEVELS: Sequence[tuple[str, str, GrantLevel]] = (
    ("granted", SHOP.id, Level.READ),
    ("bare", SHOP.id, Level.WRITE),
    ("secret", DEFAULT.id, Level.READ),
)
PROJECT_GRANTS = [
    ProjectGrant(f"{team}-{project}", "org-1", team, project, ProjectAccessType.CUSTOM, level)
    for team, project, level in PROJECT_LEVELS
]
GRANTS = [
    Grant(f"{team}-{space}", "org-1", team, space, AccessType.CUSTOM, level)
    for team, space, level in LEVELS
]
PEOPLE = [f"user-{n}" for n in range(6)]
HOLDERS = {
    Right.MANAGE_PROJECTS: {"user-3", "user-5"},
    "team-0": {"user-0"},
    Right.MANAGE_MEMBERSHIP: {"user-1"},
    Right.MANAGE_TEAMS: {"user-2", "user-3"},
    Right.MANAGE_WORKSPACES: {"user-3"},
    Right.ACCESS_SECRET_TEAMS: {"user-4"},
    Right.MANAGE_ORGANIZATION_ACCESS: {"user-4"},
}


class World:
    """An organization, as decisions find and change it."""

    def __init__(self, more: Mapping[str, str]) -> None:
        members = {id_: {*HOLDERS.get(id_, ())} for id_ in TEAMS}
        for person, team in more.items():
            members[team].add(person)
        self.place = Place(
            dict(TEAMS),
            {grant.id: grant for grant in GRANTS},
            members,
            project_grants={grant.id: grant for grant in PROJECT_GRANTS},
            projects=dict.fromkeys(SPACES, DEFAULT.id),
        )
        self.projects = {one.id: one for one in (DEFAULT, SHOP)}
        self.made = itertools.count()

    @property
    def spaces(self) -> Collection[str]:
        return self.place.projects

    def call(self, who: str, decide: Callable[..., Decision[Any]], *asked: object) -> bool:
        """Whether it was done."""
        kind = "team" if who in self.place.tokens else "user"
        id_ = self.place.tokens.get(who, who)
        found = Found(Caller(b"", "req-1", Actor(kind, id_, "at-1")), 7)
        found.streams |= {one: _stream(one) for one in ("org-1", *self.place.teams, *self.spaces)}
        while True:
            try:
                decision = decide(found, *asked)
            except Needs as missing:
                found.answers[missing.need] = self._answer(who, missing.need)
            except Refusal:
                return False
            else:
                for write in decision.writes:
                    self._write(write)
                return True

    def power(self, who: str) -> Power:
        return self.place.of_teams(self.place.teams_of(who))

    def _answer(self, who: str, need: Any) -> Any:
        power, its = self.power(who), frozenset(self.place.teams_of(who))
        match need:
            case needs.WhoCalls():
                return Actor("user", who)
            case needs.ToOrganization() | needs.ToOrganizationWithId():
                rights = ALL_RIGHTS if power.is_owner else power.rights
                stream = _stream("org-1")
                return OrganizationAccess(ACME, power.is_owner, True, its, rights, stream)
            case needs.ToTeam(id_):
                return self._to_team(who, power, its, id_)
            case needs.ToWorkspaceAt(str(id_)):
                workspace, key = Workspace(id_, id_, "org-1", "acme"), WrappedKey("o", 1, "", b"")
                there = WorkspaceAccess(workspace, power.level(id_), _stream(id_), key)
                return there if id_ in self.spaces else not_found()
            case needs.GrantWithId(id_):
                return self.place.grants.get(id_) or not_found()
            case needs.ProjectGrantWithId(id_):
                return self.place.project_grants.get(id_) or not_found()
            case needs.ToProject(id_):
                return self._to_project(who, id_)
        return self._rows(need)

    def _rows(self, need: Any) -> Any:
        match need:
            case needs.OrganizationWithId():
                return ACME
            case needs.TokensIssued("id", id_):
                return [IssuedToken(Token(str(id_), "team", "", 1, None, None), "")]
            case needs.DetailsOf(id_):
                project = self._record(id_).project_id
                return WorkspaceDetails(WorkspaceSettings(), None, 1, (), 0, Tags(), project)
            case _:
                return self._of_people(need)

    def _of_people(self, need: Any) -> Any:
        match need:
            case LinkedBy(team, _, ids):
                inside = self.place.members[team.team_id]
                known = [one for one in ids if one in PEOPLE]
                return [Linked(one, one, Status.ACTIVE, one in inside) for one in known]
            case needs.MembersOf(id_):
                return [replace(MEMBER, id=one) for one in sorted(self.place.members[id_])]
            case needs.MembershipsWithIds(ids):
                return [replace(MEMBER, id=one) for one in ids]
            case needs.UserWithId():
                return MEMBER.user
            case needs.LinkedTo(id_):
                return dict.fromkeys(LinkageType, sorted(self.place.members[id_]))
            case _:
                return self._of_projects(need)

    def _of_projects(self, need: Any) -> Any:
        match need:
            case needs.BindingsOf():
                return {}
            case needs.ProjectWithId():
                return DEFAULT
            case needs.WorkspacesIn(id_):
                return sum(one == id_ for one in self.place.projects.values())
            case needs.SetsIn():
                return 0
            case SetsOfProjects() | SetsAttached():
                return ()
            case needs.WorkspacesWithIds(_, ids):
                return [self._record(one) for one in ids if one in self.spaces]
            case _:
                assert isinstance(need, needs.TokensOf | needs.TagsWithIds | needs.TokenLimitsOf), (
                    need
                )
                return ()

    def _record(self, id_: str) -> WorkspaceRecord:
        project = self.place.projects[id_]
        named = None if project == DEFAULT.id else project
        return WorkspaceRecord(Workspace(id_, id_, "org-1", "acme"), project_id=named)

    def _to_project(self, who: str, id_: str) -> Any:
        """Whoever asks for one sees it."""
        if id_ not in self.projects:
            return not_found()
        owner = self._answer(who, needs.ToOrganizationWithId("org-1"))
        return ProjectAccess(self.projects[id_], owner, 0, 0)

    def _to_team(self, who: str, power: Power, its: frozenset[str], id_: str) -> Any:
        team = self.place.teams.get(id_)
        if team is None:
            return not_found()
        theirs = self.place.of_teams([id_]).levels
        lacks = any(level > power.level(space) for space, level in theirs.items())
        return TeamAccess(
            team=team,
            organization_name="acme",
            is_owner=power.is_owner,
            in_organization=True,
            in_team=id_ in its,
            rights=ALL_RIGHTS if power.is_owner else power.rights,
            lacks_grant=lacks,
            has_own_token=who in PEOPLE and id_ in its and team.members_manage_token,
            stream=_stream(id_),
        )

    def _write(self, write: Any) -> None:
        place = self.place
        match write:
            case PutMembers(team_id, "add", ids):
                place.members[team_id] |= set(ids)
            case PutMembers(team_id, _, ids):
                place.members[team_id] -= set(ids)
            case Insert(Team() as team) | Update(_, Team() as team):
                place.teams[team.id] = team
                place.members.setdefault(team.id, set())
            case Insert(Grant() as grant) | Update(_, Grant() as grant):
                place.grants[grant.id] = grant
            case Insert(HashedToken() as made):
                place.tokens[made.token.id] = made.token.owner_id
            case Insert(WorkspaceRecord() as record) | Update(_, WorkspaceRecord() as record):
                place.projects[record.workspace.id] = record.in_project
            case Delete(kind, ids):
                self._delete(kind, set(ids))
            case _:
                self._write_of_projects(write)

    def _write_of_projects(self, write: Any) -> None:
        match write:
            case Insert(Project() as project) | Update(_, Project() as project):
                self.projects[project.id] = project
            case Insert(ProjectGrant() as given_) | Update(_, ProjectGrant() as given_):
                self.place.project_grants[given_.id] = given_

    def _delete(self, kind: type, ids: set[str]) -> None:
        place = self.place
        for gone in ids if kind is WorkspaceRecord else ():
            del place.projects[gone]
        for gone in ids if kind is Project else ():
            del self.projects[gone]
        for gone in ids if kind is Team else ():
            del place.teams[gone], place.members[gone]
        place.tokens = {one: team for one, team in place.tokens.items() if team in place.teams}
        place.grants = {
            one.id: one
            for one in place.grants.values()
            if one.id not in ids and one.workspace_id in self.spaces and one.team_id in place.teams
        }
        place.project_grants = {
            each.id: each
            for each in place.project_grants.values()
            if each.id not in ids
            and each.project_id in self.projects
            and each.team_id in place.teams
        }


def _stream(id_: str) -> Stream:
    return Stream(id_, "org-1", 1, b"", b"")


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, Any]:
    """What is asked for: its name, and what makes it of a world."""
    team = draw(st.sampled_from([*TEAMS, "team-new-0", "team-new-1"]))
    person = draw(st.sampled_from(PEOPLE))
    space = draw(st.sampled_from([*SPACES, "ws-new-0"]))
    rights = draw(st.dictionaries(st.sampled_from(Right), st.booleans(), max_size=2))
    seen = draw(st.sampled_from([None, *map(str, Visibility)]))
    token = draw(st.sampled_from([None, True, False]))
    said = TeamDraft(visibility=seen, rights=rights, members_manage_token=token)
    grant = GrantDraft(
        team_id=team, workspace_id=space, access=draw(st.sampled_from(list(map(str, AccessType))))
    )
    project = draw(st.sampled_from([DEFAULT.id, SHOP.id, "prj-new-0"]))
    of_project = ProjectGrantDraft(
        team_id=team,
        project_id=project,
        access=draw(st.sampled_from(list(map(str, ProjectAccessType)))),
    )
    some_of_project = draw(st.sampled_from([one.id for one in PROJECT_GRANTS]))
    some_grant = draw(st.sampled_from([one.id for one in GRANTS]))

    def members(direction: Any) -> tuple[Any, ...]:
        draft = MembersDraft((person,))
        asked = MembersChange(needs.ToTeam(team), USERS, direction, draft, False)
        return teams.change_members, asked

    def made(world: World) -> str:
        return f"new-{next(world.made)}"

    name, make = draw(
        st.sampled_from(
            [
                ("join", lambda _: members("add")),
                ("join", lambda _: members("add")),
                ("leave", lambda _: members("remove")),
                (
                    "make team",
                    lambda world: (teams.create, "acme", _named(said), f"team-{made(world)}"),
                ),
                ("change team", lambda _: (teams.update, team, said)),
                ("delete team", lambda _: (teams.delete, team)),
                (
                    "make token",
                    lambda world: (
                        token_decisions.make,
                        OfTeam(team),
                        TokenDraft(),
                        token_decisions.Fresh(f"at-{made(world)}", "", b""),
                    ),
                ),
                ("grant", lambda world: (team_access.create, grant, f"tws-{made(world)}")),
                ("change grant", lambda _: (team_access.update, some_grant, grant)),
                (
                    "give a project",
                    lambda world: (
                        team_access.create_on_project,
                        of_project,
                        f"tprj-{made(world)}",
                    ),
                ),
                (
                    "give another",
                    lambda _: (team_access.update_on_project, some_of_project, of_project),
                ),
                ("move", lambda _: (projects.move, project, MoveDraft((space,)), TRUST)),
                ("move", lambda _: (projects.move, project, MoveDraft((space,)), TRUST)),
                (
                    "put",
                    lambda _: (
                        workspace_decisions.update,
                        space,
                        WorkspaceDraft(project_id=project),
                        TRUST,
                    ),
                ),
                (
                    "make project",
                    lambda world: (
                        projects.create,
                        "acme",
                        ProjectDraft(name="new"),
                        f"prj-{made(world)}",
                    ),
                ),
                ("delete project", lambda _: (projects.delete, project)),
                (
                    "make workspace",
                    lambda world: (
                        workspace_decisions.create,
                        "acme",
                        WorkspaceDraft(name="x", project_id=project),
                        f"ws-{made(world)}",
                    ),
                ),
            ]
        )
    )
    return name, make


def _named(draft: TeamDraft) -> TeamDraft:
    return TeamDraft(name="new", visibility=draft.visibility, rights=draft.rights)


MORE = st.dictionaries(st.sampled_from(PEOPLE[1:]), st.sampled_from(list(TEAMS)[1:]), max_size=3)


@given(
    more=MORE,
    asked=st.lists(st.tuples(st.integers(0, 23), calls()), min_size=1, max_size=20),
)
def test_nobody_gains_what_the_one_who_gave_it_did_not_have(
    more: dict[str, str], asked: list[tuple[int, tuple[str, Any]]]
) -> None:
    world = World(more)
    for number, (name, made) in asked:
        callers = [*PEOPLE, *world.place.tokens]
        who = callers[number % len(callers)]
        before, maker = world.place.powers(), world.power(who)
        world.call(who, *made(world))
        assert not gains(before, world.place.powers(), maker), (name, who, maker)
        made_tokens = world.place.tokens.keys() - before.keys()
        for token in made_tokens:
            # Managing membership makes no tokens.
            assert not world.power(token).beyond(maker), (name, who, maker)


@pytest.mark.parametrize(
    ("rights", "grant", "joins", "changes"),
    [
        ({Right.MANAGE_MEMBERSHIP}, Level.WRITE, True, False),
        ({Right.MANAGE_TEAMS}, Level.NONE, True, True),
        ({Right.MANAGE_TEAMS}, Level.READ, False, False),
        ({Right.MANAGE_TEAMS, Right.READ_WORKSPACES}, Level.READ, True, True),
        ({Right.MANAGE_TEAMS, Right.READ_WORKSPACES}, Level.WRITE, False, False),
        ({Right.MANAGE_ORGANIZATION_ACCESS, Right.MANAGE_WORKSPACES}, Level.WRITE, True, True),
        (set(), Level.NONE, False, False),
    ],
)
def test_what_gives_a_right_is_possible_with_it(
    rights: set[Right], grant: Any, joins: bool, changes: bool
) -> None:
    world = World({})
    for id_, its in (("mine", frozenset(rights)), ("target", frozenset[Right]())):
        world.place.teams[id_] = Team(id_, "org-1", id_, Visibility.ORGANIZATION, its, False)
        world.place.members[id_] = set()
    world.place.members["mine"].add("user-5")
    given_ = Grant("tws-1", "org-1", "target", "ws-1", AccessType.CUSTOM, grant)
    world.place.grants = {"tws-1": given_}
    into = MembersChange(needs.ToTeam("target"), USERS, "add", MembersDraft(("user-5",)), False)
    fresh = token_decisions.Fresh("at-new", "", b"")
    assert (
        world.call("user-5", token_decisions.make, OfTeam("target"), TokenDraft(), fresh) is changes
    )
    assert world.call("user-5", teams.change_members, into) is joins
    renamed = TeamDraft(name="renamed")
    world.place.members["target"].clear()
    assert world.call("user-5", teams.update, "target", renamed) is changes
    given_rights = TeamDraft(rights={Right.READ_PROJECTS: True})
    assert world.call("user-5", teams.update, "target", given_rights) is False
    assert world.call("user-0", teams.update, "target", given_rights) is True
