"""Access: one statement says who calls, what the caller may do, and where the stream stands.

Tokens, memberships and grants are read on every request and trusted for none but that one.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from teamvars.domain.access import (
    Caller,
    Level,
    OrganizationAccess,
    Place,
    ProjectAccess,
    SetAccess,
    Sight,
    TeamAccess,
    VariablesAccess,
    WorkspaceAccess,
    WrappedKey,
)
from teamvars.domain.audit import Actor, Stream
from teamvars.domain.errors import NO_VALID_TOKEN, Refusal, not_found, storage_unavailable
from teamvars.domain.projects import Project
from teamvars.domain.teams import ALL_RIGHTS, Rights, whole
from teamvars.domain.variable_sets import VariableSet
from teamvars.domain.workspaces import Usage, Workspace
from teamvars.storage import projects, teams, workspaces
from teamvars.storage.access_statements import (
    AUTHENTICATE,
    BITS,
    FIND_ACTING_TEAMS,
    FIND_SIGHT,
    READ_ORGANIZATION,
    READ_SET,
    READ_TEAM,
    READ_WORKSPACE,
    READ_WORKSPACE_AND_SETS,
    READ_WORKSPACE_BY_NAME,
    TeamRight,
)
from teamvars.storage.database import Lookup, Row, Transaction
from teamvars.storage.organizations import to_organization
from teamvars.storage.teams import RIGHTS, given

A = TypeVar("A", bound=VariablesAccess[Any])

_MAX_ATTEMPTS = 8
"""Each further attempt means that somebody changed the subject during the one before."""


async def authenticate(tx: Transaction, caller: Caller, now: int) -> None:
    """Finds out who calls. Refuses: unauthenticated."""
    identify(caller, await tx.look_up(AUTHENTICATE, caller.token_hash, now))


async def workspace(
    tx: Transaction, caller: Caller, now: int, workspace_id: str, *, lock: bool = False
) -> WorkspaceAccess:
    """What the caller may do in a workspace. Refuses: unauthenticated, not found; with `lock` also
    storage_unavailable, when the workspace changes again and again while it is waited for.

    With `lock`, if the caller may write variables, the workspace's stream is locked, and is as of
    then. On PostgreSQL all else, rights and names too, is of the snapshot of the statement, which
    begins before it waits for the lock. Nothing is locked for who may not.
    """
    args = caller.token_hash, now, workspace_id
    if not lock:
        return to_workspace(caller, await tx.look_up(READ_WORKSPACE, *args))
    return await _locked(tx, READ_WORKSPACE, args, partial(to_workspace, caller))


async def workspace_and_sets(
    tx: Transaction, caller: Caller, now: int, workspace_id: str
) -> tuple[WorkspaceAccess, bytes]:
    """As `workspace`; and the heads of the sets that reach it, as `effective.head_of` has them."""
    row = await tx.look_up(READ_WORKSPACE_AND_SETS, caller.token_hash, now, workspace_id)
    if row is None:
        raise Refusal(NO_VALID_TOKEN)
    heads, *found = row
    return to_workspace(caller, found), heads or b""


async def variable_set(
    tx: Transaction, caller: Caller, now: int, set_id: str, *, lock: bool = False
) -> SetAccess:
    """What the caller may do with a set. Refuses and locks as `workspace`."""
    args = caller.token_hash, now, set_id
    if not lock:
        return to_set(caller, await tx.look_up(READ_SET, *args))
    return await _locked(tx, READ_SET, args, partial(to_set, caller))


async def _locked(
    tx: Transaction, lookup: Lookup, args: tuple[object, ...], build: Callable[[Row | None], A]
) -> A:
    for _ in range(_MAX_ATTEMPTS):
        ((row, is_held),) = await tx.lock_each(lookup, [args])
        granted = build(row)
        if is_held or not granted.may_change:
            return granted
    raise storage_unavailable()


async def workspace_by_name(
    tx: Transaction, caller: Caller, now: int, organization: str, name: str
) -> WorkspaceAccess:
    """As `workspace`, by folded names."""
    row = await tx.look_up(READ_WORKSPACE_BY_NAME, caller.token_hash, now, organization, name)
    return to_workspace(caller, row)


async def organization(
    tx: Transaction, caller: Caller, now: int, which: str, by: str = READ_ORGANIZATION
) -> OrganizationAccess:
    """What the caller may do with an organization, by its id, or by its folded name with
    READ_ORGANIZATION_BY_NAME. Refuses: unauthenticated, not found.
    """
    row = identify(caller, await tx.fetch_one(by, caller.token_hash, now, which))
    id_, title = row[:2]
    is_owner, is_member, *place = row[6:]
    stream = _stream(id_, place)
    caller.place = Place(id_, title)
    acting: Sequence[Row] = ()
    # Who sees nothing of it waits for no more than if it were not there.
    if is_owner or is_member:
        caller.organization_id = id_
        rows = await tx.fetch(FIND_ACTING_TEAMS, caller.token_hash, now, id_)
        if not rows:  # the token has ended meanwhile
            raise Refusal(NO_VALID_TOKEN)
        acting = [row for row in rows if row[0] is not None]
    return OrganizationAccess(
        organization=to_organization(row[:6]),
        is_owner=bool(is_owner),
        is_member=bool(is_member),
        team_ids=frozenset(row[0] for row in acting),
        rights=ALL_RIGHTS if is_owner else whole(chain(*(given(row[1:]) for row in acting))),
        stream=stream,
    )


async def sight(tx: Transaction, caller: Caller, now: int) -> Sight:
    """What the caller sees wherever they are a member. Refuses: unauthenticated."""
    rows = await tx.fetch(FIND_SIGHT, caller.token_hash, now)
    found = [identify(caller, row) for row in rows] or [identify(caller, None)]
    acting = [row for row in found if row[0] is not None]
    assert caller.actor is not None
    rights: dict[str, Rights] = {}
    owned = {caller.actor.id} if caller.actor.kind == "organization" else set[str]()
    for _, organization_id, is_owners, *flags in acting:
        rights[organization_id] = whole(given(flags)) | rights.get(organization_id, frozenset())
        owned |= {organization_id} if is_owners else set()
    rights |= dict.fromkeys(owned, ALL_RIGHTS)
    return Sight(rights, frozenset(owned), frozenset(row[0] for row in acting))


async def team(tx: Transaction, caller: Caller, now: int, team_id: str) -> TeamAccess:
    """What the caller may do with a team. Refuses: unauthenticated, not found."""
    return to_team(caller, await tx.look_up(READ_TEAM, caller.token_hash, now, team_id))


async def project(tx: Transaction, caller: Caller, now: int, project_id: str) -> ProjectAccess:
    """What the caller may do with a project that they see. Refuses: unauthenticated, not found."""
    await authenticate(tx, caller, now)
    found = await projects.get(tx, project_id)
    owner = await organization(tx, caller, now, found.organization_id)
    if not await projects.sees(tx, owner, found.id):
        raise not_found()
    (view,) = await projects.views(tx, owner, [found])
    return view


async def projects_seen(
    tx: Transaction, caller: Caller, now: int, organization_id: str, project_ids: Collection[str]
) -> list[Project]:
    """Those of some projects of an organization that the caller sees. Refuses: unauthenticated, not
    found.
    """
    owner = await organization(tx, caller, now, organization_id)
    return await projects.seen_among(tx, owner, project_ids)


async def workspaces_seen(
    tx: Transaction, caller: Caller, now: int, organization_id: str, workspace_ids: Collection[str]
) -> set[str]:
    """The ids of those of some workspaces of an organization that the caller sees. Refuses:
    unauthenticated, not found.
    """
    owner = await organization(tx, caller, now, organization_id)
    return await workspaces.seen_among(tx, owner, workspace_ids)


def to_team(caller: Caller, found: Row | None) -> TeamAccess:
    """What a row of READ_TEAM says. Refuses: unauthenticated, not found."""
    id_, name, organization_id, organization, *its, bits = identify(caller, found)
    _, _, members_manage_token, *_ = its
    stream = _stream(organization_id, its[4 + len(RIGHTS) :])
    caller.place = Place(organization_id, organization, team_id=id_, team=name)
    is_owner = bool(bits & TeamRight.OWNER)
    in_organization = bool(bits & TeamRight.IN_ORGANIZATION)
    in_team = bool(bits & TeamRight.IN_TEAM)
    if is_owner or in_organization:
        caller.organization_id = organization_id
    return TeamAccess(
        team=teams.to_team((id_, organization_id, name, *its[: 4 + len(RIGHTS)])),
        organization_name=organization,
        is_owner=is_owner,
        in_organization=in_organization,
        in_team=in_team,
        rights=ALL_RIGHTS if is_owner else whole(one for one in BITS if bits & BITS[one]),
        lacks_grant=bool(bits & TeamRight.LACKS_GRANT),
        # By its users alone: a team's own token makes no others.
        has_own_token=bool(members_manage_token and in_team and caller.user_id is not None),
        stream=stream,
    )


def identify(caller: Caller, row: Row | None) -> Row:
    """Notes whose token the caller has, by a row that begins with the columns of a caller, and
    returns the others. Refuses: unauthenticated, where there is no row.
    """
    if row is None:
        caller.actor = None  # what an earlier look-up has found, or was expected to find, is over
        raise Refusal(NO_VALID_TOKEN)
    token_id, user_id, team_id, organization_id, reach = row[:5]
    caller.reach = reach_of(reach)
    if user_id is not None:
        caller.actor = Actor("user", user_id, token_id)
    elif team_id is not None:
        caller.actor = Actor("team", team_id, token_id)
    else:
        assert organization_id is not None  # CHECK of the table
        caller.actor = Actor("organization", organization_id, token_id)
    return row[5:]


def reach_of(column: str | None) -> frozenset[str] | None:
    """The organizations in which a token has rights; None: wherever its user has."""
    return None if column is None else frozenset(column.split())


def to_workspace(caller: Caller, found: Row | None) -> WorkspaceAccess:
    """What a row of READ_WORKSPACE says. Refuses: unauthenticated, not found."""
    id_, name, organization_id, organization, *its, level = identify(caller, found)
    version, master_key_id, wrapped, *place = its
    stream = _stream(organization_id, place)
    caller.place = Place(organization_id, organization, id_, name)
    if level > Level.NONE:
        caller.organization_id = organization_id
    return WorkspaceAccess(
        owner=Workspace(id_, name, organization_id, organization),
        level=Level(level),
        key=WrappedKey(organization_id, version, master_key_id, wrapped),
        stream=stream,
    )


def to_set(caller: Caller, found: Row | None) -> SetAccess:
    """What a row of READ_SET says. Refuses: unauthenticated, not found."""
    row = identify(caller, found)
    organization_id, organization, version, master_key_id, wrapped, *place, level = row[7:]
    stream = _stream(organization_id, place)
    caller.place = Place(organization_id, organization)
    if level > Level.NONE:
        caller.organization_id = organization_id
    return SetAccess(
        owner=set_of(row[:7], organization_id, organization),
        level=Level(level),
        key=WrappedKey(organization_id, version, master_key_id, wrapped),
        stream=stream,
    )


def set_of(row: Row, organization_id: str, organization: str) -> VariableSet:
    """The set of the columns SET_COLUMNS."""
    id_, name, description, scope, priority, *rest = row
    flags = scope == organization_id, bool(priority)
    return VariableSet(id_, name, organization_id, organization, description, *flags, *rest)


def _stream(organization_id: str, place: Row) -> Stream:
    """The stream that a row ends with. Refuses: not found, where there is no such subject."""
    id_, sequence, link, head, variables, value_bytes = place
    if id_ is None:
        raise not_found()
    return Stream(id_, organization_id, sequence, link, head, Usage(variables, value_bytes))
