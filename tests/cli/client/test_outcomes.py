"""An exit code says whether a change has happened, and nothing is waited for without end."""

import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Self, cast

import pytest

from teamvars.cli.client.api.addresses import Address
from teamvars.cli.client.api.sending import Sending
from teamvars.cli.client.api.transport import (
    Connection,
    NoAnswerError,
    NoConnectionError,
    Reply,
    Request,
)
from teamvars.cli.exits import MEANINGS, Failure
from teamvars.domain.errors import Refusal
from teamvars.domain.idempotency import HEADER, MAX_RECORDS, Held, Record
from tests.cli.client.attacker import Attacker
from tests.support.commands import SCRIPT
from tests.support.desk import Desk
from tests.test_documents import ROOT

LATER = {"Retry-After": "600"}
FAULTS = ("internal_error", "damaged_value")


def errors(code: str) -> bytes:
    """The document of a refusal."""
    return json.dumps({"errors": [{"code": code, "detail": f"It is {code}."}]}).encode()


def full() -> bytes:
    """What a service answers that keeps no more answers for somebody's keys."""
    with pytest.raises(Refusal) as refused:
        Held(None, MAX_RECORDS, 0).require_room(Record("", "", b"", b"", 0))
    (fault,) = refused.value.faults
    return json.dumps({"errors": [{"code": fault.code.word, "detail": fault.detail}]}).encode()


class Scripted:
    """In the place of a connection: answers as it is told, and has no patience."""

    address = Address("https", "example.com", 443)
    seconds = 2.0
    is_sending = False

    def __init__(self, fates: Sequence[int | str]) -> None:
        """`fates`: a status, an error's code of a 500 or 503, `full`, `away` or `lost`; the last
        one stays."""
        self._fates = list(fates)
        self.has_key: list[bool] = []
        """Of each request."""

    def exchange(self, request: Request, until: float) -> Reply:
        """The next of them."""
        self.has_key.append(HEADER in request.headers)
        fate = self._fates.pop(0) if len(self._fates) > 1 else self._fates[0]
        if fate == "away":
            raise NoConnectionError("it is away")
        if fate == "lost":
            raise NoAnswerError("it was lost")
        if isinstance(fate, int):
            return Reply(fate, {}, b"")
        headers = {"content-type": "application/vnd.api+json", "retry-after": "600"}
        if fate == "full":
            return Reply(429, headers, full())
        return Reply(500 if fate in FAULTS else 503, headers, errors(fate))

    def unreachable(self, error: NoConnectionError) -> str:
        """As of the real one."""
        return str(error)


def outcome(method: str, *fates: int | str, changes: bool = True) -> int:
    """The status that counts in the end, or the exit code of a failure without one."""
    connection = cast("Connection", Scripted(fates))
    try:
        return Sending(connection, Request(method, "/x", {}, None), changes=changes).answer().status
    except Failure as failure:
        code = 12 if "Nobody knows" in str(failure) else 11
        return code if code == failure.code else 0


def test_what_became_of_a_change_is_told_from_what_nobody_knows() -> None:
    assert outcome("POST", "away") == 11
    assert outcome("POST", "storage_unavailable") == 503
    assert outcome("POST", "outcome_unknown") == 12
    assert outcome("POST", "lost", "storage_unavailable") == 12
    assert outcome("POST", "lost", 200) == 200
    assert outcome("POST", "lost", 422) == 422  # the first would have answered the repeat
    assert outcome("POST", "internal_error") == 500


@pytest.mark.parametrize(
    ("fates", "status", "sent"),
    [
        (["full", 200], 200, [True, False]),
        (["lost", "full", 200], 12, [True, True]),
        (["full", "lost"], 12, [True, False]),
        (["full", 502], 12, [True, False]),
        (["full", 503], 12, [True, False]),
        (["full", 429, 200], 200, [True, False, False]),
    ],
)
def test_a_service_without_room_for_a_key_is_sent_the_change_once_without(
    fates: list[int | str], status: int, sent: list[bool]
) -> None:
    scripted = Scripted(fates)
    connection, request = cast("Connection", scripted), Request("POST", "/x", {HEADER: "1"}, None)
    try:
        ended = Sending(connection, request, changes=True).answer().status
    except Failure as failure:
        ended = failure.code
    assert (ended, scripted.has_key) == (status, sent)


