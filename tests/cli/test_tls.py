"""TLS: `serve` with a certificate, `dev --tls` with one of its own, and files that do not serve."""

import signal
import ssl
import time
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from teamvars.security.certificates import throw_away
from tests.support.commands import Host
from tests.support.patience import HANGS
from tests.support.server import Server, end_group, free_port


@pytest.fixture
def certified(tmp_path: Path) -> Host:
    """A host with a store, and with a certificate for its server."""
    made = throw_away()
    contents = {"ca.pem": made.authority, "cert.pem": made.certificate, "key.pem": made.key}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    host = Host(tmp_path).having(tls_cert=tmp_path / "cert.pem", tls_key=tmp_path / "key.pem")
    host.succeed("init")
    return host


def test_a_server_with_a_certificate_speaks_tls_and_nothing_else(certified: Host) -> None:
    with Server(certified, authority=certified.folder / "ca.pem") as server:
        with server.client() as client:
            assert client.get("/.well-known/terraform.json").status_code == 200
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            httpx.get(f"{server.url}/readyz")
        with pytest.raises(httpx.TransportError):
            httpx.get(f"http://127.0.0.1:{server.port}/readyz")


def test_a_certificate_without_its_key_is_a_wrong_setting(certified: Host) -> None:
    only = Host(certified.folder).having(tls_cert=certified.folder / "cert.pem")
    done = only.run("serve")
    assert done.code == 2
    assert "tls_cert and tls_key are given together or not at all" in done.err


def test_files_that_do_not_serve_end_the_command_with_a_sentence(certified: Host) -> None:
    folder = certified.folder
    (folder / "other.pem").write_bytes(throw_away().key)
    (folder / "none.pem").write_text("not a key")
    key = load_pem_private_key((folder / "key.pem").read_bytes(), None)
    secret = BestAvailableEncryption(b"password")
    sealed = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, secret)
    (folder / "sealed.pem").write_bytes(sealed)
    for name in ("other.pem", "none.pem", "sealed.pem", "missing.pem"):
        done = certified.having(tls_key=folder / name).run("serve")
        assert done.code == 1
        assert done.err.startswith("teamvars: TEAMVARS_TLS_CERT ")
        assert "Traceback" not in done.err


def test_dev_with_tls_makes_its_own_authority_and_leaves_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    port = free_port()
    out, err = tmp_path / "out", tmp_path / "err"
    with out.open("w") as to_out, err.open("w") as to_err:
        process = Host(tmp_path).start("dev", "--tls", "--port", port, out=to_out, err=to_err)
    try:
        deadline = time.monotonic() + HANGS
        while "terraform import" not in out.read_text():
            assert process.poll() is None, err.read_text()
            assert time.monotonic() < deadline, err.read_text()
            time.sleep(0.02)
        text = out.read_text()
        authority = text.partition("SSL_CERT_FILE=")[2].split()[0]
        token = text.partition("TOKEN=")[2].split()[0]
        workspace = text.partition("WORKSPACE=")[2].split()[0]
        trust = ssl.create_default_context(cafile=authority)
        url = f"https://localhost:{port}/api/v2/workspaces/{workspace}/vars"
        headers = {"Authorization": f"Bearer {token}"}
        listed = httpx.get(url, headers=headers, verify=trust, timeout=HANGS).json()["data"]
        words = {one["attributes"]["category"] for one in listed}
        assert words == {"terraform", "env"}
        process.send_signal(signal.SIGINT)
        process.wait(HANGS)
        assert list(temporary.iterdir()) == []
    finally:
        end_group(process)
