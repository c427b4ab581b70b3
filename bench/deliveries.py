"""What it costs to hand a job its values: `python3 dev.py deliveries`.

A job shows what its issuer says of it and gets a token for that, and with the token 50 variables,
20 of them sensitive. OpenBao does the like in the same run: a login with the same kind of JWT, and
one read of a secret with 50 values.

Then what others feel beside 20 deliveries a second. The jobs take processor time of the same host,
which is no fault of the service. So their tokens are signed before, and what others do beside them
is compared with what they do while the same jobs, at the same rate, ask a server that gives them
the same answers at once and does nothing for it. The difference is what the service takes.

Last, what `run` takes. Promised: as many a second as OpenBao's; lists and creates at 0.95 of their
rate; `run -- true` in 6 times what `gh --version` takes. `--quick` measures little, and holds
nothing against the promise.
"""

import argparse
import asyncio
import http.client
import json
import os
import re
import shutil
import socketserver
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from joserfc.jwk import ECKey

from bench import machine, openbao, programs, promises, wrk
from bench.wrk import NUMBER, Plan, Request
from teamvars.protocol import encoded
from teamvars.protocol.bundles import JobKey
from teamvars.services.deliveries import GRANT_TYPE, SUBJECT_TYPES
from tests.support.commands import SCRIPT, InstalledHost
from tests.support.desk import Desk
from tests.support.jobs import ISSUER, job_token, runner_document
from tests.support.patience import HANGS
from tests.support.postgres import LocalPostgres
from tests.support.served_deployment import ServedDeployment, serve_deployment
from tests.support.tenant import JSON_API, Tenant, build_tenant

VARIABLES, SENSITIVE = 50, 20
CONNECTIONS = 8
PER_SECOND = 20
"""Deliveries, beside which others are measured."""
_LINES = 4
"""Over which they come, so that one does not wait for the one before."""
_MORE_SECONDS = 30
"""Longer than anything takes that is measured for some seconds."""
_REQUEST_BYTES = 65536
_LENGTH = re.compile(rb"(?i)content-length: (\d+)")
FORM = "application/x-www-form-urlencoded"
RATE, BESIDE, RUN = 1.0, 0.95, 6.0
"""What is promised."""

_KEY = ECKey.generate_key("P-256", {"kid": "bench"})
_JOB = JobKey.generate()


@dataclass(frozen=True)
class Effort:
    """How long everything is measured."""

    rounds: int
    pairs: int
    seconds: int


QUICK, THOROUGH = Effort(1, 40, 1), Effort(5, 400, 3)


