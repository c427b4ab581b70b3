"""Whom the operator trusts to say what a job is, and which approvals are the operator's."""

import ssl
from collections.abc import Mapping, Sequence

from teamvars.domain.deliveries import JobToken
from teamvars.domain.runners import Approval, ApprovalMode, Runner
from teamvars.protocol import MACHINE
from teamvars.security import approvals
from teamvars.security.approvals import Approvals
from teamvars.security.assertions import (
    Claimed,
    Key,
    Unproven,
    machine_key,
)
from teamvars.security.keyring import Keyring
from teamvars.services.issuers import Issuer, IssuerKeys


class Trust:
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
        self._mode = mode
        self._approvals = Approvals(keyring)
        self._keys = {issuer.url: IssuerKeys(issuer, tls) for issuer in issuers}
        self._sources = {issuer.url: issuer.source for issuer in issuers}

    @property
    def mode(self) -> ApprovalMode:
        """Who approves."""
        return self._mode

    def take(self, keyring: Keyring) -> None:
        """See `keyring.User`."""
        self._approvals.take(keyring)

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
        """Whether its approval was made under a key of the keyring, for keys from there, by a rule
        that counts in this mode.
        """
        if runner.approval is None or not self._mode.accepts(runner.approval.mode):
            return False
        issuer = runner.approval.spec.issuer
        source = "" if issuer is None else self._sources.get(issuer)
        return runner.approval.issuer == source and self.was_approved(runner)

    def was_approved(self, runner: Runner) -> bool:
        """Whether its approval was made under a key of the keyring, whatever counts at present: the
        operator may change that back.
        """
        return self._approvals.holds(runner)

    def issued(self, token: JobToken) -> JobToken:
        """The token with its MAC."""
        return self._approvals.issued(token)

    def has_issued(self, token: JobToken) -> bool:
        """Whether the token was issued under a key of the keyring, just as it is."""
        return self._approvals.has_issued(token)

    async def key_for(self, said: Claimed) -> Key:
        """The key that must have signed the token. Raises Unproven."""
        if said.issuer.startswith(MACHINE):
            return machine_key(said.issuer)
        keys = self._keys.get(said.issuer)
        if keys is None:
            raise Unproven("an issuer that is not accepted")
        return await keys.key_for(said)
