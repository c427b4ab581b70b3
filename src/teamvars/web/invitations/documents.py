"""The documents about a link: its secret comes in a body alone, never in a path or a query."""

from typing import Literal

import msgspec

from teamvars.domain.errors import refuse_all
from teamvars.domain.invitations import Invited
from teamvars.web.examples import IDS
from teamvars.web.http.formats import Email, Time, timestamp
from teamvars.web.http.reader import Reader
from teamvars.web.http.routes import RequestBody

TYPE = "invitations"


class LinkAttributes(msgspec.Struct):
    """The part of a link behind `#`."""

    secret: str


class LinkResource(msgspec.Struct):
    """A link."""

    type: Literal["invitations"]
    attributes: LinkAttributes


class LinkDocument(msgspec.Struct):
    """What whoever holds a link sends."""

    data: LinkResource


class InvitedAttributes(msgspec.Struct, rename="kebab"):
    """Who invites whom where. `inviter` is null where no user did. With `first-token` accepting by
    the link ends with a token; without it the user accepts with one of their own.
    """

    organization: str
    inviter: str | None
    email: Email
    expires_at: Time
    first_token: bool


class InvitedResource(msgspec.Struct, tag_field="type", tag=TYPE):
    """What a link opens; its id is that of the membership."""

    id: str
    attributes: InvitedAttributes


class InvitedDocument(msgspec.Struct):
    """What a link opens."""

    data: InvitedResource


LINK = RequestBody(
    LinkDocument, {"data": {"type": TYPE, "attributes": {"secret": IDS["link_secret"]}}}
)


def secret(document: object) -> str:
    """The secret of a link. Refuses every fault of the document."""
    read = Reader(document)
    _, attributes = read.new_resource(TYPE)
    found = read.member(attributes, "secret", str, "/data/attributes")
    refuse_all(read.faults)
    assert found is not None  # else there is a fault
    return found


def invited(found: Invited) -> InvitedDocument:
    """The document of what a link opens."""
    return InvitedDocument(
        InvitedResource(
            found.membership_id,
            InvitedAttributes(
                organization=found.organization,
                inviter=found.inviter,
                email=found.address,
                expires_at=timestamp(found.expires_at, found.membership_id),
                first_token=found.first_token,
            ),
        )
    )
