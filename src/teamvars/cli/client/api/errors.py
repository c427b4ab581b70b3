"""What a service refuses, in words that say what to do next, and with the exit code it has."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Self

import msgspec

from teamvars.cli.client.api.targets import Target
from teamvars.cli.exits import (
    BUSY,
    CONFLICT,
    ERROR,
    FORBIDDEN,
    INVALID,
    NOT_FOUND,
    SERVICE_FAULT,
    UNAUTHENTICATED,
    UNKNOWN_OUTCOME,
    Failure,
)
from teamvars.cli.output import columns
from teamvars.domain.names import escaped

_EXITS = {
    400: INVALID,
    401: UNAUTHENTICATED,
    403: FORBIDDEN,
    404: NOT_FOUND,
    409: CONFLICT,
    412: CONFLICT,
    422: INVALID,
    429: BUSY,
    503: BUSY,
}
_NEXT = {
    409: "Look at what is there now, then try again.",
    412: "Somebody else has changed it meanwhile. Look at it, then try again.",
    429: "Try again in a moment.",
    503: "Try again in a moment.",
}
_PERMISSIONS = (
    (r"POST /api/v2/workspaces/[^/]+/(vars|actions/(apply|copy|parse|check-value))", "write"),
    (r"(PATCH|DELETE) /api/v2/workspaces/[^/]+/vars/", "write"),
    (r"(POST|DELETE) /api/v2/teams/[^/]+/relationships/", "manage-membership"),
    (r"GET /api/v2/teams/[^/]+/audit-events", "manage-membership"),
)
_GRANTS = {
    "write": "'write' access to the workspace for one of your teams",
    "manage-membership": "a team of yours with 'manage-membership', or for 'owners' being in it",
    "owners": "membership of the team 'owners', or the organization's token",
}
_SELF_EVIDENT = re.compile(r"POST /api/v2/runners/[^/]+/actions/approve")
"""What is refused with who may do it."""
_LISTS = {
    "authentication-tokens": "login tokens list",
    "projects": "project list",
    "runners": "runner list",
    "teams": "team list",
    "varsets": "set list",
}
"""The commands that list what a path is about, by its noun."""
_OF_ORGANIZATION = re.compile(r"[A-Z]+ /api/v2/organizations/[^/?]+/[^/?]+(\?|\Z)")
"""A list of an organization, which is there whenever the organization is."""
_BEFORE, _AFTER = 60, 20
OUTCOME_UNKNOWN = "outcome_unknown"
TRAIL_ALTERED = "trail_altered"
"""Nothing was changed, and waiting mends nothing: an operator has to look."""


class Fault(msgspec.Struct, frozen=True, rename="kebab"):
    """One of the reasons of a refusal. `line` and `column` are about a value, from 1."""

    code: str = ""
    detail: str = ""
    pointer: str | None = None
    meta: Mapping[str, Any] = {}

    @property
    def place(self) -> tuple[int, int] | None:
        """Line and column in the value at fault, where they are known."""
        line, column = self.meta.get("line"), self.meta.get("column")
        return (line, column) if isinstance(line, int) and isinstance(column, int) else None


class ApiError(Failure):
    """The service has refused a request; ends the command with the exit code of the status."""

    def __init__(
        self,
        target: Target,
        request: str,
        status: int,
        faults: Sequence[Fault],
        quotable: Any = None,
    ) -> None:
        """`request` is method and path. `quotable`: what was sent, as far as it may be shown."""
        self.target, self.status = target, status
        self.faults = tuple(faults)
        super().__init__(
            "\n".join(_lines(target, request, status, self.faults, quotable)),
            exit_code(status, self.faults),
        )

    def about(self, keys: str) -> Self:
        """The same, beginning with the keys that it is about, where there are any."""
        if keys:
            self.args = (f"{keys}: {self}",)
        return self


def exit_code(status: int, faults: Sequence[Fault]) -> int:
    """What a command exits with whose request was refused so."""
    if says(faults, OUTCOME_UNKNOWN):
        return UNKNOWN_OUTCOME
    return _EXITS.get(status, ERROR if status < 500 else SERVICE_FAULT)


def says(faults: Sequence[Fault], code: str) -> bool:
    """Whether one of the faults is of that code."""
    return any(fault.code == code for fault in faults)


def faults_of(document: Any) -> list[Fault]:
    """The faults of an answer that refuses; none where it is no such document."""
    errors = document.get("errors") if isinstance(document, dict) else None
    found = []
    for error in errors if isinstance(errors, list) else ():
        if isinstance(error, dict):
            source, meta = error.get("source"), error.get("meta")
            pointer = source.get("pointer") if isinstance(source, dict) else None
            found.append(
                Fault(
                    str(error.get("code", "")),
                    str(error.get("detail", "")),
                    pointer if isinstance(pointer, str) else None,
                    meta if isinstance(meta, dict) else {},
                )
            )
    return found


def _lines(
    target: Target, request: str, status: int, faults: Sequence[Fault], quotable: Any
) -> list[str]:
    if status == 401:
        origin = target.token.origin
        whence = "that you gave" if origin == "you" else f"from {origin}"
        refused = f"{target.address} does not take the token {whence}."
        reason = "It may have expired, or somebody may have revoked it."
        return [f"{refused} {reason} Run: teamvars login --address {target.address}"]
    lines = []
    for fault in faults:
        lines += [fault.detail or fault.code, *_shown(fault, quotable)]
    if not faults:
        lines.append(f"{target.address} answered {status}, and not as teamvars would.")
    if not says(faults, TRAIL_ALTERED):
        lines += _next(target, request, status, faults)
    return lines


def _next(target: Target, request: str, status: int, faults: Sequence[Fault]) -> list[str]:
    if status == 403 and not _SELF_EVIDENT.match(request):
        found = (word for pattern, word in _PERMISSIONS if re.match(pattern, request))
        return [f"This takes {_GRANTS[next(found, 'owners')]}. Ask an owner of the organization."]
    if status == 404:
        said = target.organization
        is_of_document = any(fault.pointer for fault in faults)
        if said is not None and not is_of_document and _OF_ORGANIZATION.match(request):
            return [f"Check the organization: it is {said.value}, from {said.origin}."]
        listed = (words for noun, words in _LISTS.items() if f" /api/v2/{noun}/" in request)
        if not is_of_document and (words := next(listed, None)):
            return [f"Those you see: teamvars {words}"]
        organization = "the organization" if said is None else said.value
        return [f"Check its name, and what you see of {organization}: teamvars workspace list"]
    return [_NEXT[status]] if status in _NEXT else []


def _shown(fault: Fault, quotable: Any) -> list[str]:
    """The line of the value that is at fault, and a caret below the character."""
    value = _text_at(quotable, fault.pointer or "")
    if value is None or fault.place is None:
        return []
    line, column = fault.place
    lines = value.split("\n")
    if not 1 <= line <= len(lines):
        return []
    text, at = lines[line - 1].rstrip("\r"), column - 1
    before = escaped(text[max(0, at - _BEFORE) : at])
    return [f"  {before}{escaped(text[at : at + _AFTER])}", f"  {' ' * columns(before)}^"]


def _text_at(document: Any, pointer: str) -> str | None:
    """The text that a pointer (RFC 6901) leads to, unless it is that of a sensitive variable."""
    found, parent = document, None
    for step in pointer.split("/")[1:]:
        parent = found
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        elif isinstance(found, dict):
            found = found.get(name)
        else:
            return None
    if not isinstance(parent, dict) or parent.get("sensitive"):
        return None
    return found if isinstance(found, str) else None
