"""Teams as HCP Terraform's clients know them, and their members: relationships that are changed by
linkage.
"""

from collections.abc import Iterable
from itertools import chain
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from teamvars.decisions.teams import Direction, TeamView
from teamvars.domain.client_settings import MAX_CHARACTERS, Value
from teamvars.domain.linked import MAX_ITEMS
from teamvars.domain.memberships import LinkageType, MembersDraft
from teamvars.domain.names import MAX_TEAM_NAME_CHARACTERS, TEAM_NAME_RULE
from teamvars.domain.teams import SETTINGS, Right, TeamDraft, TeamFilter, Visibility, is_right
from teamvars.services.teams import TeamMembers, TeamPage, Teams
from teamvars.web.client_settings import setting_attribute
from teamvars.web.dialects import Dialect
from teamvars.web.examples import IDS, NEW_NAME
from teamvars.web.http.idempotency import changed
from teamvars.web.http.parameters import NAMES, PART, text_of, words_of
from teamvars.web.http.reader import Reader
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import (
    REQUIRED,
    Attribute,
    Group,
    Identifier,
    RelatedLink,
    identifier,
    identifiers,
    several,
    to_many,
)
from teamvars.web.http.resources import Found, Operations, Relations, Resource
from teamvars.web.http.routes import RequestBody, Route
from teamvars.web.http.sending import Response
from teamvars.web.memberships import MEMBERSHIP, users_of
from teamvars.web.organizations import owner
from teamvars.web.users import USER

_ALL, _ONE = "/api/v2/organizations/{organization}/teams", "/api/v2/teams/{team_id}"
_USERS, _MEMBERSHIPS = "users", MEMBERSHIP.type
_MEMBERS = "Members"
_NO_MEMBERS = "A team is made without members: add them to its relationship once it is there."
_NAME = Meta(min_length=1, max_length=MAX_TEAM_NAME_CHARACTERS, description=f"{TEAM_NAME_RULE}.")
_TOKEN = Meta(description="Whether members may make, see and revoke the team's token.")
_SSO = Meta(max_length=MAX_CHARACTERS, description="Kept; it puts nobody into the team.")


def _may_rename(one: TeamView) -> bool:
    return one.may_manage and not one.team.is_owners


def _right(right: Right) -> Attribute[TeamView]:
    def has(one: TeamView) -> bool:
        return one.team.is_owners or right in one.team.rights

    return Attribute(right.value, bool, has, given=bool, new=False, to=f"rights/{right}")


def _setting(one: TeamView, name: str) -> Value:
    """Owners have the rights without a subject as well."""
    return (one.team.is_owners and is_right(name)) or SETTINGS.value(one.team.settings, name)


_OTHERS = [
    setting_attribute(one, _setting) for name, one in SETTINGS.by_name.items() if is_right(name)
]
_ACCESS = Group[TeamView](
    "OrganizationAccess",
    "What the team may do in its organization. Some rights have no subject here.",
    *map(_right, Right),
    *_OTHERS,
    given="What the team is to be allowed in its organization; only owners say so.",
)
_PERMISSIONS = Group[TeamView](
    "TeamPermissions",
    "What the caller may do; clients ask before they offer it.",
    Attribute("can-destroy", bool, _may_rename),
    Attribute("can-update-membership", bool, lambda one: one.may_change_members),
    Attribute("can-update-organization-access", bool, lambda one: one.is_owner),
    Attribute("can-update-visibility", bool, lambda one: one.may_manage),
    Attribute("can-update-name", bool, _may_rename),
    Attribute("can-update-api-token", bool, lambda one: one.may_manage_token),
)


NoMembers: Any = several(
    "NoMembers", "Members are added to a team once it is there.", Identifier, most=0
)


class GivenTeamRelationships(msgspec.Struct, rename="kebab"):
    """A team is made without members."""

    users: NoMembers | UnsetType = UNSET
    organization_memberships: NoMembers | UnsetType = UNSET


