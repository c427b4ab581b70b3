"""What SQL finds of a caller's rights is what the table of rights says (contract §6).

Every kind of caller is asked about every team, workspace and organization, each alone and all at
once, and has locked what they may change. What is expected follows from a few facts about them,
without any SQL.
"""

import itertools
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from teamvars.domain.access import (
    Caller,
    Level,
    Permission,
    TeamAccess,
    WorkspaceAccess,
    WrappedKey,
)
from teamvars.domain.audit import HeldStream
from teamvars.domain.errors import Refusal
from teamvars.domain.keys import MASTER, NotedKey
from teamvars.domain.memberships import Membership, Status
from teamvars.domain.organizations import Founded, Organization
from teamvars.domain.project_grants import ProjectAccessType, ProjectGrant
from teamvars.domain.projects import Project, default_project, default_project_of
from teamvars.domain.team_access import AccessType, Grant, GrantLevel
from teamvars.domain.teams import Right, Rights, Team, Visibility
from teamvars.domain.tokens import HashedToken, Token
from teamvars.domain.users import User
from teamvars.domain.workspaces import Usage, Workspace, WorkspaceRecord
from teamvars.storage import access, access_by_name, keys, memberships, streams, tables
from teamvars.storage.access_statements import (
    READ_ORGANIZATION_BY_NAME,
    READ_TEAM,
    READ_WORKSPACE,
    TeamRight,
)
from teamvars.storage.database import Database, Lookup, Row, Transaction
from teamvars.web.http.errors import STATUS
from tests.storage.stores import batched, bring_up, fresh_postgres, fresh_sqlite, opened
from tests.support.postgres import Postgres
from tests.test_documents import ROOT

NOW = 1_000
OURS, THEIRS, MISSING = "ours", "theirs", "missing"
ORGANIZATIONS = (OURS, THEIRS)
WORKSPACES = {"granted": OURS, "bare": OURS, "granted-there": THEIRS}
GRANTS: Mapping[str, GrantLevel | None] = {
    "": None,
    "-none": Level.NONE,
    "-read": Level.READ,
    "-write": Level.WRITE,
}


SHOP, DEFAULT = "prj-shop", default_project_of(OURS)
PROJECTS = {"granted": SHOP, "bare": DEFAULT}
"""Those of our workspaces."""
BY_PROJECT: Mapping[str, tuple[str, GrantLevel]] = {
    "shop-none": (SHOP, Level.NONE),
    "shop-read": (SHOP, Level.READ),
    "shop-write": (SHOP, Level.WRITE),
    "default-read": (DEFAULT, Level.READ),
    "read-shop-write": (SHOP, Level.WRITE),
    "write-shop-read": (SHOP, Level.READ),
}
"""Teams with a grant on a project, some of which have one on `granted` as well."""

MANAGES = frozenset({Right.MANAGE_MEMBERSHIP})


def teams() -> Iterator[tuple[Team, GrantLevel | None]]:
    """Teams with all flags there are and every grant on the organization's `granted` workspace."""
    for organization in ORGANIZATIONS:
        name = f"{organization}-owners"
        yield Team(name, organization, name, Visibility.ORGANIZATION, frozenset(), True), None
    for seen, manages, tokens in itertools.product(Visibility, (False, True), (False, True)):
        flags = f"{seen}{'-manages' * manages}{'-tokens' * tokens}"
        for grant, level in GRANTS.items():
            name = flags + grant
            rights = MANAGES if manages else frozenset[Right]()
            yield Team(name, OURS, name, seen, rights, False, tokens), level
    for seen, right in itertools.product(Visibility, (one for one in Right if one not in MANAGES)):
        name = f"{seen}-{right}"
        yield Team(name, OURS, name, seen, frozenset({right}), False), None
    for name in BY_PROJECT:
        alone = GRANTS[f"-{name.partition('-')[0]}"] if "-shop-" in name else None
        yield Team(name, OURS, name, Visibility.ORGANIZATION, frozenset(), False), alone
    yield Team("there", THEIRS, "there", Visibility.ORGANIZATION, MANAGES, False), Level.WRITE


TEAMS = {team.id: (team, level) for team, level in teams()}


class Person(NamedTuple):
    """A user, invited to organizations or in them, and to or in teams there."""

    name: str
    organizations: Sequence[str] = ()
    teams: Sequence[str] = ()
    is_invited: bool = False
    is_disabled: bool = False
    is_site_admin: bool = False


