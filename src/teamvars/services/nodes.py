"""A process that serves: it says so, with the keys that it has, follows the keyring's file, and
counts what there is in the store that no request asks for.
"""

import asyncio
import os
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from teamvars.domain.errors import Refusal
from teamvars.domain.ids import new_id
from teamvars.domain.keys import Node, active_of
from teamvars.domain.times import LATEST
from teamvars.metrics import Gauge
from teamvars.security.keyring import Keyring, KeyringError, KeyringUnavailable, KeysInUse
from teamvars.services.house import House, UseCases
from teamvars.services.installation import Installation
from teamvars.storage import data_keys, invitations, keys, memos, runners, tokens
from teamvars.storage.database import Body, Database, NotReady, T, Transaction

LOOK_SECONDS = 2.0
"""How often a node looks whether the file is another."""
SAY_SECONDS = 20.0
"""How often it says that it serves, if nothing has changed."""

log = structlog.get_logger("teamvars.nodes")

Stamp = tuple[int, int, int]

WAITING = Gauge("teamvars_messages_waiting", "Messages that wait to be sent.")
OVERDUE = Gauge(
    "teamvars_messages_overdue_seconds",
    "For how long the message has been due that is to be tried first.",
)
ENDLESS = Gauge(
    "teamvars_endless_tokens",
    f"Tokens that never end; {tokens.MOST_COUNTED} are that many or more.",
)
KEY_USES = Gauge(
    "teamvars_key_uses", "What needs each key, by the key's id and what it is.", ("key", "what")
)
COUNTED = Gauge(
    "teamvars_key_uses_counted_timestamp_seconds",
    "When that had last been counted from end to end, in seconds since 1970.",
)
SEALS = Gauge(
    "teamvars_data_key_seals",
    "Entries of the organization that has most since the generation of data keys in use came to be "
    "so: each value that was sealed has left one.",
)

QUEUES = (invitations.QUEUE, runners.NOTICES, memos.QUEUE)
"""Those of messages."""

_PAUSE = 200
"""How many times as long as a page took is waited for the next one: whoever counts leaves 99.5 % of
the time to others, however much there is to count.
"""
_LONGEST_PAUSE = 60.0
"""In seconds: a page that waited for the store took none of its time."""

Count = Callable[..., Coroutine[Any, Any, tuple[Mapping[str, int], Any]]]
"""Counts what needs each key among the rows of the page that comes `after` one, and says which was
its last; None: there are no more.
"""


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
        self._heed_signal()
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

    def _heed_signal(self) -> None:
        if sys.platform != "win32":
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._woken.set)


def _stamp(path: Path) -> Stamp | None:
    """What is another once the file is; None: it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


class Gauges(UseCases):
    """Says how much there is, as of the last time it was counted."""

    def __init__(self, house: House) -> None:
        super().__init__(house)
        self._told: set[tuple[str, str]] = set()

    async def count(self) -> None:
        """Counts what takes no time."""
        queues = [await self._database.read(queue.waiting) for queue in QUEUES]
        due_at = min((due_at for _, due_at in queues if due_at is not None), default=LATEST)
        WAITING.set(sum(number for number, _ in queues))
        OVERDUE.set(max(0, self._clock() - due_at) / 1_000_000)
        ENDLESS.set(await self._database.read(tokens.count_endless))

    async def count_key_uses(self) -> None:
        """Counts what needs each key, page by page, and tells it when that is done. Nothing that is
        left of what there was is told as 0.
        """
        found: Counter[tuple[str, str]] = Counter()
        uses = {**keys.USES, **data_keys.USES}
        for what, use in uses.items():
            page = partial(keys.page_of_uses, use=use, now=self._clock())
            found.update(await self._counted(what, page, use.first))
        found.update(await self._counted(keys.HEADS, self._heads, ""))
        self._told |= found.keys()
        for labels in self._told:
            KEY_USES.set(found[labels], *labels)
        COUNTED.set(time.time())

    async def _counted(
        self, what: str, count: Count, first: str | bytes
    ) -> Counter[tuple[str, str]]:
        """All pages together, by key and what it is."""
        found: Counter[tuple[str, str]] = Counter()
        after: Any = first
        while after is not None:
            counted, after = await self._paced(partial(count, after=after))
            found.update({(key, what): number for key, number in counted.items()})
        return found

    async def count_seals(self) -> None:
        """Counts what each data key may have sealed, page by page, and tells the most of all."""
        since = active_of(await self._database.read(data_keys.generations)).activated_at or 0
        most = of_one = 0
        after: data_keys.Entry | None = data_keys.FIRST
        while after is not None:
            page = partial(data_keys.page_of_entries, after=after, since=since)
            count, after = await self._paced(page)
            of_one = of_one + count if count else 0
            most = max(most, of_one)
        SEALS.set(most)

    async def _paced(self, page: Body[T]) -> T:
        """A page, and the pause after it."""
        begun = time.monotonic()
        read = await self._database.read(page)
        await asyncio.sleep(min(_PAUSE * (time.monotonic() - begun), _LONGEST_PAUSE))
        return read

    async def _heads(self, tx: Transaction, after: str) -> tuple[Mapping[str, int], str | None]:
        """How many heads there are under each audit key, as `keys.page_of_uses`."""
        page = await keys.page_of_streams(tx, after)
        signers = map(self._tools.chain.signer, page)
        return Counter(filter(None, signers)), page[-1].id if page else None
