"""Sending a request until there is an answer that counts, for a bounded time."""

import time
from typing import Any

import msgspec

from teamvars.cli.client.errors import Fault, faults_of
from teamvars.cli.client.transport import (
    Connection,
    NoAnswerError,
    NoConnectionError,
    Reply,
    Request,
)
from teamvars.cli.failures import Failure
from teamvars.cli.output import note

MEDIA_TYPE = "application/vnd.api+json"
_PATIENCE_SECONDS = 30.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
# What a service, or a proxy before it, says when the same request may fare better later; after
# those of a proxy alone nobody knows whether the request has arrived.
_BY_PROXIES = frozenset((502, 504))
_PASSING = frozenset((429, 503)) | _BY_PROXIES
_IN_USE, _UNKNOWN = "idempotency_key_in_use", "outcome_unknown"


class Sending:
    """One request on its way. Sent again, it is byte for byte the same, its key included.

    What is refused for the moment is waited for, and so is a service that gave no answer. One that
    could not be reached in the first place fails at once: nothing was changed.
    """

    def __init__(self, connection: Connection, request: Request) -> None:
        self._connection = connection
        self._request = request
        self.uncertain = False
        """Whether it may have been carried out before the last answer."""

    def answer(self) -> Reply:
        """The answer that counts; the last one, where time is up. Fails where there is none."""
        until, pause = time.monotonic() + _PATIENCE_SECONDS, _FIRST_PAUSE
        while True:
            reply, problem = self._try()
            if problem is None:
                assert reply is not None
                return reply
            wait = pause if reply is None else max(pause, _seconds(reply))
            if time.monotonic() + wait > until:
                return self._give_up(reply, problem)
            note(f"{problem} Sending it again{_in(wait)}.")
            time.sleep(wait)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _try(self) -> tuple[Reply | None, str | None]:
        """An answer, and why the request is to be sent again; None when it is not."""
        where = self._connection.address
        try:
            reply = self._connection.exchange(self._request)
        except NoConnectionError as error:
            problem = f"{where} cannot be reached: {error}."
            if not self.uncertain:
                raise Failure(problem) from None
            return None, problem
        except NoAnswerError as error:
            self.uncertain = True
            return None, f"No answer from {where}: {error}."
        faults = faults_of(document_of(reply)) if reply.status >= 400 else []
        if reply.status not in _PASSING and not _says(faults, _IN_USE):
            return reply, None
        self.uncertain |= reply.status in _BY_PROXIES or _says(faults, _UNKNOWN)
        return reply, f"{where} answered {reply.status}."

    def _give_up(self, reply: Reply | None, problem: str) -> Reply:
        if self._request.method == "GET" and reply is None:
            raise Failure(f"{problem} Try again later.")
        if reply is not None and not self.uncertain:
            if wanted := _seconds(reply):
                note(f"{problem} It asks for {wanted:.0f} seconds before another attempt.")
            return reply
        raise Failure(
            f"{problem} Nobody knows whether the change has happened. Run the command again once "
            "the service answers, or look first."
        )


def document_of(reply: Reply) -> Any:
    """The document of an answer; None where it has none, as when others than a service refuse."""
    if not reply.headers.get("content-type", "").startswith(MEDIA_TYPE):
        return None
    try:
        found = msgspec.json.decode(reply.body)
    except (msgspec.DecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _says(faults: list[Fault], code: str) -> bool:
    return any(fault.code == code for fault in faults)


def _in(seconds: float) -> str:
    """When, where it is long enough to wonder."""
    return f" in {seconds:.0f} seconds" if seconds > _LONGEST_PAUSE else ""


def _seconds(reply: Reply) -> float:
    """After how many seconds the service wants to be asked again."""
    text = reply.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 6 else 0.0