def people() -> Iterator[Person]:
    yield Person("stranger")
    yield Person("site-admin", is_site_admin=True)
    yield Person("member", [OURS])
    yield Person("invited", [OURS], is_invited=True)
    yield Person("of-both", ORGANIZATIONS, ["organization-read", f"{THEIRS}-owners"])
    for team, _ in TEAMS.values():
        inside = [team.organization_id]
        yield Person(f"in {team.id}", inside, [team.id])
        yield Person(f"invited to {team.id}", inside, [team.id], is_invited=True)
        yield Person(f"disabled in {team.id}", inside, [team.id], is_disabled=True)
    ours = [one for one, _ in TEAMS.values() if one.organization_id == OURS]
    plain = [one for one in ours if one.rights <= MANAGES]
    for two in itertools.combinations((one.id for one in plain if not one.members_manage_token), 2):
        yield Person(f"in {' and '.join(two)}", [OURS], two)
    given = [one.id for one in ours if one not in plain and not one.is_secret]
    granted = "organization-read", "organization-write", "secret", "shop-write", "default-read"
    for more in itertools.product(given, granted):
        yield Person(f"in {' and '.join(more)}", [OURS], more)
    for more in itertools.combinations(given, 2):
        yield Person(f"in {' and '.join(more)}", [OURS], more)
    yield Person("of all", [OURS], given)


PEOPLE = tuple(people())


class Who(NamedTuple):
    """A caller: the organization whose token it is, those it is inside, the teams whose rights it
    has. One that is not known has a token that is wrong, or of no use any more.
    """

    name: str
    owner_of: str | None = None
    inside: Sequence[str] = ()
    teams: Sequence[str] = ()
    is_user: bool = False
    is_known: bool = True

    @property
    def asking(self) -> Caller:
        return Caller(self.name.encode(), "req-1")

    def owns(self, organization: str) -> bool:
        return organization == self.owner_of or f"{organization}-owners" in self.teams

    def sees(self, organization: str) -> bool:
        return self.owns(organization) or organization in self.inside

    def rights_in(self, organization: str) -> Rights:
        if self.owns(organization):
            return frozenset(Right)
        its = (TEAMS[id_][0] for id_ in self.teams)
        given = {
            right for one in its if one.organization_id == organization for right in one.rights
        }
        for right, included in (
            (Right.MANAGE_WORKSPACES, Right.READ_WORKSPACES),
            (Right.MANAGE_PROJECTS, Right.READ_PROJECTS),
            (Right.MANAGE_ORGANIZATION_ACCESS, Right.MANAGE_TEAMS),
        ):
            given |= {included} if right in given else set()
        return frozenset(given)


def callers() -> Iterator[Who]:
    for one in PEOPLE:
        inside, its = ((), ()) if one.is_invited else (one.organizations, one.teams)
        yield Who(one.name, None, inside, its, is_user=True, is_known=not one.is_disabled)
    for team, _ in TEAMS.values():
        yield Who(f"token of {team.id}", None, [team.organization_id], [team.id])
    for organization in ORGANIZATIONS:
        yield Who(f"token of {organization}", organization)
    yield Who("expired", is_known=False)
    yield Who("unknown", is_known=False)


CALLERS = tuple(callers())


async def fill(tx: Transaction) -> None:
    """Writes all of them, and the tokens they call with."""
    await keys.insert(tx, NotedKey("master", MASTER, b"check", NOW, NOW))
    system = [*((id_, id_) for id_ in ORGANIZATIONS), *WORKSPACES.items()]
    system += [(id_, team.organization_id) for id_, (team, _) in TEAMS.items()]
    await streams.insert(tx, *(HeldStream(id_, of, 0, b"", b"", Usage()) for id_, of in system))
    for record in records():
        statement = tables.inserting(record, NOW)
        await tx.execute(statement.sql, *statement.args)
    for one in PEOPLE:
        for team in one.teams:
            belonging = f"{one.name} of {TEAMS[team][0].organization_id}"
            statement = memberships.putting(team, [belonging], adds=True)
            await tx.execute(statement.sql, *statement.args)


