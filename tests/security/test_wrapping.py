"""Keyrings that something outside wraps: what it says is believed only if it opens the file."""

import base64
import json
import os
import signal
import socket
import ssl
import sys
import threading
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import pytest
from msgspec.structs import replace

from teamvars.security import keyring
from teamvars.security.keyring import KeyringError, KeyringUnavailable
from teamvars.security.wrapping import (
    MOST_BYTES,
    Command,
    NotUnwrapped,
    Once,
    Transit,
    Unavailable,
    adapter,
    sealed,
)
from tests.support.own_tls import own_tls
from tests.support.patience import HANGS
from tests.support.processes import wait_until_gone
from tests.support.server import free_port

KEY = b"k" * 32
SLOW = 0.3
"""Seconds after which those are given up that never answer."""


class Honest:
    """Something outside that remembers what it was asked."""

    id = "honest"

    def __init__(self) -> None:
        self.asked: list[bytes] = []

    def wrap(self, key: bytes) -> bytes:
        return b"wrapped " + key

    def unwrap(self, wrapped: bytes) -> bytes:
        self.asked.append(wrapped)
        return wrapped.removeprefix(b"wrapped ")


class Otherwise(Honest):
    """One that answers something else."""

    def __init__(self, said: bytes | Exception) -> None:
        super().__init__()
        self.said = said

    def unwrap(self, wrapped: bytes) -> bytes:
        if isinstance(self.said, Exception):
            raise self.said
        return self.said


