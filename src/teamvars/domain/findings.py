"""What `doctor` finds of signing in and of runners: providers with which nobody can, organizations
that nobody can sign in to, what nobody is handed anything for, and what soon ends.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from teamvars.domain.diagnosis import Finding, Severity, some_of
from teamvars.domain.federation import IssuerKind, kind_of
from teamvars.domain.names import fold
from teamvars.domain.organizations import Organization
from teamvars.domain.runners import Runner
from teamvars.domain.sign_ins import Provider
from teamvars.domain.times import DAY

_OK, _ADVICE, _PROBLEM = Severity.OK, Severity.ADVICE, Severity.PROBLEM
_MOST_APART = 60
"""How many seconds a provider's clock may be from ours: what it says is good as long."""
_NOBODY_IS_THERE = {
    "login_required",
    "interaction_required",
    "account_selection_required",
    "consent_required",
}
"""What a provider says that was asked to show no page (OpenID Connect Core 1.0, 3.1.2.6)."""
_CLIENT_IS_REFUSED = {"invalid_client", "unauthorized_client"}
"""What it says to a secret that is not the client's (RFC 6749, 5.2); Keycloak says the latter."""

_Told = tuple[Severity, Sequence["Examined"], str]
"""How bad it is, of which runners, and what is said of them."""
SOON = 14 * DAY
"""Microseconds before its end that a runner is named."""
_MOST_NAMED = 20


class ProviderTrial(msgspec.Struct, frozen=True):
    """What came of asking a provider as if somebody signed in who is not signed in there.

    `reason`: why it could not be asked. `keys`: how many it has. `error`: that with which it has
    sent the browser back to `redirect`, and empty without one; None: it has not. `refusal`: the
    error with which it refused a code that it never gave.
    """

    name: str
    issuer: str
    client_id: str
    redirect: str
    reason: str | None = None
    keys: int = 0
    seconds_apart: int = 0
    error: str | None = None
    refusal: str = ""


def provider_findings(trial: ProviderTrial) -> list[Finding]:
    """Whether people can sign in there."""
    unable = _unable(trial)
    return [_way_back(trial), _client(trial)] if unable is None else [unable]


def _unable(trial: ProviderTrial) -> Finding | None:
    """Why nobody can, whichever client they come from."""
    subject, issuer = f"provider {trial.name}", trial.issuer
    if trial.reason is not None:
        text = f"{issuer} cannot be asked: {trial.reason}. Check its address, and the way there."
        return Finding(_PROBLEM, subject, text)
    if not trial.keys:
        text = f"{issuer} has no key to use: RSA from 2048 bits, P-256 or Ed25519, for signatures."
        return Finding(_PROBLEM, subject, text)
    if trial.seconds_apart > _MOST_APART:
        text = (
            f"The clocks of {issuer} and of this host are {trial.seconds_apart} s apart, so that "
            "nobody can sign in. Synchronise this one."
        )
        return Finding(_PROBLEM, subject, text)
    return None


def _way_back(trial: ProviderTrial) -> Finding:
    """Whether it lets browsers come back here."""
    subject, issuer = f"provider {trial.name}", trial.issuer
    if trial.error is None:
        text = (
            f"{issuer} did not send a browser back to {trial.redirect}. See that this address is "
            f"registered there, for the client {trial.client_id}."
        )
        return Finding(_ADVICE, subject, text)
    if trial.error and trial.error not in _NOBODY_IS_THERE:
        text = f"{issuer} signs nobody in: {trial.error}. Check the client {trial.client_id} there."
        return Finding(_PROBLEM, subject, text)
    text = f"{issuer} answers; keys: {trial.keys}; it sends browsers back to {trial.redirect}"
    return Finding(_OK, subject, text)


def _client(trial: ProviderTrial) -> Finding:
    """Whether it takes the client's secret, as far as a code tells that it never gave."""
    subject, issuer = f"provider {trial.name}", trial.issuer
    if trial.refusal in _CLIENT_IS_REFUSED:
        text = (
            f"{issuer} refuses the client {trial.client_id}: {trial.refusal}. Check client_id and "
            "client_secret_file."
        )
        return Finding(_PROBLEM, subject, text)
    if trial.refusal != "invalid_grant":
        text = (
            f"{issuer} answers a code that it never gave with: {trial.refusal}. A provider that "
            "knows the client says invalid_grant. See there whether client_secret_file is right."
        )
        return Finding(_ADVICE, subject, text)
    text = f"{issuer} takes the client {trial.client_id}, and refuses a code that it never gave"
    return Finding(_OK, subject, text)


def sign_in_findings(
    organizations: Iterable[Organization], providers: Iterable[Provider]
) -> list[Finding]:
    """That nobody gets into organizations whose members have to sign in, with none of these."""
    spoken_for = {fold(name) for one in providers for name in one.organizations}
    required = (one.name for one in organizations if one.sso_required)
    text = (
        "Members of {} have to sign in, and no provider that is set up signs people in there. Name "
        "it in the organizations of one, or let an owner take sso-required back: teamvars token "
        "create --user OWNER --expires 1h"
    )
    return [
        Finding(_PROBLEM, "sign-in", text.format(name))
        for name in sorted(required)
        if fold(name) not in spoken_for
    ]


