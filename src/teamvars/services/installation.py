"""The installation itself: its schema, which is upgraded while nodes go on serving, and whether the
keyring is the one its data needs.
"""

import asyncio
import hmac
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import msgspec
import structlog

from teamvars.decisions import Found
from teamvars.domain.access import Caller
from teamvars.domain.audit import NO_ORGANIZATION, SYSTEM_STREAM
from teamvars.domain.errors import Refusal
from teamvars.domain.ids import new_id
from teamvars.domain.keys import NotedKey, noted_key
from teamvars.metrics import Counter, Gauge
from teamvars.security.chain import Chain
from teamvars.security.keyring import Keyring, KeysInUse
from teamvars.security.sealing import SealBroken, Sealer
from teamvars.security.server_keys import thumbprint
from teamvars.services.house import afterwards
from teamvars.storage import installation, keys, migrations, streams
from teamvars.storage.database import Database, NotReady, Transaction
from teamvars.storage.engines import schemas
from teamvars.storage.migrations import Migration

CLOCK_APART = 30_000_000
"""How far this host's clock may be from the store's, in µs, before `/readyz` says so."""
REMEMBERED_SECONDS = 1.0
"""For how long a readiness result is cached."""
WATCH_SECONDS = 10.0
"""How often a process that serves looks whether it is ready, if nobody asks."""

_FIRST_ROWS = 500
_FEWEST_ROWS = 50
_MOST_ROWS = 10_000
_PAGE_SECONDS = 0.05
"""How long a page of a backfill should hold what it locks: writers may wait for it."""
_MOST_KEYS = 20
"""How many data keys are looked at for one that opens."""
_AGAIN = "A part of this is done. The same command does the rest."

KNOWN = Gauge("teamvars_migrations_known", "The number of the newest migration of this release.")
BEGUN = Gauge("teamvars_migrations_begun", "The number of the newest migration of the store.")
LACKING = Gauge(
    "teamvars_keys_lacking",
    "Keys that the store knows and the keyring lacks: it needs each once that is activated.",
)

DAMAGED = Counter(
    "teamvars_damaged_data_keys_total",
    "Data keys that were found not to open, each once in a process until it opens.",
)

log = structlog.get_logger("teamvars.installation")


class Filled(msgspec.Struct, frozen=True):
    """How far a backfill has come in this run, in rows."""

    migration: Migration
    rows: int
    all_rows: int


Tell = Callable[[Filled], object]


class Outstanding(msgspec.Struct, frozen=True):
    """The migrations that this release needs and that are missing; those that have begun and not
    ended, without which it can be served; and those that wait until no older node runs.
    """

    missing: list[Migration]
    unfinished: list[Migration]
    contracts: list[Migration]


