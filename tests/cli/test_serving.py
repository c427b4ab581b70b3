"""A running server: health, workers, log lines, signals (contract §2 and §7)."""

import json
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psutil
import pytest

from teamvars import settings
from teamvars.cli.operator import serve
from teamvars.cli.operator.serve import GRACE_SECONDS
from teamvars.cli.operator.server import FIRST_PAUSE, MOST_FAILED_STARTS
from teamvars.security.certificates import throw_away
from teamvars.security.tokens import new_token
from teamvars.services.installation import REMEMBERED_SECONDS
from tests.cli.conftest import DIRECTORY, ServedHost
from tests.support.commands import Host
from tests.support.forked import Started
from tests.support.patience import HANGS, wait_until
from tests.support.postgres import LocalPostgres
from tests.support.server import Server, end_group, free_port, is_ready

DIED = "a worker died and will be replaced"
KILLED = "a worker has not ended in time and is killed"
JSON_API = {"Content-Type": "application/vnd.api+json"}
READ = "/api/v2/workspaces/ws-0000000000000000/vars"
STRANGER = {"Authorization": f"Bearer {new_token('user')}"}


def variable(key: str, **attributes: Any) -> dict[str, Any]:
    """A document that creates one."""
    said = {"key": key, "value": "", "description": "", "category": "env", **attributes}
    return {"data": {"type": "vars", "attributes": said}}


def log_line(served_host: ServedHost, request_id: str) -> dict[str, Any]:
    """The line of a request, once it is written."""

    def found() -> list[dict[str, Any]]:
        lines = served_host.server.log_lines()
        return [line for line in lines if line.get("request_id") == request_id]

    wait_until(found)
    (line,) = found()
    return line


def forget_readiness() -> None:
    """Waits until no server remembers what it last said of it."""
    time.sleep(REMEMBERED_SECONDS + 0.1)


# Health


def test_health_needs_no_token_and_says_nothing_but_yes(served_host: ServedHost) -> None:
    with served_host.server.client() as client:
        for path, said in (("/healthz", "ok"), ("/readyz", "ready")):
            answer = client.get(path, headers={"Accept": "text/html"})
            assert (answer.status_code, answer.json()) == (200, {"status": said})
            assert answer.headers["Content-Type"] == "application/json"
            head = client.head(path)
            assert (head.status_code, head.content) == (200, b"")
            assert client.post(path).status_code == 405


def test_readyz_says_503_while_the_file_is_gone_and_200_once_it_is_back(host: Host) -> None:
    host.succeed("init")
    file, away = host.data / "teamvars.db", host.data / "away"
    with Server(host) as server, server.client() as client:
        file.rename(away)
        forget_readiness()
        answer = client.get("/readyz")
        assert answer.status_code == 503
        assert answer.headers["Retry-After"] == "1"
        assert answer.json()["errors"][0]["code"] == "storage_unavailable"
        assert client.get("/healthz").status_code == 200
        away.rename(file)
        forget_readiness()
        assert client.get("/readyz").status_code == 200
        assert server.terminate() == 0


def test_readyz_says_503_while_another_file_has_the_place_of_the_store(host: Host) -> None:
    host.succeed("init")
    file, away, other = (host.data / name for name in ("teamvars.db", "away", "other"))
    host.succeed("backup", "create", "b.tar")
    host.having(database_url=f"sqlite:///{other}").succeed("backup", "restore", "b.tar")
    with Server(host.having(log_format="json")) as server, server.client() as client:
        file.rename(away)
        other.replace(file)
        forget_readiness()
        assert client.get("/readyz").status_code == 503
        assert client.get(READ, headers=STRANGER).status_code == 503
        (told,) = (line for line in server.log_lines() if line["event"] == "storage is unavailable")
        assert "another file than the one that was opened" in told["reason"]
        away.replace(file)
        forget_readiness()
        assert client.get("/readyz").status_code == 200
        assert server.terminate() == 0


