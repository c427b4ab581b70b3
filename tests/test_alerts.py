"""What deploy/prometheus and docs/runbook.md say, looked at by Prometheus itself and a shell."""

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from teamvars.cli.operator.server import DEATHS
from teamvars.metrics import METRICS
from teamvars.protocol.bundles import JobKey
from teamvars.services.deliveries import GRANT_TYPE, SUBJECT_TYPES
from tests.cli.test_clocks import SettableHost, WrongHost
from tests.cli.test_metrics import Scraped, scraped
from tests.faults.hostile.watch import workers_of
from tests.faults.test_storage import disk_in, no_room
from tests.support import packages
from tests.support.commands import SCRIPT, Host
from tests.support.jobs import ISSUER, ISSUERS, SERVICE, job_token
from tests.support.mailbox import SENDER, open_mailbox
from tests.support.patience import HANGS, wait_until
from tests.support.postgres import LocalPostgres
from tests.support.server import end_group, free_port, is_ready
from tests.support.tenant import JSON_API, variable_document
from tests.test_first_start import bash, blocks

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "deploy" / "prometheus"
RUNBOOK = ROOT / "docs" / "runbook.md"


def program(name: str) -> str:
    """Where a program of Prometheus is."""
    return packages.program(name, "prometheus")


def alerts() -> dict[str, str]:
    """The expression of each alert."""
    text = (FOLDER / "rules.yml").read_text()
    found = re.findall(r"- alert: (\w+)\n((?:\s+#.*\n)?\s+expr: (?:.|\n)*?)\n\n", text + "\n\n")
    return dict(found)


def test_prometheus_takes_what_it_is_given() -> None:
    for what, file in (("rules", "rules.yml"), ("config", "prometheus.yml")):
        subprocess.run([program("promtool"), "check", what, FOLDER / file], check=True)


def test_every_alert_has_a_section_and_asks_for_what_there_is() -> None:
    sections = set(re.findall(r"^## (\w+)$", RUNBOOK.read_text(), re.MULTILINE))
    assert alerts().keys() == sections
    for alert, text in alerts().items():
        assert asked_for(text) <= METRICS.keys(), alert
    assert DEATHS.name in asked_for(alerts()["TeamvarsWorkersDie"])


def asked_for(text: str) -> set[str]:
    """The metrics of ours that an expression names."""
    named = re.findall(r"\b(?:teamvars|http_server)_\w+", text)
    return {re.sub(r"_(?:bucket|count|sum)$", "", name) for name in named}


