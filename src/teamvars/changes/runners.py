"""Runners and what jobs are handed: how decisions about them are fed and carried out."""

from collections.abc import Callable, Mapping

import msgspec

from teamvars.changes.looks import LookUps, Tools, by_fields
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
from teamvars.domain.workspaces import Workspace
from teamvars.storage import organizations, runners, streams, variables, workspaces
from teamvars.storage.database import Statement, Transaction


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
    RunnerWithId: by_fields(runners.get),
    RunnersOf: by_fields(runners.of_organization),
    RunnersPage: by_fields(runners.page_of_organization),
    AllRunners: by_fields(runners.every),
    OrganizationOf: _name,
    Reaching: by_fields(runners.reaching),
    ToDelivery: lambda tx, _, found, n: _handed(tx, found, n.workspace_id, lock=True),
    ReceiptsPage: by_fields(runners.page_of_deliveries),
    LastTo: by_fields(runners.last_delivery),
    SensitiveIn: by_fields(runners.sensitive_in),
    Holding: lambda tx, _, found, n: _handed(tx, found, n.workspace_id, lock=False),
    ValuesOf: by_fields(variables.sealed_of_workspace),
    WorkspaceCalled: _called,
}
STATEMENTS: Mapping[type[Write], Callable[..., Statement]] = {
    Use: lambda _, __, write: runners.using(write.once, write.expires_at),
    Issue: lambda _, __, write: runners.issuing(write.token),
    NoteDelivery: lambda _, __, write: runners.delivering(write.delivery),
}
