"""The data keys of all organizations, generation by generation: adding one, taking it into use, and
retiring one that nothing needs any more.
"""

from collections.abc import Callable
from functools import partial

from teamvars.decisions import generations as decisions
from teamvars.domain.access import Caller, WrappedKey
from teamvars.domain.keys import Generation, KeyRefused, active_of
from teamvars.pace import Pace
from teamvars.security.sealing import SealBroken
from teamvars.services.house import House, UseCases, afterwards, makes
from teamvars.storage import data_keys, keys
from teamvars.storage.database import Database

Step = Callable[[WrappedKey, int], WrappedKey]


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

    async def generations(self) -> tuple[Generation, list[Generation]]:
        """The generation in use, and all that were not retired."""
        found = await self._database.read(data_keys.generations)
        return active_of(found), [one for one in found if one.retired_at is None]

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
