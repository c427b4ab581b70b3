"""Tokens, as the operator makes, lists and revokes them."""

from dataclasses import dataclass, field

from teamvars.domain.access import Caller
from teamvars.domain.ids import new_id
from teamvars.domain.tokens import Token
from teamvars.security.chain import Chain
from teamvars.security.tokens import hash_token, new_token
from teamvars.services import Clock
from teamvars.storage import streams, tokens
from teamvars.storage.database import Database, Transaction


@dataclass(frozen=True, slots=True)
class OwnerName:
    """Whom a token is for, by name: a user, an organization, or a team of that organization."""

    user: str | None = None
    organization: str | None = None
    team: str | None = None


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token just made. `secret` is the token itself: shown once, stored nowhere."""

    id: str
    secret: str = field(repr=False)


class Tokens:
    """What an operator does with tokens."""

    def __init__(self, database: Database, chain: Chain, clock: Clock) -> None:
        self._database = database
        self._chain = chain
        self._clock = clock

    async def create(self, caller: Caller, owner: OwnerName, lifetime: int | None) -> NewToken:
        """A token that lives `lifetime` µs, or until it is revoked. Refuses: not found."""

        async def body(tx: Transaction) -> NewToken:
            now = self._clock()
            if owner.user is not None:
                whose = await tokens.find_user(tx, owner.user)
            elif owner.team is None:
                whose = await tokens.find_organization(tx, owner.organization or "")
            else:
                whose = await tokens.find_team(tx, owner.organization or "", owner.team)
            stream = (await streams.lock(tx, [whose.stream_id]))[whose.stream_id]
            secret = new_token(whose.kind)
            expires_at = None if lifetime is None else now + lifetime
            token = Token(new_id("at"), whose.kind, whose.id, now, expires_at, None)
            await tokens.insert(tx, token, hash_token(secret))
            event = caller.event("token.create", _subject(token), _summary(token), now)
            await streams.append(tx, *self._chain.extend(stream, event))
            return NewToken(token.id, secret)

        return await self._database.write(body)

    async def list(self) -> list[Token]:
        """All tokens that were not revoked, oldest first."""
        return await self._database.read(tokens.find_all)

    async def revoke(self, caller: Caller, token_id: str) -> None:
        """Ends a token: no request that begins after this returns is authenticated by it.

        Refuses: not found.
        """

        async def body(tx: Transaction) -> None:
            stream_id = tokens.stream_of(await tokens.get(tx, token_id))
            stream = (await streams.lock(tx, [stream_id]))[stream_id]
            token = await tokens.get(tx, token_id)
            await tokens.delete(tx, token_id)
            event = caller.event("token.revoke", _subject(token), _summary(token), self._clock())
            await streams.append(tx, *self._chain.extend(stream, event))

        await self._database.write(body)


def _subject(token: Token) -> tuple[str, str]:
    return "authentication-tokens", token.id


def _summary(token: Token) -> dict[str, object]:
    return {"owner": f"{token.owner_kind} {token.owner_id}", "expires-at": token.expires_at}