def records() -> Iterator[tables.Record]:
    for id_ in ORGANIZATIONS:
        yield Founded(Organization(id_, id_, None, NOW), 1)
        yield WrappedKey(id_, 1, "master", b"wrapped")
        yield token(f"token of {id_}", "organization", id_)
        yield default_project(id_, NOW)
    yield Project(SHOP, OURS, "shop", NOW)
    for id_, of in WORKSPACES.items():
        project = None if PROJECTS.get(id_) == DEFAULT else PROJECTS.get(id_)
        yield WorkspaceRecord(Workspace(id_, id_, of, of), project_id=project)
    for team, level in TEAMS.values():
        yield team
        yield token(f"token of {team.id}", "team", team.id)
        if level is not None:
            place = "granted" if team.organization_id == OURS else "granted-there"
            organization = team.organization_id
            yield Grant(team.id, organization, team.id, place, AccessType.CUSTOM, level)
    for team_id, (project, level) in BY_PROJECT.items():
        yield ProjectGrant(team_id, OURS, team_id, project, ProjectAccessType.CUSTOM, level)
    for one in PEOPLE:
        user = User(
            one.name, one.name, None, one.is_site_admin, placeholder=False, disabled=one.is_disabled
        )
        yield user
        yield token(one.name, "user", one.name)
        status = Status.INVITED if one.is_invited else Status.ACTIVE
        for of in one.organizations:
            yield Membership(f"{one.name} of {of}", of, of, user, status, NOW)
    yield token("expired", "user", f"in {OURS}-owners", expires_at=NOW)


def token(name: str, kind: str, owner: str, expires_at: int | None = None) -> HashedToken:
    return HashedToken(Token(name, kind, owner, NOW, expires_at, None), name.encode())


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "sqlite":
        yield fresh_sqlite(Path(tmp_path_factory.mktemp("rights")))
        return
    server: Postgres = request.getfixturevalue("postgres")
    with fresh_postgres(server) as url:
        yield url


@pytest.fixture(scope="module")
async def database(url: str) -> AsyncIterator[Database]:
    async with opened(url) as database:
        await bring_up(database)
        await database.write(fill)
        yield database


def answers(*asked: Callable[[], object]) -> tuple[str, ...]:
    """Each by its status, or `yes`."""
    return tuple(_answer(one) for one in asked)


def _answer(ask: Callable[[], object]) -> str:
    try:
        ask()
    except Refusal as refusal:
        return str(STATUS[refusal.kind])
    return "yes"


def one_of(who: Who, *, seen: bool, may: Sequence[bool]) -> tuple[str, ...]:
    """What is answered to who sees something, or not, and may do some of it."""
    if not who.is_known or not seen:
        return ("404" if who.is_known else "401",) * (1 + len(may))
    return ("yes", *("yes" if one else "403" for one in may))


def of_team(who: Who, team_id: str) -> tuple[str, ...]:
    """Whether they may see a team; and its changes, change its members, manage its token."""
    if team_id not in TEAMS:
        return one_of(who, seen=False, may=(False,) * 4)
    team, level = TEAMS[team_id]
    owns, rights = who.owns(team.organization_id), who.rights_in(team.organization_id)
    inside, within = team.organization_id in who.inside, team_id in who.teams
    shown = within or not team.is_secret or Right.ACCESS_SECRET_TEAMS in rights
    seen = owns or (inside and shown)
    granted = GRANTED[team.organization_id]
    project, beside = BY_PROJECT.get(team_id, (SHOP, Level.NONE))
    may_as_much = (level or Level.NONE) <= level_on(who, granted)
    may_as_much = may_as_much and beside <= level_in(who, project)
    reaches = seen and not team.is_owners and team.rights <= rights
    manages = owns or (reaches and Right.MANAGE_TEAMS in rights and may_as_much)
    return one_of(
        who,
        seen=seen,
        may=(
            Right.MANAGE_MEMBERSHIP in rights,
            manages or (reaches and Right.MANAGE_MEMBERSHIP in rights),
            manages or (who.is_user and within and team.members_manage_token),
            manages,
        ),
    )


GRANTED = {OURS: "granted", THEIRS: "granted-there"}


def level_on(who: Who, workspace_id: str) -> Level:
    if workspace_id not in WORKSPACES or not who.is_known:
        return Level.NONE
    if who.owns(WORKSPACES[workspace_id]):
        return Level.OWNER
    rights = who.rights_in(WORKSPACES[workspace_id])
    if Right.MANAGE_WORKSPACES in rights:
        return Level.MANAGE
    its = (TEAMS[id_] for id_ in who.teams)
    on = [level or Level.NONE for one, level in its if GRANTED[one.organization_id] == workspace_id]
    project, reads = PROJECTS.get(workspace_id), Level(Right.READ_WORKSPACES in rights)
    by_project = Level.NONE if project is None else level_in(who, project)
    return max(*on, by_project, reads, Level.NONE, key=int)


