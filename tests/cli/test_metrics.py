"""`/metrics`: on a port of its own, and for site admins beside the API."""

import os
import pickle
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families as families

from teamvars.cli.operator import serve
from teamvars.cli.operator.exporter import CONNECTIONS
from teamvars.cli.operator.server import DEATHS
from teamvars.storage.migrations import number
from tests.cli.conftest import DIRECTORY
from tests.faults.hostile.watch import workers_of
from tests.support.commands import Host, InstalledHost
from tests.support.patience import HANGS, wait_until
from tests.support.server import Server, free_port

REQUESTS = "http_server_request_duration_seconds_count"


class Scraped:
    """A server whose metrics are on a port of their own."""

    def __init__(self, host: Host, server: Server, port: int, vars_path: str) -> None:
        self.host, self.server, self.port = host, server, port
        self.vars_path = vars_path
        self.variable_id = ""
        self.url = f"http://127.0.0.1:{port}/metrics"

    def text(self) -> str:
        """What a scrape finds."""
        answer = httpx.get(self.url, timeout=HANGS)
        assert answer.status_code == 200
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        return answer.text

    def count(self, name: str, **labels: str) -> float:
        """The sum of all samples of that name with those labels."""
        found = [one for family in families(self.text()) for one in family.samples]
        return sum(
            one.value for one in found if one.name == name and labels.items() <= one.labels.items()
        )


@contextmanager
def scraped(host: Host, workers: int = 1) -> Iterator[Scraped]:
    """A server on the host, with a directory in it."""
    port = free_port()
    there = host.having(metrics_listen=f"127.0.0.1:{port}")
    there.succeed("init")
    applied = there.succeed("directory", "apply", "--json", "-", given=DIRECTORY).json
    network = applied["organizations"]["acme"]["workspaces"]["network"]
    with Server(there, workers=workers) as server:
        yield Scraped(there, server, port, f"/api/v2/workspaces/{network}/vars")


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scraped]:
    """A server with a single worker, for all tests that harm nothing."""
    with scraped(Host(tmp_path_factory.mktemp("scraped"))) as made:
        yield made


def test_workers_are_counted_together_also_those_that_have_died(tmp_path: Path) -> None:
    with scraped(Host(tmp_path), workers=2) as made:
        for _ in range(20):  # a connection each, so that both have some
            httpx.get(f"{made.server.url}/healthz", timeout=HANGS)
        health = {"route": "/healthz", "method": "GET", "status": "2xx"}
        wait_until(lambda: made.count(REQUESTS, **health) == 20)
        first, _ = workers_of(made.server)
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: made.count("teamvars_worker_deaths_total") == 1)
        wait_until(lambda: len(workers_of(made.server)) == 2)
        httpx.get(f"{made.server.url}/healthz", timeout=HANGS)
        wait_until(lambda: made.count(REQUESTS, **health) == 21)
        wait_until(lambda: made.count("teamvars_storage_available") == 2)
        wait_until(lambda: made.count("teamvars_migrations_begun") == 2 * number())
        assert made.count("teamvars_migrations_known") == 2 * number()
        assert made.count("process_resident_memory_bytes", process="2") > 0


def test_no_name_of_a_tenant_key_or_person_is_shown_and_strangers_make_no_series(
    one: Scraped,
) -> None:
    token = one.host.succeed("token", "create", "--user", "alice").out.strip()
    with one.server.client(token) as client:
        found = client.get("/api/v2/organizations/acme/workspaces").json()["data"]
        for workspace in found:
            client.get(f"/api/v2/workspaces/{workspace['id']}/vars", params={"q": "canary"})
        for method in ("PURGE", "BREW", "canary"):
            client.request(method, "/api/v2/organizations/acme/workspaces")
            client.request(method, "/api/v2/canary")
    wait_until(lambda: one.count(REQUESTS, method="_OTHER") >= 6)
    text = one.text()
    assert one.count(REQUESTS, route="/api/v2/workspaces/{workspace_id}/vars") >= 2
    assert one.count("teamvars_refusals_total", code="method_not_allowed") >= 3
    for name in ("acme", "network", "alice", "canary", "BREW", token, "ws-"):
        assert name not in text


