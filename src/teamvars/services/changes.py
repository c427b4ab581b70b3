"""Changes by group commit, which callers without the right never come to."""

from teamvars.domain.access import Caller
from teamvars.domain.errors import Kind, Refusal
from teamvars.services.known_callers import KnownCallers
from teamvars.storage.database import Body, Database, T

LACKS_RIGHT = {Kind.UNAUTHENTICATED, Kind.NOT_FOUND, Kind.FORBIDDEN}


class Changes:
    """`Database.change` for callers who may change the subject."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writers = KnownCallers()

    async def make(self, caller: Caller, subject: str, look: Body[None], body: Body[T]) -> T:
        """Makes the change. `look` keeps callers without the right out of the queue of writers."""
        if not self._writers.knows(caller, subject):
            await self._database.query(look)
            self._writers.note(caller, subject)
        try:
            return await self._database.change(subject, body)
        except Refusal as refusal:
            if refusal.kind in LACKS_RIGHT:
                self._writers.forget(caller, subject)
            raise