def level_in(who: Who, project_id: str) -> Level:
    """In all workspaces of one of our projects."""
    rights = who.rights_in(OURS)
    if Right.MANAGE_WORKSPACES in rights:
        return Level.MANAGE
    its = [BY_PROJECT[id_] for id_ in who.teams if id_ in BY_PROJECT]
    levels = [level for project, level in its if project == project_id]
    return max(*levels, Level(Right.READ_WORKSPACES in rights), Level.NONE, key=int)


def of_workspace(who: Who, workspace_id: str) -> tuple[str, ...]:
    """Whether they may read its variables; and write them, manage it, see who has access."""
    level = level_on(who, workspace_id)
    may = level >= Level.WRITE, level >= Level.MANAGE, level >= Level.OWNER
    return one_of(who, seen=level >= Level.READ, may=may)


def found_team(who: Who, row: Row | None) -> tuple[str, ...]:
    caller = who.asking

    def found() -> TeamAccess:
        return access.to_team(caller, row)

    told = answers(
        lambda: found().require_visible(),
        lambda: found().require_see_changes(),
        lambda: found().require_manage_membership(),
        lambda: found().require_manage_token(),
        lambda: found().require_manage(),
    )
    assert_noted(who, caller, who.sees)
    return told


def found_workspace(who: Who, row: Row | None) -> tuple[str, ...]:
    caller = who.asking

    def found() -> WorkspaceAccess:
        return access.to_workspace(caller, row)

    told = answers(*(lambda one=one: found().require(one) for one in Permission))
    assert_noted(who, caller, lambda _: told[0] == "yes")
    return told


def assert_noted(who: Who, caller: Caller, sees: Callable[[str], bool]) -> None:
    """Whose token it is, and whose limits a request counts against: those of an organization of
    which the caller sees something.
    """
    kind = "user" if who.is_user else "organization" if who.owner_of else "team"
    assert (caller.actor and caller.actor.kind) == (kind if who.is_known else None), who
    of = None if caller.place is None else caller.place.organization_id
    assert caller.organization_id == (of if of is not None and sees(of) else None), who


Words = Callable[[Who, str], tuple[str, ...]]
Found = Callable[[Who, Row | None], tuple[str, ...]]
# Of each kind also which of the answers is about changing it, and from which number of SQL on.
SUBJECTS: Mapping[str, tuple[Lookup, Sequence[str], Words, Found, int, int]] = {
    "teams": (READ_TEAM, (*TEAMS, MISSING), of_team, found_team, 2, TeamRight.CHANGES_MEMBERS),
    "workspaces": (
        READ_WORKSPACE,
        (*WORKSPACES, MISSING),
        of_workspace,
        found_workspace,
        1,
        Level.WRITE,
    ),
}


@pytest.mark.parametrize("kind", SUBJECTS)
async def test_oursand_workspaces_are_open_to_whom_the_table_says(
    database: Database, kind: str
) -> None:
    lookup, subjects, expected, found, change, least = SUBJECTS[kind]
    asked = list(itertools.product(CALLERS, subjects))
    calls = [(who.name.encode(), NOW, subject) for who, subject in asked]
    one_by_one = await database.read(lambda tx: tx.look_up_each(lookup, calls))
    at_once = await batched(database, lambda tx: tx.look_up_each(lookup, calls))
    locking = await batched(database, lambda tx: tx.lock_each(lookup, calls))
    for place, alone, together, (row, _) in zip(asked, one_by_one, at_once, locking, strict=True):
        assert found(place[0], row) == expected(*place), place
        assert [*alone] == [*together] == ([] if row is None else [row]), place
    one_writer = await batched(database, _has_one_writer)
    for place, (row, is_held) in zip(asked, locking, strict=True):
        may_change = expected(*place)[change] == "yes"
        assert (row is not None and (row[-1] or 0) >= least) is may_change, place
        assert is_held is (True if one_writer or may_change else None), place


async def _has_one_writer(tx: Transaction) -> bool:
    return tx.has_one_writer


async def test_workspaces_by_name_are_open_to_the_same(database: Database) -> None:
    async def body(tx: Transaction) -> None:
        for who, (workspace, of) in itertools.product(CALLERS, WORKSPACES.items()):
            if who.is_known:
                found = await access.workspace_by_name(tx, who.asking, NOW, of, workspace)
                assert found.level == level_on(who, workspace), (who, workspace)
            else:
                refused = access_by_name.workspace(tx, who.asking, NOW, of, workspace)
                assert await answer(refused) == "401", (who, workspace)

    await database.read(body)


