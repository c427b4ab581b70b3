"""This release and the next one behind a balancer, on one PostgreSQL: nobody notices an upgrade."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.cli.store import execute
from tests.faults.next_release import NextHost
from tests.support.commands import Host
from tests.support.haproxy import Balancer
from tests.support.patience import wait_until
from tests.support.server import Server
from tests.support.tenant import variable_document

LONG = pytest.param(1_000_000, id="a million rows", marks=pytest.mark.long)
CLIENTS = 2
PAUSE = 0.02
"""Seconds that a client leaves to others between its requests."""
OF_JSON_API = {"Content-Type": "application/vnd.api+json"}
DIRECTORY = """
users: [{username: alice, email: alice@example.com}]
organizations:
  - name: acme
    members: {alice: active}
    workspaces: [bulk, client-0, client-1]
    teams: [{name: owners, members: [alice]}]
"""
# Rows of a workspace that nobody lists: their values need not open.
FILL = """
INSERT INTO variables (id, workspace_id, organization_id, workspace_name, key, category,
    description, hcl, sensitive, value_bytes, version_id, created_at, sealed_value)
SELECT 'var-' || lpad(CAST(n AS TEXT), 16, '0'), workspaces.id, workspaces.organization_id,
    workspaces.name_folded, 'key-' || n, 'env', '', 0, 0, 0, '', 0, ''
FROM generate_series(1, {rows}) AS n JOIN workspaces ON workspaces.name = '{workspace}'
"""
# Divides by zero where a row is not counted.
ALL_ARE_COUNTED = """
SELECT 1 / CAST(count(*) FILTER (WHERE key_length IS DISTINCT FROM length(key)) = 0 AS INT)
FROM variables
"""


@dataclass
class Load:
    """Clients that make and list variables all the while, each in a workspace of its own."""

    url: str
    token: str
    paths: list[str]
    made: list[set[str]] = field(default_factory=lambda: [set() for _ in range(CLIENTS)])
    failed: list[str] = field(default_factory=list)
    asked: list[int] = field(default_factory=lambda: [0] * CLIENTS)
    _end: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def running(self) -> Iterator[None]:
        """While this lasts they ask."""
        threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(CLIENTS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._end.set()
            for thread in threads:
                thread.join()

    def goes_on(self) -> None:
        """Returns when each client has asked some more."""
        before = list(self.asked)
        wait_until(
            lambda: all(now > then + 5 for now, then in zip(self.asked, before, strict=True))
        )

    def client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=f"{self.url}/api/v2", headers=headers, timeout=300)

    def _ask(self, number: int) -> None:
        path, made = self.paths[number], self.made[number]
        with self.client() as client:
            while not self._end.wait(PAUSE):
                self.asked[number] += 1
                key = f"key-{self.asked[number]}"
                if self._ask_for(client, "POST", path, variable_document(key=key)):
                    made.add(key)
                if self.asked[number] % 100 == 0:  # lists grow with what is there
                    self._ask_for(client, "GET", path)

    def _ask_for(
        self, client: httpx.Client, method: str, path: str, document: object = None
    ) -> httpx.Response | None:
        """The answer, if it is a success."""
        try:
            answer = client.request(method, path, json=document, headers=OF_JSON_API)
        except httpx.HTTPError as error:
            self.failed.append(f"{method} {error!r}")
            return None
        if not answer.is_success:
            self.failed.append(f"{method} {answer.status_code} {answer.text[:300]}")
            return None
        return answer


@pytest.fixture
def host(migrated_postgres: str, tmp_path: Path) -> Host:
    """A host of this release, whose store has the directory."""
    host = Host(tmp_path).having(database_url=migrated_postgres, max_variables=0)
    host.succeed("init")
    (tmp_path / "directory.yaml").write_text(DIRECTORY)
    return host


@pytest.mark.parametrize("rows", [pytest.param(3_000, id="some rows"), LONG])
def test_nobody_notices_an_upgrade_and_nothing_is_lost(host: Host, rows: int) -> None:
    applied = host.succeed("directory", "apply", "directory.yaml", "--json").json
    workspaces = applied["organizations"]["acme"]["workspaces"]
    token = host.succeed("token", "create", "--user", "alice").out.strip()
    execute(host, FILL.format(rows=rows, workspace="bulk"))
    later = NextHost(host.folder, host.settings)
    one, two, left_behind = Server(host), Server(host), Server(host)
    with one, two, left_behind, Balancer(host.folder, (one, two)) as balancer:
        paths = [f"/workspaces/{workspaces[f'client-{n}']}/vars" for n in range(CLIENTS)]
        load = Load(balancer.url, token, paths)
        with load.running():
            load.goes_on()
            up = later.command("migrate", "up")
            assert up.returncode == 0, up.stderr
            assert f"{rows:,}"[0] in up.stderr  # it says how far it has come
            load.goes_on()
            assert balancer.times_down() == 0
            assert host.run("migrate", "check").code == 0
            status = later.command("migrate", "status")
            assert status.stdout.startswith("waiting "), status
            for node in (one, two):
                balancer.take_out(node)
                node.terminate()
                node.host = later
                node.start()
                balancer.put_in(node)
                load.goes_on()
            contract = later.command("migrate", "up", "--contract")
            assert contract.returncode == 0, contract.stderr
            load.goes_on()
        assert load.failed == [], f"{len(load.failed)} of {sum(load.asked)}"
        with load.client() as client:
            for path, made in zip(paths, load.made, strict=True):
                listed = client.get(path).json()["data"]
                assert {item["attributes"]["key"] for item in listed} == made
        with left_behind.client(token) as client:
            late = variable_document(key="late")
            refused = client.post(f"/api/v2{paths[0]}", json=late, headers=OF_JSON_API)
            assert (refused.status_code, "release_too_old" in refused.text) == (503, True)
            # Which may say for a second what it said before.
            wait_until(lambda: client.get("/readyz").status_code == 503)
        assert host.run("serve", "--port", 1).code == 1
    execute(host, ALL_ARE_COUNTED)
    assert later.command("audit", "verify").returncode == 0
