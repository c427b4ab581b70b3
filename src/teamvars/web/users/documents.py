"""The documents of users."""

import msgspec
from msgspec import UNSET, UnsetType

from teamvars.services.users import UserView
from teamvars.web.http.formats import Email

# Clients want one. It is the same for all and leads nowhere: no other server learns whom they show.
_AVATAR = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 2 2'%3E"
    "%3Ccircle cx='1' cy='1' r='1' fill='%23888'/%3E%3C/svg%3E"
)


class TwoFactor(msgspec.Struct):
    """Nobody has a second factor here."""

    enabled: bool = False
    verified: bool = False


class UserPermissions(msgspec.Struct, rename="kebab"):
    """What the caller may do, as clients ask before they offer it; the operator does the rest."""

    can_create_organizations: bool
    can_manage_user_tokens: bool
    can_change_email: bool = False
    can_change_username: bool = False
    can_view_settings: bool = False
    can_view_profile: bool = False
    can_view2fa_settings: bool = msgspec.field(default=False, name="can-view2fa-settings")
    can_manage_hcp_account: bool = False


class UserAttributes(msgspec.Struct, rename="kebab"):
    """A user's attributes; those with a default are the same for all, but for `permissions`.

    Those are the caller's alone.
    """

    username: str
    email: Email | None
    is_service_account: bool = False
    avatar_url: str = _AVATAR
    two_factor: TwoFactor = msgspec.field(default_factory=TwoFactor)
    unconfirmed_email: str | None = None
    v2_only: bool = False
    permissions: UserPermissions | UnsetType = UNSET


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
    if view.may_create_organizations is not None:
        own_tokens = not view.is_service_account
        attributes.permissions = UserPermissions(view.may_create_organizations, own_tokens)
    return UserDocument(UserResource(view.id, attributes))
