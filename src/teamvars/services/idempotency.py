"""Changes that happen once, however often they are sent: what an Idempotency-Key promises.

The record of a change is written in the transaction of the change (decision 013), so that both are
there or neither is. Services know nothing of it: `once` says for the task which change is under
way, and the `OnceDatabase` in which it is made does the rest.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

import msgspec

from teamvars.changes.making import LACKS_RIGHT
from teamvars.decisions import Needs
from teamvars.domain.errors import KEY_IN_USE, KEY_REUSED, Kind, Refusal, refuse_all
from teamvars.domain.idempotency import KEPT_FOR, Asked, Held, Record
from teamvars.security.idempotency import RecordKeys
from teamvars.services.house import UseCases
from teamvars.storage import idempotency
from teamvars.storage.database import Body, MissingReference, Store, Taken, Transaction

T = TypeVar("T")

WAIT_SECONDS = 5.0
"""How long a repeat waits for the first request to end."""
_POLL_SECONDS = 0.05


class _Keyed(msgspec.Struct, frozen=True):
    """A change under way that was sent with a key; `keep` makes what is kept of its result."""

    asked: Asked
    keep: Callable[[Any], bytes]


class Repeated(Exception):
    """The change was made before; this is what was kept of its answer."""

    def __init__(self, answer: bytes) -> None:
        super().__init__()
        self.answer = answer


class _UnderWay(Exception):
    """Another transaction makes this very change."""


_KEYED: ContextVar[_Keyed | None] = ContextVar("keyed", default=None)


async def once(asked: Asked, work: Awaitable[T], keep: Callable[[T], bytes]) -> T:
    """Does the work and returns its result. Raises Repeated when it was done before.

    The work is a service's: one write, of whose result `keep` makes what is to be kept, inside the
    transaction; of one that writes nothing, nothing is kept. Refuses as the work does, whose rights
    are checked in any case; a key that came with another request, one whose first request is still
    under way, more records than a caller may have.
    """
    asked.caller.has_key = True
    token = _KEYED.set(_Keyed(asked, keep))
    try:
        return await work
    finally:
        _KEYED.reset(token)


class OnceDatabase:
    """A decorator of a store that makes a change of `once` together with its record."""

    def __init__(self, database: Store, keys: RecordKeys) -> None:
        self._database = database
        self._keys = keys
        self.in_request = database.in_request
        self.survey = database.survey
        self.batch = database.batch  # where no change of a request with a key is made
        self.deadline = database.deadline
        self.now = database.now

    # No coroutine of their own: each would cost every request a frame.

    def read(self, body: Body[T]) -> Coroutine[Any, Any, T]:
        keyed, read = _KEYED.get(), self._database.read
        return read(body) if keyed is None else self._look(keyed, read, body)

    def query(self, body: Body[T]) -> Coroutine[Any, Any, T]:
        keyed, read = _KEYED.get(), self._database.query
        return read(body) if keyed is None else self._look(keyed, read, body)

    def write(self, body: Body[T], *, subject: str | None = None) -> Coroutine[Any, Any, T]:
        keyed, write = _KEYED.get(), partial(self._database.write, subject=subject)
        return write(body) if keyed is None else self._make(keyed, write, body)

    def write_in_turns(
        self, body: Body[T], *, subject: str | None = None
    ) -> Coroutine[Any, Any, T]:
        keyed, write = _KEYED.get(), partial(self._database.write_in_turns, subject=subject)
        return write(body) if keyed is None else self._make(keyed, write, body)

    async def _look(
        self, keyed: _Keyed, read: Callable[[Body[T]], Awaitable[T]], body: Body[T]
    ) -> T:
        """What a service looks at before it makes the change.

        After the change it may well be refused what it was not before: another version, a conflict.
        """
        try:
            return await read(body)
        except Refusal as refusal:
            if refusal.kind is Kind.UNAVAILABLE or refusal.kind in LACKS_RIGHT:
                raise
            record = (await self._database.read(partial(self._held, asked=keyed.asked))).record
            if record is None:
                raise
            _require_right(refusal)
            raise self._repeated(record, keyed.asked) from None

    async def _make(
        self, keyed: _Keyed, write: Callable[[Body[T]], Awaitable[T]], body: Body[T]
    ) -> T:
        """Makes the change by `write`, once nobody else makes it. No connection waits meanwhile."""

        async def attempt(tx: Transaction) -> T:
            return await self._attempt(tx, keyed, body)

        loop = asyncio.get_running_loop()
        gives_up_at = loop.time() + WAIT_SECONDS
        while True:
            try:
                return await write(attempt)
            except _UnderWay:
                if loop.time() >= gives_up_at:
                    raise Refusal(KEY_IN_USE) from None
            await asyncio.sleep(_POLL_SECONDS)

    async def _attempt(self, tx: Transaction, keyed: _Keyed, body: Body[T]) -> T:
        asked, now = keyed.asked, self.now()
        if not await tx.try_lock(self._keys.lock(asked)):
            raise _UnderWay
        held = await self._held(tx, asked)
        if held.record is not None:
            await _try(tx, body)
            raise self._repeated(held.record, asked)
        result = await body(tx)
        record = self._keys.seal(asked, keyed.keep(result), now + KEPT_FOR)
        held.require_room(record)
        actor = asked.caller.actor
        assert actor is not None  # every change comes after its access check
        if not await idempotency.insert(tx, record, actor.id, now):
            raise _UnderWay  # of a transaction that had no lock, after a failover for example
        return result

    async def _held(self, tx: Transaction, asked: Asked) -> Held:
        names, token_hash = self._keys.names(asked).values(), asked.caller.token_hash
        return await idempotency.find(tx, names, token_hash, self.now())

    def _repeated(self, record: Record, asked: Asked) -> Exception:
        """What to raise where a record is found and the caller still has the right."""
        if not self._keys.is_of(record, asked):
            return Refusal(KEY_REUSED)
        return Repeated(self._keys.open(record))


class Repeats(UseCases):
    """What is kept of changes, as housekeeping sees it."""

    async def forget_expired(self) -> None:
        """Deletes the records that have expired, some at a time."""
        while await self._database.write(lambda tx: idempotency.delete_expired(tx, self._clock())):
            pass


async def _try(tx: Transaction, body: Body[Any]) -> None:
    """Refuses callers who may no longer make the change, in the words of the change itself.

    Whatever else it comes to is no matter: it was made before, and is rolled back now.
    """
    try:
        await body(tx)
    except Refusal as refusal:
        _require_right(refusal)
    except (Taken, MissingReference, Needs):
        return


def _require_right(refusal: Refusal) -> None:
    """Refuses anew if that refusal is for want of a right, or because it could not be told."""
    if refusal.kind is Kind.UNAVAILABLE:
        raise refusal
    refuse_all(fault for fault in refusal.faults if fault.code.kind in LACKS_RIGHT)
