"""What a store has lost: rows that its streams count, and data keys that open."""

from collections.abc import Sequence

import msgspec

from teamvars.domain.diagnosis import Finding, Severity
from teamvars.domain.workspaces import Usage

_WHOLE = "every row is there that a stream counts, and every data key opens"


class Losses(msgspec.Struct, frozen=True):
    """Some losses of a kind, each in words, and how many there are."""

    named: Sequence[str]
    total: int


def usage_loss(stream_id: str, said: Usage, found: Usage) -> str:
    """A workspace that should hold what its stream says, and holds something else."""
    return f"{stream_id} has {_in_words(found)} instead of {_in_words(said)}"


def entries_loss(stream_id: str, sequence: int, found: int, newest: int) -> str:
    """A stream that should have every entry up to its number, and has others."""
    return f"{stream_id} has {found}, the last of them number {newest}, instead of {sequence}"


def loss_findings(
    *, usages: Losses, entries: Losses, streams: Losses, data_keys: Losses
) -> list[Finding]:
    """A problem for each kind of loss; where there is none, that all is there."""
    told = (
        ("variables", usages, "Workspaces whose variables are not those that were counted"),
        ("audit", entries, "Streams whose audit entries are not those that were counted"),
        ("streams", streams, "Streams without their subject, or subjects without their stream"),
        ("data keys", data_keys, "Organizations whose values cannot be read"),
    )
    found = [
        Finding(
            Severity.PROBLEM,
            subject,
            f"{what} ({losses.total}): {_named(losses)}. Restore a backup that is whole.",
        )
        for subject, losses, what in told
        if losses.total
    ]
    return found or [Finding(Severity.OK, "rows", _WHOLE)]


def damage_findings(damaged: Losses, opened: int, *, every: bool) -> list[Finding]:
    """Of the values that were tried, every one there is or one of each data key, those that are
    damaged; `opened` are not.
    """
    tried = "every value" if every else "a value of each data key; 'doctor --all' opens every one"
    if not damaged.total:
        return [Finding(Severity.OK, "values", f"{opened} open: {tried}")]
    text = (
        f"Values that do not open ({damaged.total}, and {opened} open): {_named(damaged)}. "
        "Write new ones over them, or delete the variables."
    )
    return [Finding(Severity.PROBLEM, "values", text)]


def _in_words(usage: Usage) -> str:
    return f"{usage.variables} variables of {usage.value_bytes} bytes"


def _named(losses: Losses) -> str:
    more = losses.total - len(losses.named)
    return "; ".join(losses.named) + (f"; and {more} more" if more else "")