def test_the_dashboard_asks_for_what_there_is() -> None:
    board = json.loads((FOLDER / "dashboard.json").read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert len(asked) > 10
    for text in asked:
        assert asked_for(text) <= METRICS.keys(), text


def test_every_command_of_the_runbook_runs(tmp_path: Path) -> None:
    with scraped(Host(tmp_path)) as made:
        shell = "\n".join(blocks(RUNBOOK, "runbook")).replace(":8080", f":{made.server.port}")
        path = f"{Path(SCRIPT).parent}:{os.environ['PATH']}"
        told = bash(shell, tmp_path, {**made.host.environment, "PATH": path})
    assert '"status":"ready"' in told


# Alerts that fire, and end


class Prometheus:
    """A real one, which looks every second and waits for nothing."""

    def __init__(self, folder: Path, target: Scraped) -> None:
        self._url = f"http://127.0.0.1:{free_port()}"
        rules = (FOLDER / "rules.yml").read_text()
        rules = re.sub(r"\[\d+[mh]\]", "[4s]", re.sub(r"for: \d+[ms]", "for: 0s", rules))
        rules = rules.replace("> 2^30", "> 0")
        # However slow the host is: one is enough where else it takes some each second.
        rules = re.sub(r"((?:rate|increase)\(.*\)) > \d+$", r"\1 > 0", rules, flags=re.MULTILINE)
        (folder / "rules.yml").write_text(rules)
        config = (FOLDER / "prometheus.yml").read_text()
        config = config.replace("127.0.0.1:9464", f"127.0.0.1:{target.port}")
        every = "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n"
        (folder / "prometheus.yml").write_text(every + config)
        self._folder = folder

    @contextmanager
    def running(self) -> Iterator[None]:
        """It runs inside."""
        with (self._folder / "prometheus.log").open("w") as log:
            process = subprocess.Popen(
                [
                    program("prometheus"),
                    f"--config.file={self._folder}/prometheus.yml",
                    f"--storage.tsdb.path={self._folder}/data",
                    f"--web.listen-address={self._url.removeprefix('http://')}",
                ],
                stdout=log,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        try:
            yield
        finally:
            end_group(process)

    def firing(self) -> set[str]:
        """The names of all alerts that do."""
        try:
            answer = httpx.get(f"{self._url}/api/v1/alerts", timeout=HANGS)
        except httpx.TransportError:
            return set()
        if answer.status_code != 200:  # it is not ready yet
            return set()
        said: Any = answer.json()
        found = [one for one in said["data"]["alerts"] if one["state"] == "firing"]
        return {one["labels"]["alertname"] for one in found}


# What goes wrong, each until the block ends

BETWEEN = 0.1
"""Seconds: many in what Prometheus looks at, which is every second."""

Fault = Callable[[Scraped, str], AbstractContextManager[object]]


@contextmanager
def down(made: Scraped, token: str) -> Iterator[None]:
    made.server.kill()
    yield
    made.server.start()


@contextmanager
def hanging(made: Scraped, token: str) -> Iterator[None]:
    (worker,) = workers_of(made.server)
    os.kill(worker, signal.SIGSTOP)
    yield
    os.kill(worker, signal.SIGCONT)


@contextmanager
def again_and_again(
    do: Callable[[Scraped, httpx.Client], object], made: Scraped, token: str
) -> Iterator[None]:
    """Does something all the while, and leaves the processor to others in between."""
    is_over = threading.Event()

    def go_on() -> None:
        while not is_over.wait(BETWEEN):
            with suppress(httpx.TransportError), made.server.client(token) as client:
                do(made, client)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def slow_down(made: Scraped, client: httpx.Client) -> None:
    for worker in workers_of(made.server):
        os.kill(worker, signal.SIGSTOP)
        time.sleep(0.6)
        os.kill(worker, signal.SIGCONT)
        time.sleep(0.6)


def kill_a_worker(made: Scraped, client: httpx.Client) -> None:
    for worker in workers_of(made.server):
        os.kill(worker, signal.SIGKILL)
    wait_until(lambda: is_ready(made.server.url))


def read(made: Scraped, client: httpx.Client) -> None:
    client.get(made.vars_path)


def write(made: Scraped, client: httpx.Client) -> httpx.Response:
    document = variable_document(key=f"key-{uuid4()}")
    return client.post(made.vars_path, json=document, headers={"Content-Type": JSON_API})


def ask_in_vain(made: Scraped, client: httpx.Client) -> None:
    httpx.get(f"{made.server.url}{made.vars_path}", timeout=HANGS)


@contextmanager
def without_its_file(made: Scraped, token: str) -> Iterator[None]:
    file = Path(made.host.settings["DATA_DIR"]) / "teamvars.db"
    elsewhere = file.rename(file.with_name("elsewhere"))
    with again_and_again(read, made, token):
        yield
    elsewhere.rename(file)


def ask_whether_it_is_ready(made: Scraped, client: httpx.Client) -> None:
    client.get("/readyz")


@contextmanager
def behind_the_schema(made: Scraped, token: str) -> Iterator[None]:
    """A later release has migrated, and admits this one no more."""
    file = Path(made.host.settings["DATA_DIR"]) / "teamvars.db"
    admits = "UPDATE schema_migrations SET admits = ? WHERE number = 14"
    with closing(sqlite3.connect(file, timeout=HANGS, isolation_level=None)) as store:
        ((before,),) = store.execute("SELECT admits FROM schema_migrations WHERE number = 14")
        store.execute(admits, [1_000_000])
        with again_and_again(ask_whether_it_is_ready, made, token):
            yield
        store.execute(admits, [before])


@contextmanager
def lacking_a_key(made: Scraped, token: str) -> Iterator[None]:
    """It was added on another host, and the keyring is not copied to this one yet."""
    file = Path(made.host.settings["DATA_DIR"]) / "keyring.json"
    elsewhere = Path(shutil.copy(file, file.with_name("elsewhere.json")))
    made.host.having(keyring=elsewhere).succeed("keys", "add", "master")
    with again_and_again(ask_whether_it_is_ready, made, token):
        yield
    elsewhere.rename(file)


@contextmanager
def without_room(made: Scraped, token: str) -> Iterator[None]:
    disk = Path(made.host.settings["DATA_DIR"])
    with no_room(disk, made.server), again_and_again(write, made, token):
        yield


def find_out_anew(made: Scraped, client: httpx.Client) -> None:
    """A worker counts each altered stream once: another one does so again."""
    write(made, client)
    kill_a_worker(made, client)


def read_one(made: Scraped, client: httpx.Client) -> None:
    """One that is in no list, which may be in memory."""
    client.get(f"{made.vars_path}/{made.variable_id}")


def read_many(made: Scraped, client: httpx.Client) -> None:
    """As many in a row as are beyond the limit, however slow we are: they are sent at once."""
    head = f"GET {made.vars_path} HTTP/1.1\r\nHost: localhost\r\n"
    head += f"Authorization: {client.headers['Authorization']}\r\n"
    with socket.create_connection(("127.0.0.1", made.server.port), timeout=HANGS) as connection:
        connection.sendall(
            f"{head}\r\n".encode() * 200 + f"{head}Connection: close\r\n\r\n".encode()
        )
        while connection.recv(65_536):
            pass


@contextmanager
def flooded(made: Scraped, token: str) -> Iterator[None]:
    with again_and_again(read_many, made, token), again_and_again(ask_in_vain, made, token):
        yield


def ask_for_a_job(made: Scraped, client: httpx.Client) -> None:
    """As a job that its issuer vouches for, and no runner means."""
    workspace = made.vars_path.removesuffix("/vars")
    form = {
        "grant_type": GRANT_TYPE,
        "subject_token": job_token(JobKey.generate().thumbprint),
        "subject_token_type": SUBJECT_TYPES[0],
        "resource": f"{SERVICE}{workspace}",
    }
    answer = httpx.post(f"{made.server.url}/oauth/token", data=form, timeout=HANGS)
    assert answer.json()["error"] == "invalid_target"


def invite(made: Scraped, client: httpx.Client) -> None:
    """Somebody whose address the mail server does not take."""
    made.host.succeed("invite", "create", f"{uuid4().hex}@example.com", "--organization", "acme")


@contextmanager
def tampered_with(made: Scraped, token: str) -> Iterator[None]:
    """The last: from then on no change of the workspace is taken."""
    file = Path(made.host.settings["DATA_DIR"]) / "teamvars.db"
    with closing(sqlite3.connect(file, timeout=HANGS)) as store, store:
        store.execute("UPDATE variables SET sealed_value = zeroblob(40)")
        store.execute("UPDATE streams SET link = zeroblob(32) WHERE id LIKE 'ws-%'")
    with again_and_again(read_one, made, token), again_and_again(find_out_anew, made, token):
        yield


FAULTS: dict[Fault, Sequence[str]] = {
    hanging: ["TeamvarsWorkerHangs"],
    partial(again_and_again, slow_down): ["TeamvarsWorkerIsSlow"],
    partial(again_and_again, kill_a_worker): ["TeamvarsWorkersDie"],
    without_its_file: ["TeamvarsStorageUnavailable", "TeamvarsNotReady", "TeamvarsErrors"],
    behind_the_schema: ["TeamvarsNotReady"],
    lacking_a_key: ["TeamvarsKeyNeededSoon"],
    without_room: ["TeamvarsWritesUnavailable"],
    flooded: ["TeamvarsFlood", "TeamvarsTokensGuessed"],
    partial(again_and_again, ask_for_a_job): ["TeamvarsJobsRefused"],
    partial(again_and_again, invite): ["TeamvarsMailGivenUp"],
    down: ["TeamvarsDown"],
    tampered_with: ["TeamvarsDamagedValue", "TeamvarsTrailAltered"],
}


@contextmanager
def refusing_mail() -> Iterator[int]:
    """The port of a mail server that takes no address, in a thread of its own."""
    loop, is_there = asyncio.new_event_loop(), threading.Event()
    ports: list[int] = []
    is_over = asyncio.Event()

    async def serve() -> None:
        async with open_mailbox() as mailbox:
            mailbox.says["RCPT"] = "550 nobody is here"
            ports.append(mailbox.port)
            is_there.set()
            await is_over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert is_there.wait(HANGS)
    try:
        yield ports[0]
    finally:
        loop.call_soon_threadsafe(is_over.set)
        thread.join()
        loop.close()


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Prometheus, Scraped, str]]:
    """A server that a Prometheus looks at, with a variable in it."""
    folder = tmp_path_factory.mktemp("watched")
    (folder / "prometheus").mkdir()
    with ExitStack() as stack:
        (folder / "issuer.json").write_bytes(ISSUERS[0].keys or b"")
        settings = {
            "RATE_LIMIT": "30",
            "DATA_DIR": str(stack.enter_context(disk_in(folder))),
            "PUBLIC_URL": SERVICE,
            "ISSUERS": f"{ISSUER}={folder}/issuer.json",
            "SMTP_URL": f"smtp://127.0.0.1:{stack.enter_context(refusing_mail())}",
            "SMTP_INSECURE": "true",
            "MAIL_FROM": SENDER,
        }
        made = stack.enter_context(scraped(Host(folder, settings)))
        token = made.host.succeed("token", "create", "--user", "alice").out.strip()
        with made.server.client(token) as client:
            made.variable_id = write(made, client).json()["data"]["id"]
        prometheus = Prometheus(folder / "prometheus", made)
        stack.enter_context(prometheus.running())
        yield prometheus, made, token


