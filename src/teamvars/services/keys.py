"""The keys of the keyring and those that they wrap: which there are, what still needs each, and
changing them while nodes serve.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TypeVar

import msgspec

from teamvars.decisions import approvals
from teamvars.decisions import keys as decisions
from teamvars.decisions.keys import Proof
from teamvars.domain.access import Caller
from teamvars.domain.audit import Stream
from teamvars.domain.errors import there_is_no
from teamvars.domain.keys import (
    AUDIT,
    DATA,
    SERVER,
    KeyRefused,
    Node,
    NotedKey,
    active_of,
    is_generation,
)
from teamvars.domain.runners import Approval, Runner
from teamvars.pace import Pace
from teamvars.security.keyring import Keyring, KeySet, KeysInUse, check_value, new_key
from teamvars.security.server_keys import thumbprint
from teamvars.services.data_keys import DataKeys, again
from teamvars.services.house import House, UseCases, afterwards, makes
from teamvars.storage import data_keys, keys, runners, streams
from teamvars.storage.database import MissingReference, Transaction
from teamvars.storage.engines import schemas

T = TypeVar("T")

PATIENCE = 6.0
"""For how many seconds nodes are waited for that have not looked at the keyring yet."""
_PAUSE_SECONDS = 0.25

_VOID_IF_LEAKED = (keys.APPROVALS, keys.TOKENS)

Needed = Mapping[str, int]
"""How many still need a key, by what they are in words."""
File = Callable[[Callable[[Keyring], Keyring]], Keyring]
"""Changes the file of the keyring, as `keyring.change`."""


class Key(msgspec.Struct, frozen=True):
    """A key without its secret."""

    purpose: str
    id: str
    is_active: bool
    is_closed: bool
    needed: Needed
    is_lacking: bool = False
    """Whether the store knows it, and the keyring is without it."""

    @property
    def wraps(self) -> int:
        """How many data keys it wraps."""
        return self.needed.get(keys.DATA_KEYS, 0)


def told(needed: Needed) -> str:
    """What needs a key, in words."""
    return ", ".join(f"{what}: {count:,}" for what, count in needed.items())


class Keys(UseCases):
    """What an operator does with keys. Raises KeyRefused, and Unfinished where a part was done."""

    _add = makes(decisions.add)
    _rotate = makes(decisions.rotate)
    _activate = makes(decisions.activate)
    _retire = makes(decisions.retire)
    _revoke = makes(approvals.revoke)

    def __init__(self, house: House, in_use: KeysInUse, data_keys_: DataKeys) -> None:
        super().__init__(house)
        self._data_keys = data_keys_
        self._in_use = in_use

    async def status(self) -> list[Key]:
        """All keys, each kind in the order in which they were added: those of the keyring by
        purpose, those that it lacks, and generations.
        """
        needed = await self._needed()
        ours = [
            Key(purpose, id_, id_ == its.active, id_ in its.closed, needed[id_])
            for purpose, its in self._in_use.keyring.key_sets.items()
            for id_ in its.keys
        ]
        lacking = [
            Key(one.purpose, one.id, False, False, {}, is_lacking=True)
            for one in await self._lacking()
        ]
        return ours + lacking + await self._generations()

    async def _lacking(self) -> list[NotedKey]:
        """The keys that were added and may come into use, and that the keyring is without."""
        noted, held = await self._database.read(keys.noted), self._in_use.keyring.held
        lacking = [one for one in noted.values() if one.is_pending and one.id not in held]
        return sorted(lacking, key=lambda one: one.created_at)

    async def _generations(self) -> list[Key]:
        found = await self._database.read(data_keys.generations)
        needed, active = await self._database.read(data_keys.needed), active_of(found)
        return [
            Key(DATA, one.id, one == active, False, needed.get(one.version, {}))
            for one in found
            if one.retired_at is None
        ]

    async def add(self, caller: Caller, purpose: str, file: File) -> str:
        """A key more, which is not in use yet; returns its id."""
        await self._require_no_older_nodes()
        if purpose == DATA:
            return await self._data_keys.add(caller)
        added = new_key(purpose)
        await self._add(caller, purpose, _proof(purpose, added), self._active(purpose))
        with afterwards(_noted(added.active)):
            file(lambda keyring: keyring.holding(purpose, added))
        return added.active

    async def rotate(self, caller: Caller, file: File) -> tuple[KeySet, KeySet | None, bool]:
        """Another server key, the one in use when the file got it, if there was one, and whether it
        waits to be activated, as it does where nodes serve; else it is in use from now on.
        """
        await self._require_no_older_nodes()
        added, active = new_key(SERVER), self._active(SERVER)
        await self._rotate(caller, thumbprint(added), _proof(SERVER, added), active)
        with afterwards(_noted(added.active)):
            self._in_use.take(file(lambda keyring: keyring.holding(SERVER, added)))
        id_, former = added.active, self._in_use.keyring.key_sets[SERVER]
        with afterwards(f"{id_} was added. To use it: teamvars keys activate {id_}"):
            waits = bool(await self._live())
            if not waits:
                await self.activate(caller, id_, file)
        return added, None if former.active == id_ else former, waits

    async def activate(self, caller: Caller, key_id: str, file: File) -> None:
        """The key is in use from now on, which every node has."""
        await self._require_no_older_nodes()
        if is_generation(key_id):
            await self._data_keys.activate(caller, key_id)
            return
        purpose = self._purpose(key_id)
        its = self._in_use.keyring.key_sets[purpose]
        asked = caller, purpose, key_id, its.active
        await self._patiently(lambda: self._activate(*asked))
        with afterwards(again("activate", key_id)):
            # From here on no process without the key changes anything.
            await self._data_keys.outlast_writers()
            known = await self._database.read(keys.noted)
        decisions.require_newest(known, purpose, key_id)
        with afterwards(again("activate", key_id)):
            changed = file(lambda keyring: _using(keyring, purpose, key_id, its.active))
        active = changed.key_sets[purpose].active
        if active != key_id:
            raise KeyRefused(f"{key_id} is not in use: {active} came into use meanwhile.")

    async def retire(self, caller: Caller, key_id: str, file: File, *, leaked: bool) -> None:
        """The key is used no more, and gone from the keyring unless the trail needs it to verify
        what was signed with it; one that never came into the keyring leaves that as it is. Of a
        `leaked` one also what nobody can tell from forgeries is void.
        """
        await self._require_no_older_nodes()
        if is_generation(key_id):
            await self._data_keys.retire(caller, key_id, leaked=leaked)
            return
        lacking = {one.id: one.purpose for one in await self._lacking()}
        purpose = lacking.get(key_id) or self._purpose(key_id)
        if key_id in self._in_use.keyring.active:
            raise decisions.in_use(key_id)
        await self._patiently(lambda: self._require_unused(key_id))
        # Of these some may have begun while their node still used it.
        await self._data_keys.outlast_writers()
        await self._require_unneeded(key_id, leaked=leaked)
        forged = await self._maybe_forged(key_id) if leaked and purpose == AUDIT else []
        with afterwards(again("retire", key_id)) if forged else nullcontext():
            for runner_id in forged:
                await self._revoke(caller, runner_id)
            try:
                await self._retire(caller, purpose, key_id, leaked=leaked)
            except MissingReference:
                raise KeyRefused(f"{key_id} is not retired: it wraps data keys again.") from None
        with afterwards(again("retire", key_id)):
            await self._data_keys.outlast_writers()  # of a node that came back in between
            if purpose == AUDIT:
                await self.sign_anew()
            if key_id not in lacking:
                # What was signed while a clock was ahead of what it is now was signed before too.
                at = max(self._clock(), await self._database.read(streams.last_time))
                file(lambda keyring: _retired(keyring, purpose, key_id, at))

    async def sign_anew(self) -> None:
        """Has heads and approvals under the audit key in use that are under another: no history is
        written, and no version moves.
        """
        chain, active = self._tools.chain, self._in_use.keyring.audit.active
        pace = Pace.of_a_job()
        async for page in self._streams():
            others = [one for one in page if chain.signer(one) not in (None, active)]
            signed = [(stream, chain.signed_by(active, stream)) for stream in others]
            if signed:
                await self._database.write(partial(keys.sign_heads, signed=signed))
            await pace.give_way()
        until = await self._given_before(active)
        sealed = [
            (runner, self._trust.sealed(runner, approval))
            for runner, approval in await self._approved()
            if approval.key_id != active and approval.approved_at <= until
        ]
        await self._database.write(partial(keys.seal_approvals, sealed=sealed))

    def _purpose(self, key_id: str) -> str:
        purpose = self._in_use.keyring.purpose_of(key_id)
        if purpose is None:
            raise there_is_no(f"key {key_id} in the keyring")
        return purpose

    def _active(self, purpose: str) -> Proof | None:
        its = self._in_use.keyring.key_sets.get(purpose)
        return None if its is None else _proof(purpose, its)

    async def _require_no_older_nodes(self) -> None:
        if schemas.contracts(await self._database.read(schemas.schema)):
            raise KeyRefused(
                "Keys are changed once no node of an older release runs, since these have none of "
                "the new ones. Then run: teamvars migrate up --contract"
            )

    async def _patiently(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """The attempt, made again while nodes may not have looked at the keyring yet."""
        loop = asyncio.get_running_loop()
        gives_up_at = loop.time() + PATIENCE
        while True:
            try:
                return await attempt()
            except KeyRefused:
                if loop.time() >= gives_up_at:
                    raise
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _require_unused(self, key_id: str) -> None:
        """Refuses while a node uses the key: what it would need is counted after that."""
        decisions.require_unused(await self._live(), key_id)

    async def _require_unneeded(self, key_id: str, *, leaked: bool) -> None:
        needed = dict((await self._needed())[key_id])
        for what in _VOID_IF_LEAKED if leaked else ():
            needed.pop(what, None)
        if needed:
            raise KeyRefused(
                f"{key_id} is not retired: it is needed ({told(needed)}). 'teamvars keys rewrap' "
                "has all but kept answers and tokens of jobs under the keys in use; these expire."
            )

    async def _maybe_forged(self, key_id: str) -> list[str]:
        """The runners whose approvals may be forgeries: all from before the key was replaced."""
        until = await self._given_before(self._in_use.keyring.audit.active)
        return [
            runner.id
            for runner, approval in await self._approved()
            if approval.key_id == key_id or approval.approved_at <= until
        ]

    async def _given_before(self, active: str) -> int:
        """Until when nodes may have used another key than the one that is active."""
        noted = (await self._database.read(keys.noted))[active]
        return (noted.activated_at or 0) + keys.SILENT

    async def _approved(self) -> list[tuple[Runner, Approval]]:
        """The runners whose approval was made under a key that is not closed."""
        found = await self._database.read(runners.every)
        return [
            (one, one.approval) for one in found if one.approval and self._trust.was_approved(one)
        ]

    async def _needed(self) -> Mapping[str, Needed]:
        """What needs each key, by its id."""
        needed: defaultdict[str, dict[str, int]] = defaultdict(dict)
        counted: dict[str, Mapping[str, int]] = {
            **await self._database.read(self._rows),
            keys.APPROVALS: Counter(one.key_id for _, one in await self._approved()),
            keys.HEADS: await self._heads(),
            "nodes": Counter(id_ for node in await self._live() for id_ in node.active),
        }
        for what, by_key in counted.items():
            for key_id, count in by_key.items():
                needed[key_id][what] = count
        return needed

    async def _rows(self, tx: Transaction) -> dict[str, Mapping[str, int]]:
        now, whats = self._clock(), (keys.DATA_KEYS, keys.KEPT_ANSWERS, keys.TOKENS)
        return {what: await keys.counted(tx, keys.USES[what], now) for what in whats}

    async def _live(self) -> Sequence[Node]:
        return await self._database.read(partial(keys.live, now=self._clock()))

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


def _proof(purpose: str, its: KeySet) -> Proof:
    """What shows the key in use to be it."""
    return its.active, check_value(purpose, its.active, its.keys[its.active])


def _noted(key_id: str) -> str:
    """What is told where the file does not get a key that the store knows by now."""
    return (
        f"The store knows {key_id} by now. If 'teamvars keys status' lists it as not in this "
        f"keyring, run: teamvars keys retire {key_id}"
    )


def _using(keyring: Keyring, purpose: str, key_id: str, former: str) -> Keyring:
    # One that is neither came into use meanwhile, and may have been activated after this one.
    is_free = keyring.key_sets[purpose].active in (former, key_id)
    return keyring.using(purpose, key_id) if is_free else keyring


def _retired(keyring: Keyring, purpose: str, key_id: str, at: int) -> Keyring:
    if key_id == keyring.key_sets[purpose].active:  # by now
        raise decisions.in_use(key_id)
    if purpose == AUDIT:
        return keyring.closing(purpose, key_id, at)
    return keyring.without(purpose, key_id)