def test_readyz_says_503_while_postgresql_is_down_and_200_once_it_is_back(host: Host) -> None:
    with LocalPostgres(durable=True) as postgres:
        url = postgres.admin_url.replace("postgres@", "postgres:hunter2@")
        there = host.having(database_url=url, log_format="json")
        there.succeed("init")
        with Server(there) as server, server.client() as client:
            postgres.kill()
            forget_readiness()
            found = there.run("doctor", "--json").json
            (text,) = (one["text"] for one in found if one["subject"] == "database")
            assert "ConnectionRefusedError" in text
            assert client.get("/readyz").status_code == 503
            assert client.get("/healthz").status_code == 200
            assert client.get(READ, headers=STRANGER).status_code == 503
            postgres.start()
            # A check that began before that may still be under way.
            wait_until(lambda: client.get("/readyz").status_code == 200)
            assert client.get(READ, headers=STRANGER).status_code == 401
            assert server.terminate() == 0
            lines = server.log_lines()
            gone, back = (line for line in lines if line["event"].startswith("storage is"))
            assert (gone["event"], gone["level"]) == ("storage is unavailable", "warning")
            assert "ConnectionRefusedError" in gone["reason"]
            assert (back["event"], back["level"]) == ("storage is available again", "warning")
            levels = {line["status"]: line["level"] for line in lines if line["event"] == "request"}
            assert levels == {200: "info", 401: "info", 503: "error"}
            assert "hunter2" not in server.log
            assert "Traceback" not in server.log


def test_a_head_of_16_kib_is_served_and_a_larger_one_refused(served_host: ServedHost) -> None:
    for size, status in ((16_384, b"200"), (16_385, b"431")):
        start = b"GET /healthz HTTP/1.1\r\nHost: t\r\nX-Long: "
        head = start.ljust(size - 4, b"a") + b"\r\n\r\n"
        with socket.create_connection(
            ("127.0.0.1", served_host.server.port), timeout=HANGS
        ) as caller:
            caller.sendall(head)
            assert caller.recv(12) == b"HTTP/1.1 " + status


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="the option is Linux's")
def test_a_peer_that_reads_nothing_is_let_go(served: Server) -> None:
    (worker,) = map(psutil.Process, workers(served))
    with socket.socket() as caller:
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        caller.connect(("127.0.0.1", served.port))
        caller.settimeout(2)  # in which it could read them all
        requests = b"GET /openapi.json HTTP/1.1\r\nHost: t\r\n\r\n" * 200_000
        with pytest.raises(TimeoutError):  # it takes no more while its answers are not read
            caller.sendall(requests)
        wait_until(
            lambda: all(one.status != psutil.CONN_ESTABLISHED for one in worker.net_connections())
        )


def test_while_postgresql_takes_connections_and_says_nothing_everybody_is_answered_in_time(
    host: Host,
) -> None:
    with LocalPostgres(durable=True) as postgres:
        there = host.having(database_url=postgres.admin_url, statement_seconds=5)
        there.succeed("init")
        (there.folder / "directory.yaml").write_text(DIRECTORY)
        applied = there.succeed("directory", "apply", "directory.yaml", "--json").json
        token = there.succeed("token", "create", "--user", "alice").out.strip()
        with Server(there) as server, server.client(token) as client:
            path = ServedHost(there, applied, server, token).vars_path
            assert client.get(path).status_code == 200
            forget_readiness()
            with postgres.stopped():
                asked = (
                    lambda: client.get("/readyz"),
                    lambda: client.get(path),
                    lambda: client.post(path, json=variable("a"), headers=JSON_API),
                )
                with ThreadPoolExecutor(len(asked)) as callers:
                    answers = list(callers.map(lambda ask: ask(), asked))
                assert [answer.status_code for answer in answers] == [503] * 3
                assert client.get("/healthz").status_code == 200
            forget_readiness()
            assert client.get("/readyz").status_code == 200
            assert client.get(path).json()["data"] == []


# Workers


