"""Authentication on its own, for requests that are refused before they reach another service."""

from functools import partial

from teamvars.domain.access import Caller
from teamvars.services.house import House, UseCases
from teamvars.storage import access, tokens


class Sessions(UseCases):
    """Authentication, and when each token was last used."""

    def __init__(self, house: House) -> None:
        super().__init__(house)
        self._uses: dict[str, int] = {}
        self.in_request = house.database.in_request
        """All that storage is asked inside the context shares one time limit."""

    async def authenticate(self, caller: Caller) -> None:
        """Finds out who calls; those who ask at the same time share a statement.

        Refuses: unauthenticated.
        """
        await self._database.query(lambda tx: access.authenticate(tx, caller, self._clock()))

    def note_use(self, caller: Caller) -> None:
        """Notes that the caller's token was used; `store_uses` writes all of them at once."""
        if caller.actor is not None and caller.actor.token_id is not None:
            self._uses[caller.actor.token_id] = self._clock()

    async def store_uses(self) -> None:
        """Stores the uses noted since the last time; keeps them when storing fails."""
        uses, self._uses = self._uses, {}
        if not uses:
            return
        try:
            await self._database.write(partial(tokens.note_uses, uses=uses))
        except Exception:
            self._uses = {**uses, **self._uses}
            raise