_RELATIONSHIPS = Group[TeamView](
    "TeamRelationships",
    "What a team belongs to, and who belongs to it.",
    owner(lambda one: one.organization_name),
    Attribute(
        "users",
        Group(
            "UsersLinkage",
            "The users in a team; a list that would hold too many leaves their ids out.",
            Attribute(
                "links",
                RelatedLink,
                lambda one: RelatedLink(f"{TEAM.path_of(one)}/relationships/users"),
            ),
            identifiers(
                _USERS, lambda one: one.user_ids or (), lambda one: one.user_ids is not None
            ),
        ),
    ),
    to_many(
        "organization-memberships",
        "MembersLinkage",
        "The members of a team.",
        _MEMBERSHIPS,
        lambda one: one.member_ids or (),
        when=lambda one: one.member_ids is not None,
    ),
)
TEAM: Resource[TeamView] = Resource(
    type="teams",
    name="Team",
    noun="a team",
    tag="Teams",
    id=lambda one: one.team.id,
    draft=TeamDraft,
    relations=Relations(
        GivenTeamRelationships, required=False, refused=dict.fromkeys(LinkageType, _NO_MEMBERS)
    ),
    include=(_USERS, _MEMBERSHIPS),
    included=(USER.shape.type, MEMBERSHIP.shape.type),
    texts={"TeamListDocument": "One page of the teams a caller sees."},
    attributes=(
        Attribute(
            "name", str, lambda one: one.team.name, given=Annotated[str, _NAME], new=REQUIRED
        ),
        Attribute("users-count", int, lambda one: one.members_count),
        Attribute(
            "visibility",
            Visibility,
            lambda one: one.team.visibility,
            given=Visibility,
            new=Visibility.SECRET,
        ),
        Attribute("organization-access", _ACCESS, given=_ACCESS),
        Attribute("permissions", _PERMISSIONS),
        Attribute(
            "allow-member-token-management",
            bool,
            lambda one: one.team.members_manage_token,
            given=Annotated[bool, _TOKEN],
            new=False,
            to="members_manage_token",
        ),
        Attribute(
            "sso-team-id",
            str | None,
            lambda one: _setting(one, "sso-team-id") or None,
            given=Annotated[str, _SSO] | None,
            null="",
            to="settings/sso-team-id",
        ),
    ),
    members=(Attribute("relationships", _RELATIONSHIPS),),
    linked=True,
)
_ACCESS_EXAMPLE = {
    "visibility": "organization",
    "organization-access": {"manage-membership": False},
}
_NEW = TEAM.new_body(attributes={"name": NEW_NAME, **_ACCESS_EXAMPLE})
_CHANGED = TEAM.changed_body(attributes={"visibility": "organization"})


def routes(teams: Teams, dialect: Dialect) -> list[Route]:
    """One row an operation."""
    do = Operations(TEAM)
    return [
        do.lists(
            _ALL,
            "List the teams of an organization that the caller sees, by name.",
            teams.list,
            shows=_found,
            expands="members",
            asks=lambda request: (
                request.parameters["organization"],
                TeamFilter(words_of(request, NAMES), text_of(request, PART)),
            ),
            reads=(NAMES, PART),
        ),
        do.creates(
            _ALL,
            "Create a team; it is secret unless the request says otherwise.",
            teams.create,
            _NEW,
            also=dialect.types.get("createTeam", ()),
            status=dialect.made_team,
        ),
        do.reads(_ONE, "Read a team.", teams.read, shows=_found, expands="members"),
        do.updates(
            _ONE,
            "Update a team: its name, visibility or rights.",
            teams.update,
            _CHANGED,
        ),
        do.deletes(
            _ONE,
            "Delete a team with its grants and tokens; its members stay in the organization.",
            teams.delete,
            refuses=(422,),
        ),
    ]


