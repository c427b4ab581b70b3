"""What issuers publish, their keys first: asked for over https, kept for an hour, and nobody else
waits for them; and whom the operator trusts to say what a job is, and which approvals are the
operator's.
"""

import asyncio
import json
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import structlog

from teamvars.domain.runners import ApprovalMode, Runner
from teamvars.kernel import Discreet
from teamvars.protocol import MACHINE
from teamvars.security import approvals
from teamvars.security.approvals import Approvals
from teamvars.security.assertions import (
    Claimed,
    Key,
    Unproven,
    chosen,
    keys_of,
    machine_key,
    public_keys_of,
)
from teamvars.security.keyring import Keyring
from teamvars.services import https

T = TypeVar("T")

FRESH_SECONDS = 3600.0
"""How long the keys of an issuer are used at most."""
RENEW_SECONDS = 1800.0
"""After how long they are asked for anew, while those there are still serve."""
ASK_SECONDS = 60.0
"""How often an issuer is asked at most, whatever keys tokens name."""
TIMEOUT_SECONDS = 5.0
"""For both documents together."""
_WATCH_SECONDS = 60.0
_AWAY = "an issuer whose keys cannot be had"

log = structlog.get_logger("teamvars.issuers")


class Issuer(Discreet, frozen=True):
    """An issuer that the operator accepts: its keys if the operator gave them, else None."""

    url: str
    keys: bytes | None = None

    @property
    def source(self) -> str:
        """Where its keys are from: the address, or which they are. Raises Unproven."""
        if self.keys is None:
            return self.url
        return "keys " + " ".join(sorted(key.thumbprint() for key in keys_of(self.keys)))


def given(url: str, file: Path) -> Issuer:
    """The issuer with the keys of a file. Raises Unproven: it does not serve."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise Unproven(error.strerror or type(error).__name__) from None
    public_keys_of(content)
    return Issuer(url, content)


class KeyFiles:
    """Files of keys, which are read when a process starts. What becomes of one later is told once:
    the next process would take other keys, or not start.
    """

    def __init__(self, files: Sequence[tuple[Issuer, Path]]) -> None:
        """`files`: with the issuers as they were read."""
        self._files = files
        self._told: dict[str, str | None] = {}

    async def watch(self) -> None:
        """Looks at them every minute."""
        while self._files:
            await asyncio.sleep(_WATCH_SECONDS)
            await asyncio.to_thread(self.look)

    def look(self) -> None:
        """Looks at them now."""
        for issuer, file in self._files:
            reason = _unlike(issuer, file)
            if reason is not None and reason != self._told.get(issuer.url):
                said = "the keys of an issuer stay as they were at the start"
                log.warning(said, issuer=issuer.url, file=str(file), reason=reason)
            self._told[issuer.url] = reason


def _unlike(issuer: Issuer, file: Path) -> str | None:
    """Why what is in the file now is not used; None: it is."""
    try:
        is_same = given(issuer.url, file).source == issuer.source
    except Unproven as unproven:
        return unproven.reason
    return None if is_same else "the file has others by now"


class Published(Discreet, frozen=True):
    """The keys of an issuer, and what it says of itself besides."""

    keys: Sequence[Key] = ()
    about: Mapping[str, Any] | None = None


class IssuerKeys:
    """The keys of one issuer, and where it is asked for more. Whoever means what is known never
    waits; the others share one look.
    """

    def __init__(
        self,
        issuer: Issuer,
        tls: ssl.SSLContext | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`tls`: who vouches for its servers; None: whom this machine trusts. `clock`: seconds
        since whenever.
        """
        self._fetch = partial(_fetched, issuer.url, tls)
        self._clock = clock
        self._are_given = issuer.keys is not None
        self._published = Published(() if issuer.keys is None else keys_of(issuer.keys))
        self._asked_at = self._known_at = float("-inf")
        self._looking: asyncio.Task[None] | None = None

    async def key_for(self, said: Claimed) -> Key:
        """The key that a token means. Raises Unproven: there is none, or nobody can say."""
        found: Key | None = await self._found(lambda published: chosen(said, published.keys))
        if found is None:
            raise Unproven("a key that the issuer does not have" if self._is_known() else _AWAY)
        return found

    async def about(self) -> Mapping[str, Any]:
        """What the issuer says of itself. Raises Unproven: nobody can say."""
        found = await self._found(lambda published: published.about)
        if found is None:
            raise Unproven("an issuer that cannot be asked")
        return found

    async def _found(self, among: Callable[[Published], T | None]) -> T | None:
        """What is known, once it was looked for."""
        found = self._known(among)
        if not self._are_given and (found is None or self._age() >= RENEW_SECONDS):
            looking = self._look()
            if found is None and looking is not None:
                await asyncio.shield(looking)
                found = self._known(among)
        return found

    def _known(self, among: Callable[[Published], T | None]) -> T | None:
        return among(self._published) if self._is_known() else None

    def _is_known(self) -> bool:
        return self._are_given or self._age() < FRESH_SECONDS

    def _age(self) -> float:
        return self._clock() - self._known_at

    def _look(self) -> asyncio.Task[None] | None:
        """The look that is under way, which may have begun now; None: the last was a moment ago."""
        if self._looking is None and self._clock() - self._asked_at >= ASK_SECONDS:
            self._asked_at = self._clock()
            self._looking = asyncio.create_task(self._renew())
        return self._looking

    async def _renew(self) -> None:
        try:
            self._published = await self._fetch()
            self._known_at = self._clock()
        except Unproven:
            pass  # it is in the log, and what was known goes on
        finally:
            self._looking = None


