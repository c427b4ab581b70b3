"""Access: one statement says who calls, what the caller may do, and where the stream stands.

Tokens, memberships and grants are read on every request and trusted for none but that one.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

from teamvars.domain.access import (
    Caller,
    Level,
    OrganizationAccess,
    Place,
    TeamAccess,
    WorkspaceAccess,
    WrappedKey,
)
from teamvars.domain.audit import Actor, Stream
from teamvars.domain.errors import not_found, storage_unavailable, unauthenticated
from teamvars.domain.names import fold
from teamvars.domain.organizations import Organization
from teamvars.domain.teams import Team, Visibility
from teamvars.domain.workspaces import Usage, Workspace
from teamvars.storage.access_statements import (
    AUTHENTICATE,
    FIND_ACTING_TEAMS,
    LOCK_ORGANIZATION,
    LOCK_TEAM,
    LOCK_WORKSPACE,
    READ_ORGANIZATION,
    READ_TEAM,
    READ_WORKSPACE,
    READ_WORKSPACE_BY_NAME,
    TeamRight,
)
from teamvars.storage.database import Row, Transaction


class CallerRow(NamedTuple):
    """Whose token it is: one of the last three is not None."""

    token_id: str
    user_id: str | None
    token_team_id: str | None
    token_organization_id: str | None


class WorkspaceRow(NamedTuple):
    """A row of READ_WORKSPACE or LOCK_WORKSPACE. All but the caller is None when there is no such
    workspace; `unlocked_sequence` is LOCK_WORKSPACE's alone.
    """

    token_id: str
    user_id: str | None
    token_team_id: str | None
    token_organization_id: str | None
    workspace_id: str
    workspace_name: str
    organization_id: str
    organization_name: str
    key_version: int
    master_key_id: str
    wrapped_key: bytes
    stream_id: str | None
    sequence: int
    link: bytes
    head: bytes
    variables: int
    value_bytes: int
    level: int
    unlocked_sequence: int | None = None


class OrganizationRow(NamedTuple):
    """A row of READ_ORGANIZATION or LOCK_ORGANIZATION; as `WorkspaceRow`."""

    token_id: str
    user_id: str | None
    token_team_id: str | None
    token_organization_id: str | None
    organization_id: str
    organization_name: str
    email: str | None
    created_at: int
    is_owner: int
    is_member: int
    stream_id: str | None
    sequence: int
    link: bytes
    head: bytes
    variables: int
    value_bytes: int
    unlocked_sequence: int | None = None


class TeamRow(NamedTuple):
    """A row of READ_TEAM or LOCK_TEAM; as `WorkspaceRow`."""

    token_id: str
    user_id: str | None
    token_team_id: str | None
    token_organization_id: str | None
    team_id: str
    team_name: str
    organization_id: str
    organization_name: str
    visibility: str
    is_owners: int
    rights: int
    manage_membership: int
    members_manage_token: int
    stream_id: str | None
    sequence: int
    link: bytes
    head: bytes
    variables: int
    value_bytes: int
    unlocked_sequence: int | None = None


R = TypeVar("R", WorkspaceRow, OrganizationRow, TeamRow)

_MAX_ATTEMPTS = 8
"""Each further attempt means that somebody changed the subject, or the caller's rights, during the
one before."""

_Find = Callable[[], Awaitable[Row | None]]


async def authenticate(tx: Transaction, caller: Caller, now: int) -> None:
    """Finds out who calls. Refuses: unauthenticated."""
    row = await tx.look_up(AUTHENTICATE, caller.token_hash, now)
    if row is None:
        raise unauthenticated()
    identify(caller, CallerRow(*row))


async def workspace(
    tx: Transaction, caller: Caller, now: int, workspace_id: str, *, lock: bool = False
) -> WorkspaceAccess:
    """What the caller may do in a workspace. Refuses: unauthenticated, not found.

    With `lock`, if the caller may write variables, the workspace's stream is locked and all else
    is as of then or later. Nothing is locked for who may not. An owner's level is then WRITE.
    """
    args = (caller.token_hash, now, workspace_id)
    if not lock:
        row = await tx.look_up(READ_WORKSPACE, *args)
        return _workspace(caller, None if row is None else WorkspaceRow(*row))
    found = await _find(
        WorkspaceRow,
        lambda: tx.look_up(READ_WORKSPACE, *args),
        lambda: tx.look_up(LOCK_WORKSPACE, *args),
        lambda row: row.level >= Level.WRITE,
    )
    return _workspace(caller, found)


async def workspace_by_name(
    tx: Transaction, caller: Caller, now: int, organization: str, name: str
) -> WorkspaceAccess:
    """As `workspace`, by folded names."""
    row = await tx.fetch_one(READ_WORKSPACE_BY_NAME, caller.token_hash, now, organization, name)
    return _workspace(caller, None if row is None else WorkspaceRow(*row))


async def organization(
    tx: Transaction, caller: Caller, now: int, name: str, *, lock: bool = False
) -> OrganizationAccess:
    """What the caller may do with an organization. Refuses: unauthenticated, not found.

    With `lock`, if the caller owns it, the organization's stream is locked and all else is as of
    then or later. Nothing is locked for who does not.
    """
    args = (caller.token_hash, now, fold(name))
    found = await _find(
        OrganizationRow,
        lambda: tx.fetch_one(READ_ORGANIZATION, *args),
        (lambda: tx.fetch_one(LOCK_ORGANIZATION, *args)) if lock else None,
        lambda row: bool(row.is_owner),
    )
    row = _existing(caller, found)
    id_ = row.organization_id
    caller.place = Place(id_, row.organization_name)
    acting: Sequence[Row] = ()
    # Who sees nothing of it waits for no more than if it were not there.
    if row.is_owner or row.is_member:
        caller.organization_id = id_
        acting = await tx.fetch(FIND_ACTING_TEAMS, caller.token_hash, now, id_)
    return OrganizationAccess(
        organization=Organization(id_, row.organization_name, row.email, row.created_at),
        is_owner=bool(row.is_owner),
        is_member=bool(row.is_member),
        team_ids=frozenset(team_id for team_id, _ in acting),
        manages_membership=any(manages for _, manages in acting),
        stream=_stream(row),
    )


async def team(
    tx: Transaction, caller: Caller, now: int, team_id: str, *, lock: bool = False
) -> TeamAccess:
    """What the caller may do with a team. Refuses: unauthenticated, not found.

    With `lock`, if the caller may change its members, the team's stream is locked and all else is
    as of then or later. Nothing is locked for who may not.
    """
    args = (caller.token_hash, now, team_id)
    found = await _find(
        TeamRow,
        lambda: tx.look_up(READ_TEAM, *args),
        (lambda: tx.look_up(LOCK_TEAM, *args)) if lock else None,
        lambda row: bool(row.rights & TeamRight.CHANGES_MEMBERS),
    )
    row = _existing(caller, found)
    caller.place = Place(
        row.organization_id, row.organization_name, team_id=row.team_id, team=row.team_name
    )
    is_owner = bool(row.rights & TeamRight.OWNER)
    in_organization = bool(row.rights & TeamRight.IN_ORGANIZATION)
    in_team = bool(row.rights & TeamRight.IN_TEAM)
    if is_owner or in_organization:
        caller.organization_id = row.organization_id
    return TeamAccess(
        team=Team(
            id=row.team_id,
            organization_id=row.organization_id,
            name=row.team_name,
            visibility=Visibility(row.visibility),
            manage_membership=bool(row.manage_membership),
            is_owners=bool(row.is_owners),
            members_manage_token=bool(row.members_manage_token),
        ),
        organization_name=row.organization_name,
        is_owner=is_owner,
        in_organization=in_organization,
        in_team=in_team,
        manages_membership=bool(row.rights & TeamRight.MANAGES_MEMBERSHIP),
        # By its users alone: what a team's own token could make would outlive it.
        manages_token=is_owner
        or bool(row.members_manage_token and in_team and row.user_id is not None),
        stream=_stream(row),
    )


async def _find(
    kind: type[R], read: _Find, lock: _Find | None, may_lock: Callable[[R], bool]
) -> R | None:
    """The row that `read` finds; with `lock`, that of `lock`, with its stream locked.

    Under READ COMMITTED, FOR UPDATE re-reads only the locked row after waiting (EvalPlanQual);
    joined rows keep the statement's snapshot. `unlocked_sequence` is the stream's in that snapshot:
    a different sequence number means that the stream moved, so the row is read again.

    Who has not the right that `lock` demands gets the row of `read`, to be refused. `lock` has no
    row then, but neither when the row appeared, or the right was given, after its snapshot, nor
    where it skipped a locked row; `read` tells these apart.
    """
    if lock is None:
        row = await read()
        return None if row is None else kind(*row)
    for _ in range(_MAX_ATTEMPTS):
        row = await lock()
        if row is not None:
            locked = kind(*row)
            if locked.unlocked_sequence == locked.sequence:
                return locked
            continue
        row = await read()
        if row is None:
            return None
        seen = kind(*row)
        if seen.stream_id is None or not may_lock(seen):
            return seen
    raise storage_unavailable()


def _existing(caller: Caller, row: R | None) -> R:
    """The row of a subject that exists; notes who calls. Refuses: unauthenticated, not found."""
    if row is None:
        raise unauthenticated()
    identify(caller, row)
    if row.stream_id is None:
        raise not_found()
    return row


def identify(caller: Caller, row: CallerRow | WorkspaceRow | OrganizationRow | TeamRow) -> None:
    """Notes whose token the caller has."""
    if row.user_id is not None:
        caller.actor = Actor("user", row.user_id, row.token_id)
    elif row.token_team_id is not None:
        caller.actor = Actor("team", row.token_team_id, row.token_id)
    else:
        assert row.token_organization_id is not None  # CHECK of the table
        caller.actor = Actor("organization", row.token_organization_id, row.token_id)


def _workspace(caller: Caller, found: WorkspaceRow | None) -> WorkspaceAccess:
    row = _existing(caller, found)
    organization_id = row.organization_id
    caller.place = Place(
        organization_id, row.organization_name, row.workspace_id, row.workspace_name
    )
    if row.level > Level.NONE:
        caller.organization_id = organization_id
    return WorkspaceAccess(
        workspace=Workspace(
            row.workspace_id, row.workspace_name, organization_id, row.organization_name
        ),
        level=Level(row.level),
        key=WrappedKey(organization_id, row.key_version, row.master_key_id, row.wrapped_key),
        stream=_stream(row),
    )


def _stream(row: WorkspaceRow | OrganizationRow | TeamRow) -> Stream:
    assert row.stream_id is not None
    usage = Usage(row.variables, row.value_bytes)
    return Stream(row.stream_id, row.organization_id, row.sequence, row.link, row.head, usage)
