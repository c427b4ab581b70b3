"""Lists of variables as they go over the wire, made a batch at a time."""

from collections.abc import Iterable, Sequence

import msgspec

from teamvars.pace import Pace
from teamvars.services.rendered import Rendered
from teamvars.web.http.response import PIECE_BYTES


async def rendered(
    tag: str, batches: Iterable[Sequence[msgspec.Struct]], rest: bytes = b""
) -> Rendered:
    """The document whose `data` are the resources of all batches, with the rest of its members.

    Between the pieces of a long one others have the loop.
    """
    pieces = []
    piece = bytearray(b'{"data":[')
    comma = b""
    pace = Pace()
    for resources in batches:
        piece += comma + msgspec.json.encode(resources)[1:-1]
        comma = b","
        if len(piece) > PIECE_BYTES:
            pieces.append(bytes(piece))
            piece.clear()
            await pace.give_way()
    piece += b"]" + rest + b"}"
    return Rendered(tag, (*pieces, bytes(piece)))