@pytest.mark.parametrize(("fault", "alerts"), FAULTS.items(), ids=map("-".join, FAULTS.values()))
def test_alerts_fire_while_their_cause_lasts_and_end_with_it(
    watched: tuple[Prometheus, Scraped, str], fault: Fault, alerts: Sequence[str]
) -> None:
    prometheus, made, token = watched
    wait_until(lambda: not prometheus.firing() & set(alerts))
    seen: set[str] = set()

    def all_were_seen() -> bool:
        seen.update(prometheus.firing())
        return seen >= set(alerts)

    with fault(made, token):
        wait_until(all_were_seen)
    wait_until(lambda: not prometheus.firing() & set(alerts))


def test_the_alert_on_writes_fires_while_a_standby_is_gone_and_ends_when_it_is_back(
    tmp_path: Path,
) -> None:
    (tmp_path / "prometheus").mkdir()
    with LocalPostgres(durable=True) as postgres:
        postgres.create_database("watched")
        host = Host(tmp_path, {"DATABASE_URL": postgres.url("watched"), "STATEMENT_SECONDS": "1"})
        with scraped(host) as made:
            token = host.succeed("token", "create", "--user", "alice").out.strip()
            prometheus = Prometheus(tmp_path / "prometheus", made)
            with prometheus.running():
                postgres.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
                postgres.execute("SELECT pg_reload_conf()")
                with again_and_again(write, made, token):
                    wait_until(lambda: "TeamvarsWritesUnavailable" in prometheus.firing())
                postgres.execute("ALTER SYSTEM RESET synchronous_standby_names")
                postgres.execute("SELECT pg_reload_conf()")
                wait_until(lambda: "TeamvarsWritesUnavailable" not in prometheus.firing())


