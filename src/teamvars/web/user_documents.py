"""The documents of users."""

import msgspec

from teamvars.services.users import UserView
from teamvars.web.formats import Email


class TwoFactor(msgspec.Struct):
    """Nobody has a second factor here."""

    enabled: bool = False
    verified: bool = False


class UserAttributes(msgspec.Struct, rename="kebab"):
    """A user's attributes; those with a default are the same for all."""

    username: str
    email: Email | None
    is_service_account: bool = False
    avatar_url: str | None = None
    two_factor: TwoFactor = msgspec.field(default_factory=TwoFactor)
    unconfirmed_email: str | None = None
    v2_only: bool = False


class UserResource(msgspec.Struct, tag_field="type", tag="users"):
    """A user."""

    id: str
    attributes: UserAttributes


class UserDocument(msgspec.Struct):
    """One user."""

    data: UserResource


def user(view: UserView) -> UserDocument:
    """The document of one user."""
    attributes = UserAttributes(view.username, view.email, view.is_service_account)
    return UserDocument(UserResource(view.id, attributes))
