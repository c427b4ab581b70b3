"""How the needs of decisions are looked up, and their writes written, noun by noun."""

import json
from collections.abc import Callable, Mapping, Sequence

from teamvars.changes import Look, LookUps, Tools, by_fields, trails, variables
from teamvars.changes import runners as of_runners
from teamvars.decisions import Delete, Found, Insert, Update, Write, needs
from teamvars.decisions.generations import Generations
from teamvars.decisions.invitations import CountLink, Invite, Settle
from teamvars.decisions.keys import LiveNodes, NotedKeys
from teamvars.decisions.organizations import GiveKey
from teamvars.decisions.owners import TellOwners
from teamvars.decisions.projects import KeepDefault, PutInto
from teamvars.decisions.set_reach import (
    HasSensitive,
    InWhich,
    PlacesOf,
    SetsAttached,
    SetsOfProjects,
)
from teamvars.decisions.sign_ins import Arrival, Arriving
from teamvars.decisions.tags import TakeTags
from teamvars.decisions.teams import LinkedBy, PutMembers, UserIds
from teamvars.decisions.tokens import Shorten
from teamvars.decisions.variable_sets import (
    AttachedTo,
    Contested,
    DetailsOfSets,
    LevelsOfSets,
    Rivals,
    SetsApplicable,
    SetsAt,
    SetsOf,
    SetsReaching,
    SetsSeen,
)
from teamvars.domain.access import WorkspaceAccess
from teamvars.domain.audit import Actor
from teamvars.domain.errors import not_found
from teamvars.domain.invitations import Delivery, Link
from teamvars.domain.memberships import LinkageType, Membership
from teamvars.domain.moves import Access
from teamvars.domain.names import fold
from teamvars.domain.users import User
from teamvars.mail import counted_as
from teamvars.security.tokens import hash_token
from teamvars.storage import (
    access,
    access_by_name,
    data_keys,
    invitations,
    keys,
    logins,
    memberships,
    organizations,
    projects,
    runners,
    sign_ins,
    tables,
    tags,
    team_access,
    teams,
    tokens,
    users,
    variable_sets,
    workspaces,
)
from teamvars.storage.access_statements import READ_TEAM
from teamvars.storage.database import Lookup, Row, Statement, Transaction, each

UNCLAIMED_AT_ONCE = 100


async def _who_calls(tx: Transaction, _: Tools, found: Found, __: needs.WhoCalls) -> Actor:
    await access.authenticate(tx, found.caller, found.now)
    assert found.caller.actor is not None
    return found.caller.actor


async def _to_workspace(
    tx: Transaction, _: Tools, found: Found, need: needs.ToWorkspaceAt
) -> WorkspaceAccess:
    address = need.address
    if isinstance(address, str):
        return await access.workspace(tx, found.caller, found.now, address)
    names = fold(address.organization), fold(address.workspace)
    return await access_by_name.workspace(tx, found.caller, found.now, *names)


async def _access_to(tx: Transaction, _: Tools, __: Found, need: needs.AccessTo) -> Access:
    return Access(
        await teams.of_organizations(tx, [need.organization_id]),
        await team_access.ON_WORKSPACES.of_places(tx, need.workspace_ids),
        await team_access.ON_PROJECTS.of_places(tx, need.project_ids),
    )


async def _linked_to(
    tx: Transaction, _: Tools, __: Found, need: needs.LinkedTo
) -> Mapping[LinkageType, Sequence[str]]:
    ids, team_id = memberships.ids_of_teams, need.team_id
    return {linkage: (await ids(tx, [team_id], linkage))[team_id] for linkage in LinkageType}


async def _members(
    tx: Transaction, _: Tools, __: Found, need: needs.MembersOf
) -> Sequence[Membership]:
    return (await memberships.of_teams(tx, [need.team_id]))[need.team_id]


async def _details(tx: Transaction, _: Tools, __: Found, need: needs.DetailsOf) -> object:
    details = await workspaces.find_details(tx, [need.workspace_id])
    if need.workspace_id not in details:  # it has gone since it was found
        raise not_found()
    return details[need.workspace_id]


async def _user_called(tx: Transaction, _: Tools, __: Found, need: needs.UserCalled) -> User | None:
    return (await users.find_all(tx, [need.username])).get(fold(need.username))


async def _user_at(tx: Transaction, _: Tools, __: Found, need: needs.UserAt) -> User | None:
    return (await users.find_all_by_email(tx, [need.email])).get(fold(need.email))


