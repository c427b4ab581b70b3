"""Streams of changes: the actions they record, the entries that make each one a chain, and what an
operator has accepted of those that did not hold.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any, NamedTuple, Self, TypeGuard

import msgspec

from teamvars.domain.names import is_part
from teamvars.domain.teams import Right
from teamvars.domain.times import moment
from teamvars.domain.workspaces import Usage

_NO_OBJECT = (msgspec.MsgspecError, UnicodeError, TypeError, RecursionError)

ACCEPT = "trail.accept"
"""An operator accepts what was found of a stream that does not hold."""


class Action(msgspec.Struct, frozen=True):
    """The type of an action's subjects, and the names its details always or sometimes have.

    `opens` and `closes` name streams that begin and end with the subject; `changed` names what of
    it is another than before; `from` is its former name or key. A variable is `copy-of` the one
    that it was copied from, and is copied `to` a workspace.

    What a job is handed has its `claims`, and what a command on the host is, a `reason`. `spec` is
    the digest of what a version of a runner says: no other is approved under its number.

    `takes_away` is what of the subject may be another, and nothing else, for the action to do no
    more than take rights away; where it is empty it never does more. None: it gives or moves
    something.
    """

    subject_type: str
    always: frozenset[str]
    sometimes: frozenset[str] = frozenset()
    takes_away: frozenset[str] | None = None

    def admits(self, details: Iterable[str]) -> bool:
        """Whether details with these names are complete, and have nothing beside."""
        names = frozenset(details)
        return self.always <= names <= self.always | self.sometimes


def _about(
    subject_type: str, always: str, sometimes: str = "", *, takes_away: str | None = None
) -> Action:
    taken = None if takes_away is None else frozenset(takes_away.split())
    return Action(subject_type, frozenset(always.split()), frozenset(sometimes.split()), taken)


_USER = "username email site-admin"
_MEMBERSHIP = "user status"
_INVITATION = "user email expires-at"
_TEAM = f"name visibility {' '.join(Right)} allow-member-token-management"
_WORKSPACE = "name execution-mode terraform-version"
_SET = "name global priority"
_TOKEN = "owner expires-at"
_VARIABLE = "key category sensitive version-id"
_RUNNER = "name version"

ACTIONS: Mapping[str, Action] = {
    ACCEPT: _about("streams", "stream sequence digest row reason"),
    "server-key.create": _about("server-keys", "thumbprint"),
    "server-key.rotate": _about("server-keys", "thumbprint", "former"),
    "key.add": _about("keys", "purpose"),
    "key.activate": _about("keys", "purpose former"),
    "key.retire": _about("keys", "purpose", "leaked"),
    "rewrap.begin": _about("keys", ""),
    "rewrap.end": _about("keys", "sealed broken"),
    "user.create": _about("users", _USER),
    "user.update": _about("users", f"{_USER} changed", "from"),
    "user.claim": _about("users", f"{_USER} changed", "from"),
    "user.disable": _about("users", "username", "without-owner", takes_away=""),
    "user.enable": _about("users", "username"),
    "user.link": _about("users", "username issuer subject"),
    "user.unlink": _about("users", "username issuer subject", takes_away=""),
    "user.delete": _about("users", "", takes_away=""),
    "organization.create": _about("organizations", "name opens"),
    "organization.update": _about("organizations", "name email changed", "from sso-required"),
    "organization.empty": _about("organizations", "name variables closes"),
    "organization.delete": _about("organizations", "name variables closes"),
    "organization.limit-tokens": _about("organizations", "token-type max-ttl-ms"),
    "project.create": _about("projects", "name"),
    "project.update": _about("projects", "name changed", "from"),
    "project.delete": _about("projects", "name"),
    "membership.create": _about("organization-memberships", _MEMBERSHIP),
    "membership.update": _about("organization-memberships", f"{_MEMBERSHIP} changed"),
    "membership.delete": _about("organization-memberships", _MEMBERSHIP, takes_away=""),
    "invitation.create": _about("organization-memberships", _INVITATION),
    "invitation.resend": _about("organization-memberships", _INVITATION),
    "invitation.send": _about("organization-memberships", "user"),
    "invitation.fail": _about("organization-memberships", "user reply", takes_away=""),
    "invitation.revoke": _about("organization-memberships", "user", takes_away=""),
    "invitation.accept": _about("organization-memberships", "user"),
    "invitation.expire": _about("organization-memberships", "user", takes_away=""),
    "team.create": _about("teams", f"{_TEAM} opens"),
    "team.update": _about("teams", f"{_TEAM} changed"),
    "team.rename": _about("teams", "name from"),
    "team.delete": _about("teams", "name closes"),
    "member.add": _about("teams", "organization-memberships"),
    "member.remove": _about("teams", "organization-memberships", takes_away=""),
    "grant.put": _about("teams", "workspace access variables", "changed"),
    "grant.remove": _about("teams", "workspaces", takes_away=""),
    "project-grant.put": _about("teams", "project access variables", "changed"),
    "project-grant.remove": _about("teams", "projects", takes_away=""),
    "token.create": _about("authentication-tokens", _TOKEN, "provider"),
    "token.let-in": _about("authentication-tokens", _TOKEN),
    "token.revoke": _about("authentication-tokens", _TOKEN, "provider", takes_away=""),
    "workspace.create": _about("workspaces", "name opens"),
    "workspace.update": _about("workspaces", f"{_WORKSPACE} changed"),
    "workspace.rename": _about("workspaces", "name from"),
    "workspace.move": _about("workspaces", "name project former-project"),
    "workspace.lock": _about("workspaces", "name"),
    "workspace.unlock": _about("workspaces", "name"),
    "workspace.delete": _about("workspaces", "name closes"),
    "varset.create": _about("varsets", f"{_SET} opens", "project"),
    "varset.update": _about("varsets", f"{_SET} changed"),
    "varset.rename": _about("varsets", "name from"),
    "varset.attach": _about("varsets", "name workspaces", "projects"),
    "varset.detach": _about("varsets", "name workspaces", "projects"),
    "varset.delete": _about("varsets", "name closes"),
    "variable.create": _about("vars", _VARIABLE, "copy-of"),
    "variable.update": _about(
        "vars", f"{_VARIABLE} changed", "from copy-of", takes_away="sensitive"
    ),
    "variable.delete": _about("vars", _VARIABLE),
    "variable.copy": _about("vars", f"{_VARIABLE} to"),
    "variable.deliver": _about("workspaces", "workspace variables", "version claims bound reason"),
    "runner.create": _about("runners", f"{_RUNNER} spec opens"),
    "runner.update": _about("runners", f"{_RUNNER} spec agreed changed"),
    "runner.approve": _about("runners", f"{_RUNNER} digest workspaces", "proposed-by"),
    "runner.revoke": _about("runners", _RUNNER, takes_away=""),
    "runner.delete": _about("runners", "name closes"),
}

NAMING = tuple(name for name, one in ACTIONS.items() if one.always & {"name", "username", "email"})
"""The actions whose entries tell what users, organizations and all in these are called."""

_PLACES = ("to", "workspace", "workspaces", "project", "projects", "former-project")
"""The names under which details have ids of workspaces, sets or projects, other than that of the
stream.
"""
_ORIGINAL = "copy-of"


def places_in(details: Mapping[str, object]) -> Iterator[str]:
    """The ids of the workspaces, sets and projects that details name."""
    for name in _PLACES:
        said = details.get(name)
        yield from (id_ for id_ in (said if isinstance(said, list) else [said]) if _is_id(id_))


def original_in(details: Mapping[str, object]) -> str | None:
    """The id of the variable that one is a copy of, if they say so."""
    said = details.get(_ORIGINAL)
    return said if _is_id(said) else None


def shown_details(details: Mapping[str, object], seen: Collection[str]) -> dict[str, object]:
    """Details for a reader who sees these places and originals: others that they name are None."""

    def shown(said: object) -> object:
        if isinstance(said, list):
            return [shown(each) for each in said]
        return said if _is_id(said) and said in seen else None

    hidden = (*_PLACES, _ORIGINAL)
    return {name: shown(said) if name in hidden else said for name, said in details.items()}


def _is_id(said: object) -> TypeGuard[str]:
    return isinstance(said, str)  # it may be anything once somebody has touched the row


SYSTEM_STREAM = "system"
NO_ORGANIZATION = ""
"""Whose the entries of the system's stream are."""


