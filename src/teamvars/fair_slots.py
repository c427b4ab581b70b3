"""Fair queueing in one worker, among principals and organizations: of the requests it works on, and
of what it does one at a time.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Self
from weakref import WeakValueDictionary

import msgspec

from teamvars.domain.errors import BUSY, Refusal, too_many_requests
from teamvars.time_limits import TimeLimit, TimeLimits

SLOTS = 32
"""How many requests a worker works on at once while several principals want more than that."""
PRINCIPAL_SHARE = SLOTS // 4
ORGANIZATION_SHARE = SLOTS // 2
LONE_SLOTS = 2 * SLOTS
"""How many of a principal's while nobody else asks: writes that wait together share a commit. And
of an organization's while no other asks: its readers are not kept by its writers' locks."""
MOST_SLOTS = 4 * SLOTS
"""For everybody together. A caller below its shares gets one, however many others hold."""
COMPANY_SECONDS = 1.0
"""For how long after another's request a principal or organization is not taken to be alone."""
PRINCIPAL_WAITERS = 1024
"""How many requests of one principal wait. A refusal costs more than a place in the queue."""
ADDRESS_WAITERS = 4096
"""Of the strangers at an address: among those who try tokens may be one whose token is valid."""
WAITERS = 8192
WAIT_SECONDS = 5.0
WAITERS_EACH = 8
"""How many of one user, team or organization may wait for a turn."""
LOCK_WAITERS = 64
"""How many wait for a lock, where a principal may have one: each with a value of up to 256 KiB."""
SEARCH_REST = 3.0
"""For how many times as long as a search took there is no other. A request takes some iterations of
the event loop, and would meet a search in each."""
MOST_REST_SECONDS = 0.05

Principal = tuple[str, str]
"""The kind and the id of a user, team or organization, whichever of its tokens is used."""


class Shares(msgspec.Struct, frozen=True):
    """How many slots there are and for whom, in the words of the constants; and how many wait."""

    principal: int
    organization: int
    lone: int
    most: int
    waiters_each: int
    waiters: int

    @classmethod
    def of_requests(cls) -> "Shares":
        """Those of the requests of a worker."""
        slots = PRINCIPAL_SHARE, ORGANIZATION_SHARE, LONE_SLOTS, MOST_SLOTS
        return cls(*slots, PRINCIPAL_WAITERS, WAITERS)


class Group:
    """The principals of one organization. `held` counts no slot beyond a principal's share."""

    __slots__ = ("__weakref__", "held", "organization_id", "waiting")

    def __init__(self, organization_id: str | None = None) -> None:
        """Without an id: those of whom none is known."""
        self.organization_id = organization_id
        self.held = 0
        self.waiting: dict[Party, None] = {}  # in turns


class Party:
    """A principal, or the strangers at an address, and the slots it holds.

    Beside jobs, everybody else is as alone as without them; a job itself is never alone.
    """

    __slots__ = ("__weakref__", "group", "held", "is_address", "is_job", "principal", "waiters")

    def __init__(
        self, principal: Principal, group: Group, *, is_address: bool = False, is_job: bool = False
    ) -> None:
        self.principal = principal
        self.group = group
        self.is_address = is_address
        self.is_job = is_job
        self.held = 0
        self.waiters: list[asyncio.Future[None]] = []  # not a deque, which takes 600 bytes


