"""The `Idempotency-Key` header, and the answers that are kept for those who repeat a request."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, TypeVar

import msgspec

from teamvars.domain.errors import ALREADY_MADE, Code, Fault, Refusal
from teamvars.domain.idempotency import HEADER, Asked
from teamvars.kernel import Discreet
from teamvars.services.idempotency import Repeated, once
from teamvars.web.http.request import Request
from teamvars.web.http.sending import Response

MAX_CHARACTERS = 255

T = TypeVar("T")

_PLAIN = rf"[!#-~][!-~]{{0,{MAX_CHARACTERS - 1}}}"
_QUOTED = rf'"(?:[!#-\[\]-~]|\\["\\]){{1,{MAX_CHARACTERS}}}"'
PATTERN = f"^(?:{_PLAIN}|{_QUOTED})$"
"""A key as it is, or as a quoted string (RFC 9651, 3.3.3)."""
_HEADER = re.compile(PATTERN)
_ESCAPED = re.compile(r"\\(.)")


class _Kept(Discreet, frozen=True):
    """What is kept of a response, or of one that shows a secret only the id of what was made."""

    status: int = 0
    headers: Mapping[str, str] = {}
    body: bytes | None = None
    made: str | None = None


class Withheld(msgspec.Struct, Generic[T], frozen=True):
    """What is never kept of a response, though it shows it.

    `without` is the result that lacks it, and `again` the body of a repeat, made from the one that
    was kept.
    """

    without: Callable[[T], T]
    again: Callable[[bytes], Awaitable[bytes]]


async def changed(
    request: Request,
    work: Awaitable[T],
    render: Callable[[T], Response],
    *,
    made: Callable[[T], str] | None = None,
    withheld: Withheld[T] | None = None,
) -> Response:
    """The response to a change: of what the service returns, `render` makes it.

    With a key it is kept, and the response to a repeat is the first one again. Where it shows a
    secret, nothing is kept but the id of what was `made`: a repeat is refused with that. Nor is
    what is `withheld`, which a repeat shows as it is then.

    The service's result is that of its one write, and `render` does nothing but compute.
    """
    key = request.idempotency_key
    if key is None:
        return render(await work)
    response: Response | None = None

    def keep(result: T) -> bytes:
        nonlocal response
        response = render(result)
        if made is not None:
            kept = _Kept(made=made(result))
        elif withheld is not None:
            kept = _kept(render(withheld.without(result)))
        else:
            kept = _kept(response)
        return msgspec.msgpack.encode(kept)

    said = request.method, request.full_path, request.query_string, request.header("if-match")
    asked = Asked(request.require_caller(), key, said, request.body_digest.digest())
    try:
        result = await once(asked, work, keep)
    except Repeated as repeated:
        first = msgspec.msgpack.decode(repeated.answer, type=_Kept)
        if first.made is not None:
            raise Refusal(ALREADY_MADE.filled({"id": first.made})) from None
        body = first.body
        if withheld is not None:
            assert body is not None  # it shows what is withheld
            body = await withheld.again(body)
        return Response(first.status, body, first.headers)
    return render(result) if response is None else response


def key_of(text: str) -> str:
    """The key that a header says, in quotes or without. Refuses what is no key."""
    if _HEADER.fullmatch(text) is None:
        detail = f"A key has 1 to {MAX_CHARACTERS} visible ASCII characters, in quotes or without."
        raise Refusal(Fault(Code.INVALID_HEADER, detail, header=HEADER))
    return _ESCAPED.sub(r"\1", text[1:-1]) if text.startswith('"') else text


def _kept(response: Response) -> _Kept:
    assert response.body is None or isinstance(response.body, bytes)  # of a change, never a list
    return _Kept(response.status, response.headers, response.body)
