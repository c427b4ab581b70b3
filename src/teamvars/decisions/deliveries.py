"""What becomes of a job that asks for a token, of one that asks for values, and of a command on the
service's own host that does: for each of these the receipt comes first.

Whatever is not there, expired, revoked, not approved or another's is refused in the same words.
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from teamvars.decisions import Decision, Found, Need, Write
from teamvars.decisions.needs import DataKeyOf, ToWorkspaceAt, as_owner
from teamvars.decisions.runners import Trust, claims_that_count
from teamvars.domain.access import Permission, WrappedKey
from teamvars.domain.audit import Actor, Stream
from teamvars.domain.deliveries import (
    ENDED,
    DeliveryDraft,
    HandedVariable,
    JobToken,
    LastDelivery,
    Nameable,
    Receipt,
    ReceiptSearch,
    ReceiptView,
    Since,
)
from teamvars.domain.effective import Holdings
from teamvars.domain.errors import NO_VALID_TOKEN, Code, Fault, Refusal, invalid, refuse_all
from teamvars.domain.federation import Claims, run_link
from teamvars.domain.pages import Page, Paged
from teamvars.domain.runners import Runner, of_workspace
from teamvars.domain.variables import StoredVariable, Variable
from teamvars.domain.workspaces import Workspace
from teamvars.kernel import Discreet
from teamvars.protocol import MACHINE
from teamvars.protocol.bundles import PUBLIC_KEY_BYTES, thumbprint

NO_TARGET = Fault(
    Code.INVALID_TARGET, "No approved runner hands this workspace's values to this job."
)
_KEY = "/data/attributes/public-key"
USED_BEFORE = Fault(Code.INVALID_REQUEST, "This token was used before: ask the issuer for another.")


class NoTarget(Refusal):
    """No runner hands the workspace to the job. `reasons` are for the log: what each runner that
    reaches the workspace does not accept, by its id. The workspace is that `organization`'s, or of
    none where it is not there.
    """

    def __init__(self, organization: str, reasons: Mapping[str, Sequence[str]]) -> None:
        super().__init__(NO_TARGET)
        self.organization = organization
        self.reasons = reasons


class Proof(Discreet, frozen=True):
    """What a job has proven: by its issuer, or by the `public_key` of its machine.

    `once` names the issuer's token among all there are. `expires_at` in µs UTC.
    """

    issuer: str
    public_key: str | None
    claims: Claims
    once: bytes
    expires_at: int


class Asked(Discreet, frozen=True):
    """Which workspace a job asks a token for, of which runner if it says so, and the key that the
    token is to deliver to. `is_bound`: the issuer has vouched for that key.
    """

    workspace_id: str
    proof: Proof
    thumbprint: str
    is_bound: bool
    runner_id: str | None


class Reaching(Need[tuple[Workspace, Sequence[Runner], bool] | None], frozen=True):
    """A workspace, the runners that were approved for it by id, and whether the issuer's token that
    `once` names was used.
    """

    workspace_id: str
    once: bytes


class Handed(msgspec.Struct, frozen=True):
    """A token of a job that asks now, and what it is for: the runner, with its stream, and the
    workspace, with the data key of its values; how many streams there are of the workspace and of
    sets that reach it, unless one is elsewhere than was asked; and the last delivery of the
    workspace to the runner, if there was one.
    """

    token: JobToken
    runner: Runner
    workspace: Workspace
    key: WrappedKey
    reaching: int | None
    last: LastDelivery | None
    stream: Stream

    @property
    def may_change(self) -> bool:
        """Whether receipts may follow in the stream: for whoever has a token at all."""
        return True


class ToDelivery(Need[Handed], frozen=True):
    """What the caller's token is for, good or not, and whether the streams of what reaches the
    workspace are at these places. Refuses: unauthenticated.
    """

    workspace_id: str
    places: tuple[str, ...] = ()


class ValuesOf(Need[Holdings], frozen=True):
    """What counts in a workspace, of its own and of sets: sealed, sensitive ones too."""

    workspace_id: str


class ValuesForJob(Need[Holdings], frozen=True):
    """As `ValuesOf`, for a caller with a token to the workspace, good or not; without the variables
    where their values and those that they come before have more bytes than the `most`. Refuses:
    unauthenticated.
    """

    workspace_id: str
    most: int = 2**62


class ReceiptsPage(Need[Paged[Receipt]], frozen=True):
    """A page of the last deliveries of an organization, or of one workspace of it, newest first."""

    organization_id: str
    search: ReceiptSearch
    page: Page
    workspace_id: str | None = None


class SensitiveAmong(Need[Sequence[HandedVariable]], frozen=True):
    """Those of some variables that are there and sensitive, by key and category."""

    variable_ids: frozenset[str]


class Use(Write, frozen=True):
    """An issuer's token was used: nobody uses it again before it has expired."""

    once: bytes
    expires_at: int


