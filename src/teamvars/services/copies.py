"""Copy: variables of a workspace or a set become variables of another of its organization.

Sensitive values are opened and sealed anew in here, and shown to nobody.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from teamvars.decisions.variables import ToOwner, ToSet, ToWorkspace
from teamvars.domain.access import Caller, Level, Permission
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
from teamvars.pace import Pace
from teamvars.services.applies import Places, Request
from teamvars.services.house import UseCases, access_to
from teamvars.services.planning import Applied, Plan, Planner, by_name, in_batches, opened
from teamvars.storage import streams
from teamvars.storage.database import Transaction

_KEYS = "/data/attributes/keys"


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
