"""Every "no" the service means: the list of codes, the table of what is said with them, and the
`Refusal` that carries them.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum

import msgspec
from msgspec.structs import replace


class Kind(Enum):
    """The few ways of saying no. `web/http/errors.py` has each status, `cli` each exit code."""

    MALFORMED = "malformed"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not found"
    METHOD_NOT_ALLOWED = "method not allowed"
    NOT_ACCEPTABLE = "not acceptable"
    TIMEOUT = "timeout"
    CONFLICT = "conflict"
    STALE = "stale"
    TOO_LARGE = "too large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported media type"
    INVALID = "invalid"
    TOO_MANY = "too many"
    UNAVAILABLE = "unavailable"
    DAMAGED = "damaged"
    ALTERED = "altered"
    BUG = "bug"


class Code(Enum):
    """The stable words of `errors[].code`, each with its kind and title (contract §3)."""

    MALFORMED_DOCUMENT = ("malformed_document", Kind.MALFORMED, "Not a JSON document")
    INVALID_PARAMETER = ("invalid_parameter", Kind.MALFORMED, "Invalid query parameter")
    INVALID_HEADER = ("invalid_header", Kind.MALFORMED, "Invalid header")
    UNAUTHENTICATED = ("unauthenticated", Kind.UNAUTHENTICATED, "Authentication required")
    FORBIDDEN = ("forbidden", Kind.FORBIDDEN, "Not permitted")
    CLIENT_ID_NOT_SUPPORTED = (
        "client_id_not_supported",
        Kind.FORBIDDEN,
        "Client-generated ids are not supported",
    )
    NOT_FOUND = ("not_found", Kind.NOT_FOUND, "Not found")
    METHOD_NOT_ALLOWED = ("method_not_allowed", Kind.METHOD_NOT_ALLOWED, "Method not allowed")
    NOT_ACCEPTABLE = ("not_acceptable", Kind.NOT_ACCEPTABLE, "Not acceptable")
    REQUEST_TIMEOUT = ("request_timeout", Kind.TIMEOUT, "The request took too long to arrive")
    TYPE_CONFLICT = ("type_conflict", Kind.CONFLICT, "Not the endpoint's resource type")
    ID_CONFLICT = ("id_conflict", Kind.CONFLICT, "Not the id in the path")
    RELATIONSHIP_CONFLICT = (
        "relationship_conflict",
        Kind.CONFLICT,
        "Not what it is related to",
    )
    WORKSPACE_LOCKED = ("workspace_locked", Kind.CONFLICT, "Workspace is locked")
    WORKSPACE_NOT_LOCKED = ("workspace_not_locked", Kind.CONFLICT, "Workspace is not locked")
    ORGANIZATION_NOT_EMPTY = (
        "organization_not_empty",
        Kind.CONFLICT,
        "Organization still has variables",
    )
    PROJECT_NOT_EMPTY = ("project_not_empty", Kind.CONFLICT, "Project is not empty")
    IDEMPOTENCY_KEY_IN_USE = (
        "idempotency_key_in_use",
        Kind.CONFLICT,
        "The first request is still under way",
    )
    ALREADY_MADE = ("already_made", Kind.CONFLICT, "Already made, and shown then")
    PRECONDITION_FAILED = ("precondition_failed", Kind.STALE, "The resource has changed")
    BODY_TOO_LARGE = ("body_too_large", Kind.TOO_LARGE, "Body too large")
    UNSUPPORTED_MEDIA_TYPE = (
        "unsupported_media_type",
        Kind.UNSUPPORTED_MEDIA_TYPE,
        "Unsupported media type",
    )
    MISSING_MEMBER = ("missing_member", Kind.INVALID, "Missing member")
    WRONG_TYPE = ("wrong_type", Kind.INVALID, "Wrong JSON type")
    INVALID_VALUE = ("invalid_value", Kind.INVALID, "Invalid value")
    UNKNOWN_ATTRIBUTE = ("unknown_attribute", Kind.INVALID, "Unknown attribute")
    IDEMPOTENCY_KEY_REUSED = (
        "idempotency_key_reused",
        Kind.INVALID,
        "The key was used for another request",
    )
    KEY_TAKEN = ("key_taken", Kind.INVALID, "Key is taken")
    NAME_TAKEN = ("name_taken", Kind.INVALID, "Name is taken")
    SENSITIVE_IS_PERMANENT = ("sensitive_is_permanent", Kind.INVALID, "Sensitive is permanent")
    WORKSPACE_FULL = ("workspace_full", Kind.INVALID, "Workspace is full")
    VARIABLE_SET_FULL = ("variable_set_full", Kind.INVALID, "Variable set is full")
    TOO_MANY_ITEMS = ("too_many_items", Kind.INVALID, "Too many items")
    HCL_SYNTAX = ("hcl_syntax", Kind.INVALID, "Not an expression of the configuration language")
    TOO_COMPLEX = ("too_complex", Kind.INVALID, "Too complex")
    READ_ONLY = ("read_only", Kind.INVALID, "invalid attribute")
    NOT_OFFERED = ("not_offered", Kind.INVALID, "Not offered here")
    INVITATION_NOT_ACCEPTED = (
        "invitation_not_accepted",
        Kind.INVALID,
        "Invitation not accepted",
    )
    LAST_OWNER = ("last_owner", Kind.INVALID, "Last owner")
    OWNERS_IS_PERMANENT = ("owners_is_permanent", Kind.INVALID, "The owners team cannot be changed")
    DEFAULT_PROJECT_STAYS = (
        "default_project_stays",
        Kind.INVALID,
        "The default project cannot be deleted",
    )
    ALREADY_MEMBER = ("already_member", Kind.INVALID, "Already a member")
    GRANT_TAKEN = ("grant_taken", Kind.INVALID, "The team has such a grant")
    INVALID_REQUEST = ("invalid_request", Kind.MALFORMED, "Not a token exchange")
    INVALID_SCOPE = ("invalid_scope", Kind.MALFORMED, "There are no scopes")
    UNSUPPORTED_GRANT_TYPE = (
        "unsupported_grant_type",
        Kind.MALFORMED,
        "Not the grant type of a token exchange",
    )
    INVALID_CLIENT = ("invalid_client", Kind.MALFORMED, "Not a program that is known here")
    INVALID_GRANT = ("invalid_grant", Kind.MALFORMED, "Not a code that is good here")
    AUTHORIZATION_PENDING = (
        "authorization_pending",
        Kind.MALFORMED,
        "Nobody has approved it yet",
    )
    SLOW_DOWN = ("slow_down", Kind.MALFORMED, "Asked again too soon")
    ACCESS_DENIED = ("access_denied", Kind.MALFORMED, "Refused by whoever was asked")
    EXPIRED_TOKEN = ("expired_token", Kind.MALFORMED, "Not approved in time")
    UNSUPPORTED_TOKEN_TYPE = (
        "unsupported_token_type",
        Kind.MALFORMED,
        "Not a token that is revoked so",
    )
    INVALID_TARGET = ("invalid_target", Kind.MALFORMED, "No runner for this job and workspace")
    OTHER_DIGEST = ("other_digest", Kind.CONFLICT, "Not what was looked at")
    TOO_MANY_REQUESTS = ("too_many_requests", Kind.TOO_MANY, "Too many requests under way")
    RATE_LIMITED = ("rate_limited", Kind.TOO_MANY, "Too many requests per second")
    BUSY = ("busy", Kind.UNAVAILABLE, "Busy")
    STORAGE_UNAVAILABLE = ("storage_unavailable", Kind.UNAVAILABLE, "Storage unavailable")
    RELEASE_TOO_OLD = ("release_too_old", Kind.UNAVAILABLE, "Release too old for the database")
    OUTCOME_UNKNOWN = ("outcome_unknown", Kind.UNAVAILABLE, "Outcome unknown")
    DAMAGED_VALUE = ("damaged_value", Kind.DAMAGED, "A stored value cannot be decrypted")
    TRAIL_ALTERED = ("trail_altered", Kind.ALTERED, "The audit trail was altered")
    INTERNAL_ERROR = ("internal_error", Kind.BUG, "Internal error")

    def __init__(self, word: str, kind: Kind, title: str) -> None:
        self.word = word
        self.kind = kind
        self.title = title


class Fault(msgspec.Struct, frozen=True):
    """One thing that is wrong with a request.

    At most one of `pointer` (RFC 6901, into the request document), `header` and `parameter` names
    the culprit. `detail` is for people and never holds a variable's value. `omitted` counts further
    faults of the request that were too many to keep.
    """

    code: Code
    detail: str
    pointer: str | None = None
    header: str | None = None
    parameter: str | None = None
    meta: Mapping[str, int | str] | None = None
    omitted: int = 0

    def filled(self, meta: Mapping[str, int | str] | None = None, **blanks: object) -> "Fault":
        """The same, with each `{blank}` of the text filled in; `meta` fills in those it names."""
        detail = self.detail.format(**{**blanks, **(meta or {})})
        return replace(self, detail=detail, meta=meta)

    def at(self, pointer: str | None) -> "Fault":
        """The same about that place of the document."""
        return replace(self, pointer=pointer)


MOST_FAULTS = 500
"""Of one document that are kept; more than a response has room for."""


class Faults:
    """The faults of one document, in the order in which they were found.

    No more than `MOST_FAULTS` are kept. The others are counted, in `omitted` of the last one.
    """

    def __init__(self) -> None:
        self._kept: list[Fault] = []
        self._omitted = 0

    @property
    def room(self) -> int:
        """How many more are kept."""
        return MOST_FAULTS - len(self._kept)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._kept) + self._omitted

    def add(self, *faults: Fault) -> None:
        """Adds faults, of which the last may stand for others that were omitted."""
        for fault in faults:
            if self.room:
                self._kept.append(fault)
                self._omitted += fault.omitted
            else:
                self._omitted += 1 + fault.omitted

    def omit(self, number: int) -> None:
        """Counts faults that are not even made."""
        self._omitted += number

    def all(self) -> tuple[Fault, ...]:
        """Those that are kept."""
        if not self._omitted:
            return tuple(self._kept)
        *others, last = (replace(fault, omitted=0) for fault in self._kept)
        return (*others, replace(last, omitted=self._omitted))


class Refusal(Exception):
    """The service refuses; nothing was changed, unless the code is `outcome_unknown`.

    `retry_after`: after how many seconds it is worth trying again, where it is at all. `why` is for
    the log, where nobody is told what was wrong; nothing in it is secret.
    """

    def __init__(
        self, *faults: Fault, retry_after: int = 1, why: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(", ".join(fault.code.word for fault in faults))
        self.faults = faults
        self.retry_after = retry_after
        self.why = why

    def forget_origin(self) -> None:
        """Lets go of where it was raised. Whatever has it in a variable there is part of a cycle
        with it, and so all of a request, with its body, would wait for the garbage collector.
        """
        self.__traceback__ = self.__context__ = self.__cause__ = None

    @property
    def kind(self) -> Kind:
        """The kind all faults share; faults of several kinds make the whole request INVALID."""
        kinds = {fault.code.kind for fault in self.faults}
        return kinds.pop() if len(kinds) == 1 else Kind.INVALID


@contextmanager
def passing_over(kind: Kind) -> Iterator[None]:
    """In a `with` that a refusal of that kind ends, of which nobody else hears."""
    try:
        yield
    except Refusal as refusal:
        if refusal.kind is not kind:
            raise


class Unfinished(Exception):
    """A part of a change is made, and the rest was refused; the text says what does the rest."""


def tells_of_outage(error: BaseException) -> bool:
    """Whether it refuses for an outage of the store, of which the log has a line already."""
    return isinstance(error, Refusal) and error.kind is Kind.UNAVAILABLE


def refuse_all(faults: Iterable[Fault]) -> None:
    """Refuses with every fault there is; does nothing when there is none.

    Of a member of the wrong JSON type nothing else is told.
    """
    found = tuple(faults)
    wrong = {fault.pointer for fault in found if fault.code is Code.WRONG_TYPE}
    told = [one for one in found if one.code is Code.WRONG_TYPE or one.pointer not in wrong]
    if told:
        raise Refusal(*told)


def invalid(name: str, detail: str) -> Fault:
    """An attribute of the document has a value that it cannot have."""
    return Fault(Code.INVALID_VALUE, detail, pointer=f"/data/attributes/{name}")


def not_offered(name: str, detail: str) -> Fault:
    """An attribute asks for what the service does not do, and so does not promise."""
    return Fault(Code.NOT_OFFERED, detail, pointer=f"/data/attributes/{name}")


def other_id(given: str | None, id_: str, what: str) -> list[Fault]:
    """The fault of a document that has another id than that of a `what` in the path."""
    if given in (None, id_):
        return []
    detail = f"This is not the id of the {what} in the path."
    return [Fault(Code.ID_CONFLICT, detail, pointer="/data/id")]


def unknown_word(name: str, word: str | None, known: Iterable[str], detail: str) -> list[Fault]:
    """The fault of an attribute that is none of the known words; `detail` is followed by them."""
    words = list(known)
    if word is None or word in words:
        return []
    return [invalid(name, f"{detail} is one of {', '.join(words)}.")]


def not_found(hint: str | None = None) -> Refusal:
    """One answer for what does not exist and for what the caller may not see (contract §3).

    The `hint` speaks of nothing but what the caller sees.
    """
    detail = _NOT_VISIBLE if hint is None else f"{_NOT_VISIBLE} {hint}"
    return Refusal(Fault(Code.NOT_FOUND, detail))


def there_is_no(thing: str, present: str | None = None) -> Refusal:
    """What an operator named does not exist. Callers are told `not_found`, which tells nothing.

    `present` is what that is called now which last had the name.
    """
    detail = f"There is no {thing}."
    hint = "" if present is None else f" It was renamed to {present}."
    return Refusal(Fault(Code.NOT_FOUND, f"{detail}{hint}"))


def forbidden(detail: str) -> Refusal:
    """The caller may see the thing but not do this to it."""
    return Refusal(Fault(Code.FORBIDDEN, detail))


def too_many_requests(detail: str, retry_after: int = 1) -> Refusal:
    """This caller has too much under way; nothing was changed."""
    return Refusal(Fault(Code.TOO_MANY_REQUESTS, detail), retry_after=retry_after)


def storage_unavailable(cause: BaseException | None = None) -> Refusal:
    """Storage cannot be reached, is read-only or is full; nothing was changed.

    `cause` is the driver's error, for those who run the service.
    """
    refusal = Refusal(
        Fault(Code.STORAGE_UNAVAILABLE, "Storage is unavailable. Nothing was changed; try again.")
    )
    refusal.__cause__ = cause
    return refusal


# The table of texts, each with its code and what it blames. `Fault.filled` fills in a {blank}, and
# `Fault.at` names another place. What one rule alone says may stand with that rule.

_NOT_VISIBLE = "It does not exist, or you may not see it."
_IDEMPOTENCY_KEY = "Idempotency-Key"
_SOURCE = "/data/relationships/source/data/id"
_TEAM = "/data/relationships/team/data/id"

# Of any request
NO_VALID_TOKEN = Fault(Code.UNAUTHENTICATED, "Send a valid token as 'Authorization: Bearer'.")
"""One answer for a missing, malformed, unknown, expired or revoked token (contract §2)."""
BUSY = Fault(Code.BUSY, "The service is busy. Nothing was changed; try again.")
RATE_LIMITED = Fault(
    Code.RATE_LIMITED, "You may make {most} requests per second here. Nothing was changed."
)
RELEASE_TOO_OLD = Fault(
    Code.RELEASE_TOO_OLD,
    "A later release has migrated the database, and this one is too old to change it. "
    "Nothing was changed; try again, since another node may be able to.",
)
KEYS_TOO_OLD = Fault(
    Code.STORAGE_UNAVAILABLE,
    "Keys were changed while this node was away, and it does not have them yet. Nothing was "
    "changed; try again, since another node may be able to.",
)
OUTCOME_UNKNOWN = Fault(
    Code.OUTCOME_UNKNOWN,
    "Storage failed while the change was being committed. "
    "It may have happened: repeat it under its Idempotency-Key, or read before you do.",
)
"""Storage failed, or the connection to it, while it committed."""
TRAIL_ALTERED = Fault(
    Code.TRAIL_ALTERED,
    "The audit trail of {stream} was altered outside of the service, so it accepts no "
    "changes. You can still read, and do whatever only takes rights away. Tell the "
    "operator: 'teamvars audit verify' says more.",
)
"""Trying again helps nobody before an operator has looked at it."""
ENTRY_ALTERED = Fault(
    Code.FORBIDDEN,
    "An entry in the audit trail of {stream}, by which it is decided whether you may approve this, "
    "was altered outside of the service ('teamvars audit verify' says which). The operator "
    "approves it on the service's host: teamvars approvals list",
)

# Of repeated requests
KEY_REUSED = Fault(
    Code.IDEMPOTENCY_KEY_REUSED,
    "This key was used for another request. Send a new key with each change.",
    header=_IDEMPOTENCY_KEY,
)
KEY_IN_USE = Fault(
    Code.IDEMPOTENCY_KEY_IN_USE,
    "The first request with this key is still under way. Repeat it later.",
    header=_IDEMPOTENCY_KEY,
)
ALREADY_MADE = Fault(
    Code.ALREADY_MADE,
    "The first request with this key made it, and its answer showed it. If that answer is "
    "lost, delete what meta.id names and send a new key.",
    header=_IDEMPOTENCY_KEY,
)

# Of relationships
OTHERWISE_RELATED = Fault(
    Code.RELATIONSHIP_CONFLICT,
    "It is not related to this, and an update does not change what it is related to here.",
)

# Of variables
KEY_TAKEN = Fault(
    Code.KEY_TAKEN,
    "The workspace already has a variable with this key in this category.",
    pointer="/data/attributes/key",
)
KEY_TAKEN_IN_SET = Fault(
    Code.KEY_TAKEN,
    "The variable set already has a variable with this key in this category, or another set that "
    "is global as it is.",
    pointer="/data/attributes/key",
)
GLOBAL_KEY_TAKEN = Fault(
    Code.KEY_TAKEN,
    "Sets that are global already have variables of this one: {keys}.",
    pointer="/data/attributes/global",
)
SENSITIVE_IS_PERMANENT = Fault(
    Code.SENSITIVE_IS_PERMANENT,
    "A sensitive variable stays sensitive. Delete it and create another one instead.",
)
DAMAGED_VALUE = Fault(
    Code.DAMAGED_VALUE,
    "The stored value of {key} is damaged and cannot be decrypted. Write a new "
    "value over it, or delete the variable.",
)
TOO_COMPLEX = Fault(
    Code.TOO_COMPLEX, "This takes too long to read or evaluate, or grows too large."
)
OTHER_VERSION = Fault(
    Code.PRECONDITION_FAILED,
    "It has changed since that version. Read it again.",
    header="If-Match",
)
EXISTS_NOW = Fault(Code.PRECONDITION_FAILED, "It exists now. Read it.")
CHANGED_OR_GONE = Fault(
    Code.PRECONDITION_FAILED,
    "It has changed since that version, or was deleted. Read it again.",
)

# Of applies and copies
REPEATED_ITEM = Fault(Code.KEY_TAKEN, "An earlier item is about the same variable.")
TOO_MUCH_CODE = Fault(
    Code.TOO_COMPLEX, "With this value the request has more than {most} bytes of code."
)
NO_SUCH_SOURCE = Fault(
    Code.NOT_FOUND,
    "You see neither a workspace nor a variable set with this id in the same organization.",
    pointer=_SOURCE,
)
SOURCE_IS_TARGET = Fault(
    Code.INVALID_VALUE,
    "This is what the path names: there is nothing to copy.",
    pointer=_SOURCE,
)
NOT_IN_SOURCE = Fault(Code.INVALID_VALUE, "The source has no such variable.")
NOT_IN_TARGET = Fault(Code.INVALID_VALUE, "There is no such variable here.")
"""Neither is `not_found`: otherwise callers who have lost no right could not repeat a request."""
IN_TARGET = Fault(Code.KEY_TAKEN, "{key} is already there in this category.")
IN_OTHER_SET = Fault(
    Code.KEY_TAKEN,
    "{key} is already in another variable set that is global as this one is, in this category.",
)
COPIED_BY_OWNERS = Fault(
    Code.FORBIDDEN, "{key} is sensitive: only owners and the organization's token copy it."
)

# Of workspaces and organizations
ONLY_CUSTOM = Fault(
    Code.READ_ONLY,
    "{called} is read-only when access level is '{access}'; use the 'custom' access level to set "
    "this attribute.",
)
"""Clients look for the title and these very words."""
NAME_TAKEN = Fault(
    Code.NAME_TAKEN, "There is {what} with this name.", pointer="/data/attributes/name"
)
WORKSPACE_LOCKED = Fault(Code.WORKSPACE_LOCKED, "Workspace {name} is locked by {holder}.")
"""Clients look for `is locked by User` and `is locked by Team`."""
_RUN = "'teamvars run -w {name} -- terraform ...', which hands it the variables."
NO_STATE = Fault(
    Code.NOT_OFFERED,
    "This service keeps no state, so whatever needs one would lose it. Keep the state in another "
    f"backend, and run terraform as {_RUN}",
)
NO_RUNS = Fault(Code.NOT_OFFERED, f"This service has no runs. Run terraform as {_RUN}")
STILL_USED = Fault(
    Code.ORGANIZATION_NOT_EMPTY,
    "The organization still has {variables} variables in {workspaces} of its workspaces and "
    "{varsets} of its variable sets. "
    "With force=true they are deleted too.",
)

# Of projects
_PROJECT = "/data/relationships/project/data/id"
NO_SUCH_PROJECT = Fault(Code.NOT_FOUND, _NOT_VISIBLE, pointer=_PROJECT)
DEFAULT_STAYS = Fault(
    Code.DEFAULT_PROJECT_STAYS,
    "The default project stays: workspaces are in it that nobody has put anywhere else.",
)
PROJECT_NOT_EMPTY = Fault(
    Code.PROJECT_NOT_EMPTY,
    "The project still has {workspaces} workspaces. Move them to another one, or delete them.",
)

PROJECT_HAS_SETS = Fault(
    Code.PROJECT_NOT_EMPTY,
    "The project still has {varsets} variable sets of its own. Delete them first.",
)

# Of teams and their access
NO_SUCH_TEAM = Fault(Code.NOT_FOUND, _NOT_VISIBLE, pointer=_TEAM)
NO_SUCH_WORKSPACE = Fault(
    Code.NOT_FOUND, _NOT_VISIBLE, pointer="/data/relationships/workspace/data/id"
)
NOT_SEEN_AFTERWARDS = Fault(
    Code.FORBIDDEN,
    "You would not see it yourself: only owners, its members and teams with 'access-secret-teams' "
    "see a secret team. Say 'organization'.",
    pointer="/data/attributes/visibility",
)
OWNERS_HAVE_ACCESS = Fault(
    Code.OWNERS_IS_PERMANENT,
    "The owners team may do everything in every workspace, and has no grants.",
    pointer=_TEAM,
)
NO_ACCESS_GIVEN = "Only owners and the organization's token may change access."
PROJECT_GRANT_TAKEN = Fault(
    Code.GRANT_TAKEN,
    "The team already has access to this project: change that.",
    pointer=_TEAM,
)
GRANT_TAKEN = Fault(
    Code.GRANT_TAKEN,
    "The team already has access to this workspace: change that.",
    pointer=_TEAM,
)

# Of memberships and invitations
LAST_OWNER = Fault(Code.LAST_OWNER, "This would leave the organization without an active owner.")
ALREADY_MEMBER = Fault(
    Code.ALREADY_MEMBER,
    "The user with this address is already in the organization or invited to it.",
    pointer="/data/attributes/email",
)
ALREADY_ACCEPTED = Fault(Code.ALREADY_MEMBER, "The invitation has been accepted already.")
NO_ADDRESS = Fault(
    Code.INVALID_VALUE, "The user has no e-mail address that an invitation could go to."
)
DEAD_LINK = Fault(
    Code.INVALID_VALUE,
    "This link is no longer valid. Ask whoever invited you for a new one.",
    pointer="/data/attributes/secret",
)
"""One answer for every link that opens nothing, whatever it once was."""
TOO_MANY_INVITATIONS = Fault(
    Code.TOO_MANY_ITEMS,
    "An organization can send {most} invitations a day, including those sent again.",
)
TOO_MANY_TO_ADDRESS = Fault(
    Code.TOO_MANY_ITEMS, "{most} invitations a day can go to one address. Try again tomorrow."
)

# Of tokens
NO_SUCH_EXPIRY = Fault(Code.INVALID_VALUE, "A token expires in the future, {rule}.")
NO_SUCH_TOKEN = Fault(Code.NOT_FOUND, "No team of the organization has a token with this id.")
TOO_MANY_TOKENS = Fault(
    Code.TOO_MANY_ITEMS, "There are {most} live tokens already: revoke one that nobody uses."
)

# Of streams that an operator accepts as they are
NOTHING_TO_ACCEPT = Fault(
    Code.PRECONDITION_FAILED,
    "{stream} verifies: there is nothing to accept. Nothing was changed.",
)
ACCEPT_FIRST = Fault(
    Code.PRECONDITION_FAILED,
    "{stream} does not verify, and must record this: accept that one first. Nothing was changed.",
)
FOUND_OTHERWISE = Fault(
    Code.PRECONDITION_FAILED,
    "This is not the present state of {stream}. Run 'teamvars audit verify' again, and "
    "look at what has changed. Nothing was changed.",
)
NO_ROOM = Fault(
    Code.PRECONDITION_FAILED,
    "{stream} has an entry with the largest possible number. Delete the last of its rows "
    "in audit_entries, by sequence, and run 'teamvars audit verify' again. Nothing was changed.",
)
"""No entry can come after those that are there: somebody has taken the last number."""
