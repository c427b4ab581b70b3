"""Memberships of organizations, and invitations, as HCP Terraform's clients know them; and what
somebody leaves behind, for owners.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from teamvars.decisions.memberships import MembershipPage
from teamvars.domain.invitations import Delivery, Invitation
from teamvars.domain.linked import MAX_ITEMS
from teamvars.domain.memberships import (
    InvitationDraft,
    LeftBehind,
    Membership,
    MembershipFilter,
    Status,
)
from teamvars.domain.teams import Visibility
from teamvars.services.invitations import Invitations
from teamvars.services.memberships import Memberships
from teamvars.services.users import UserView
from teamvars.web.examples import IDS, NEW_NAME
from teamvars.web.http.parameters import Parameter, text_of, words_of
from teamvars.web.http.reader import Reader
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import (
    REQUIRED,
    Attribute,
    Email,
    Group,
    Time,
    identifier,
    several,
    timestamp,
    to_many,
    to_one,
)
from teamvars.web.http.resources import Found, Operations, Relations, Resource
from teamvars.web.http.routes import Route
from teamvars.web.organizations import owner
from teamvars.web.users import USER

_ALL = "/api/v2/organizations/{organization}/organization-memberships"
_OWN = "/api/v2/organization-memberships"
_ONE = "/api/v2/organization-memberships/{membership_id}"
_OF_TEAM = "/api/v2/teams/{team_id}/relationships/organization-memberships"
_LEFT_BEHIND = "/api/v2/organizations/{organization}/users/{user_id}/left-behind"
_SEARCH = Parameter("q", "A part of the username or of the e-mail address.")
_INACTIVE = "inactive"
_STATUS = Parameter(
    "filter[status]",
    "Only members with this status; `inactive` is another word for `invited`.",
    schema={"type": "string", "enum": [*Status, _INACTIVE]},
)
_BY_NAME = "username"
_SORT = Parameter("sort", "By id unless given.", schema={"type": "string", "enum": [_BY_NAME]})
_EMAILS = Parameter("filter[email]", "Whole addresses, with commas.", is_list=True)
_NAMES = Parameter(
    "filter[user]",
    "Whole usernames, e-mail addresses or ids, of users or memberships, with commas.",
    is_list=True,
)


TeamsToJoin: Any = several(
    "TeamsToJoin",
    "Teams of the organization.",
    identifier("TeamIdentifier", "A team by id.", "teams"),
)


class InvitationRelationships(msgspec.Struct):
    """Into which teams to put whoever is invited."""

    teams: TeamsToJoin | UnsetType = UNSET


class IncludedTeamAttributes(msgspec.Struct):
    """What a membership says of a team."""

    name: str
    visibility: Visibility


class IncludedTeam(msgspec.Struct, tag_field="type", tag="teams"):
    """A team of an included membership."""

    id: str
    attributes: IncludedTeamAttributes


def _teams_to_join(read: Reader, relationships: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"team_ids": read.related_ids(relationships, "teams", "teams", MAX_ITEMS) or ()}


def _invitation(one: Membership) -> Invitation:
    assert one.invitation is not None  # else it is null
    return one.invitation


_STATE = Group[Membership](
    "InvitationState",
    "Until when an invitation can be accepted, and what happened to its message.",
    Attribute("expires-at", Time, lambda one: timestamp(_invitation(one).expires_at, one.id)),
    Attribute("delivery", Delivery, lambda one: _invitation(one).delivery),
)
_RELATIONSHIPS = Group[Membership](
    "MembershipRelationships",
    "Of whom, in what.",
    owner(lambda one: one.organization_name),
    to_one("user", "UserLinkage", "Whose membership it is.", "users", lambda one: one.user.id),
    to_many(
        "teams",
        "TeamsLinkage",
        "Those of its teams that the caller sees.",
        "teams",
        lambda one: one.team_ids,
    ),
)
MEMBERSHIP = Resource[Membership](
    type="organization-memberships",
    name="Membership",
    noun="a membership",
    tag="Memberships",
    new_name="Invitation",
    tagged=True,
    whole=True,
    id=lambda one: one.id,
    draft=InvitationDraft,
    relations=Relations(InvitationRelationships, _teams_to_join, required=False),
    include=("user", "teams"),
    included=(USER.shape.type, IncludedTeam),
    attributes=(
        Attribute("status", Status, lambda one: one.status),
        Attribute("email", Email | None, lambda one: one.shown_email, given=Email, new=REQUIRED),
        Attribute("created-at", Time, lambda one: timestamp(one.created_at, one.id)),
        Attribute(
            "invitation",
            _STATE.type | None,
            lambda one: None if one.invitation is None else _STATE.of(one),
        ),
    ),
    members=(Attribute("relationships", _RELATIONSHIPS),),
    texts={
        "InvitationAttributes": "Whom to invite; attributes that are not here are ignored.",
        "InvitationResource": "An invitation.",
        "InvitationDocument": "Invites somebody into an organization.",
        "MembershipAttributes": (
            "A membership's attributes. `invitation` is null once it is accepted, and where the "
            "operator's file invited."
        ),
        "MembershipListDocument": (
            "Memberships: a page of them, or all where no page was asked for."
        ),
    },
)
_INVITATION = MEMBERSHIP.new_body(
    attributes={"email": f"{NEW_NAME}@example.com"},
    relationships={"teams": {"data": [{"type": "teams", "id": IDS["team_id"]}]}},
)


class LeftToken(msgspec.Struct):
    """A token of the organization, or of one of its teams, that they made."""

    id: str
    owner: str
    description: str


class LeftThing(msgspec.Struct):
    """A runner that they proposed, or a team in which nobody else can act."""

    id: str
    name: str


class LeftInvitation(msgspec.Struct):
    """An invitation that they sent, by its membership."""

    id: str
    email: str | None


LEFT_BEHIND = Resource[LeftBehind](
    type="left-behind",
    name="LeftBehind",
    noun="what somebody leaves behind",
    tag="Memberships",
    id=lambda one: one.user_id,
    attributes=(
        Attribute(
            "tokens",
            list[LeftToken],
            lambda one: [
                LeftToken(token.id, f"{token.owner_kind} {token.owner_id}", token.description)
                for token in one.tokens
            ],
        ),
        Attribute(
            "runners",
            list[LeftThing],
            lambda one: [LeftThing(runner.id, runner.spec.name) for runner in one.runners],
        ),
        Attribute(
            "invitations",
            list[LeftInvitation],
            lambda one: [LeftInvitation(sent.id, sent.shown_email) for sent in one.invitations],
        ),
        Attribute(
            "teams",
            list[LeftThing],
            lambda one: [LeftThing(team.id, team.name) for team in one.teams],
        ),
    ),
    texts={
        "LeftBehindAttributes": (
            "What goes on without somebody. `teams` are those in which nobody else can act."
        ),
        "LeftBehindResource": "What somebody leaves behind in an organization; its id is theirs.",
    },
)


def users_of(memberships: Iterable[Membership]) -> Iterator[msgspec.Struct]:
    """The users of memberships, each once; who has not accepted an invitation has no name yet."""
    people = {one.user.id: one for one in memberships}
    return (
        USER.shape.of(
            UserView(id_, one.user.username if one.invited_as is None else "", one.shown_email)
        )
        for id_, one in people.items()
    )


def routes(memberships: Memberships) -> list[Route]:
    """The members of a team, as memberships."""
    return [
        Operations(MEMBERSHIP).lists(
            _OF_TEAM,
            "List the memberships in a team: all of them, or a page when one is asked for.",
            memberships.list_of_team,
            shows=_found,
            asks=lambda request: (request.parameters["team_id"], _filter(request)),
            reads=(_SEARCH, _STATUS, _SORT),
            whole=True,
            name="listTeamMemberships",
        )
    ]


def directory_routes(memberships: Memberships, invitations: Invitations) -> list[Route]:
    """All the others, one row an operation."""
    do, left = Operations(MEMBERSHIP), Operations(LEFT_BEHIND)
    return [
        do.lists(
            _ALL,
            "List the memberships of an organization, invitations included.",
            memberships.list,
            shows=_found,
            asks=lambda request: (request.parameters["organization"], _filter(request, named=True)),
            reads=(_SEARCH, _EMAILS, _NAMES, _STATUS, _SORT),
        ),
        do.lists(
            _OWN,
            "List the caller's own memberships and invitations.",
            memberships.list_of_caller,
            shows=_found,
            name="listOwnMemberships",
        ),
        do.creates(
            _ALL,
            "Invite somebody into an organization by e-mail address.",
            invitations.invite,
            _INVITATION,
            shows=_found,
            name="inviteMember",
        ),
        do.reads(_ONE, "Read a membership.", memberships.read, shows=_found),
        do.deletes(
            _ONE,
            "Remove somebody from an organization, and so from all its teams.",
            memberships.remove,
            refuses=(422,),
        ),
        do.acts(
            f"{_ONE}/actions/accept",
            "Accept an invitation, as the invited user.",
            invitations.accept,
            shows=_found,
            name="acceptInvitation",
        ),
        do.acts(
            f"{_ONE}/actions/resend",
            "Send a new link to the invited user; the old one is void.",
            invitations.resend,
            shows=_found,
            refuses=(422,),
            name="resendInvitation",
        ),
        do.acts(
            f"{_ONE}/actions/revoke",
            "Revoke an invitation.",
            memberships.revoke,
            status=204,
            refuses=(422,),
            name="revokeInvitation",
        ),
        left.reads(
            _LEFT_BEHIND,
            "Read what somebody leaves behind: tokens, runners, invitations and teams.",
            memberships.left_behind,
            may_forbid=True,
        ),
        left.deletes(
            _LEFT_BEHIND,
            "Revoke these tokens, delete these runners and take these invitations back.",
            memberships.end_left_behind,
        ),
    ]


def _found(
    page: MembershipPage, includes: frozenset[str] = frozenset({"user"})
) -> Found[Membership]:
    """The memberships and what is included with them: after a change, their users."""
    included: list[msgspec.Struct] = []
    if "user" in includes:
        included += users_of(page.memberships)
    if "teams" in includes:
        included += [
            IncludedTeam(team.id, IncludedTeamAttributes(team.name, team.visibility))
            for team in page.teams.values()
        ]
    return Found(page.memberships, page.total, included if includes else UNSET)


def _filter(request: Request, *, named: bool = False) -> MembershipFilter:
    """Which memberships are wanted."""
    status = text_of(request, _STATUS)
    return MembershipFilter(
        search=text_of(request, _SEARCH),
        emails=words_of(request, _EMAILS) if named else None,
        names=words_of(request, _NAMES) if named else None,
        status=Status.INVITED if status == _INACTIVE else status,
        by_name=text_of(request, _SORT) is not None,
    )