class Line:
    """A connection to a giver. It has what was answered last on each path."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=HANGS)
        self.answers: dict[str, bytes] = {}

    def send(self, method: str, path: str, body: str | None, headers: Mapping[str, str]) -> Any:
        """What is answered, which has to be 200."""
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        self.answers[path] = content = answer.read()
        if answer.status != 200:  # what it says might have what a job has shown
            raise RuntimeError(f"{method} {path} was answered with {answer.status}.")
        return json.loads(content)

    def close(self) -> None:
        """Hangs up."""
        self._connection.close()


Ask = Callable[[Line, str], None]
"""Shows a JWT and gets the values with what it is given for that."""


@dataclass(frozen=True)
class Giver:
    """A server that gives values to jobs: `jwt` makes what one of them shows."""

    name: str
    url: str
    pid: int
    jwt: Callable[[], str]
    ask: Ask


def main() -> int:
    """Prints the figures beside what is promised; fails when one is missed."""
    parser = argparse.ArgumentParser(prog="dev.py deliveries", description="Measure deliveries.")
    parser.add_argument("--quick", action="store_true", help="little, and held against nothing")
    quick = parser.parse_args().quick
    programs.require()
    if programs.OPENBAO not in programs.versions():
        print("OpenBao cannot be run here, and so nothing that deliveries are compared with.")
        return 1
    with tempfile.TemporaryDirectory(prefix="teamvars-bench-") as folder:
        missed = asyncio.run(_measure(Path(folder), QUICK if quick else THOROUGH))
    return int(missed and not quick)


async def _measure(folder: Path, effort: Effort) -> bool:
    missed = False
    with (
        LocalPostgres(durable=True) as postgres,
        openbao.for_jobs(
            folder / "openbao", _KEY.as_pem(private=False).decode(), ISSUER, VARIABLES
        ) as (url, pid),
    ):
        reference = Giver(programs.OPENBAO, url, pid, lambda: _jwt(openbao.AUDIENCE), _by_openbao)
        postgres.create_database("deliveries")
        for name, store in (("SQLite", None), ("PostgreSQL", postgres.url("deliveries"))):
            (place := folder / name).mkdir()
            async with serving(place, store) as (served, tenant, desk):
                giver = ours(name, served, tenant)
                missed |= _rate(giver, reference, effort)
                missed |= _beside(giver, tenant, effort)
                if store is None:
                    missed |= _run(desk, effort)
    return missed


def _rate(giver: Giver, reference: Giver, effort: Effort) -> bool:
    """How often a second, to the reference; both take turns."""
    for one in (giver, reference):
        pairs(one, CONNECTIONS)  # warms up
    rounds = [
        [pairs(one, effort.pairs) for one in (giver, reference)] for _ in range(effort.rounds)
    ]
    ratio = statistics.median(ours[0] / theirs[0] for ours, theirs in rounds)
    for position, one in enumerate((giver, reference)):
        rate = statistics.median(each[position][0] for each in rounds)
        spent = statistics.median(each[position][1] for each in rounds)
        print(f"{one.name:12} {rate:7,.0f} a second, {spent:5.2f} ms of the processor each")
    return promises.missed(f"deliveries, {giver.name} / {reference.name}", ratio, at_least=RATE)


def pairs(giver: Giver, count: int) -> tuple[float, float]:
    """How many jobs a second are given their values, and what each costs, in ms."""
    shown = [[giver.jwt() for _ in range(count // CONNECTIONS)] for _ in range(CONNECTIONS)]

    def work(jwts: Sequence[str]) -> None:
        line = Line(giver.url)
        for jwt in jwts:
            giver.ask(line, jwt)
        line.close()

    spent, begun = machine.cpu_seconds(giver.pid), time.monotonic()
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        list(threads.map(work, shown))
    elapsed, done = time.monotonic() - begun, sum(map(len, shown))
    return done / elapsed, (machine.cpu_seconds(giver.pid) - spent) / done * 1000


@dataclass(frozen=True)
class Beside:
    """What somebody did a second beside jobs, so many a second, and what one of these requests took
    of the processor, with what the jobs took in it, in seconds.
    """

    per_second: float
    jobs: float
    spent: float


def _beside(giver: Giver, tenant: Tenant, effort: Effort) -> bool:
    """What a list and a create keep of their rate beside deliveries, to that beside jobs that ask
    elsewhere.
    """
    path = f"/api/v2{tenant.vars_path('payments')}"
    headers = {"Authorization": f"Bearer {tenant.tokens['owner']}", "Content-Type": JSON_API}
    attributes = {"key": f"k_{NUMBER}", "value": "eu", "description": "", "category": "env"}
    body = json.dumps({"data": {"type": "vars", "attributes": attributes}})
    missed = False
    for name, request in (
        ("list of 50", Request("GET", f"/api/v2{tenant.vars_path()}")),
        ("create", Request("POST", path, body)),
    ):
        plan = Plan([request], headers)
        with _silent(giver) as silent:
            rounds = [
                [_measured(giver, other, plan, effort.seconds) for other in (silent, giver)]
                for _ in range(effort.rounds)
            ]
        jobs = statistics.median(beside.jobs for _, beside in rounds)
        costs = [
            (beside.spent - alone.spent) * beside.per_second / beside.jobs * 1000
            for alone, beside in rounds
        ]
        about = f"{name}, {giver.name}, beside {jobs:.0f} deliveries a second"
        print(f"{about}: {statistics.median(costs):.1f} ms of the processor for each of these")
        ratio = statistics.median(beside.per_second / alone.per_second for alone, beside in rounds)
        missed |= promises.missed(about, ratio, at_least=BESIDE)
    return missed


def _measured(giver: Giver, other: Giver, plan: Plan, seconds: int) -> Beside:
    """What is done with a giver beside jobs that ask the other."""
    jwts = [giver.jwt() for _ in range(PER_SECOND * (seconds + _MORE_SECONDS))]
    with _delivering(other, jwts) as count:
        spent, before, begun = machine.cpu_seconds(giver.pid), count(), time.monotonic()
        sample = wrk.run(giver.url, plan, seconds, wrk.CONNECTIONS)
        elapsed, jobs = time.monotonic() - begun, count() - before
        spent = machine.cpu_seconds(giver.pid) - spent
    requests = sample.per_second * seconds
    return Beside(sample.per_second, jobs / elapsed, spent / requests)


@contextmanager
def _delivering(giver: Giver, jwts: Sequence[str]) -> Iterator[Callable[[], int]]:
    """Meanwhile jobs come at a steady rate, over some connections in turn; yields what tells how
    many have been answered.
    """
    stopped, begun = threading.Event(), time.monotonic()
    answered = [0] * _LINES

    def work(number: int) -> None:
        line = Line(giver.url)
        for n, jwt in enumerate(jwts[number::_LINES]):
            due = begun + (number + n * _LINES) / PER_SECOND
            if stopped.wait(max(0.0, due - time.monotonic())):
                break
            giver.ask(line, jwt)
            answered[number] += 1
        line.close()

    with ThreadPoolExecutor(_LINES) as threads:
        working = [threads.submit(work, number) for number in range(_LINES)]
        try:
            yield lambda: sum(answered)
        finally:
            stopped.set()
    for each in working:
        each.result()


@contextmanager
def _silent(giver: Giver) -> Iterator[Giver]:
    """A server that answers jobs as this one has answered one of them, at next to no cost."""
    line = Line(giver.url)
    giver.ask(line, giver.jwt())
    line.close()
    answers = {
        path.encode(): b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(content), content)
        for path, content in line.answers.items()
    }

    class Answering(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            received = b""
            while piece := self.request.recv(_REQUEST_BYTES):
                received += piece
                head, _, body = received.partition(b"\r\n\r\n")
                length = _LENGTH.search(head)
                if length is not None and len(body) == int(length[1]):
                    self.request.sendall(answers[head.split(b" ", 2)[1]])
                    received = b""

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever).start()
        yield replace(
            giver, name="a silent server", url=f"http://127.0.0.1:{server.server_address[1]}"
        )
        server.shutdown()


def _run(desk: Desk, effort: Effort) -> bool:
    """What `run -- true` takes with a delivery, to GitHub's client that says its version."""
    gh = shutil.which("gh")
    if gh is None:
        print("gh is not here, and so nothing that `run -- true` is compared with.")
        return False
    commands = {"run": [SCRIPT, "run", "--", "true"], "gh": [gh, "--version"]}
    # As installed: what a command imports is compiled once, and gh is compiled as well.
    environment = dict(desk.environment)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(1 + 3 * effort.rounds):
        for name, words in commands.items():
            begun = time.monotonic()
            subprocess.run(words, env=environment, cwd=desk.folder, check=True, capture_output=True)
            taken[name].append(time.monotonic() - begun)
    ours, theirs = (min(times) for times in taken.values())
    print(f"run -- true {ours * 1000:.0f} ms, gh --version {theirs * 1000:.0f} ms")
    return promises.missed("run -- true / gh --version", ours / theirs, at_most=RUN)


