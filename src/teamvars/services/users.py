"""Users: who the caller is, and those beside them. Nobody changes users through this."""

import msgspec

from teamvars.domain.access import Caller
from teamvars.domain.errors import not_found
from teamvars.services import Clock
from teamvars.storage import access, users
from teamvars.storage.database import Database, Transaction


class UserView(msgspec.Struct, frozen=True):
    """A user; a team or organization that calls by its own token is a service account.

    `may_create_organizations` is told to the caller alone, and None of anybody else.
    """

    id: str
    username: str
    email: str | None
    is_service_account: bool = False
    may_create_organizations: bool | None = None


class Users:
    """What callers learn of users. All methods refuse unauthenticated."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def read_caller(self, caller: Caller) -> UserView:
        """Whoever calls."""

        async def body(tx: Transaction) -> UserView:
            await access.authenticate(tx, caller, self._clock())
            actor = caller.actor
            assert actor is not None
            if actor.kind != "user":
                return UserView(actor.id, f"api-{actor.kind}-{actor.id}", None, True, False)
            user = await users.find(tx, actor.id)
            assert user is not None  # tokens go with their user
            return UserView(
                user.id,
                user.username,
                user.email,
                may_create_organizations=user.site_admin,
            )

        return await self._database.read(body)

    async def read(self, caller: Caller, user_id: str) -> UserView:
        """The caller, or somebody of an organization the caller is in. Refuses: not found."""

        async def body(tx: Transaction) -> UserView:
            await access.authenticate(tx, caller, self._clock())
            assert caller.actor is not None
            user = await users.find_beside(tx, caller.actor, user_id)
            if user is None:
                raise not_found()
            return UserView(user.id, user.username, user.email)

        return await self._database.read(body)
