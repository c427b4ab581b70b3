"""A change happens once, however often it is sent, and a service that is away is told as such."""

import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import pytest

from teamvars.cli.client.api.addresses import Address
from teamvars.cli.client.api.sending import wanted_seconds
from teamvars.cli.client.api.transport import (
    Connection,
    NoAnswerError,
    Reply,
    Request,
    Travel,
)
from teamvars.security.certificates import throw_away
from tests.cli.client.attacker import Attacker
from tests.cli.client.conftest import Service
from tests.support.desk import Desk
from tests.support.patience import HANGS
from tests.support.server import free_port


class CutWire:
    """Between a client and a service: what a request is answered with does not always arrive."""

    def __init__(self, service: Service, fates: Sequence[str]) -> None:
        """`fates` of one change after the other: `cut` before the answer or `torn` in the middle
        of it, `busy`, `through`."""
        self._to = ("127.0.0.1", service.server.port)
        self._fates = list(fates)
        self.requests: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client:
                while request := _request(client):
                    self.requests.append(request)
                    if not self._answer(client, request):
                        break

    def _answer(self, client: socket.socket, request: bytes) -> bool:
        fate = "through"
        if not request.startswith(b"GET"):
            fate = self._fates.pop(0) if self._fates else "through"
        if fate == "busy":
            client.sendall(b"HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n")
            return True
        with socket.create_connection(self._to) as server:
            server.sendall(request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            answer = b""
            while more := server.recv(65536):
                answer += more
        if fate == "cut":
            return False
        client.sendall(answer[:-1] if fate == "torn" else answer)
        return False


def _request(client: socket.socket) -> bytes:
    """A whole request; nothing once the client has gone."""
    read = b""
    while b"\r\n\r\n" not in read:
        if not (more := client.recv(65536)):
            return b""
        read += more
    head, _, body = read.partition(b"\r\n\r\n")
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            while len(body) < int(line.split(b":")[1]):
                body += client.recv(65536)
    return head + b"\r\n\r\n" + body


@pytest.mark.parametrize("fates", [["cut"], ["busy"], ["cut", "busy", "cut"]])
def test_a_change_without_an_answer_is_sent_again_and_happens_once(
    stranger: Desk, service: Service, office: str, fates: list[str]
) -> None:
    with CutWire(service, fates) as wire:
        alice = stranger.having(
            address=wire.url, token=service.tokens["alice"], organization=office
        )
        done = alice.succeed("team", "add", "platform", "dave", "erin")
    assert "Sending it again." in done.err
    sent = [request for request in wire.requests if request.startswith(b"POST")]
    assert len(sent) == len(fates) + 1
    assert len(set(sent)) == 1  # byte for byte, its key included
    assert b'Idempotency-Key: "' in sent[0]
    added = [row for row in service.events(office, "member.add") if row["actor"]["type"] == "user"]
    assert len(added) == 1


def test_a_removal_that_was_carried_out_unseen_is_done(stranger: Desk, service: Service) -> None:
    with CutWire(service, ["cut"]) as wire:
        alice = stranger.having(address=service.url, token=service.tokens["alice"])
        made = alice.succeed("login", "tokens", "create", "--json").json
        done = alice.succeed(
            *("login", "tokens", "revoke", made["id"], "--yes", "--address", wire.url)
        )
    assert f"Revoked: {made['id']}." in done.err
    assert alice.having(token=made["token"]).run("whoami").code == 4


def test_a_token_that_was_made_without_an_answer_is_named(stranger: Desk, service: Service) -> None:
    with CutWire(service, ["cut"]) as wire:
        alice = stranger.having(address=wire.url, token=service.tokens["dave"])
        # One that would outlive the token it is made with takes a second request.
        done = alice.run("login", "tokens", "create", "--expires", "1d")
        assert (done.code, done.out) == (6, "")
        assert "teamvars login tokens revoke at-" in done.err


def test_a_service_that_is_away_is_told_at_once(stranger: Desk) -> None:
    gone = f"http://127.0.0.1:{free_port()}"
    done = stranger.having(address=gone, token="tvu_secret").run("whoami")
    assert (done.code, done.out) == (11, "")
    assert done.err == f"teamvars: {gone} cannot be reached: Connection refused.\n"


@pytest.mark.parametrize(
    ("status", "code", "told"),
    [
        (500, 10, "answered 500, and not as teamvars would"),
        (403, 8, "membership of the team 'owners'"),
        (404, 5, "teamvars workspace list"),
        (412, 6, "Somebody else has changed it"),
        (422, 7, "answered 422"),
        (400, 7, "answered 400"),
        (418, 1, "answered 418"),
    ],
)
def test_answers_that_are_no_documents_end_commands_with_their_codes(
    stranger: Desk, status: int, code: int, told: str
) -> None:
    with Attacker(status, b"<html>\x1b[2J") as server:
        done = stranger.having(address=server.url, token="tvu_secret").run("whoami")
    assert (done.code, done.out) == (code, "")
    assert told in done.err


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b'{"name": "\xff"}', b"[" * 100_000])
def test_what_is_no_teamvars_is_told_as_such(stranger: Desk, body: bytes) -> None:
    for headers in ({}, {"Content-Type": "text/html"}):
        with Attacker(200, body, headers) as server:
            done = stranger.having(address=server.url, token="tvu_secret").run("whoami")
        assert (done.code, done.out) == (1, "")
        assert "is not teamvars. Check the address." in done.err


