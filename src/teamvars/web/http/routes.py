"""Routes: the declaration of each operation."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec

from teamvars.domain.errors import Refusal
from teamvars.web.http.negotiation import MEDIA_TYPE
from teamvars.web.http.parameters import Parameter
from teamvars.web.http.request import STRANGER_BODY_BYTES, Request
from teamvars.web.http.sending import Response

Handler = Callable[[Request], Awaitable[Response]]
Check = Callable[[str, Callable[[], None]], Awaitable[None]]
"""Makes a check, by which the sender of a request is whom it names, in that one's turn."""


class RequestBody(msgspec.Struct, frozen=True):
    """A document that a route takes: its type, an example, and whether it may be left out.

    One of `max_items` may be large, and its `data` has at most so many. One that `is_form` is no
    document but a form. `max_bytes`: the most that a route takes without a token. `plain` reads a
    short body by its type, if it may; None: it is to be parsed, which finds out what is wrong.
    """

    type: type[msgspec.Struct]
    example: Mapping[str, Any]
    optional: bool = False
    max_items: int | None = None
    is_form: bool = False
    max_bytes: int = STRANGER_BODY_BYTES
    plain: Callable[[bytes], object | None] | None = None


class OwnErrors(msgspec.Struct, frozen=True):
    """How a path refuses that does not speak JSON:API: the type of its documents, and what makes
    one of a refusal, its status and headers.
    """

    type: type[msgspec.Struct]
    response: Callable[[Refusal, int, Mapping[str, str]], Response]


class Route(msgspec.Struct, frozen=True):
    """One operation on the path `template`, in which `{name}` stands for a parameter.

    `responses` has the type of the document for each success, None where there is no document, and
    `media_type` is that of the documents, which one that `is_plain` sends whatever is accepted; one
    that `has_page` responds with an HTML page to whoever prefers one. `sends` names the headers of
    its own, each with a word on when it is sent; those that `has_entity_tag` send an ETag as well.

    A request's body is ignored unless the route `takes` one. `reads` are the query parameters its
    handler looks at: what would change the response and is not among them is refused.
    `precondition` is the conditional header it evaluates, If-Match or If-None-Match.

    `admit` refuses callers without the right before any of the body is read, not after.
    What takes long waits for its `turn` before its document is parsed, and has it to the end.
    Where the document says who sends it, `proves` finds out whether that is so, before anything
    else is done, and puts in its place what the handler needs.

    One that is `keyed` changes something, and does so once however often it is sent with the same
    Idempotency-Key: its handler responds by `idempotency.changed`.

    `may_forbid` says that some who see the target may not do this, `refuses` which other statuses
    there are besides those of every route. A `public` route asks for no token, and one `for_jobs`
    for that of a job, which is good for no other. `errors` is how it refuses, if not by JSON:API.

    `name` is the operation's in `/openapi.json`, a verb and its object such as `listVariables`:
    generated clients call it that, so it stays. `text` says what it does, and `tag` groups it with
    others, where the handler's docstring and module do not.
    """

    method: str
    template: str
    handler: Handler
    responses: Mapping[int, type | None]
    takes: RequestBody | None = None
    admit: Callable[[Request], Awaitable[None]] | None = None
    turn: Callable[[Request], AbstractAsyncContextManager[None]] | None = None
    proves: Callable[[Request, Check], Awaitable[None]] | None = None
    reads: tuple[Parameter, ...] = ()
    precondition: str | None = None
    sends: Mapping[str, str] = {}
    has_entity_tag: bool = False
    keyed: bool = False
    may_forbid: bool = False
    refuses: tuple[int, ...] = ()
    media_type: str = MEDIA_TYPE
    has_page: bool = False
    is_plain: bool = False
    public: bool = False
    for_jobs: bool = False
    errors: OwnErrors | None = None
    name: str = ""
    text: str = ""
    tag: str = ""
