"""Machines with addresses of their own on this host, that can be killed, frozen and cut off.

Each is a network namespace of Linux on a bridge that this process reaches: its processes listen
where they would on a machine of theirs. Needs root.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Self

from tests.support.patience import wait_until

OWNER = pwd.getpwnam("nobody")
"""Who runs everything on them: PostgreSQL refuses to be root's."""

# May read what is closed to others, since Python itself may lie in a folder that only root reads.
_READS_ALL = "--inh-caps +dac_read_search --ambient-caps +dac_read_search"
_AS_OWNER = (
    f"setpriv --reuid {OWNER.pw_uid} --regid {OWNER.pw_gid} --clear-groups {_READS_ALL}".split()
)

_MOST = 4
"""Networks of one process whose names and addresses differ."""
_made = count()

# Waits until its standard input ends, as it does when the process at its other end dies, however
# that happens. Then it leaves no process, network or file behind.
_KEEPER = """
cat
folder=$1 bridge=$2; shift 2
for name; do
    ip netns pids "$name" | xargs -r kill -9
    ip netns del "$name"
done
ip link del "$bridge"
rm -rf "$folder"
"""


def can_be_made() -> bool:
    """Whether this process may make networks."""
    return os.geteuid() == 0 and shutil.which("ip") is not None and _may_add_networks()


class Machine:
    """One of a network; what is started on it is the property of `OWNER`."""

    def __init__(self, name: str, address: str, log: Path) -> None:
        """`name` is also that of its end of the network, of which Linux takes 15 letters."""
        self.name = name
        self.address = address
        self._log = log
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, words: Sequence[object]) -> None:
        """Starts a program there."""
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                [*f"ip netns exec {self.name}".split(), *_AS_OWNER, *map(str, words)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd="/",
                start_new_session=True,
            )
        self._started.append(process)

    @property
    def log(self) -> str:
        """What its programs have written."""
        return self._log.read_text(errors="replace")

    def kill(self) -> None:
        """Ends all that runs there at once; the machine can be used again afterwards."""
        wait_until(lambda: not self._signalled(signal.SIGKILL))

    def wait(self) -> None:
        """Returns when all that was started there has ended."""
        for process in self._started:
            process.wait()

    def freeze(self) -> None:
        """From now on nothing there does anything; the network still takes what is sent."""
        seen: set[int] = set()
        # A program that was not stopped yet may have started another.
        while seen != (now := self._signalled(signal.SIGSTOP)):
            seen = now

    def thaw(self) -> None:
        """All goes on where it stood."""
        self._signalled(signal.SIGCONT)

    def cut_off(self) -> None:
        """From now on it hears of nobody, and nobody of it."""
        run("ip", "link", "set", self.name, "down")

    def reconnect(self) -> None:
        """It is in the network again."""
        run("ip", "link", "set", self.name, "up")

    def _signalled(self, number: signal.Signals) -> set[int]:
        """Whom the signal was sent to."""
        for process in self._started:
            process.poll()  # so that those that have ended are gone
        found = {int(pid) for pid in run("ip", "netns", "pids", self.name).split()}
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        return found


class Network:
    """Some machines, and the folder for what is theirs; none of it outlives this process."""

    def __init__(self, names: Sequence[str]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="teamvars-machines-"))
        shutil.chown(self.folder, OWNER.pw_uid, OWNER.pw_gid)
        number = os.getpid() * _MOST + next(_made) % _MOST
        self._bridge = f"tv{number}"
        self._subnet = f"10.{100 + number // 256 % 100}.{number % 256}"
        self.machines = [
            Machine(f"tv{number}-{name}", f"{self._subnet}.{n + 10}", self.folder / f"{name}.log")
            for n, name in enumerate(names)
        ]

    def __enter__(self) -> Self:
        names = [machine.name for machine in self.machines]
        self._keeper = subprocess.Popen(
            ["/bin/sh", "-c", _KEEPER, "keeper", self.folder, self._bridge, *names],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        run("ip", "link", "add", self._bridge, "type", "bridge")
        run("ip", "address", "add", f"{self._subnet}.1/24", "dev", self._bridge)
        run("ip", "link", "set", self._bridge, "up")
        for machine in self.machines:
            self._add(machine)
        return self

    def __exit__(self, *_: object) -> None:
        for machine in self.machines:
            machine.thaw()
        self._keeper.communicate()
        for machine in self.machines:
            machine.wait()

    def _add(self, machine: Machine) -> None:
        name = machine.name
        run("ip", "netns", "add", name)
        run(*f"ip link add {name} type veth peer name eth0 netns {name}".split())
        run("ip", "link", "set", name, "master", self._bridge, "up")
        run("ip", "-n", name, "address", "add", f"{machine.address}/24", "dev", "eth0")
        for inner in ("lo", "eth0"):
            run("ip", "-n", name, "link", "set", inner, "up")


def run(*words: str) -> str:
    """What a command says that must end well."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
    return done.stdout


def _may_add_networks() -> bool:
    probe = ["unshare", "--net", "true"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0