class Named(Honest):
    """One with another name, which opens all the same."""

    id = "another"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A keyring that is wrapped."""
    keyring.save_new(keyring.generate(), tmp_path / "keyring.json", Honest())
    return tmp_path / "keyring.json"


# The file


def test_what_was_wrapped_is_loaded_and_the_file_shows_none_of_it(tmp_path: Path) -> None:
    keys, path = keyring.generate(), tmp_path / "keyring.json"
    keyring.save_new(keys, path, Honest())
    assert keyring.load(path, Honest()) == keys
    text = path.read_text()
    for key_set in keys.key_sets.values():
        for key_id, key in key_set.keys.items():
            assert key_id not in text
            assert base64.b64encode(key).decode() not in text
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_is_outside_never_sees_the_keyring_and_no_key_is_used_twice(path: Path) -> None:
    outside = Honest()
    keyring.load(path, outside)
    keyring.wrap(path, outside, outside)
    keyring.load(path, outside)
    assert all(len(asked) == len(b"wrapped ") + 32 for asked in outside.asked)
    first, *_, last = outside.asked
    assert first != last


def test_a_key_that_is_added_to_a_wrapped_keyring_leaves_it_wrapped(path: Path) -> None:
    added = keyring.new_key("audit")
    keyring.change(path, lambda keys: keys.holding("audit", added), Honest())
    assert added.active in keyring.load(path, Honest()).audit.keys
    assert json.loads(path.read_text())["by"] == "honest"


def test_it_is_wrapped_in_place_otherwise_and_made_plain_again(tmp_path: Path) -> None:
    keys, path = keyring.generate(), tmp_path / "keyring.json"
    keyring.save_new(keys, path)
    ways = (None, Honest(), Named(), None)
    for former, by in pairwise(ways):
        keyring.wrap(path, former, by)
        assert keyring.load(path, by) == keys


@pytest.mark.parametrize(
    ("by", "said"),
    [(None, "is wrapped by 'honest'"), (Named(), "is wrapped by 'honest'")],
    ids=["nothing", "another"],
)
def test_a_wrapped_file_is_refused_without_what_wraps_it(
    path: Path, by: Honest | None, said: str
) -> None:
    with pytest.raises(KeyringError, match=said):
        keyring.load(path, by)


def test_a_plain_file_is_refused_where_it_should_be_wrapped(tmp_path: Path) -> None:
    keyring.save_new(keyring.generate(), path := tmp_path / "keyring.json")
    with pytest.raises(KeyringError, match=r"is not wrapped, and .* Run: teamvars keys wrap"):
        keyring.load(path, Honest())


def test_a_wrapped_file_inside_a_wrapped_file_is_no_keyring(path: Path) -> None:
    inner = path.read_bytes()
    document = sealed(inner, Honest())
    path.write_text(json.dumps({"format": 2, **document}))
    with pytest.raises(KeyringError, match="is wrapped by 'honest'"):
        keyring.load(path, Honest())


def test_a_file_that_says_it_was_wrapped_by_another_does_not_open(path: Path) -> None:
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "by": Named.id}))
    with pytest.raises(KeyringError, match="another key, or the file was altered"):
        keyring.load(path, Named())


@pytest.mark.parametrize("part", ["key", "content"])
def test_no_bit_of_a_wrapped_file_changes_unnoticed(path: Path, part: str) -> None:
    document = json.loads(path.read_text())
    whole = base64.b64decode(document[part])
    for place in range(8 if part == "key" else 0, len(whole)):
        altered = bytearray(whole)
        altered[place] ^= 1
        text = base64.b64encode(altered).decode()
        path.write_text(json.dumps({**document, part: text}))
        with pytest.raises(KeyringError):
            keyring.load(path, Honest())


@pytest.mark.parametrize("part", ["key", "content", "by"])
@pytest.mark.parametrize("value", [None, 7, "no!", [], ""], ids=repr)
def test_a_part_of_a_wrapped_file_that_is_something_else_is_refused(
    path: Path, part: str, value: object
) -> None:
    document = {**json.loads(path.read_text()), part: value}
    path.write_text(json.dumps(document))
    with pytest.raises(KeyringError):
        keyring.load(path, Honest())
    del document[part]
    path.write_text(json.dumps(document))
    with pytest.raises(KeyringError, match="damaged"):
        keyring.load(path, Honest())


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"", "answers with 0 bytes that are no key"),
        (KEY[:31], "answers with 31 bytes that are no key"),
        (KEY * 2, "answers with 64 bytes that are no key"),
        (KEY, "answers with another key"),
        (NotUnwrapped("it is tired."), "it is tired"),
    ],
)
def test_what_does_not_open_the_file_is_told_apart(
    path: Path, said: bytes | Exception, told: str
) -> None:
    with pytest.raises(KeyringError, match=told) as refused:
        keyring.load(path, Otherwise(said))
    assert not isinstance(refused.value, KeyringUnavailable)


def test_what_may_answer_later_is_told_apart_from_what_will_not(path: Path) -> None:
    with pytest.raises(KeyringUnavailable, match="it sleeps"):
        keyring.load(path, Otherwise(Unavailable("it sleeps.")))


def test_what_cannot_open_what_it_has_sealed_seals_no_keyring(tmp_path: Path) -> None:
    """Such as an account that may encrypt and not decrypt: the keys would be lost."""
    path = tmp_path / "keyring.json"
    with pytest.raises(KeyringError, match="does not open what it has sealed"):
        keyring.save_new(keyring.generate(), path, Otherwise(KEY))
    assert not path.exists()
    keyring.save_new(keyring.generate(), path)
    before = path.read_bytes()
    with pytest.raises(KeyringError, match="does not open what it has sealed"):
        keyring.wrap(path, None, Otherwise(KEY))
    assert path.read_bytes() == before


def test_what_was_asked_for_a_key_once_is_not_asked_again(path: Path) -> None:
    once = Once(outside := Honest())
    first = keyring.load(path, once)
    assert keyring.load(path, once) == first
    assert len(outside.asked) == 1
    keyring.wrap(path, once, once)
    asked = len(outside.asked)
    keyring.load(path, once)  # it is known from when the file was written
    assert len(outside.asked) == asked


@pytest.mark.parametrize(
    "text",
    [
        *("", "file", "command", "command:", "command:  ", "command:'open", "command:a\0b"),
        *(
            "transit:",
            "transit:bao",
            "transit:https://",
            "transit:https://bao",
            "transit:https:///",
        ),
        *("transit:http://bao/key", "transit:https://bao/", "transit:https://bao:port/key"),
        *("transit:https://bao/key?x=1", "transit:https://bao/key#x", "transit:https://bao/a//b"),
        *("transit:https://hunter2@bao/key", "transit:https://bao/a%20b", "transit:ftp://bao/key"),
        *("transit:ftp://127.0.0.1/key", "transit:https:///key", "vault:https://bao/key"),
        *("transit:https://bao..example.com/key", f"transit:https://{'b' * 64}/key"),
    ],
)
def test_what_names_nothing_outside_is_refused_unquoted(text: str) -> None:
    with pytest.raises(ValueError, match=r"command:|transit:|quotation") as refused:
        adapter(text)
    assert "hunter2" not in str(refused.value)


def test_it_is_named_by_what_it_is_and_not_by_where() -> None:
    assert adapter("command:/opt/wrap 'a b'") == Command(("/opt/wrap", "a b"))
    assert adapter("command:/opt/wrap").id == "command"
    there = adapter("transit:https://bao.example.com:8200/teamvars")
    assert there == Transit("https://bao.example.com:8200", "transit", "teamvars")
    assert there.id == "transit/teamvars"
    assert adapter("transit:https://bao/our/transit/teamvars").id == "our/transit/teamvars"
    assert adapter("transit:http://127.0.0.1:8200/teamvars").id == "transit/teamvars"


# A command


def command(script: str, *words: str) -> Command:
    """A command that runs these lines of Python; `seconds` are few."""
    return Command((sys.executable, "-c", script, *words), seconds=HANGS)


UPSIDE_DOWN = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()[::-1])"


def test_a_command_is_told_what_to_do_and_keys_pass_through_pipes_alone(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    script = f"import sys; open({str(seen)!r}, 'a').write(repr(sys.argv)); {UPSIDE_DOWN}"
    by = command(script, "a b")
    path = tmp_path / "keyring.json"
    keyring.save_new(keys := keyring.generate(), path, by)
    assert keyring.load(path, by) == keys
    assert seen.read_text() == repr(["-c", "a b", "wrap"]) + 2 * repr(["-c", "a b", "unwrap"])


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("raise SystemExit(1)", "ends with exit code 1"),
        ("import os; os.kill(os.getpid(), 9)", "ends with exit code -9"),
        (f"print('x' * {MOST_BYTES})", f"it writes more than {MOST_BYTES} bytes"),
        ("while True: print('x' * 4000, flush=True)", "it writes more than"),
    ],
)
def test_a_command_that_fails_or_says_too_much_is_refused(script: str, told: str) -> None:
    with pytest.raises(NotUnwrapped, match=told) as refused:
        command(script).unwrap(KEY)
    assert not isinstance(refused.value, Unavailable)
    assert sys.executable in str(refused.value) or told.startswith("it")
    assert script not in str(refused.value)


def test_a_command_may_say_as_much_as_there_is_room_for() -> None:
    said = command(f"print('x' * {MOST_BYTES}, end='')").unwrap(KEY)
    assert said == b"x" * MOST_BYTES


def test_a_command_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for name, told in (("none", "No such file"), (str(tmp_path), "Permission denied")):
        with pytest.raises(NotUnwrapped, match=f"cannot be run: {told}"):
            Command((name,)).wrap(KEY)


def test_a_command_may_say_that_it_will_serve_later() -> None:
    with pytest.raises(Unavailable, match="exit code 75"):
        command("raise SystemExit(75)").unwrap(KEY)


def test_a_command_need_not_read_what_it_is_given() -> None:
    assert command("import os; os.close(0); print(end='said')").unwrap(KEY) == b"said"


@pytest.mark.parametrize("rest", ["", "; import os; os.close(1)"], ids=["open", "closed"])
def test_a_command_that_does_not_end_is_ended_with_all_that_it_has_started(
    tmp_path: Path, rest: str
) -> None:
    mark = tmp_path / "child"
    script = (
        "import subprocess, sys, time, os\n"
        "child = subprocess.Popen(['/bin/sleep', '1000'])\n"
        f"open({str(mark)!r} + '.new', 'w').write(str(child.pid))\n"
        f"os.rename({str(mark)!r} + '.new', {str(mark)!r}){rest}\n"
        "time.sleep(1000)"
    )
    seconds = SLOW
    while not mark.exists():  # on a host that takes longer to start it
        with pytest.raises(Unavailable, match="has not ended after"):
            replace(command(script), seconds=seconds).unwrap(KEY)
        seconds *= 2
    wait_until_gone(int(mark.read_text()))


def test_a_command_that_another_account_runs_by_now_is_given_up_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    groups = []

    def killpg(group: int, _: int) -> None:
        groups.append(group)
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr(os, "killpg", killpg)
        with pytest.raises(Unavailable, match="has not ended after"):
            replace(command("import time; time.sleep(60)"), seconds=SLOW).unwrap(KEY)
    (group,) = groups
    os.killpg(group, signal.SIGKILL)
    wait_until_gone(group)


# A transit engine


class Liar:
    """A server on this machine that answers everybody the same bytes, in one piece or many."""

    def __init__(self, *pieces: bytes, pause: float = 0, tls: ssl.SSLContext | None = None) -> None:
        self.pieces, self.pause, self.tls = pieces, pause, tls
        self.heard = b""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> "Liar":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
            pass
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        while not self._ended.is_set():
            caller, _ = self._listener.accept()
            with suppress(OSError), caller:
                self._answer(caller)

    def _answer(self, caller: socket.socket) -> None:
        spoken = caller if self.tls is None else self.tls.wrap_socket(caller, server_side=True)
        with spoken:
            while b"\r\n\r\n" not in self.heard or not self.heard.endswith(b"}"):
                if not (piece := spoken.recv(4096)):
                    return
                self.heard += piece
            for piece in self.pieces:
                spoken.sendall(piece)
                if self._ended.wait(self.pause):
                    return


def said(content: object, status: int = 200) -> bytes:
    """An answer of HTTP."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


