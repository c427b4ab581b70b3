"""Apply and copy: the variables of a workspace or a set become what a request says, or variables of
another of its organization, all or none.

Sensitive values that are copied are opened and sealed anew in here, and shown to nobody.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from teamvars.changes.making import Storing
from teamvars.changes.waves import Known
from teamvars.decisions import Decision, Found, Note, variable_sets
from teamvars.decisions.variables import GiveNameUp, Put, ToOwner, ToSet, ToWorkspace, Verb
from teamvars.domain.access import Caller, Level, Permission, VariablesAccess
from teamvars.domain.applies import (
    ApplyDraft,
    CopyDraft,
    ItemDraft,
    Name,
    OnConflict,
    Original,
    Outcome,
)
from teamvars.domain.audit import CheckedStream
from teamvars.domain.errors import (
    BUSY,
    COPIED_BY_OWNERS,
    IN_TARGET,
    KEY_TAKEN_IN_SET,
    NO_SUCH_SOURCE,
    NOT_IN_SOURCE,
    SOURCE_IS_TARGET,
    Faults,
    Kind,
    Refusal,
    refuse_all,
)
from teamvars.domain.ids import prefix_of
from teamvars.domain.variable_sets import PREFIX
from teamvars.domain.variables import (
    StoredVariable,
    Variable,
    VariableDraft,
    Versions,
    damaged_value,
)
from teamvars.pace import Pace
from teamvars.services.house import House, UseCases, access_to, admit_writer, foretold
from teamvars.services.planning import (
    Applied,
    Moved,
    Plan,
    Planner,
    Step,
    by_name,
    in_batches,
    is_unchanged,
    opened,
)
from teamvars.storage import streams
from teamvars.storage.database import Transaction

_MAX_LOOKS = 3
"""Each further look means that somebody has changed the owner during the one before."""
_VERBS: Mapping[Outcome, Verb] = {
    Outcome.DELETED: "delete",
    Outcome.UPDATED: "update",
    Outcome.CREATED: "create",
}
_IN_ORDER: Sequence[Verb] = ("delete", "rename", "update", "create")
"""In which they are written, which gives up keys before it takes them."""

Places = Sequence[VariablesAccess[Any]]
"""The access to what changes, and to what is copied from."""

Asked = TypeVar("Asked")

_KEYS = "/data/attributes/keys"


class Request(Generic[Asked]):
    """One apply or copy: planned without a lock, and carried out under one."""

    def __init__(self, house: House, caller: Caller, to: ToOwner, asked: Asked) -> None:
        self._house = house
        self._tools = house.tools
        self._caller = caller
        self._to = to
        self._asked = asked
        self._seen: tuple[Places, Plan] | None = None

    async def make(self, *, dry_run: bool) -> Applied:
        """Makes the change, or says what it would come to.

        What never rests is planned under its lock. Refuses: busy, where a dry run has
        no plan. Raises Needs, of verdicts.
        """
        database = self._house.changes.database
        for _ in range(_MAX_LOOKS):
            with suppress(Moved):
                await database.query(self._look)
                break
        if not dry_run:
            return await database.write_in_turns(self._carry_out, subject=self._to.owner_id)
        if self._seen is None:
            raise Refusal(BUSY)
        (target, *_), plan = self._seen
        version = self._tools.chain.version_of(target.stream)
        applied = Applied.of(plan, target.owner, version, dry_run=True)
        if not isinstance(self._to, ToSet):
            return applied
        see = partial(
            variable_sets.preview_variables,
            set_id=self._to.owner_id,
            alteration=plan.alteration,
            trust=self._house.trust,
        )
        foreseen = await self._house.changes.glance(self._caller, see)
        return replace(applied, effects=await foretold(foreseen))

    async def _places(self, tx: Transaction, now: int, *, lock: bool) -> Places:
        """What the caller may do. Refuses whoever may not do this."""
        raise NotImplementedError

    async def _plan(self, tx: Transaction, places: Places, pace: Pace) -> Plan:
        """The plan. Raises Moved, Needs."""
        raise NotImplementedError

    async def _look(self, tx: Transaction) -> None:
        places = await self._places(tx, self._tools.clock(), lock=False)
        self._seen = places, await self._plan(tx, places, Pace())

    async def _carry_out(self, tx: Transaction) -> Applied:
        """Carries the plan out, or another one if something has changed."""
        places = await self._places(tx, self._tools.clock(), lock=True)
        # Whoever has changed one of these while it was waited for did so before.
        found = Found(self._caller, self._tools.clock())
        if self._seen is not None and all(map(is_unchanged, self._seen[0], places)):
            plan = self._seen[1]
        else:
            plan = await self._plan(tx, places, Pace.while_locked())
        found.streams |= {place.stream.id: place.stream for place in places}
        recorder = _Recorder(Storing(tx, self._tools, found), found, plan)
        target, *sources = places
        after = await recorder.carry_out(target.stream.id)
        for source in sources:
            await recorder.note_copies(source.stream.id, target.owner.id)
        return Applied.of(plan, target.owner, self._tools.chain.version_of(after))


class Applies(UseCases):
    """What callers make of a workspace or a set. Refuses unauthenticated, not found, forbidden."""

    admit = admit_writer

    async def apply(
        self, caller: Caller, to: ToOwner, draft: ApplyDraft, versions: Versions
    ) -> Applied:
        """Creates, updates and, with `prune`, deletes variables, all or none.

        Refuses: a list or variables at other versions than those wanted, every fault of the draft
        and its items, code that does not parse, is too complex or too much, a full workspace or
        set, keys that other sets have which are global like it, busy, too many requests.
        """

        async def attempt(known: Known) -> Applied:
            asked = draft, versions, known
            request = _Apply(self._house, caller, to, asked)
            return await request.make(dry_run=draft.dry_run)

        return await self._house.changes.with_thoughts(caller, attempt)


class _Apply(Request[tuple[ApplyDraft, Versions, Known]]):
    """One apply, with the verdicts that are known."""

    async def _places(self, tx: Transaction, now: int, *, lock: bool) -> Places:
        granted = await access_to(tx, self._caller, now, self._to, lock=lock)
        granted.require(Permission.WRITE_VARIABLES)
        _, versions, _ = self._asked
        versions.require(*self._tools.chain.versions_of(granted.stream))
        return (granted,)

    async def _plan(self, tx: Transaction, places: Places, pace: Pace) -> Plan:
        draft, _, known = self._asked
        planner = Planner(tx, self._house, places[0], known, pace)
        planner.faults.add(*draft.faults)
        await planner.read()
        planner.require_versions(draft.items)
        await planner.put(draft.items)
        if draft.prune:
            planner.prune()
        return planner.plan()


class _Recorder:
    """Carries a plan out, batch by batch, in owners whose streams are locked.

    Other tasks have the event loop at times.
    """

    def __init__(self, storing: Storing, found: Found, plan: Plan) -> None:
        self._storing = storing
        self._found = found
        self._plan = plan

    async def carry_out(self, stream_id: str) -> CheckedStream:
        """Makes the changes in an owner, with an audit entry for each. Returns its stream after
        them. Refuses: trail_altered, and of a set keys that another has since the plan was made.
        """
        for batch in in_batches(self._plan.renamed, lambda _: 0):
            its = [step.stored.variable for step in batch]
            given_up = tuple(GiveNameUp(one.owner_id, one.id) for one in its)
            await self._storing.store(Decision(None, given_up))
        is_of_set = prefix_of(stream_id) == PREFIX
        taken = KEY_TAKEN_IN_SET.at("/data") if is_of_set else None
        for batch in in_batches(self._plan.changes, _written_bytes):
            writes = [
                Put(verb, step.stored)
                for verb in _IN_ORDER
                for step in batch
                if _written(step) == verb
            ]
            notes = [self._note(stream_id, step) for step in batch]
            decision = Decision(None, tuple(writes), tuple(notes), usage=self._plan.usage)
            await self._storing.store(replace(decision, taken=taken))
        return self._storing.place_of(stream_id)

    async def note_copies(self, stream_id: str, target_id: str) -> None:
        """Adds an audit entry about each variable that was copied to the stream of what it is in.
        Refuses: trail_altered.
        """
        for batch in in_batches(self._plan.changes, lambda _: 0):
            copied = [self._plan.originals[step.name].variable for step in batch]
            notes = [
                self._found.note(
                    stream_id, "variable.copy", each.id, {**each.audited(), "to": target_id}
                )
                for each in copied
            ]
            await self._storing.store(Decision(None, notes=tuple(notes)))

    def _note(self, stream_id: str, step: Step) -> Note:
        details: dict[str, object] = {**step.stored.variable.audited()}
        if (original := self._plan.originals.get(step.name)) is not None:
            details["copy-of"] = original.variable.id
        if step.outcome is Outcome.UPDATED:
            details["changed"] = step.changed
        if step.former is not None and "key" in step.changed:
            details["from"] = step.former[0]
        action = f"variable.{_VERBS[step.outcome]}"
        return self._found.note(stream_id, action, step.stored.variable.id, details)


def _written(step: Step) -> Verb:
    """How it is written."""
    return "rename" if step.former is not None else _VERBS[step.outcome]


def _written_bytes(step: Step) -> int:
    """Those of the value that is written with it."""
    return 0 if step.stored.sealed is None else len(step.stored.sealed.content)


class Copies(UseCases):
    """What callers copy from one workspace or set into another."""

    async def copy(self, caller: Caller, to: ToOwner, draft: CopyDraft) -> Applied:
        """Copies variables into a workspace or a set, all or none.

        Refuses: unauthenticated, not found, forbidden, a list at other versions than those wanted,
        every fault of the draft, a source that is the target, does not exist or is not seen,
        variables at other versions than those expected, a variable that the source has not, or that
        is sensitive and the caller no owner, or that is damaged, or that the target has if the
        draft refuses that, a full workspace or set, keys that other sets have which are global like
        it, busy.
        """
        return await _Copy(self._house, caller, to, draft).make(dry_run=draft.dry_run)


class _Copy(Request[CopyDraft]):
    """One copy, carried out under the locks of both."""

    async def _places(self, tx: Transaction, now: int, *, lock: bool) -> Places:
        places = await self._access(tx, now)
        if lock:  # whoever has not the right locks nothing
            await streams.lock_existing(tx, [place.stream.id for place in places])
            places = await self._access(tx, self._tools.clock())
        return places

    async def _access(self, tx: Transaction, now: int) -> Places:
        """What the caller may do in both. A source that is not seen is as one that is not there."""
        target = await access_to(tx, self._caller, now, self._to)
        target.require(Permission.WRITE_VARIABLES)
        self._asked.versions.require(*self._tools.chain.versions_of(target.stream))
        source_id = self._asked.source_id
        if source_id is None:
            refuse_all(self._asked.faults)
        if source_id in (None, self._to.owner_id):
            raise Refusal(*self._asked.faults, SOURCE_IS_TARGET)
        from_ = ToSet(source_id) if self._asked.is_from_set else ToWorkspace(source_id)
        try:
            source = await access_to(tx, self._caller, now, from_)
            source.require(Permission.READ_VARIABLES)
        except Refusal as refusal:
            if refusal.kind is not Kind.NOT_FOUND:
                raise
            raise Refusal(*self._asked.faults, NO_SUCH_SOURCE) from None
        if source.owner.organization_id != target.owner.organization_id:
            raise Refusal(*self._asked.faults, NO_SUCH_SOURCE)
        return target, source

    async def _plan(self, tx: Transaction, places: Places, pace: Pace) -> Plan:
        target, source = places
        planner = Planner(tx, self._house, target, known=None, pace=pace)
        planner.faults.add(*self._asked.faults)
        present = await planner.read()
        originals = await by_name(tx, source, pace)
        self._require_versions(originals, present)
        key = self._tools.sealer.data_key(source.key)
        wanted = self._wanted(
            originals, present, planner.faults, is_owner=source.level >= Level.OWNER
        )
        for batch in in_batches(wanted, lambda pair: pair[0].value_bytes):
            read = [each for each, at in batch if at is not None]
            values = await opened(tx, source, key, read)
            drafts = [
                _unchanged(each.variable) if at is None else _copy_of(each.variable, values, at)
                for each, at in batch
            ]
            items = zip(batch, drafts, strict=True)
            await planner.put(ItemDraft(draft, named_at=at) for (_, at), draft in items)
        return replace(planner.plan(), originals=originals)

    def _require_versions(
        self, originals: Mapping[Name, StoredVariable], present: Mapping[Name, StoredVariable]
    ) -> None:
        """Refuses with every variable that is not as expected, before any other fault."""
        stale = Faults()
        for each in self._asked.originals or ():
            found = originals.get(each.name), present.get(each.name)
            there, here = (stored.variable.version_id if stored else None for stored in found)
            stale.add(*each.staleness(there, here))
        refuse_all(stale.all())

    def _wanted(
        self,
        originals: Mapping[Name, StoredVariable],
        present: Mapping[Name, StoredVariable],
        faults: Faults,
        *,
        is_owner: bool,
    ) -> Iterator[tuple[StoredVariable, str | None]]:
        """The variables of the source that the caller may copy, and where the request asks for
        each, None if the target's stays as it is; adds the faults of all others.
        """
        for each in self._wished(originals):
            if each.name not in originals:
                faults.add(NOT_IN_SOURCE.at(each.at))
                continue
            original = originals[each.name]
            if original.variable.sensitive and not is_owner:
                faults.add(COPIED_BY_OWNERS.filled(key=each.name[0]).at(each.at))
            elif each.name in present and self._asked.on_conflict is OnConflict.REFUSE:
                faults.add(IN_TARGET.filled(key=each.name[0]).at(each.at))
            else:
                is_left = each.name in present and self._asked.on_conflict is not OnConflict.REPLACE
                yield original, None if is_left else each.at

    def _wished(self, names: Iterable[Name]) -> Iterable[Original]:
        """What is asked for, of a source that has these names."""
        if self._asked.originals is not None:
            return self._asked.originals
        return (Original(name, _KEYS) for name in names)


def _unchanged(original: Variable) -> VariableDraft:
    """One that says nothing leaves the variable in the target as it is."""
    return VariableDraft(key=original.key, category=original.category)


def _copy_of(original: Variable, values: Mapping[str, str], at: str) -> VariableDraft:
    """What the target is to have. `at`: where the request has the name of a damaged value."""
    if original.id not in values:
        return replace(_unchanged(original), faults=(damaged_value(original, at),))
    # One that is sensitive there stays so.
    return VariableDraft.like(
        original, value=values[original.id], sensitive=original.sensitive or None
    )
