"""What becomes of a request to approve a version of a runner, or to take an approval back; and what
is looked at before.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from teamvars.decisions import Decision, Found, Update, owners, together
from teamvars.decisions.needs import (
    MembersOf,
    OrganizationWithId,
    WorkspacesOf,
    meant,
    owners_team,
)
from teamvars.decisions.runners import (
    AllRunners,
    Recorded,
    RunnerView,
    RunnerWithId,
    Trust,
    agreed,
    as_proposed,
    every,
    owned,
    proposed,
    reached,
    require_proposed,
    seen,
)
from teamvars.domain.audit import SYSTEM_STREAM, AuditEntry
from teamvars.domain.errors import Code, Fault, Refusal, refuse_all
from teamvars.domain.memberships import Membership, Status
from teamvars.domain.runners import (
    Approval,
    ApprovalDraft,
    ApprovalMode,
    Runner,
    RunnerStatus,
    conflicts,
    spec_faults,
)
from teamvars.domain.times import DAY

SEASONED = 7 * DAY
"""Microseconds for which both have been active owners, where two have to agree."""
DIGEST_POINTER = "/data/attributes/digest"

_PUT = ("member.add", "member.remove")
_STATUS = ("membership.create", "membership.update", "invitation.accept")
_ON_HOST = "on the service's host: teamvars approvals approve {id}@DIGEST"
_ONLY_HOST = f"Runners are approved {_ON_HOST} (TEAMVARS_RUNNER_APPROVAL is 'operator')."
_NO_USER = "A user approves, with a token of their own: no team's and no organization's token."
_OWN = (
    "You have proposed this version yourself, or one before it that has no approval. Another "
    "owner, who has proposed neither, has to approve it."
)
_NOBODY = (
    "This version, or one before it that has no approval, was not proposed by a user with a "
    f"token of their own. Have an owner propose it as another runner, or approve it {_ON_HOST}"
)
_NEW = "{who} to have been an active owner of the organization for seven days."


class Proposal(msgspec.Struct, frozen=True):
    """A runner with what its approval would hand out now.

    `reach` has the names of the workspaces, and `joins` of those among them that an approval which
    holds does not have. `keys` says where those of its issuer are from; None: it has no issuer that
    is accepted. What is not `as_proposed` nobody approves.
    """

    view: RunnerView
    reach: Sequence[str]
    joins: Sequence[str]
    keys: str | None
    as_proposed: bool


def proposals(found: Found, trust: Trust) -> Sequence[Proposal]:
    """All runners there are, by organization."""
    # Before `every`: each need begins this anew.
    whole = {one.id for one in found.of(AllRunners()) if as_proposed(found, one) is not None}
    views = sorted(every(found, trust), key=lambda v: (v.organization_name, v.runner.spec.name))
    return [_proposal(found, view, trust, view.runner.id in whole) for view in views]


def _proposal(found: Found, view: RunnerView, trust: Trust, is_whole: bool) -> Proposal:
    runner = view.runner
    workspaces = found.of(WorkspacesOf(runner.organization_id))
    names = {workspace.id: workspace.name for workspace, _ in workspaces}
    approved = view.reach if runner.approval is None else runner.approval.reach
    keys = trust.issuers.get(runner.spec.issuer or "")
    joins = _named(view.reach - approved, names)
    return Proposal(view, _named(view.reach, names), joins, keys, is_whole)


def _named(ids: frozenset[str], names: Mapping[str, str]) -> list[str]:
    return sorted(names[id_] for id_ in ids)


def approve(found: Found, runner_id: str, digest: str, by: str, trust: Trust) -> Decision[Runner]:
    """Approves, as an operator, the version that was looked at. Refuses: not found, another digest,
    what the operator no longer accepts, what is not as proposed.
    """
    runner = meant(found, RunnerWithId(runner_id), "runner")
    place = found.of(OrganizationWithId(runner.organization_id)).name
    found.require_locked([runner.organization_id])
    return _approved(found, (runner, place), digest, (ApprovalMode.OPERATOR, by, {}), trust)


def approve_as_owner(
    found: Found, runner_id: str, draft: ApprovalDraft, trust: Trust
) -> Decision[RunnerView]:
    """As `approve`, for an owner, where owners approve. Refuses also: forbidden, a faulty draft.

    Whether they may is decided with the organization and its owners locked: who is removed before
    the commit has approved nothing.
    """
    runner, name = owned(found, runner_id)
    found.require_locked([runner.organization_id, owners_team(found, runner.organization_id)])
    refuse_all(_barred(found, runner, trust))
    refuse_all([*draft.faults, *conflicts(draft, runner_id)])
    by, more = found.caller.user_id or "", {}
    if trust.mode is ApprovalMode.OWNERS:
        more = {"proposed-by": require_proposed(found, runner).actor_id}
    approved = _approved(found, (runner, name), draft.digest or "", (trust.mode, by, more), trust)
    return together(seen(found, approved.answer, name, trust), approved)


def revoke(found: Found, runner_id: str) -> Decision[Runner]:
    """Takes back the approval: nothing is handed out any more, until it is approved anew."""
    runner = meant(found, RunnerWithId(runner_id), "runner")
    return _revoked(found, runner, found.of(OrganizationWithId(runner.organization_id)).name)


def _revoked(found: Found, runner: Runner, place: str) -> Decision[Runner]:
    found.require_locked([runner.organization_id])
    if runner.approval is None:
        return Decision(runner)
    after = replace(runner, approval=None)
    stands = after.status(found.now)
    told = owners.of_runner(found, after, place, "took its approval back", stands)
    details = {"name": runner.spec.name, "version": runner.approval.version}
    note = found.note(runner.organization_id, "runner.revoke", runner.id, details)
    return Decision(after, (Update(runner, after), told), (note,))


def revoke_as_owner(found: Found, runner_id: str, trust: Trust) -> Decision[RunnerView]:
    """The same as an owner, whoever approves: they might delete the runner. Refuses: not found."""
    runner, name = owned(found, runner_id)
    revoked = _revoked(found, runner, name)
    return together(seen(found, revoked.answer, name, trust), revoked)


def _approved(
    found: Found,
    of: tuple[Runner, str],
    digest: str,
    by: tuple[ApprovalMode, str, Mapping[str, object]],
    trust: Trust,
) -> Decision[Runner]:
    """The version of a runner, in an organization of that name, is approved under the rule of a
    mode by somebody; nothing changes where what was approved is all the same, by a rule that is as
    strict.
    """
    (runner, place), (mode, who, more) = of, by
    reach = reached(found, runner)
    now = trust.digest(runner, reach)
    if digest.lower() != now:
        detail = (
            f"Version {runner.version} of {runner.id} is not what was looked at: it, or the "
            "workspaces that it reaches, have changed. Look again, and approve what you read then."
        )
        raise Refusal(Fault(Code.OTHER_DIGEST, detail, pointer=DIGEST_POINTER))
    require_proposed(found, runner)
    broken = spec_faults(runner.spec, trust.issuers, found.now)
    refuse_all(replace(fault, pointer=DIGEST_POINTER) for fault in broken)
    source = "" if runner.spec.issuer is None else trust.issuers[runner.spec.issuer]
    made = Approval(
        runner.version, runner.spec, reach, source, mode, found.now, who, key_id="", mac=b""
    )
    if trust.holds(runner) and _is_as_good(runner.approval, made):
        return Decision(runner)
    after = replace(runner, approval=trust.sealed(runner, made))
    told = owners.of_runner(found, after, place, "approved it", RunnerStatus.APPROVED)
    details = {
        "name": runner.spec.name,
        "version": runner.version,
        "digest": now,
        "workspaces": sorted(reach),
        **more,
    }
    note = found.note(runner.organization_id, "runner.approve", runner.id, details)
    return Decision(after, (Update(runner, after), told), (note,))


def _is_as_good(former: Approval | None, made: Approval) -> bool:
    """Whether an approval that holds covers all that another one would, by a rule as strict."""
    return (
        former is not None
        and (former.version, former.spec, former.reach, former.issuer)
        == (made.version, made.spec, made.reach, made.issuer)
        and made.mode.accepts(former.mode)
    )


def _barred(found: Found, runner: Runner, trust: Trust) -> Iterator[Fault]:
    """Every rule by which the caller, who is an owner or has the token of one, may not approve."""
    caller = found.caller.user_id
    if trust.mode is ApprovalMode.OPERATOR:
        yield _forbidden(_ONLY_HOST, runner)
    elif caller is None:
        yield _forbidden(_NO_USER, runner)
    elif trust.mode is ApprovalMode.OWNERS:
        if not _is_seasoned(found, runner, caller):
            yield _forbidden(_NEW.format(who="You have"), runner)
        yield from _unfit(found, runner, caller, trust)


def _unfit(found: Found, runner: Runner, caller: str, trust: Trust) -> Iterator[Fault]:
    """Every rule by which the caller is no second owner, by who has proposed what is new.

    Who changes one thing of a version has not looked at all that others have put into it, who might
    approve that themselves then.
    """
    newest = require_proposed(found, runner)
    known = max(_number(newest, "agreed"), agreed(runner, trust))
    new = [newest]
    while (other := proposed(found, runner, but_of=new)) and _number(other, "version") > known:
        new.append(other)
    for entry in new:
        if entry.actor_kind != "user":
            yield _forbidden(_NOBODY, runner)
        elif entry.actor_id == caller:
            yield _forbidden(_OWN, runner)
        elif not _is_seasoned(found, runner, entry.actor_id):
            yield _forbidden(_NEW.format(who="Whoever has proposed this version has"), runner)


def _forbidden(text: str, runner: Runner) -> Fault:
    return Fault(Code.FORBIDDEN, text.format(id=runner.id))


def _number(entry: AuditEntry, name: str) -> int:
    said = _said(entry, name)
    return said if isinstance(said, int) else 0


def _is_seasoned(found: Found, runner: Runner, user_id: str) -> bool:
    """Whether the user is an active owner, and has been since long enough ago."""
    organization_id, team_id = runner.organization_id, owners_team(found, runner.organization_id)
    for owner in found.of(MembersOf(team_id)):
        if owner.user.id == user_id and owner.counts_as_owner:
            since = _owner_since(found, organization_id, team_id, owner)
            return since is not None and since <= found.now - SEASONED
    return False


def _owner_since(found: Found, organization_id: str, team_id: str, owner: Membership) -> int | None:
    """When they were put into the owners team, became active or were enabled last, in µs UTC; None
    where the trail knows no such thing.
    """
    put = found.of(Recorded(team_id, team_id, _PUT, owner.id))
    active = found.of(Recorded(organization_id, owner.id, _STATUS))
    enabled = found.of(Recorded(SYSTEM_STREAM, owner.user.id, ("user.enable",)))
    if put is None or put.action != "member.add":
        return None
    if active is None or _said(active, "status") == Status.INVITED:
        return None
    return max(entry.at for entry in (put, active, enabled) if entry is not None)


def _said(entry: AuditEntry, name: str) -> object:
    return (entry.read_details() or {}).get(name)