async def _unclaimed(tx: Transaction, _: Tools, __: Found, need: needs.Unclaimed) -> Sequence[str]:
    # A file that names them does not wait for the system; for their rows it does.
    locked = await users.lock_all(tx, await users.unclaimed(tx, need.before, UNCLAIMED_AT_ONCE))
    again = await users.unclaimed(tx, need.before, UNCLAIMED_AT_ONCE)
    return [id_ for id_ in again if id_ in locked]


def _arrival(_: Found, __: Arriving, rows: Sequence[Row]) -> Arrival | None:
    there = sign_ins.arriving(rows)
    return None if there is None else Arrival(*there)


def _linked(found: Found, need: LinkedBy) -> tuple[Lookup, tuple[object, ...]]:
    team = found.of(need.team).team
    args = team.id, team.organization_id, json.dumps(need.ids)
    return memberships.FIND_LINKED[need.linkage], args


async def _ids_of_usernames(
    tx: Transaction, _: Tools, found: Found, need: UserIds
) -> Mapping[str, str]:
    organization_id = found.of(need.team).team.organization_id
    return await memberships.find_user_ids(tx, organization_id, need.usernames)


def _inviting(tools: Tools, found: Found, write: Invite) -> Statement:
    membership, invitation = write.membership, write.invitation
    link, hash_ = None, hash_token(write.secret)
    if invitation.delivery is Delivery.WAITING:
        key = tools.sealer.data_key(found.of(needs.DataKeyOf(membership.organization_id)))
        link = Link(hash_, key.seal_secret(write.secret, membership.id, hash_))
    elif invitation.delivery is not Delivery.NONE:
        link = Link(hash_)
    return invitations.putting(membership.id, write.inviter, invitation, link, found.now)


