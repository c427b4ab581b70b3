"""Three PostgreSQL under Patroni, which promotes another one when the primary is gone."""

import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import httpx

from tests.faults.machines import Machine, Network, run
from tests.support import packages
from tests.support.patience import wait_until
from tests.support.postgres import PACKAGES, PROGRAMS

PATRONI = Path(sys.executable).with_name("patroni")
SECONDS_TO_LIVE = 20
"""How long a primary that is not heard of stays the leader: the least that Patroni takes."""
SETTINGS = {
    "ttl": SECONDS_TO_LIVE,
    "loop_wait": 2,
    "retry_timeout": 5,
    "maximum_lag_on_failover": 1048576,
    "primary_start_timeout": 0,
    "failsafe_mode": True,
    "postgresql": {"use_pg_rewind": True, "parameters": {"max_connections": 100}},
}
SYNCHRONOUS = {"synchronous_mode": True, "synchronous_mode_strict": True}
ANYBODY = ["local all all trust", "host all all all trust", "host replication all all trust"]
ETCD = (
    "--name {name} --data-dir {folder}/{name} --initial-cluster {all} "
    "--listen-client-urls {clients} --advertise-client-urls {clients} "
    "--listen-peer-urls {peers} --initial-advertise-peer-urls {peers}"
)


class Cluster:
    """Runs in a `with`, with a machine for each of three PostgreSQL and three etcd."""

    def __init__(self, *, synchronous: bool) -> None:
        self._network = Network(("dcs1", "dcs2", "dcs3", "db1", "db2", "db3"))
        self._folder = self._network.folder
        self.etcds, self.databases = self._network.machines[:3], self._network.machines[3:]
        self._waits = synchronous
        self._settings = {**SETTINGS, **(SYNCHRONOUS if synchronous else {})}

    def __enter__(self) -> Self:
        self._etcd = packages.program("etcd", "etcd-server")
        self._network.__enter__()
        self.start_etcd(self.etcds)
        for machine in self.databases:
            self._configure(machine)
            self.start(machine)
        self.wait_until_whole()
        return self

    def __exit__(self, *_: object) -> None:
        self._network.__exit__()

    @property
    def url(self) -> str:
        """The URL of the database of whichever of them is the primary."""
        hosts = ",".join(machine.address for machine in self.databases)
        return f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write"

    def start_etcd(self, machines: Sequence[Machine]) -> None:
        """Starts those that hold the lock of the leader, or starts them again."""
        peers = ",".join(f"{one.name}=http://{one.address}:2380" for one in self.etcds)
        for one in machines:
            clients, to_peers = (f"http://{one.address}:{port}" for port in (2379, 2380))
            names = {"name": one.name, "folder": self._folder, "all": peers}
            words = ETCD.format(**names, clients=clients, peers=to_peers)
            one.start([self._etcd, *words.split()])
        for one in machines:
            wait_until(partial(_answers, f"http://{one.address}:2379/health"), self.log)

    def start(self, machine: Machine) -> None:
        """Starts Patroni and its PostgreSQL, or starts them again."""
        machine.start([PATRONI, self._configuration(machine)])

    def primary(self) -> Machine:
        """The machine that has the lock of the leader and takes writes."""
        wait_until(lambda: any(map(_is_primary, self.databases)), self.log)
        return next(filter(_is_primary, self.databases))

    def others(self, than: Machine) -> list[Machine]:
        """The other machines with a PostgreSQL."""
        return [machine for machine in self.databases if machine is not than]

    def wait_until_whole(self) -> None:
        """Returns once there is a primary that two others follow, as commits demand."""
        wait_until(self._is_whole, self.log)

    def switch_over(self, leader: Machine) -> None:
        """Has one that commits wait for be the primary, in good order."""
        (candidate,) = self._candidates()
        program = str(PATRONI.with_name("patronictl"))
        who = ("--leader", leader.name, "--candidate", candidate)
        run(program, "-c", str(self._configuration(leader)), "switchover", *who, "--force")

    def log(self) -> str:
        """What all of them have written of late."""
        return "\n".join(machine.log[-3000:] for machine in self._network.machines)

    def _is_whole(self) -> bool:
        told = [_asked(machine, "patroni") for machine in self.databases]
        primaries = [one for one in told if one.get("role") == "primary"]
        if not all(told) or len(primaries) != 1:
            return False
        following = [one["state"] for one in primaries[0].get("replication", [])]
        return following == ["streaming"] * 2 and (not self._waits or bool(self._candidates()))

    def _candidates(self) -> list[str]:
        """Those that commits wait for, as the first one knows that answers."""
        members = next(filter(None, (_asked(one, "cluster") for one in self.databases)))["members"]
        return [member["name"] for member in members if member["role"] == "sync_standby"]

    def _configure(self, machine: Machine) -> None:
        here, superuser = machine.address, {"username": "postgres"}
        folder = self._folder / f"{machine.name}.data"
        configuration = {
            "scope": "teamvars",
            "name": machine.name,
            "restapi": {"listen": f"{here}:8008", "connect_address": f"{here}:8008"},
            "etcd3": {"hosts": [f"{one.address}:2379" for one in self.etcds]},
            "bootstrap": {
                "dcs": self._settings,
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}],
            },
            "postgresql": {
                "listen": f"{here}:5432",
                "connect_address": f"{here}:5432",
                "data_dir": str(folder),
                "bin_dir": str(PACKAGES / PROGRAMS),
                "pgpass": str(self._folder / f"{machine.name}.pgpass"),
                "authentication": {"superuser": superuser, "replication": superuser},
                "parameters": {"unix_socket_directories": ""},
                "pg_hba": ANYBODY,
            },
        }
        self._configuration(machine).write_text(json.dumps(configuration))

    def _configuration(self, machine: Machine) -> Path:
        return self._folder / f"{machine.name}.yml"


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=1).status_code == 200
    except httpx.TransportError:
        return False


def _is_primary(machine: Machine) -> bool:
    return _answers(f"http://{machine.address}:8008/primary")


def _asked(machine: Machine, what: str) -> dict[str, Any]:
    """What its Patroni says of itself, or of the cluster; nothing where it does not answer."""
    try:
        answer = httpx.get(f"http://{machine.address}:8008/{what}", timeout=1)
    except httpx.TransportError:
        return {}
    found: dict[str, Any] = answer.json()
    return found