def test_site_admins_see_them_beside_the_api_and_nobody_else(one: Scraped) -> None:
    expected = {"root": 200, "alice": 403}
    for name, status in expected.items():
        token = one.host.succeed("token", "create", "--user", name).out.strip()
        with one.server.client(token) as client:
            answer = client.get("/metrics", headers={"Accept": "text/plain"})
        assert (answer.status_code, REQUESTS in answer.text) == (status, status == 200)
    assert httpx.get(f"{one.server.url}/metrics", timeout=HANGS).status_code == 401


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("POST", "/metrics", 405),
        ("HEAD", "/metrics", 200),
        ("GET", "/metrics?of=all", 200),
    ],
)
def test_the_port_has_nothing_else(one: Scraped, method: str, path: str, status: int) -> None:
    answer = httpx.request(method, f"http://127.0.0.1:{one.port}{path}", timeout=HANGS)
    assert answer.status_code == status
    assert answer.headers["Connection"] == "close"


def test_what_is_no_url_is_not_there(one: Scraped) -> None:
    place = "127.0.0.1", one.port
    with socket.create_connection(place, timeout=HANGS) as connection:
        connection.sendall(b"GET http://[ HTTP/1.1\r\nHost: here\r\n\r\n")
        assert received(connection).startswith(b"HTTP/1.1 404 ")


def test_who_accepts_what_nobody_understands_gets_the_plain_text(one: Scraped) -> None:
    token = one.host.succeed("token", "create", "--user", "root").out.strip()
    accepting = {"Accept": "application/openmetrics-text; version=a.b, */*"}
    scraped = httpx.get(f"http://127.0.0.1:{one.port}/metrics", headers=accepting, timeout=HANGS)
    with one.server.client(token) as client:
        read = client.get("/metrics", headers=accepting)
    for answer in (scraped, read):
        assert answer.status_code == 200
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")


def test_who_says_nothing_sensible_is_let_go(one: Scraped) -> None:
    with ExitStack() as held:
        idle = [
            held.enter_context(socket.create_connection(("127.0.0.1", one.port), timeout=HANGS))
            for _ in range(4)
        ]
        nonsense = (b"", b"GET /met", b"\x16\x03\x01 what\r\n\r\n", b"A" * 20_000)
        for connection, said in zip(idle, nonsense, strict=True):
            connection.sendall(said)
        assert list(map(received, idle)) == [b""] * 4
    assert one.text()


def received(connection: socket.socket) -> bytes:
    """All that comes until the other side ends the connection."""
    try:
        return b"".join(iter(lambda: connection.recv(4096), b""))
    except ConnectionResetError:
        return b""


def test_whoever_holds_connections_keeps_scrapes_out_for_seconds_at_most(one: Scraped) -> None:
    with ExitStack() as held:
        for _ in range(2 * CONNECTIONS):
            held.enter_context(socket.create_connection(("127.0.0.1", one.port), timeout=HANGS))

        def answers() -> bool:
            try:
                return bool(one.text())
            except httpx.TransportError:
                return False

        wait_until(answers)


def test_a_port_that_is_taken_is_a_warning_and_off_is_none(tmp_path: Path, one: Scraped) -> None:
    host = Host(tmp_path)
    host.succeed("init")
    with Server(host.having(metrics_listen=f"127.0.0.1:{one.port}")) as server:
        assert httpx.get(f"{server.url}/healthz", timeout=HANGS).status_code == 200
        (line,) = [one for one in server.log_lines() if one["event"] == "there are no metrics"]
        assert line["level"] == "warning"
    with Server(host.having(metrics_listen="off")) as server:
        assert "there are no metrics" not in server.log


@pytest.mark.parametrize(
    "text", ["9464", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "::1:9464"]
)
def test_what_is_no_address_is_refused(tmp_path: Path, text: str) -> None:
    refused = Host(tmp_path).having(metrics_listen=text).run("serve")
    assert refused.code == 2
    assert "metrics_listen: must be HOST:PORT" in refused.err


def test_workers_have_what_was_there_before_however_python_would_start_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = 'import multiprocessing\nmultiprocessing.set_start_method("spawn")\n'  # almost as 3.14
    (tmp_path / "sitecustomize.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    (folder := tmp_path / "host").mkdir()
    with scraped(InstalledHost(folder)) as one:
        assert len(psutil.Process(one.server.pid).children()) == 1
        token = one.host.succeed("token", "create", "--user", "root").out.strip()
        with one.server.client(token) as client:
            assert client.get("/metrics", headers={"Accept": "text/plain"}).status_code == 200


def test_a_worker_that_begins_anew_knows_what_the_server_counts() -> None:
    code = "import pickle, sys; pickle.load(sys.stdin.buffer); from teamvars import metrics as its"
    words = [sys.executable, "-c", f"{code}; print(*its.METRICS)"]
    done = subprocess.run(words, input=pickle.dumps(serve.work), capture_output=True, check=True)
    assert {serve.BUILD.name, DEATHS.name} <= {*done.stdout.decode().split()}
