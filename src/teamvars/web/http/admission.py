"""What is asked of a request before it is worked on: whether its sender has asked too often, by a
token bucket for each principal and by failures for each address, and whether it is its turn.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import TypeVar
from weakref import WeakValueDictionary

import msgspec

from teamvars.domain.access import Caller
from teamvars.domain.errors import BUSY, RATE_LIMITED, Kind, Refusal, too_many_requests
from teamvars.fair_slots import (
    PRINCIPAL_WAITERS,
    WAIT_SECONDS,
    FairLock,
    FairSlots,
    Group,
    Party,
    Principal,
)
from teamvars.metrics import Gauge, Look
from teamvars.security.tokens import RUNNER
from teamvars.services.tokens import Sessions
from teamvars.time_limits import TimeLimits
from teamvars.web.http.addresses import counted_address
from teamvars.web.http.request import Request
from teamvars.web.http.routes import Check

BURST_SECONDS = 2
"""A full bucket is as many requests as are free in so many seconds."""
REMEMBERED_BUCKETS = 100_000
"""The least recently used are forgotten first; a caller that rare has a full one. Some 25 MiB."""

MOST_FAILURES = 20
"""Of an address in a period. What is over it is refused as too many requests."""
PERIOD_SECONDS = 60.0
REMEMBERED_ADDRESSES = 100_000
"""With a failure; those that began to fail longest ago are forgotten first. Some 25 MiB."""

_SECOND = 1_000_000_000
_MILLISECOND = 1_000_000

REMEMBERED_TOKENS = 16_384
"""By their hashes, the least recently used are forgotten first; some 13 MiB."""
UNPROVEN = 1024
"""How many say at a time in a body who they are, and were not checked yet; up to 60 KiB each."""
SHORT_BYTES = 4 * 1024
"""Of a body that says who makes the request: reading it takes no longer than waiting for a turn."""
REFUSAL_SECONDS = 0.001
"""Between refusals of requests that had no slot."""

UNDER_WAY = Gauge("teamvars_requests_under_way", "Requests that have a slot to be worked on.")
WAITING = Gauge("teamvars_requests_waiting", "Requests that wait for a slot.")

T = TypeVar("T")


class Allowance(msgspec.Struct, frozen=True):
    """What a bucket holds: `remaining` requests; in `reset` ns one more is free, if that is 0."""

    remaining: int
    reset: int


class RateLimits:
    """The buckets of one worker.

    This is where a store that all workers share would be asked instead: `take` for every request
    that counts, `look` for the header fields of those that do not.
    """

    def __init__(self, per_second: int, clock: Callable[[], int] = time.monotonic_ns) -> None:
        """`clock`: monotonic, in ns."""
        self.per_second = per_second
        self._clock = clock
        # When each bucket is full, in ns times `per_second`: whole numbers, which do not drift.
        # A request is then a second.
        self._full_at: OrderedDict[Principal, int] = OrderedDict()
        self._capacity = BURST_SECONDS * per_second * _SECOND

    def take(self, principal: Principal) -> bool:
        """Takes a request out of the principal's bucket. False: there is none."""
        now = self._clock() * self.per_second
        full_at = max(self._full_at.get(principal, now), now) + _SECOND
        if full_at - now > self._capacity:
            return False
        self._full_at[principal] = full_at
        self._full_at.move_to_end(principal)
        if len(self._full_at) > REMEMBERED_BUCKETS:
            self._full_at.popitem(last=False)
        return True

    def look(self, principal: Principal) -> Allowance:
        """What the principal's bucket holds."""
        now = self._clock() * self.per_second
        level = self._capacity - max(self._full_at.get(principal, now) - now, 0)
        missing = max(_SECOND - level, 0)
        return Allowance(level // _SECOND, -(-missing // self.per_second))


class Failures:
    """How often tokens that nobody has came from each address lately."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def are_many(self, address: str, now: float) -> bool:
        """Whether one more from there is too many."""
        begun, count = self._counts.get(address, (now, 0))
        return count >= MOST_FAILURES and now < begun + PERIOD_SECONDS

    def note(self, address: str, now: float) -> float | None:
        """Counts a failure, `now` being seconds of a monotonic clock.

        Returns how many seconds the address has to wait, if these are too many.
        """
        begun, count = self._counts.get(address, (now, 0))
        if now >= begun + PERIOD_SECONDS:
            del self._counts[address]
            begun, count = now, 0
        self._counts[address] = begun, min(count + 1, MOST_FAILURES + 1)
        if len(self._counts) > REMEMBERED_ADDRESSES:
            self._counts.popitem(last=False)
        return begun + PERIOD_SECONDS - now if count >= MOST_FAILURES else None


class Principals:
    """The principal of each token that was lately let in, and whose organization it is counted to.

    It is that of which the principal was last shown something: a team and an organization have no
    other, and a user of several is counted to one at a time. Those who were shown nothing yet count
    together, as do all strangers: else a hundred teams that ask for what they may not see, or one
    stranger with a hundred networks, would have a share each. Nothing is granted by what is
    remembered here: each request asks storage. A token that is not remembered counts as a
    stranger's at its address.
    """

    def __init__(self, slots: FairSlots) -> None:
        self._slots = slots
        self._by_token: OrderedDict[bytes, Party] = OrderedDict()
        # What is remembered, or has a request under way, and nothing else.
        self._parties: WeakValueDictionary[Principal, Party] = WeakValueDictionary()
        self._groups: WeakValueDictionary[str, Group] = WeakValueDictionary()
        self._shown_nothing = Group()
        self._strangers = Group()
        self._jobs = Group()

    def known(self, caller: Caller) -> Party | None:
        """The principal of a token that was lately let in."""
        party = self._by_token.get(caller.token_hash)
        if party is not None:
            self._by_token.move_to_end(caller.token_hash)
        return party

    def stranger(self, address: str, *, is_job: bool = False) -> Party:
        """Whoever is not known at an address as it is counted; also such a one with what may be a
        token of a job.
        """
        principal = "job's address" if is_job else "address", address
        party = self._parties.get(principal)
        if party is None:
            party = Party(principal, self._strangers, is_address=True, is_job=is_job)
            self._parties[principal] = party
        return party

    def job(self, name: str) -> Party:
        """A job of which its issuer has said that it is this one; it has no token yet."""
        principal = "job", name
        party = self._parties.get(principal)
        if party is None:
            party = self._parties[principal] = Party(principal, self._jobs, is_job=True)
        return party

    def note(self, caller: Caller) -> Party:
        """Remembers a caller whom storage has let in."""
        assert caller.actor is not None  # it has
        party = self._by_token.get(caller.token_hash)
        if party is None:
            party = self._party((caller.actor.kind, caller.actor.id))
            self._by_token[caller.token_hash] = party
            if len(self._by_token) > REMEMBERED_TOKENS:
                self._by_token.popitem(last=False)
        organization = caller.organization_id
        if organization is not None and party.group.organization_id != organization:
            self._slots.move(party, self._group(organization))
        return party

    def forget(self, caller: Caller) -> None:
        """Forgets a token that storage has refused."""
        self._by_token.pop(caller.token_hash, None)

    def _party(self, principal: Principal) -> Party:
        party = self._parties.get(principal)
        if party is None:
            is_job = principal[0] == RUNNER
            party = Party(principal, self._shown_nothing, is_job=is_job)
            self._parties[principal] = party
        return party

    def _group(self, organization_id: str) -> Group:
        group = self._groups.get(organization_id)
        if group is None:
            group = self._groups[organization_id] = Group(organization_id)
        return group


class Admission:
    """Fairness among principals, rate limits, and how often a token may be tried, in one worker."""

    def __init__(self, sessions: Sessions, time_limits: TimeLimits, rate_limit: int) -> None:
        """`rate_limit`: requests a second for each principal; 0: as many as they like."""
        self._sessions = sessions
        self._slots = FairSlots(time_limits)
        self._principals = Principals(self._slots)
        self._checks = FairLock(UNPROVEN)
        self._unproven = 0
        self._refusals = FairLock(PRINCIPAL_WAITERS)
        self._failures = Failures()
        self._limits = RateLimits(rate_limit) if rate_limit else None
        self.limits_rates = bool(rate_limit)
        self.looks: list[Look] = [
            Look(UNDER_WAY, lambda: self._slots.held),
            Look(WAITING, lambda: self._slots.waiters),
        ]

    async def admit(self, request: Request, caller: Caller, *, is_costly: bool) -> None:
        """Keeps strangers from what is costly, and everybody from asking too often.

        A caller who was lately let in passes without a statement: the service that acts
        authenticates again in any case. Refuses: unauthenticated, rate limited.
        """
        request.party = self._principals.known(caller)
        if request.party is None and (
            is_costly or self._limits is not None or self._is_suspect(request)
        ):
            await self.authenticate(request, caller)
        if self._limits is not None:
            self._take(request.party or self._stranger(request))

    async def admit_job(
        self, request: Request, caller: Caller, admit: Callable[[Request], Awaitable[None]]
    ) -> None:
        """Keeps jobs from asking too often; else the service that acts finds out about their
        tokens. Refuses: rate limited, and what `admit` and `work` do.
        """
        request.party = self._principals.known(caller)
        if self._limits is not None:
            if request.party is None:
                await self.work(request, lambda: admit(request))
            self._take(request.party or self._stranger(request))
        elif request.party is None:
            request.party = self._principals.stranger(counted_address(request.client), is_job=True)

    @asynccontextmanager
    async def unproven(self, request: Request, body_bytes: int) -> AsyncIterator[Check]:
        """For a request that says in its body who makes it: what checks that, and then counts the
        request as that one's.

        One check is made in each iteration of the event loop, or body read that is not short, and
        addresses take turns. Names do not: anybody can use any, and so make whoever has it wait.
        Refuses: busy.
        """
        if self._unproven >= UNPROVEN:
            raise Refusal(BUSY)

        async def turn() -> None:
            await self._checks.turn_of(counted_address(request.client), WAIT_SECONDS)

        async def check(name: str, work: Callable[[], None]) -> None:
            await turn()
            work()
            request.party = self._principals.job(name)

        self._unproven += 1
        try:
            if body_bytes > SHORT_BYTES:
                await turn()
            yield check
        finally:
            self._unproven -= 1

    async def authenticate(self, request: Request, caller: Caller) -> None:
        """Finds out who calls. Refuses: unauthenticated, and what `work` does."""
        await self.work(request, lambda: self._sessions.authenticate(caller))

    async def work(self, request: Request, work: Callable[[], Awaitable[T]]) -> T:
        """Does the work in a slot. Refuses: too many requests, busy."""
        with self._sessions.in_request():  # the wait counts towards its time
            await self.enter(request)
            try:
                return await work()
            finally:
                self.leave(request)

    async def enter(self, request: Request) -> None:
        """Gets the request a slot, until it leaves. Refuses: too many requests, busy."""
        if request.slot is not None:
            return
        party = request.party or self._stranger(request)
        if not self._slots.enter(party, has_turn=request.has_turn):
            await self._slots.wait(party)
        request.slot, request.slots = party, self

    def leave(self, request: Request) -> None:
        """Gives the request's slot back, if it has one, and remembers who was let in."""
        if request.slot is None:
            return
        self._slots.leave(request.slot)
        request.slot = None
        if request.caller is not None and request.caller.actor is not None:
            request.party = self._principals.note(request.caller)
        if request.introduced is not None:
            self._principals.note(request.introduced)

    def refused(self, request: Request, refusal: Refusal) -> Refusal:
        """What is said instead, where somebody fails to authenticate too often."""
        if refusal.kind is not Kind.UNAUTHENTICATED:
            return refusal
        if request.caller is not None:  # what has not the form of a token costs nothing
            self._principals.forget(request.caller)
            request.party = None
            now = asyncio.get_running_loop().time()
            wait = self._failures.note(counted_address(request.client), now)
            if wait is not None:
                request.abandon_body()
                detail = "Too many invalid tokens came from this address."
                return too_many_requests(detail, retry_after=int(wait) + 1)
        try:
            if self._limits is not None:
                self._take(self._stranger(request))
        except Refusal as limited:
            return limited
        return refusal

    async def pace(self, request: Request) -> None:
        """Has whoever is refused before there was a slot for it wait for the answer, and so ask
        again the later: one in each iteration of the event loop, addresses in turns. Refusing takes
        next to nothing, so that else a flood of them fills every iteration.
        """
        if request.slots is not None:
            return
        request.give_room_back()
        with suppress(Refusal):  # there are too many: this one is told at once
            async with self._refusals.held_by(counted_address(request.client), WAIT_SECONDS):
                await asyncio.sleep(REFUSAL_SECONDS)

    def headers(self, request: Request) -> Iterator[tuple[str, str]]:
        """The header fields of every answer; to be asked only where there is a rate limit."""
        assert self._limits is not None
        party = request.party or self._stranger(request)
        allowance = self._limits.look(party.principal)
        yield "X-RateLimit-Limit", str(self._limits.per_second)
        yield "X-RateLimit-Remaining", str(allowance.remaining)
        # Rounded up: after that wait a request is let in.
        yield "X-RateLimit-Reset", f"{-(-allowance.reset // _MILLISECOND) / 1000:.3f}"

    def _take(self, party: Party) -> None:
        assert self._limits is not None
        if not self._limits.take(party.principal):
            wait = self._limits.look(party.principal).reset
            fault = RATE_LIMITED.filled(most=self._limits.per_second)
            raise Refusal(fault, retry_after=-(-wait // _SECOND))

    def _is_suspect(self, request: Request) -> bool:
        """Whether so many unknown tokens came from there that what it asks may cost too much."""
        now = asyncio.get_running_loop().time()
        return self._failures.are_many(counted_address(request.client), now)

    def _stranger(self, request: Request) -> Party:
        return self._principals.stranger(counted_address(request.client))
