"""Runners: who may be handed the values of which workspaces, and what of that is approved.

A change makes a new version. What is handed out is what both the approved version and the present
one allow, so that what a change takes away stops at once, and what it adds waits for approval.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from teamvars.domain.errors import Code, Fault, invalid, other_id
from teamvars.domain.federation import Claims, condition_faults, matches, unmet
from teamvars.domain.key_names import Globs
from teamvars.domain.linked import IdsDraft
from teamvars.domain.names import fold, is_safe, name_faults
from teamvars.domain.times import DAY

MAX_RUNNERS = 100
"""Of one organization."""
MAX_WORKSPACES = 500
MAX_PATTERNS = 50
MAX_DESCRIPTION_CHARACTERS = 512
MAX_TTL_SECONDS = 3600
DEFAULT_TTL_SECONDS = 900
MIN_TTL_SECONDS = 60
LONGEST_LIFE = 90 * DAY
"""Microseconds ahead that a runner may end at most."""

_PATTERN = re.compile(r"[A-Za-z0-9_*-]{1,90}")
_PUBLIC_KEY = re.compile(r"[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]")
"""32 bytes in base64url, whose last letter has two bits that say nothing."""


class RunnerSpec(msgspec.Struct, frozen=True, omit_defaults=False):
    """What a version of a runner says; times in µs UTC.

    One proof: an `issuer` with `conditions` on its claims, or the `public_key` of a machine
    (Ed25519, in base64url). It reaches the workspaces with these ids, and those whose names match
    one of the patterns at the time of the approval.
    """

    name: str
    expires_at: int
    description: str = ""
    issuer: str | None = None
    conditions: Mapping[str, str] = {}
    public_key: str | None = None
    workspace_ids: tuple[str, ...] = ()
    workspace_patterns: tuple[str, ...] = ()
    include_sensitive: bool = True
    allow_unbound: bool = False
    max_ttl: int = DEFAULT_TTL_SECONDS

    def encode(self) -> str:
        """The one text for it."""
        return msgspec.json.encode(self, order="sorted").decode()

    @property
    def digest(self) -> str:
        """What names all that it says, in hex, as the trail has it: SHA-256."""
        return hashlib.sha256(self.encode().encode()).hexdigest()

    @classmethod
    def decode(cls, text: str) -> "RunnerSpec":
        """What such a text says. Raises msgspec.DecodeError for any other."""
        return msgspec.json.decode(text, type=cls)

    def reach(self, workspaces: Mapping[str, str]) -> frozenset[str]:
        """The ids that it reaches, of workspaces by id with their names."""
        named = frozenset(self.workspace_ids)
        return frozenset(
            id_ for id_, name in workspaces.items() if id_ in named or self.is_named(name)
        )

    def reaches(self, workspace_id: str, workspace: str) -> bool:
        """Whether it reaches the workspace with that id and name."""
        return workspace_id in self.workspace_ids or self.is_named(workspace)

    def is_named(self, workspace: str) -> bool:
        """Whether a pattern matches the name of a workspace."""
        return globs_of(self.workspace_patterns).match(fold(workspace))

    def is_met(self, issuer: str, public_key: str | None, claims: Claims) -> bool:
        """Whether a job proves to be what it means: by claims of the issuer, or by the key."""
        if self.public_key is not None:
            return public_key == self.public_key
        return public_key is None and issuer == self.issuer and matches(self.conditions, claims)


@lru_cache(MAX_RUNNERS)
def globs_of(patterns: tuple[str, ...]) -> Globs:
    """The patterns in the form in which names are compared."""
    return Globs(map(fold, patterns))


def unreadable(name: str) -> RunnerSpec:
    """Of a row that somebody has damaged: it means no job, reaches nothing and has ended long ago.
    No other runner can have its name, which the row has in a column of its own.
    """
    return RunnerSpec(name, 0, "What the database holds of this runner cannot be read.")


class ApprovalMode(StrEnum):
    """Who approves: an operator on the host, in every mode; also a second owner; also any owner."""

    OPERATOR = "operator"
    OWNERS = "owners"
    OWNER = "owner"

    def accepts(self, made_under: "ApprovalMode") -> bool:
        """Whether an approval that was made under a mode, by its rule, counts under this one."""
        modes = list(ApprovalMode)
        return modes.index(made_under) <= modes.index(self)


class Approval(msgspec.Struct, frozen=True):
    """What was approved: a version, and whatever it reached then.

    `issuer` says where the keys of the issuer are from, as the operator's setting has it. `mode` is
    whose rule it was approved by, by the account on the host or the owner with that id. `mac`,
    under the audit key with that id, covers it all.
    """

    version: int
    spec: RunnerSpec
    reach: frozenset[str]
    issuer: str
    mode: ApprovalMode
    approved_at: int
    approved_by: str
    key_id: str
    mac: bytes


NO_APPROVAL = Approval(0, unreadable(""), frozenset(), "", ApprovalMode.OPERATOR, 0, "", "", b"")
"""Of columns that somebody has damaged: no key of any keyring has made it."""


class RunnerStatus(StrEnum):
    """Where a runner stands: what it hands out follows from its approval."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    CHANGED = "changed"
    EXPIRED = "expired"


