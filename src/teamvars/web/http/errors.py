"""How a `Refusal` looks on the wire: the only map from kinds to HTTP status."""

import secrets
from collections.abc import Iterable, Mapping

import msgspec

from teamvars.domain.errors import Code, Fault, Kind, Refusal
from teamvars.web.http.json_body import MAX_NAME_CHARACTERS, shown_name

STATUS = {
    Kind.MALFORMED: 400,
    Kind.UNAUTHENTICATED: 401,
    Kind.FORBIDDEN: 403,
    Kind.NOT_FOUND: 404,
    Kind.METHOD_NOT_ALLOWED: 405,
    Kind.NOT_ACCEPTABLE: 406,
    Kind.TIMEOUT: 408,
    Kind.CONFLICT: 409,
    Kind.STALE: 412,
    Kind.TOO_LARGE: 413,
    Kind.UNSUPPORTED_MEDIA_TYPE: 415,
    Kind.INVALID: 422,
    Kind.TOO_MANY: 429,
    Kind.DAMAGED: 500,
    Kind.BUG: 500,
    Kind.UNAVAILABLE: 503,
    Kind.ALTERED: 503,
}
MOST_BYTES = 64 * 1024
"""Of an error response. Faults that it has no room for are counted in `meta.omitted`."""

_ENVELOPE_BYTES = 100

_WORTH_REPEATING = {
    Code.TOO_MANY_REQUESTS,
    Code.RATE_LIMITED,
    Code.BUSY,
    Code.STORAGE_UNAVAILABLE,
    Code.RELEASE_TOO_OLD,
    Code.IDEMPOTENCY_KEY_IN_USE,
}


class Source(msgspec.Struct, omit_defaults=True):
    """Where the culprit is: at most one of the three."""

    pointer: str | None = None
    header: str | None = None
    parameter: str | None = None


class Error(msgspec.Struct, omit_defaults=True):
    """A JSON:API error object."""

    id: str
    status: str
    code: str
    title: str
    detail: str
    source: Source | None = None
    meta: dict[str, int | str] | None = None


class Omitted(msgspec.Struct):
    """How many faults the answer has no room for."""

    omitted: int


class ErrorDocument(msgspec.Struct, omit_defaults=True):
    """The body of every answer that is no success."""

    errors: list[Error]
    meta: Omitted | None = None


def document(refusal: Refusal, request_document: object) -> ErrorDocument:
    """The faults in the order in which the request document has their places.

    All of them, as far as `MOST_BYTES` go.
    """
    faults = sorted(refusal.faults, key=_Places(request_document).of)
    omitted = sum(fault.omitted for fault in faults)
    told: list[Error] = []
    room = MOST_BYTES - _ENVELOPE_BYTES
    for fault in faults:
        error = _error(fault)
        room -= len(msgspec.json.encode(error)) + 1
        if room < 0:
            break
        told.append(error)
    omitted += len(faults) - len(told)
    return ErrorDocument(told, Omitted(omitted) if omitted else None)


def headers(refusal: Refusal) -> Iterable[tuple[str, str]]:
    """The headers that belong to the refusal whatever was asked."""
    codes = {fault.code for fault in refusal.faults}
    if Code.UNAUTHENTICATED in codes:
        yield "WWW-Authenticate", "Bearer"
    if codes & _WORTH_REPEATING:
        yield "Retry-After", str(max(refusal.retry_after, 1))


def _error(fault: Fault) -> Error:
    source = Source(fault.pointer, fault.header, fault.parameter)
    return Error(
        id=secrets.token_hex(8),
        status=str(STATUS[fault.code.kind]),
        code=fault.code.word,
        title=fault.code.title,
        detail=fault.detail,
        source=None if source == Source() else source,
        meta=None if fault.meta is None else dict(fault.meta),
    )


class _Places:
    """Says where in a document a fault is, so that places sort as the document is read.

    A missing member comes after the members that are present in its parent. Members are numbered
    once an object, so that a document of nothing but faults costs no more than reading it.
    """

    def __init__(self, document: object) -> None:
        self._document = document
        self._numbers: dict[int, dict[str, int]] = {}

    def of(self, fault: Fault) -> list[int]:
        """The position of the member at each level down to the fault's."""
        place: list[int] = []
        at = self._document
        for token in (fault.pointer or "").split("/")[1:]:
            name = token.replace("~1", "/").replace("~0", "~")
            if isinstance(at, dict):
                place.append(self._members(at).get(name, len(at)))
                at = at.get(name)  # of a name that was cut short nothing is below
            elif isinstance(at, list) and name.isdigit() and int(name) < len(at):
                place.append(int(name))
                at = at[int(name)]
            else:
                place.append(0)
        return place

    def _members(self, parent: Mapping[str, object]) -> dict[str, int]:
        numbers = self._numbers.get(id(parent))
        if numbers is None:
            # Without a call for each name of a large document.
            numbers = {
                name if len(name) <= MAX_NAME_CHARACTERS else shown_name(name): number
                for number, name in enumerate(parent)
            }
            self._numbers[id(parent)] = numbers
        return numbers