def plaintext(key: bytes) -> object:
    """What an engine says that has opened one."""
    return {"data": {"plaintext": base64.b64encode(key).decode()}}


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The only token there is."""
    for name in ("BAO_TOKEN", "VAULT_TOKEN", "BAO_CACERT", "VAULT_CACERT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BAO_TOKEN", "s.hunter2")
    return "s.hunter2"


def at(server: Liar) -> Transit:
    return Transit(f"http://127.0.0.1:{server.port}", "transit", "teamvars", seconds=HANGS)


def test_a_transit_engine_is_asked_with_the_token_and_its_answer_is_the_key() -> None:
    with Liar(said(plaintext(KEY))) as server:
        assert at(server).unwrap(b"vault:v1:x") == KEY
        head, _, body = server.heard.partition(b"\r\n\r\n")
        assert head.startswith(b"POST /v1/transit/decrypt/teamvars HTTP/1.1\r\n")
        assert b"\r\nX-Vault-Token: s.hunter2\r\n" in head
        assert json.loads(body) == {"ciphertext": "vault:v1:x"}
    with Liar(said({"data": {"ciphertext": "vault:v1:x"}})) as server:
        assert at(server).wrap(KEY) == b"vault:v1:x"


ONE = said(plaintext(KEY))


class Told:
    """What becomes of answers that are none."""

    LASTING: ClassVar[list[tuple[bytes, str]]] = [
        (said({}, 400), "refuses it: it was wrapped with another key"),
        (said({}, 403), "refuses the token"),
        (said({}, 404), "has no such key"),
        (said({}, 302), "answers with status 302"),
        (said({"data": {"ciphertext": "x"}}), "none of a transit engine"),
        (said({"data": {"plaintext": "no base64"}}), "none of a transit engine"),
        (said({"data": {"plaintext": 7}}), "none of a transit engine"),
        (said({"data": {"plaintext": "ü"}}), "none of a transit engine"),
        (said({"data": None}), "none of a transit engine"),
        (said([]), "none of a transit engine"),
        (said(b"[" * 10_000), "none of a transit engine"),
        (said(b""), "none of a transit engine"),
        (said(plaintext(KEY * 120)), "none of a transit engine"),
        (said(b"x" * 20_000), "no HTTP, or too much"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "no HTTP, or too much"),
        (b"HTTP/1.1 200 X\r\nContent-Length: no\r\n\r\n", "no HTTP, or too much"),
    ]
    PASSING: ClassVar[list[tuple[bytes, str]]] = [
        (said({}, 503), "answers with status 503"),
        (said({}, 500), "answers with status 500"),
        (said({}, 429), "answers with status 429"),
        (ONE[:-5], "is cut short"),
        (ONE[: len(ONE) // 2], "is cut short"),
        (b"", "hangs up"),
    ]


@pytest.mark.parametrize(("answer", "told"), Told.LASTING)
def test_an_engine_that_lies_or_refuses_is_told_apart(answer: bytes, told: str) -> None:
    with Liar(answer) as server, pytest.raises(NotUnwrapped, match=told) as refused:
        at(server).unwrap(b"vault:v1:x")
    assert not isinstance(refused.value, Unavailable)
    assert "hunter2" not in str(refused.value)
    assert base64.b64encode(KEY).decode()[:10] not in str(refused.value)


@pytest.mark.parametrize(("answer", "told"), Told.PASSING)
def test_an_engine_that_cannot_serve_now_is_told_apart(answer: bytes, told: str) -> None:
    with Liar(answer) as server, pytest.raises(Unavailable, match=told):
        at(server).unwrap(b"vault:v1:x")


def test_what_an_engine_has_wrapped_is_text_of_some_length() -> None:
    longest = "x" * MOST_BYTES
    with Liar(said({"data": {"ciphertext": longest}})) as server:
        assert at(server).wrap(KEY) == longest.encode()
    for odd in (f"{longest}x", "vault:v1:\u00fc"):
        with (
            Liar(said({"data": {"ciphertext": odd}})) as server,
            pytest.raises(NotUnwrapped, match="none of a transit engine"),
        ):
            at(server).wrap(KEY)


def test_an_answer_has_sixteen_kibibytes_at_most() -> None:
    body, head = json.dumps(plaintext(KEY)).encode(), len(said(b" " * 10_000)) - 10_000
    room = 16 * 1024 - head
    with Liar(said(body.ljust(room))) as server:
        assert at(server).unwrap(b"x") == KEY
    with (
        Liar(said(body.ljust(room + 1))) as server,
        pytest.raises(NotUnwrapped, match="or too much"),
    ):
        at(server).unwrap(b"x")


@pytest.mark.parametrize(("scheme", "port"), [("https", 443), ("http", 80)])
def test_an_engine_without_a_port_is_asked_at_that_of_its_scheme(
    scheme: str, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(address: object, *_: object) -> None:
        asked.append(address)
        raise ConnectionRefusedError

    asked: list[object] = []
    monkeypatch.setattr(socket, "create_connection", refused)
    with pytest.raises(Unavailable):
        Transit(f"{scheme}://localhost", "transit", "teamvars").unwrap(b"x")
    assert asked == [("localhost", port)]


@pytest.mark.parametrize(
    ("pieces", "pause"),
    [([b""], HANGS), ([ONE[n : n + 1] for n in range(len(ONE))], SLOW)],
    ids=["silent", "a byte at a time"],
)
def test_an_engine_has_only_so_much_time_for_all_of_its_answer(
    pieces: list[bytes], pause: float
) -> None:
    with Liar(*pieces, pause=pause) as server:
        begun = time.monotonic()
        with pytest.raises(Unavailable, match=r"has not answered within 0\.3 seconds"):
            replace(at(server), seconds=SLOW).unwrap(b"vault:v1:x")
        assert time.monotonic() - begun < SLOW * len(ONE) / 2


def test_where_nobody_listens_or_nobody_is_called_so_it_may_be_later() -> None:
    for place, reason in ((f"127.0.0.1:{free_port()}", "Connection refused"), ("bao.invalid", "")):
        with pytest.raises(Unavailable, match=f"cannot be asked: {reason}"):
            Transit(f"https://{place}", "transit", "teamvars").unwrap(b"x")


def test_the_token_is_in_the_environment_or_in_the_file_where_login_puts_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def used() -> str:
        with Liar(said(plaintext(KEY))) as server:
            at(server).unwrap(b"x")
            lines = server.heard.decode().split("\r\n")
            return next(line for line in lines if line.startswith("X-Vault-Token")).split(": ")[1]

    (tmp_path / ".vault-token").write_text("third\n")
    monkeypatch.setenv("VAULT_TOKEN", "second")
    for wanted, name in (
        ("s.hunter2", "BAO_TOKEN"),
        ("second", "VAULT_TOKEN"),
        ("third", "VAULT_TOKEN"),
    ):
        assert used() == wanted
        monkeypatch.setenv(name, "")
    for odd in ("of\nlines", "\u00fc", None):
        if odd is None:
            (tmp_path / ".vault-token").unlink()
        else:
            (tmp_path / ".vault-token").write_text(odd)
        with pytest.raises(NotUnwrapped, match="there is no token in BAO_TOKEN, VAULT_TOKEN or"):
            Transit("http://127.0.0.1:1", "transit", "teamvars").unwrap(b"x")


def test_only_a_server_that_somebody_trusted_vouches_for_is_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    context, authority = own_tls(tmp_path)
    with Liar(tls=ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)) as server:  # one without a certificate
        there = Transit(f"https://localhost:{server.port}", "transit", "teamvars", seconds=HANGS)
        with pytest.raises(NotUnwrapped, match=r"TLS with .* fails: .*HANDSHAKE"):
            there.unwrap(b"x")
    with Liar(said(plaintext(KEY)), tls=context) as server:
        there = Transit(f"https://localhost:{server.port}", "transit", "teamvars", seconds=HANGS)
        with pytest.raises(NotUnwrapped, match=r"TLS with .* fails: .*certificate") as refused:
            there.unwrap(b"x")
        assert not isinstance(refused.value, Unavailable)
        assert server.heard == b""
        monkeypatch.setenv("VAULT_CACERT", str(tmp_path / "none"))
        with pytest.raises(NotUnwrapped, match="has no certificates"):
            there.unwrap(b"x")
        monkeypatch.setenv("BAO_CACERT", str(authority))
        assert there.unwrap(b"x") == KEY
