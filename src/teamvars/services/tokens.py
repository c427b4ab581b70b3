"""Tokens: made by the operator; made, shown and revoked by their owners and by their users."""

import msgspec

from teamvars.domain.access import Caller
from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.discreet import Discreet
from teamvars.domain.errors import Code, Fault, Refusal, not_found, refuse_all, there_is_no
from teamvars.domain.ids import new_id
from teamvars.domain.names import fold
from teamvars.domain.pages import Page, Paged
from teamvars.domain.tokens import (
    MAX_LIVE_TOKENS,
    Token,
    TokenDraft,
    TokenOwner,
    can_expire,
    no_such_expiry,
    too_many,
)
from teamvars.security.chain import Chain
from teamvars.services import Clock
from teamvars.services.directory import tokens as token_changes
from teamvars.services.directory.ledger import Ledger
from teamvars.storage import access, access_by_name, operator_names, organizations, tokens, users
from teamvars.storage.database import Database, Transaction


class OwnerName(msgspec.Struct, frozen=True):
    """Whom a token is for, by name: a user, an organization, or a team of that organization."""

    user: str | None = None
    organization: str | None = None
    team: str | None = None


class NewToken(Discreet, frozen=True):
    """A token just made. `secret` is the token itself: shown once, stored nowhere."""

    token: Token
    secret: str


class OfOrganization(msgspec.Struct, frozen=True):
    """The token of an organization, by the organization's name."""

    name: str


class OfTeam(msgspec.Struct, frozen=True):
    """The token of a team."""

    id: str


class OfUser(msgspec.Struct, frozen=True):
    """The tokens of a user."""

    id: str


Whose = OfOrganization | OfTeam | OfUser
"""Whose tokens a caller speaks of. A user has any number, a team and an organization one."""


class Tokens:
    """Makes tokens for an operator, and does what callers do with those they manage.

    Owners and the organization's token manage those of the organization and of its teams; a user
    those of their own, with one of them, and that of a team which lets its members. To callers all
    methods refuse unauthenticated and not found.
    """

    def __init__(self, database: Database, chain: Chain, clock: Clock) -> None:
        self._database = database
        self._chain = chain
        self._clock = clock

    async def create(self, caller: Caller, owner: OwnerName, lifetime: int | None) -> NewToken:
        """A token that lives `lifetime` µs, or until it is revoked.

        Refuses: not found, an end that cannot be written, too many live tokens.
        """

        async def body(tx: Transaction) -> NewToken:
            ledger = self._ledger(tx, caller)
            whose = await _owner(tx, owner)
            await ledger.lock([whose.stream_id])
            expires_at = None if lifetime is None else ledger.now + lifetime
            if lifetime is not None and not can_expire(expires_at, ledger.now):
                raise Refusal(no_such_expiry())
            refuse_all(await _surplus(tx, whose, ledger.now))
            token = Token(new_id("at"), whose.kind, whose.id, ledger.now, expires_at, None)
            return NewToken(token, await token_changes.create(ledger, token))

        return await self._database.write(body)

    async def make(self, caller: Caller, whose: Whose, draft: TokenDraft) -> NewToken:
        """A new token; of a team or organization it takes the place of all there were.

        A user's ends no later than the one it is made with. Refuses: forbidden, every fault of the
        draft, and too many live tokens.
        """

        async def body(tx: Transaction) -> NewToken:
            ledger = self._ledger(tx, caller)
            owner = await self._locked(ledger, caller, whose)
            latest = await _own_end(tx, caller) if owner.kind == "user" else None
            faults = draft.all_faults(ledger.now, latest)
            if owner.kind == "user":
                faults += await _surplus(tx, owner, ledger.now)
            refuse_all(faults)
            if owner.kind != "user":
                for former in await tokens.of_owner(tx, owner):
                    await token_changes.revoke(ledger, former)
            token = Token(
                id=new_id("at"),
                owner_kind=owner.kind,
                owner_id=owner.id,
                created_at=ledger.now,
                expires_at=draft.expires_at(ledger.now, latest),
                last_used_at=None,
                description=draft.description or "",
                created_by=caller.user_id,
            )
            return NewToken(token, await token_changes.create(ledger, token))

        return await self._database.write(body)

    async def list_of(self, caller: Caller, whose: Whose, page: Page) -> Paged[Token]:
        """A page of somebody's tokens, expired ones included. Refuses: forbidden."""

        async def body(tx: Transaction) -> Paged[Token]:
            owner = await _managed(tx, caller, self._clock(), whose)
            return await tokens.page_of_owner(tx, owner, page)

        return await self._database.read(body)

    async def show_newest(self, caller: Caller, whose: Whose) -> Token:
        """The token of a team or organization. Refuses: forbidden, there is none."""

        async def body(tx: Transaction) -> Token:
            owner = await _managed(tx, caller, self._clock(), whose)
            found = await tokens.of_owner(tx, owner)
            if not found:
                raise not_found()
            return found[-1]

        return await self._database.read(body)

    async def show(self, caller: Caller, token_id: str) -> Token:
        """One token, shown to whoever manages it."""

        async def body(tx: Transaction) -> Token:
            return await _own(tx, caller, self._clock(), token_id)

        return await self._database.read(body)

    async def end_all(self, caller: Caller, whose: Whose) -> None:
        """Revokes the token of a team or organization. Refuses: forbidden, there is none."""

        async def body(tx: Transaction) -> None:
            ledger = self._ledger(tx, caller)
            found = await tokens.of_owner(tx, await self._locked(ledger, caller, whose))
            if not found:
                raise not_found()
            for token in found:
                await token_changes.revoke(ledger, token)

        await self._database.write(body)

    async def end(self, caller: Caller, token_id: str) -> None:
        """Revokes one token, be it the caller's own."""

        async def body(tx: Transaction) -> None:
            ledger = self._ledger(tx, caller)
            token = await ledger.locked(
                lambda: _own(tx, caller, ledger.now, token_id),
                lambda seen: [tokens.stream_of(seen)],
            )
            await token_changes.revoke(ledger, token)

        await self._database.write(body)

    async def _locked(self, ledger: Ledger, caller: Caller, whose: Whose) -> TokenOwner:
        """Whose tokens they are, once their stream is locked, for a caller who manages them."""
        return await ledger.locked(
            lambda: _managed(ledger.tx, caller, ledger.now, whose),
            lambda seen: [seen.stream_id],
        )

    def _ledger(self, tx: Transaction, caller: Caller) -> Ledger:
        return Ledger(tx, caller, self._chain, self._clock())


