"""The data keys of all organizations, generation by generation: adding one, taking it into use, and
retiring one that nothing needs any more; and the job that has everything under the keys in use
while nodes serve: it wraps data keys, has heads and approvals signed, and seals values anew.

The job moves no stream and no version, and leaves two entries, one at its start and one at its end.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from teamvars.decisions import generations as decisions
from teamvars.domain.access import Caller, WrappedKey
from teamvars.domain.ids import new_id
from teamvars.domain.keys import KeyRefused, Rewrap, Sealed
from teamvars.pace import Pace
from teamvars.security.sealing import SealBroken
from teamvars.services.house import House, UseCases, afterwards, makes
from teamvars.storage import data_keys, keys, rewraps
from teamvars.storage.database import Database, Taken, Transaction
from teamvars.storage.rewraps import PARTS, Part, SealedRow

Step = Callable[[WrappedKey, int], WrappedKey]

T = TypeVar("T")

HELD_FOR = 5_000_000
"""For how long a job holds its place, in µs, unless it goes on: one that was killed loses it."""
_AT_ONCE = 100
"""Values, so that whoever comes in between waits for some milliseconds."""
_MOST_AT_ONCE = 1000
"""Of a job whose rate somebody says, and no more than those of a tenth of a second."""

REWRAP_GOES_ON = "'teamvars keys rewrap' goes on where this was."


def again(verb: str, key_id: str) -> str:
    """What is told of a change that goes on where it was."""
    return f"A part of this is done. 'teamvars keys {verb} {key_id}' does the rest."


class DataKeys(UseCases):
    """What an operator does with generations of data keys. Raises KeyRefused, and Unfinished.

    Whatever ends a step, the same again goes on there: an organization whose data keys are as they
    should be is left alone.
    """

    _add = makes(decisions.add)
    _activate = makes(decisions.activate)
    _retire = makes(decisions.retire)

    def __init__(self, house: House, store: Database) -> None:
        super().__init__(house)
        self._store = store

    async def add(self, caller: Caller) -> str:
        """A generation more, which is not in use yet; returns its id.

        Every organization has its data key before anybody seals with one, so that no reader meets
        a value whose key it has not been told.
        """
        added = decisions.next_generation(await self._database.read(data_keys.generations))
        self._require_all(await self._each(self._having, added.version))
        await self._add(caller, added.version)
        return added.id

    async def activate(self, caller: Caller, key_id: str) -> None:
        """What is sealed from now on is sealed under that generation, in every organization."""
        found = await self._database.read(data_keys.generations)
        version = decisions.named(found, key_id).version
        self._require_all(await self._each(self._having, version))
        await self._activate(caller, key_id)
        with afterwards(again("activate", key_id)):
            # Whoever has begun before that may make an organization under the former one.
            await self.outlast_writers()
            self._require_all(await self.renew())

    async def retire(self, caller: Caller, key_id: str, *, leaked: bool = False) -> None:
        """No data key of that generation is left. Refuses while it is in use, or anything is sealed
        under it.
        """
        wanted = decisions.retired(await self._database.read(data_keys.generations), key_id)
        # Whoever has begun before another generation was in use has ended after this.
        await self.outlast_writers()
        needed = (await self._database.read(data_keys.needed)).get(wanted.version, {})
        if needed:
            told = ", ".join(f"{what}: {count:,}" for what, count in needed.items())
            raise KeyRefused(
                f"{key_id} is not retired: it is needed ({told}). Run: teamvars keys rewrap"
            )
        with afterwards(again("retire", key_id)):
            self._require_all(await self._each(self._lacking, wanted.version))
            await self._retire(caller, key_id, leaked=leaked)

    async def outlast_writers(self) -> None:
        """Has each process look at its keys before it changes anything more, and waits for every
        transaction that may write and has not seen that: each has read this table first.

        Whoever comes while it waits is kept for that alone: what tells them is on disk before.
        """
        await self._store.migrate(keys.note_change)
        await self._store.migrate(lambda tx: tx.shut_out("schema_migrations"))

    async def renew(self) -> list[str]:
        """Has the data keys of every organization wrapped by the master key in use, with that of
        the generation in use among them, and sealing; returns what did not open.
        """
        active = await self._database.read(data_keys.active_generation)
        return await self._each(self._renewed, active)

    def _having(self, stored: WrappedKey, version: int) -> WrappedKey:
        sealer = self._tools.sealer
        has = version in sealer.generations(stored)
        return stored if has else sealer.with_generation(stored, version)

    def _lacking(self, stored: WrappedKey, version: int) -> WrappedKey:
        sealer = self._tools.sealer
        has = version in sealer.generations(stored)
        return sealer.without_generation(stored, version) if has else stored

    def _renewed(self, stored: WrappedKey, version: int) -> WrappedKey:
        sealer = self._tools.sealer
        wanted = max(version, stored.version)  # a later one may have come into use meanwhile
        if (stored.master_key_id, stored.version) == (sealer.active, wanted):
            return stored
        return sealer.in_use(self._having(stored, wanted), wanted)

    async def _each(self, step: Step, version: int) -> list[str]:
        """Has the data keys of each organization be what the step makes of them, even where others
        change them meanwhile; returns the organizations whose do not open.
        """
        pace = Pace.of_a_job()
        while True:
            changed, broken, after = 0, [], ""
            while page := await self._database.read(partial(data_keys.page, after=after)):
                pairs = []
                for stored in page:
                    try:
                        pairs.append((stored, step(stored, version)))
                    except SealBroken as error:
                        broken.append(str(error))
                others = [(before, made) for before, made in pairs if before != made]
                if others:
                    await self._database.write(partial(data_keys.replace_each, changed=others))
                changed, after = changed + len(others), page[-1].organization_id
                await pace.give_way()
            if not changed:
                return broken

    @staticmethod
    def _require_all(broken: list[str]) -> None:
        if broken:
            raise KeyRefused("\n".join([*broken, "'teamvars doctor' says what to do."]))


class UnderWay(Exception):
    """Another job is at it."""


class Progress(msgspec.Struct, frozen=True):
    """How many values are sealed anew, of how many, counted from the job's beginning."""

    done: int
    all: int