class Stream(msgspec.Struct, frozen=True):
    """The history of one subject: the system, an organization, a team, a workspace, a set of
    variables or a runner.

    `organization_id` is whose history it is; that of the system is `NO_ORGANIZATION`'s.
    `sequence` counts its changes and `link` is that of the last one. `head` authenticates both and
    stands nowhere else, so that cutting off the newest entries cannot be hidden. That of a
    workspace or a set also says what it holds.
    """

    id: str
    organization_id: str
    sequence: int
    link: bytes
    head: bytes
    usage: Usage = msgspec.field(default_factory=Usage)


MOVED = ("sequence", "link", "head", "usage.variables", "usage.value_bytes")
"""What each change moves of a stream's row, in the order in which that is read and written."""


class HeldStream(Stream, frozen=True):
    """A locked stream whose head is authentic: it may go on, and end.

    `Chain` alone makes one, so whatever extends or ends a stream has had its head checked.
    """


class AlteredStream(Stream, frozen=True):
    """A locked stream whose row or entries somebody has altered behind the service's back.

    It takes no entry but of what only takes rights away, and such an entry carries the break: see
    `Chain.carry`. `Chain` alone makes one.
    """


CheckedStream = HeldStream | AlteredStream
"""A locked stream, once it is known whether it holds."""