async def _owner(tx: Transaction, named: OwnerName) -> TokenOwner:
    """Whom an operator names. Refuses: not found, by name; a user who is disabled."""
    if named.user is not None:
        user = (await users.find_all(tx, [named.user])).get(fold(named.user))
        if user is None:
            raise there_is_no(f"user {named.user}")
        if user.disabled:
            detail = f"User {named.user} is disabled, and so would the token be. Enable them first."
            raise Refusal(Fault(Code.INVALID_VALUE, detail))
        return TokenOwner("user", user.id, SYSTEM_STREAM)
    organization = await operator_names.organization(tx, named.organization or "")
    if named.team is not None:
        team = await operator_names.team(tx, organization, named.team)
        return TokenOwner("team", team.id, team.id)
    return TokenOwner("organization", organization.id, organization.id)


async def _own_end(tx: Transaction, caller: Caller) -> int | None:
    """When the token ends that the caller uses."""
    assert caller.actor is not None and caller.actor.token_id is not None  # authenticated by it
    return (await tokens.get(tx, caller.actor.token_id)).expires_at


async def _surplus(tx: Transaction, owner: TokenOwner, now: int) -> list[Fault]:
    """The fault of one token more than an owner may have; the owner's stream must be locked."""
    live = await tokens.count_live(tx, owner, now)
    return [too_many()] if live >= MAX_LIVE_TOKENS else []


async def _managed(tx: Transaction, caller: Caller, now: int, whose: Whose) -> TokenOwner:
    """Whose tokens they are. Refuses: not found, forbidden to whoever does not manage them."""
    match whose:
        case OfOrganization(name):
            granted = await access_by_name.organization(tx, caller, now, name)
            granted.require_owner()
            id_ = granted.organization.id
            return TokenOwner("organization", id_, id_)
        case OfTeam(id_):
            seen = await access.team(tx, caller, now, id_)
            seen.require_manage_token()
            return TokenOwner("team", id_, id_)
        case OfUser(id_):
            await access.authenticate(tx, caller, now)
            actor = caller.actor
            if actor is None or (actor.kind, actor.id) != ("user", id_):
                raise not_found()
            return TokenOwner("user", id_, SYSTEM_STREAM)


async def _own(tx: Transaction, caller: Caller, now: int, token_id: str) -> Token:
    """A token that the caller manages. Refuses: not found, for every other one as well."""
    await access.authenticate(tx, caller, now)
    token = await tokens.get(tx, token_id)
    if token.owner_kind == "user":
        await _managed(tx, caller, now, OfUser(token.owner_id))
    elif token.owner_kind == "team":
        if not (await access.team(tx, caller, now, token.owner_id)).manages_token:
            raise not_found()
    elif not await _owns(tx, caller, now, token.owner_id):
        raise not_found()
    return token


async def _owns(tx: Transaction, caller: Caller, now: int, organization_id: str) -> bool:
    found = await organizations.get(tx, organization_id)
    return (await access.organization(tx, caller, now, found.name)).is_owner
