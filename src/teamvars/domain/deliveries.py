"""What a job is handed: the token it asks with, what it asks for, and what stays of it."""

from collections.abc import Iterable, Mapping, Sequence, Set
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from teamvars.domain.errors import Fault, invalid
from teamvars.domain.key_names import Globs, wildcards_within
from teamvars.domain.runners import Runner
from teamvars.domain.variables import StoredVariable, Variable
from teamvars.kernel import Discreet
from teamvars.kernel.variables import Category

MAX_GLOBS = 50
MAX_WILDCARDS = 20
"""In all globs of a delivery together, but for a `*` at the end of each: every key is tried."""
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


class Earlier(msgspec.Struct, frozen=True, array_like=True):
    """When a variable was handed out, at `at` in µs UTC, in which version and run."""

    version_id: str
    at: int
    run_link: str | None


class LastDelivery(msgspec.Struct, frozen=True):
    """The last time a workspace was delivered to a runner, at `at` in µs UTC: the versions of its
    variables, by their ids. `earlier` has those that were only handed out before.
    """

    runner_id: str
    workspace_id: str
    organization_id: str
    at: int
    versions: Mapping[str, str]
    run_link: str | None
    earlier: Mapping[str, Earlier] = {}

    def following(self, before: "LastDelivery", present: Set[str]) -> "LastDelivery":
        """The same, which remembers what was handed out before, of the variables that are there or
        elsewhere still.
        """
        left = present - self.versions.keys()
        known = {id_: one for id_, one in before.earlier.items() if id_ in left}
        for id_, version_id in before.versions.items():
            if id_ in left:
                known[id_] = Earlier(version_id, before.at, before.run_link)
        return replace(self, earlier=known)

    def all_versions(self) -> dict[str, str]:
        """The last version that was handed out of each variable, by their ids."""
        return {id_: one.version_id for id_, one in self.earlier.items()} | dict(self.versions)

    def of_variable(self, variable_id: str) -> "LastDelivery":
        """What it says of that variable alone."""
        versions, earlier = (
            {id_: said for id_, said in found.items() if id_ == variable_id}
            for found in (self.versions, self.earlier)
        )
        return replace(self, versions=versions, earlier=earlier)


class ReceiptSearch(msgspec.Struct, frozen=True):
    """Which receipts are wanted; None: whichever there are. A workspace and a runner have their
    name or id, a variable has its id.
    """

    workspace: str | None = None
    runner: str | None = None
    variable: str | None = None


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


ENDED = frozenset({Since.REVOKED, Since.DELETED})
"""What somebody has ended: whatever was handed out until then is to be rotated."""


class HandedVariable(msgspec.Struct, frozen=True, array_like=True):
    """A variable of which some version was handed out."""

    id: str
    key: str
    category: Category
    version_id: str


class ReceiptView(msgspec.Struct, frozen=True):
    """A receipt as those see it who may. `to_rotate`: where nothing is handed to the runner any
    more, the sensitive variables that still have the version that was.
    """

    receipt: Receipt
    since: Since
    to_rotate: Sequence[HandedVariable] = ()


class Nameable(msgspec.Struct, frozen=True):
    """A variable that a job learns the name of, and whether it is handed the value."""

    variable: Variable
    is_handed_out: bool


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
        if wildcards_within(self.only) > MAX_WILDCARDS:
            most = f"at most {MAX_WILDCARDS} * and ?, beside one * at the end of each"
            faults.append(invalid("only", f"These have {most}."))
        return faults

    def wanted(self, variables: Iterable[StoredVariable]) -> list[StoredVariable]:
        """Those of the variables that it asks for."""
        globs = Globs(self.only)
        return [one for one in variables if not self.only or globs.match(one.variable.key)]
