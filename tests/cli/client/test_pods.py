"""In a pod: with its account's own token it requests one that names the job's key."""

import json
import ssl
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from teamvars.cli.client import jobs
from teamvars.cli.client.api import sending
from teamvars.cli.client.api.addresses import address
from teamvars.cli.client.api.transport import Travel
from teamvars.cli.client.jobs import TOKEN_FILE, Here, Place, Proof, place
from teamvars.cli.exits import Failure
from teamvars.security.certificates import throw_away

SERVICE = "https://vars.example.org"
THUMBPRINT = "Zm9v"
ACCOUNT = {"sub": "system:serviceaccount:infra:nightly"}
FOR_KEY = f"{SERVICE}#{THUMBPRINT}"


class Cluster:
    """The API of a cluster over TLS, in a `with`: it has accounts request tokens of their own, as
    Kubernetes documents it, where `may_request`. `answers` is what it says instead.
    """

    def __init__(self, mounted: Path) -> None:
        self.may_request = True
        self.answers: tuple[int, object] | None = None
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self._mounted = mounted
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.heard.append((self.path, body))
                status, document = outer.answered(self.headers["Authorization"], body)
                content = document if isinstance(document, bytes) else json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self) -> "Cluster":
        made = throw_away()
        (self._mounted / "ca.crt").write_bytes(made.authority)
        for name, content in (("chain.pem", made.certificate), ("key.pem", made.key)):
            (self._mounted / name).write_bytes(content)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._mounted / "chain.pem", self._mounted / "key.pem")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def environment(self) -> dict[str, str]:
        """What every container of the cluster has in its environment."""
        port = str(self._server.server_address[1])
        return {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port}

    def answered(self, authorization: str, body: dict[str, Any]) -> tuple[int, object]:
        """What it answers: a token whose text is its audience."""
        if self.answers is not None:
            return self.answers
        if authorization != f"Bearer {(self._mounted / 'token').read_text().strip()}":
            return 401, {"kind": "Status", "status": "Failure", "code": 401}
        if not self.may_request:
            return 403, {"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403}
        (audience,) = body["spec"]["audiences"]
        ends = "2030-01-01T00:00:00Z"
        return 201, {**body, "status": {"token": audience, "expirationTimestamp": ends}}


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A cluster, in a pod of which this is."""
    monkeypatch.setattr(jobs, "_MOUNTED", tmp_path)
    mount(tmp_path, ACCOUNT)
    with Cluster(tmp_path) as running:
        yield running


def mount(folder: Path, said: object) -> None:
    """Has the pod's own token say that."""
    content = said if isinstance(said, bytes) else json.dumps(said).encode()
    claims = urlsafe_b64encode(content).rstrip(b"=").decode()
    (folder / "token").write_text(f"e30.{claims}.c2ln\n")


def found(environment: dict[str, str]) -> Place | None:
    """Where this runs, in that environment."""
    return place(Here(environment, address(SERVICE, "the test"), Travel()))


def proven(environment: dict[str, str]) -> list[Proof]:
    """What proves the job there."""
    here = found(environment)
    assert here is not None
    assert here.name == "Kubernetes"
    return list(here.proofs(THUMBPRINT))


def test_a_pod_requests_a_token_of_its_own_account_that_names_the_key(cluster: Cluster) -> None:
    (proof,) = proven(cluster.environment)
    assert (proof.token, proof.is_bound) == (FOR_KEY, True)
    ((path, body),) = cluster.heard
    assert path == "/api/v1/namespaces/infra/serviceaccounts/nightly/token"
    assert body == {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": [FOR_KEY], "expirationSeconds": 600},
    }


def test_an_account_without_that_right_is_told_which_it_is(cluster: Cluster) -> None:
    cluster.may_request = False
    with pytest.raises(Failure, match="serviceaccounts/token") as refused:
        proven(cluster.environment)
    assert "it answered 403" in str(refused.value)
    assert TOKEN_FILE in str(refused.value)


def test_without_that_right_what_is_mounted_for_the_service_is_taken_unbound(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.may_request = False
    (tmp_path / "projected").write_text("of-the-volume\n")
    environment = {**cluster.environment, TOKEN_FILE: str(tmp_path / "projected")}
    (proof,) = proven(environment)
    assert (proof.token, proof.is_bound) == ("of-the-volume", False)
    cluster.may_request = True
    (proof,) = proven(environment)
    assert (proof.token, proof.is_bound) == (FOR_KEY, True)


def test_a_cluster_that_is_busy_is_asked_again_before_what_is_mounted_counts(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "projected").write_text("of-the-volume\n")
    environment = {**cluster.environment, TOKEN_FILE: str(tmp_path / "projected")}
    rests: list[float] = []

    def rest(seconds: float) -> None:
        rests.append(seconds)
        if len(rests) == 2:
            cluster.answers = None

    began = time.monotonic()
    clock = SimpleNamespace(monotonic=lambda: began + sum(rests), sleep=rest)
    monkeypatch.setattr(sending, "time", clock)
    cluster.answers = 503, {}
    (proof,) = proven(environment)
    assert (proof.token, proof.is_bound) == (FOR_KEY, True)
    assert len(cluster.heard) == 3
    cluster.answers = 503, {}
    (proof,) = proven(environment)
    assert (proof.token, proof.is_bound) == ("of-the-volume", False)
    assert sum(rests) > Travel().seconds / 2
    with pytest.raises(Failure, match="it answered 503"):
        proven(cluster.environment)


def test_no_server_is_asked_that_the_authority_of_the_cluster_does_not_vouch_for(
    cluster: Cluster, tmp_path: Path
) -> None:
    (tmp_path / "ca.crt").write_bytes(throw_away().authority)
    with pytest.raises(Failure, match="certificate is not trusted"):
        proven(cluster.environment)
    assert not cluster.heard


UNREADABLE = [b'{"status": "\xff"}', b"[" * 10_000]


@pytest.mark.parametrize("said", [{"sub": "somebody"}, {"sub": 7}, {}, [], "text", *UNREADABLE])
def test_only_an_account_of_the_cluster_requests_a_token(
    cluster: Cluster, tmp_path: Path, said: object
) -> None:
    mount(tmp_path, said)
    with pytest.raises(Failure, match="not that of a service account"):
        proven(cluster.environment)
    assert not cluster.heard


@pytest.mark.parametrize(
    "answer", [{}, {"status": None}, {"status": {"token": 7}}, [], "text", *UNREADABLE]
)
def test_an_answer_without_a_token_is_none(cluster: Cluster, answer: object) -> None:
    cluster.answers = 201, answer
    with pytest.raises(Failure, match="answered without a token"):
        proven(cluster.environment)


def test_a_pod_without_a_token_of_its_account_is_no_place(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "token").unlink()
    assert found(cluster.environment) is None