def _found(page: TeamPage, includes: frozenset[str]) -> Found[TeamView]:
    """The teams with what is to be included, and linkage of memberships only where those are."""
    members, items = page.members.values(), page.teams
    included: Iterable[msgspec.Struct] = ()
    if _MEMBERSHIPS not in includes:
        items = [replace(view, member_ids=None) for view in items]
    if _USERS in includes:
        included = users_of(members)
    if _MEMBERSHIPS in includes:
        included = chain(included, map(MEMBERSHIP.shape.of, members))
    return Found(items, page.total, included if includes else UNSET)


class LinkageDocument(msgspec.Struct):
    """The members of a team."""

    data: list[Identifier]


class _PlainIdentifier(msgspec.Struct, forbid_unknown_fields=True):
    type: LinkageType
    id: str


class _Plain(msgspec.Struct, forbid_unknown_fields=True):
    """A document that says no more than almost every one does."""

    data: Annotated[list[_PlainIdentifier], Meta(max_length=MAX_ITEMS)]


_LINKAGES = {LinkageType.USERS: "Users", LinkageType.ORGANIZATION_MEMBERSHIPS: "Memberships"}
MEMBERS = {
    LinkageType.USERS: RequestBody(
        several(
            "UsersDocument",
            "Users to add or remove, all or none.",
            identifier("UserIdentifier", "A user by id.", "users"),
        ),
        {"data": [{"type": "users", "id": IDS["user_id"]}]},
    ),
    LinkageType.ORGANIZATION_MEMBERSHIPS: RequestBody(
        several(
            "MembershipsDocument",
            "Organization memberships to add or remove, all or none.",
            identifier(
                "MembershipIdentifier", "A user by organization membership.", MEMBERSHIP.type
            ),
        ),
        {"data": [{"type": "organization-memberships", "id": IDS["membership_id"]}]},
    ),
}


def members_draft(document: object, linkage: LinkageType) -> MembersDraft:
    """Whom a request adds or removes (contract §5).

    As for variables, a document that is at fault in nothing is read by its type.
    """
    try:
        plain = msgspec.convert(document, _Plain).data
    except msgspec.ValidationError:
        plain = []
    if plain and all(item.type is linkage and "\0" not in item.id for item in plain):
        return MembersDraft(tuple(item.id for item in plain))
    read = Reader(document)
    ids = read.identifiers(read.data(list) or [], linkage, MAX_ITEMS)
    return MembersDraft(ids, read.faults)


def member_routes(members: TeamMembers) -> list[Route]:
    """The four operations on team membership (contract §5), and the reading of users' linkage.

    That of memberships is read as full resources: `web/memberships.py`.
    """

    async def users(request: Request) -> Response:
        """List the members of a team as users."""
        caller, linkage = request.require_caller(), LinkageType.USERS
        ids = await members.list(caller, request.parameters["team_id"], linkage)
        return Response.document(200, LinkageDocument([Identifier(id_, linkage) for id_ in ids]))

    by_users = f"/api/v2/teams/{{team_id}}/relationships/{LinkageType.USERS}"
    return [
        Route("GET", by_users, users, {200: LinkageDocument}, name="listTeamUsers", tag=_MEMBERS),
        *(
            _change(members, linkage, direction)
            for linkage in LinkageType
            for direction in ("add", "remove")
        ),
    ]


def _change(members: TeamMembers, linkage: LinkageType, direction: Direction) -> Route:
    async def change(request: Request) -> Response:
        caller, team_id = request.require_caller(), request.parameters["team_id"]
        said = members_draft(request.document, linkage)
        work = members.change(caller, team_id, linkage, direction, said)
        return await changed(request, work, lambda _: Response(204))

    adds = direction == "add"
    return Route(
        "POST" if adds else "DELETE",
        f"/api/v2/teams/{{team_id}}/relationships/{linkage}",
        change,
        {204: None},
        takes=MEMBERS[linkage],
        keyed=adds,
        may_forbid=True,
        text=f"{'Put users into' if adds else 'Take users out of'} a team, all or none.",
        name=f"{direction}Team{_LINKAGES[linkage]}",
        tag=_MEMBERS,
    )
