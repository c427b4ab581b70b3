"""What the service is measured against, started in the same run on the same machine."""

import json
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from bench import programs
from bench.constant import BODY, HEADERS
from bench.dataset import Dataset
from bench.subjects import Program, Served
from bench.works import LIST
from bench.wrk import CONNECTIONS
from teamvars import wiring
from teamvars.domain.access import Caller
from teamvars.security.tokens import hash_token
from teamvars.storage import access
from teamvars.storage.database import Row, Transaction
from teamvars.storage.engines.postgres import FRAGMENTS
from tests.support.patience import HANGS
from tests.support.server import end_group, free_port

NGINX, HTTP_ALONE, GRANIAN_ALONE = "nginx", "HTTP alone", "granian alone"
COMMITS, SELECT, INSERT = "raw commits", "pgbench SELECT", "pgbench INSERT"

# It logs each request, as we do, and keeps the file at hand.
_NGINX = """
daemon off; worker_processes {workers}; pid {folder}/nginx.pid; error_log {folder}/error.log;
{user}
events {{ worker_connections 256; }}
http {{
    access_log {folder}/access.log; client_body_temp_path {folder}; proxy_temp_path {folder};
    fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
    keepalive_requests 1000000000; tcp_nopush on; open_file_cache max=10;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            root {folder}/www; try_files /body =404; default_type {type};
            {headers}
        }}
    }}
}}
"""
_SENT_BY_GRANIAN_ITSELF = {"date", "server"}
_SENT_BY_NGINX_ITSELF = {"content-type", "content-length", "date", "server", "etag"}
_APPLICATIONS = {HTTP_ALONE: "worker", GRANIAN_ALONE: "bare"}
# A setting of whoever measures must not become one of what is measured.
_SETTINGS = ("TEAMVARS_", "BAO_", "VAULT_")


@contextmanager
def nginx(folder: Path, workers: int, like: Served, dataset: Dataset) -> Iterator[Served]:
    """nginx with the same bytes and the same headers as the server's list, from a file."""
    answer = LIST.ask(like.url, dataset)
    assert answer.status_code == 200, answer.text
    (folder / "www").mkdir(parents=True)
    (folder / "www/body").write_bytes(answer.content)
    headers = "".join(
        f"add_header {name} '{value}';\n"
        for name, value in answer.headers.items()
        if name not in _SENT_BY_NGINX_ITSELF
    )
    port = free_port()
    config = folder / "nginx.conf"
    text = _NGINX.format(
        folder=folder,
        workers=workers,
        user="user root;" if os.getuid() == 0 else "",
        port=port,
        type=answer.headers["content-type"],
        headers=headers,
    )
    config.write_text(text)
    name = f"{NGINX} x{workers}"
    command = [programs.path("nginx"), "-e", str(folder / "error.log"), "-c", str(config)]
    with running(command, port, folder / "log") as pid:
        yield Served(name, f"http://127.0.0.1:{port}", pid, dataset)


@contextmanager
def constant(
    name: str, folder: Path, workers: int, like: Served, dataset: Dataset
) -> Iterator[Served]:
    """HTTP alone or granian alone: the same bytes as the server's list, from memory."""
    answer = LIST.ask(like.url, dataset)
    folder.mkdir()
    (folder / BODY).write_bytes(answer.content)
    headers = [pair for pair in answer.headers.items() if pair[0] not in _SENT_BY_GRANIAN_ITSELF]
    (folder / HEADERS).write_text(json.dumps(headers))
    port = free_port()
    command = programs.python("bench.constant", _APPLICATIONS[name], port, workers, folder)
    with running(command, port, folder / "log") as pid:
        yield Served(f"{name} x{workers}", f"http://127.0.0.1:{port}", pid, dataset)


def commits(folder: Path) -> Program:
    """One Python process that inserts and commits into SQLite, synchronous=FULL."""
    files = (folder / f"commits-{n}.db" for n in count())
    return Program(COMMITS, lambda s: programs.python("bench.commits", next(files), s), float)


def pgbench_select(url: str, dataset: Dataset, folder: Path) -> Program:
    """The access statement of a list, as the service sends it, from 32 prepared clients."""
    caller = Caller(hash_token(dataset.token), "bench")
    recorder = _Recorder()
    reading = access.workspace(recorder, caller, wiring.clock(), dataset.workspaces["list-20"])
    with suppress(StopIteration, _Recorded):
        reading.send(None)
    script = re.sub(r"\$(\d+)", r":p\1", FRAGMENTS.render(recorder.sql))
    values = {f"p{n}": _text(value) for n, value in enumerate(recorder.args, 1)}
    return _pgbench(SELECT, url, script, values, folder / "select.sql")


def pgbench_insert(url: str, folder: Path) -> Program:
    """One row with the columns and indexes of a variable, committed by each of 32 clients."""
    create = "CREATE TABLE inserted (LIKE variables INCLUDING ALL)"
    subprocess.run([programs.PSQL, "-Xq", "-d", url, "-c", create], check=True)
    script = (
        "\\set id random(1, 9000000000000000000)\n"
        "INSERT INTO inserted (id, workspace_id, key, category, description, hcl, sensitive, "
        "sealed_value, value_bytes, version_id, created_at) "
        "VALUES (:id, :workspace, :id, 'tool', '', 0, 0, :sealed, 12, :version, 0)"
    )
    values = {"workspace": "ws-1", "sealed": _text(bytes(40)), "version": "0" * 36}
    return _pgbench(INSERT, url, script, values, folder / "insert.sql")


def _pgbench(name: str, url: str, script: str, values: dict[str, str], file: Path) -> Program:
    file.write_text(script + ";\n")
    options = ["-n", "-M", "prepared", f"-c{CONNECTIONS}", "-j1", "-f", str(file)]
    given = [f"-D{variable}={value}" for variable, value in values.items()]

    def per_second(output: str) -> float:
        if re.search(r"processed: 0$", output, re.MULTILINE):  # of none it tells no rate
            return 0
        found = re.search(r"^tps = ([\d.]+)", output, re.MULTILINE)
        assert found is not None, output
        return float(found[1])

    def command(seconds: int) -> list[str]:
        return [programs.PGBENCH, *options, *given, f"-T{seconds}", url]

    return Program(name, command, per_second)


def _text(value: object) -> str:
    """A parameter as PostgreSQL reads it."""
    return "\\x" + value.hex() if isinstance(value, bytes) else str(value)


class _Recorded(Exception):
    """The statement is known: nothing more is wanted."""


class _Recorder(Transaction):
    """A transaction that notes the first statement it is given, and ends there."""

    sql = ""
    args: tuple[object, ...] = ()

    async def fetch(self, sql: str, *args: object) -> Sequence[Row]:
        self.sql, self.args = sql, args
        raise _Recorded

    async def script(self, sql: str) -> None:
        raise AssertionError("nothing is written")


@contextmanager
def running(command: list[str], port: int, log: Path) -> Iterator[int]:
    """A server while it is needed; yields its process once it accepts connections."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(_SETTINGS)}
    with log.open("w") as out:
        process = subprocess.Popen(
            command,
            cwd=programs.ROOT,
            env={**inherited, "TEAMVARS_LOG_FORMAT": "json"},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            text=True,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + HANGS
        while not _listens(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{command[0]} does not start:\n{log.read_text()}")
            time.sleep(0.02)
        yield process.pid
    finally:
        end_group(process)


def _listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port)):
            return True
    except OSError:
        return False
