"""What all owners of an organization are told by mail."""

from collections.abc import Sequence

from teamvars.decisions import Decision, Found, Write
from teamvars.decisions.needs import UserWithId
from teamvars.domain.diagnosis import some_of
from teamvars.domain.memberships import Membership
from teamvars.domain.notices import UNWANTED
from teamvars.domain.runners import Runner, RunnerStatus
from teamvars.domain.times import moment

MOST_NAMED = 20
"""New owners that a letter names."""
_NAMELESS = {
    "operator": "Whoever runs this service",
    "organization": "Somebody with the organization's token",
    "team": "Somebody with a token of the owners team",
}
_STANDS = {
    RunnerStatus.PROPOSED: "waits for approval",
    RunnerStatus.APPROVED: "approved",
    RunnerStatus.CHANGED: "a change waits for approval",
    RunnerStatus.EXPIRED: "expired",
    None: "deleted",
}
_MEANS = {
    RunnerStatus.PROPOSED: "Nothing is handed to it before somebody approves version {version}.",
    RunnerStatus.APPROVED: "Its jobs are handed the values of its workspaces from now on.",
    RunnerStatus.CHANGED: (
        "What version {version} adds is handed out once somebody approves it; what it takes away "
        "is handed out no more."
    ),
    RunnerStatus.EXPIRED: "Nothing is handed to it any more.",
    None: "Nothing is handed to it any more.",
}


class TellOwners(Write, frozen=True):
    """Each active owner with an address has a letter. Who becomes one by what is written later with
    it has none.

    Of an `id` one letter waits for an owner: the newest, which then says that there were others.
    `page` is the path of what they then look at.
    """

    id: str
    organization_id: str
    subject: str
    text: str
    page: str = ""


def joined(found: Found, newcomers: Sequence[Membership]) -> Decision[None]:
    """Who owns an organization is told which of these, who come to be in its owners team or active,
    are owners by that, and who has done it. It is written before they are.
    """
    names = sorted(one.user.username for one in newcomers if one.counts_as_owner)
    if not names or found.caller.actor is None:
        return Decision(None)
    id_, place = newcomers[0].organization_id, newcomers[0].organization_name
    by = _doer(found)
    did = "accepted an invitation" if by in names else "did that"
    text = (
        f"New owners of {place} since {moment(found.now):%Y-%m-%d %H:%M} UTC: "
        f"{some_of(names[:MOST_NAMED], len(names))}. {by} {did}. "
        f"{UNWANTED.format('take them out of the owners team')}"
    )
    return Decision(None, (TellOwners(f"owners of {id_}", id_, f"New owners of {place}", text),))


def of_runner(
    found: Found, runner: Runner, place: str, did: str, stands: RunnerStatus | None
) -> TellOwners:
    """Who owns an organization, which is called `place`, is told who `did` what to a runner, and
    where that stands now; None: it is gone. What is so again later is another letter.

    No more letters wait than there are letters and digits, however many runners come and go.
    """
    id_ = f"runners {runner.id[-1:]} of {runner.organization_id}"
    name, version, by = runner.spec.name, runner.version, _doer(found)
    text = (
        f"The runner {name} of {place}, version {version}: {_STANDS[stands]}. "
        f"{by} {did} at {moment(found.now):%Y-%m-%d %H:%M:%S} UTC. "
        f"{_MEANS[stands].format(version=version)} "
        f"{UNWANTED.format('delete the runner' if stands else 'rotate what it was handed')}"
    )
    subject = f"Runner {name} of {place}: {_STANDS[stands]}"
    return TellOwners(id_, runner.organization_id, subject, text, f"/app/{place}/runners")


def _doer(found: Found) -> str:
    """What whoever calls is called."""
    actor = found.caller.actor
    assert actor is not None  # every change comes after its access check
    user = found.of(UserWithId(actor.id)) if actor.kind == "user" else None
    return _NAMELESS[actor.kind] if user is None else user.username
