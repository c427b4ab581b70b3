"""Keys are asked of their issuer rarely, over TLS, and nobody waits who means a known one."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import ECKey
from structlog.testing import capture_logs

from teamvars import settings, wiring
from teamvars.security import keyring
from teamvars.security.assertions import Claimed, Unproven, claimed
from teamvars.services import https, issuers
from teamvars.services.issuers import (
    ASK_SECONDS,
    FRESH_SECONDS,
    RENEW_SECONDS,
    Issuer,
    IssuerKeys,
    KeyFiles,
    given,
    published,
)
from tests.support.commands import Host
from tests.support.deployment import started
from tests.support.issuer_servers import IssuerServer, document, issuer_server, raw
from tests.support.jobs import job_token
from tests.support.patience import until


class Watch:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def new_key(name: str) -> ECKey:
    return ECKey.generate_key("P-256", {"kid": name})


ONE, OTHER = new_key("one"), new_key("other")


def said(key: ECKey) -> Claimed:
    """A token that means that key."""
    return claimed(job_token(None, key=key))


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[IssuerServer]:
    """An issuer that has one key."""
    async with issuer_server(tmp_path) as running:
        running.keys = [ONE]
        yield running


@pytest.fixture
def watch() -> Watch:
    """The clock of `keys`."""
    return Watch()


@pytest.fixture
def keys(server: IssuerServer, watch: Watch) -> IssuerKeys:
    """What a service knows of the issuer: nothing yet."""
    return IssuerKeys(Issuer(server.url), server.client, watch)


async def settled() -> None:
    """Once what runs in the background has ended."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    looks = [task for task in others if "_renew" in repr(task.get_coro())]
    await asyncio.gather(*looks, return_exceptions=True)


async def test_a_hundred_tokens_at_once_are_one_look(
    server: IssuerServer, keys: IssuerKeys
) -> None:
    found = await asyncio.gather(*(keys.key_for(said(ONE)) for _ in range(100)))
    assert {key.kid for key in found} == {"one"}
    await keys.key_for(said(ONE))
    assert server.asked == ["/.well-known/openid-configuration", "/keys"]


async def test_what_an_issuer_says_of_itself_is_known_unless_it_is_away(
    server: IssuerServer, keys: IssuerKeys, watch: Watch
) -> None:
    assert (await keys.about())["issuer"] == server.url
    server.says(raw(b"", "503 Service Unavailable"))
    watch.now += FRESH_SECONDS
    with pytest.raises(Unproven, match="cannot be asked"):
        await keys.about()


async def test_whatever_keys_tokens_name_the_issuer_is_asked_once_a_minute(
    server: IssuerServer, keys: IssuerKeys, watch: Watch
) -> None:
    for n in range(20):
        with pytest.raises(Unproven, match="a key that the issuer does not have"):
            await keys.key_for(said(new_key(f"unknown-{n}")))
    assert server.looks == 1
    server.keys = [ONE, OTHER]
    watch.now += ASK_SECONDS
    assert (await keys.key_for(said(OTHER))).kid == "other"
    assert server.looks == 2


async def test_a_key_that_is_known_is_good_for_an_hour_without_the_issuer_and_no_longer(
    server: IssuerServer, keys: IssuerKeys, watch: Watch
) -> None:
    await keys.key_for(said(ONE))
    server.says(raw(b"", "503 Service Unavailable"))
    watch.now += FRESH_SECONDS - 1
    await keys.key_for(said(ONE))
    await settled()
    watch.now += 1
    with pytest.raises(Unproven, match="whose keys cannot be had"):
        await keys.key_for(said(ONE))


async def test_keys_are_renewed_while_the_old_ones_serve(
    server: IssuerServer, keys: IssuerKeys, watch: Watch
) -> None:
    await keys.key_for(said(ONE))
    server.keys = [OTHER]
    for seconds, looks in ((RENEW_SECONDS - 1, 1), (1, 2)):
        watch.now += seconds
        assert (await keys.key_for(said(ONE))).kid == "one"
        await settled()
        assert server.looks == looks
    assert (await keys.key_for(said(OTHER))).kid == "other"
    with pytest.raises(Unproven):
        await keys.key_for(said(ONE))


