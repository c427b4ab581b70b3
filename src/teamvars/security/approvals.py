"""Approvals of runners, and tokens of their jobs: each has a MAC over the whole of it.

Whoever can write to the database can put anything into the rows of runners and tokens, and gets
nothing for it: what was not approved, or not issued, under a key of the keyring hands out nothing.
"""

import hashlib
import hmac

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from msgspec.structs import replace

from teamvars.domain.deliveries import JobToken
from teamvars.domain.runners import Approval, Runner, RunnerSpec
from teamvars.security import length_prefixed
from teamvars.security.keyring import Keyring

_LABEL = b"teamvars approval of a runner 1"
_TOKEN_LABEL = b"teamvars token of a job 1"


def digest(runner: Runner, spec: RunnerSpec, reach: frozenset[str], issuer: str) -> str:
    """What names a version with all that it would reach, in hex: SHA-256."""
    return hashlib.sha256(_looked_at(runner, runner.version, spec, reach, issuer)).hexdigest()


class Approvals:
    """Makes and checks approvals, and tokens of jobs, under the audit keys of the keyring."""

    def __init__(self, keyring: Keyring) -> None:
        self.take(keyring)

    def take(self, keyring: Keyring) -> None:
        """See `keyring.User`."""
        self._active = keyring.audit.active
        self._keys = _derived(keyring, _LABEL)
        self._token_keys = _derived(keyring, _TOKEN_LABEL)

    def sealed(self, runner: Runner, approval: Approval) -> Approval:
        """The approval with its MAC."""
        unsealed = replace(approval, key_id=self._active)
        return replace(unsealed, mac=self._mac(runner, unsealed))

    def was_approved(self, runner: Runner) -> bool:
        """Whether its approval was made under a key of the keyring, whatever counts at present: the
        operator may change that back.
        """
        approval = runner.approval
        if approval is None or approval.key_id not in self._keys:
            return False
        return hmac.compare_digest(self._mac(runner, approval), approval.mac)

    def issued(self, token: JobToken) -> JobToken:
        """The token with its MAC."""
        unsealed = replace(token, key_id=self._active)
        return replace(unsealed, mac=self._token_mac(unsealed))

    def has_issued(self, token: JobToken) -> bool:
        """Whether the token was issued under a key of the keyring, just as it is."""
        if token.key_id not in self._token_keys:
            return False
        return hmac.compare_digest(self._token_mac(token), token.mac)

    def _token_mac(self, token: JobToken) -> bytes:
        key = token.hash, token.thumbprint, token.is_bound, token.expires_at, token.key_id
        place = token.runner_id, token.version, token.workspace_id, token.run_link
        claims = [text for claim in sorted(token.claims.items()) for text in claim]
        return _made(self._token_keys[token.key_id], length_prefixed(*key, *place, *claims))

    def _mac(self, runner: Runner, approval: Approval) -> bytes:
        what = _looked_at(runner, approval.version, approval.spec, approval.reach, approval.issuer)
        who = length_prefixed(
            approval.mode, approval.approved_at, approval.approved_by, approval.key_id
        )
        return _made(self._keys[approval.key_id], what + who)


def _derived(keyring: Keyring, label: bytes) -> dict[str, HMAC]:
    """Starts of MACs, which are copied for each use: as in `Chain`."""
    return {
        key_id: HMAC(hmac.digest(key, label, "sha256"), SHA256())
        for key_id, key in keyring.audit.usable.items()
    }


def _made(start: HMAC, what: bytes) -> bytes:
    mac = start.copy()
    mac.update(what)
    return mac.finalize()


def _looked_at(
    runner: Runner, version: int, spec: RunnerSpec, reach: frozenset[str], issuer: str
) -> bytes:
    fields = runner.id, runner.organization_id, version, spec.encode(), issuer, len(reach)
    return length_prefixed(*fields, *sorted(reach))
