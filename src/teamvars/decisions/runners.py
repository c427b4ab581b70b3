"""What becomes of a request to make, change or delete a runner, and what that records."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol

import msgspec
from msgspec.structs import replace

from teamvars.decisions import (
    Decision,
    Delete,
    Found,
    Insert,
    Need,
    Thought,
    Update,
    closes,
    opens,
    others,
    owners,
    together,
)
from teamvars.decisions.needs import (
    OrganizationWithId,
    ToOrganizationWithId,
    ToWorkspaceAt,
    WhoCalls,
    WorkspacesOf,
    as_owner,
)
from teamvars.domain.access import Level, Permission
from teamvars.domain.audit import AuditEntry
from teamvars.domain.deliveries import JobToken
from teamvars.domain.errors import (
    NAME_TAKEN,
    NO_SUCH_WORKSPACE,
    Code,
    Fault,
    Kind,
    Refusal,
    not_found,
    passing_over,
    refuse_all,
)
from teamvars.domain.federation import Claims
from teamvars.domain.key_names import wildcards_within
from teamvars.domain.linked import lacking
from teamvars.domain.names import fold
from teamvars.domain.pages import Page, Paged, paged
from teamvars.domain.runners import (
    MAX_RUNNERS,
    Approval,
    ApprovalMode,
    Change,
    Runner,
    RunnerDraft,
    RunnerSpec,
    RunnerStatus,
    WorkspacesDraft,
    conflicts,
    foreign,
    reach_faults,
    spec_faults,
    unreadable,
)
from teamvars.domain.workspaces import Workspace

PROPOSED = ("runner.create", "runner.update")
"""What proposes a version."""


class RunnerWithId(Need[Runner], frozen=True):
    """A runner."""

    runner_id: str


class RunnersOf(Need[Sequence[Runner]], frozen=True):
    """All runners of an organization, by id."""

    organization_id: str


class RunnersPage(Need[Paged[Runner]], frozen=True):
    """A page of the runners of an organization, by name."""

    organization_id: str
    page: Page


class AllRunners(Need[Sequence[Runner]], frozen=True):
    """Those of all organizations."""


class ReachOf(Need[frozenset[str]], frozen=True):
    """The ids of the workspaces of an organization that have one of these ids, or whose names match
    one of these patterns, each of which has no `*` but at its end.
    """

    organization_id: str
    workspace_ids: tuple[str, ...]
    patterns: tuple[str, ...] = ()


class NamesOf(Need[str], frozen=True):
    """The names of all workspaces of an organization, folded and in order, with a blank between
    two.
    """

    organization_id: str


class Recorded(Need[AuditEntry | None], frozen=True):
    """The newest entry of a stream about a subject, of one of these actions; None: there is none.

    With `naming`, the newest that names this id; with `but_of`, the newest of anybody else than
    these actors. Refuses: forbidden, where somebody has altered that entry.
    """

    stream_id: str
    subject_id: str
    actions: tuple[str, ...]
    naming: str | None = None
    but_of: tuple[str, ...] = ()


class Matching(Thought[frozenset[str]], frozen=True):
    """Those of the names, as `NamesOf` has them, that one of a runner's patterns matches."""

    patterns: tuple[str, ...]
    names: str


class Trust(Protocol):
    """What the operator and the keyring say of runners, without a look at any store."""

    @property
    def mode(self) -> ApprovalMode:
        """Who approves."""

    @property
    def issuers(self) -> Mapping[str, str]:
        """Each issuer that is accepted, with where its keys are from."""

    def digest(self, runner: Runner, reach: frozenset[str]) -> str:
        """What names the runner's present version with all that it would reach, in hex."""

    def sealed(self, runner: Runner, approval: Approval) -> Approval:
        """The approval with its MAC."""

    def holds(self, runner: Runner) -> bool:
        """Whether its approval was made under a key of the keyring, for keys from there, by a rule
        that counts in this mode.
        """

    def was_approved(self, runner: Runner) -> bool:
        """Whether its approval was made under a key of the keyring, whatever counts at present: the
        operator may change that back.
        """

    def issued(self, token: JobToken) -> JobToken:
        """The token with its MAC."""

    def has_issued(self, token: JobToken) -> bool:
        """Whether the token was issued under a key of the keyring, just as it is."""


class RunnerView(msgspec.Struct, frozen=True):
    """A runner as those see it who may: with what names its version, and where it stands."""

    runner: Runner
    organization_name: str
    digest: str
    status: RunnerStatus
    reach: frozenset[str]
    may_approve: bool = False
    """Whether the caller may be one who approves it: what the trail says is asked when they do."""
    seen_in: str | None = None
    """The workspace from which it is seen by whoever is no owner."""