class Installation:
    """What an operator does to a store as a whole, and what `serve` asks before it starts."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def outstanding(self) -> Outstanding:
        """What of the migrations is still to be done. Raises NotReady for a schema that does not
        admit this node, was altered, or is a part of one.
        """
        there = await self.database.read(schemas.schema)
        KNOWN.set(migrations.number())
        BEGUN.set(max(there, default=0))
        with _not_ready():
            if not there:
                await self.database.read(schemas.require_whole)
            schemas.check(there)
        return Outstanding(
            schemas.missing(there), schemas.unfinished(there), schemas.contracts(there)
        )

    async def migrate(
        self, tell: Tell = lambda _: None, *, contract: bool = False
    ) -> list[Migration]:
        """Does what is missing and returns what it has ended; see `upgrade`. Raises NotReady, and
        Unfinished.
        """
        with _not_ready():
            return await upgrade(self.database, tell, contract=contract)

    async def is_initialised(self) -> bool:
        """Whether the store knows a keyring, so that a new one must never be made for it."""
        return await self.database.read(_is_initialised)

    async def initialise(self, keyring: Keyring, caller: Caller) -> bool:
        """Notes the keyring in a store that has none and begins its history, with the keyring's
        server key; False: was done.

        Raises NotReady when the store has another one, or does not admit this node.
        """

        async def body(tx: Transaction) -> bool:
            with _not_ready():
                schemas.check(await schemas.schema(tx))
            noted = await keys.noted(tx)
            if noted:
                _require_fit(noted, keyring)
            await installation.begin_lineage(tx, new_id("store"))
            if noted:
                return False
            now = self.database.now()
            checks = keyring.checks().items()
            await keys.insert(tx, *(noted_key(id_, *check, now, now) for id_, check in checks))
            chain = Chain(keyring)
            system = chain.open(SYSTEM_STREAM, NO_ORGANIZATION)
            await streams.insert(tx, system)
            if (server := keyring.server) is not None:
                details = {"thumbprint": thumbprint(server)}
                found = Found(caller, self.database.now())
                event = found.event("server-key.create", server.active, details)
                await streams.append(tx, *chain.extend(system, event))
            return True

        return await self.database.migrate(body)

    async def adopt(self, keyring: Keyring) -> None:
        """Notes the keys that the keyring was given after what is restored here was copied. One
        that was retired before stays unknown.
        """

        async def body(tx: Transaction) -> None:
            noted, now = await keys.noted(tx), self.database.now()
            known = noted.keys() | await keys.retired(tx)
            newer = [
                noted_key(id_, *check, now, now if id_ in keyring.active else None)
                for id_, check in keyring.checks().items()
                if noted and id_ not in known
            ]
            await keys.insert(tx, *newer)

        await self.database.migrate(body)  # which asks for no keys

    async def lineage(self) -> str | None:
        """Which store this is; None before it is initialised."""
        return await self.database.read(installation.find_lineage)

    async def require_ready(self, keyring: Keyring) -> None:
        """Raises NotReady where the schema lacks what this release needs or does not admit it, and
        for another keyring.
        """
        if (await self.outstanding()).missing:
            raise NotReady("The database lacks migrations. Run: teamvars migrate up")
        noted = await self.database.read(keys.noted)
        if not noted:
            raise NotReady("The database has no keyring yet. Run: teamvars init")
        usable = {key.id for key in noted.values() if key.retired_at is None}
        LACKING.set(len(usable - keyring.held))
        _require_fit(noted, keyring)

    async def require_data_key(
        self, sealer: Sealer, after: str, tell: Callable[[str, SealBroken | None], object]
    ) -> str:
        """Opens the data key of the organization whose id comes next, from the first again after
        the last, or where it does not open the next that does, and returns that id; `tell` is told
        of each what came of it. Raises NotReady when none of `_MOST_KEYS` opens.
        """
        found = await self.database.read(lambda tx: installation.next_keys(tx, after, _MOST_KEYS))
        for key in found:
            try:
                sealer.generations(key)
            except SealBroken as broken:
                tell(key.organization_id, broken)
            else:
                tell(key.organization_id, None)
                return key.organization_id
        if found:
            raise NotReady(
                "No data key opens. Rows were altered or lost: 'teamvars doctor' names them. "
                "Restore a complete backup."
            )
        return after


READY = Gauge("teamvars_ready", "1 if the service could do its work when that was last checked.")


class Readiness:
    """Whether the installation can be served.

    Each check also opens another organization's data key. One that does not open keeps the values
    of its organization from everybody, whichever node is asked, and nothing else: the log is told,
    and only where none opens the node is not ready.

    Single-flight, and the result is cached for `REMEMBERED_SECONDS`: however many ask, the store
    sees at most one check a second.

    Why it cannot be served is logged once for each reason, and when it can be again.
    """

    def __init__(self, installation: Installation, keys: KeysInUse) -> None:
        self._installation = installation
        self._keys = keys
        self._keyring = keys.keyring
        self._sealer = Sealer(keys.keyring)
        self._opened = ""
        self._damaged: set[str] = set()
        self._asking: asyncio.Task[None] | None = None
        self._answered_at = 0.0
        self._logged: str | None = None

    async def require(self) -> None:
        """Raises what `Installation` raised, a second ago at most."""
        if self._asking is None or self._is_old(self._asking):
            self._asking = asyncio.ensure_future(self._ask())
            self._asking.add_done_callback(_retrieve)
        # Cancelling one caller must not cancel the check that others wait for.
        await asyncio.shield(self._asking)

    @property
    def clock_ahead(self) -> int:
        """How many µs this host's clock is ahead of the store's, or behind it when negative.
        Refuses while the store was never reached.
        """
        return time.time_ns() // 1000 - self._installation.database.now()

    @property
    def clock_is_off(self) -> int:
        """How many seconds this host's clock is ahead of the store's, or behind it when negative;
        0 within `CLOCK_APART`.
        """
        off = self.clock_ahead
        return round(off / 1_000_000) if abs(off) > CLOCK_APART else 0

    @property
    def takes_writes(self) -> bool:
        """Whether there is no outage of writes that is known."""
        return self._installation.database.takes_writes

    def _is_old(self, asking: "asyncio.Task[None]") -> bool:
        now = asyncio.get_running_loop().time()
        return asking.done() and now - self._answered_at > REMEMBERED_SECONDS

    async def _ask(self) -> None:
        is_ready = False
        try:
            if self._keys.refused is not None:
                raise NotReady(self._keys.refused)
            if self._keys.keyring is not self._keyring:
                self._keyring = self._keys.keyring
                self._sealer.take(self._keyring)
            await self._installation.require_ready(self._keyring)
            look = self._installation.require_data_key
            self._opened = await look(self._sealer, self._opened, self._note_key)
            self._note(None)
            is_ready = True
        except NotReady as error:
            self._note(str(error))
            raise
        finally:
            READY.set(is_ready)
            self._answered_at = asyncio.get_running_loop().time()

    async def watch(self) -> None:
        """Checks now and then until it is cancelled, whether or not anybody asks."""
        while True:
            try:
                await self.require()
            except (NotReady, Refusal):
                pass  # of which the log has a line
            except Exception:  # whatever it was, it is looked again
                log.exception("whether the installation can be served is not known")
            await asyncio.sleep(WATCH_SECONDS)

    def _note_key(self, organization_id: str, broken: SealBroken | None) -> None:
        if broken is None:
            self._damaged.discard(organization_id)
        elif organization_id not in self._damaged:
            self._damaged.add(organization_id)
            DAMAGED.add()
            log.error("a data key does not open", reason=str(broken))

    def _note(self, reason: str | None) -> None:
        if reason == self._logged:
            return
        self._logged = reason
        if reason is None:
            log.warning("the installation can be served again")
        else:
            log.warning("the installation cannot be served", reason=reason)


def _retrieve(asking: "asyncio.Task[None]") -> None:
    """Retrieves the exception, which asyncio would log if all callers were cancelled."""
    if not asking.cancelled():
        asking.exception()


@contextmanager
def _not_ready() -> Iterator[None]:
    """Raises NotReady for a schema that does not fit."""
    try:
        yield
    except schemas.SchemaMismatch as error:
        raise NotReady(str(error)) from None


def _require_fit(noted: Mapping[str, NotedKey], keyring: Keyring) -> None:
    """Refuses a keyring that lacks a key the data may need, or holds another under its id, and one
    that would use a key that was retired.
    """
    held = keyring.checks()
    for key in noted.values():
        _, check = held.get(key.id, (key.purpose, b""))
        is_missing = key.id not in held and key.activated_at is not None
        if is_missing or (key.id in held and not hmac.compare_digest(check, key.check_value)):
            raise NotReady(
                f"The keyring is not this database's: it lacks the {key.purpose} key {key.id}. "
                "Point TEAMVARS_KEYRING at the right file; nothing was touched."
            )
    purposes = {key.purpose for key in noted.values()}  # older releases noted no server key
    for key_id in (its.active for name, its in keyring.key_sets.items() if name in purposes):
        if key_id not in noted or noted[key_id].retired_at is not None:
            raise NotReady(
                f"The keyring is an old one: it would use {key_id}, which was retired, or is newer "
                "than the database. Copy the keyring of another node, or, if the database was "
                "restored, take that of its time; nothing was touched."
            )


async def _is_initialised(tx: Transaction) -> bool:
    return bool(await schemas.schema(tx)) and await installation.knows_keys(tx)


async def upgrade(database: Database, tell: Tell, *, contract: bool) -> list[Migration]:
    """Does all that is to be done, and returns the migrations that it ended.

    Whatever ends it, another run goes on where it was; of several at once each does a part. Nodes
    have half of the time between the pages of a backfill. No node serves a store before that knows
    a keyring, and so nothing waits in one. Raises SchemaMismatch, and Unfinished.
    """
    contract = contract or not await database.read(_is_initialised)
    ended: list[Migration] = []
    most, filled, begun = _FIRST_ROWS, None, time.monotonic()
    step = partial(schemas.advance, contract=contract)
    progress = await database.migrate(partial(step, most=most))
    with afterwards(_AGAIN):
        while progress is not None:
            if progress.is_done:
                ended.append(progress.migration)
            if progress.rows:
                took = time.monotonic() - begun
                filled = await _filled(database, progress, filled)
                tell(filled)
                most = _paced(progress.rows, took)
                await asyncio.sleep(took)
            begun = time.monotonic()
            progress = await database.migrate(partial(step, most=most))
    return ended


async def _filled(database: Database, progress: schemas.Progress, before: Filled | None) -> Filled:
    migration, rows = progress.migration, progress.rows
    if before is not None and before.migration == migration:
        return Filled(migration, before.rows + rows, before.all_rows)
    ahead = await database.read(partial(schemas.rows_ahead, migration=migration))
    return Filled(migration, rows, rows + ahead)


def _paced(rows: int, took: float) -> int:
    """How many rows the next page has, by what the last one took."""
    wanted = int(rows * _PAGE_SECONDS / max(took, 0.001))
    return min(max(wanted, _FEWEST_ROWS), _MOST_ROWS)
