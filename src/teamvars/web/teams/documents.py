"""The documents of teams: what the service takes and what it answers with."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from teamvars.domain.names import MAX_TEAM_NAME_CHARACTERS, TEAM_NAME_RULE
from teamvars.domain.teams import TeamDraft, Visibility
from teamvars.services.teams import TeamPage, TeamView
from teamvars.web.examples import NEW_NAME
from teamvars.web.http import paging
from teamvars.web.http.reader import Reader
from teamvars.web.http.resource_objects import Identifier, RelatedLink, SelfLink
from teamvars.web.http.routes import RequestBody
from teamvars.web.memberships import documents as membership_documents
from teamvars.web.memberships.documents import MembershipResource
from teamvars.web.organizations.documents import OrganizationLinkage
from teamvars.web.users.documents import UserResource

USERS, MEMBERSHIPS = "users", membership_documents.TYPE
INCLUDES = (USERS, MEMBERSHIPS)
_NAME = Meta(
    min_length=1,
    max_length=MAX_TEAM_NAME_CHARACTERS,
    description=f"{TEAM_NAME_RULE}.",
)
_MEMBER_TOKENS = Meta(description="Whether members may make, see and revoke the team's token.")
_SSO = Meta(description="Null or empty: there is no single sign-on.")


class GivenOrganizationAccess(msgspec.Struct, rename="kebab"):
    """What the team may do in its organization; whatever is not here is ignored."""

    manage_membership: bool | UnsetType = UNSET


class NewTeamAttributes(msgspec.Struct, rename="kebab", kw_only=True):
    """What a create says about a team; attributes that are not here are ignored."""

    name: Annotated[str, _NAME]
    visibility: Visibility = Visibility.SECRET
    organization_access: GivenOrganizationAccess | UnsetType = UNSET
    allow_member_token_management: Annotated[bool, _MEMBER_TOKENS] = False
    sso_team_id: Annotated[str | None, _SSO] | UnsetType = UNSET


class NewTeamResource(msgspec.Struct):
    """A team to create."""

    type: Literal["teams"]
    attributes: NewTeamAttributes


class NewTeamDocument(msgspec.Struct):
    """Creates a team."""

    data: NewTeamResource


class TeamChanges(msgspec.Struct, rename="kebab", kw_only=True):
    """What an update says about a team; what is left out stays."""

    name: Annotated[str, _NAME] | UnsetType = UNSET
    visibility: Visibility | UnsetType = UNSET
    organization_access: GivenOrganizationAccess | UnsetType = UNSET
    allow_member_token_management: Annotated[bool, _MEMBER_TOKENS] | UnsetType = UNSET
    sso_team_id: Annotated[str | None, _SSO] | UnsetType = UNSET


class ChangedTeamResource(msgspec.Struct):
    """A team to update; an `id`, when there is one, is the path's."""

    type: Literal["teams"]
    id: str | UnsetType = UNSET
    attributes: TeamChanges | UnsetType = UNSET


class ChangedTeamDocument(msgspec.Struct):
    """Updates a team."""

    data: ChangedTeamResource


class OrganizationAccess(msgspec.Struct, rename="kebab"):
    """What the team may do in its organization; what has a default is the same for all."""

    manage_membership: bool
    manage_policies: bool = False
    manage_policy_overrides: bool = False
    manage_workspaces: bool = False
    manage_vcs_settings: bool = False
    manage_providers: bool = False
    manage_modules: bool = False
    manage_run_tasks: bool = False
    manage_projects: bool = False
    read_workspaces: bool = False
    read_projects: bool = False
    manage_teams: bool = False
    manage_organization_access: bool = False
    access_secret_teams: bool = False
    manage_agent_pools: bool = False


class TeamPermissions(msgspec.Struct, rename="kebab"):
    """What the caller may do, as clients ask before they offer it."""

    can_destroy: bool
    can_update_membership: bool
    can_update_organization_access: bool
    can_update_visibility: bool
    can_update_name: bool
    can_update_api_token: bool


class TeamAttributes(msgspec.Struct, rename="kebab"):
    """A team's attributes."""

    name: str
    users_count: int
    visibility: Visibility
    organization_access: OrganizationAccess
    permissions: TeamPermissions
    allow_member_token_management: bool
    sso_team_id: str | None = None


class MembersLinkage(msgspec.Struct):
    """The members of a team."""

    data: list[Identifier]


class UsersLinkage(msgspec.Struct):
    """The users in a team; a list that would hold too many leaves their ids out."""

    links: RelatedLink
    data: list[Identifier] | UnsetType = UNSET


class TeamRelationships(msgspec.Struct, rename="kebab"):
    """What a team belongs to, and who belongs to it."""

    organization: OrganizationLinkage
    users: UsersLinkage
    organization_memberships: MembersLinkage | UnsetType = UNSET


