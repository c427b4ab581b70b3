"""What a job is handed: the token it asks with, what it asks for, and what stays of it."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase

import msgspec

from teamvars.domain.errors import Fault, invalid
from teamvars.domain.runners import Runner
from teamvars.kernel import Discreet

MAX_GLOBS = 50
_MAX_GLOB_CHARACTERS = 256


class JobToken(Discreet, frozen=True):
    """A token of a job, which delivers one workspace to one key. `expires_at` in µs UTC.

    `claims` are those of the job that its runner asks for. `mac`, under the audit key with that id,
    covers all the rest: a token that was written into the database by somebody else delivers
    nothing.
    """

    hash: bytes
    runner_id: str
    version: int
    workspace_id: str
    thumbprint: str
    is_bound: bool
    claims: Mapping[str, str]
    run_link: str | None
    expires_at: int
    key_id: str = ""
    mac: bytes = b""


class LastDelivery(msgspec.Struct, frozen=True):
    """The last time a workspace was delivered to a runner, at `at` in µs UTC: the versions of its
    variables, by their ids.
    """

    runner_id: str
    workspace_id: str
    organization_id: str
    at: int
    versions: Mapping[str, str]
    run_link: str | None


class Receipt(msgspec.Struct, frozen=True):
    """The last delivery of a workspace to a runner, which may both be gone by now: then there is no
    runner, and no name of the workspace.
    """

    delivery: LastDelivery
    runner: Runner | None
    workspace: str | None


class Since(StrEnum):
    """What has become of a runner since it was handed something."""

    APPROVED = "approved"
    CHANGED = "changed"
    EXPIRED = "expired"
    REVOKED = "revoked"
    DELETED = "deleted"


class ReceiptView(msgspec.Struct, frozen=True):
    """A receipt as owners see it."""

    receipt: Receipt
    since: Since


class DeliveryDraft(Discreet, frozen=True):
    """What a job asks for: the public key to seal to, and which keys it wants; none: all."""

    public_key: bytes = b""
    only: Sequence[str] = ()
    faults: tuple[Fault, ...] = ()

    def all_faults(self) -> list[Fault]:
        """Those of the document, and every rule it breaks."""
        faults = list(self.faults)
        if len(self.only) > MAX_GLOBS or any(len(g) > _MAX_GLOB_CHARACTERS for g in self.only):
            length = f"{MAX_GLOBS} globs of {_MAX_GLOB_CHARACTERS} characters"
            faults.append(invalid("only", f"This names at most {length}."))
        return faults

    def wants(self, key: str) -> bool:
        """Whether it asks for a variable with that key."""
        return not self.only or any(fnmatchcase(key, glob) for glob in self.only)