class Runner(msgspec.Struct, frozen=True):
    """A runner of an organization: its present version, and what of it is approved."""

    id: str
    organization_id: str
    version: int
    spec: RunnerSpec
    created_at: int
    proposed_by: str | None = None
    approval: Approval | None = None

    def status(self, now: int) -> RunnerStatus:
        """Where it stands at that time, in µs UTC."""
        if self.spec.expires_at <= now:
            return RunnerStatus.EXPIRED
        if self.approval is None:
            return RunnerStatus.PROPOSED
        # Whoever writes the database may have put something else into the row since.
        approved = self.approval.version, self.approval.spec
        is_present = approved == (self.version, self.spec)
        return RunnerStatus.APPROVED if is_present else RunnerStatus.CHANGED

    def expires_at(self) -> int:
        """When nothing is handed to it any more."""
        return min((spec.expires_at for spec in self._in_force()), default=0)

    def admits(self, workspace_id: str, workspace: str, now: int) -> bool:
        """Whether both versions reach the workspace at that time, the approved one as it was."""
        is_reached = self.spec.reaches(workspace_id, workspace)
        return is_reached and self.spec.expires_at > now and self.may_admit(workspace_id, now)

    def may_admit(self, workspace_id: str, now: int) -> bool:
        """Whether the approval reaches the workspace at that time. What it is called, and what the
        present version says, may keep it from being handed out, and may be changed back.
        """
        approval = self.approval
        return (
            approval is not None
            and approval.spec.expires_at > now
            and workspace_id in approval.reach
        )

    def is_met(self, issuer: str, public_key: str | None, claims: Claims) -> bool:
        """Whether a job is what both versions mean."""
        specs = self._in_force()
        return bool(specs) and all(spec.is_met(issuer, public_key, claims) for spec in specs)

    def unmet(self, issuer: str, public_key: str | None, claims: Claims) -> list[str]:
        """What a job says of itself that is not what both versions mean, by the names of claims."""
        names = [
            name
            for spec in self._in_force()
            if not spec.is_met(issuer, public_key, claims)
            for name in (unmet(spec.conditions, claims) if spec.issuer == issuer else ["iss"])
        ]
        return list(dict.fromkeys(names))

    @property
    def claim_names(self) -> set[str]:
        """The claims that either version asks for."""
        return {name for spec in self._in_force() for name in spec.conditions}

    @property
    def hands_out_sensitive(self) -> bool:
        """Whether both versions let a job that they mean have sensitive variables as well."""
        return all(spec.include_sensitive for spec in self._in_force())

    @property
    def allows_unbound(self) -> bool:
        """Whether a token is good that names no key."""
        return all(spec.allow_unbound for spec in self._in_force())

    @property
    def max_ttl(self) -> int:
        """For how many seconds a token is good at most."""
        return min(spec.max_ttl for spec in self._in_force())

    def _in_force(self) -> tuple[RunnerSpec, ...]:
        return () if self.approval is None else (self.approval.spec, self.spec)


class RunnerDraft(msgspec.Struct, frozen=True):
    """What a request says of a runner; None where it says nothing usable. `expires_at` in µs UTC,
    or 0 where that is no time. `organization` is the name of the one that it means. An empty proof,
    `issuer` or `public_key`, is none.
    """

    id: str | None = None
    organization: str | None = None
    name: str | None = None
    description: str | None = None
    issuer: str | None = None
    conditions: Mapping[str, str] | None = None
    public_key: str | None = None
    workspace_ids: tuple[str | None, ...] | None = None
    workspace_patterns: tuple[str, ...] | None = None
    include_sensitive: bool | None = None
    allow_unbound: bool | None = None
    max_ttl: int | None = None
    expires_at: int | None = None
    faults: tuple[Fault, ...] = ()

    def applied_to(self, spec: RunnerSpec) -> RunnerSpec:
        """The spec as this draft makes it, faults or none. Another proof takes the place of one."""
        said = {
            name: value
            for name in RunnerSpec.__struct_fields__
            if (value := getattr(self, name)) is not None
        }
        if self.workspace_ids is not None:
            # One at fault is one that is named: nobody is told to name some.
            said["workspace_ids"] = tuple(dict.fromkeys(id_ or "" for id_ in self.workspace_ids))
        if self.public_key and not self.issuer:
            said |= {"issuer": None, "conditions": self.conditions or {}}
        if self.issuer and not self.public_key:
            said["public_key"] = None
        said |= {name: None for name in ("issuer", "public_key") if said.get(name) == ""}
        return replace(spec, **said)


