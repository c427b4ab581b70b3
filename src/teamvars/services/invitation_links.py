"""The links of invitations: what one opens, and accepting by one."""

from teamvars.domain.access import Caller
from teamvars.domain.audit import SYSTEM_STREAM, Actor
from teamvars.domain.errors import Kind, Refusal, forbidden
from teamvars.domain.ids import new_id
from teamvars.domain.invitations import FIRST_TOKEN_LIFETIME, Invited, no_longer_valid
from teamvars.domain.tokens import Token
from teamvars.security.chain import Chain
from teamvars.security.tokens import has_invitation_form, hash_token
from teamvars.services import Clock
from teamvars.services.directory import tokens as token_changes
from teamvars.services.directory.ledger import Ledger
from teamvars.services.invitations import accept_for_user
from teamvars.services.tokens import NewToken
from teamvars.storage import invitations, memberships
from teamvars.storage.database import Database, Transaction


class InvitationLinks:
    """What whoever holds a link does with it, without a token.

    To all that is no link, or no longer one, both methods refuse alike. Who guesses takes no lock
    and waits for no writer.
    """

    def __init__(self, database: Database, chain: Chain, clock: Clock) -> None:
        self._database = database
        self._chain = chain
        self._clock = clock

    async def show(self, secret: str) -> Invited:
        """Who invites whom where. It uses nothing up."""
        hash_ = _hash(secret)

        async def body(tx: Transaction) -> Invited:
            return await self._open(tx, hash_)

        return await self._database.query(body)

    async def accept(self, caller: Caller, secret: str) -> NewToken:
        """Makes the membership active, and shows its user the first token, this once.

        The caller becomes that user. Refuses: forbidden, where the user has to accept with a token
        of their own; the link is as good as before then.
        """
        hash_ = _hash(secret)

        async def body(tx: Transaction) -> NewToken:
            ledger = Ledger(tx, caller, self._chain, self._clock())

            async def look() -> Invited:
                found = await self._open(tx, hash_)
                _require_first_token(found)
                return found

            found = await ledger.locked(look, lambda it: [it.organization_id, SYSTEM_STREAM])
            caller.actor = Actor("user", found.user.id)
            membership = await memberships.find(tx, found.membership_id)
            assert membership is not None  # it is locked
            await accept_for_user(ledger, membership)
            token = Token(
                id=new_id("at"),
                owner_kind="user",
                owner_id=found.user.id,
                created_at=ledger.now,
                expires_at=ledger.now + FIRST_TOKEN_LIFETIME,
                last_used_at=None,
                description="by invitation",  # other organizations read it as well
                created_by=found.user.id,
            )
            return NewToken(token, await token_changes.create(ledger, token))

        async def look_first(tx: Transaction) -> None:
            _require_first_token(await self._open(tx, hash_))

        try:
            await self._database.query(look_first)
            return await self._database.write(body)
        except Refusal as refusal:
            if refusal.kind is Kind.NOT_FOUND:  # the organization ended while this waited
                raise no_longer_valid() from None
            raise

    async def _open(self, tx: Transaction, hash_: bytes) -> Invited:
        found = await invitations.find_by_link(tx, hash_, self._clock())
        if found is None:
            raise no_longer_valid()
        return found


def _hash(secret: str) -> bytes:
    if not has_invitation_form(secret):
        raise no_longer_valid()
    return hash_token(secret)


def _require_first_token(found: Invited) -> None:
    if not found.first_token:
        raise forbidden(
            "You are known here already: accept with a token of your own, by "
            "'teamvars login accept' or POST "
            f"/api/v2/organization-memberships/{found.membership_id}/actions/accept."
        )