def ours(name: str, served: ServedDeployment, tenant: Tenant) -> Giver:
    """Ours, which gives what is in the tenant's `network`."""
    url, workspace_id = served.server.url, tenant.workspaces["network"]
    path = f"/api/v2/workspaces/{workspace_id}/actions/deliver"
    said = {"type": "deliveries", "attributes": {"public-key": encoded(_JOB.public)}}
    document = json.dumps({"data": said})
    form = {
        "grant_type": GRANT_TYPE,
        "subject_token_type": SUBJECT_TYPES[0],
        "resource": f"{url}/api/v2/workspaces/{workspace_id}",
    }

    def ask(line: Line, jwt: str) -> None:
        asked = urlencode({**form, "subject_token": jwt})
        given = line.send("POST", "/oauth/token", asked, {"Content-Type": FORM})
        headers = {
            "Authorization": f"Bearer {given['access_token']}",
            "Content-Type": JSON_API,
        }
        assert "bundle" in line.send("POST", path, document, headers)["data"]["attributes"]

    audience = f"{url}#{_JOB.thumbprint}"
    return Giver(name, url, served.server.pid, lambda: _jwt(audience), ask)


def _by_openbao(line: Line, jwt: str) -> None:
    login = json.dumps({"role": openbao.ROLE, "jwt": jwt})
    given = line.send("POST", "/v1/auth/jwt/login", login, {})
    headers = {"X-Vault-Token": given["auth"]["client_token"]}
    found = line.send("GET", openbao.OF_JOBS, None, headers)
    assert len(found["data"]["data"]) == VARIABLES


def _jwt(audience: str) -> str:
    return job_token(None, key=_KEY, aud=audience)


@asynccontextmanager
async def serving(
    folder: Path, database_url: str | None
) -> AsyncIterator[tuple[ServedDeployment, Tenant, Desk]]:
    """A server with a workspace that a runner of the issuer and an enrolled machine may have."""
    (keys := folder / "issuer.json").write_text(json.dumps({"keys": [_KEY.as_dict(private=False)]}))
    own = {} if database_url is None else {"database_url": database_url}
    own |= {"log_format": "json", "issuers": f"{ISSUER}={keys}", "max_variables": "0"}
    host = InstalledHost(folder).having(**own)
    async with serve_deployment(host, is_public=True) as served:
        tenant = await build_tenant(served)
        yield served, tenant, await _prepared(served, tenant, folder)


async def _prepared(served: ServedDeployment, tenant: Tenant, folder: Path) -> Desk:
    for number in range(VARIABLES):
        attributes = {"value": f"value-{number}" * 4, "sensitive": number < SENSITIVE}
        await tenant.make_variable(f"KEY_{number}", category="env", **attributes)
    workspace_id, url = tenant.workspaces["network"], served.server.url
    pinned = served.host.succeed("server-key", "show").out.strip()
    (home := folder / "home").mkdir()
    desk = Desk(home, home=home).having(address=url, workspace=workspace_id, server_key=pinned)
    public = desk.succeed("runner", "init", "--server-key", pinned).out.strip()
    for document in (
        runner_document(workspace_id),
        runner_document(workspace_id, issuer=None, conditions=None, public_key=public),
    ):
        path = f"/organizations/{tenant.organization}/runners"
        made = (await tenant.call("owner", "POST", path, document)).json()["data"]
        served.host.succeed("approvals", "approve", f"{made['id']}@{made['attributes']['digest']}")
    return desk


if __name__ == "__main__":
    os.environ.pop("TEAMVARS_TOKEN", None)  # of whoever measures
    sys.exit(main())
