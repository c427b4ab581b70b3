"""What `doctor` finds of signing in: providers with which nobody can, and organizations that nobody
can sign in to.
"""

from collections.abc import Iterable

import msgspec

from teamvars.domain.diagnosis import Finding, Severity
from teamvars.domain.names import fold
from teamvars.domain.organizations import Organization
from teamvars.domain.sign_ins import Provider

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