class ApprovalDraft(msgspec.Struct, frozen=True):
    """Which version a request approves: the one with that digest; None where it names none."""

    id: str | None = None
    digest: str | None = None
    faults: tuple[Fault, ...] = ()


def foreign(draft: RunnerDraft, organization: str) -> list[Fault]:
    """A fault for another organization than the runner's, which has that name."""
    if draft.organization is None or fold(draft.organization) == fold(organization):
        return []
    at = "/data/relationships/organization/data/id"
    detail = "A runner belongs to the organization that it is proposed in."
    return [Fault(Code.RELATIONSHIP_CONFLICT, detail, pointer=at)]


def conflicts(draft: RunnerDraft | ApprovalDraft, runner_id: str) -> list[Fault]:
    """A fault for another id than the path's."""
    return other_id(draft.id, runner_id, "runner")


class Change(StrEnum):
    """What becomes of the workspaces that a runner names, when others are named."""

    ADD = "add"
    REPLACE = "replace"
    REMOVE = "remove"


class WorkspacesDraft(IdsDraft, frozen=True):
    """The workspaces that a request adds, removes or puts in the place of those there are."""

    def applied_to(self, spec: RunnerSpec, change: Change) -> RunnerSpec:
        """The spec as the change makes it."""
        before = () if change is Change.REPLACE else spec.workspace_ids
        if change is Change.REMOVE:
            return replace(spec, workspace_ids=tuple(i for i in before if i not in self.ids))
        return replace(spec, workspace_ids=tuple(dict.fromkeys((*before, *self.wanted))))


def spec_faults(spec: RunnerSpec, issuers: Collection[str], now: int) -> Iterator[Fault]:
    """Every rule that a version breaks; `issuers` are those that the operator accepts."""
    yield from name_faults(spec.name)
    if len(spec.description) > MAX_DESCRIPTION_CHARACTERS or not is_safe(spec.description):
        length = f"at most {MAX_DESCRIPTION_CHARACTERS} characters, on one line"
        yield invalid("description", f"A description has {length}.")
    yield from _proof_faults(spec, issuers)
    yield from reach_faults(spec)
    if not MIN_TTL_SECONDS <= spec.max_ttl <= MAX_TTL_SECONDS:
        yield invalid("max-ttl", f"This is {MIN_TTL_SECONDS} to {MAX_TTL_SECONDS} seconds.")
    if not now < spec.expires_at <= now + LONGEST_LIFE:
        detail = "This must be a future time as in RFC 3339, at most 90 days ahead."
        yield invalid("expired-at", detail)


def _proof_faults(spec: RunnerSpec, issuers: Collection[str]) -> Iterator[Fault]:
    if (spec.issuer is None) == (spec.public_key is None):
        detail = "Say how a job proves to be this runner: by an issuer, or by a public key."
        yield invalid("issuer", detail)
    elif spec.issuer is not None:
        if spec.issuer not in issuers:
            yield invalid("issuer", "The operator does not accept this issuer (TEAMVARS_ISSUERS).")
        yield from condition_faults(spec.issuer, spec.conditions)
    elif spec.public_key is not None:
        if _PUBLIC_KEY.fullmatch(spec.public_key) is None:
            detail = "A public key is 32 bytes (Ed25519) in base64url, without padding."
            yield invalid("public-key", detail)
        if spec.conditions:
            yield invalid("conditions", "A machine that signs for itself has no claims to check.")


def reach_faults(spec: RunnerSpec) -> Iterator[Fault]:
    """Every rule that a version breaks by the workspaces it names, or does not."""
    if not spec.workspace_ids and not spec.workspace_patterns:
        yield invalid("workspace-patterns", "Name a workspace, or a pattern of their names.")
    if len(spec.workspace_ids) > MAX_WORKSPACES:
        detail = f"A runner names at most {MAX_WORKSPACES} workspaces."
        yield Fault(Code.TOO_MANY_ITEMS, detail, pointer="/data/relationships/workspaces/data")
    if len(spec.workspace_patterns) > MAX_PATTERNS:
        detail = f"A runner has at most {MAX_PATTERNS} patterns."
        yield Fault(Code.TOO_MANY_ITEMS, detail, pointer="/data/attributes/workspace-patterns")
    for n, pattern in enumerate(spec.workspace_patterns):
        if _PATTERN.fullmatch(pattern) is None or not pattern.strip("*"):
            detail = "A pattern has 1 to 90 letters, digits, '-', '_' or '*', and not '*' alone."
            yield invalid(f"workspace-patterns/{n}", detail)


def of_workspace(
    runners: Iterable[Runner], workspace_id: str, workspace: str, now: int
) -> list[Runner]:
    """Those that may be handed the workspace's values then, by id."""
    admitted = (one for one in runners if one.admits(workspace_id, workspace, now))
    return sorted(admitted, key=lambda one: one.id)
