"""Searching all variables of an organization that a caller may read."""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from teamvars.domain.access import Caller
from teamvars.domain.errors import refuse_all
from teamvars.domain.keys import Sealed
from teamvars.domain.pages import CursorPaged
from teamvars.domain.variable_search import (
    FoundVariable,
    Place,
    SearchAccess,
    SetPlace,
    VariableSearch,
)
from teamvars.domain.variables import Variable, damaged_value
from teamvars.pace import in_batches
from teamvars.security.sealing import DataKey, SealBroken
from teamvars.services.house import UseCases
from teamvars.storage import access_by_name, variable_search, variables
from teamvars.storage.database import Transaction

_BATCH_BYTES = 64 * 1024
"""Values of so many bytes are opened and written in one go."""

_Page = CursorPaged[FoundVariable, Place | SetPlace]


class FoundVariables(msgspec.Struct, frozen=True):
    """Some variables in order, and the cursor of what may come after them.

    They come in batches, each with about as many bytes of values as may be opened and written in
    one go. Sensitive ones have no value, and others have theirs where it was asked for.
    """

    batches: Iterator[Sequence[FoundVariable]]
    further: str | None


class Searches(UseCases):
    """Searches of an organization: never by value."""

    async def variables(
        self,
        caller: Caller,
        organization: str,
        wanted: VariableSearch,
        cursor: str | None,
    ) -> FoundVariables:
        """A page of the variables that are wanted and that the caller may read, after the cursor.

        Refuses: unauthenticated, not found, a cursor that this organization's list never had; with
        the last of the batches, damaged values.
        """

        async def body(tx: Transaction) -> FoundVariables:
            granted = await access_by_name.search(
                tx, caller, self._clock(), organization, wanted.workspace
            )
            begun = wanted.begun_at(self._position(cursor, granted))
            page = await variable_search.find_page(tx, granted, begun)
            shown = _readable(page) if wanted.values else []
            sealed = await variable_search.sealed_values(tx, shown) if shown else {}
            opened = _opened(page.items, sealed, self._tools.sealer.data_key(granted.key))
            batches = in_batches(opened, attrgetter("value_bytes"), _BATCH_BYTES)
            further = page.following and self._house.cursors.seal(
                page.following, _list_of(granted, type(page.following))
            )
            return FoundVariables(batches, further)

        return await self._database.read(body)

    def _position(self, cursor: str | None, granted: SearchAccess) -> Place | SetPlace | None:
        cursors = self._house.cursors
        if cursor is not None:
            of_sets = cursors.open(cursor, _list_of(granted, SetPlace), SetPlace)
            if of_sets is not None:
                return of_sets
        return cursors.opened(cursor, _list_of(granted, Place), Place)

    async def place_older(self) -> None:
        """Has searches find what an older release has added beside this one, some at a time."""
        while await self._database.write(variables.place_some):
            pass


def _readable(page: _Page) -> list[str]:
    return [one.variable.id for one in page.items if not one.variable.sensitive]


def _list_of(granted: SearchAccess, kind: type[Place] | type[SetPlace]) -> str:
    """The list that a place is in: to a node that knows of no sets theirs is another."""
    what = "variables of sets" if kind is SetPlace else "variables"
    return f"{what} of {granted.organization_id}"


def _opened(
    found: Sequence[FoundVariable], sealed: Mapping[str, Sealed], key: DataKey
) -> Iterator[FoundVariable]:
    """Opens each value when it is asked for. Refuses behind the last: damaged values."""
    damaged: list[Variable] = []
    for one in found:
        variable, value = one.variable, sealed.get(one.variable.id)
        try:
            opened = variable if value is None else variable.with_value(key.open(value, variable))
        except SealBroken:
            damaged.append(variable)
        else:
            yield replace(one, variable=opened)
    refuse_all(map(damaged_value, damaged))