class HastyHost(WrongHost):
    """A host that counts what is in its store each second and not each minute."""

    program = """
import sys
from teamvars import wiring
from teamvars.cli import main
wiring.HOUSEKEEPING_SECONDS = 1
sys.argv = ["teamvars", *sys.argv[1:]]
main()
"""


def test_the_alert_on_data_keys_fires_once_one_has_sealed_much_and_ends_with_the_next(
    tmp_path: Path,
) -> None:
    (tmp_path / "prometheus").mkdir()
    with scraped(HastyHost(tmp_path)) as made:
        prometheus = Prometheus(tmp_path / "prometheus", made)
        with prometheus.running():
            wait_until(lambda: "TeamvarsDataKeyDue" in prometheus.firing())
            added = made.host.succeed("keys", "add", "data").out.strip()
            made.host.succeed("keys", "activate", added)
            wait_until(lambda: "TeamvarsDataKeyDue" not in prometheus.firing())


def test_the_alert_on_clocks_fires_while_one_is_wrong_and_ends_with_it(
    migrated_postgres: str, tmp_path: Path
) -> None:
    (tmp_path / "prometheus").mkdir()
    with scraped(SettableHost(tmp_path, {"DATABASE_URL": migrated_postgres})) as made:
        prometheus = Prometheus(tmp_path / "prometheus", made)
        with prometheus.running():
            (tmp_path / "wrong").touch()
            wait_until(lambda: "TeamvarsClockOff" in prometheus.firing())
            (tmp_path / "wrong").unlink()
            wait_until(lambda: "TeamvarsClockOff" not in prometheus.firing())
        wait_until(lambda: 'teamvars_pool_connections{lane="probes"' in made.text())