class Actor(msgspec.Struct, frozen=True):
    """Who acts: a `user`, `team` or `organization` by its token, a `runner` by that of a job, an
    `operator` on the host, or the `service` itself, by the name of what it does."""

    kind: str
    id: str
    token_id: str | None = None

    @classmethod
    def operator(cls, os_user: str) -> "Actor":
        """A person with access to the service's own host, known by the name of their account."""
        return cls("operator", os_user)

    @classmethod
    def service(cls, chore: str) -> "Actor":
        """The service, in what it does unasked."""
        return cls("service", chore)


class Event(msgspec.Struct, frozen=True):
    """What happened, before it has its place in a stream. `details` never hold a value or token.

    `address` is whence the request came; None for operators, and where addresses are left out.
    """

    actor: Actor
    request_id: str
    action: str
    subject_type: str
    subject_id: str
    details: Mapping[str, object]
    at: int
    address: str | None = None

    @property
    def only_takes_away(self) -> bool:
        """Whether it takes rights away and does nothing else, as its action says."""
        changed: Any = self.details.get("changed", ())
        return ACTIONS[self.action].takes_away == frozenset(changed)


class _Keys(msgspec.Struct):
    """What the details of a variable's change say of keys, and nothing else."""

    key: Any = None
    former: Any = msgspec.field(default=None, name="from")


_KEYS = msgspec.json.Decoder(_Keys)


def tells_of_part(part: str, details: str | bytes) -> bool:
    """Whether details of a variable's change have a key, or a former one, with that in it, in any
    case. False where they are no JSON object any more.
    """
    try:
        told = _KEYS.decode(details)
    except _NO_OBJECT:
        return False
    return any(isinstance(key, str) and is_part(part, key) for key in (told.key, told.former))


class AuditEntry(NamedTuple):
    """An event in its place: `link` authenticates every other field and the link before it.

    `details` is the JSON text that was authenticated, byte for byte; `at` is in µs UTC. `version`
    says how it was authenticated. Its fields are authenticated and stored in this order.

    `organization_id` comes after the link, since it follows from the stream: it is what an
    organization's entries are found by, and None while an older release alone has written it.
    """

    stream_id: str
    sequence: int
    at: int
    actor_kind: str
    actor_id: str
    token_id: str | None
    request_id: str
    action: str
    subject_type: str
    subject_id: str
    details: str
    key_id: str
    previous: bytes
    version: int
    address: str | None
    link: bytes
    organization_id: str | None = None

    @property
    def position(self) -> "Position":
        """Where it stands among all."""
        return Position(self.at, self.stream_id, self.sequence)

    def read_details(self) -> dict[str, Any] | None:
        """What `details` says; None once it is no JSON object, as which it was written."""
        try:
            return msgspec.json.decode(self.details, type=dict[str, Any])
        except _NO_OBJECT:
            return None

    def has_part(self, part: str) -> bool:
        """Whether it tells of a variable whose key, or former one, has that in it, in any case."""
        return self.subject_type == "vars" and tells_of_part(part, self.details)

    def faulty(self) -> list[str]:
        """The names of the fields that cannot be shown, because the row was altered by hand.

        SQLite lets a column hold what is not of its type.
        """
        unfit = {
            name
            for name, found in self._asdict().items()
            if not isinstance(found, _STORED_AS.get(name, str))
        }
        if moment(self.at) is None:
            unfit.add("at")
        if self.read_details() is None:
            unfit.add("details")
        return sorted(unfit)


