"""Access: one statement says who calls, what the caller may do, and where the stream stands.

Tokens, memberships and grants are read on every request and trusted for none but that one.
"""

from collections.abc import Sequence
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
from teamvars.domain.errors import NO_VALID_TOKEN, Refusal, not_found, storage_unavailable
from teamvars.domain.names import fold
from teamvars.domain.organizations import Organization
from teamvars.domain.teams import Team, Visibility
from teamvars.domain.workspaces import Usage, Workspace
from teamvars.storage.access_statements import (
    AUTHENTICATE,
    FIND_ACTING_TEAMS,
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
    """A row of READ_WORKSPACE. All but the caller is None when there is no such workspace."""

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


class OrganizationRow(NamedTuple):
    """A row of READ_ORGANIZATION; as `WorkspaceRow`."""

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


class TeamRow(NamedTuple):
    """A row of READ_TEAM; as `WorkspaceRow`."""

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
    manage_membership: int
    members_manage_token: int
    stream_id: str | None
    sequence: int
    link: bytes
    head: bytes
    variables: int
    value_bytes: int
    rights: int


R = TypeVar("R", WorkspaceRow, OrganizationRow, TeamRow)

_MAX_ATTEMPTS = 8
"""Each further attempt means that somebody changed the workspace during the one before."""


async def authenticate(tx: Transaction, caller: Caller, now: int) -> None:
    """Finds out who calls. Refuses: unauthenticated."""
    row = await tx.look_up(AUTHENTICATE, caller.token_hash, now)
    if row is None:
        raise Refusal(NO_VALID_TOKEN)
    identify(caller, CallerRow(*row))


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
    for _ in range(_MAX_ATTEMPTS):
        ((row, is_held),) = await tx.lock_each(READ_WORKSPACE, [args])
        granted = to_workspace(caller, row)
        if is_held or not granted.may_change:
            return granted
    raise storage_unavailable()


async def workspace_by_name(
    tx: Transaction, caller: Caller, now: int, organization: str, name: str
) -> WorkspaceAccess:
    """As `workspace`, by folded names."""
    row = await tx.fetch_one(READ_WORKSPACE_BY_NAME, caller.token_hash, now, organization, name)
    return to_workspace(caller, row)


async def organization(tx: Transaction, caller: Caller, now: int, name: str) -> OrganizationAccess:
    """What the caller may do with an organization. Refuses: unauthenticated, not found."""
    args = caller.token_hash, now, fold(name)
    found = await tx.fetch_one(READ_ORGANIZATION, *args)
    row = _existing(caller, None if found is None else OrganizationRow(*found))
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


async def team(tx: Transaction, caller: Caller, now: int, team_id: str) -> TeamAccess:
    """What the caller may do with a team. Refuses: unauthenticated, not found."""
    return to_team(caller, await tx.look_up(READ_TEAM, caller.token_hash, now, team_id))


def to_team(caller: Caller, found: Row | None) -> TeamAccess:
    """What a row of READ_TEAM says. Refuses: unauthenticated, not found."""
    row = _existing(caller, None if found is None else TeamRow(*found))
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


def _existing(caller: Caller, row: R | None) -> R:
    """The row of a subject that exists; notes who calls. Refuses: unauthenticated, not found."""
    if row is None:
        raise Refusal(NO_VALID_TOKEN)
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


def to_workspace(caller: Caller, found: Row | None) -> WorkspaceAccess:
    """What a row of READ_WORKSPACE says. Refuses: unauthenticated, not found."""
    row = _existing(caller, None if found is None else WorkspaceRow(*found))
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
