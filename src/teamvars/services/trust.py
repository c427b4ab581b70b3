"""Whom the operator trusts to say what a job is, and which approvals are the operator's."""

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from urllib.parse import urlsplit

import structlog

from teamvars.domain.deliveries import JobToken
from teamvars.domain.runners import Approval, Runner
from teamvars.kernel import Discreet
from teamvars.security import approvals
from teamvars.security.approvals import Approvals
from teamvars.security.assertions import (
    MACHINE,
    Assertion,
    Claimed,
    Key,
    Unproven,
    chosen,
    claimed,
    keys_of,
    machine_key,
    proven,
)
from teamvars.security.keyring import Keyring

_FRESH_SECONDS = 3600.0
"""How long the keys of an issuer are used at most."""
_ASK_SECONDS = 60.0
"""How often an issuer is asked at most, whatever keys tokens name."""
_TIMEOUT_SECONDS = 5.0
_MAX_BYTES = 256 * 1024

log = structlog.get_logger("teamvars.issuers")


class Issuer(Discreet, frozen=True):
    """An issuer that the operator accepts: its keys if the operator gave them, else None."""

    url: str
    keys: bytes | None = None


class IssuerKeys:
    """The keys of one issuer, asked for when they are needed: one look at a time."""

    def __init__(self, issuer: Issuer) -> None:
        self._issuer = issuer
        self._keys: Sequence[Key] = () if issuer.keys is None else keys_of(issuer.keys)
        self._asked_at = self._known_at = float("-inf")
        self._asking = asyncio.Lock()

    async def key_for(self, said: Claimed) -> Key:
        """The key that a token means. Raises Unproven: there is none, or nobody can say."""
        if self._issuer.keys is not None:
            return _existing(chosen(said, self._keys))
        async with self._asking:
            now = asyncio.get_running_loop().time()
            is_fresh = now - self._known_at < _FRESH_SECONDS
            found = chosen(said, self._keys) if is_fresh else None
            if found is not None:
                return found
            if now - self._asked_at >= _ASK_SECONDS:
                self._asked_at = now
                self._keys = await asyncio.to_thread(_fetched, self._issuer.url)
                self._known_at = now
                is_fresh = True
            return _existing(chosen(said, self._keys) if is_fresh else None)


class Trust:
    """What is believed of jobs and of runners, without a look at any store."""

    def __init__(self, keyring: Keyring, issuers: Sequence[Issuer] = ()) -> None:
        self._approvals = Approvals(keyring)
        self._keys = {issuer.url: IssuerKeys(issuer) for issuer in issuers}
        self._sources = {issuer.url: _source(issuer) for issuer in issuers}

    @property
    def issuers(self) -> Mapping[str, str]:
        """Each issuer that is accepted, with where its keys are from."""
        return self._sources

    def digest(self, runner: Runner, reach: frozenset[str]) -> str:
        """What names the runner's present version with all that it would reach, in hex."""
        issuer = runner.spec.issuer
        source = "" if issuer is None else self._sources.get(issuer, "")
        return approvals.digest(runner, runner.spec, reach, source)

    def sealed(self, runner: Runner, approval: Approval) -> Approval:
        """The approval with its MAC."""
        return self._approvals.sealed(runner, approval)

    def holds(self, runner: Runner) -> bool:
        """Whether its approval was made under a key of the keyring, for keys from there."""
        if runner.approval is None:
            return False
        issuer = runner.approval.spec.issuer
        source = "" if issuer is None else self._sources.get(issuer)
        return runner.approval.issuer == source and self._approvals.holds(runner)

    def issued(self, token: JobToken) -> JobToken:
        """The token with its MAC."""
        return self._approvals.issued(token)

    def has_issued(self, token: JobToken) -> bool:
        """Whether the token was issued under a key of the keyring, just as it is."""
        return self._approvals.has_issued(token)

    async def proven(self, token: str, now: int) -> tuple[Assertion, str | None]:
        """What a token says of a job now (seconds since 1970), and the key of its machine if that
        has signed it. Raises Unproven.
        """
        said = claimed(token)
        if said.issuer.startswith(MACHINE):
            return proven(said, machine_key(said.issuer), now), said.issuer.removeprefix(MACHINE)
        keys = self._keys.get(said.issuer)
        if keys is None:
            raise Unproven("an issuer that is not accepted")
        return proven(said, await keys.key_for(said), now), None


# What is not here is not done: no redirects, no proxies, no scheme but https.
_OPENER = urllib.request.OpenerDirector()
for _handler in (
    urllib.request.HTTPSHandler(),
    urllib.request.HTTPDefaultErrorHandler(),
    urllib.request.HTTPErrorProcessor(),
):
    _OPENER.add_handler(_handler)


def _fetched(issuer: str) -> Sequence[Key]:
    """The keys of an issuer (OpenID Connect Discovery 1.0). Raises Unproven."""
    try:
        found = json.loads(_read(f"{issuer.rstrip('/')}/.well-known/openid-configuration"))
        if found["issuer"] != issuer:
            raise Unproven("an issuer that calls itself otherwise")
        return keys_of(_read(found["jwks_uri"]))
    except (OSError, HTTPException, ValueError, KeyError, TypeError, RecursionError) as error:
        log.warning(
            "the keys of an issuer cannot be had", issuer=issuer, error=type(error).__name__
        )
        raise Unproven("an issuer whose keys cannot be had") from None


def _read(url: str) -> bytes:
    """What is there, by https alone. Raises OSError, ValueError."""
    if urlsplit(url).scheme != "https":
        raise ValueError
    with _OPENER.open(url, timeout=_TIMEOUT_SECONDS) as answer:
        content: bytes = answer.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise ValueError
    return content


def _existing(key: Key | None) -> Key:
    if key is None:
        raise Unproven("a key that the issuer does not have")
    return key


def _source(issuer: Issuer) -> str:
    if issuer.keys is None:
        return issuer.url
    return "keys " + " ".join(sorted(key.thumbprint() for key in keys_of(issuer.keys)))
