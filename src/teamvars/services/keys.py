"""The keys of the keyring and those that they wrap: which there are, and what still needs each."""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial

import msgspec

from teamvars.domain.audit import Stream
from teamvars.security.keyring import Keyring
from teamvars.services.house import House, UseCases
from teamvars.services.trust import Trust
from teamvars.storage import keys, runners
from teamvars.storage.database import Transaction

DATA = "data"
"""The purpose of what master keys wrap: each generation is a key of each organization."""
DATA_KEYS = "data keys"

Needed = Mapping[str, int]
"""How many still need a key, by what they are in words."""


class Key(msgspec.Struct, frozen=True):
    """A key without its secret. `wraps`: how many data keys."""

    purpose: str
    id: str
    is_active: bool
    is_closed: bool
    needed: Needed

    @property
    def wraps(self) -> int:
        """How many data keys it wraps."""
        return self.needed.get(DATA_KEYS, 0)


class Keys(UseCases):
    """What an operator does with keys."""

    def __init__(self, house: House, trust: Trust, keyring: Keyring) -> None:
        super().__init__(house)
        self._trust = trust
        self._keyring = keyring

    async def status(self) -> list[Key]:
        """All keys, by purpose, in the order in which they were added."""
        needed = await self._needed()
        ours = [
            Key(purpose, id_, id_ == its.active, id_ in its.closed, needed[id_])
            for purpose, its in self._keyring.key_sets.items()
            for id_ in its.keys
        ]
        generations = await self._database.read(keys.generations)
        newest = max(generations, default=0)
        return ours + [
            Key(DATA, f"data-{number}", number == newest, False, {"organizations": count})
            for number, count in generations.items()
        ]

    async def _needed(self) -> Mapping[str, Needed]:
        """What needs each key, by its id."""
        needed: defaultdict[str, dict[str, int]] = defaultdict(dict)
        rows = await self._database.read(self._rows)
        for what, counted in {**rows, "heads of streams": await self._heads()}.items():
            for key_id, count in counted.items():
                needed[key_id][what] = count
        return needed

    async def _rows(self, tx: Transaction) -> dict[str, Mapping[str, int]]:
        now = self._clock()
        approved = [one for one in await runners.every(tx) if self._trust.was_approved(one)]
        return {
            DATA_KEYS: await keys.wrapped_data_keys(tx),
            "kept answers": await keys.kept_answers(tx, now),
            "approvals": Counter(one.approval.key_id for one in approved if one.approval),
            "tokens of jobs": await keys.tokens_of_jobs(tx, now),
        }

    async def _heads(self) -> Mapping[str, int]:
        """How many heads there are under each audit key that is not closed."""
        signer = self._tools.chain.signer
        signers = [signer(stream) async for page in self._streams() for stream in page]
        return Counter(key_id for key_id in signers if key_id is not None)

    async def _streams(self) -> AsyncIterator[Sequence[Stream]]:
        """All streams, page by page."""
        after = ""
        while page := await self._database.read(partial(keys.page_of_streams, after=after)):
            yield page
            after = page[-1].id
