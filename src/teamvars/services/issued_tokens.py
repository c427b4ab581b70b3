"""The tokens that are out there, as the operator looks at them and ends them."""

from collections.abc import Awaitable, Callable, Sequence

from teamvars.domain.access import Caller
from teamvars.domain.errors import there_is_no
from teamvars.domain.tokens import IssuedToken
from teamvars.security.chain import Chain
from teamvars.security.tokens import hash_token, is_token
from teamvars.services import Clock
from teamvars.services.directory import tokens as token_changes
from teamvars.services.directory.ledger import Ledger
from teamvars.storage import issued_tokens, operator_names, tokens, users
from teamvars.storage.database import Database, Transaction

_Find = Callable[[Transaction], Awaitable[Sequence[IssuedToken]]]


class IssuedTokens:
    """What an operator does with tokens that were made.

    A token that is revoked authenticates no request that begins after the method returns. All
    methods that revoke return what they revoked, and refuse: not found.
    """

    def __init__(self, database: Database, chain: Chain, clock: Clock) -> None:
        self._database = database
        self._chain = chain
        self._clock = clock

    async def list(self) -> list[IssuedToken]:
        """All tokens that were not revoked, oldest first."""
        return await self._database.read(issued_tokens.every)

    async def revoke(self, caller: Caller, token_id: str) -> IssuedToken:
        """One token."""
        # An operator may have pasted the token itself, which must not be printed.
        known_as = "such token" if is_token(token_id) else f"token {token_id}"
        return await self._revoke_one(
            caller, known_as, lambda tx: issued_tokens.by_id(tx, token_id)
        )

    async def revoke_leaked(self, caller: Caller, secret: str) -> IssuedToken:
        """The token with that text, which somebody found where it should not be."""
        hash_ = hash_token(secret)
        return await self._revoke_one(
            caller,
            "such token: it was never one of this installation, or is revoked already",
            lambda tx: issued_tokens.by_hash(tx, hash_),
        )

    async def revoke_of_user(self, caller: Caller, who: str) -> Sequence[IssuedToken]:
        """All of a user's own, which go by name, e-mail address or id."""

        async def find(tx: Transaction) -> Sequence[IssuedToken]:
            return await issued_tokens.of_user(tx, (await users.find_one(tx, who)).id)

        return await self._revoke(caller, find)

    async def revoke_of_organization(self, caller: Caller, name: str) -> Sequence[IssuedToken]:
        """That of an organization and those of its teams; its members' own are not its."""

        async def find(tx: Transaction) -> Sequence[IssuedToken]:
            await operator_names.organization(tx, name)
            return await issued_tokens.of_organization(tx, name)

        return await self._revoke(caller, find)

    async def _revoke_one(self, caller: Caller, what: str, find: _Find) -> IssuedToken:
        revoked = await self._revoke(caller, find)
        if not revoked:
            raise there_is_no(what)
        return revoked[0]

    async def _revoke(self, caller: Caller, find: _Find) -> Sequence[IssuedToken]:
        """Revokes all that is found once the streams of their owners are locked."""

        async def body(tx: Transaction) -> Sequence[IssuedToken]:
            ledger = Ledger(tx, caller, self._chain, self._clock())
            found = await ledger.locked(
                lambda: find(tx),
                lambda seen: {tokens.stream_of(issued.token) for issued in seen},
            )
            for issued in found:
                await token_changes.revoke(ledger, issued.token)
            return found

        return await self._database.write(body)
