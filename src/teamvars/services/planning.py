"""Planning: what becomes of each variable of a workspace or a set, worked out before anything is
locked.

The variables are looked up at one head of the owner's stream. Whoever finds it at that head
still, once it is locked, need not look again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self, TypeVar

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from teamvars.changes.waves import Known
from teamvars.decisions import Needs, Verdict
from teamvars.domain.access import VariablesAccess
from teamvars.domain.applies import MAX_CODE_BYTES, ItemDraft, Name, Outcome, Result
from teamvars.domain.errors import (
    IN_OTHER_SET,
    KEY_TAKEN,
    NOT_IN_TARGET,
    REPEATED_ITEM,
    TOO_MUCH_CODE,
    Fault,
    Faults,
    Refusal,
    refuse_all,
)
from teamvars.domain.ids import new_id, new_version_id
from teamvars.domain.set_effects import Alteration, Effects
from teamvars.domain.variable_sets import Owner, VariableSet
from teamvars.domain.variables import (
    UNNOTICED,
    SourceCode,
    StoredVariable,
    Variable,
    VariableDraft,
    damaged_value,
)
from teamvars.domain.workspaces import Usage
from teamvars.kernel import Discreet
from teamvars.kernel.variables import MAX_VALUE_BYTES, Category, value_size
from teamvars.pace import Pace
from teamvars.pace import in_batches as batched
from teamvars.security.sealing import DataKey, SealBroken
from teamvars.services.house import House
from teamvars.storage import streams, variable_sets, variables
from teamvars.storage.database import Transaction

_BATCH_BYTES = 256 * 1024
_ROW_BYTES = 2560
"""What a variable counts beside its value, so that a batch has at most a hundred."""
_READ_BY = "key", "category", "hcl"
"""What a variable is found by, and how its value is read: the value is looked at where these are
others than before.
"""
T = TypeVar("T")


class Moved(Exception):
    """The owner has another head by now than when the lookup began."""


class Step(Discreet, frozen=True, gc=False):
    """What becomes of one variable.

    `stored` is its row afterwards, or the last one of a variable that goes; its `sealed` is None
    where the value stays where it is. `growth` is by how many bytes its value grows, and `former`
    the name of a variable that gets another one.
    """

    outcome: Outcome
    stored: StoredVariable
    changed: Sequence[str] = ()
    growth: int = 0
    former: Name | None = None

    @classmethod
    def deleted(cls, stored: StoredVariable) -> Self:
        """The variable goes."""
        return cls(Outcome.DELETED, stored, growth=-stored.value_bytes)

    @property
    def name(self) -> Name:
        """That of the variable."""
        return self.stored.variable.key, self.stored.variable.category

    def result(self, *, dry_run: bool) -> Result:
        """What is told of it; ids that a dry run would have made are not."""
        variable = self.stored.variable
        has_id = not dry_run or self.outcome is not Outcome.CREATED
        has_version = has_id and (not dry_run or self.outcome is not Outcome.UPDATED)
        return Result(
            self.name,
            self.outcome,
            self.changed,
            variable.id if has_id else None,
            variable.version_id if has_version else None,
        )


class Plan(Discreet, frozen=True):
    """All steps, in the order of the answer, and what the owner holds after them. Of what is to
    go and is not there, there is but a result.

    `originals` are the variables of the source, where something is copied.
    """

    steps: Sequence[Step | Result]
    usage: Usage
    originals: Mapping[Name, StoredVariable] = {}

    @property
    def alteration(self) -> Alteration:
        """What becomes of the variables, as far as runs notice."""
        names = {outcome: set[Name]() for outcome in Outcome}
        for step in self.changes:
            if step.outcome is not Outcome.UPDATED or not UNNOTICED.issuperset(step.changed):
                names[step.outcome].add(step.name)
        made = (Outcome.CREATED, Outcome.DELETED, Outcome.UPDATED)
        return Alteration(*(frozenset(names[outcome]) for outcome in made))

    @property
    def changes(self) -> list[Step]:
        """The steps that change something."""
        steps = (step for step in self.steps if isinstance(step, Step))
        return [step for step in steps if step.outcome is not Outcome.UNCHANGED]

    @property
    def renamed(self) -> list[Step]:
        """The steps that give a variable another name, which may be the former one of another."""
        return [step for step in self.changes if step.former is not None]


class Applied(msgspec.Struct, frozen=True):
    """What an apply or a copy has done, or in a dry run would do, and the list's version then; and
    what a dry run of a set would make of workspaces.
    """

    owner: Owner
    version: str
    results: Sequence[Result]
    dry_run: bool
    effects: Effects | None = None

    @classmethod
    def of(cls, plan: Plan, owner: Owner, version: str, *, dry_run: bool = False) -> Self:
        """What is told of a plan."""
        results = [
            step.result(dry_run=dry_run) if isinstance(step, Step) else step for step in plan.steps
        ]
        return cls(owner, version, results, dry_run)


class Planner:
    """Makes the plan of one request, for a workspace or a set as an access check has found it.

    Faults are collected until `plan`. What takes long lets other tasks have the event loop.
    """

    def __init__(
        self,
        tx: Transaction,
        house: House,
        granted: VariablesAccess[Any],
        known: Known | None,
        pace: Pace,
    ) -> None:
        """`known` are verdicts on code; None: whatever is to be code is known to parse."""
        self.faults = Faults()
        self._tx = tx
        self._pace = pace
        self._granted = granted
        self._key = house.tools.sealer.data_key(granted.key)
        self._quota = house.quotas[type(granted.owner)]
        self._now = house.tools.clock()
        self._known = known
        self._stored: Mapping[Name, StoredVariable] = {}
        self._found: dict[Name | str | None, StoredVariable] = {}
        """The same by name and by id."""
        self._steps: list[Step | Result] = []
        self._subjects: set[Name | str | None] = set()
        self._renamed: list[tuple[ItemDraft, Step]] = []
        self._unparsed: list[Verdict] = []
        self._code_bytes = 0

    async def read(self) -> Mapping[Name, StoredVariable]:
        """What the owner has, without values. Raises Moved."""
        self._stored = await by_name(self._tx, self._granted, self._pace)
        for name, stored in self._stored.items():
            self._found[name] = self._found[stored.variable.id] = stored
        return self._stored

    def require_versions(self, items: Iterable[ItemDraft]) -> None:
        """Refuses with every variable that is not as its item expects, before any other fault."""
        stale = Faults()
        for item in items:
            stored = self._called(item)
            if item.subject is not None:
                stale.add(*item.staleness(stored.variable.version_id if stored else None))
        refuse_all(stale.all())

    async def put(self, items: Iterable[ItemDraft]) -> None:
        """Each variable becomes what its item says, is created so, or goes. Raises Moved."""
        pairs = ((item, self._called(item)) for item in items)
        for batch in in_batches(pairs, _size):
            wanted = [stored for item, stored in batch if stored and _needs_value(item, stored)]
            values = await opened(self._tx, self._granted, self._key, wanted)
            for item, stored in batch:
                self._put(item, stored, values)
            await self._refuse_taken(item for item, stored in batch if stored is None)
            await self._pace.keep()

    async def _refuse_taken(self, items: Iterable[ItemDraft]) -> None:
        """Notes a fault of each new variable of a global set that another such set has."""
        owner = self._granted.owner
        if not isinstance(owner, VariableSet) or not owner.is_global:
            return
        new = {item.name: item for item in items if not item.goes}
        keys = sorted({key for key, _ in new if key is not None})
        taken = await variable_sets.names_in_others(self._tx, owner, keys) if keys else ()
        for name in taken:
            if name in new:
                self.faults.add(IN_OTHER_SET.filled(key=name[0]).at(new[name].subject_at))

    def _called(self, item: ItemDraft) -> StoredVariable | None:
        return self._found.get(item.subject)

    def prune(self) -> None:
        """What no draft has named goes."""
        for name, stored in self._stored.items():
            if name not in self._subjects:
                self._steps.append(Step.deleted(stored))

    def plan(self) -> Plan:
        """The plan. Raises Needs, of verdicts, and refuses with every fault there is."""
        if self._unparsed:
            raise Needs(*self._unparsed)
        outcomes = [step.outcome for step in self._steps]
        before = self._granted.stream.usage
        after = before.plus(
            outcomes.count(Outcome.CREATED) - outcomes.count(Outcome.DELETED),
            sum(step.growth for step in self._steps if isinstance(step, Step)),
        )
        self.faults.add(*self._quota.faults(before, after))
        refuse_all(self.faults.all())
        self._require_names()
        return Plan(self._steps, after)

    def _require_names(self) -> None:
        """Refuses each new name that a variable has once all are renamed."""
        taken = self._stored.keys() - {step.former for _, step in self._renamed}
        for item, step in self._renamed:
            if step.name in taken:
                self.faults.add(KEY_TAKEN.at(f"{item.draft.at}/key"))
            taken.add(step.name)
        refuse_all(self.faults.all())

    def _put(
        self, item: ItemDraft, stored: StoredVariable | None, values: Mapping[str, str]
    ) -> None:
        is_repeated = item.subject in self._subjects
        if is_repeated:
            self.faults.add(REPEATED_ITEM.at(item.subject_at))
        if item.subject is not None:
            self._subjects.add(item.subject)
        try:
            step = self._step(item, stored, values)
        except Refusal as refusal:
            self.faults.add(*refusal.faults)
        else:
            # Room is for one variable of a name.
            if not is_repeated:
                self._steps.append(step)
                if isinstance(step, Step) and step.former is not None:
                    self._renamed.append((item, step))

    def _step(
        self, item: ItemDraft, stored: StoredVariable | None, values: Mapping[str, str]
    ) -> Step | Result:
        """What becomes of the variable. Refuses with the faults of the item."""
        if item.goes:
            refuse_all(item.draft.faults)
            if stored is None:
                return Result(item.name, Outcome.UNCHANGED, (), None, None)  # type: ignore[arg-type]  # without a name it has faults
            return Step.deleted(stored)
        if stored is None and item.variable_id is UNSET:
            return self._created(item.draft)
        if stored is None:
            missing = [] if item.variable_id is None else [NOT_IN_TARGET.at(item.subject_at)]
            raise Refusal(*item.draft.all_faults(missing))
        before = stored.variable.with_value(values.get(stored.variable.id))
        return self._updated(item.draft, stored, before)

    def _created(self, draft: VariableDraft) -> Step:
        ids = new_id("var"), new_version_id()
        broken = self._broken(draft.code(None))
        variable = draft.build(self._granted.owner.id, self._now, ids, broken)
        value = variable.value or ""
        sealed = self._key.seal(value, variable)
        size = value_size(value)
        stored = StoredVariable(variable.with_value(None), sealed, size)
        return Step(Outcome.CREATED, stored, growth=size)

    def _updated(self, draft: VariableDraft, stored: StoredVariable, before: Variable) -> Step:
        """`before` has its value where it is readable and matters. One that is damaged can be
        written over; refuses what would have to seal it anew or to know it.
        """
        same = {name: None for name in _READ_BY if getattr(draft, name) == getattr(before, name)}
        asked = replace(draft, **same)
        is_lost = before.value is None and _takes_value(draft, before)
        damaged = [damaged_value(before, f"{draft.at}/value")] if is_lost else ()
        known = [*self._broken(asked.code(before)), *damaged]
        after = asked.applied_to(before, new_version_id(), known)
        changed = asked.changed(before, after)
        if not changed:
            return Step(Outcome.UNCHANGED, stored)
        sealed, size = None, stored.value_bytes
        if "value" in changed or after.sensitive != before.sensitive:
            assert after.value is not None  # said now, or opened for this
            sealed, size = self._key.seal(after.value, after), value_size(after.value)
        updated = StoredVariable(after.with_value(None), sealed, size)
        former = (before.key, before.category) if asked.renames(before) else None
        return Step(Outcome.UPDATED, updated, changed, size - stored.value_bytes, former)

    def _broken(self, code: SourceCode | None) -> Sequence[Fault]:
        """Why the code is refused, as far as it is known: what is not is noted, to be parsed."""
        if code is None or self._known is None:
            return ()
        self._code_bytes += value_size(code.text)
        if self._code_bytes > MAX_CODE_BYTES:
            return [TOO_MUCH_CODE.filled(most=MAX_CODE_BYTES).at(code.pointer)]
        if len(code.text) > MAX_VALUE_BYTES:  # a fault of its own
            return ()
        verdict = Verdict(code.text)
        if verdict not in self._known:
            self._unparsed.append(verdict)
            return ()
        fault = self._known[verdict]
        return () if fault is None else (replace(fault, pointer=code.pointer),)


def _size(pair: tuple[ItemDraft, StoredVariable | None]) -> int:
    """The bytes of the value that an item says, and of the stored one that it takes."""
    item, stored = pair
    said = len(item.draft.value or "")
    if stored is None or not _needs_value(item, stored):
        return said
    return said + stored.value_bytes


def _needs_value(item: ItemDraft, stored: StoredVariable) -> bool:
    """Whether it takes the stored value to say what the item changes, or to change it.

    A value of another length is another one, and a sensitive one is never compared.
    """
    draft, before = item.draft, stored.variable
    if draft.value is None or before.sensitive:
        return _takes_value(draft, before)
    return not draft.sensitive and value_size(draft.value) == stored.value_bytes


def _takes_value(draft: VariableDraft, before: Variable) -> bool:
    """Whether the stored value has to be sealed anew or parsed, since the draft brings no other."""
    if draft.value is not None or before.sensitive:
        return False
    category = draft.category or before.category
    hcl = before.hcl if draft.hcl is None else draft.hcl
    was_code = before.hcl and before.category is Category.TOOL
    return bool(draft.sensitive) or (hcl and category is Category.TOOL and not was_code)


def is_unchanged(seen: VariablesAccess[Any], now: VariablesAccess[Any]) -> bool:
    """Whether a plan that was made under one access still holds under another."""
    # With the level: a plan may contain what only owners may do, and becoming one moves no head.
    return (seen.stream.head, seen.key, seen.level) == (now.stream.head, now.key, now.level)


async def by_name(
    tx: Transaction, granted: VariablesAccess[Any], pace: Pace
) -> Mapping[Name, StoredVariable]:
    """The variables of an owner by key, then category, without their values. Raises Moved."""
    found: dict[Name, StoredVariable] = {}
    async for page in variables.pages(tx, granted.owner.id, granted.stream.head):
        for stored in page:
            found[stored.variable.key, stored.variable.category] = stored
        await pace.keep()
    if len(found) != granted.stream.usage.variables:
        await _require_unmoved(tx, granted)
    return found


async def opened(
    tx: Transaction, granted: VariablesAccess[Any], key: DataKey, wanted: Sequence[StoredVariable]
) -> Mapping[str, str]:
    """The values of some variables of an owner, by id, but for damaged ones. Raises Moved."""
    if not wanted:
        return {}
    by_id = {each.variable.id: each.variable for each in wanted}
    place = granted.owner.id, granted.stream.head
    sealed = await variables.sealed_values(tx, *place, list(by_id))
    if sealed.keys() != by_id.keys():
        await _require_unmoved(tx, granted)
    values = {}
    for id_, content in sealed.items():
        with suppress(SealBroken):
            values[id_] = key.open(content, by_id[id_])
    return values


async def _require_unmoved(tx: Transaction, granted: VariablesAccess[Any]) -> None:
    """Raises Moved if that is why rows were not found. Else they were lost, or somebody has altered
    their ids, which 'doctor' tells.
    """
    stream = await streams.find(tx, granted.owner.id)
    if stream is None or stream.head != granted.stream.head:
        raise Moved


def in_batches(items: Iterable[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    """The items in batches, each with about as many rows and bytes of values as may be fetched,
    opened or written in one go.
    """
    return batched(items, lambda item: _ROW_BYTES + size(item), _BATCH_BYTES)
