"""The documents of team membership: what the service takes and what it answers with."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from teamvars.domain.team_members import MAX_ITEMS, LinkageType, MembersDraft
from teamvars.web.examples import IDS
from teamvars.web.http.reader import Reader
from teamvars.web.http.resource_objects import Identifier
from teamvars.web.http.routes import RequestBody


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
    """Whom a request adds or removes (contract §5)."""
    read = Reader(document)
    items = read.at_most(MAX_ITEMS, read.data(list) or [], "/data")
    ids = [read.identifier(item, linkage, f"/data/{n}") for n, item in enumerate(items)]
    return MembersDraft(ids, read.faults)


def linkage(ids: Sequence[str], type_: LinkageType) -> LinkageDocument:
    """The document of a team's members."""
    return LinkageDocument([Identifier(id_, type_) for id_ in ids])
