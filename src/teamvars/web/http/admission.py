"""What is asked of a request before it is worked on: is it this one's turn, and may it be made."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from teamvars.domain.access import Caller
from teamvars.domain.errors import Kind, Refusal, rate_limited, too_many_requests
from teamvars.services.sessions import Sessions
from teamvars.web.http.addresses import counted_address
from teamvars.web.http.failures import Failures
from teamvars.web.http.fair_slots import FairSlots, Party
from teamvars.web.http.principals import Principals
from teamvars.web.http.rate_limits import RateLimits
from teamvars.web.http.request import Request
from teamvars.web.http.time_limits import TimeLimits

T = TypeVar("T")

_MILLISECOND = 1_000_000
_SECOND = 1_000_000_000


class Admission:
    """Fairness among principals, rate limits, and how often a token may be tried, in one worker."""

    def __init__(self, sessions: Sessions, time_limits: TimeLimits, rate_limit: int) -> None:
        """`rate_limit`: requests a second for each principal; 0: as many as they like."""
        self._sessions = sessions
        self._slots = FairSlots(time_limits)
        self._principals = Principals(self._slots)
        self._failures = Failures()
        self._limits = RateLimits(rate_limit) if rate_limit else None

    async def admit(self, request: Request, caller: Caller, *, is_costly: bool) -> None:
        """Keeps strangers from what is costly, and everybody from asking too often.

        A caller who was lately let in passes without a statement: the service that acts
        authenticates again in any case. Refuses: unauthenticated, rate limited.
        """
        request.party = self._principals.known(caller)
        if request.party is None and (is_costly or self._limits is not None):
            await self.authenticate(request, caller)
        if self._limits is not None:
            self._take(self._party(request))

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
        party = self._party(request)
        if not self._slots.enter(party):
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
                detail = "Too many tokens that nobody has came from this address."
                return too_many_requests(detail, retry_after=int(wait) + 1)
        try:
            if self._limits is not None:
                self._take(self._stranger(request))
        except Refusal as limited:
            return limited
        return refusal

    @property
    def limits_rates(self) -> bool:
        """Whether there is a rate limit."""
        return self._limits is not None

    def headers(self, request: Request) -> Iterator[tuple[str, str]]:
        """The header fields of every answer; to be asked only where there is a rate limit."""
        assert self._limits is not None
        allowance = self._limits.look(self._party(request).principal)
        yield "X-RateLimit-Limit", str(self._limits.per_second)
        yield "X-RateLimit-Remaining", str(allowance.remaining)
        # Rounded up: who waits for so long is let in.
        yield "X-RateLimit-Reset", f"{-(-allowance.reset // _MILLISECOND) / 1000:.3f}"

    def _take(self, party: Party) -> None:
        assert self._limits is not None
        if not self._limits.take(party.principal):
            wait = self._limits.look(party.principal).reset
            raise rate_limited(self._limits.per_second, retry_after=-(-wait // _SECOND))

    def _party(self, request: Request) -> Party:
        return request.party or self._stranger(request)

    def _stranger(self, request: Request) -> Party:
        return self._principals.stranger(counted_address(request.client))