class FairSlots:
    """The slots of one event loop, here in the numbers of requests.

    While others wait, a principal is given no slot beyond a quarter of `SLOTS`, and none that would
    make the shares of its organization more than half of them. Whoever holds less than that has a
    slot at once, up to `MOST_SLOTS`; otherwise those who wait take turns, first organizations, then
    the principals of each. Nobody waits while fewer than half of the slots are held. While fewer
    than `LONE_SLOTS` are, nobody waits who is alone, nor who holds less than a quarter of the slots
    and whose organization is alone.
    """

    def __init__(
        self,
        time_limits: TimeLimits,
        clock: Callable[[], float] = time.monotonic,
        shares: Shares | None = None,
    ) -> None:
        """`clock`: monotonic, in seconds. Without `shares`, they are those of requests."""
        self._time_limits = time_limits
        self._clock = clock
        self._shares = shares or Shares.of_requests()
        self.held = 0
        """Slots that are taken."""
        self.waiters = 0
        """Requests that wait for one."""
        self._waiting: OrderedDict[Group, None] = OrderedDict()
        self._latest: Party | None = None
        self._alone_from = 0.0
        self._latest_group: Group | None = None
        self._group_alone_from = 0.0

    def enter(self, party: Party, *, has_turn: bool = False) -> bool:
        """Takes a slot, if there is one for the party now. Else it has to wait, unless it has a
        turn, for which others wait meanwhile.
        """
        if party is not self._latest and not party.is_job:
            self._note_company(party)
        if (
            has_turn
            or self.held < self._shares.organization
            or (self.held < self._shares.most and self._is_within_shares(party))
            or (not self.waiters and self._has_spare(party))
        ):
            self._take(party)
            return True
        return False

    async def wait(self, party: Party) -> None:
        """Waits for a slot, at most `WAIT_SECONDS`, and takes it. Refuses as `queue`."""
        try:
            with TimeLimit(self._time_limits, WAIT_SECONDS):
                await self.queue(party)
        except TimeoutError:
            raise Refusal(BUSY) from None

    async def queue(self, party: Party) -> None:
        """Waits for a slot and takes it. Refuses: too many requests, busy."""
        most = ADDRESS_WAITERS if party.is_address else self._shares.waiters_each
        if len(party.waiters) >= most:
            raise too_many_requests(f"At most {most} requests may wait at once.")
        if self.waiters >= self._shares.waiters:
            raise Refusal(BUSY)
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._enqueue(party, waiter)
        self._admit()  # it may be alone by now
        try:
            await waiter
        except BaseException:
            if waiter.done() and not waiter.cancelled():
                self.leave(party)  # woken, and cancelled before it resumed
            elif waiter in party.waiters:
                self._dequeue(party, waiter)
            raise

    def leave(self, party: Party) -> None:
        """Gives a slot back, to whoever is next."""
        self.held -= 1
        party.held -= 1
        if party.held < self._shares.principal:
            party.group.held -= 1
        if self.waiters:
            self._admit()

    def move(self, party: Party, group: Group) -> None:
        """Counts the party, with what it holds, to another organization."""
        counted = min(party.held, self._shares.principal)
        party.group.held -= counted
        if party.waiters:
            self._remove(party)
        party.group = group
        group.held += counted
        if party.waiters:
            self._append(party)
        if self.waiters:
            self._admit()

    def _note_company(self, party: Party) -> None:
        alone_from = self._clock() + COMPANY_SECONDS
        if self._latest is not None:
            self._alone_from = alone_from
        self._latest = party
        if party.group is not self._latest_group:
            if self._latest_group is not None:
                self._group_alone_from = alone_from
            self._latest_group = party.group

    def _has_spare(self, party: Party) -> bool:
        """Whether there is a slot beyond the shares, the party or its organization being alone."""
        if party.is_job:
            return False
        is_within_share = party.held < self._shares.principal
        return self._has_spare_from(self._group_alone_from if is_within_share else self._alone_from)

    def _has_spare_from(self, alone_from: float) -> bool:
        return self.held < self._shares.lone and self._clock() >= alone_from

    def _take(self, party: Party) -> None:
        self.held += 1
        if party.held < self._shares.principal:
            party.group.held += 1
        party.held += 1

    def _admit(self) -> None:
        """Gives slots to waiters as long as there are any for them."""
        while self.waiters and self.held < self._shares.most:
            party = self._next_within_shares() or self._next_beyond_shares()
            if party is None:
                return
            self._wake(party)

    def _next_within_shares(self) -> Party | None:
        # Those who are passed over hold a quarter or half of the slots each: they are a handful.
        for group in self._waiting:
            for party in group.waiting:
                if self._is_within_shares(party):
                    return party
                if group.held >= self._shares.organization:
                    break
        return None

    def _next_beyond_shares(self) -> Party | None:
        group = next(iter(self._waiting))
        if self.held < self._shares.organization:
            # At most one principal has its share, and no organization: only that one waits.
            return next(iter(group.waiting))
        # Where an organization is not alone, none of its principals is, however many wait.
        if len(self._waiting) > 1 or not self._has_spare_from(self._group_alone_from):
            return None
        for party in group.waiting:
            is_lone = len(group.waiting) == 1
            if (is_lone or party.held < self._shares.principal) and self._has_spare(party):
                return party
        return None

    def _wake(self, party: Party) -> None:
        waiter = party.waiters.pop(0)
        self.waiters -= 1
        self._remove(party)
        if party.waiters:
            self._append(party)  # behind all others
        if party.group in self._waiting:
            self._waiting.move_to_end(party.group)
        if not waiter.done():  # else it was cancelled, and has not resumed yet
            self._take(party)
            waiter.set_result(None)

    def _enqueue(self, party: Party, waiter: asyncio.Future[None]) -> None:
        self.waiters += 1
        if not party.waiters:
            self._append(party)
        party.waiters.append(waiter)

    def _dequeue(self, party: Party, waiter: asyncio.Future[None]) -> None:
        self.waiters -= 1
        party.waiters.remove(waiter)
        if not party.waiters:
            self._remove(party)

    def _append(self, party: Party) -> None:
        party.group.waiting[party] = None
        self._waiting[party.group] = None

    def _remove(self, party: Party) -> None:
        group = party.group
        del group.waiting[party]
        if not group.waiting:
            del self._waiting[group]

    def _is_within_shares(self, party: Party) -> bool:
        shares = self._shares
        return party.held < shares.principal and party.group.held < shares.organization