LOOK_UPS: LookUps = {
    **trails.LOOK_UPS,
    **variables.LOOK_UPS,
    **of_runners.LOOK_UPS,
    needs.WhoCalls: _who_calls,
    needs.ToOrganization: lambda tx, _, f, n: access_by_name.organization(
        tx, f.caller, f.now, n.name
    ),
    needs.ToOrganizationWithId: lambda tx, _, f, n: access.organization(
        tx, f.caller, f.now, n.organization_id
    ),
    needs.ToWorkspaceAt: _to_workspace,
    needs.ToProject: lambda tx, _, f, n: access.project(tx, f.caller, f.now, n.project_id),
    needs.ProjectsSeen: lambda tx, _, f, n: access.projects_seen(
        tx, f.caller, f.now, n.organization_id, n.project_ids
    ),
    needs.ProjectWithId: by_fields(projects.get),
    needs.BindingsOf: by_fields(projects.bindings),
    needs.AccessTo: _access_to,
    needs.WorkspacesIn: by_fields(projects.count_workspaces),
    needs.OrganizationCalled: by_fields(access_by_name.organization_meant),
    needs.OrganizationWithId: by_fields(organizations.get),
    needs.DataKeyOf: by_fields(organizations.data_key),
    Generations: by_fields(data_keys.generations),
    needs.TeamCalled: by_fields(access_by_name.team_meant),
    needs.TeamsOf: lambda tx, _, __, n: teams.of_organizations(tx, [n.organization_id]),
    needs.TeamsWithIds: by_fields(teams.find_by_ids),
    needs.LinkedTo: _linked_to,
    needs.MembersOf: _members,
    needs.GrantWithId: by_fields(team_access.ON_WORKSPACES.get),
    needs.ProjectGrantWithId: by_fields(team_access.ON_PROJECTS.get),
    needs.WorkspacesOf: lambda tx, _, __, n: workspaces.of_organizations(tx, [n.organization_id]),
    needs.DetailsOf: _details,
    needs.TagsWithIds: by_fields(tags.names_of),
    needs.TagCalled: by_fields(tags.find),
    needs.TaggedWorkspaces: by_fields(workspaces.tagged),
    needs.WorkspacesWithIds: by_fields(workspaces.find_records),
    needs.MembershipWithId: by_fields(memberships.get),
    needs.MembershipsWithIds: by_fields(memberships.find_by_ids),
    needs.MembershipOf: by_fields(memberships.find_of_user),
    needs.TeamIdsOf: by_fields(memberships.team_ids_of),
    needs.UserWithId: by_fields(users.find),
    needs.UserMeant: by_fields(users.find_one),
    needs.UserCalled: _user_called,
    needs.UserAt: _user_at,
    needs.OwnedAlone: by_fields(users.owned_alone),
    needs.LeftBehindBy: by_fields(memberships.left_behind),
    needs.WhereToSignIn: by_fields(organizations.where_to_sign_in),
    needs.OwnerStreams: by_fields(users.owner_streams),
    needs.Unclaimed: _unclaimed,
    needs.LinkOpens: lambda tx, _, f, n: invitations.find_by_link(tx, n.link_hash, f.now),
    needs.LinksOfDay: lambda tx, _, f, n: invitations.requests_of_day(
        tx, n.organization_id, counted_as(n.email), f.now
    ),
    Arriving: Look(
        lambda found, need: (
            sign_ins.ARRIVING,
            (need.issuer, need.subject, each(map(fold, need.organizations)), found.now),
        ),
        _arrival,
        locks=True,
    ),
    needs.IdentityOf: by_fields(sign_ins.find_identity),
    needs.StandingOf: lambda tx, _, f, n: sign_ins.standing(tx, n.user_id, f.now),
    needs.OrganizationsCalled: by_fields(sign_ins.organizations_called),
    needs.LoginBy: by_fields(logins.find),
    needs.SessionOf: by_fields(sign_ins.session_of),
    needs.TokenWithId: by_fields(tokens.get),
    needs.TokensOf: by_fields(tokens.of_owner),
    needs.TokensPage: by_fields(tokens.page_of_owner),
    needs.TeamTokensPage: lambda tx, _, f, n: tokens.page_of_teams(
        tx, n.organization_id, n.wanted, n.page, f.now
    ),
    needs.TeamTokensWithIds: by_fields(tokens.find_of_teams),
    needs.TokenLimitsOf: by_fields(tokens.limits_of),
    needs.TokensOfSignIn: by_fields(tokens.of_sign_in),
    needs.WasUsed: by_fields(runners.was_used),
    needs.LiveTokensOf: lambda tx, _, f, n: tokens.count_live(tx, n.owner, f.now),
    needs.TokensIssued: by_fields(tokens.meant),
    needs.SetsIn: by_fields(variable_sets.count_of_project),
    SetsOf: by_fields(variable_sets.of_organization),
    SetsSeen: by_fields(variable_sets.find_visible),
    SetsApplicable: by_fields(variable_sets.find_applicable),
    SetsReaching: by_fields(variable_sets.of_workspace),
    DetailsOfSets: by_fields(variable_sets.find_details),
    AttachedTo: by_fields(variable_sets.attached),
    SetsAt: by_fields(variable_sets.count_at),
    HasSensitive: by_fields(variable_sets.has_sensitive),
    InWhich: by_fields(variable_sets.in_which),
    PlacesOf: by_fields(projects.places),
    SetsAttached: by_fields(variable_sets.attached_to),
    SetsOfProjects: by_fields(variable_sets.of_projects),
    LevelsOfSets: by_fields(team_access.levels_of_sets),
    Contested: by_fields(variable_sets.contested),
    Rivals: by_fields(variable_sets.rivals),
    needs.ToTeam: Look(
        lambda found, need: (READ_TEAM, (found.caller.token_hash, found.now, need.team_id)),
        lambda found, _, rows: access.to_team(found.caller, rows[0] if rows else None),
        locks=True,
    ),
    LinkedBy: Look(_linked, lambda _, __, rows: memberships.linked(rows)),
    UserIds: _ids_of_usernames,
    NotedKeys: by_fields(keys.noted),
    LiveNodes: lambda tx, _, f, __: keys.live(tx, f.now),
}
STATEMENTS: Mapping[type[Write], Callable[..., Statement]] = {
    **variables.STATEMENTS,
    **of_runners.STATEMENTS,
    Insert: lambda _, found, write: tables.inserting(write.row, found.now),
    Update: lambda _, __, write: tables.updating(write.before, write.after),
    Delete: lambda _, __, write: tables.deleting(write.kind, write.keys),
    GiveKey: lambda tools, found, write: tables.inserting(
        tools.sealer.new_data_key(write.organization_id, write.generation), found.now
    ),
    KeepDefault: lambda _, __, write: projects.keeping_default(write.organization_id),
    TakeTags: lambda _, __, write: tags.taking(write.tag_ids, write.workspace_ids),
    PutInto: lambda _, __, write: projects.putting(write.project, write.workspace_ids),
    Invite: _inviting,
    Shorten: lambda _, __, write: tokens.shortening(
        write.organization_id, write.kind, write.lifetime
    ),
    TellOwners: lambda _, found, write: users.telling_owners(
        write.organization_id, write.id, (write.subject, write.text, write.page), found.now
    ),
    CountLink: lambda _, found, write: invitations.counting(
        write.organization_id, counted_as(write.email), found.now
    ),
    Settle: lambda _, __, write: invitations.settling(
        write.membership_id, write.link_hash, write.delivery
    ),
    PutMembers: lambda _, __, write: memberships.putting(
        write.team_id, write.membership_ids, adds=write.direction == "add"
    ),
}
