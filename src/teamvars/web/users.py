"""Users: the caller, and others of their organizations."""

from teamvars.services.users import Users, UserView
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import Attribute, Email, Group, fixed
from teamvars.web.http.resources import Operations, Resource
from teamvars.web.http.routes import Route
from teamvars.web.http.sending import Response

# Clients want one. It is the same for all and leads nowhere: no other server learns whom they show.
_AVATAR = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 2 2'%3E"
    "%3Ccircle cx='1' cy='1' r='1' fill='%23888'/%3E%3C/svg%3E"
)
_TWO_FACTOR = Group[UserView](
    "TwoFactor",
    "Nobody has a second factor here.",
    *fixed({"enabled": False, "verified": False}),
)
_PERMISSIONS = Group[UserView](
    "UserPermissions",
    "What the caller may do, as clients ask before they offer it; the operator does the rest.",
    Attribute("can-create-organizations", bool, lambda one: one.may_create_organizations),
    Attribute("can-manage-user-tokens", bool, lambda one: not one.is_service_account),
    *fixed(
        {
            "can-change-email": False,
            "can-change-username": False,
            "can-view-settings": False,
            "can-view-profile": False,
            "can-view2fa-settings": False,
            "can-manage-hcp-account": False,
        }
    ),
)
USER = Resource[UserView](
    type="users",
    name="User",
    noun="a user",
    tag="Users",
    tagged=True,
    id=lambda one: one.id,
    attributes=(
        Attribute("username", str, lambda one: one.username),
        Attribute("email", Email | None, lambda one: one.email),
        Attribute("is-service-account", bool, lambda one: one.is_service_account, default=False),
        Attribute("avatar-url", str, default=_AVATAR),
        Attribute("two-factor", _TWO_FACTOR),
        Attribute("unconfirmed-email", str | None, default=None),
        Attribute("v2-only", bool, default=False),
        Attribute(
            "permissions", _PERMISSIONS, when=lambda one: one.may_create_organizations is not None
        ),
    ),
    texts={
        "UserAttributes": (
            "A user's attributes; those with a default are the same for all, but for "
            "`permissions`.\n\nThose are the caller's alone."
        ),
    },
)


def routes(users: Users) -> list[Route]:
    """One row an operation."""

    async def update(request: Request) -> Response:
        """Refuse to change the caller's account: only the operator does."""
        await users.refuse_change(request.require_caller())
        raise AssertionError

    do = Operations(USER)
    account = "/api/v2/account/details"
    return [
        do.reads(account, "Read who the token belongs to.", users.read_caller, name="readAccount"),
        Route(
            "PATCH",
            "/api/v2/account/update",
            update,
            {},
            may_forbid=True,
            name="updateAccount",
            tag=USER.tag,
        ),
        do.reads(
            "/api/v2/users/{user_id}",
            "Read a user of an organization that the caller is in.",
            users.read,
        ),
    ]
