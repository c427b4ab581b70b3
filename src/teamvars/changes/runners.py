"""Runners and what jobs are handed: how decisions about them are fed and carried out."""

from collections.abc import Callable, Mapping, Sequence

from teamvars.changes import Look, LookUps, Tools, by_fields
from teamvars.changes.trails import ALARM
from teamvars.decisions import Found, Write
from teamvars.decisions.deliveries import (
    Handed,
    Issue,
    NoteDelivery,
    Reaching,
    ReceiptsPage,
    SensitiveAmong,
    ToDelivery,
    Use,
    ValuesForJob,
    ValuesOf,
    WorkspaceCalled,
    job_of,
)
from teamvars.decisions.runners import (
    AllRunners,
    Matching,
    NamesOf,
    ReachOf,
    Recorded,
    RunnersOf,
    RunnersPage,
    RunnerWithId,
)
from teamvars.domain.access import Place
from teamvars.domain.audit import AuditEntry
from teamvars.domain.effective import Holdings
from teamvars.domain.errors import ENTRY_ALTERED, NO_VALID_TOKEN, Refusal, not_found
from teamvars.domain.key_names import all_meant
from teamvars.domain.names import fold
from teamvars.pace import Pace, in_batches
from teamvars.storage import access_by_name, effective, runners, streams
from teamvars.storage.database import Row, Statement, Transaction, each
from teamvars.storage.effective import Pause

NAMES_AT_ONCE = 1000
"""That a pattern is tried on before others may have the event loop."""


def _handed(found: Found, _: ToDelivery, rows: Sequence[Row]) -> Handed:
    handed = runners.handed(rows)
    if handed is None:
        raise Refusal(NO_VALID_TOKEN)
    token, workspace = handed[0], handed[2]
    found.caller.actor = job_of(token)
    found.caller.place = Place(
        workspace.organization_id, workspace.organization_name, workspace.id, workspace.name
    )
    return Handed(*handed)


def _pause(tx: Transaction) -> Pause:
    """What gives way to others now and then, where they could use it."""
    return Pace.while_locked().keep if tx.may_pause else _go_on


async def _go_on() -> None:
    """There is nobody to give way to: the function runs to its end in one step of the loop."""


async def _values_of(tx: Transaction, _: Tools, __: Found, need: ValuesOf) -> Holdings:
    has = await effective.sealed_of_workspace(tx, need.workspace_id, _pause(tx))
    if has is None:
        raise not_found()
    return has


async def _values_for_job(tx: Transaction, _: Tools, found: Found, need: ValuesForJob) -> Holdings:
    asked = need.workspace_id, found.caller.token_hash, found.now
    has = await effective.sealed_for_job(tx, asked, _pause(tx), need.most)
    if has is None:
        raise Refusal(NO_VALID_TOKEN)
    return has


async def matched(need: Matching) -> frozenset[str]:
    """Those of the names that a pattern matches; others have the event loop in between."""
    pace, found = Pace(), set[str]()
    for names in in_batches(need.names.split(), lambda _: 1, NAMES_AT_ONCE):
        for pattern in need.patterns:
            found.update(all_meant(fold(pattern), names))
            await pace.keep()
    return frozenset(found)


async def _recorded(tx: Transaction, tools: Tools, _: Found, need: Recorded) -> AuditEntry | None:
    where = need.stream_id, need.subject_id
    entry = await streams.newest_about(tx, where, need.actions, need.naming, need.but_of)
    if entry is not None and not tools.chain.attests(entry):
        ALARM.raise_for(need.stream_id)
        raise Refusal(ENTRY_ALTERED.filled({"stream": need.stream_id}))
    return entry


LOOK_UPS: LookUps = {
    Recorded: _recorded,
    RunnerWithId: by_fields(runners.get),
    RunnersOf: by_fields(runners.of_organization),
    RunnersPage: by_fields(runners.page_of_organization),
    AllRunners: by_fields(runners.every),
    ReachOf: by_fields(runners.reach),
    NamesOf: by_fields(runners.names),
    Reaching: Look(
        lambda _, need: (runners.REACHING, (need.workspace_id, need.once)),
        lambda _, __, rows: runners.reached(rows),
    ),
    ToDelivery: Look(
        lambda found, need: (
            runners.HANDED,
            (found.caller.token_hash, found.now, need.workspace_id, each(need.places)),
        ),
        _handed,
        locks=True,
    ),
    ReceiptsPage: by_fields(runners.page_of_deliveries),
    SensitiveAmong: by_fields(runners.sensitive_among),
    ValuesOf: _values_of,
    ValuesForJob: _values_for_job,
    WorkspaceCalled: by_fields(access_by_name.workspace_meant),
}
STATEMENTS: Mapping[type[Write], Callable[..., Statement]] = {
    Use: lambda _, __, write: runners.using(write.once, write.expires_at),
    Issue: lambda _, __, write: runners.issuing(write.token),
    NoteDelivery: lambda _, __, write: runners.delivering(write.delivery),
}