class Outcome(msgspec.Struct, frozen=True):
    """How many values were sealed anew, and what did not open and is as it was, in words."""

    sealed: int
    broken: Sequence[str]


Tell = Callable[[Progress], object]


class Rewraps(UseCases):
    """What an operator has done to everything that is stored under keys."""

    _begin = makes(decisions.begin_rewrap)
    _end = makes(decisions.end_rewrap)

    def __init__(
        self, house: House, keys: DataKeys, sign_anew: Callable[[], Awaitable[None]]
    ) -> None:
        """`sign_anew` has heads and approvals under the audit key in use."""
        super().__init__(house)
        self._keys = keys
        self._sign_anew = sign_anew

    async def run(self, caller: Caller, tell: Tell, *, rate: int | None = None) -> Outcome:
        """Has everything under the keys in use, at so many values a second at most; else with a
        tenth of the time. Another run goes on where one was ended. Raises UnderWay while another is
        at it.
        """
        job = await self._held(caller)
        with afterwards(REWRAP_GOES_ON):
            job, broken = await self._holding(job, self._made_ready())
            job, waiting = await self._holding(job, self._waiting(job.generation))
            run = _Run(self, job, waiting, tell, rate)
            broken += await run.through()
            job = await self._taken(run.job, run.job)
            await self._end(caller, job, len(broken))
        return Outcome(job.done, broken)

    async def _made_ready(self) -> list[str]:
        """Has all but values under the keys in use; returns what did not open, in words."""
        broken = await self._keys.renew()
        await self._sign_anew()
        return broken

    async def _holding(self, job: Rewrap, work: Coroutine[Any, Any, T]) -> tuple[Rewrap, T]:
        """The job, which holds its place meanwhile, and what that comes to. Raises UnderWay."""
        doing = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait({doing}, timeout=HELD_FOR / 3_000_000))[0]:
                job = await self._taken(job, job)
        finally:
            doing.cancel()
        return job, await doing

    async def _held(self, caller: Caller) -> Rewrap:
        """The job that goes on, or a new one, held by this run. Raises UnderWay."""
        found = await self._database.read(rewraps.find)
        if found is not None and (left := found.held_until - self._clock()) > 0:
            await asyncio.sleep(min(left, HELD_FOR) / 1_000_000)
            before, found = found, await self._database.read(rewraps.find)
            if found is not None and found != before:
                raise UnderWay
        generation = await self._database.read(data_keys.active_generation)
        if found is None:
            job = Rewrap(new_id("job"), self._clock() + HELD_FOR, generation)
            try:
                return await self._begin(caller, job)
            except Taken:
                raise UnderWay from None
        job = found if found.generation == generation else Rewrap("", 0, generation)
        return await self._taken(found, replace(job, holder=new_id("job")))

    async def _taken(self, before: Rewrap, job: Rewrap) -> Rewrap:
        job = replace(job, held_until=self._clock() + HELD_FOR)
        if not await self._database.write(partial(rewraps.replace, before=before, job=job)):
            raise UnderWay
        return job

    async def _waiting(self, generation: int) -> int:
        """How many values are under an older generation."""
        needed = await self._database.read(data_keys.needed)
        return sum(
            count
            for version, counted in needed.items()
            for what, count in counted.items()
            if version < generation and what != data_keys.ORGANIZATIONS
        )

    async def page(self, job: Rewrap, most: int) -> tuple[str | None, Sequence[SealedRow]]:
        """What the job seals next; see `rewraps.page`."""
        part, asked = PARTS[job.part], (job.after, job.generation, most)
        return await self._database.read(lambda tx: rewraps.page(tx, part, *asked))

    async def put(
        self, before: Rewrap, job: Rewrap, sealed: Sequence[tuple[SealedRow, Sealed]]
    ) -> Rewrap:
        """Stores what is sealed anew, and how far the job is by that. Raises UnderWay."""
        job = replace(job, held_until=self._clock() + HELD_FOR)

        async def body(tx: Transaction) -> None:
            if not await rewraps.replace(tx, before, job):
                raise UnderWay
            if sealed:
                await rewraps.put(tx, PARTS[before.part], sealed)

        await self._database.write(body)
        return job

    def sealed(self, row: SealedRow) -> Sealed:
        """The same under the key in use. Raises SealBroken."""
        key = self._tools.sealer.data_key(row.key)
        if row.link_hash:
            return key.resealed_secret(row.sealed, row.id, row.link_hash)
        return key.resealed(row.sealed, row.owner_id, row.sensitive, row.id)