Sight = Callable[[], RunnerView]
"""What shows a runner, by what it reaches, and takes a while where that is much."""


def create(
    found: Found, organization: str, draft: RunnerDraft, id_: str, trust: Trust
) -> Decision[RunnerView]:
    """Proposes a runner. Refuses: forbidden, every fault of the draft, a taken name, too many."""
    owner = as_owner(found, organization)
    spec = draft.applied_to(RunnerSpec(name="", expires_at=0))
    full = [_FULL] if len(found.of(RunnersOf(owner.id))) >= MAX_RUNNERS else []
    draft = replace(draft, faults=(*draft.faults, *foreign(draft, owner.name), *full))
    _refuse(found, owner.id, draft, spec, trust)
    made = Runner(id_, owner.id, 1, spec, found.now, found.caller.user_id)
    return together(seen(found, made, owner.name, trust), created(found, made, owner.name))


def created(found: Found, made: Runner, place: str) -> Decision[None]:
    """A runner is proposed, with a stream of its own, in an organization that is called `place`."""
    id_, owner_id = made.id, made.organization_id
    note = found.note(owner_id, "runner.create", id_, {**_told(made), **opens(id_)})
    told = owners.of_runner(found, made, place, "proposed it", RunnerStatus.PROPOSED)
    return Decision(None, (Insert(made), told), (note,), {id_: owner_id}, taken=_TAKEN)


def changed(
    found: Found, before: Runner, after: Runner, place: str, trust: Trust
) -> Decision[None]:
    """A version is proposed. What was agreed on by then is recorded, since an approval may be taken
    back. Refuses: other_digest, where the former version is not as proposed. Who changes one thing
    of it would propose the rest as well.
    """
    found.require_locked([before.organization_id])  # as of one time: the row and its entry
    require_proposed(found, before)
    details = others(_told(before), _told(after))
    details["agreed"] = agreed(before, trust)
    note = found.note(after.organization_id, "runner.update", after.id, details)
    stands = held(after, trust).status(found.now)
    told = owners.of_runner(found, after, place, "proposed it", stands)
    return Decision(None, (Update(before, after), told), (note,), taken=_TAKEN)


def agreed(runner: Runner, trust: Trust) -> int:
    """The newest version all of which the operator or a second owner has approved; 0: there is
    none.
    """
    approval = runner.approval
    if approval is None or not trust.was_approved(runner):
        return 0
    if not ApprovalMode.OWNERS.accepts(approval.mode):
        return 0
    return runner.version if runner.spec == approval.spec else approval.version


def proposed(found: Found, runner: Runner, but_of: Sequence[AuditEntry] = ()) -> AuditEntry | None:
    """The newest entry of a version that somebody has proposed who has proposed none of these.

    A row says who has as well, and who writes the database writes that.
    """
    others = tuple(entry.actor_id for entry in but_of)
    return found.of(Recorded(runner.organization_id, runner.id, PROPOSED, but_of=others))


def as_proposed(found: Found, runner: Runner) -> AuditEntry | None:
    """The entry by which the present version was proposed; None where the row says anything else,
    or there is no such entry: who writes the database may have put anything there.
    """
    entry = None
    with passing_over(Kind.FORBIDDEN):
        entry = proposed(found, runner)
    return entry if entry is not None and proposes(entry, runner) else None


def require_proposed(found: Found, runner: Runner) -> AuditEntry:
    """The entry by which the present version was proposed. Refuses where there is none:
    other_digest.
    """
    entry = as_proposed(found, runner)
    if entry is None:
        raise Refusal(_NOT_PROPOSED.filled(version=runner.version, id=runner.id))
    return entry


def proposes(entry: AuditEntry, runner: Runner) -> bool:
    """Whether that is what an entry proposes: the present version, and what it says."""
    return _told(runner).items() <= (entry.read_details() or {}).items()


def deleted(found: Found, runner: Runner, place: str) -> Decision[None]:
    """A runner goes with its tokens: nothing is handed to it any more."""
    details = {"name": runner.spec.name, **closes(runner.id)}
    note = found.note(runner.organization_id, "runner.delete", runner.id, details)
    told = owners.of_runner(found, runner, place, "deleted it", None)
    return Decision(None, (Delete(Runner, (runner.id,)), told), (note,))


