"""Copy: variables of one workspace become variables of another of its organization.

Sensitive values are opened and sealed anew in here, and shown to nobody.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec.structs import replace

from teamvars.domain.access import Caller, Level, Permission, WorkspaceAccess
from teamvars.domain.applies import CopyDraft, ItemDraft, Name, OnConflict, Original
from teamvars.domain.errors import (
    COPIED_BY_OWNERS,
    IN_TARGET,
    NO_SUCH_SOURCE,
    NOT_IN_SOURCE,
    SOURCE_IS_TARGET,
    Faults,
    Kind,
    Refusal,
    refuse_all,
)
from teamvars.domain.variables import StoredVariable, Variable, VariableDraft, damaged_value
from teamvars.kernel.discreet import Discreet
from teamvars.pace import Pace
from teamvars.services.applies.lookups import by_name, in_batches, is_unchanged, opened
from teamvars.services.applies.making import make
from teamvars.services.applies.planning import Planner, Tools
from teamvars.services.applies.plans import Applied, Plan
from teamvars.services.applies.recording import Recorder
from teamvars.storage import access, streams
from teamvars.storage.database import Database, Transaction

_KEYS = "/data/attributes/keys"


class Copies:
    """What callers copy from one workspace into another."""

    def __init__(self, database: Database, tools: Tools) -> None:
        self._database = database
        self._tools = tools

    async def copy(self, caller: Caller, workspace_id: str, draft: CopyDraft) -> Applied:
        """Copies variables into a workspace, all or none.

        Refuses: unauthenticated, not found, forbidden, every fault of the draft, a source that is
        the target, does not exist or is not seen, variables at other versions than those expected,
        a variable that the source has not, or that is sensitive and the caller no owner, or that is
        damaged, or that the target has if the draft refuses that, a full workspace, busy.
        """
        request = _Request(self._tools, caller, workspace_id, draft)
        return await make(self._database, request, workspace_id, dry_run=draft.dry_run)


class _Places(Discreet, frozen=True):
    """The access to both workspaces."""

    target: WorkspaceAccess
    source: WorkspaceAccess

    def are_as(self, now: "_Places") -> bool:
        """Whether a plan that was made under this access still holds under another."""
        return is_unchanged(self.target, now.target) and is_unchanged(self.source, now.source)


class _Planned(Discreet, frozen=True):
    """A plan, the access it was made under, and the variables of the source by their names."""

    places: _Places
    plan: Plan
    originals: Mapping[Name, StoredVariable]


class _Request:
    """One copy: planned without a lock, and carried out under the locks of both workspaces."""

    def __init__(self, tools: Tools, caller: Caller, workspace_id: str, draft: CopyDraft) -> None:
        self._tools = tools
        self._caller = caller
        self._workspace_id = workspace_id
        self._draft = draft
        self._seen: _Planned | None = None

    async def look(self, tx: Transaction) -> None:
        """Makes the plan. Raises Moved."""
        places = await self._access(tx, self._tools.clock())
        self._seen = await self._planned(tx, places, Pace())

    def tried(self) -> Applied:
        """What the plan would come to."""
        assert self._seen is not None
        target = self._seen.places.target
        version = self._tools.chain.version_of(target.stream)
        return Applied.of(self._seen.plan, target.workspace, version, dry_run=True)

    async def carry_out(self, tx: Transaction) -> Applied:
        """Carries the plan out, or another one if one of the workspaces has changed."""
        now = self._tools.clock()
        seen = await self._access(tx, now)  # before anything is locked
        await streams.lock(tx, [seen.target.stream.id, seen.source.stream.id])
        places = await self._access(tx, now)
        planned = self._seen
        if planned is None or not planned.places.are_as(places):
            planned = await self._planned(tx, places, Pace.while_locked())
        return await self._carry_out(tx, planned, places, now)

    async def _carry_out(
        self, tx: Transaction, planned: _Planned, places: _Places, now: int
    ) -> Applied:
        plan, target = planned.plan, places.target

        def original(copy: Variable) -> Variable:
            return planned.originals[copy.key, copy.category].variable

        locked = target.stream, places.source.stream
        recorder = Recorder(tx, self._tools, self._caller, now, *locked)
        after = await recorder.carry_out(
            plan, target.stream.id, lambda copy: {"copy-of": original(copy).id}
        )
        copied = [original(step.stored.variable) for step in plan.changes]
        to = {"to": target.workspace.id}
        await recorder.note(copied, "variable.copy", to, places.source.stream.id)
        return Applied.of(plan, target.workspace, self._tools.chain.version_of(after))

    async def _access(self, tx: Transaction, now: int) -> _Places:
        """What the caller may do in both. A source that is not seen is as one that is not there."""
        target = await access.workspace(tx, self._caller, now, self._workspace_id)
        target.require(Permission.WRITE_VARIABLES)
        if self._draft.source_id is None:
            refuse_all(self._draft.faults)
        if self._draft.source_id in (None, self._workspace_id):
            raise Refusal(*self._draft.faults, SOURCE_IS_TARGET)
        try:
            source = await access.workspace(tx, self._caller, now, self._draft.source_id)
            source.require(Permission.READ_VARIABLES)
        except Refusal as refusal:
            if refusal.kind is not Kind.NOT_FOUND:
                raise
            raise Refusal(*self._draft.faults, NO_SUCH_SOURCE) from None
        if source.workspace.organization_id != target.workspace.organization_id:
            raise Refusal(*self._draft.faults, NO_SUCH_SOURCE)
        return _Places(target, source)

    async def _planned(self, tx: Transaction, places: _Places, pace: Pace) -> _Planned:
        source, now = places.source, self._tools.clock()
        planner = Planner(places.target, self._tools, known=None, pace=pace)
        planner.faults.add(*self._draft.faults)
        present = await planner.read(tx)
        originals = await by_name(tx, source, pace)
        self._require_versions(originals, present)
        key = self._tools.sealer.data_key(source.key)
        wanted = self._wanted(originals, present, planner.faults, is_owner=_is_owner(source))
        for batch in in_batches(wanted, lambda pair: pair[0].value_bytes):
            read = [each for each, _ in batch if not self._is_skipped(each.variable, present)]
            values = await opened(tx, source, key, read)
            drafts = [
                _unchanged(each.variable)
                if self._is_skipped(each.variable, present)
                else _copy_of(each.variable, values, at)
                for each, at in batch
            ]
            await planner.put(tx, map(ItemDraft, drafts), now)
        return _Planned(places, planner.plan(), originals)

    def _require_versions(
        self, originals: Mapping[Name, StoredVariable], present: Mapping[Name, StoredVariable]
    ) -> None:
        """Refuses with every variable that is not as expected, before any other fault."""
        stale = Faults()
        for each in self._draft.originals or ():
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
    ) -> Iterator[tuple[StoredVariable, str]]:
        """The variables of the source that the caller may copy, and where the request asks for
        each; adds the faults of all others.
        """
        for each in self._asked(originals):
            if each.name not in originals:
                faults.add(NOT_IN_SOURCE.at(each.at))
                continue
            original = originals[each.name]
            if original.variable.sensitive and not is_owner:
                faults.add(COPIED_BY_OWNERS.filled(key=each.name[0]).at(each.at))
            elif each.name in present and self._draft.on_conflict is OnConflict.REFUSE:
                faults.add(IN_TARGET.filled(key=each.name[0]).at(each.at))
            else:
                yield original, each.at

    def _asked(self, names: Iterable[Name]) -> Iterable[Original]:
        """What is asked for, of a source that has these names."""
        if self._draft.originals is not None:
            return self._draft.originals
        return (Original(name, _KEYS) for name in names)

    def _is_skipped(self, original: Variable, present: Collection[Name]) -> bool:
        """Whether the variable of that name in the target stays as it is."""
        is_present = (original.key, original.category) in present
        return is_present and self._draft.on_conflict is OnConflict.SKIP


def _unchanged(original: Variable) -> VariableDraft:
    """One that says nothing leaves the variable in the target as it is."""
    return VariableDraft(key=original.key, category=original.category)


def _copy_of(original: Variable, values: Mapping[str, str], at: str) -> VariableDraft:
    """What the target is to have. `at`: where the request has the name of a damaged value."""
    if original.id not in values:
        return replace(_unchanged(original), faults=(damaged_value(original, at),))
    return VariableDraft(
        key=original.key,
        value=values[original.id],
        description=original.description,
        category=original.category,
        hcl=original.hcl,
        sensitive=original.sensitive or None,  # one that is sensitive there stays so
    )


def _is_owner(granted: WorkspaceAccess) -> bool:
    return granted.level >= Level.OWNER