class Issue(Write, frozen=True):
    """A job gets a token."""

    token: JobToken


class NoteDelivery(Write, frozen=True):
    """A workspace was handed to a runner; `is_whole`: all that it has."""

    delivery: LastDelivery
    is_whole: bool

    @property
    def row_id(self) -> str:
        """In the stream of the runner."""
        return self.delivery.workspace_id

    @property
    def says_all(self) -> bool:
        """Of less, earlier deliveries stay known. What was handed out before them all, and is
        elsewhere by now, each knows that is decided by the same row.
        """
        return self.is_whole


class Issued(Discreet, frozen=True):
    """A token of a job, and the runner it is of."""

    token: JobToken
    runner: Runner


class Bundle(Discreet, frozen=True):
    """What is to be handed out, once the receipt is committed: values are sealed still.

    Of what is `withheld` the job learns that it is there.
    """

    handed: Handed
    has: Holdings
    wanted: DeliveryDraft
    variables: tuple[StoredVariable, ...]
    withheld: tuple[Variable, ...]

    @property
    def is_whole(self) -> bool:
        """Whether all of it is handed out."""
        return len(self.variables) == len(self.has.variables)


def meant(found: Found, asked: Asked, trust: Trust) -> Runner:
    """The runner that means the job; of several, that with the lowest id.

    Refuses: no such runner, a proof that was used before.
    """
    reaching = found.of(Reaching(asked.workspace_id, asked.proof.once))
    if reaching is None:
        raise NoTarget("", {})
    workspace, runners, was_used = reaching
    reaches = of_workspace(runners, workspace.id, workspace.name, found.now)
    asked_for = [runner for runner in reaches if asked.runner_id in (None, runner.id)]
    runner = next((one for one in asked_for if _means(one, asked, trust)), None)
    if runner is None:
        reasons = {one.id: _reasons(one, asked, trust) for one in asked_for}
        raise NoTarget(workspace.organization_id, reasons)
    if was_used:  # the write would find out too, and fail for all who share its transaction
        raise Refusal(USED_BEFORE)
    return runner


def exchange(found: Found, asked: Asked, token_hash: bytes, trust: Trust) -> Decision[Issued]:
    """A token, by its hash, for a job that a runner means.

    Whether that is so still is looked at with every use. Refuses: see `meant`.
    """
    runner, proof = meant(found, asked, trust), asked.proof
    assert runner.approval is not None  # or it would mean nobody
    ends = [found.now + runner.max_ttl * 1_000_000, proof.expires_at, runner.expires_at()]
    token = JobToken(
        token_hash,
        runner.id,
        runner.approval.version,
        asked.workspace_id,
        asked.thumbprint,
        asked.is_bound,
        claims_that_count(runner, proof.issuer, proof.claims),
        run_link(proof.issuer, proof.claims),
        min(ends),
    )
    token = trust.issued(token)
    writes = Use(proof.once, proof.expires_at), Issue(token)
    return Decision(Issued(token, runner), writes, taken=USED_BEFORE)


def deliver(
    found: Found,
    workspace_id: str,
    has: Holdings,
    draft: DeliveryDraft,
    trust: Trust,
) -> Decision[Bundle | None]:
    """What a job is handed of what the workspace gets; its receipt says which variables, in which
    versions, and for what job.

    `has` was looked up before, and is looked up again where the workspace has changed, or a set
    that reaches it: a receipt of what was there would take the place of one that says what was
    handed out since. None: it was kept since then, and is of no use any more; whoever has kept it
    looks it up where nobody waits.

    Refuses: unauthenticated for every token that delivers nothing here, every fault of the draft.
    """
    handed = _held(found, ToDelivery(workspace_id, has.places), trust)
    refuse_all([*draft.all_faults(), *_key_faults(draft, handed.token)])
    if not _is_still_there(has, handed):
        if has.keys is not None:
            return Decision(None)
        has = found.of(ValuesForJob(workspace_id))
    token, runner = handed.token, handed.runner
    variables, withheld = _handed_out(runner, draft.wanted(has.variables))
    details: dict[str, object] = {
        "workspace": workspace_id,
        "version": token.version,
        "claims": dict(token.claims),
        "bound": token.is_bound,
        "variables": [told(each.variable, workspace_id) for each in variables],
    }
    note = found.note(runner.id, "variable.deliver", workspace_id, details)
    versions = {each.variable.id: each.variable.version_id for each in variables}
    place = runner.id, workspace_id, runner.organization_id
    last = LastDelivery(*place, found.now, versions, token.run_link)
    bundle = Bundle(handed, has, draft, tuple(variables), tuple(withheld))
    if (before := handed.last) is not None:
        there, known = {each.variable.id for each in has.variables}, before.all_versions()
        # Such as those of a set that is attached no more, or of which others of the keys count.
        gone = known.keys() - there
        elsewhere = found.of(SensitiveAmong(frozenset(gone))) if gone else ()
        last = last.following(before, there | {one.id for one in _unchanged(known, elsewhere)})
    return Decision(bundle, (NoteDelivery(last, bundle.is_whole),), (note,))