def test_two_workers_share_the_store(served_host: ServedHost) -> None:
    workers = psutil.Process(served_host.server.pid).children()
    assert len(workers) == 2
    with served_host.server.client(served_host.token) as client:
        made = client.post(served_host.vars_path, json=variable("shared"), headers=JSON_API)
        location = made.headers["Location"]
    answers = []
    for _ in range(8):  # a connection each, so that either worker may answer
        with served_host.server.client(served_host.token) as client:
            answers.append(client.get(location).json()["data"])
    assert answers == [made.json()["data"]] * 8
    with served_host.server.client(served_host.token) as client:
        assert client.delete(location).status_code == 204


def test_nothing_is_lost_when_four_clients_write_to_two_workers(served_host: ServedHost) -> None:
    def write(number: int) -> list[int]:
        with served_host.server.client(served_host.token) as client:
            return [
                client.post(
                    served_host.vars_path, json=variable(f"many_{number}_{n}"), headers=JSON_API
                ).status_code
                for n in range(25)
            ]

    with ThreadPoolExecutor(4) as clients:
        statuses = [status for done in clients.map(write, range(4)) for status in done]
    assert statuses == [201] * 100
    with served_host.server.client(served_host.token) as client:
        kept = client.get(served_host.vars_path).json()["data"]
        mine = [one for one in kept if one["attributes"]["key"].startswith("many_")]
        assert len(mine) == 100
        assert {client.delete(one["links"]["self"]).status_code for one in mine} == {204}
    assert served_host.host.run("audit", "verify").code == 0


def test_one_of_two_racing_workers_gets_the_key(served_host: ServedHost) -> None:
    barrier = threading.Barrier(4)

    def race(_: int) -> int:
        with served_host.server.client(served_host.token) as client:
            client.get("/healthz")
            barrier.wait()
            made = client.post(served_host.vars_path, json=variable("raced"), headers=JSON_API)
            return made.status_code

    with ThreadPoolExecutor(4) as clients:
        assert sorted(clients.map(race, range(4))) == [201, 422, 422, 422]


# Log lines


def test_a_request_has_one_line_with_who_what_and_how_long(served_host: ServedHost) -> None:
    with served_host.server.client(served_host.token) as client:
        client.get(served_host.vars_path, headers={"X-Request-Id": "logged-1"})
        client.get("/api/v2/nowhere/hunter2?q=hunter2", headers={"X-Request-Id": "logged-2"})
    line = log_line(served_host, "logged-1")
    assert line["event"] == "request"
    assert line["level"] == "info"
    assert line["actor"] == served_host.applied["users"]["alice"]
    assert line["method"] == "GET"
    assert line["route"] == "/api/v2/workspaces/{workspace_id}/vars"
    assert line["status"] == 200
    assert line["client"] == "127.0.0.1"
    assert 0 < line["ms"] < 10_000
    unknown = log_line(served_host, "logged-2")
    assert (unknown["route"], unknown["actor"], unknown["status"]) == (None, None, 404)


def test_no_line_holds_a_token_or_a_value(served_host: ServedHost) -> None:
    secret = "correct-horse-battery"
    documents = [
        json.dumps(variable("logged", value=secret, sensitive=True)),
        json.dumps(variable(f"logged {secret}", value=secret)),
        json.dumps({"data": {"type": secret, "attributes": {"sensitve": secret}}}),
        f'{{"data": "{secret}',
    ]
    with served_host.server.client(served_host.token) as client:
        answers = [
            client.post(served_host.vars_path, content=d, headers=JSON_API) for d in documents
        ]
        assert [answer.status_code for answer in answers] == [201, 422, 422, 400]
        assert all(secret not in answer.text for answer in answers)
        location = answers[0].headers["Location"]
        client.get(f"{served_host.vars_path}/{secret}?token={served_host.token}")
        client.delete(location, headers={"X-Request-Id": "logged-last"})
    bad = served_host.token[:-1] + ("a" if served_host.token[-1] != "a" else "b")
    with served_host.server.client(bad) as client:
        assert client.get(served_host.vars_path).status_code == 401
    log_line(served_host, "logged-last")
    assert secret not in served_host.server.log
    assert served_host.token[:-1] not in served_host.server.log


