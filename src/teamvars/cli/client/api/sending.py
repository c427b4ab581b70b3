"""Sending a request until there is an answer that counts, for a bounded time."""

import sys
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, NoReturn
from urllib.parse import urlencode

import msgspec

from teamvars.cli.client.api.errors import OUTCOME_UNKNOWN, TRAIL_ALTERED, faults_of, says
from teamvars.cli.client.api.transport import (
    Connection,
    NoAnswerError,
    NoConnectionError,
    Reply,
    Request,
)
from teamvars.cli.exits import NO_CONNECTION, UNKNOWN_OUTCOME, Failure
from teamvars.cli.output import note

MEDIA_TYPE = "application/vnd.api+json"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
_LONGEST_ASKED = 1e6
_BUSY = 503
_PASSING = frozenset((429, 502, _BUSY, 504))
"""What a service, or a proxy before it, says when the same request may fare better later."""
_IN_USE = "idempotency_key_in_use"
KEY = "Idempotency-Key"
_FULL = "too_many_requests"
"""With the key in its detail: the service keeps no more answers for keys of this caller."""
_GONE = frozenset((401, 403, 404))
"""What a repeat is told when meanwhile nobody may ask any more what became of the first."""


def end_unknown() -> NoReturn:
    """Ends a command that Ctrl-C interrupts while it changes something."""
    note(f"teamvars: Interrupted. {_NOBODY_KNOWS}")
    # Not as a failure: whoever goes on after one would go on after Ctrl-C.
    sys.exit(UNKNOWN_OUTCOME)


class Sending:
    """One request on its way. Sent again, it is byte for byte the same, its key included. Where the
    service has no room for another key it goes without, and is not sent again once it may have been
    carried out.

    What is refused for the moment is waited for, and so is a service that gave no answer. One that
    could not be reached in the first place fails at once: nothing was changed.
    """

    def __init__(self, connection: Connection, request: Request, *, changes: bool) -> None:
        """`changes`: whether something is another once it was carried out."""
        self._connection = connection
        self._request = request
        self._changes = changes
        self.uncertain = False
        """Whether it may have been carried out before the last answer."""
        self.is_repeated = False
        """Whether it was sent more than once."""
        self._lost_key = False

    def answer(self) -> Reply:
        """The answer that counts; the last one, where time is up. Fails where there is none."""
        try:
            return self._answer()
        except KeyboardInterrupt:
            if not self._changes or not (self._connection.is_sending or self.uncertain):
                raise
            end_unknown()

    def _answer(self) -> Reply:
        until = time.monotonic() + self._connection.seconds
        pause, last = _FIRST_PAUSE, None
        while True:
            reply, problem = self._try(until)
            if problem is None:
                assert reply is not None
                return self._settled(reply)
            last = reply or last
            wait = pause if reply is None else max(pause, wanted_seconds(reply))
            if time.monotonic() + wait > until or (self._lost_key and self.uncertain):
                return self._give_up(last, problem)
            # Says when, where it is long enough to wonder.
            when = f" in {wait:.0f} seconds" if wait > _LONGEST_PAUSE else ""
            note(f"{problem} Sending it again{when}.")
            time.sleep(wait)
            pause = min(2 * pause, _LONGEST_PAUSE)
            self.is_repeated = True

    def _try(self, until: float) -> tuple[Reply | None, str | None]:
        """An answer, and why the request is to be sent again; None when it is not."""
        where = self._connection.address
        try:
            reply = self._connection.exchange(self._request, until)
        except NoConnectionError as error:
            problem = self._connection.unreachable(error)
            if not self.uncertain:
                raise Failure(problem, NO_CONNECTION) from None
            return None, problem
        except NoAnswerError as error:
            self.uncertain = True
            return None, f"No answer from {where}: {error}."
        faults = faults_of(document_of(reply)) if reply.status >= 400 else []
        is_full = any(fault.code == _FULL and KEY in fault.detail for fault in faults)
        if is_full and not self._lost_key and not self.uncertain:
            named = self._request.headers.items()
            headers = {name: text for name, text in named if name != KEY}
            self._request, self._lost_key = self._request._replace(headers=headers), True
            return self._try(until)
        # A proxy says it, perhaps once the request has arrived; who is busy has passed nothing on,
        # or what is sent again has its key.
        is_passed_on = reply.status != _BUSY or self._lost_key
        is_lost = reply.status >= 500 and is_passed_on and not faults
        self.uncertain |= is_lost or says(faults, OUTCOME_UNKNOWN)
        is_passing = reply.status in _PASSING and not says(faults, TRAIL_ALTERED)
        if not is_passing and not says(faults, _IN_USE):
            return reply, None
        return reply, f"{where} answered {reply.status}."

    def _settled(self, reply: Reply) -> Reply:
        """An answer that is none of what passes. After one that was lost, some settle nothing."""
        is_settled = self._request.method == "DELETE" and reply.status == 404
        if self.uncertain and not is_settled and (reply.status in _GONE or reply.status >= 500):
            self._require_known(f"{self._connection.address} answered {reply.status}.")
        return reply

    def _give_up(self, reply: Reply | None, problem: str) -> Reply:
        if self.uncertain:
            self._require_known(problem)
        if reply is None:
            waited = f"{self._connection.seconds:g} seconds (--timeout)"
            raise Failure(f"{problem} There was none within {waited}.", NO_CONNECTION)
        if wanted := wanted_seconds(reply):
            note(f"{problem} It asks for {wanted:.0f} seconds before another attempt.")
        return reply

    def _require_known(self, problem: str) -> None:
        """Fails where a change may have happened."""
        if self._changes:
            raise Failure(f"{problem} {_NOBODY_KNOWS}", UNKNOWN_OUTCOME)


