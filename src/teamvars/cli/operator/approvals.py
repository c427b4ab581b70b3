"""`approvals`: which versions of runners may be handed values."""

import re
from collections.abc import Iterator

from teamvars.cli.exits import Misuse
from teamvars.cli.operator.context import run
from teamvars.cli.options import argument, command, json_option
from teamvars.cli.output import Fields, note, say, show
from teamvars.decisions.approvals import Proposal
from teamvars.decisions.runners import RunnerView
from teamvars.domain.runners import RunnerSpec
from teamvars.domain.times import moment

_NAMED = re.compile(r"(run-[1-9A-HJ-NP-Za-km-z]{16})@([0-9A-Fa-f]{64})")
_NONE = "none"
WHAT_IT_MEANS = (
    "What owners copy or put into these workspaces later is handed out as well. Whoever can change "
    "what runs in an approved job gets the values; an environment of GitHub without protection "
    "rules keeps nobody from that."
)


@command
@json_option
def list_() -> None:
    """List all runners, each with what an approval would hand out, and to whom."""
    proposals = run(lambda services, caller: services.approvals.proposals(caller))
    shown = [_fields(proposal.view) for proposal in proposals]
    lines = [(line,) for proposal in proposals for line in _told(proposal)]
    show(shown, lines, said=WHAT_IT_MEANS, empty="There are no runners.")


@command
@argument("named", "What 'approvals list' calls the version.", metavar="ID@DIGEST")
def approve(named: str) -> None:
    """Approve the version of a runner that you have read."""
    found = _NAMED.fullmatch(named)
    if found is None:
        raise Misuse("Say what you approve as ID@DIGEST, as 'teamvars approvals list' shows it.")
    runner = run(lambda services, caller: services.approvals.approve(caller, found[1], found[2]))
    say(f"{runner.id} {runner.version}")
    note(f"Approved: version {runner.version} of {runner.spec.name}. {WHAT_IT_MEANS}")


@command
@argument("runner_id", "The id of a runner.", metavar="ID")
def revoke(runner_id: str) -> None:
    """Take back the approval of a runner: nothing is handed to it any more."""
    runner = run(lambda services, caller: services.approvals.revoke(caller, runner_id))
    note(
        f"{runner.spec.name} is not approved. What it was handed before, it has: rotate that where "
        "you do not trust it."
    )


def _fields(view: RunnerView) -> Fields:
    runner = view.runner
    return {
        "id": runner.id,
        "organization": view.organization_name,
        "name": runner.spec.name,
        "version": runner.version,
        "digest": view.digest,
        "status": view.status.value,
    }


def _told(proposal: Proposal) -> Iterator[str]:
    """The whole of a version, line by line."""
    view, runner = proposal.view, proposal.view.runner
    spec, approval = runner.spec, runner.approval
    yield f"{view.organization_name}/{spec.name}: {view.status.value}"
    yield f"  version      {runner.version}"
    if approval is not None and approval.version != runner.version:
        yield f"  approved     {approval.version}: what both versions allow is handed out"
    if spec.description:
        yield f"  description  {spec.description}"
    yield from _proof(spec, proposal.keys)
    yield f"  workspaces   {', '.join(proposal.reach) or _NONE}"
    if spec.workspace_patterns:
        yield f"  patterns     {', '.join(spec.workspace_patterns)}"
    if proposal.joins:
        yield f"  would join   {', '.join(proposal.joins)}"
    yield f"  sensitive    {'handed out' if spec.include_sensitive else 'not handed out'}"
    if spec.allow_unbound:
        yield "  unbound      whoever has the job's token first, a proxy or thief, gets the values"
    yield f"  tokens       for {spec.max_ttl} seconds at most"
    yield f"  ends         {_time(spec.expires_at)}"
    if proposal.as_proposed:
        yield f"  to approve   teamvars approvals approve {runner.id}@{view.digest}"
    else:
        yield "  altered      this is not what was proposed, and cannot be approved"


def _proof(spec: RunnerSpec, keys: str | None) -> Iterator[str]:
    if spec.issuer is None:
        yield f"  public key   {spec.public_key}"
        return
    yield f"  issuer       {spec.issuer}"
    yield f"  keys from    {keys or 'nowhere: TEAMVARS_ISSUERS does not have this issuer'}"
    for claim, wanted in spec.conditions.items():
        yield f"  condition    {claim} = {wanted}"


def _time(at: int) -> str:
    found = moment(at)
    return "at no time" if found is None else found.isoformat(timespec="seconds")