def test_the_server_says_once_where_it_listens(served_host: ServedHost) -> None:
    first = served_host.server.log_lines()[0]
    assert first["event"] == "serving"
    assert (first["host"], first["port"], first["workers"]) == (
        "127.0.0.1",
        served_host.server.port,
        2,
    )


# Signals


@pytest.fixture
def served(host: Host) -> Iterator[Server]:
    """A server of this test's own, with console log lines."""
    host.succeed("init")
    with Server(host, "--log-format", "console") as server:
        yield server


class SlowRequest:
    """A request in flight: the server has asked for its body, and has not got all of it."""

    def __init__(self, server: Server) -> None:
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=HANGS)
        self._answer = self._socket.makefile("rb")
        head = (
            "POST /api/v2/invitations/actions/show HTTP/1.1",
            "Host: t\r\nContent-Type: application/vnd.api+json",
            "Content-Length: 4\r\nExpect: 100-continue\r\n\r\n",
        )
        self._socket.sendall("\r\n".join(head).encode())
        assert self._answer.readline() == b"HTTP/1.1 100 Continue\r\n"
        assert self._answer.readline() == b"\r\n"
        self._socket.sendall(b"nu")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._answer.close()
        self._socket.close()

    def finish(self) -> bytes:
        """Sends the rest; the status line of the answer."""
        self._socket.sendall(b"ll")
        return self._answer.readline().strip()


def test_sigterm_lets_a_request_in_flight_finish(served: Server) -> None:
    with SlowRequest(served) as slow:
        served.signal(signal.SIGTERM)
        until_refused(served.port)
        assert slow.finish() == b"HTTP/1.1 422 Unprocessable Entity"
        assert served.wait() == 0
    assert KILLED not in served.log
    assert "Traceback" not in served.log


def test_a_request_in_flight_is_finished_after_another_worker_has_ended(host: Host) -> None:
    host.succeed("init")
    for _ in range(5):  # where the other takes as long as the grace, the host is too slow to tell
        with Server(host, "--log-format", "json", workers=2) as server:
            with SlowRequest(server) as slow:
                server.signal(signal.SIGTERM)
                begun = time.monotonic()
                until_refused(server.port)
                with suppress(psutil.NoSuchProcess):
                    while len(workers(server)) > 1:
                        time.sleep(0.01)
                if time.monotonic() - begun > GRACE_SECONDS / 2:
                    continue
                assert slow.finish() == b"HTTP/1.1 422 Unprocessable Entity"
                assert server.wait() == 0
            assert not [line for line in server.log_lines() if "killed" in line["event"]]
            return
    pytest.fail("The other worker never ended in time.")


def until_refused(port: int) -> None:
    """Returns once nobody takes new connections."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            return
        time.sleep(0.01)


def test_sigterm_does_not_wait_longer_than_its_grace(served: Server) -> None:
    with SlowRequest(served):
        begun = time.monotonic()
        assert served.terminate() == 0
        assert time.monotonic() - begun > GRACE_SECONDS - 1
        assert KILLED in served.log


def test_sigterm_does_not_wait_for_idle_connections(served: Server) -> None:
    with served.client() as client:
        client.get("/healthz")
        assert served.terminate() == 0
        assert KILLED not in served.log


def test_ctrl_c_ends_a_server_in_good_order(served: Server) -> None:
    served.signal(signal.SIGINT)
    assert served.wait() == 0
    assert "Traceback" not in served.log


def workers(server: Server) -> set[int]:
    """The processes of its workers that live."""
    return {child.pid for child in psutil.Process(server.pid).children() if lives(child)}


def replacement(server: Server, *gone: int) -> int:
    """The process of a worker that was not there before, once it has started."""
    wait_until(lambda: workers(server) - set(gone))
    return (workers(server) - set(gone)).pop()


def log_events(server: Server, event: str, count: int) -> list[dict[str, Any]]:
    """Its log lines of an event, once there are so many."""

    def found() -> list[dict[str, Any]]:
        return [line for line in server.log_lines() if line["event"] == event]

    wait_until(lambda: len(found()) >= count, lambda: server.log)
    return found()


def test_a_worker_that_dies_is_replaced_and_those_who_come_meanwhile_are_served(
    served: Server,
) -> None:
    (worker,) = workers(served)
    psutil.Process(worker).kill()
    with served.client() as client:  # it waits for the new one
        assert client.get("/readyz").status_code == 200
    fresh = replacement(served, worker)
    assert workers(served) == {fresh}
    assert served.terminate() == 0


class Unheard(Server):
    """A server whose log is on a disk that is full."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self.log_path = Path("/dev/full")

    @property
    def log(self) -> str:
        return ""


