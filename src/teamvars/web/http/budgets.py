"""How many bytes of bodies and answers one worker holds: for strangers, for a caller, and in all.

Memory goes to whoever asks for it, so each has a share that takes nothing from another's.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from teamvars.domain.errors import busy, too_many_requests
from teamvars.web.http.time_limits import TimeLimit

STRANGER_BODY_BYTES = 16 * 1024
"""How much of a body is read before storage has said, in the same request, who sends it."""
STRANGERS_BODY_BYTES = 8 * 1024 * 1024
"""How much of such bodies in all. Where that is used up, storage is asked about everybody first."""
CALLER_BODY_BYTES = 8 * 1024 * 1024
WORKER_BODY_BYTES = 64 * 1024 * 1024
CALLER_ANSWER_BYTES = 32 * 1024 * 1024
WORKER_ANSWER_BYTES = 96 * 1024 * 1024
SLOW_SECONDS = 10.0
"""How long an answer may take before it has to make room for others."""

Principal = tuple[str, str]
"""The kind and the id of a user, team or organization, whichever of its tokens is used."""
STRANGERS: Principal = ("stranger", "")
Release = Callable[[], None]


class Bodies:
    """The bytes of request bodies that are on their way or being worked on."""

    def __init__(self) -> None:
        self._strangers = 0
        self._callers: dict[Principal, int] = {}
        self._worker = 0

    def admit_stranger(self, size: int) -> Release | None:
        """Room for a body of nobody known; None: there is none, or never for such a large one."""
        if size > min(STRANGER_BODY_BYTES, STRANGERS_BODY_BYTES - self._strangers):
            return None
        self._strangers += size

        def release() -> None:
            self._strangers -= size

        return release

    def admit(self, caller: Principal, size: int) -> Release:
        """Room for a caller's body. Refuses: too many requests, busy."""
        held = self._callers.get(caller, 0)
        if held + size > CALLER_BODY_BYTES:
            raise too_many_requests(
                f"At most {CALLER_BODY_BYTES} bytes of bodies may be under way at once."
            )
        if self._worker + size > WORKER_BODY_BYTES:
            raise busy()
        self._callers[caller] = held + size
        self._worker += size

        def release() -> None:
            self._worker -= size
            self._callers[caller] -= size
            if not self._callers[caller]:
                del self._callers[caller]

        return release


class _Held(msgspec.Struct):
    """An answer in memory, and the limits under which it is sent to those who asked for it."""

    caller: Principal
    size: int
    since: float
    limits: list[TimeLimit]


class Responses:
    """The bytes of large answers that are being sent. One that is sent to several counts once."""

    def __init__(self) -> None:
        self._held: dict[int, _Held] = {}

    @contextmanager
    def sending(
        self, caller: Principal, body: object, size: int, limit: TimeLimit
    ) -> Iterator[None]:
        """Room for an answer for as long as it is sent, which happens under the limit.

        The first answer of a caller has room whatever its size. Where a worker has none left,
        answers that have been on their way for long are given up. Refuses: too many requests, busy.
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
            raise busy()

    def _fits(self, size: int) -> bool:
        in_all = sum(held.size for held in self._held.values())
        return not in_all or in_all + size <= WORKER_ANSWER_BYTES