_STORED_AS: Mapping[str, type | tuple[type, ...]] = {
    "sequence": int,
    "at": int,
    "token_id": (str, type(None)),
    "previous": bytes,
    "version": int,
    "address": (str, type(None)),
    "link": bytes,
    "organization_id": (str, type(None)),
}


class Position(NamedTuple):
    """Where an entry stands among all."""

    at: int
    stream_id: str
    sequence: int


class AuditFilter(msgspec.Struct, frozen=True):
    """Which entries are wanted; None lets all through, and of several ids each.

    `within`: entries in the streams with these ids or about what has them, for each of the sets.
    `key`: entries that say it of a variable. From `since` on, and before `until`, in µs UTC.
    `before` is where an earlier page ended, and `down_to` the last position that is looked at.
    """

    organization_id: str | None = None
    stream_id: str | None = None
    action: str | None = None
    request_id: str | None = None
    actor_kind: str | None = None
    actor_ids: Collection[str] | None = None
    subject_ids: Collection[str] | None = None
    within: Sequence[Collection[str]] = ()
    key: str | None = None
    since: int | None = None
    until: int | None = None
    before: Position | None = None
    down_to: Position | None = None


class AuditQuery(msgspec.Struct, frozen=True):
    """Which entries somebody asks for, by names or ids, as people say them.

    `actor` is a username, the name of an organization, ORG/TEAM, an id, or `operator:ACCOUNT`;
    `subject` any name, the key of a variable, or an id. `workspace`, `set` and `team` are ORG/NAME.
    """

    stream: str | None = None
    actor: str | None = None
    action: str | None = None
    request: str | None = None
    subject: str | None = None
    workspace: str | None = None
    set: str | None = None
    team: str | None = None
    organization: str | None = None
    since: int | None = None
    until: int | None = None
    before: Position | None = None

    @property
    def is_by_name(self) -> bool:
        """Whether names say what is asked for."""
        named = self.actor, self.subject, self.workspace, self.set, self.team, self.organization
        return named != (None,) * len(named)


class OrganizationAuditQuery(msgspec.Struct, frozen=True):
    """Which entries of an organization its owners ask for.

    `actor` is a name or an id, `workspace` the name of one that there is or was, `part` a part of
    keys, in any case; `size` is how many are wanted at once.
    """

    actor: str | None = None
    key: str | None = None
    part: str | None = None
    workspace: str | None = None
    since: int | None = None
    size: int = 20


class Head(msgspec.Struct, frozen=True):
    """Where a stream stood once, as kept elsewhere: the link of the entry with that number."""

    stream_id: str
    sequence: int
    link: bytes

    @property
    def line(self) -> str:
        """It as a line of JSON, as it is kept."""
        # There are as many as streams: an encoder takes several times as long.
        stream = encode_basestring(self.stream_id)
        return f'{{"stream": {stream}, "sequence": {self.sequence}, "link": "{self.link.hex()}"}}'


class Break(msgspec.Struct, frozen=True):
    """The first place where a stream does not hold, and why.

    `found` is the digest of all that is there of the stream, by which an operator accepts it; None
    where that would mend nothing.
    """

    stream_id: str
    sequence: int
    reason: str
    found: str | None = None


MAX_REASON_CHARACTERS = 512


class Acceptance(msgspec.Struct, frozen=True):
    """What was found of a stream, and why an operator goes on from there.

    `digest` is of all that was there, and `row` of the stream's row; empty where that was gone, and
    so the stream has ended. Else `sequence` is the number of the entry from which it goes on.
    """

    stream_id: str
    sequence: int
    digest: str
    row: str
    reason: str

    @classmethod
    def read(cls, entry: AuditEntry) -> Self:
        """What an authentic entry says of it."""
        details = entry.read_details() or {}
        names = "stream", "sequence", "digest", "row", "reason"
        return cls(*(details[name] for name in names))

    def details(self) -> dict[str, object]:
        """What the entries of it say."""
        return {
            "stream": self.stream_id,
            "sequence": self.sequence,
            "digest": self.digest,
            "row": self.row,
            "reason": self.reason,
        }

    def is_of(self, entry: AuditEntry) -> bool:
        """Whether it is the one that an entry records; an altered one may say anything."""
        return entry.action == ACCEPT and entry.read_details() == self.details()
