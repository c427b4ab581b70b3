"""Every key changes under two nodes on one PostgreSQL that go on serving, and the job that has all
under the new ones is killed again and again: nobody notices, and nothing needs the former keys.
"""

import os
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.faults.test_upgrades import CLIENTS, DIRECTORY, OF_JSON_API, Load
from tests.support.commands import Host
from tests.support.haproxy import Balancer
from tests.support.patience import wait_until
from tests.support.server import Server
from tests.support.tenant import variable_document

AT_ONCE = 500
"""Values that are made by one request."""
SOME = pytest.param(400, 1, id="some values")
MANY = pytest.param(20_000, 5, id="many values", marks=pytest.mark.long)


class Keys:
    """The keys of a host, and the job."""

    def __init__(self, host: Host, rate: int | None) -> None:
        self._host = host
        self.job = ("keys", "rewrap", *(() if rate is None else ("--rate", rate)))

    def active(self, purpose: str) -> str:
        """The id of the one in use."""
        (id_,) = [
            one["id"] for one in self._listed() if one["purpose"] == purpose and one["active"]
        ]
        return str(id_)

    def needed(self, key_id: str) -> int:
        """How much still needs it."""
        (needed,) = [one["needed"] for one in self._listed() if one["id"] == key_id]
        return int(needed)

    def kill_a_job(self, key_id: str) -> None:
        """Has a job begin, and kills it once it has done something about that key, or all of it."""
        before = self.needed(key_id)
        with (self._host.folder / "rewrap.log").open("a") as log:
            job = self._host.start(*self.job, out=log, err=log)
            wait_until(lambda: job.poll() is not None or self.needed(key_id) < before)
            if job.poll() is None:
                os.killpg(job.pid, signal.SIGKILL)
            job.wait()

    def _listed(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self._host.succeed("keys", "status", "--json").json
        return listed


@pytest.fixture
def host(migrated_postgres: str, tmp_path: Path) -> Host:
    """A host with a store that has the directory."""
    host = Host(tmp_path).having(database_url=migrated_postgres, max_variables=0)
    host.succeed("init")
    host.succeed("migrate", "up", "--contract")
    (tmp_path / "directory.yaml").write_text(DIRECTORY)
    return host


def fill(load: Load, workspace_id: str, values: int) -> dict[str, str]:
    """So many readable and sensitive variables of a workspace; the readable ones' values by key."""
    wanted = {f"key-{n}": f"value {uuid4()}" for n in range(values)}
    items = [
        variable_document(key=key, value=value, sensitive=n % 2 == 1)["data"]
        for n, (key, value) in enumerate(wanted.items())
    ]
    with load.client() as client:
        for first in range(0, values, AT_ONCE):
            document = {"data": items[first : first + AT_ONCE]}
            path = f"/workspaces/{workspace_id}/actions/apply"
            answer = client.post(path, json=document, headers=OF_JSON_API)
            assert answer.is_success, answer.text
    return {key: value for n, (key, value) in enumerate(wanted.items()) if n % 2 == 0}


def listed(client: httpx.Client, path: str, tag: str | None = None) -> dict[str, str]:
    """The readable values of a list by key; it is still at the tag, if that is given."""
    answer = client.get(path)
    assert tag in (None, answer.headers["ETag"])
    found = [one["attributes"] for one in answer.json()["data"]]
    return {one["key"]: one["value"] for one in found if not one["sensitive"]}


@pytest.mark.parametrize(("values", "kills"), [SOME, MANY])
def test_every_key_changes_while_nodes_serve_and_nothing_is_lost(
    host: Host, values: int, kills: int
) -> None:
    applied = host.succeed("directory", "apply", "directory.yaml", "--json").json
    workspaces = applied["organizations"]["acme"]["workspaces"]
    token = host.succeed("token", "create", "--user", "alice").out.strip()
    keys = Keys(host, rate=max(100, values // 20))
    with ExitStack() as stack:
        nodes = stack.enter_context(Server(host)), stack.enter_context(Server(host))
        balancer = stack.enter_context(Balancer(host.folder, nodes))
        paths = [f"/workspaces/{workspaces[f'client-{n}']}/vars" for n in range(CLIENTS)]
        load = Load(balancer.url, token, paths)
        there = fill(load, workspaces["bulk"], values)
        path = f"/workspaces/{workspaces['bulk']}/vars"
        client = stack.enter_context(load.client())
        tag = client.get(path).headers["ETag"]
        with load.running():
            for purpose in ("master", "data", "audit"):
                former = keys.active(purpose)
                added = host.succeed("keys", "add", purpose).out.strip()
                host.succeed("keys", "activate", added)
                load.goes_on()
                early = host.run("keys", "retire", former)
                assert (early.code, "not retired" in early.err) == (1, True), early.err
                for _ in range(kills):
                    keys.kill_a_job(former)
                load.goes_on()
                host.succeed("keys", "rewrap")
                host.succeed("keys", "retire", former)
                load.goes_on()
                host.succeed("audit", "verify")
                assert keys.active(purpose) == added
                if purpose != "audit":  # which goes on to verify what it has signed
                    assert former not in (host.data / "keyring.json").read_text()
                    assert listed(client, path, tag) == there
        assert load.failed == [], f"{len(load.failed)} of {sum(load.asked)}"
        assert listed(client, path) == there
        for path, made in zip(paths, load.made, strict=True):
            assert listed(client, path).keys() == made
    # With the keys that are left it opens every value there is.
    every = values + sum(map(len, load.made))
    assert f"{every} open: every value" in host.run("doctor", "--all").out
    host.succeed("audit", "verify")