@pytest.mark.skipif(sys.platform != "linux", reason="the device is Linux's")
def test_a_log_that_cannot_be_written_keeps_no_worker_from_starting_or_being_replaced(
    host: Host,
) -> None:
    host.succeed("init")
    with Unheard(host) as server, server.client() as client:
        (worker,) = workers(server)
        for _ in range(3):
            psutil.Process(worker).kill()
            worker = replacement(server, worker)
            wait_until(lambda: is_ready(server.url))
        assert client.get(READ, headers=STRANGER).status_code == 401
        assert server.terminate() == 0


def test_one_that_dies_again_and_again_is_replaced_while_the_other_answers(host: Host) -> None:
    host.succeed("init")
    with Server(host, "--log-format", "json", workers=2) as server:
        dying, healthy = workers(server)
        gone = [dying]
        for killed in range(1, 4):
            psutil.Process(gone[-1]).kill()
            (_, *_) = log_events(server, DIED, killed)
            for _ in range(5):  # a connection each: one of the dead would not answer
                with server.client() as client:
                    assert client.get("/healthz").status_code == 200
            gone.append(replacement(server, healthy, *gone))
        assert workers(server) == {healthy, gone[-1]}
        told = log_events(server, DIED, 3)
        assert [line["exit_code"] for line in told] == [-signal.SIGKILL] * 3
        assert told[0]["pause"] == FIRST_PAUSE
        assert told[0]["pause"] < told[1]["pause"] < told[2]["pause"]
        assert server.terminate() == 0


def test_no_worker_outlives_a_server_that_is_killed(host: Host) -> None:
    """It would keep the port, and serve with what was known when it started."""
    host.succeed("init")
    with Server(host, "--log-format", "json", workers=2) as server:
        left = [psutil.Process(pid) for pid in workers(server)]
        psutil.Process(server.pid).kill()
        wait_until(lambda: not any(map(lives, left)), lambda: server.log)
        assert "the server was killed, and its worker ends" in server.log
        assert "Traceback" not in server.log


@pytest.mark.skipif(sys.platform != "linux", reason="there one process can limit another")
def test_whatever_crashes_leaves_no_file_of_what_it_held(host: Host) -> None:
    host.succeed("init")
    with Server(host) as server:
        starter = psutil.Process(server.pid).parent()
        assert starter is not None
        before = starter.rlimit(psutil.RLIMIT_CORE)
        starter.rlimit(psutil.RLIMIT_CORE, (before[1], before[1]))
        try:
            assert server.terminate() == 0
            server.start()
        finally:
            starter.rlimit(psutil.RLIMIT_CORE, before)
        processes = map(psutil.Process, (server.pid, *workers(server)))
        assert [one.rlimit(psutil.RLIMIT_CORE)[0] for one in processes] == [0, 0]