def names(found: Found, workspace_id: str, trust: Trust) -> list[Nameable]:
    """The variables there are, and which of them the job is handed.

    Refuses: unauthenticated for every token that delivers nothing here.
    """
    handed = _held(found, ToDelivery(workspace_id), trust)
    has = found.of(ValuesForJob(workspace_id))
    is_all = handed.runner.hands_out_sensitive
    return [Nameable(one.variable, is_all or not one.variable.sensitive) for one in has.variables]


def admit(found: Found, workspace_id: str, trust: Trust) -> None:
    """Refuses every token that delivers nothing there: unauthenticated."""
    _held(found, ToDelivery(workspace_id), trust)


def _handed_out(
    runner: Runner, wanted: Sequence[StoredVariable]
) -> tuple[Sequence[StoredVariable], Sequence[Variable]]:
    """Which of these the runner's jobs get, and of which they only learn that they are there."""
    if runner.hands_out_sensitive:
        return wanted, ()
    readable = [each for each in wanted if not each.variable.sensitive]
    return readable, [each.variable for each in wanted if each.variable.sensitive]


def _is_still_there(has: Holdings, handed: Handed) -> bool:
    """Whether no stream has moved of what reaches the workspace, and none was added or taken away;
    and what was kept opens still.
    """
    return handed.reaching == len(has.places) and has.keys in (None, handed.key.wrapped)


def _held(found: Found, asked: ToDelivery, trust: Trust) -> Handed:
    handed = found.of(asked)
    if not _is_good(found, handed, trust):
        raise Refusal(NO_VALID_TOKEN)
    return handed


def receipts(
    found: Found, organization: str, search: ReceiptSearch, wanted: Page, trust: Trust
) -> Paged[ReceiptView]:
    """A page of the last deliveries of an organization. Refuses: not found, forbidden."""
    owner = as_owner(found, organization)
    return _receipts(found, ReceiptsPage(owner.id, search, wanted), trust)


def receipts_of_workspace(
    found: Found, workspace_id: str, search: ReceiptSearch, wanted: Page, trust: Trust
) -> Paged[ReceiptView]:
    """A page of the last deliveries of a workspace, for whoever reads its variables.

    Refuses: not found.
    """
    granted = found.of(ToWorkspaceAt(workspace_id))
    granted.require(Permission.READ_VARIABLES)
    asked = ReceiptsPage(granted.workspace.organization_id, search, wanted, workspace_id)
    return _receipts(found, asked, trust)


def _receipts(found: Found, asked: ReceiptsPage, trust: Trust) -> Paged[ReceiptView]:
    last = found.of(asked)
    views = [ReceiptView(one, _since(one.runner, trust, found.now)) for one in last.items]
    ended = [one.receipt.delivery.all_versions() for one in views if one.since in ENDED]
    handed = frozenset(id_ for versions in ended for id_ in versions)
    sensitive = found.of(SensitiveAmong(handed)) if handed else ()
    views = [_with_rotations(one, sensitive) if one.since in ENDED else one for one in views]
    if (variable := asked.search.variable) is not None:
        views = [_narrowed(one, variable) for one in views]
    return Paged(views, last.total)


def _with_rotations(view: ReceiptView, sensitive: Sequence[HandedVariable]) -> ReceiptView:
    return replace(view, to_rotate=_unchanged(view.receipt.delivery.all_versions(), sensitive))


def _unchanged(
    handed: Mapping[str, str], sensitive: Sequence[HandedVariable]
) -> Sequence[HandedVariable]:
    """Those that are as they were handed out: to be rotated once that has to be taken back."""
    return [one for one in sensitive if handed.get(one.id) == one.version_id]