async def test_an_issuer_that_hangs_keeps_no_token_waiting_whose_key_is_known(
    server: IssuerServer, keys: IssuerKeys, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keys.key_for(said(ONE))
    asked, answered = asyncio.Event(), asyncio.Event()

    async def hang(_: asyncio.StreamWriter) -> None:
        asked.set()
        await answered.wait()

    server.says(hang)
    watch.now += ASK_SECONDS
    stranger = asyncio.create_task(keys.key_for(said(OTHER)))
    await asked.wait()
    for _ in range(100):
        await keys.key_for(said(ONE))
    assert not stranger.done()
    answered.set()
    with pytest.raises(Unproven):
        await stranger


async def test_who_gives_up_waiting_takes_the_look_from_nobody(
    server: IssuerServer, keys: IssuerKeys
) -> None:
    impatient = asyncio.create_task(keys.key_for(said(ONE)))
    patient = asyncio.create_task(keys.key_for(said(ONE)))
    await asyncio.sleep(0)
    impatient.cancel()
    assert (await patient).kid == "one"


async def _drip(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.01)


async def _hang(_: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("answer", [_hang, _drip], ids=["hangs", "drips"])
async def test_an_issuer_has_a_time_to_answer_in_however_it_spends_it(
    server: IssuerServer, keys: IssuerKeys, answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(issuers, "TIMEOUT_SECONDS", 0.2)
    server.says(answer)
    with pytest.raises(Unproven):
        await keys.key_for(said(ONE))


def about(server: IssuerServer, **more: object) -> dict[str, object]:
    return {"issuer": server.url, "jwks_uri": f"{server.url}/keys", **more}


@pytest.mark.parametrize("named", ["https://evil.example", "", None, 7, ["x"]])
async def test_an_issuer_that_calls_itself_otherwise_is_not_believed(
    server: IssuerServer, keys: IssuerKeys, named: object
) -> None:
    server.says(document(about(server, issuer=named)))
    with pytest.raises(Unproven), capture_logs() as lines:
        await keys.key_for(said(ONE))
    assert [line["reason"] for line in lines] == ["an issuer that calls itself otherwise"]
    assert "/keys" not in server.asked


@pytest.mark.parametrize("place", ["http", "file", "ftp"])
async def test_keys_come_by_https_alone(server: IssuerServer, keys: IssuerKeys, place: str) -> None:
    uri = server.url.replace("https", place) + "/keys"
    server.says(document(about(server, jwks_uri=uri)))
    with pytest.raises(Unproven):
        await keys.key_for(said(ONE))
    assert "/keys" not in server.asked


async def test_keys_are_at_the_very_place_that_is_named(
    server: IssuerServer, keys: IssuerKeys
) -> None:
    server.says(document(about(server, jwks_uri=f"{server.url}/keys?of=ci")))
    assert (await keys.key_for(said(ONE))).kid == "one"
    assert server.asked[-1] == "/keys?of=ci"


async def test_a_document_has_as_many_bytes_as_it_may_and_no_more(
    server: IssuerServer,
) -> None:
    head = len(b"HTTP/1.1 200 OK\r\nContent-Length: 262144\r\n\r\n")
    for size, is_taken in ((256 * 1024 - head, True), (256 * 1024 - head + 1, False)):
        server.says(raw(key_set(ONE).ljust(size)), "/keys")
        asked = IssuerKeys(Issuer(server.url), server.client).key_for(said(ONE))
        if is_taken:
            assert (await asked).kid == "one"
        else:
            with pytest.raises(Unproven):
                await asked


async def test_whom_this_machine_trusts_vouches_for_an_issuer_of_which_nothing_else_is_said(
    server: IssuerServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(https, "tls_of_machine", lambda: server.client)
    assert (await IssuerKeys(Issuer(server.url)).key_for(said(ONE))).kid == "one"


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/keys"])
@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
async def test_a_redirect_is_followed_nowhere(
    server: IssuerServer, keys: IssuerKeys, path: str, status: str
) -> None:
    server.says(raw(b"", status, {"Location": f"{server.url}/elsewhere"}), path)
    with pytest.raises(Unproven):
        await keys.key_for(said(ONE))
    assert "/elsewhere" not in server.asked


async def test_keys_beside_a_status_of_another_answer_are_none(
    server: IssuerServer, keys: IssuerKeys
) -> None:
    server.says(raw(key_set(ONE), "404 Not Found"), "/keys")
    with pytest.raises(Unproven):
        await keys.key_for(said(ONE))


async def test_an_issuer_without_a_port_is_asked_at_that_of_https(
    server: IssuerServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, _, port = server.url.rpartition(":")
    monkeypatch.setitem(https._PORTS, "https", int(port))
    server.says(document({"issuer": url, "jwks_uri": f"{url}/keys"}))
    assert (await IssuerKeys(Issuer(url), server.client).key_for(said(ONE))).kid == "one"


@pytest.mark.parametrize(
    ("issuer", "named", "is_asked"),
    [
        ("https://a.test", "https://keys.test/keys", True),
        ("https://a.test", "http://a.test/keys", False),
        ("https://a.test", "http://127.0.0.1/keys", False),
        ("https://a.test", "file:///etc/passwd", False),
        ("http://127.0.0.1:8081/a", "http://127.0.0.1:8081/a/keys", True),
        ("http://127.0.0.1:8081/a/", "http://127.0.0.1:8081/a/keys", True),
        ("http://127.0.0.1:8081/a", "http://127.0.0.1:8081/ab", False),
        ("http://127.0.0.1:8081/a", "http://127.0.0.1:8082/a/keys", False),
        ("http://127.0.0.1:8081/a", "https://keys.test/keys", True),
    ],
)
def test_what_is_named_without_tls_is_that_of_an_issuer_without(
    issuer: str, named: str, is_asked: bool
) -> None:
    assert https.may_name(issuer, named) is is_asked


async def test_an_issuer_with_tls_has_no_keys_without(server: IssuerServer) -> None:
    for keys, reason in (
        (f"http://localhost:{server.url.rpartition(':')[2]}/keys", "keys without TLS"),
        ("http://keys.test/keys", "keys without TLS"),
        (7, "AttributeError"),
    ):
        server.says(document({"issuer": server.url, "jwks_uri": keys}))
        with pytest.raises(Unproven, match=reason):
            await published(server.url, server.client)


@pytest.mark.parametrize("url", ["http://192.0.2.1/", "http://localhost.test/", "ftp://127.0.0.1/"])
async def test_nobody_elsewhere_is_asked_without_tls(url: str) -> None:
    with pytest.raises(https.FAILURES) as refused:
        await https.ask(url, None)
    assert type(refused.value) is ValueError  # before anybody was asked


BROKEN = [b"", b"{", b"null", b"7", b"[]", b'"x"', b"{}", b"\xff", b"[" * 100_000]


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/keys"])
@pytest.mark.parametrize("body", [*BROKEN, b" " * 300_000 + b"{}"], ids=range(len(BROKEN) + 1))
async def test_documents_that_are_none_or_are_huge_are_no_keys(
    server: IssuerServer, keys: IssuerKeys, path: str, body: bytes
) -> None:
    server.says(raw(body), path)
    with pytest.raises(Unproven):
        await keys.key_for(said(ONE))


@pytest.mark.parametrize("uri", [7, None, [], {}, "", "https://", "https://[", "https://x:99999/"])
async def test_a_place_of_keys_that_is_none_is_no_fault_of_the_service(
    server: IssuerServer, keys: IssuerKeys, uri: object
) -> None:
    server.says(document(about(server, jwks_uri=uri)))
    with pytest.raises(Unproven):
        await keys.key_for(said(ONE))


async def test_keys_in_pieces_are_whole_again(server: IssuerServer, keys: IssuerKeys) -> None:
    content = json.dumps({"keys": [ONE.as_dict(private=False)]}).encode()

    async def in_pieces(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for n in range(0, len(content), 50):
            piece = content[n : n + 50]
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    server.says(in_pieces, "/keys")
    assert (await keys.key_for(said(ONE))).kid == "one"


async def test_half_an_answer_is_none(server: IssuerServer, keys: IssuerKeys) -> None:
    async def half(writer: asyncio.StreamWriter) -> None:
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"keys":[]}')
        await writer.drain()

    server.says(half, "/keys")
    with pytest.raises(Unproven):
        await keys.key_for(said(ONE))


async def test_a_server_that_nobody_vouches_for_gives_no_keys(server: IssuerServer) -> None:
    strict = IssuerKeys(Issuer(server.url), ssl.create_default_context())
    with pytest.raises(Unproven):
        await strict.key_for(said(ONE))
    assert server.asked == []


async def test_keys_that_the_operator_gave_are_asked_of_nobody(server: IssuerServer) -> None:
    given = json.dumps({"keys": [ONE.as_dict(private=False)]}).encode()
    keys = IssuerKeys(Issuer(server.url, given), server.client)
    assert (await keys.key_for(said(ONE))).kid == "one"
    with pytest.raises(Unproven):
        await keys.key_for(said(OTHER))
    assert server.asked == []


def key_set(key: ECKey, *, private: bool = False) -> bytes:
    """The document that has that key alone."""
    return json.dumps({"keys": [key.as_dict(private=private)]}).encode()


SERVES_NO_MORE = {
    "no file": (None, "No such file or directory"),
    "half a file": (key_set(ONE)[:-9], "keys of the issuer that cannot be read"),
    "secret": (
        key_set(ONE, private=True),
        "it has private or secret keys; give the public ones alone",
    ),
    "others": (key_set(OTHER), "the file has others by now"),
}


@pytest.mark.parametrize("what", SERVES_NO_MORE)
async def test_what_becomes_of_a_file_of_keys_is_told_once_and_those_there_are_go_on(
    what: str, tmp_path: Path
) -> None:
    file = tmp_path / "keys.json"
    file.write_bytes(key_set(ONE))
    issuer = given("https://ci.example.org", file)
    keys, files = IssuerKeys(issuer), KeyFiles([(issuer, file)])
    content, reason = SERVES_NO_MORE[what]
    with capture_logs() as lines:
        files.look()
        file.write_bytes(b" " + key_set(ONE))  # the same keys
        files.look()
    assert lines == []
    for _ in range(2):
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content)
        with capture_logs() as lines:
            files.look()
            files.look()
        (line,) = lines
        assert (line["log_level"], line["issuer"], line["reason"]) == (
            "warning",
            issuer.url,
            reason,
        )
        assert line["file"] == str(file)
        assert (await keys.key_for(said(ONE))).kid == "one"
        file.write_bytes(key_set(ONE))
        with capture_logs() as lines:
            files.look()  # from here on it would be news again
        assert lines == []


async def test_a_worker_looks_at_the_files_of_keys_while_it_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(issuers, "_WATCH_SECONDS", 0.01)
    host, file = Host(tmp_path), tmp_path / "keys.json"
    host.succeed("init")
    file.write_bytes(key_set(ONE))
    config = settings.load(data_dir=host.data, issuers=f"https://ci.example.org={file}")
    application = wiring.asgi(config, keyring.load(config.keyring_path))
    with capture_logs() as lines:
        async with started(application):
            file.write_bytes(b"")

            async def is_told() -> bool:
                return any(line.get("issuer") == "https://ci.example.org" for line in lines)

            await until(is_told)
