"""The messages that wait to be sent, of invitations and memos: each goes out at least once.

A message is claimed, sent outside of any transaction, and then settled. Whoever stops in between
leaves it claimed until `CLAIMED_FOR` is over, and then it is sent again.
"""

import asyncio
from contextlib import suppress
from operator import itemgetter

import structlog

from teamvars.changes.trails import OwnTrail
from teamvars.decisions import invitations as decisions
from teamvars.domain.access import Caller
from teamvars.domain.audit import Actor
from teamvars.domain.errors import Kind, passing_over, tells_of_outage
from teamvars.domain.ids import new_id
from teamvars.domain.invitations import Delivery, Letter, retry_after
from teamvars.domain.notices import GIVEN_UP_AFTER, STALE_AFTER, Memo
from teamvars.mail import SEND_SECONDS, Mailer, NotSent
from teamvars.metrics import Counter
from teamvars.security.sealing import SealBroken
from teamvars.services.house import House, UseCases
from teamvars.storage import invitations, organizations, queues, streams
from teamvars.storage.database import Transaction
from teamvars.storage.queues import Claimed, Queue

CLAIMED_FOR = int(4 * SEND_SECONDS * 1_000_000)
"""How long a message is one node's, in µs; longer than sending may take."""
POLL_SECONDS = 5.0
"""How often other processes' messages are looked for."""

MESSAGES = Counter(
    "teamvars_messages_total",
    "What became of messages at each try to send one.",
    "outcome",
    ("sent", "put off", "given up"),
)

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
            except Exception as error:  # whatever it was, it may be better in a while
                if not tells_of_outage(error):
                    log.exception("sending mail is put off")
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._woken.wait()
            self._woken.clear()

    async def send_next(self) -> bool:
        """Tries the message that has been due for longest; False: there is none."""
        if self._mailer is None:
            return False
        ways = ((invitations.QUEUE, self._send_letter), (queues.MEMOS, self._send_memo))
        due = [(at, send) for queue, send in ways if (at := await self._due_at(queue)) is not None]
        for _, send in sorted(due, key=itemgetter(0)):
            if await send(self._mailer):
                return True
        return False

    async def forget_stale(self) -> None:
        """Gives up memos that nobody could send for long."""
        before = self._clock() - STALE_AFTER
        due_at = await self._database.read(queues.MEMOS.next_due)
        if due_at is not None and due_at <= before:
            await self._database.write(lambda tx: queues.forget_stale_memos(tx, before))

    async def _send_letter(self, mailer: Mailer) -> bool:
        letter, waiting = await self._database.write(self._claim)
        if waiting is None:
            return False
        if letter is None:
            await self._settle(waiting, Delivery.FAILED, 0)
            return True
        try:
            await mailer.send(letter)
        except NotSent as not_sent:
            _count_failure(is_over=not_sent.for_good)
            await self._note(waiting, not_sent)
        else:
            MESSAGES.add("sent")
            await self._settle(waiting, Delivery.SENT)
        return True

    async def _send_memo(self, mailer: Mailer) -> bool:
        found = await self._database.write(self._claim_memo)
        if found is None:
            return False
        claimed, memo = found
        try:
            await mailer.pass_on(memo)
        except NotSent as not_sent:
            is_over = not_sent.for_good or claimed.attempts >= GIVEN_UP_AFTER
            _count_failure(is_over=is_over)
            log.warning(
                "a memo was not sent",
                memo=memo.id,
                reason=not_sent.reason,
                reply=not_sent.reply or None,
                attempts=claimed.attempts,
                given_up=is_over,
            )
            if not is_over:
                await self._put_off(queues.MEMOS, claimed)
                return True
        else:
            MESSAGES.add("sent")
        await self._database.write(lambda tx: queues.forget_memo(tx, claimed))
        return True

    async def _due_at(self, queue: Queue) -> int | None:
        """Since when a message of the queue is due, in µs UTC; None: none is."""
        due_at = await self._database.read(queue.next_due)
        return None if due_at is None or due_at > self._clock() else due_at

    async def _claim_memo(self, tx: Transaction) -> tuple[Claimed, Memo] | None:
        """A memo that is this node's from now on; None: others were first."""
        now = self._clock()
        claimed = await queues.MEMOS.claim(tx, now, now + CLAIMED_FOR)
        return None if claimed is None else (claimed, await queues.memo(tx, claimed))

    async def _put_off(self, queue: Queue, claimed: Claimed) -> None:
        due_at = self._clock() + retry_after(claimed.attempts)
        await self._database.write(lambda tx: queue.put_off(tx, claimed, due_at))

    async def _claim(self, tx: Transaction) -> tuple[Letter | None, invitations.Waiting | None]:
        """The message and what it says; None for one whose seal is broken.

        What could not be settled would be sent again and again: while the trail of its organization
        does not hold, a message waits, and those of others go before it.
        """
        now = self._clock()
        trail = OwnTrail(tx, self._tools.chain)
        while claimed := await invitations.QUEUE.claim(tx, now, now + CLAIMED_FOR):
            waiting = await invitations.waiting(tx, claimed)
            if waiting is None:  # and goes on to be this node's until it is looked at again
                MESSAGES.add("put off")
                log.error("no invitation has the message", row=str(claimed.id))
                continue
            stream = await streams.find(tx, waiting.invited.organization_id)
            if stream is None or await trail.holds(stream):
                return await self._opened(tx, waiting), waiting
            await invitations.QUEUE.put_off(tx, claimed, now + retry_after(claimed.attempts))
        return None, None

    async def _opened(self, tx: Transaction, waiting: invitations.Waiting) -> Letter | None:
        """What a message says; None where its seal is broken."""
        invited, link = waiting.invited, waiting.link
        wrapped = await organizations.data_key(tx, invited.organization_id)
        assert link.sealed is not None
        try:
            if wrapped is None:
                raise SealBroken(f"The data key of {invited.organization_id} is gone.")
            key = self._tools.sealer.data_key(wrapped)
            secret = key.open_secret(link.sealed, invited.membership_id, link.hash)
        except SealBroken as broken:
            log.error(str(broken))
            return None
        return Letter(invited, secret, link.hash)

    async def _note(self, waiting: invitations.Waiting, not_sent: NotSent) -> None:
        """What is done about a message that was not sent. Whom it was for is in no log."""
        log.warning(
            "a message was not sent",
            membership=waiting.invited.membership_id,
            reason=not_sent.reason,
            reply=not_sent.reply or None,
            attempts=waiting.claimed.attempts,
            given_up=not_sent.for_good,
        )
        if not_sent.for_good:
            await self._settle(waiting, Delivery.FAILED, not_sent.reply)
            return
        await self._put_off(invitations.QUEUE, waiting.claimed)

    async def _settle(
        self, waiting: invitations.Waiting, how: Delivery, reply: int | None = None
    ) -> None:
        """Erases the secret and records what became of the message."""
        caller = Caller(b"", new_id("req"), Actor.service("mail"))
        asked = waiting.invited, waiting.link.hash, how, reply
        with passing_over(Kind.NOT_FOUND):  # the organization is gone, and all of it
            await self._make(caller, decisions.settle, *asked)


def _count_failure(*, is_over: bool) -> None:
    MESSAGES.add("given up" if is_over else "put off")
