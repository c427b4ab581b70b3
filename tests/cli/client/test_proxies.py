"""A proxy is used where somebody says that the environment's counts, and sees no token."""

import json
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from teamvars.cli.client.api.addresses import address, proxy_for
from teamvars.cli.exits import Failure
from tests.cli.client.attacker import Attacker
from tests.cli.client.connect_proxy import ConnectProxy
from tests.support.desk import Desk

SERVICE = "https://teamvars.example"
"""A name that nobody resolves: the proxy is to find it."""
EMPTY = json.dumps({"data": []}).encode()


@pytest.fixture
def tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """How the service speaks TLS; what it shows is trusted."""
    key, now = generate_private_key(SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "teamvars.example")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("teamvars.example")]), False)
        .sign(key, SHA256())
    )
    (cert := tmp_path / "cert.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
    (secret := tmp_path / "key.pem").write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(cert, secret)
    return context


@pytest.fixture
def traveller(stranger: Desk) -> Desk:
    """Somebody whose way to the service leads through a proxy."""
    return stranger.having(address=SERVICE, token="tvu_secret", organization="acme")


def port_of(server: Attacker) -> int:
    """Where a server of this host listens."""
    return int(server.url.rpartition(":")[2])


def test_what_goes_through_a_proxy_is_encrypted_to_the_service(
    traveller: Desk, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Attacker(200, EMPTY, tls=tls) as service, ConnectProxy(port_of(service)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:pass%20word@{proxy.authority}")
        traveller.succeed("workspace", "list", "--proxy", "environment")
        traveller.having(proxy="environment").succeed("workspace", "list")
    assert [token for _, token in service.seen] == ["Bearer tvu_secret"] * 2
    (asked,) = set(proxy.asked)
    assert asked == (
        "CONNECT teamvars.example:443 HTTP/1.1\r\nHost: teamvars.example:443\r\n"
        "Proxy-Authorization: Basic bWU6cGFzcyB3b3Jk\r\n\r\n"
    )
    assert b"tvu_secret" not in proxy.heard
    assert proxy.heard


@pytest.mark.parametrize(("status", "told"), [(407, "needs a user"), (403, "answered 403")])
def test_a_proxy_that_refuses_is_told_of_without_its_password(
    traveller: Desk, monkeypatch: pytest.MonkeyPatch, status: int, told: str
) -> None:
    with ConnectProxy(9, status=status) as proxy:
        monkeypatch.setenv("https_proxy", f"http://me:canary@{proxy.authority}")
        refused = traveller.run("workspace", "list", "--proxy", "environment", "--debug")
    assert (refused.code, refused.out) == (11, "")
    assert f"through the proxy {proxy.authority}: the proxy answered {status}" in refused.err
    assert told in refused.err
    assert "canary" not in refused.err


def test_nobody_is_sent_through_a_proxy_unasked_and_the_fault_says_how_to_ask(
    stranger: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ConnectProxy(9) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.authority}")
        refused = stranger.having(address="https://0.0.0.0:1", token="x").run("whoami")
    assert (refused.code, proxy.asked) == (11, [])
    assert "HTTPS_PROXY is used only with --proxy environment or TEAMVARS_PROXY=environment." in (
        refused.err
    )


@pytest.mark.parametrize("words", [("--proxy", "http://canary"), ("--proxy", "none")])
def test_a_proxy_is_named_by_the_environment_alone(traveller: Desk, words: tuple[str, ...]) -> None:
    for refused in (
        traveller.run("whoami", *words),
        traveller.having(proxy=words[1]).run("whoami"),
    ):
        assert (refused.code, refused.out) == (2, "")
        assert "canary" not in refused.err


@pytest.mark.parametrize(
    ("service", "exceptions", "is_used"),
    [
        ("https://a.example.com", "", True),
        ("https://a.example.com", "example.com", False),
        ("https://a.example.com", ".example.com", False),
        ("https://a.example.com", "*.Example.COM", False),
        ("https://a.example.com", "x, a.example.com", False),
        ("https://a.example.com", "ple.com", True),
        ("https://a.example.com", "*", False),
        ("https://a.example.com", "a.example.com:443", False),
        ("https://a.example.com", "a.example.com:8443", True),
        ("https://10.1.2.3", "10.1.0.0/16", False),
        ("https://10.1.2.3", "10.1.2.3", False),
        ("https://10.1.2.3", "10.2.0.0/16 1.2.3", True),
        ("https://[2001:db8::1]", "2001:db8::/32", False),
        ("https://[2001:db8::1]", "[2001:db8::1]:443", False),
        ("https://a.example.com", ".,:,/", True),
        ("https://localhost:8443", "", False),
        ("http://127.0.0.1:8080", "", False),
        ("https://127.3.2.1", "", False),
    ],
)
def test_what_no_proxy_names_is_reached_directly(
    service: str, exceptions: str, is_used: bool
) -> None:
    for name, exception in (("HTTPS_PROXY", "NO_PROXY"), ("https_proxy", "no_proxy")):
        said = {name: "http://proxy.example:3128", exception: exceptions}
        found = proxy_for(address(service, "here"), said)
        assert str(found) == ("proxy.example:3128" if is_used else "None")


@pytest.mark.parametrize(
    ("text", "proxy"), [("proxy.example", "proxy.example:80"), ("http://[::1]:1/", "::1:1")]
)
def test_a_proxy_is_a_url_or_a_host(text: str, proxy: str) -> None:
    assert str(proxy_for(address(SERVICE, "here"), {"HTTPS_PROXY": text})) == proxy


@pytest.mark.parametrize(
    "text", ["https://p:1", "socks5://p:1", "http://", "http://p:x", "http://c\nanary", "a b"]
)
def test_what_is_no_http_proxy_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(Failure, match="not the URL of an HTTP proxy") as refused:
        proxy_for(address(SERVICE, "here"), {"HTTPS_PROXY": text})
    assert refused.value.code == 2