def test_a_list_that_never_ends_ends(stranger: Desk) -> None:
    page = {"data": [], "meta": {"pagination": {"next-page": 1}}}
    with Attacker(200, json.dumps(page).encode()) as server:
        desk = stranger.having(address=server.url, token="tvu_secret", organization="acme")
        desk.succeed("workspace", "list")
    assert len(server.seen) == 1


def test_a_certificate_is_checked_before_anything_is_sent(
    stranger: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = throw_away()
    contents = {"ca.pem": made.authority, "cert.pem": made.certificate, "key.pem": made.key}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    empty = json.dumps({"data": []}).encode()
    with Attacker(200, empty, tls=tls) as server:
        desk = stranger.having(address=server.url, token="tvu_secret", organization="acme")
        refused = desk.run("workspace", "list")
        assert (refused.code, refused.out) == (11, "")
        assert "its certificate is not trusted" in refused.err
        assert "SSL_CERT_FILE" in refused.err
        assert server.seen == []
        missing = tmp_path / "missing.pem"
        monkeypatch.setenv("SSL_CERT_FILE", str(missing))
        told = f"SSL_CERT_FILE names {missing}, which cannot be read"
        assert told in desk.run("workspace", "list").err
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        desk.succeed("workspace", "list")
        elsewhere = server.url.replace("localhost", "127.0.0.2")
        assert desk.having(address=elsewhere).run("workspace", "list").code == 11
        assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"", "the connection was closed"),
        # An alert of TLS 1.2: fatal, handshake_failure.
        (b"\x15\x03\x03\x00\x02\x02\x28", "TLS cannot be agreed on ("),
    ],
)
def test_a_failure_of_tls_is_told_without_the_words_of_its_library(
    stranger: Desk, answer: bytes, told: str
) -> None:
    def refuse() -> None:
        connected, _ = listener.accept()
        with connected:
            connected.recv(65536)
            connected.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=refuse, daemon=True).start()
        address = f"https://localhost:{listener.getsockname()[1]}"
        desk = stranger.having(address=address, token="tvu_secret", organization="acme")
        refused = desk.run("workspace", "list")
    assert refused.code == 11
    assert f"{address} cannot be reached: {told}" in refused.err
    assert "_ssl" not in refused.err


def test_an_answer_that_ends_in_its_middle_is_none(
    stranger: Desk, service: Service, office: str
) -> None:
    with CutWire(service, ["torn"]) as wire:
        alice = stranger.having(
            address=wire.url, token=service.tokens["alice"], organization=office
        )
        done = alice.succeed("vars", "set", "KEY=value", "-w", "network")
    assert "cut in the middle. Sending it again." in done.err
    assert len(service.events(office, "variable.create")) == 1


def test_who_speaks_no_tls_is_told_as_such(stranger: Desk, service: Service) -> None:
    done = stranger.having(token="not-a-token").run(
        "whoami", "--address", service.url.removeprefix("http://")
    )
    assert done.code == 11
    assert "it does not speak TLS" in done.err
    assert "http://" in done.err


@pytest.mark.parametrize("wait", ["600", "9" * 500, "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_a_service_that_wants_to_be_left_alone_for_long_is(stranger: Desk, wait: str) -> None:
    with Attacker(429, b"", {"Retry-After": wait}) as busy:
        done = stranger.having(address=busy.url, token="not-a-token").run("whoami")
    assert (done.code, len(busy.seen)) == (9, 1)
    seconds = re.search(r"asks for (\d+) seconds", done.err)
    assert seconds
    assert int(seconds[1]) >= 600


@pytest.mark.parametrize(
    ("wait", "date", "seconds"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:07 GMT", 30),
        ("Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:07 1994", 30),
        ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:00 GMT", 0),
        ("Sun, 06 Nov 1994 08:49:37 GMT", "", 0),
        ("-1", "Sun, 06 Nov 1994 08:49:07 GMT", 0),
        (f"Sun, 06 Nov {'9' * 30} 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:07 GMT", 0),
        ("soon", "Sun, 06 Nov 1994 08:49:07 GMT", 0),
    ],
)
def test_when_to_ask_again_is_by_the_clock_that_dates_the_answer(
    wait: str, date: str, seconds: float
) -> None:
    assert wanted_seconds(Reply(503, {"retry-after": wait, "date": date}, b"")) == seconds


@pytest.mark.parametrize("length", [b"-5", b"zz"])
def test_an_answer_whose_pieces_have_no_length_is_none(length: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            client, _ = listener.accept()
            with client:
                _request(client)
                client.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                client.sendall(length + b"\r\nabc")

        threading.Thread(target=answer, daemon=True).start()
        address = Address("http", "127.0.0.1", listener.getsockname()[1])
        with pytest.raises(NoAnswerError):
            Connection(address, Travel()).exchange(
                Request("GET", "/", {}, None), time.monotonic() + HANGS
            )
