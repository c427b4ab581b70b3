"""Team membership: relationships that are changed by linkage."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from teamvars.decisions.team_members import Direction
from teamvars.domain.team_members import MAX_ITEMS, LinkageType, MembersDraft
from teamvars.services.teams import TeamMembers
from teamvars.web.examples import IDS
from teamvars.web.http.idempotency import changed
from teamvars.web.http.reader import Reader
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import Identifier
from teamvars.web.http.routes import RequestBody, Route
from teamvars.web.http.sending import Response


class UserIdentifier(msgspec.Struct):
    """A user by id."""

    type: Literal["users"]
    id: str


class MembershipIdentifier(msgspec.Struct):
    """A user by organization membership."""

    type: Literal["organization-memberships"]
    id: str


class UsersDocument(msgspec.Struct):
    """Users to add or remove, all or none."""

    data: Annotated[list[UserIdentifier], Meta(max_length=MAX_ITEMS)]


class MembershipsDocument(msgspec.Struct):
    """Organization memberships to add or remove, all or none."""

    data: Annotated[list[MembershipIdentifier], Meta(max_length=MAX_ITEMS)]


class LinkageDocument(msgspec.Struct):
    """The members of a team."""

    data: list[Identifier]


class _PlainIdentifier(msgspec.Struct, forbid_unknown_fields=True):
    type: LinkageType
    id: str


class _Plain(msgspec.Struct, forbid_unknown_fields=True):
    """A document that says no more than almost every one does."""

    data: Annotated[list[_PlainIdentifier], Meta(max_length=MAX_ITEMS)]


_NAMES = {LinkageType.USERS: "Users", LinkageType.ORGANIZATION_MEMBERSHIPS: "Memberships"}
MEMBERS = {
    LinkageType.USERS: RequestBody(
        UsersDocument, {"data": [{"type": "users", "id": IDS["user_id"]}]}
    ),
    LinkageType.ORGANIZATION_MEMBERSHIPS: RequestBody(
        MembershipsDocument,
        {"data": [{"type": "organization-memberships", "id": IDS["membership_id"]}]},
    ),
}


def draft(document: object, linkage: LinkageType) -> MembersDraft:
    """Whom a request adds or removes (contract §5).

    As for variables, a document that is at fault in nothing is read by its type.
    """
    try:
        plain = msgspec.convert(document, _Plain).data
    except msgspec.ValidationError:
        plain = []
    if plain and all(item.type is linkage and "\0" not in item.id for item in plain):
        return MembersDraft([item.id for item in plain])
    read = Reader(document)
    items = read.at_most(MAX_ITEMS, read.data(list) or [], "/data")
    ids = [read.identifier(item, linkage, f"/data/{n}") for n, item in enumerate(items)]
    return MembersDraft(ids, read.faults)


def routes(members: TeamMembers) -> list[Route]:
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
        Route("GET", by_users, users, {200: LinkageDocument}, name="listTeamUsers"),
        *(
            _change(members, linkage, direction)
            for linkage in LinkageType
            for direction in ("add", "remove")
        ),
    ]


def _change(members: TeamMembers, linkage: LinkageType, direction: Direction) -> Route:
    async def change(request: Request) -> Response:
        caller, team_id = request.require_caller(), request.parameters["team_id"]
        said = draft(request.document, linkage)
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
        name=f"{direction}Team{_NAMES[linkage]}",
    )
