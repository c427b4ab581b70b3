"""Apply: the variables of a workspace become what a request says."""

from teamvars.changes.runner import Runner
from teamvars.changes.waves import Known
from teamvars.domain.access import Caller, Permission, WorkspaceAccess
from teamvars.domain.applies import ApplyDraft
from teamvars.domain.preconditions import Versions
from teamvars.pace import Pace
from teamvars.services.admission import admit_writer
from teamvars.services.applies.lookups import is_unchanged
from teamvars.services.applies.making import make
from teamvars.services.applies.planning import Planner, Tools
from teamvars.services.applies.plans import Applied, Plan
from teamvars.services.applies.recording import Recorder
from teamvars.storage import access
from teamvars.storage.database import Database, Transaction


class Applies:
    """What callers make of a workspace. Refuses unauthenticated, not found, forbidden."""

    def __init__(self, database: Database, tools: Tools, runner: Runner) -> None:
        self._database = database
        self._tools = tools
        self._runner = runner

    async def admit(self, caller: Caller, workspace_id: str) -> None:
        """Refuses callers who may not change the workspace's variables."""
        await admit_writer(self._database, caller, self._tools.clock(), workspace_id)

    async def apply(
        self, caller: Caller, workspace_id: str, draft: ApplyDraft, versions: Versions
    ) -> Applied:
        """Creates, updates and, with `prune`, deletes variables, all or none.

        Refuses: a list or variables at other versions than those wanted, every fault of the draft
        and its items, code that does not parse, is too complex or too much, a full workspace, busy,
        too many requests.
        """

        async def attempt(known: Known) -> Applied:
            request = _Request(self._tools, (caller, workspace_id), draft, versions, known)
            return await make(self._database, request, workspace_id, dry_run=draft.dry_run)

        return await self._runner.with_verdicts(caller, attempt)


class _Request:
    """One apply: planned without a lock, and carried out under one."""

    def __init__(
        self,
        tools: Tools,
        place: tuple[Caller, str],
        draft: ApplyDraft,
        versions: Versions,
        known: Known,
    ) -> None:
        """`place`: the caller, and the id of the workspace."""
        self._tools = tools
        self._caller, self._workspace_id = place
        self._draft = draft
        self._versions = versions
        self._known = known
        self._seen: tuple[WorkspaceAccess, Plan] | None = None

    async def look(self, tx: Transaction) -> None:
        """Makes the plan. Raises Moved, Needs."""
        granted = await self._access(tx, self._tools.clock(), lock=False)
        self._seen = granted, await self._plan(tx, granted, Pace())

    def tried(self) -> Applied:
        """What the plan would come to."""
        assert self._seen is not None
        granted, plan = self._seen
        version = self._tools.chain.version_of(granted.stream)
        return Applied.of(plan, granted.workspace, version, dry_run=True)

    async def carry_out(self, tx: Transaction) -> Applied:
        """Carries the plan out, or another one if the workspace has changed. Raises Needs."""
        now = self._tools.clock()
        granted = await self._access(tx, now, lock=True)
        if self._seen is not None and is_unchanged(self._seen[0], granted):
            plan = self._seen[1]
        else:
            plan = await self._plan(tx, granted, Pace.while_locked())
        recorder = Recorder(tx, self._tools, self._caller, now, granted.stream)
        after = await recorder.carry_out(plan, granted.stream.id)
        return Applied.of(plan, granted.workspace, self._tools.chain.version_of(after))

    async def _access(self, tx: Transaction, now: int, *, lock: bool) -> WorkspaceAccess:
        granted = await access.workspace(tx, self._caller, now, self._workspace_id, lock=lock)
        granted.require(Permission.WRITE_VARIABLES)
        self._versions.require(self._tools.chain.version_of(granted.stream))
        return granted

    async def _plan(self, tx: Transaction, granted: WorkspaceAccess, pace: Pace) -> Plan:
        planner = Planner(granted, self._tools, self._known, pace)
        planner.faults.add(*self._draft.faults)
        await planner.read(tx)
        planner.require_versions(self._draft.items)
        await planner.put(tx, self._draft.items, self._tools.clock())
        if self._draft.prune:
            planner.prune()
        return planner.plan()
