"""Plans: what becomes of each variable of a workspace, worked out before anything is locked.

A plan is made of the workspace as it is at one head. Whoever finds it at that head still, once it
is locked, need not look at any variable again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Self, TypeVar

import msgspec
from msgspec.structs import replace

from teamvars.domain.access import WorkspaceAccess
from teamvars.domain.applies import MAX_CODE_BYTES, Name, Outcome, Result, repeated, too_much_code
from teamvars.domain.discreet import Discreet
from teamvars.domain.errors import Fault, Faults, Refusal, refuse_all
from teamvars.domain.variables import Category, SourceCode, Variable, VariableDraft, value_size
from teamvars.domain.workspaces import Quota, Usage, Workspace
from teamvars.pace import Pace
from teamvars.security.chain import Chain
from teamvars.security.sealing import DataKey, Sealer
from teamvars.services import Clock, batches
from teamvars.services.syntax import Unparsed, Verdicts
from teamvars.storage import variables
from teamvars.storage.database import Transaction
from teamvars.storage.variables import StoredVariable

_BATCH_BYTES = 256 * 1024
_ROW_BYTES = 2560
"""What a variable counts beside its value, so that a batch has at most a hundred."""
T = TypeVar("T")


class Step(Discreet, frozen=True, gc=False):
    """What becomes of one variable.

    `stored` is its row afterwards, or the last one of a variable that goes; its `sealed` is None
    where the value stays. `growth` is by how many bytes its value grows.
    """

    outcome: Outcome
    stored: StoredVariable
    changed: Sequence[str] = ()
    growth: int = 0

    def result(self, *, dry_run: bool) -> Result:
        """What is told of it; ids that a dry run would have made are not."""
        variable = self.stored.variable
        has_id = not dry_run or self.outcome is not Outcome.CREATED
        has_version = has_id and (not dry_run or self.outcome is not Outcome.UPDATED)
        return Result(
            (variable.key, variable.category),
            self.outcome,
            self.changed,
            variable.id if has_id else None,
            variable.version_id if has_version else None,
        )


class Plan(Discreet, frozen=True):
    """All steps, in the order of the answer, and what the workspace holds after them."""

    steps: Sequence[Step]
    usage: Usage

    @property
    def changes(self) -> list[Step]:
        """The steps that change something."""
        return [step for step in self.steps if step.outcome is not Outcome.UNCHANGED]


class Applied(msgspec.Struct, frozen=True):
    """What an apply or a copy has done, or in a dry run would do, and the head of the workspace."""

    workspace: Workspace
    head: bytes
    results: Sequence[Result]
    dry_run: bool

    @classmethod
    def of(cls, plan: Plan, workspace: Workspace, head: bytes, *, dry_run: bool = False) -> Self:
        """What is told of a plan."""
        results = [step.result(dry_run=dry_run) for step in plan.steps]
        return cls(workspace, head, results, dry_run)


class Moved(Exception):
    """The workspace has another head by now than when the plan was begun."""


class Tools(msgspec.Struct, frozen=True):
    """What plans are made and carried out with."""

    sealer: Sealer
    chain: Chain
    clock: Clock
    quota: Quota


class Planner:
    """Makes the plan of one request, for a workspace as an access check has found it.

    Faults are collected until `plan`. What takes long lets other tasks have the event loop.
    """

    def __init__(
        self, granted: WorkspaceAccess, tools: Tools, verdicts: Verdicts | None, pace: Pace
    ) -> None:
        """`verdicts` on code; None: whatever is to be code is known to parse."""
        self.faults = Faults()
        self._pace = pace
        self._granted = granted
        self._key = tools.sealer.data_key(granted.key)
        self._quota = tools.quota
        self._verdicts = verdicts
        self._stored: Mapping[Name, StoredVariable] = {}
        self._steps: list[Step] = []
        self._named: set[tuple[str | None, Category | None]] = set()
        self._unparsed: list[str] = []
        self._code_bytes = 0

    async def read(self, tx: Transaction) -> Mapping[Name, StoredVariable]:
        """What the workspace has, without values. Raises Moved."""
        self._stored = await by_name(tx, self._granted, self._pace)
        return self._stored

    async def put(self, tx: Transaction, drafts: Iterable[VariableDraft], now: int) -> None:
        """Each variable becomes what its draft says, or is created so. Raises Moved."""
        pairs = ((draft, self._stored.get((draft.key, draft.category))) for draft in drafts)  # type: ignore[arg-type]  # an item without a name is nobody's
        for batch in in_batches(pairs, lambda pair: len(pair[0].value or "") + _to_open(*pair)):
            wanted = [stored for draft, stored in batch if stored and _needs_value(draft, stored)]
            values = await opened(tx, self._granted, self._key, wanted)
            for draft, stored in batch:
                self._put(draft, stored, values, now)
            await self._pace.keep()

    def prune(self) -> None:
        """What no draft has named goes."""
        for name, stored in self._stored.items():
            if name not in self._named:
                self._steps.append(Step(Outcome.DELETED, stored, growth=-stored.value_bytes))

    def plan(self) -> Plan:
        """The plan. Raises Unparsed, and refuses with every fault there is."""
        if self._unparsed:
            raise Unparsed(*self._unparsed)
        outcomes = [step.outcome for step in self._steps]
        before = self._granted.stream.usage
        after = before.plus(
            outcomes.count(Outcome.CREATED) - outcomes.count(Outcome.DELETED),
            sum(step.growth for step in self._steps),
        )
        self.faults.add(*self._quota.faults(before, after))
        refuse_all(self.faults.all())
        return Plan(self._steps, after)

    def _put(
        self,
        draft: VariableDraft,
        stored: StoredVariable | None,
        values: Mapping[str, str],
        now: int,
    ) -> None:
        name = draft.key, draft.category
        is_repeated = name in self._named
        if is_repeated:
            self.faults.add(repeated(draft.at))
        if None not in name:
            self._named.add(name)
        try:
            if stored is None:
                step = self._created(draft, now)
            else:
                before = stored.variable.with_value(values.get(stored.variable.id))
                step = self._updated(draft, stored, before)
        except Refusal as refusal:
            self.faults.add(*refusal.faults)
        else:
            # Room is for one variable of a name.
            if not is_repeated:
                self._steps.append(step)

    def _created(self, draft: VariableDraft, now: int) -> Step:
        variable = draft.build(self._granted.workspace, now, self._broken(draft.code(None)))
        value = variable.value or ""
        sealed = self._key.seal(value, variable)
        size = value_size(value)
        stored = StoredVariable(variable.with_value(None), sealed, size)
        return Step(Outcome.CREATED, stored, growth=size)

    def _updated(self, draft: VariableDraft, stored: StoredVariable, before: Variable) -> Step:
        """`before` has its value where it is readable and matters."""
        hcl = None if draft.hcl == before.hcl else draft.hcl
        asked = replace(draft, key=None, category=None, hcl=hcl)
        after = asked.applied_to(before, self._broken(asked.code(before)))
        changed = asked.changed(before, after)
        if not changed:
            return Step(Outcome.UNCHANGED, stored)
        sealed, size = None, stored.value_bytes
        if "value" in changed or after.sensitive != before.sensitive:
            assert after.value is not None  # said now, or opened for this
            sealed, size = self._key.seal(after.value, after), value_size(after.value)
        updated = StoredVariable(after.with_value(None), sealed, size)
        return Step(Outcome.UPDATED, updated, changed, size - stored.value_bytes)

    def _broken(self, code: SourceCode | None) -> Sequence[Fault]:
        """Why the code is refused, as far as it is known: what is not is noted, to be parsed."""
        if code is None or self._verdicts is None:
            return ()
        self._code_bytes += value_size(code.text)
        if self._code_bytes > MAX_CODE_BYTES:
            return [too_much_code(code.pointer)]
        if self._verdicts.lack(code):
            self._unparsed.append(code.text)
            return ()
        return self._verdicts.faults(code)


def is_unchanged(seen: WorkspaceAccess, now: WorkspaceAccess) -> bool:
    """Whether a plan that was made under one access still holds under another."""
    # With the level: a plan may hold what owners alone may do, and who is one moves no workspace.
    return (seen.stream.head, seen.key, seen.level) == (now.stream.head, now.key, now.level)


async def by_name(
    tx: Transaction, granted: WorkspaceAccess, pace: Pace
) -> Mapping[Name, StoredVariable]:
    """The variables of a workspace by key, then category, without their values. Raises Moved."""
    found: dict[Name, StoredVariable] = {}
    async for page in variables.pages(tx, granted.workspace.id, granted.stream.head):
        for stored in page:
            found[stored.variable.key, stored.variable.category] = stored
        await pace.keep()
    if len(found) != granted.stream.usage.variables:
        raise Moved
    return found


async def opened(
    tx: Transaction, granted: WorkspaceAccess, key: DataKey, wanted: Sequence[StoredVariable]
) -> Mapping[str, str]:
    """The values of some variables of a workspace, by id. Raises Moved."""
    if not wanted:
        return {}
    by_id = {each.variable.id: each.variable for each in wanted}
    place = granted.workspace.id, granted.stream.head
    sealed = await variables.sealed_values(tx, *place, list(by_id))
    if sealed.keys() != by_id.keys():
        raise Moved
    return {id_: key.open(sealed[id_], variable) for id_, variable in by_id.items()}


def in_batches(items: Iterable[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    """The items in batches, each with about as many rows and bytes of values as may be fetched,
    opened or written in one go.
    """
    return batches.in_batches(items, lambda item: _ROW_BYTES + size(item), _BATCH_BYTES)


def _to_open(draft: VariableDraft, stored: StoredVariable | None) -> int:
    """The bytes of the value that the draft is compared with or that is sealed anew."""
    return stored.value_bytes if stored and _needs_value(draft, stored) else 0


def _needs_value(draft: VariableDraft, stored: StoredVariable) -> bool:
    """Whether it takes the stored value to say what the draft changes, or to change it.

    A value of another length is another one, and a sensitive one is never compared.
    """
    before = stored.variable
    if before.sensitive:
        return False
    if draft.value is not None:
        return not draft.sensitive and value_size(draft.value) == stored.value_bytes
    is_code_now = bool(draft.hcl) and not before.hcl and before.category is Category.TOOL
    return bool(draft.sensitive) or is_code_now