def _narrowed(view: ReceiptView, variable_id: str) -> ReceiptView:
    delivery = view.receipt.delivery.of_variable(variable_id)
    same = [one for one in view.to_rotate if one.id == variable_id]
    return replace(view, receipt=replace(view.receipt, delivery=delivery), to_rotate=same)


def _since(runner: Runner | None, trust: Trust, now: int) -> Since:
    if runner is None:
        return Since.DELETED
    if not trust.holds(runner):
        return Since.REVOKED
    if runner.expires_at() <= now:
        return Since.EXPIRED
    return Since(runner.status(now).value)


def job_of(token: JobToken) -> Actor:
    """Who it is that has such a token."""
    return Actor("runner", token.runner_id, None)


def _means(runner: Runner, asked: Asked, trust: Trust) -> bool:
    proof = asked.proof
    return (
        runner.is_met(proof.issuer, proof.public_key, proof.claims)
        and (asked.is_bound or runner.allows_unbound)
        and trust.holds(runner)
    )


def _reasons(runner: Runner, asked: Asked, trust: Trust) -> list[str]:
    """Why it does not mean the job; of an approval, whose MAC takes longest, where all else is met:
    strangers have tokens of an issuer that serves everybody.
    """
    proof = asked.proof
    unmet = runner.unmet(proof.issuer, proof.public_key, proof.claims)
    return unmet or (["unbound"] if trust.holds(runner) else ["approval"])


def _is_good(found: Found, handed: Handed, trust: Trust) -> bool:
    """Whether the token still is what the runner means, in both of its versions."""
    token, runner, workspace = handed.token, handed.runner, handed.workspace
    issuer = token.claims.get("iss", "")
    public_key = issuer.removeprefix(MACHINE) if issuer.startswith(MACHINE) else None
    return (
        token.runner_id == runner.id
        and token.workspace_id == workspace.id
        and workspace.organization_id == runner.organization_id
        and token.expires_at > found.now
        and trust.has_issued(token)
        and trust.holds(runner)
        and runner.approval is not None
        and runner.approval.version == token.version
        and runner.admits(workspace.id, workspace.name, found.now)
        and runner.is_met(issuer, public_key, token.claims)
        and (token.is_bound or runner.allows_unbound)
    )


def _key_faults(draft: DeliveryDraft, token: JobToken) -> list[Fault]:
    if any(fault.pointer == _KEY for fault in draft.faults):
        return []
    if len(draft.public_key) == PUBLIC_KEY_BYTES and thumbprint(draft.public_key) == (
        token.thumbprint
    ):
        return []
    return [invalid("public-key", "This is not the key that the token delivers to.")]


def told(variable: Variable, workspace_id: str) -> Mapping[str, str]:
    """What a receipt says of a variable that is handed out; and of which set, if it is of one."""
    said = {
        "key": variable.key,
        "category": variable.category,
        "version-id": variable.version_id,
    }
    return said if variable.owner_id == workspace_id else {**said, "varset": variable.owner_id}


class WorkspaceCalled(Need[Workspace], frozen=True):
    """The workspace an operator names."""

    organization: str
    name: str


class HostDraft(msgspec.Struct, frozen=True):
    """Which workspace an operator means, for what `reason`, and what of it; no globs: all."""

    organization: str
    workspace: str
    reason: str
    only: tuple[str, ...] = ()


class HostBundle(Discreet, frozen=True):
    """What is to be handed out, once the receipt is committed: values are sealed still."""

    key: WrappedKey
    variables: tuple[StoredVariable, ...]


def hand_out(found: Found, draft: HostDraft) -> Decision[HostBundle]:
    """All that a run in the workspace gets, or what the globs name.

    The receipt goes to the organization's stream: its owners find it, and no workspace's head
    moves. Refuses: not found, a glob that names nothing.
    """
    workspace = found.of(WorkspaceCalled(draft.organization, draft.workspace))
    owner_id = workspace.organization_id
    found.require_locked([owner_id])
    key = found.of(DataKeyOf(owner_id))
    has = found.of(ValuesOf(workspace.id)).variables
    for glob in draft.only:
        if not DeliveryDraft(only=(glob,)).wanted(has):
            detail = f"--only {glob}: there is no variable like this."
            raise Refusal(Fault(Code.INVALID_VALUE, detail))
    variables = tuple(DeliveryDraft(only=draft.only).wanted(has))
    details: dict[str, object] = {
        "workspace": workspace.id,
        "reason": draft.reason,
        "variables": [told(each.variable, workspace.id) for each in variables],
    }
    note = found.note(owner_id, "variable.deliver", workspace.id, details)
    return Decision(HostBundle(key, variables), (), (note,))
