"""The routes of users: decode, call, encode."""

import msgspec

from teamvars.services.users import Users
from teamvars.web.http.endpoints import Route
from teamvars.web.http.negotiation import MEDIA_TYPE
from teamvars.web.http.request import Answer, Exchange
from teamvars.web.users import documents
from teamvars.web.users.documents import UserDocument

_JSON_API = {"Content-Type": MEDIA_TYPE}


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

    async def read_caller(self, exchange: Exchange) -> Answer:
        """Read who the token belongs to."""
        found = await self._users.read_caller(exchange.require_caller())
        return Answer(200, msgspec.json.encode(documents.user(found)), _JSON_API)

    async def read(self, exchange: Exchange) -> Answer:
        """Read a user of an organization that the caller is in."""
        found = await self._users.read(exchange.require_caller(), exchange.path("user_id"))
        return Answer(200, msgspec.json.encode(documents.user(found)), _JSON_API)