class Examined(msgspec.Struct, frozen=True):
    """A runner, as ORG/NAME, whether its approval is one that was made with the keyring, and the
    workspaces of its organization: names by id. `is_altered`: its present version is not what the
    trail says was proposed.
    """

    title: str
    runner: Runner
    holds: bool
    workspaces: Mapping[str, str] = {}
    is_altered: bool = False

    @property
    def waits(self) -> bool:
        """Whether its present version was never approved."""
        approval = self.runner.approval
        return approval is None or approval.version != self.runner.version

    @property
    def joins(self) -> bool:
        """Whether its approved version matches workspaces that were not there at the approval."""
        approval = self.runner.approval
        reach = self.runner.spec.reach(self.workspaces)
        return approval is not None and not self.waits and bool(reach - approval.reach)

    @property
    def has_idle_pattern(self) -> bool:
        """Whether a pattern matches no workspace."""
        spec = self.runner.spec
        alone = (replace(spec, workspace_patterns=(one,)) for one in spec.workspace_patterns)
        return any(not any(map(one.is_named, self.workspaces.values())) for one in alone)


class Ways(msgspec.Struct, frozen=True):
    """What runners need of the installation: issuers that are accepted, an address that tokens are
    made out to, and a key to sign with.
    """

    issuers: Collection[str]
    has_url: bool
    has_server_key: bool


def runner_findings(examined: Sequence[Examined], ways: Ways, now: int) -> list[Finding]:
    """What somebody should know of them, or mend; nothing where there are none and no issuers."""
    as_proposed = [one for one in examined if not one.is_altered]
    told = [*_of_altered(examined), *_of_ended(as_proposed, now)]
    going = [one for one in as_proposed if one.runner.spec.expires_at > now]
    told += _of_approvals(going, ways)
    approved = [one for one in examined if one.holds and one.runner.expires_at() > now]
    told += [*_of_approved(approved, now), *_of_ways(approved, ways)]
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


def _of_altered(examined: Sequence[Examined]) -> Iterator[_Told]:
    altered = [one for one in examined if one.is_altered]
    yield (
        Severity.PROBLEM,
        altered,
        (
            "are not what was proposed: the row was altered, or its entry in the trail. No more "
            "than was approved is handed out, and no change of it is taken. Look: teamvars "
            "approvals list; propose what it should be as another runner, and: teamvars runner "
            "delete NAME"
        ),
    )


def _of_ended(examined: Sequence[Examined], now: int) -> Iterator[_Told]:
    ended = [one for one in examined if one.runner.spec.expires_at <= now]
    yield (
        Severity.ADVICE,
        ended,
        (
            "have ended: nothing is handed out. Propose a later end: teamvars runner update NAME "
            "--expires 60d; or: teamvars runner delete NAME"
        ),
    )


def _of_approvals(going: Sequence[Examined], ways: Ways) -> Iterator[_Told]:
    """Of those that have not ended: whether they are approved, and for an issuer that counts."""
    foreign = [one for one in going if one.runner.spec.issuer not in (None, *ways.issuers)]
    yield (
        Severity.PROBLEM,
        foreign,
        (
            "name an issuer that is not accepted: nothing is handed out. Add it to "
            "TEAMVARS_ISSUERS and restart, or: teamvars runner delete NAME"
        ),
    )
    rest = [one for one in going if one not in foreign]
    altered = [one for one in rest if one.runner.approval is not None and not one.holds]
    yield (
        Severity.PROBLEM,
        altered,
        (
            "have an approval that does not hold: the row was altered, a key of the keyring is "
            "gone, or the issuer's keys or TEAMVARS_RUNNER_APPROVAL are others. Nothing is handed "
            "out. Look: teamvars approvals list"
        ),
    )
    waiting = [one for one in rest if one not in altered and one.waits]
    what = "wait for approval. Look: teamvars approvals list"
    yield Severity.ADVICE, waiting, what


def _of_approved(approved: Sequence[Examined], now: int) -> Iterator[_Told]:
    """Of those that may be handed values: what people should know of them."""
    advice = Severity.ADVICE
    idle = [one for one in approved if one.has_idle_pattern]
    what = "have a pattern that no workspace matches. Look: teamvars approvals list"
    yield advice, idle, what
    joining = [one for one in approved if one.joins]
    what = "match workspaces that wait for the next approval. Look: teamvars approvals list"
    yield advice, joining, what
    what = (
        "rest on an environment of GitHub, which protects nothing unless it has protection rules. "
        "Look there, the service cannot: gh api repos/OWNER/REPOSITORY/environments"
    )
    yield advice, [one for one in approved if _rests_on_environment(one.runner)], what
    what = (
        "take tokens that name no key: whoever has one first gets the values. Where jobs can do "
        "without: teamvars runner update NAME --bound"
    )
    yield advice, [one for one in approved if one.runner.allows_unbound], what
    soon = [one for one in approved if one.runner.expires_at() <= now + SOON]
    what = (
        "end within 14 days. Propose a later end, and approve it: teamvars runner update NAME "
        "--expires 60d"
    )
    yield advice, soon, what


def _of_ways(approved: Sequence[Examined], ways: Ways) -> Iterator[_Told]:
    """What keeps those from being handed anything that may be."""
    what = "are approved, and no job gets a token. Set TEAMVARS_PUBLIC_URL"
    yield Severity.PROBLEM, [] if ways.has_url else approved, what
    what = "are approved, and nothing signs what they are handed. Run: teamvars server-key rotate"
    yield Severity.PROBLEM, [] if ways.has_server_key else approved, what


def _rests_on_environment(runner: Runner) -> bool:
    spec = runner.spec
    return kind_of(spec.issuer or "") is IssuerKind.GITHUB and "environment" in spec.conditions


def _named(some: Iterable[Examined]) -> str:
    titles = sorted(one.title for one in some)
    return f"Runners ({len(titles)}: {some_of(titles[:_MOST_NAMED], len(titles))})"
