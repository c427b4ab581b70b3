"""What `doctor` finds of runners: what nobody is handed anything for, and what soon ends."""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from teamvars.domain.diagnosis import Finding, Severity
from teamvars.domain.federation import IssuerKind, kind_of
from teamvars.domain.runners import Runner

SOON = 14 * 24 * 3600 * 1_000_000
"""Microseconds before its end that a runner is named."""
_MOST_NAMED = 20


class Examined(msgspec.Struct, frozen=True):
    """A runner, as ORG/NAME, and whether its approval is one that was made with the keyring."""

    title: str
    runner: Runner
    holds: bool


class Ways(msgspec.Struct, frozen=True):
    """What runners need of the installation: issuers that are accepted, an address that tokens are
    made out to, and a key to sign with.
    """

    issuers: Collection[str]
    has_url: bool
    has_server_key: bool


def runner_findings(examined: Sequence[Examined], ways: Ways, now: int) -> list[Finding]:
    """What somebody should know of them, or mend; nothing where there are none and no issuers."""
    altered = [one for one in examined if one.runner.approval is not None and not one.holds]
    approved = [one for one in examined if one.holds and one.runner.expires_at() > now]
    told = (
        (
            Severity.PROBLEM,
            altered,
            (
                "have an approval that does not hold: the row was altered, or the issuer's keys or "
                "TEAMVARS_ISSUERS are others. Nothing is handed out. Look: teamvars approvals list"
            ),
        ),
        (
            Severity.ADVICE,
            [one for one in approved if _rests_on_environment(one.runner)],
            (
                "rest on an environment of GitHub, which protects nothing unless it has protection "
                "rules. Look there: the service cannot"
            ),
        ),
        (
            Severity.ADVICE,
            [one for one in approved if one.runner.expires_at() <= now + SOON],
            "end within 14 days. Propose a later end, and approve it",
        ),
        (
            Severity.PROBLEM,
            [] if ways.has_url else approved,
            "are approved, and no job gets a token. Set TEAMVARS_PUBLIC_URL",
        ),
        (
            Severity.PROBLEM,
            [] if ways.has_server_key else approved,
            "are approved, and nothing signs what they are handed. Run: teamvars server-key rotate",
        ),
    )
    found = [
        Finding(severity, "runners", f"{_named(some)} {what}.")
        for severity, some, what in told
        if some
    ]
    unused = sorted(set(ways.issuers) - {one.runner.spec.issuer for one in examined})
    if unused:
        text = f"TEAMVARS_ISSUERS has issuers that no runner names: {', '.join(unused)}."
        found.append(Finding(Severity.ADVICE, "issuers", text))
    return found


def _rests_on_environment(runner: Runner) -> bool:
    spec = runner.spec
    is_github = spec.issuer is not None and kind_of(spec.issuer) is IssuerKind.GITHUB
    return is_github and "environment" in spec.conditions


def _named(some: Iterable[Examined]) -> str:
    titles = [one.title for one in some]
    more = len(titles) - _MOST_NAMED
    named = ", ".join(titles[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"Runners ({len(titles)}: {named})"