def update(found: Found, runner_id: str, draft: RunnerDraft, trust: Trust) -> Decision[RunnerView]:
    """Makes a new version of what the draft names, which waits for approval; nothing new, none.

    Refuses: forbidden, every fault of the draft, another id than the path's, a taken name.
    """
    before, name = _legible(found, runner_id)
    spec = draft.applied_to(before.spec)
    faults = (*draft.faults, *conflicts(draft, runner_id), *foreign(draft, name))
    draft = replace(draft, faults=faults)
    _refuse(found, before.organization_id, draft, spec, trust)
    return _renewed(found, before, name, spec, trust)


def name_workspaces(
    found: Found, runner_id: str, change: Change, draft: WorkspacesDraft, trust: Trust
) -> Decision[RunnerView]:
    """Makes a new version that names other workspaces, all that the draft says or none.

    Refuses: forbidden, every fault of the draft, a workspace that the organization does not have
    and the runner does not name, too many of them, none where no pattern is there either.
    """
    before, name = _legible(found, runner_id)
    spec = draft.applied_to(before.spec, change)
    there = found.of(ReachOf(before.organization_id, draft.wanted))
    known = {*there, *before.spec.workspace_ids}
    broken = [replace(fault, pointer="/data") for fault in reach_faults(spec)]
    refuse_all(draft.all_faults(known, NO_SUCH_WORKSPACE) or broken)
    return _renewed(found, before, name, spec, trust)


def _renewed(
    found: Found, before: Runner, name: str, spec: RunnerSpec, trust: Trust
) -> Decision[RunnerView]:
    if spec == before.spec:
        return Decision(seen(found, before, name, trust))
    by = found.caller.user_id
    after = replace(before, version=before.version + 1, spec=spec, proposed_by=by)
    return together(seen(found, after, name, trust), changed(found, before, after, name, trust))


def delete(found: Found, runner_id: str) -> Decision[None]:
    """Removes a runner with its tokens: nothing is handed to it any more. Refuses: forbidden."""
    return deleted(found, *owned(found, runner_id))


def read(found: Found, runner_id: str, trust: Trust) -> Sight:
    """One runner. Refuses: not found, forbidden to whoever is no owner."""
    runner, name = owned(found, runner_id)
    return partial(seen, found, runner, name, trust)


def page(found: Found, organization: str, wanted: Page, trust: Trust) -> Paged[Sight]:
    """A page of an organization's runners, by name. Refuses: forbidden."""
    owner = as_owner(found, organization)
    runners = found.of(RunnersPage(owner.id, wanted))
    shown = [partial(seen, found, one, owner.name, trust) for one in runners.items]
    return Paged(shown, runners.total)


def of_workspace(found: Found, workspace_id: str, wanted: Page, trust: Trust) -> Paged[Sight]:
    """A page of the runners that may be handed a workspace's values, or might once approved, by
    name, for whoever reads its variables. Refuses: unauthenticated, not found.
    """
    granted = found.of(ToWorkspaceAt(workspace_id))
    granted.require(Permission.READ_VARIABLES)
    place = granted.workspace
    runners = found.of(RunnersOf(place.organization_id))
    reaching = [one for one in runners if _reaches(one, place, trust)]
    reaching.sort(key=lambda one: (fold(one.spec.name), one.id))
    some = paged(reaching, wanted)
    seen_in = None if granted.level is Level.OWNER else workspace_id
    shown = [
        partial(seen, found, one, place.organization_name, trust, seen_in) for one in some.items
    ]
    return Paged(shown, some.total)


def every(found: Found, trust: Trust) -> Sequence[RunnerView]:
    """All runners there are, for an operator."""
    runners = found.of(AllRunners())
    # All that is needed first, since each need begins this anew, and a digest takes its time.
    names = {
        one.organization_id: found.of(OrganizationWithId(one.organization_id)).name
        for one in runners
    }
    workspaces = {id_: found.of(WorkspacesOf(id_)) for id_ in names}
    called = {id_: {one.id: one.name for one, _ in some} for id_, some in workspaces.items()}
    reaches = [one.spec.reach(called[one.organization_id]) for one in runners]
    return [
        _seen(found, one, names[one.organization_id], trust, reach)
        for one, reach in zip(runners, reaches, strict=True)
    ]


def owned(found: Found, runner_id: str) -> tuple[Runner, str]:
    """A runner of an organization that the caller owns, and the organization's name.

    Refuses: not found, to members who are no owners as well.
    """
    found.of(WhoCalls())
    runner = found.of(RunnerWithId(runner_id))
    granted = found.of(ToOrganizationWithId(runner.organization_id))
    if not granted.is_owner:
        raise not_found()
    return runner, granted.organization.name


