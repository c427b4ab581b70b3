"""Programs that somebody approves, and what they show for their tokens (RFC 6749, 8252, 8628)."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from msgspec.structs import replace

from teamvars.decisions import logins as decisions
from teamvars.domain.access import Caller
from teamvars.domain.audit import Actor
from teamvars.domain.errors import BUSY, Code, Fault, Kind, Refusal, passing_over
from teamvars.domain.ids import derived_id, new_id
from teamvars.domain.logins import (
    DEVICE,
    PREFIX,
    Consent,
    Login,
    LoginDraft,
    Presented,
)
from teamvars.domain.times import SECOND
from teamvars.domain.tokens import NewToken
from teamvars.kernel import Discreet
from teamvars.security.tokens import hash_token, new_code, new_user_code, written_code
from teamvars.services.house import House, UseCases, looks, makes
from teamvars.services.tokens import fresh_token
from teamvars.storage import logins
from teamvars.storage.database import Taken
from teamvars.storage.engines.coalescing import Coalescer, Fifo, Waiter

POLL_SECONDS = 5
"""How long a program waits before it asks again."""
_LEAST = 4 * SECOND
"""Between two that are not too soon: the first may have been on its way for longer."""
_KEPT = 600 * SECOND
"""What has expired, to say so to whoever still asks."""
NOT_HERE = Fault(
    Code.INVALID_REQUEST,
    "Nobody can approve anything here: the service has no public address, or no console. Log in "
    "with a token.",
)
_PENDING = Fault(Code.AUTHORIZATION_PENDING, "Nobody has approved it yet.")
_TOO_SOON = Fault(Code.SLOW_DOWN, f"Ask again in {POLL_SECONDS} seconds more than before.")


class Asked(Discreet, frozen=True):
    """What a program says whose code somebody is to type, and whence: an address, where these are
    kept, and what it counts as.
    """

    host: str
    lifetime: int | None
    address: str | None
    counted: str


class Begun(Discreet, frozen=True):
    """What a program shows for its token, what somebody types, and where."""

    device_code: str
    user_code: str
    place: str


class Logins(UseCases):
    """Programs ask for tokens of whoever approves it in the console."""

    _show = looks(decisions.show)
    _approve = makes(decisions.approve)
    _redeemable = looks(decisions.redeemable, at_a_glance=True)
    _approving = looks(decisions.approving)
    _revocable = looks(decisions.revocable, at_a_glance=True)
    deny = makes(decisions.deny)

    def __init__(self, house: House, place: str | None) -> None:
        """`place`: the public address, behind which the console is; None: nobody can approve."""
        super().__init__(house)
        self._place = place
        # Whoever asks needs no token: what strangers write is one transaction at a time, however
        # many they are, and none of them waits for more than that and the one before.
        self._beginnings: Coalescer[Login, None] = Coalescer(
            self._begin_some, Fifo(skip_cancelled=True)
        )
        self._polls: Coalescer[str, bool] = Coalescer(self._note_polls, Fifo(skip_cancelled=True))

    @property
    def place(self) -> str:
        """The public address of the console. Refuses where there is none: invalid_request."""
        if self._place is None:
            raise Refusal(NOT_HERE)
        return self._place

    async def show(self, caller: Caller, draft: LoginDraft) -> Consent:
        """What the caller would approve, and where the browser goes if they do not. Refuses as
        `decisions.logins.show`.
        """
        consent = await self._show(caller, draft)
        return self._answering(consent, draft, {"error": Code.ACCESS_DENIED.word})

    async def approve(self, caller: Caller, draft: LoginDraft) -> Consent:
        """What the caller has approved, and where the browser brings the code. Refuses as
        `decisions.logins.approve`.
        """
        code = new_code()
        consent = await self._approve(caller, draft, hash_token(code))
        return self._answering(consent, draft, {"code": code})

    async def begin(self, asked: Asked) -> Begun:
        """A program begins to wait for somebody to type its code. Refuses: busy, invalid_request
        where nobody can.
        """
        code, user_code, now = new_code(), new_user_code(), self._clock()
        begun = Begun(code, written_code(user_code), f"{self.place}/app/settings/device")
        login = Login(
            new_id(PREFIX),
            hash_token(code),
            asked.host,
            asked.lifetime,
            now,
            now + DEVICE,
            user_code=user_code,
            address=asked.address,
            network=derived_id("net", asked.counted),
        )
        try:
            await self._beginnings.submit(login)
        except Taken:
            raise Refusal(BUSY) from None
        return begun

    async def redeem(self, caller: Caller, presented: Presented) -> tuple[NewToken, int]:
        """The token of a program, and for how many seconds it lives. The caller becomes whoever
        approved it.

        Refuses: authorization_pending, slow_down; as `decisions.logins.redeem`.
        """
        login = await self._redeemable(caller, presented)
        if login.token_id is None:
            raise Refusal(_PENDING if await self._may_ask(login) else _TOO_SOON)
        by = await self._approving(caller, login)
        caller.actor = Actor("user", by.owner_id, by.id)
        made = await self._make(caller, decisions.redeem, presented, fresh_token("user"))
        if made is None:
            raise Refusal(decisions.NO_GRANT, why={"reason": "a code that was redeemed before"})
        assert made.token.expires_at is not None  # every one of these has an end
        return made, (made.token.expires_at - self._clock()) // SECOND

    async def revoke(self, caller: Caller) -> None:
        """The token of the caller ends; where there is none, nothing does. Refuses one that is not
        a user's: unsupported_token_type.
        """
        with passing_over(Kind.UNAUTHENTICATED):
            await self._revocable(caller)  # who has no token waits for no writer
            await self._make(caller, decisions.revoke)

    async def forget_expired(self) -> None:
        """Removes those that expired a while ago, some at a time."""
        before = self._clock() - _KEPT
        while await self._database.read(lambda tx: logins.has_expired(tx, before)):
            await self._database.write(lambda tx: logins.forget_expired(tx, before))

    async def close(self) -> None:
        """Waits until nothing that strangers have asked for is written."""
        await self._beginnings.close()
        await self._polls.close()

    async def _may_ask(self, login: Login) -> bool:
        """Whether it is time for a program to ask again, by what all nodes have heard of it. One
        that does not wait writes nothing.
        """
        if login.polled_at is not None and login.polled_at > self._clock() - _LEAST:
            return False
        return await self._polls.submit(login.id)

    async def _begin_some(self, waiting: Sequence[Waiter[Login, None]]) -> None:
        some = [one.item for one in waiting]
        with self._database.in_request():  # not in that of whoever was the first of all
            await self._database.write(lambda tx: logins.begin(tx, some))
        for one in waiting:
            one.set_result(None)

    async def _note_polls(self, waiting: Sequence[Waiter[str, bool]]) -> None:
        ids, now = {one.item for one in waiting}, self._clock()
        with self._database.in_request():
            noted = await self._database.write(
                lambda tx: logins.note_polls(tx, ids, now, now - _LEAST)
            )
        for one in waiting:  # of two that ask at once, the second is too soon
            one.set_result(one.item in noted)
            noted.discard(one.item)

    def _answering(self, consent: Consent, draft: LoginDraft, said: Mapping[str, str]) -> Consent:
        redirect = consent.login.redirect
        if redirect is None:
            return consent
        answer = {**said, "state": draft.state or "", "iss": self.place}
        return replace(consent, answer=f"{redirect}?{urlencode(answer)}")
