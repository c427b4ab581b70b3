"""A process that serves: it says so, with the keys that it has, and follows the keyring's file."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import structlog

from teamvars.domain.errors import Refusal
from teamvars.domain.ids import new_id
from teamvars.domain.keys import Node
from teamvars.security.keyring import Keyring, KeyringError, KeyringUnavailable, KeysInUse
from teamvars.services.installation import Installation
from teamvars.storage import keys
from teamvars.storage.database import Database, NotReady

LOOK_SECONDS = 2.0
"""How often a node looks whether the file is another."""
SAY_SECONDS = 20.0
"""How often it says that it serves, if nothing has changed."""

log = structlog.get_logger("teamvars.nodes")

Stamp = tuple[int, int, int]


class Admission:
    """Has the store refuse what this process would change with keys that are too old: it may have
    been away while they were changed, and go on before it looks at the file.
    """

    def __init__(self, database: Database, keyring: Keyring) -> None:
        self._database = database
        self.take(keyring)

    def take(self, keyring: Keyring) -> None:
        """See `keyring.User`."""
        self._database.refuse_also(keys.refusing(keyring.held, keyring.active))


class ServingNode:
    """This process among those that serve the store."""

    def __init__(
        self, installation: Installation, in_use: KeysInUse, path: Path, load: Callable[[], Keyring]
    ) -> None:
        """`load` reads the file at that path. Raises KeyringError."""
        self._installation = installation
        self._database = installation.database
        self._in_use = in_use
        self._path = path
        self._load = load
        self._id = new_id("node")
        self._read: Stamp | None = None
        self._is_waiting = False
        self._said: tuple[Keyring, float] | None = None
        self._woken = asyncio.Event()

    async def follow(self) -> None:
        """Looks at the file every other second, and at once after SIGHUP. What fails is tried again
        at the next look.
        """
        if sys.platform != "win32":
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._woken.set)
        while True:
            try:
                anew = self._woken.is_set()
                self._woken.clear()  # before it looks: who wakes it meanwhile has it look again
                await self.look(anew=anew)
                await self.say()  # which is refused to one that was away until it has looked
            except Refusal:
                pass  # an outage, of which the log has a line already
            except Exception:
                log.exception("the keyring is looked at later")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), LOOK_SECONDS)

    async def look(self, *, anew: bool = False) -> None:
        """Takes the keyring of the file if that is another one than before, or `anew` in any case.

        One that cannot be used is refused, for which `/readyz` is 503 until the file has one that
        can be; this process goes on with the keys that it has. So it does while nobody can unwrap
        the file, which is no refusal: the next look asks again.
        """
        stamp = await asyncio.to_thread(_stamp, self._path)
        if not anew and self._in_use.refused is None and stamp in (None, self._read):
            return
        try:
            keyring = await asyncio.to_thread(self._load)
            await self._installation.require_ready(keyring)
        except KeyringUnavailable as error:
            self._wait(str(error))
            return
        except (KeyringError, NotReady) as error:
            self._refuse(str(error))
        else:
            self._take(keyring)
        self._read, self._is_waiting = stamp, False

    async def say(self) -> None:
        """Says that it serves, and with which keys, if that is news or was said a while ago."""
        keyring, now = self._in_use.keyring, asyncio.get_running_loop().time()
        if (
            self._said is not None
            and self._said[0] is keyring
            and now < self._said[1] + SAY_SECONDS
        ):
            return
        name = f"{socket.gethostname()}, process {os.getpid()}"
        node = Node(self._id, name, keyring.held, keyring.active)
        await self._database.write(partial(keys.see, node=node, now=self._database.now()))
        self._said = keyring, now

    async def leave(self) -> None:
        """Says that it serves no more."""
        await self._database.write(partial(keys.leave, node_id=self._id))

    def _take(self, keyring: Keyring) -> None:
        if keyring != self._in_use.keyring or self._in_use.refused is not None:
            self._in_use.take(keyring)
            log.warning("the keyring of the file is in use", active=sorted(keyring.active))

    def _wait(self, reason: str) -> None:
        if not self._is_waiting:
            log.warning("the keyring of the file waits for what unwraps it", reason=reason)
        self._is_waiting = True

    def _refuse(self, reason: str) -> None:
        if reason != self._in_use.refused:
            log.error("the keyring of the file is refused", reason=reason)
        self._in_use.refuse(reason)


def _stamp(path: Path) -> Stamp | None:
    """What is another once the file is; None: it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size
