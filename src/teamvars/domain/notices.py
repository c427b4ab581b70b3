"""What people are told by mail: owners of an organization of a runner, where it stands since it
changed; and whoever a memo is for of what it says.
"""

import msgspec

from teamvars.domain.runners import Runner, RunnerStatus
from teamvars.domain.times import DAY

GIVEN_UP_AFTER = 10
"""Attempts, in about a day."""
STALE_AFTER = DAY
"""In µs: what has waited for longer, because there was no mail, is told no more."""

UNWANTED = (
    "If no owner wanted that, {}, look at the organization's audit trail, and revoke the tokens of "
    "who did it."
)
"""What an owner can do about it, with what comes first."""
AND_BEFORE = (
    "This letter takes the place of others that were not sent in time: the audit trail has what "
    "they said."
)
"""What a letter says besides that takes the place of another."""

_STANDS = {
    RunnerStatus.PROPOSED: "waits for approval",
    RunnerStatus.APPROVED: "approved",
    RunnerStatus.CHANGED: "a change waits for approval",
    RunnerStatus.EXPIRED: "expired",
}
_MEANS = {
    RunnerStatus.PROPOSED: "Nothing is handed to it before somebody approves version {version}.",
    RunnerStatus.APPROVED: "Its jobs are handed the values of its workspaces from now on.",
    RunnerStatus.CHANGED: (
        "What version {version} adds is handed out once somebody approves it; what it takes away "
        "is handed out no more."
    ),
    RunnerStatus.EXPIRED: "Nothing is handed to it any more.",
}


class Notice(msgspec.Struct, frozen=True):
    """What one owner is told of a runner. `by` has approved or proposed what there is; None: no
    user has. `sequence` is that of the organization's stream: the same may be told again later.
    """

    address: str
    organization: str
    runner: str
    version: int
    stands: RunnerStatus
    by: str | None
    sequence: int

    @property
    def status(self) -> str:
        """Where it stands, in words."""
        return _STANDS[self.stands]

    def sentence(self) -> str:
        """What has become of it, and what that means."""
        verb = "approved" if self.stands is RunnerStatus.APPROVED else "proposed"
        who = "" if self.by is None else f" {self.by} {verb} it."
        means = _MEANS[self.stands].format(version=self.version)
        place = f"The runner {self.runner} of {self.organization}, version {self.version}"
        return f"{place}: {self.status}.{who} {means}"


class Memo(msgspec.Struct, frozen=True):
    """What somebody is told once, in plain text; it waits from then on, in µs UTC."""

    id: str
    address: str
    subject: str
    text: str
    due_at: int


def acted(runner: Runner, stands: RunnerStatus) -> str | None:
    """The id of who has approved it, or else of who has proposed it; None where no user has."""
    if stands is RunnerStatus.APPROVED and runner.approval is not None:
        return runner.approval.approved_by
    return runner.proposed_by