class TeamResource(msgspec.Struct):
    """A team."""

    id: str
    type: str
    attributes: TeamAttributes
    relationships: TeamRelationships
    links: SelfLink


Included = list[UserResource | MembershipResource]


class TeamDocument(msgspec.Struct):
    """One team."""

    data: TeamResource
    included: Included | UnsetType = UNSET


class TeamListDocument(msgspec.Struct, kw_only=True):
    """One page of the teams a caller sees."""

    data: list[TeamResource]
    included: Included | UnsetType = UNSET
    links: paging.PageLinks
    meta: paging.PageMeta


NEW = RequestBody(
    NewTeamDocument,
    {
        "data": {
            "type": "teams",
            "attributes": {
                "name": NEW_NAME,
                "visibility": "organization",
                "organization-access": {"manage-membership": False},
            },
        }
    },
)
CHANGED = RequestBody(
    ChangedTeamDocument,
    {"data": {"type": "teams", "attributes": {"visibility": "organization"}}},
)


def new_draft(document: object) -> TeamDraft:
    """What a create asks for, with every fault of the document."""
    read = Reader(document)
    _, attributes = read.new_resource("teams")
    return _draft(read, attributes, id_=None, required=True)


def changed_draft(document: object) -> TeamDraft:
    """What an update asks for; clients may leave out both `id` and `attributes`."""
    read = Reader(document)
    id_, attributes = read.changed_resource("teams")
    return _draft(read, attributes, id_=id_, required=False)


def path(view: TeamView) -> str:
    """`links.self` of a team."""
    return f"/api/v2/teams/{view.team.id}"


def made(view: TeamView) -> TeamDocument:
    """The document of one team, without its members."""
    return TeamDocument(_resource(view, frozenset()))


def team(found: TeamPage, includes: frozenset[str]) -> TeamDocument:
    """The document of one team."""
    return TeamDocument(_resource(found.teams[0], includes), _included(found, includes))


def team_list(
    found: TeamPage, includes: frozenset[str], links: paging.PageLinks, meta: paging.PageMeta
) -> TeamListDocument:
    """The document of one page."""
    data = [_resource(view, includes) for view in found.teams]
    return TeamListDocument(data=data, included=_included(found, includes), links=links, meta=meta)


def _draft(
    read: Reader, attributes: dict[str, Any] | None, *, id_: str | None, required: bool
) -> TeamDraft:
    at = "/data/attributes"
    name = read.member(attributes, "name", str, at, required=required)
    visibility = read.member(attributes, "visibility", str, at, required=False)
    access = read.member(attributes, "organization-access", dict, at, required=False)
    tokens = read.member(attributes, "allow-member-token-management", bool, at, required=False)
    given = {name: value for name, value in (attributes or {}).items() if value is not None}
    sso = read.member(given, "sso-team-id", str, at, required=False)
    at = f"{at}/organization-access"
    manages = read.member(access, "manage-membership", bool, at, required=False)
    return TeamDraft(id_, name, visibility, manages, tokens, sso, read.faults)


def _resource(view: TeamView, includes: frozenset[str]) -> TeamResource:
    row = view.team
    users = UsersLinkage(RelatedLink(f"{path(view)}/relationships/{USERS}"))
    if view.user_ids is not None:
        users.data = [Identifier(id_, USERS) for id_ in view.user_ids]
    organization = OrganizationLinkage(Identifier(view.organization_name, "organizations"))
    relationships = TeamRelationships(organization, users)
    if MEMBERSHIPS in includes:
        linkage = [Identifier(id_, MEMBERSHIPS) for id_ in view.member_ids or ()]
        relationships.organization_memberships = MembersLinkage(linkage)
    return TeamResource(
        id=row.id,
        type="teams",
        attributes=TeamAttributes(
            name=row.name,
            users_count=view.members_count,
            visibility=row.visibility,
            organization_access=OrganizationAccess(row.manage_membership or row.is_owners),
            permissions=_permissions(view),
            allow_member_token_management=row.members_manage_token,
        ),
        relationships=relationships,
        links=SelfLink(path(view)),
    )


def _permissions(view: TeamView) -> TeamPermissions:
    may_manage, is_owners = view.may_manage, view.team.is_owners
    return TeamPermissions(
        can_destroy=may_manage and not is_owners,
        can_update_membership=view.may_change_members,
        can_update_organization_access=may_manage,
        can_update_visibility=may_manage,
        can_update_name=may_manage and not is_owners,
        can_update_api_token=view.may_manage_token,
    )


def _included(found: TeamPage, includes: frozenset[str]) -> Included | UnsetType:
    if not includes:
        return UNSET
    included: Included = []
    if USERS in includes:
        included += membership_documents.users_of(found.members.values())
    if MEMBERSHIPS in includes:
        included += [membership_documents.resource(view) for view in found.members.values()]
    return included
