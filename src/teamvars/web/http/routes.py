"""Routes: the declaration of each operation."""

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from teamvars.web.http.negotiation import MEDIA_TYPE
from teamvars.web.http.request import Request
from teamvars.web.http.response import Response

Handler = Callable[[Request], Awaitable[Response]]


class Route(msgspec.Struct, frozen=True):
    """One operation: `template` is the path with `{name}` for its parameters.

    `answers` has the type of the document for each success, None where there is no document, and
    `media_type` is that of the documents; one that `has_page` answers with an HTML page whoever
    prefers one. A request's body is ignored unless the route `takes` a
    document, which it `may_lack`. `reads` names the headers and query parameters its handler looks
    at: what would change the answer and is not among them is refused. `sends` names the headers of
    its own. `may_forbid` says that some who see the target may not do
    this, `refuses` which other statuses there are besides those of every route. A `public` route
    asks for no token.

    `name` is the operation's in `/openapi.json`, a verb and its object such as `listVariables`:
    generated clients call it that, so it stays. What is `needed` of `reads` cannot be left out.
    """

    method: str
    template: str
    handler: Handler
    answers: Mapping[int, type | None]
    takes: type[msgspec.Struct] | None = None
    may_lack: bool = False
    reads: tuple[str, ...] = ()
    sends: tuple[str, ...] = ()
    may_forbid: bool = False
    refuses: tuple[int, ...] = ()
    media_type: str = MEDIA_TYPE
    has_page: bool = False
    public: bool = False
    needed: tuple[str, ...] = ()
    name: str = ""
