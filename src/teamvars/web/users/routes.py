"""The routes of users: decode, call, encode."""

from teamvars.services.users import Users
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response
from teamvars.web.http.routes import Route
from teamvars.web.users import documents
from teamvars.web.users.documents import UserDocument


class UserRoutes:
    """Who the caller is, and who is beside them."""

    def __init__(self, users: Users) -> None:
        self._users = users

    def routes(self) -> list[Route]:
        """One row an operation."""
        one = {200: UserDocument}
        return [
            Route("GET", "/api/v2/account/details", self.read_caller, one, name="readAccount"),
            Route("GET", "/api/v2/users/{user_id}", self.read, one, name="readUser"),
        ]

    async def read_caller(self, request: Request) -> Response:
        """Read who the token belongs to."""
        found = await self._users.read_caller(request.require_caller())
        return Response.document(200, documents.user(found))

    async def read(self, request: Request) -> Response:
        """Read a user of an organization that the caller is in."""
        found = await self._users.read(request.require_caller(), request.path("user_id"))
        return Response.document(200, documents.user(found))