async def _fetched(issuer: str, tls: ssl.SSLContext | None) -> Published:
    """What an issuer publishes; the log says why not. Raises Unproven."""
    try:
        return await published(issuer, tls)
    except Unproven as unproven:
        log.warning("the keys of an issuer cannot be had", issuer=issuer, reason=unproven.reason)
        raise Unproven(_AWAY) from None


async def published(issuer: str, tls: ssl.SSLContext | None) -> Published:
    """What an issuer publishes (OpenID Connect Discovery 1.0). Raises Unproven."""
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            about = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
            found = json.loads(await https.get(about, tls))
            if found["issuer"] != issuer:
                raise Unproven("an issuer that calls itself otherwise")
            if not https.may_name(issuer, found["jwks_uri"]):
                raise Unproven("keys without TLS")
            return Published(keys_of(await https.get(found["jwks_uri"], tls)), found)
    except (
        *https.FAILURES,
        *(KeyError, TypeError, AttributeError, RecursionError),
    ) as error:
        raise Unproven(type(error).__name__) from None


class Trust(Approvals):
    """What is believed of jobs and of runners, without a look at any store."""

    def __init__(
        self,
        keyring: Keyring,
        issuers: Sequence[Issuer] = (),
        mode: ApprovalMode = ApprovalMode.OPERATOR,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`mode`: who approves. `tls`: who vouches for the servers of issuers; None: whom this
        machine trusts.
        """
        super().__init__(keyring)
        self.mode = mode
        self._keys_of = {issuer.url: IssuerKeys(issuer, tls) for issuer in issuers}
        self.issuers: Mapping[str, str] = {one.url: one.source for one in issuers}
        """Each issuer that is accepted, with where its keys are from."""

    def digest(self, runner: Runner, reach: frozenset[str]) -> str:
        """What names the runner's present version with all that it would reach, in hex."""
        issuer = runner.spec.issuer
        source = "" if issuer is None else self.issuers.get(issuer, "")
        return approvals.digest(runner, runner.spec, reach, source)

    def holds(self, runner: Runner) -> bool:
        """Whether its approval was made under a key of the keyring, for keys from there, by a rule
        that counts in this mode.
        """
        if runner.approval is None or not self.mode.accepts(runner.approval.mode):
            return False
        issuer = runner.approval.spec.issuer
        source = "" if issuer is None else self.issuers.get(issuer)
        return runner.approval.issuer == source and self.was_approved(runner)

    async def key_for(self, said: Claimed) -> Key:
        """The key that must have signed the token. Raises Unproven."""
        if said.issuer.startswith(MACHINE):
            return machine_key(said.issuer)
        keys = self._keys_of.get(said.issuer)
        if keys is None:
            raise Unproven("an issuer that is not accepted")
        return await keys.key_for(said)
