"""The installation itself: its schema, and whether the keyring is the one its data needs."""

import asyncio
import hmac
from collections.abc import Mapping

import structlog

from teamvars.domain.audit import NO_ORGANIZATION, SYSTEM_STREAM
from teamvars.security.chain import Chain
from teamvars.security.keyring import Keyring
from teamvars.services import Clock
from teamvars.storage import keyring_keys, migrations, streams
from teamvars.storage.database import Database, Transaction
from teamvars.storage.migrations import Migration, SchemaMismatch

REMEMBERED_SECONDS = 1.0
"""For how long a readiness result is cached."""

log = structlog.get_logger("teamvars.installation")


class NotReady(Exception):
    """The store cannot be served as it is; the text says which command mends it."""


class Installation:
    """What an operator does to a store as a whole, and what `serve` asks before it starts."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def pending(self) -> list[Migration]:
        """The migrations that are missing. Raises NotReady for a newer or altered schema."""
        try:
            return migrations.check(await self._database.read(migrations.applied))
        except SchemaMismatch as error:
            raise NotReady(str(error)) from None

    async def migrate(self) -> list[Migration]:
        """Applies what is missing and returns it; one node at a time. Raises NotReady."""
        try:
            return await self._database.migrate(migrations.apply_pending)
        except SchemaMismatch as error:
            raise NotReady(str(error)) from None

    async def is_initialised(self) -> bool:
        """Whether the store knows a keyring, so that a new one must never be made for it."""
        if not await self._database.read(migrations.applied):
            return False
        return bool(await self._database.read(keyring_keys.find_all))

    async def initialise(self, keyring: Keyring) -> bool:
        """Notes the keyring in a store that has none and begins its history; False: was done.

        Raises NotReady when the store has another one.
        """

        async def body(tx: Transaction) -> bool:
            noted = await keyring_keys.find_all(tx)
            if noted:
                _require_fit(noted, keyring)
                return False
            await keyring_keys.insert_all(tx, keyring.checks(), self._clock())
            await streams.insert(tx, Chain(keyring).open(SYSTEM_STREAM, NO_ORGANIZATION))
            return True

        return await self._database.migrate(body)

    async def require_ready(self, keyring: Keyring) -> None:
        """Raises NotReady for another schema than this release's, or another keyring."""
        if await self.pending():
            raise NotReady("The database lacks migrations. Run: teamvars migrate up")
        noted = await self._database.read(keyring_keys.find_all)
        if not noted:
            raise NotReady("The database knows no keyring yet. Run: teamvars init")
        _require_fit(noted, keyring)

    async def key_uses(self) -> dict[str, int]:
        """How many data keys each master key wraps."""
        return await self._database.read(keyring_keys.uses)


class Readiness:
    """Whether the installation can be served.

    Single-flight, and the result is cached for `REMEMBERED_SECONDS`: however many ask, the store
    sees at most one check a second.

    Why it cannot be served is logged once for each reason, and when it can be again.
    """

    def __init__(self, installation: Installation, keyring: Keyring) -> None:
        self._installation = installation
        self._keyring = keyring
        self._asking: asyncio.Task[None] | None = None
        self._answered_at = 0.0
        self._logged: str | None = None

    async def require(self) -> None:
        """Raises what `Installation.require_ready` raised, a second ago at most."""
        if self._asking is None or self._is_old(self._asking):
            self._asking = asyncio.ensure_future(self._ask())
            self._asking.add_done_callback(_retrieve)
        # Cancelling one caller must not cancel the check that others wait for.
        await asyncio.shield(self._asking)

    def _is_old(self, asking: "asyncio.Task[None]") -> bool:
        now = asyncio.get_running_loop().time()
        return asking.done() and now - self._answered_at > REMEMBERED_SECONDS

    async def _ask(self) -> None:
        try:
            await self._installation.require_ready(self._keyring)
            self._note(None)
        except NotReady as error:
            self._note(str(error))
            raise
        finally:
            self._answered_at = asyncio.get_running_loop().time()

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


def _require_fit(noted: Mapping[str, tuple[str, bytes]], keyring: Keyring) -> None:
    """Refuses a keyring that lacks a key the data needs, or holds another under its id."""
    held = keyring.checks()
    for key_id, (purpose, check) in noted.items():
        if key_id not in held or not hmac.compare_digest(held[key_id][1], check):
            raise NotReady(
                f"The keyring is not this database's: it lacks the {purpose} key {key_id}. "
                "Point TEAMVARS_KEYRING at the right file; nothing was touched."
            )
