"""Memory budgets of one worker: for bodies before authentication, for each caller, and in all.

Each has a share that takes nothing from another's, so that no client uses up the memory of all.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from teamvars.domain.errors import BUSY, Refusal, too_many_requests
from teamvars.fair_slots import Principal
from teamvars.time_limits import TimeLimit

UNAUTHENTICATED_BODY_BYTES = 16 * 1024
"""How much of a body is read before its token is looked up, in the same request."""
STRANGER_BODY_BYTES = 4 * 1024
"""The most of a body on the routes that take one without a token."""
UNAUTHENTICATED_BODIES_BYTES = 8 * 1024 * 1024
"""The same for all such bodies together. Once it is used up, every token is looked up first."""
MAX_BODY_BYTES = 2 * 1024 * 1024
LARGE_BODY_BYTES = 24 * 1024 * 1024
"""The most of a body on the routes that take large ones."""
CALLER_BODY_BYTES = 8 * 1024 * 1024
WORKER_BODY_BYTES = 64 * 1024 * 1024
CALLER_ANSWER_BYTES = 32 * 1024 * 1024
WORKER_ANSWER_BYTES = 96 * 1024 * 1024
SLOW_SECONDS = 10.0
"""How long a response may take before it may be aborted to make room for others."""

UNAUTHENTICATED: Principal = ("unauthenticated", "")
Release = Callable[[], None]


class Bodies:
    """The bytes of request bodies that are being received or worked on."""

    def __init__(self) -> None:
        self._unauthenticated = 0
        self._callers: dict[Principal, int] = {}
        self._worker = 0
        self._has_large = False

    def admit_unauthenticated(self, size: int) -> Release | None:
        """A share for a body before authentication; None: there is none left or as large."""
        if size > min(
            UNAUTHENTICATED_BODY_BYTES, UNAUTHENTICATED_BODIES_BYTES - self._unauthenticated
        ):
            return None
        self._unauthenticated += size

        def release() -> None:
            self._unauthenticated -= size

        return release

    def admit(self, caller: Principal, size: int) -> Release:
        """A share for a caller's body. Refuses: too many requests, busy."""
        held = self._callers.get(caller, 0)
        if held + size > CALLER_BODY_BYTES:
            raise too_many_requests(
                f"At most {CALLER_BODY_BYTES} bytes of bodies may be under way at once."
            )
        if self._worker + size > WORKER_BODY_BYTES:
            raise Refusal(BUSY)
        self._callers[caller] = held + size
        self._worker += size

        def release() -> None:
            self._worker -= size
            self._callers[caller] -= size
            if not self._callers[caller]:
                del self._callers[caller]

        return release

    def admit_large(self) -> Release:
        """Room for a body that is larger than most routes take, one at a time, beside the shares.

        Refuses: too many requests.
        """
        if self._has_large:
            raise too_many_requests(
                f"Another body of more than {MAX_BODY_BYTES} bytes is under way. Send this later."
            )
        self._has_large = True

        def release() -> None:
            self._has_large = False

        return release


class _Held(msgspec.Struct):
    """A response body in memory, and the time limits of the requests it is being sent to."""

    caller: Principal
    size: int
    since: float
    limits: list[TimeLimit]


class Responses:
    """The bytes of large response bodies that are being sent. One that is shared counts once."""

    def __init__(self) -> None:
        self._held: dict[int, _Held] = {}

    @contextmanager
    def sending(
        self, caller: Principal, body: object, size: int, limit: TimeLimit
    ) -> Iterator[None]:
        """A share for a body for as long as it is sent, which happens under the limit.

        The first of a caller has one whatever its size. Where a worker has none left, responses
        that have been under way for `SLOW_SECONDS` are aborted, the oldest first. Refuses: too many
        requests, busy.
        """
        held = self._held.get(id(body))
        if held is None:
            self._make_room(caller, size, limit.begun)
            held = self._held[id(body)] = _Held(caller, size, limit.begun, [])
        held.limits.append(limit)
        try:
            yield
        finally:
            held.limits.remove(limit)
            if not held.limits and self._held.get(id(body)) is held:
                del self._held[id(body)]

    def _make_room(self, caller: Principal, size: int, now: float) -> None:
        of_caller = sum(held.size for held in self._held.values() if held.caller == caller)
        if of_caller and of_caller + size > CALLER_ANSWER_BYTES:
            raise too_many_requests(
                f"At most {CALLER_ANSWER_BYTES} bytes of answers may be under way at once."
            )
        for key, held in list(self._held.items()):  # the oldest first
            if self._fits(size) or held.since > now - SLOW_SECONDS:
                break
            del self._held[key]
            for limit in held.limits:
                limit.enforce()
        if not self._fits(size):
            raise Refusal(BUSY)

    def _fits(self, size: int) -> bool:
        in_all = sum(held.size for held in self._held.values())
        return not in_all or in_all + size <= WORKER_ANSWER_BYTES