async def test_organizations_are_open_to_whom_the_table_says(database: Database) -> None:
    async def body(tx: Transaction) -> None:
        for who, of in itertools.product(CALLERS, ORGANIZATIONS):
            if not who.is_known:
                refused = access_by_name.organization(tx, who.asking, NOW, of)
                assert await answer(refused) == "401", who
                continue
            caller = who.asking
            granted = await access.organization(tx, caller, NOW, of)
            assert_noted(who, caller, who.sees)
            named = await access.organization(tx, who.asking, NOW, of, READ_ORGANIZATION_BY_NAME)
            assert named == granted
            wanted = one_of(who, seen=who.sees(of), may=(who.owns(of),))
            assert answers(granted.require_visible, granted.require_owner) == wanted, (who, of)
            assert granted.team_ids == its_teams(who, of), (who, of)
            assert granted.rights == who.rights_in(of), (who, of)

    await database.read(body)


async def test_a_search_goes_through_the_workspaces_that_may_be_read(database: Database) -> None:
    async def body(tx: Transaction) -> None:
        for who, of in itertools.product(CALLERS, ORGANIZATIONS):
            may_read = {
                name
                for name, its in WORKSPACES.items()
                if its == of and level_on(who, name) >= Level.READ
            }
            caller = who.asking
            asking = access_by_name.search(tx, caller, NOW, of, None)
            if (wanted := who_sees(who, of)) != "yes":
                assert await answer(asking) == wanted, (who, of)
                assert_noted(who, caller, who.sees)
                continue
            granted = await asking
            assert_noted(who, caller, who.sees)
            assert granted.reads_all == (Right.READ_WORKSPACES in who.rights_in(of)), (who, of)
            listed = None if granted.reads_all else tuple(sorted(may_read))
            assert granted.workspace_ids == listed, (who, of)
            for name in WORKSPACES:
                one = await access_by_name.search(tx, who.asking, NOW, of, name)
                assert {*(one.workspace_ids or ())} == may_read & {name}, (who, of, name)

    await database.read(body)


def its_teams(who: Who, organization: str) -> frozenset[str]:
    return frozenset(id_ for id_ in who.teams if TEAMS[id_][0].organization_id == organization)


def who_sees(who: Who, organization: str) -> str:
    return one_of(who, seen=who.sees(organization), may=())[0]


async def answer(asking: Awaitable[object]) -> str:
    try:
        await asking
    except Refusal as refusal:
        return str(STATUS[refusal.kind])
    return "yes"


# Who the rows of the contract speak of. The team whose members are changed is one that all see.
ROWS: Mapping[str, Sequence[str]] = {
    "no or bad token": ("unknown", "expired", f"disabled in {OURS}-owners"),
    "of another organization, or not accepted yet": (
        "stranger",
        "site-admin",
        "invited",
        "invited to organization-write",
        f"in {THEIRS}-owners",
        f"token of {THEIRS}",
    ),
    "member without a grant on the workspace": ("member", "in organization", "token of secret"),
    "grant `read`": ("in organization-read", "token of secret-read", "of-both"),
    "grant `write`, which includes `read`": ("in organization-write", "token of secret-write"),
    "team with `manage-membership`": (
        "in organization-manages",
        "in organization-manages-read",
        "token of organization-manages-write",
    ),
    "owners": (f"in {OURS}-owners", f"token of {OURS}-owners", f"token of {OURS}"),
}
TABLE = re.compile(r"^\| caller \| read variables \|.*\n\|[-|]*\n((?:\|.*\n)*)", re.MULTILINE)


def test_the_table_is_that_of_the_contract() -> None:
    found = TABLE.search((ROOT / "docs" / "contract.md").read_text())
    assert found is not None
    told = [[cell.strip() for cell in row.strip("|").split("|")] for row in found[1].splitlines()]
    assert [row[0] for row in told] == [*ROWS]
    named = {who.name: who for who in CALLERS}
    for kind, *cells in told:
        for who in (named[name] for name in ROWS[kind]):
            read, write, *_ = of_workspace(who, "granted")
            members = of_team(who, "organization-tokens")[2]
            if members == "yes" != of_team(who, f"{OURS}-owners")[2]:
                members = "yes, but of `owners` 403"
            by_grant = cells[0] == "by grant"
            assert [*cells] == [*(["by grant"] * 2 if by_grant else [read, write]), members], who
