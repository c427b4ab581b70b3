"""Beside OTF, the open service of the same dialect: `.venv/bin/python -m bench.otf PATH`.

PATH is its `otfd`, which its own repository builds (github.com/leg100/otf). It and one worker of
ours have a database each on one durable PostgreSQL, with the same workspaces and variables; they
take turns with the same requests. Both are as they come: theirs is one process that uses all cores,
asked with the token of the site's administrator; ours is one worker, asked with the token of a user
who is in a team. Prints, besides what is promised, the processor time of each, without that of the
database. Exits with 1 if anything promised is missed.
"""

import argparse
import asyncio
import secrets
import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from bench import dataset, programs, promises, stage, transfer
from bench.dataset import EMPTY, SPREAD, Dataset
from bench.references import running
from bench.rounds import QUICK, THOROUGH, Results
from bench.subjects import Served
from bench.works import LIST, Work, creates, variables_path
from teamvars.web.http.negotiation import MEDIA_TYPE
from tests.support.patience import wait_until
from tests.support.server import Server, free_port

CATEGORY = "terraform"
_MAKING = creates(*SPREAD, category=CATEGORY)
CREATE = Work("create", "create over 64 workspaces", _MAKING, 201)
ALONE = Work("create-alone", "create, one after another", _MAKING, 201, connections=1)
PROMISED = {LIST: 8.0, CREATE: 8.0, ALONE: 1.5}
"""How many times as many a second, by the work."""
_VARIABLES, _SENSITIVE = 20, (3, 9)


def main() -> int:
    """Prints the figures beside what is promised; fails when one is missed."""
    parser = argparse.ArgumentParser(prog="bench.otf", description="Measure beside OTF.")
    parser.add_argument("path", type=Path, help="its otfd")
    parser.add_argument("--quick", action="store_true", help="short rounds")
    wanted = parser.parse_args()
    programs.require()
    results = Results()
    with stage.stores() as (folder, postgres, stack):
        host, made = stage.build(folder / "ours", EMPTY)
        copied = asyncio.run(dataset.copy(host, postgres, "ours"))
        server = stack.enter_context(Server(copied.having(dialect=CATEGORY)))
        ours = Served("teamvars", server.url, server.pid, made)
        postgres.create_database("otf")
        otf = stack.enter_context(_otf(wanted.path, folder / "otf.log", postgres.url("otf")))
        for work in PROMISED:
            pairs = [(work, ours), (work, otf)]
            results.run(pairs, QUICK if wanted.quick else THOROUGH)
    missed = [_misses(results, work, bar) for work, bar in PROMISED.items()]
    return any(missed)


def _misses(results: Results, work: Work, bar: float) -> bool:
    ours, otf = ((work.name, name) for name in ("teamvars", "OTF"))
    for key in (ours, otf):
        samples = results.rows[key]
        spent = statistics.median(sample.spent or 0.0 for sample in samples)
        print(f"{work.text}, {key[1]}: {results.median(key):,.0f} a second, {spent:,.0f} µs each")
    ratio = results.ratio(ours, otf)
    print(f"{work.text}: {ratio.low:.2f} to {ratio.high:.2f}")
    return promises.missed(f"{work.text}, teamvars / OTF", ratio.value, at_least=bar)


@contextmanager
def _otf(path: Path, log: Path, url: str) -> Iterator[Served]:
    """OTF, with workspaces that have what ours have."""
    port, token = free_port(), secrets.token_hex(16)
    database = url.replace("postgresql://", "postgres://", 1)
    words = ["--database", database, "--address", f"127.0.0.1:{port}", "--site-token", token]
    command = [str(path), *words, "--secret", secrets.token_hex(16)]
    with running(command, port, log) as pid:
        address = f"http://127.0.0.1:{port}"
        typed = {"Authorization": f"Bearer {token}", "Content-Type": MEDIA_TYPE}
        with httpx.Client(base_url=f"{address}/api/v2", headers=typed, timeout=60) as client:
            wait_until(lambda: client.get("/organizations").is_success)
            workspaces = _filled(client)
        yield Served("OTF", address, pid, Dataset(token, workspaces, {}, (), ()))


def _filled(client: httpx.Client) -> dict[str, str]:
    """Makes the workspaces; returns their ids by name."""
    _make(client, "/organizations", "organizations", name="bench", email="bench@example.com")
    ids = {}
    for name in (LIST.name, *SPREAD):
        id_ = _make(client, "/organizations/bench/workspaces", "workspaces", name=name)
        ids[name] = id_
        for n in range(_VARIABLES):
            path = variables_path(id_).removeprefix("/api/v2")
            said = {"key": transfer.key(n), "value": transfer.value(id_, n), "category": CATEGORY}
            _make(client, path, "vars", **said, sensitive=n in _SENSITIVE)
    return ids


def _make(client: httpx.Client, path: str, kind: str, **attributes: object) -> str:
    document = {"data": {"type": kind, "attributes": attributes}}
    made: str = client.post(path, json=document).raise_for_status().json()["data"]["id"]
    return made


if __name__ == "__main__":
    sys.exit(main())
