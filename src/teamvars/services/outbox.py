"""The messages of invitations that wait to be sent: each goes out at least once.

A message is claimed, sent outside of any transaction, and then settled. Whoever stops in between
leaves it claimed until `CLAIMED_FOR` is over, and then it is sent again.
"""

import asyncio
from contextlib import suppress

import structlog

from teamvars.changes.trails import OwnTrail
from teamvars.decisions import invitations as decisions
from teamvars.domain.access import Caller
from teamvars.domain.audit import Actor
from teamvars.domain.errors import Kind, Refusal
from teamvars.domain.ids import new_id
from teamvars.domain.invitations import Delivery, Letter, retry_after
from teamvars.mail.smtp import SEND_SECONDS, Mailer, NotSent
from teamvars.security.sealing import SealBroken
from teamvars.services.house import House, UseCases
from teamvars.storage import invitations, organizations, streams
from teamvars.storage.database import Transaction

CLAIMED_FOR = int(4 * SEND_SECONDS * 1_000_000)
"""How long a message is one node's, in µs; longer than sending may take."""
POLL_SECONDS = 5.0
"""How often other processes' messages are looked for."""

log = structlog.get_logger("teamvars.mail")


class Outbox(UseCases):
    """Sends what waits, one message at a time. Without a mailer nothing ever does."""

    def __init__(self, house: House, mailer: Mailer | None) -> None:
        super().__init__(house)
        self._mailer = mailer
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """There is a message now; the next look need not wait."""
        self._woken.set()

    async def run(self) -> None:
        """Sends until it is cancelled."""
        task = asyncio.current_task()
        assert task is not None
        # `asyncio.wait_for`, by which answers are awaited, can lose a cancellation before 3.12.
        while self._mailer is not None and not task.cancelling():
            try:
                while await self.send_next():
                    pass
            except Exception:  # whatever it was, it may be better in a while
                log.exception("sending mail is put off")
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._woken.wait()
            self._woken.clear()

    async def send_next(self) -> bool:
        """Tries the message that has been due for longest; False: there is none."""
        if self._mailer is None:
            return False
        due_at = await self._database.read(invitations.next_due)
        if due_at is None or due_at > self._clock():
            return False
        letter, waiting = await self._database.write(self._claim)
        if waiting is None:
            return False
        if letter is None:
            await self._settle(waiting, Delivery.FAILED, 0)
            return True
        try:
            await self._mailer.send(letter)
        except NotSent as not_sent:
            await self._note(waiting, not_sent)
        else:
            await self._settle(waiting, Delivery.SENT)
        return True

    async def _claim(self, tx: Transaction) -> tuple[Letter | None, invitations.Waiting | None]:
        """The message and what it says; None for one whose seal is broken.

        What could not be settled would be sent again and again: while the trail of its organization
        does not hold, a message waits, and those of others go before it.
        """
        now = self._clock()
        trail = OwnTrail(tx, self._tools.chain)
        while waiting := await invitations.claim(tx, now, now + CLAIMED_FOR):
            stream = await streams.find(tx, waiting.invited.organization_id)
            if stream is None or await trail.holds(stream):
                break
            await invitations.put_off(tx, waiting, now + retry_after(waiting.attempts))
        if waiting is None:
            return None, None
        invited, link = waiting.invited, waiting.link
        wrapped = await organizations.data_key(tx, invited.organization_id, link.key_version)
        assert link.sealed is not None
        try:
            if wrapped is None:
                raise SealBroken(f"The data key of {invited.organization_id} is gone.")
            key = self._tools.sealer.data_key(wrapped)
            secret = key.open_secret(link.sealed, invited.membership_id, link.hash)
        except SealBroken as broken:
            log.error(str(broken))
            return None, waiting
        return Letter(invited, secret, link.hash), waiting

    async def _note(self, waiting: invitations.Waiting, not_sent: NotSent) -> None:
        """What is done about a message that was not sent. Whom it was for is in no log."""
        log.warning(
            "a message was not sent",
            membership=waiting.invited.membership_id,
            reason=not_sent.reason,
            reply=not_sent.reply or None,
            attempts=waiting.attempts,
            given_up=not_sent.for_good,
        )
        if not_sent.for_good:
            await self._settle(waiting, Delivery.FAILED, not_sent.reply)
            return
        due_at = self._clock() + retry_after(waiting.attempts)
        await self._database.write(lambda tx: invitations.put_off(tx, waiting, due_at))

    async def _settle(
        self, waiting: invitations.Waiting, how: Delivery, reply: int | None = None
    ) -> None:
        """Erases the secret and records what became of the message."""
        caller = Caller(b"", new_id("req"), Actor.service("mail"))
        asked = waiting.invited, waiting.link.hash, how, reply
        try:
            await self._make(caller, decisions.settle, *asked)
        except Refusal as refusal:
            if refusal.kind is not Kind.NOT_FOUND:  # the organization is gone, and all of it
                raise
