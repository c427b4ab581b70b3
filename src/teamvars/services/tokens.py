"""Tokens: what they authenticate, and how they are made, shown and revoked."""

from functools import partial

from teamvars.decisions import tokens as decisions
from teamvars.decisions.needs import TokensIssued
from teamvars.domain.access import Caller
from teamvars.domain.errors import there_is_no
from teamvars.domain.ids import new_id
from teamvars.domain.tokens import (
    IssuedToken,
    NewToken,
    OwnerName,
    TokenDraft,
    Whose,
)
from teamvars.security.tokens import hash_token, is_token, new_token
from teamvars.services.house import House, UseCases, looks, makes
from teamvars.storage import access, tokens

_USES_AT_ONCE = 500
"""That one transaction notes: whoever revokes one of these tokens waits for it."""


class Tokens(UseCases):
    """Makes tokens for an operator, and does what callers do with those they manage.

    Owners and the organization's token manage those of the organization and of its teams; a user
    those of their own, with one of them, and that of a team which lets its members. To callers all
    methods refuse unauthenticated and not found.
    """

    list_of = looks(decisions.page)
    list_of_teams = looks(decisions.of_teams)
    show_newest = looks(decisions.newest)
    show = looks(decisions.own)
    end_all = makes(decisions.end_all)
    end = makes(decisions.end)
    end_of_teams = makes(decisions.end_of_teams, in_turns=True)

    async def create(
        self, caller: Caller, owner: OwnerName, lifetime: int | None, *, is_said: bool = True
    ) -> NewToken:
        """See `decisions.tokens.create`."""
        kind = "user" if owner.user is not None else "team" if owner.team else "organization"
        asked = owner, lifetime, fresh_token(kind)
        return await self._make(caller, decisions.create, *asked, is_said=is_said)

    async def make(self, caller: Caller, whose: Whose, draft: TokenDraft) -> NewToken:
        """See `decisions.tokens.make`."""
        return await self._make(caller, decisions.make, whose, draft, fresh_token(whose.kind))


class TokenLimits(UseCases):
    """How long tokens of an organization and its teams may live. Refuses as `Tokens` does."""

    page = looks(decisions.limits_page)
    put = makes(decisions.put_limits, in_turns=True)


def fresh_token(owner_kind: str) -> decisions.Fresh:
    """What a new token of that kind is made with."""
    secret = new_token(owner_kind)
    return decisions.Fresh(new_id("at"), secret, hash_token(secret))


class IssuedTokens(UseCases):
    """What an operator does with tokens that were made.

    A token that is revoked authenticates no request that begins after the method returns. All
    methods that revoke return what they revoked, and refuse: not found.
    """

    revoke_of_user = makes(decisions.revoke_of_user)
    revoke_of_organization = makes(decisions.revoke_of_organization)

    async def list(self) -> list[IssuedToken]:
        """All tokens that were not revoked, oldest first."""
        return await self._database.read(tokens.every)

    async def revoke(self, caller: Caller, token_id: str) -> IssuedToken:
        """One token."""
        # An operator may have pasted the token itself, which must not be printed.
        known_as = "such token" if is_token(token_id) else f"token {token_id}"
        return await self._revoke_one(caller, known_as, TokensIssued("id", token_id))

    async def revoke_leaked(self, caller: Caller, secret: str) -> IssuedToken:
        """The token with that text, which somebody found where it should not be."""
        known_as = "such token: it was never one of this installation, or is revoked already"
        return await self._revoke_one(caller, known_as, TokensIssued("hash", hash_token(secret)))

    async def _revoke_one(self, caller: Caller, what: str, meant: TokensIssued) -> IssuedToken:
        revoked = await self._make(caller, decisions.revoke, meant)
        if not revoked:
            raise there_is_no(what)
        return revoked[0]


class Sessions(UseCases):
    """Authentication, for requests that reach no other service, and when tokens were last used."""

    def __init__(self, house: House) -> None:
        super().__init__(house)
        self._uses: dict[str, int] = {}
        self.in_request = house.database.in_request
        """All that storage is asked inside the context shares one time limit."""

    async def authenticate(self, caller: Caller) -> None:
        """Finds out who calls; those who ask at the same time share a statement.

        Refuses: unauthenticated.
        """
        await self._database.query(lambda tx: access.authenticate(tx, caller, self._clock()))

    def note_use(self, caller: Caller) -> None:
        """Notes that the caller's token was used; `store_uses` writes all of them at once."""
        if caller.actor is not None and caller.actor.token_id is not None:
            self._uses[caller.actor.token_id] = self._clock()

    async def store_uses(self) -> None:
        """Stores the uses noted since the last time, some at a time; keeps what fails to be stored.

        In id order, so that nodes cannot deadlock.
        """
        uses = sorted(self._uses.items())
        for start in range(0, len(uses), _USES_AT_ONCE):
            some = uses[start : start + _USES_AT_ONCE]
            await self._database.write(partial(tokens.note_uses, uses=some, now=self._clock()))
            for token_id, used in some:
                if self._uses.get(token_id) == used:  # and not used again meanwhile
                    del self._uses[token_id]