class _Run:
    """One run of a job through all parts, again until nothing more is to be sealed."""

    def __init__(
        self, rewrap: Rewraps, job: Rewrap, waiting: int, tell: Tell, rate: int | None
    ) -> None:
        self.job = job
        self._rewrap = rewrap
        self._all = job.done + waiting
        self._tell = tell
        self._rate = rate
        self._most = _AT_ONCE if rate is None else min(max(rate // 10, 1), _MOST_AT_ONCE)
        self._pace = Pace.of_a_job()
        self._begun, self._sealed = time.monotonic(), 0

    async def through(self) -> list[str]:
        """Seals everything; returns what did not open, in words. Raises UnderWay."""
        while True:
            # What was being written when the generation came into use is of the one before, so
            # nothing is to be left in all of the parts.
            is_whole, before = (self.job.part, self.job.after) == (0, ""), self.job.done
            broken: list[str] = []
            while self.job.part < len(PARTS):
                broken += await self._step()
            self.job = await self._rewrap.put(self.job, replace(self.job, part=0, after=""), ())
            if is_whole and self.job.done == before:
                return broken

    async def _step(self) -> list[str]:
        """Seals some rows of a part, or goes on to the next; returns what did not open."""
        job = self.job
        last, rows = await self._rewrap.page(job, self._most)
        sealed, broken = self._sealed_anew(PARTS[job.part], rows)
        if last is None:
            after = replace(job, part=job.part + 1, after="")
        else:
            after = replace(job, after=last, done=job.done + len(sealed))
        self.job = after = await self._rewrap.put(job, after, sealed)
        self._sealed += len(sealed)
        self._tell(Progress(after.done, self._all))
        await self._rest()
        return broken

    def _sealed_anew(
        self, part: Part, rows: Sequence[SealedRow]
    ) -> tuple[list[tuple[SealedRow, Sealed]], list[str]]:
        sealed, broken = [], []
        for row in rows:
            try:
                sealed.append((row, self._rewrap.sealed(row)))
            except SealBroken as error:
                broken.append(f"{part.name}: {error}")
        return sealed, broken

    async def _rest(self) -> None:
        """Leaves the store to others."""
        if self._rate is None:
            await self._pace.give_way()
        else:
            due = self._begun + self._sealed / self._rate
            await asyncio.sleep(max(due - time.monotonic(), 0.0))
