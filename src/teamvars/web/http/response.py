"""The response that a handler gives."""

from collections.abc import Mapping

import msgspec

from teamvars.services.rendered import Rendered
from teamvars.web.http.negotiation import MEDIA_TYPE

PIECE_BYTES = 128 * 1024
"""Of a long body that go to the server at once."""

NO_HEADERS: Mapping[str, str] = {}


class Response(msgspec.Struct, frozen=True):
    """A status, a body or none, and headers. A large body is in pieces."""

    status: int
    body: bytes | Rendered | None = None
    headers: Mapping[str, str] = NO_HEADERS

    @classmethod
    def document(
        cls,
        status: int,
        document: object,
        headers: Mapping[str, str] = NO_HEADERS,
        *,
        media_type: str = MEDIA_TYPE,
    ) -> "Response":
        """With a document, encoded as JSON, and `headers` besides its Content-Type."""
        body = msgspec.json.encode(document)
        return cls(status, body, {"Content-Type": media_type, **headers})