_NOBODY_KNOWS = (
    "Nobody knows whether the change has happened. Run the command again once the service "
    "answers, or look first."
)


def form_to(path: str, said: Mapping[str, str]) -> Request:
    """The request that sends a form, as OAuth has it."""
    headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
    return Request("POST", path, headers, urlencode(said).encode())


def answer_once(connection: Connection, request: Request, *, changes: bool = False) -> Reply:
    """The answer to a request that is sent once. Fails where none comes; of one that `changes`
    something nobody knows then, nor where Ctrl-C comes first, what became of it.
    """
    try:
        return connection.exchange(request, time.monotonic() + connection.seconds)
    except KeyboardInterrupt:
        if not (changes and connection.is_sending):
            raise
        end_unknown()
    except NoConnectionError as error:
        raise Failure(connection.unreachable(error), NO_CONNECTION) from None
    except NoAnswerError as error:
        problem = f"No answer from {connection.address}: {error}."
        if changes:
            raise Failure(f"{problem} {_NOBODY_KNOWS}", UNKNOWN_OUTCOME) from None
        raise Failure(problem, NO_CONNECTION) from None


def document_of(reply: Reply) -> Any:
    """The document of an answer; None where it has none, as when others than a service refuse."""
    is_document = reply.headers.get("content-type", "").startswith(MEDIA_TYPE)
    return object_of(reply) if is_document else None


def object_of(reply: Reply) -> dict[str, Any] | None:
    """The JSON object that an answer is, of whatever type it says it is; None where it is none."""
    try:
        found = msgspec.json.decode(reply.body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def wanted_seconds(reply: Reply) -> float:
    """After how many seconds the service wants to be asked again, or what is before it: it says how
    many, or when, which is by the clock that dates the answer (RFC 9110, 10.2.3).
    """
    text = reply.headers.get("retry-after", "")
    if text.isascii() and text.isdecimal():
        return min(float(text), _LONGEST_ASKED)
    dates = text, reply.headers.get("date", "")
    try:
        # Each is GMT, and one of its forms does not say so.
        then, now = (parsedate_to_datetime(one).replace(tzinfo=None) for one in dates)
    except (ValueError, OverflowError):
        return 0.0
    return max((then - now).total_seconds(), 0.0)