def _legible(found: Found, runner_id: str) -> tuple[Runner, str]:
    """As `owned`. Refuses what nobody can read, before anything that it lacks: other_digest."""
    runner, name = owned(found, runner_id)
    if runner.spec == unreadable(runner.spec.name):
        require_proposed(found, runner)
    return runner, name


def seen(
    found: Found,
    runner: Runner,
    organization_name: str,
    trust: Trust,
    seen_in: str | None = None,
) -> RunnerView:
    """A runner with what names its version."""
    view = _seen(found, runner, organization_name, trust, reached(found, runner))
    return replace(view, seen_in=seen_in)


def _seen(
    found: Found, runner: Runner, organization_name: str, trust: Trust, reach: frozenset[str]
) -> RunnerView:
    digest = trust.digest(runner, reach)
    known = held(runner, trust)
    status = known.status(found.now)
    may_approve = _waits(known, status, reach) and _may_approve(found, known, trust)
    return RunnerView(known, organization_name, digest, status, reach, may_approve)


def held(runner: Runner, trust: Trust) -> Runner:
    """The runner: an approval that was written by nobody who could is none."""
    return runner if trust.holds(runner) else replace(runner, approval=None)


def _waits(runner: Runner, status: RunnerStatus, reach: frozenset[str]) -> bool:
    """Whether an approval would hand out more than is handed out now."""
    if status is RunnerStatus.EXPIRED:
        return False
    approval = runner.approval
    return approval is None or approval.version != runner.version or reach != approval.reach


def _may_approve(found: Found, runner: Runner, trust: Trust) -> bool:
    """Whether nothing that the row says keeps the caller from approving, if they are an owner."""
    who = found.caller.user_id
    if trust.mode is ApprovalMode.OWNERS:
        return None not in (who, runner.proposed_by) and who != runner.proposed_by
    return trust.mode is ApprovalMode.OWNER and who is not None


def reached(found: Found, runner: Runner) -> frozenset[str]:
    """The ids of the workspaces that the present version would reach, if it were approved now."""
    spec, whose = runner.spec, runner.organization_id
    hard = tuple(one for one in spec.workspace_patterns if wildcards_within([one]))
    easy = tuple(one for one in spec.workspace_patterns if one not in hard)
    names = found.of(Matching(hard, found.of(NamesOf(whose)))) if hard else ()
    return found.of(ReachOf(whose, spec.workspace_ids, (*easy, *names)))


def _reaches(runner: Runner, workspace: Workspace, trust: Trust) -> bool:
    """Whether the present version names the workspace, or its approval was made when one did."""
    if runner.spec.reaches(workspace.id, workspace.name):
        return True
    approval = runner.approval
    return approval is not None and workspace.id in approval.reach and trust.holds(runner)


def claims_that_count(runner: Runner, issuer: str, claims: Claims) -> dict[str, str]:
    """The claims that either version asks for, which say later on what job it was."""
    names = runner.claim_names | {"sub"}
    told = {name: said for name in sorted(names) if isinstance(said := claims.get(name), str)}
    return {"iss": issuer, **told}


_TAKEN = NAME_TAKEN.filled(what="a runner")
_FULL = Fault(Code.TOO_MANY_ITEMS, f"An organization has at most {MAX_RUNNERS} runners.")
_NOT_PROPOSED = Fault(
    Code.OTHER_DIGEST,
    "Version {version} of {id} is not what was proposed, as the audit trail has it: its row, or "
    "its entry there, was altered outside of the service. Propose what it should be as another "
    "runner, delete this one, and tell the operator.",
)


def _refuse(
    found: Found,
    organization_id: str,
    draft: RunnerDraft,
    spec: RunnerSpec,
    trust: Trust,
) -> None:
    """Refuses with every fault of the document, and every rule that the version breaks."""
    said = _places(draft.faults)
    broken = [
        fault for fault in spec_faults(spec, trust.issuers, found.now) if fault.pointer not in said
    ]
    named, at = draft.workspace_ids or (), "/data/relationships/workspaces/data"
    known = found.of(ReachOf(organization_id, tuple(filter(None, named))))
    unknown = lacking(named, known, NO_SUCH_WORKSPACE, at)
    refuse_all([*draft.faults, *broken, *unknown])


def _places(faults: Iterable[Fault]) -> set[str]:
    """Where something is said already of what is there, or of what is in it."""
    places: set[str] = set()
    for fault in faults:
        place = fault.pointer or ""
        while place and place not in places:
            places.add(place)
            place = place.rpartition("/")[0]
    return places


def _told(runner: Runner) -> dict[str, object]:
    return {"name": runner.spec.name, "version": runner.version, "spec": runner.spec.digest}
