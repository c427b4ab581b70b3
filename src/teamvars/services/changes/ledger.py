"""The streams one transaction has locked, and the entries it adds to them."""

from collections.abc import Iterable, Mapping, Sequence

from teamvars.domain.access import Caller
from teamvars.domain.audit import Stream
from teamvars.security.chain import Chain
from teamvars.storage import streams
from teamvars.storage.database import Transaction


class Ledger:
    """Keeps the audit trail of one transaction that makes several changes.

    `opens` and `closes` in an entry's details are what `audit verify` follows from stream to
    stream, so a birth or an end is always recorded in the stream above.
    """

    def __init__(self, tx: Transaction, caller: Caller, chain: Chain, now: int) -> None:
        self.tx = tx
        self.now = now
        self._caller = caller
        self._chain = chain
        self._streams: dict[str, Stream] = {}

    async def lock(self, stream_ids: Iterable[str]) -> None:
        """Locks streams before anything is decided by what they order. Refuses: not found."""
        self._streams |= await streams.lock(self.tx, stream_ids)

    async def record(
        self, stream_id: str, action: str, subject: tuple[str, str], details: Mapping[str, object]
    ) -> None:
        """Adds an entry to a locked stream."""
        event = self._caller.event(action, subject, dict(details), self.now)
        entry, after = self._chain.extend(self._streams[stream_id], event)
        await streams.append(self.tx, entry, after)
        self._streams[stream_id] = after

    async def open(self, stream_id: str) -> dict[str, object]:
        """Begins a new subject's stream; returns what the entry above says of it."""
        self._streams[stream_id] = self._chain.open(stream_id)
        await streams.insert(self.tx, self._streams[stream_id])
        return {"opens": [stream_id]}

    async def close(self, stream_id: str) -> dict[str, object]:
        """Ends a stream whose subject is gone; returns what the entry above says of it."""
        details = self.ends([stream_id])
        await self.forget([stream_id])
        return details

    def ends(self, stream_ids: Iterable[str]) -> dict[str, object]:
        """What the entry above says of locked streams that will have no more entries."""
        ended = [self._streams[id_] for id_ in stream_ids]
        return {
            "closes": [
                {"stream": stream.id, "sequence": stream.sequence, "link": stream.link.hex()}
                for stream in ended
            ]
        }

    async def forget(self, stream_ids: Sequence[str]) -> None:
        """Takes away the streams of subjects that are gone."""
        await streams.delete(self.tx, stream_ids)
        for stream_id in stream_ids:
            del self._streams[stream_id]

    def variables_in(self, workspace_id: str) -> int:
        """How many variables a locked workspace holds."""
        return self._streams[workspace_id].usage.variables
