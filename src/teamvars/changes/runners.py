"""Runners and what jobs are handed: how decisions about them are fed and carried out."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from teamvars.changes.looks import LookUps, Tools
from teamvars.decisions import Found, Write
from teamvars.decisions.approvals import Recorded
from teamvars.decisions.deliveries import (
    Handed,
    Holding,
    Issue,
    LastTo,
    NoteDelivery,
    Reaching,
    ReceiptsPage,
    SensitiveIn,
    ToDelivery,
    Use,
    ValuesOf,
    job_of,
)
from teamvars.decisions.host_deliveries import WorkspaceCalled
from teamvars.decisions.runners import (
    AllRunners,
    OrganizationOf,
    RunnersOf,
    RunnersPage,
    RunnerWithId,
)
from teamvars.domain.access import Place
from teamvars.domain.audit import AuditEntry
from teamvars.domain.errors import TRAIL_ALTERED, Refusal, not_found
from teamvars.domain.runners import Runner
from teamvars.domain.variables import StoredVariable
from teamvars.domain.workspaces import Workspace
from teamvars.storage import organizations, runners, streams, variables, workspaces
from teamvars.storage.database import Statement, Transaction


async def _reaching(
    tx: Transaction, _: Tools, __: Found, need: Reaching
) -> tuple[Workspace, Sequence[Runner]] | None:
    return await runners.reaching(tx, need.workspace_id)


async def _to_delivery(tx: Transaction, _: Tools, found: Found, need: ToDelivery) -> Handed | None:
    return await _handed(tx, found, need.workspace_id, lock=True)


async def _holding(tx: Transaction, _: Tools, found: Found, need: Holding) -> Handed | None:
    return await _handed(tx, found, need.workspace_id, lock=False)


async def _handed(tx: Transaction, found: Found, workspace_id: str, *, lock: bool) -> Handed | None:
    caller = found.caller
    row = await runners.find_handed(tx, caller.token_hash, found.now, workspace_id, lock=lock)
    if row is None:
        return None
    token, runner, workspace, key, stream = row
    if lock:
        found.streams[stream.id] = stream
    caller.actor = job_of(token)
    caller.place = Place(
        workspace.organization_id, workspace.organization_name, workspace.id, workspace.name
    )
    return Handed(token, runner, workspace, key)


async def _values(
    tx: Transaction, _: Tools, __: Found, need: ValuesOf
) -> tuple[bytes, Sequence[StoredVariable]]:
    return await variables.sealed_of_workspace(tx, need.workspace_id)


async def _called(tx: Transaction, _: Tools, __: Found, need: WorkspaceCalled) -> Workspace:
    found = await workspaces.find_named(tx, need.organization, need.name)
    if found is None:
        raise not_found(f"There is no workspace {need.organization}/{need.name}.")
    return found


async def _name(tx: Transaction, _: Tools, __: Found, need: OrganizationOf) -> str:
    return (await organizations.get(tx, need.organization_id)).name


async def _recorded(tx: Transaction, tools: Tools, _: Found, need: Recorded) -> AuditEntry | None:
    entry = await streams.newest_about(tx, *msgspec.structs.astuple(need))
    if entry is not None and (entry.faulty() or not tools.chain.holds(entry)):
        raise Refusal(TRAIL_ALTERED.filled({"stream": need.stream_id}))
    return entry


LOOK_UPS: LookUps = {
    Recorded: _recorded,
    RunnerWithId: lambda tx, _, __, n: runners.get(tx, n.runner_id),
    RunnersOf: lambda tx, _, __, n: runners.of_organization(tx, n.organization_id),
    RunnersPage: lambda tx, _, __, n: runners.page_of_organization(tx, n.organization_id, n.page),
    AllRunners: lambda tx, _, __, ___: runners.every(tx),
    OrganizationOf: _name,
    Reaching: _reaching,
    ToDelivery: _to_delivery,
    ReceiptsPage: lambda tx, _, __, n: runners.page_of_deliveries(tx, n.owner_id, n.search, n.page),
    LastTo: lambda tx, _, __, n: runners.last_delivery(tx, n.runner_id, n.workspace_id),
    SensitiveIn: lambda tx, _, __, n: runners.sensitive_in(tx, n.workspace_ids),
    Holding: _holding,
    ValuesOf: _values,
    WorkspaceCalled: _called,
}
STATEMENTS: Mapping[type[Write], Callable[..., Statement]] = {
    Use: lambda _, __, write: runners.using(write.once, write.expires_at),
    Issue: lambda _, __, write: runners.issuing(write.token),
    NoteDelivery: lambda _, __, write: runners.delivering(write.delivery),
}