def lives(process: psutil.Process) -> bool:
    """Whether a process that is not this one's to wait for goes on."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_sigterm_does_not_wait_for_a_worker_that_is_to_be_replaced(host: Host) -> None:
    host.succeed("init")
    with Server(host, "--log-format", "json") as server:
        (host.data / "keyring.json").unlink()
        psutil.Process(workers(server).pop()).kill()
        log_events(server, DIED, 4)
        assert server.terminate() == 0  # and 1 after the start that the pause was for
        assert "no worker can start" not in server.log
        assert "Traceback" not in server.log


def test_a_server_whose_workers_find_no_keyring_ends_after_five_tries_and_says_why(
    host: Host,
) -> None:
    host.succeed("init")
    with Server(host, "--log-format", "json") as server:
        (host.data / "keyring.json").unlink()
        psutil.Process(workers(server).pop()).kill()
        assert server.wait() == 1
        lines = server.log_lines()
        died = [line["had_served"] for line in lines if line["event"] == DIED]
        assert died.count(False) == MOST_FAILED_STARTS
        assert lines[-1]["event"] == "no worker can start; the server ends"
        assert any("no keyring" in line.get("reason", "") for line in lines)
        assert "Traceback" not in server.log


def test_a_worker_that_cannot_listen_has_not_served(host: Host) -> None:
    """Its application has started by then, which is not enough."""
    host.succeed("init")
    made = throw_away()
    certificate, key = host.folder / "server.pem", host.folder / "server.key"
    certificate.write_bytes(made.certificate)
    key.write_bytes(made.key)
    (host.folder / "ca.pem").write_bytes(made.authority)
    secured = host.having(tls_cert=certificate, tls_key=key, log_format="json")
    with Server(secured, authority=host.folder / "ca.pem") as server:
        certificate.write_text("no PEM")
        psutil.Process(workers(server).pop()).kill()
        assert server.wait() == 1


def test_console_lines_are_plain_without_a_terminal(host: Host) -> None:
    host.succeed("init")
    with Server(host.having(log_format="console")) as served:
        with served.client() as client:
            client.get("/healthz")
        assert served.terminate() == 0
        assert "request_id=" in served.log
        assert "route=/healthz status=200" in served.log
        assert "\x1b" not in served.log


def test_a_host_may_be_a_name(host: Host, tmp_path: Path) -> None:
    host.succeed("init")
    with Server(host.having(host="localhost"), "--log-format", "json") as server:
        assert server.log_lines()[0]["host"] == "localhost"
        for name in ("nowhere.invalid", "no..name"):
            refused = host.having(host=name).run("serve", "--port", free_port())
            assert refused.code == 1
            assert refused.err.startswith(f"teamvars: Cannot listen on {name} port ")


@pytest.mark.skipif(sys.platform != "linux", reason="the name that one of them has is Linux's")
def test_of_two_servers_that_start_on_a_port_at_the_same_moment_one_serves(host: Host) -> None:
    port, hosts = free_port(), [host.having(data_dir=host.folder / name) for name in "ab"]
    started: dict[Path, Started] = {}
    for one in hosts:
        one.succeed("init")
    try:
        for number, one in enumerate(hosts):
            path = host.folder / f"{number}.log"
            with path.open("w") as log:
                started[path] = one.start("serve", "--port", port, out=log, err=log)
        wait_until(
            lambda: all(
                '"serving"' in path.read_text() or server.poll() is not None
                for path, server in started.items()
            )
        )
        assert sorted(str(server.poll()) for server in started.values()) == ["1", "None"]
        said = [path.read_text() for path, server in started.items() if server.poll() == 1]
        taken = f"teamvars: Cannot listen on 127.0.0.1 port {port}: Address already in use."
        assert said == [f"{taken} Choose another with --port.\n"]
        wait_until(lambda: is_ready(f"http://127.0.0.1:{port}"))
    finally:
        for server in started.values():
            end_group(server)


def test_an_address_is_waited_for_while_what_is_left_of_a_server_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)) as left:
        monkeypatch.setattr(time, "sleep", lambda _: left.close())
        assert serve.claimed_address(settings.load(port=port), HANGS) == "127.0.0.1"


def test_last_use_of_a_token_is_written_down_at_the_end(host: Host) -> None:
    host.succeed("init")
    (host.folder / "d.yaml").write_text("users: [{username: alice}]\n")
    host.succeed("directory", "apply", "d.yaml")
    token = host.succeed("token", "create", "--user", "alice").out.strip()
    with Server(host) as server:
        with server.client(token) as client:
            client.get("/api/v2/workspaces/ws-0000000000000000/vars")
        assert host.succeed("token", "list", "--json").json[0]["last-used"] is None
        assert server.terminate() == 0
    assert host.succeed("token", "list", "--json").json[0]["last-used"] is not None
