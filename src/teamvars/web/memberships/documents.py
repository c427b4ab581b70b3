"""The documents of memberships: what the service takes and what it answers with."""

from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from teamvars.domain.invitations import Delivery
from teamvars.domain.memberships import InvitationDraft, Membership, Status
from teamvars.domain.team_members import MAX_ITEMS
from teamvars.domain.teams import Visibility
from teamvars.services.memberships import MembershipPage
from teamvars.web.examples import IDS, NEW_NAME
from teamvars.web.http import paging
from teamvars.web.http.formats import Email, Time, timestamp
from teamvars.web.http.reader import Reader
from teamvars.web.http.resource_objects import Identifier
from teamvars.web.http.routes import RequestBody
from teamvars.web.organizations.documents import OrganizationLinkage
from teamvars.web.users.documents import UserAttributes, UserResource

TYPE = "organization-memberships"
INCLUDES = ("user", "teams")


class InvitationAttributes(msgspec.Struct, kw_only=True):
    """Whom to invite; attributes that are not here are ignored."""

    email: Email


class TeamIdentifier(msgspec.Struct):
    """A team by id."""

    type: Literal["teams"]
    id: str


class TeamsToJoin(msgspec.Struct):
    """Teams of the organization."""

    data: Annotated[list[TeamIdentifier], Meta(max_length=MAX_ITEMS)]


class InvitationRelationships(msgspec.Struct):
    """Into which teams to put whoever is invited."""

    teams: TeamsToJoin | UnsetType = UNSET


class InvitationResource(msgspec.Struct):
    """An invitation."""

    type: Literal["organization-memberships"]
    attributes: InvitationAttributes
    relationships: InvitationRelationships | UnsetType = UNSET


class InvitationDocument(msgspec.Struct):
    """Invites somebody into an organization."""

    data: InvitationResource


class InvitationState(msgspec.Struct, rename="kebab"):
    """Until when an invitation can be accepted, and what became of the message with its link."""

    expires_at: Time
    delivery: Delivery


class MembershipAttributes(msgspec.Struct, rename="kebab"):
    """A membership's attributes. `invitation` is null once it is accepted, and where the operator's
    file invited.
    """

    status: Status
    email: Email | None
    created_at: Time
    invitation: InvitationState | None


class UserLinkage(msgspec.Struct):
    """Whose membership it is."""

    data: Identifier


class TeamsLinkage(msgspec.Struct):
    """Those of its teams that the caller sees."""

    data: list[Identifier]


class MembershipRelationships(msgspec.Struct):
    """Of whom, in what."""

    organization: OrganizationLinkage
    user: UserLinkage
    teams: TeamsLinkage


class MembershipResource(msgspec.Struct, tag_field="type", tag=TYPE):
    """A membership."""

    id: str
    attributes: MembershipAttributes
    relationships: MembershipRelationships


class IncludedTeamAttributes(msgspec.Struct):
    """What a membership says of a team."""

    name: str
    visibility: Visibility


class IncludedTeam(msgspec.Struct, tag_field="type", tag="teams"):
    """A team of an included membership."""

    id: str
    attributes: IncludedTeamAttributes


Included = list[UserResource | IncludedTeam]


class MembershipDocument(msgspec.Struct):
    """One membership."""

    data: MembershipResource
    included: Included | UnsetType = UNSET


class MembershipListDocument(msgspec.Struct):
    """Memberships: a page of them, or all where no page was asked for."""

    data: list[MembershipResource]
    included: Included | UnsetType = UNSET
    links: paging.PageLinks | UnsetType = UNSET
    meta: paging.PageMeta | UnsetType = UNSET


INVITATION = RequestBody(
    InvitationDocument,
    {
        "data": {
            "type": TYPE,
            "attributes": {"email": f"{NEW_NAME}@example.com"},
            "relationships": {"teams": {"data": [{"type": "teams", "id": IDS["team_id"]}]}},
        }
    },
)


def invitation(document: object) -> InvitationDraft:
    """Whom a request invites, with every fault of the document."""
    read = Reader(document)
    data, attributes = read.new_resource(TYPE)
    email = read.member(attributes, "email", str, "/data/attributes")
    relationships = read.member(data, "relationships", dict, "/data", required=False)
    teams = read.member(relationships, "teams", dict, "/data/relationships", required=False)
    at = "/data/relationships/teams"
    items = read.member(teams, "data", list, at) or []
    items = read.at_most(MAX_ITEMS, items, f"{at}/data")
    ids = [read.identifier(item, "teams", f"{at}/data/{n}") for n, item in enumerate(items)]
    return InvitationDraft(email, ids, read.faults)


def path(view: Membership) -> str:
    """Where a membership is."""
    return f"/api/v2/organization-memberships/{view.id}"


def membership(found: MembershipPage, includes: frozenset[str]) -> MembershipDocument:
    """The document of one membership."""
    return MembershipDocument(resource(found.memberships[0]), _included(found, includes))


def membership_list(
    found: MembershipPage,
    includes: frozenset[str],
    links: paging.PageLinks | UnsetType = UNSET,
    meta: paging.PageMeta | UnsetType = UNSET,
) -> MembershipListDocument:
    """The document of several memberships."""
    data = [resource(view) for view in found.memberships]
    return MembershipListDocument(data, _included(found, includes), links, meta)


def resource(view: Membership) -> MembershipResource:
    """A membership as it stands in a document."""
    return MembershipResource(
        id=view.id,
        attributes=MembershipAttributes(
            view.status,
            view.shown_email,
            timestamp(view.created_at, view.id),
            _invitation(view),
        ),
        relationships=MembershipRelationships(
            OrganizationLinkage(Identifier(view.organization_name, "organizations")),
            UserLinkage(Identifier(view.user.id, "users")),
            TeamsLinkage([Identifier(id_, "teams") for id_ in view.team_ids]),
        ),
    )


def _invitation(view: Membership) -> InvitationState | None:
    invitation = view.invitation
    if invitation is None:
        return None
    return InvitationState(timestamp(invitation.expires_at, view.id), invitation.delivery)


def users_of(views: Iterable[Membership]) -> list[UserResource]:
    """The users of memberships, each once."""
    people = {view.user.id: UserAttributes(view.shown_username, view.shown_email) for view in views}
    return [UserResource(id_, attributes) for id_, attributes in people.items()]


def _included(found: MembershipPage, includes: frozenset[str]) -> Included | UnsetType:
    if not includes:
        return UNSET
    included: Included = []
    if "user" in includes:
        included += users_of(found.memberships)
    if "teams" in includes:
        included += [
            IncludedTeam(team.id, IncludedTeamAttributes(team.name, team.visibility))
            for team in found.teams.values()
        ]
    return included