@pytest.mark.parametrize("status", [500, 520, 524])
def test_of_an_answer_that_is_none_of_the_services_own_nobody_knows_what_it_followed(
    status: int,
) -> None:
    assert outcome("POST", status) == 12
    assert outcome("GET", status, changes=False) == status


@pytest.mark.parametrize("last", ["away", 401, 403, 404, 500])
def test_after_an_answer_that_was_lost_some_settle_nothing(last: int | str) -> None:
    assert outcome("POST", "lost", last) == 12


def test_a_removal_that_finds_nothing_after_an_answer_was_lost_has_happened() -> None:
    assert outcome("DELETE", "lost", 404) == 404
    assert outcome("DELETE", "lost", 401) == 12


def test_a_question_or_a_dry_run_without_an_answer_has_changed_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Scripted, "seconds", 0.0)
    assert outcome("GET", "lost", changes=False) == 11
    assert outcome("POST", "lost", changes=False) == 11
    assert outcome("POST", "lost") == 12
    assert outcome("GET", 504, changes=False) == 504
    assert outcome("POST", 504) == 12


def test_a_question_that_was_refused_for_the_moment_stays_so_when_time_is_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Scripted, "seconds", 0.3)
    assert outcome("GET", 503, "lost", changes=False) == 503


def test_who_waits_for_an_operator_waits_no_longer() -> None:
    assert outcome("POST", "trail_altered", "outcome_unknown") == 503


@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [
        (429, "rate_limited", 9),
        (429, "too_many_requests", 9),
        (503, "busy", 9),
        (503, "storage_unavailable", 9),
        (503, "trail_altered", 9),
        (500, "damaged_value", 10),
        (501, "", 10),
        (502, "", 10),
        (504, "", 10),
        (403, "forbidden", 8),
    ],
)
def test_a_refusal_has_its_exit_code(
    stranger: Desk, status: int, code: str, exit_code: int
) -> None:
    with Attacker(status, errors(code), LATER) as server:
        done = stranger.having(address=server.url, token="tvu_secret").run("whoami")
    assert (done.code, done.out) == (exit_code, "")


class Drip:
    """A server that answers, in a `with`, and never comes to an end; or says nothing at all."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._drip, args=(client,), daemon=True).start()

    def _drip(self, client: socket.socket) -> None:
        with suppress(OSError), client:
            client.sendall(self._answer)
            while not self._ended.wait(0.05):
                client.sendall(b"x" if self._answer else b"")


@pytest.mark.parametrize(
    "answer",
    [b"", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n"],
    ids=["silence", "a head without end", "a body without end"],
)
def test_no_server_keeps_a_command_for_longer_than_it_is_told_to_wait(
    stranger: Desk, answer: bytes
) -> None:
    with Drip(answer) as server:
        desk = stranger.having(address=server.url, token="tvu_secret")
        for words in ("whoami", "version"):
            done = desk.run(words, "--timeout", "0.7")
            assert (done.code, done.out) == (11, "")
            assert "it took too long" in done.err


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "1e3", "x", ""])
def test_a_time_that_is_none_is_refused(stranger: Desk, seconds: str) -> None:
    desk = stranger.having(address="http://127.0.0.1:9", token="tvu_secret")
    refused = desk.run("whoami", f"--timeout={seconds}")
    assert (refused.code, refused.out) == (2, "")
    assert "--timeout" in refused.err


def test_the_exit_codes_are_one_list_in_help_and_in_the_document() -> None:
    text = (ROOT / "docs" / "cli.md").read_text()
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", text, re.MULTILINE)
    assert {int(code): meaning.replace("`", "") for code, meaning in rows} == MEANINGS
    words = [sys.executable, SCRIPT, "--help"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    listed = " ".join(f"{code} {meaning}" for code, meaning in MEANINGS.items())
    assert listed in " ".join(shown.split())