class FairLock:
    """Mutual exclusion in which principals take turns, each with its own first come, first served.

    So whoever releases it and acquires it again queues behind all other principals.
    """

    def __init__(self, waiters_each: int = 1, rest: float = 0.0) -> None:
        """`waiters_each`: how many waiters each principal may have; `rest`: for how many times as
        long as somebody held it in a block nobody has it afterwards, up to `MOST_REST_SECONDS`.
        """
        # It is the one slot there is.
        shares = Shares(1, 1, 1, 1, waiters_each, LOCK_WAITERS * waiters_each)
        self._rest = rest
        self._slots = FairSlots(TimeLimits(), shares=shares)
        self._group = Group()
        self._parties: WeakValueDictionary[str, Party] = WeakValueDictionary()

    @asynccontextmanager
    async def held_by(self, principal: str, seconds: float | None = None) -> AsyncIterator[None]:
        """Acquires the lock for the block, if it can within so many seconds.

        Refuses: too many requests, when the principal has as many waiters as it may; busy, when too
        many others wait, or the time is over.
        """
        party = await self._acquired(principal, seconds)
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            yield
        finally:
            if self._rest:
                took = loop.time() - began
                rest = min(self._rest * took, MOST_REST_SECONDS)
                loop.call_later(rest, self._slots.leave, party)
            else:
                self._slots.leave(party)

    async def turn_of(self, principal: str, seconds: float | None) -> None:
        """Acquires the lock, as `held_by` does, and has it until the event loop's next iteration.

        Whoever finds it free suspends nowhere.
        """
        party = await self._acquired(principal, seconds)
        asyncio.get_running_loop().call_soon(self._slots.leave, party)

    async def _acquired(self, principal: str, seconds: float | None) -> Party:
        party = self._parties.get(principal)
        if party is None:
            party = self._parties[principal] = Party(("principal", principal), self._group)
        if not self._slots.enter(party):
            try:
                async with asyncio.timeout(seconds):
                    await self._slots.queue(party)
            except TimeoutError:
                raise Refusal(BUSY) from None
        return party


class Turns:
    """The turns of one worker at long work of one kind, one at a time, which principals take.

    Each leaves the event loop to others between its steps. Several at once would leave it to each
    other, and one that waits for its next step while it holds a lock would hold it all the longer.
    """

    def __init__(self, waiters_each: int = WAITERS_EACH, rest: float = 0.0) -> None:
        """As of a `FairLock`."""
        self._lock = FairLock(waiters_each, rest)

    @classmethod
    def of_searches(cls) -> Self:
        """Those of what looks through much, whoever asks. More may wait than of long work."""
        return cls(LOCK_WAITERS, SEARCH_REST)

    def turn(self, party: Party) -> AbstractAsyncContextManager[None]:
        """A turn for as long as the block takes. Refuses: too many requests, busy."""
        _, id_ = party.principal
        return self._lock.held_by(id_, WAIT_SECONDS)
