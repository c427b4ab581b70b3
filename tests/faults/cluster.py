"""Three PostgreSQL under Patroni, which promotes another one when the primary is gone."""

import json
import sys
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
ETCD = "--data-dir {folder}/etcd --listen-client-urls {url} --advertise-client-urls {url}"


class Cluster:
    """Runs in a `with`, with a machine for each PostgreSQL and one for etcd."""

    def __init__(self, *, synchronous: bool) -> None:
        self._network = Network(("etcd", "db1", "db2", "db3"))
        self._folder = self._network.folder
        self.etcd, *self.databases = self._network.machines
        self._waits = synchronous
        self._settings = {**SETTINGS, **(SYNCHRONOUS if synchronous else {})}

    def __enter__(self) -> Self:
        self._etcd = packages.program("etcd", "etcd-server")
        self._network.__enter__()
        self.start_etcd()
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

    def start_etcd(self) -> None:
        """Starts what holds the lock of the leader, or starts it again."""
        url = f"http://{self.etcd.address}:2379"
        self.etcd.start([self._etcd, *ETCD.format(folder=self._folder, url=url).split()])
        wait_until(lambda: _answers(f"{url}/health"), lambda: self.etcd.log)

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
            "etcd3": {"host": f"{self.etcd.address}:2379"},
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
