"""The pages of a search of an organization's variables. Whoever asks, few rows are looked at.

There are two ways. Of a few workspaces each has its own index, in the order of keys, and so has
each set. Of all other workspaces the organization's index has the whole order, and a right is
looked up for each row. Both look at a bounded number of rows, up to the *frontier*: where the page
ends if it is not full by then.

Where a part of a key is wanted, the keys of what a page looks at are read first, and it has what
has one of those that match: what matches, seen or not, changes nothing of what is looked at.
Whoever reads all workspaces is spared most rows: the organization's index has the next key behind
each, however many variables there are of either.

Variables of sets come first. Which sets somebody sees depends on which workspaces they read. Of
those with many grants some workspaces of the organization are looked at for a page, and it has what
is in the sets that are found by these and have not been listed before.

Whoever may not read everything could learn of other keys from where a page ends: with a variable of
their own that they rename until it is right behind. For them the frontier is a place that no
variable need have, and how far it is varies by chance.
"""

import secrets
from collections.abc import Sequence

from teamvars.domain.access import Level
from teamvars.domain.ids import prefix_of
from teamvars.domain.keys import Sealed
from teamvars.domain.pages import CursorPaged
from teamvars.domain.variable_search import (
    MAX_PAGE_VALUE_BYTES,
    FoundVariable,
    Place,
    SearchAccess,
    SetPlace,
    SetWalk,
    VariableSearch,
)
from teamvars.domain.variable_sets import PREFIX, VariableSet
from teamvars.domain.workspaces import Workspace
from teamvars.storage import variable_sets
from teamvars.storage.database import Row, Transaction, each
from teamvars.storage.variable_search_statements import (
    COUNTED,
    KEYS_LOOKED_AT,
    KEYS_OF_ALL,
    OF_SETS,
    OF_WORKSPACES,
    PAGE_OF_ALL,
    PAGE_OF_GRANTED,
    PAGE_OF_GRANTED_KEYS,
    PAGE_OF_KEYS,
    SEALED,
    SEEN_BY_MANY,
    OfFew,
)
from teamvars.storage.variables import to_stored

MAX_LOOKED_AT = 2000
"""Entries of an index that a page may look at."""
_MAX_ROWS = 500
"""The same where the row of each has to be looked at as well."""
_MAX_RIGHTS = 8000
"""Grants that a page may look up: one for each row and team of the caller."""
MAX_KEYS = 1000
"""Of an organization, that a page may look at for a part of them."""
_OF_ONE_KEY = 2
"""Variables of one key that a workspace or a set may have, one a category."""


async def find_page(
    tx: Transaction, granted: SearchAccess, wanted: VariableSearch
) -> CursorPaged[FoundVariable, Place | SetPlace]:
    """The page of what is wanted and may be read. No value is among it, but with their values the
    variables are no more than those of `MAX_PAGE_VALUE_BYTES`, or one.
    """
    end: Place | SetPlace | None
    rows, end = await _of_sets(tx, granted, wanted)
    if end is None and len(rows) <= wanted.size:
        own, end = await _of_workspaces(tx, granted, wanted.behind_sets())
        rows = [*rows, *own]
    found = [_found(row, granted) for row in rows]
    most = _most(found, wanted)
    following = _position(rows[most - 1], wanted) if len(rows) > most else end
    return CursorPaged(found[:most], following)


async def sealed_values(tx: Transaction, variable_ids: Sequence[str]) -> dict[str, Sealed]:
    """The sealed values of variables by id, as this transaction has found them."""
    rows = await tx.fetch(SEALED, each(variable_ids))
    return {id_: Sealed(sealed, version) for id_, sealed, version in rows}


async def _of_sets(
    tx: Transaction, granted: SearchAccess, wanted: VariableSearch
) -> tuple[Sequence[Row], SetPlace | None]:
    """As of a few workspaces: an organization has no more sets than its operator lets it have."""
    if wanted.workspace is not None or wanted.walk is None:
        return (), None
    set_ids, further = await _sets_seen(tx, granted, wanted.walk)
    end, rows = await _page_of_few(tx, OF_SETS, set_ids, wanted)
    if end is not None:
        return rows, SetPlace(end, wanted.walk)
    return rows, further and SetPlace(Place.before(wanted.keys.first), further)


async def _sets_seen(
    tx: Transaction, granted: SearchAccess, walk: SetWalk
) -> tuple[Sequence[str], SetWalk | None]:
    """The sets that the caller sees by id. If many grants say so, those of them that come next on
    the walk, and how it goes on, if it does.
    """
    if granted.workspace_ids is not None or granted.reads_all:
        everywhere = Level.READ if granted.reads_all else Level.NONE
        seen = None if granted.changes_sets else (everywhere, granted.team_ids, False)
        return await variable_sets.ids_visible(tx, granted.organization_id, seen), None
    every, own = await variable_sets.ids_for(tx, granted.organization_id, granted.team_ids)
    listed = walk.listed_of(every)
    found, behind = {*own} - listed, None
    if not listed.union(own).issuperset(every):
        # Enough for a workspace to which all sets are attached, and one more.
        most = max(_rights(granted), len(every) + 1)
        args = granted.organization_id, walk.behind, most, each(granted.team_ids)
        rows = await tx.fetch(SEEN_BY_MANY, *args)
        behind = rows[0][0]
        found |= {id_ for _, id_ in rows if id_ is not None} - listed
    if behind is None or len(listed | found) == len(every):
        return sorted(found), None
    return sorted(found), SetWalk.on(behind, every, listed | found)


async def _of_workspaces(
    tx: Transaction, granted: SearchAccess, wanted: VariableSearch
) -> tuple[Sequence[Row], Place | None]:
    if granted.workspace_ids is not None:
        end, rows = await _page_of_few(tx, OF_WORKSPACES, granted.workspace_ids, wanted)
    elif granted.reads_all and wanted.part is not None:
        end, rows = await _of_all_keys(tx, granted.organization_id, wanted)
    elif granted.reads_all:
        end, rows = await _of_all(tx, granted, wanted)
    else:
        end, rows = await _of_granted(tx, granted, wanted)
    return [row for row in rows if end is None or _place(row) <= end], end


async def _page_of_few(
    tx: Transaction, ask: OfFew, owner_ids: Sequence[str], wanted: VariableSearch
) -> tuple[Place | None, list[Row]]:
    """Up to its frontier each owner has a share of the rows that may be looked at. What comes
    before the first of the frontiers is complete.
    """
    if not owner_ids:
        return None, []
    # At least one key more than that of `start`, of which all may be before it: pages go on.
    share = max(_look_at(wanted) // len(owner_ids), _OF_ONE_KEY + 1)
    if wanted.wants_all and wanted.part is None:
        share = min(share, wanted.size + _OF_ONE_KEY + 1)
    sql, args = ask.page, (each(owner_ids), *_asked(wanted, share - 1))
    if wanted.part is not None:
        range_ = wanted.start.key, wanted.keys.end
        keys = await tx.fetch(ask.keys, each(owner_ids), *range_, share - 1)
        sql, args = ask.page_of_keys, (*args, _matching(keys, wanted))
    rows = await tx.fetch(sql, *args)
    frontier = rows[0][0]
    return None if frontier is None else Place.behind(frontier), _without(1, rows)


async def _of_granted(
    tx: Transaction, granted: SearchAccess, wanted: VariableSearch
) -> tuple[Place | None, list[Row]]:
    most = _by_chance(min(_look_at(wanted), _rights(granted)))
    asked = granted.organization_id, *_asked(wanted, most)
    sql, args = PAGE_OF_GRANTED, (*asked, each(granted.team_ids))
    if wanted.part is not None:
        keys = await tx.fetch(KEYS_LOOKED_AT, *asked[:6])
        sql, args = PAGE_OF_GRANTED_KEYS, (*args, _matching(keys, wanted))
    rows = await tx.fetch(sql, *args)
    if not rows:
        return None, []
    found = _without(7, rows)
    *last, looked_at = rows[0][:4]
    if looked_at < most:
        return None, found
    return Place.between(Place(*rows[0][4:7]), Place(*last)), found


async def _of_all(
    tx: Transaction, granted: SearchAccess, wanted: VariableSearch
) -> tuple[Place | None, list[Row]]:
    most = wanted.size + 1 if wanted.wants_all else _look_at(wanted)
    rows = await tx.fetch(PAGE_OF_ALL, granted.organization_id, *_asked(wanted, most))
    if not rows:
        return None, []
    *frontier, looked_at = rows[0][:4]
    return Place(*frontier) if looked_at == most else None, _without(4, rows)


async def _of_all_keys(
    tx: Transaction, organization_id: str, wanted: VariableSearch
) -> tuple[Place | None, list[Row]]:
    """Of the keys that match all variables of the first ones, and some of the next."""
    few, end = await _next_matching(tx, organization_id, wanted)
    if not few:
        return end, []
    whole, cut, room = await _with_room(tx, organization_id, few, wanted)
    *place, _, _, category, sensitive, most = _asked(wanted, room)
    args = organization_id, *place, each(whole), room, category, sensitive, most, cut
    rows = await tx.fetch(PAGE_OF_KEYS, *args)
    return end if cut is None else Place(*rows[0][:3]), _without(4, rows)


async def _next_matching(
    tx: Transaction, organization_id: str, wanted: VariableSearch
) -> tuple[list[str], Place | None]:
    """The next keys that match, as many as there may be on a page, and up to where these are all;
    None: to the end.
    """
    asked = organization_id, wanted.start.key, wanted.keys.end, MAX_KEYS
    keys = [key for (key,) in await tx.fetch(KEYS_OF_ALL, *asked)]
    matching = wanted.matching(keys)
    few = matching[: wanted.size + 1]
    if len(few) < len(matching):
        return few, Place.behind(few[-1])
    return few, Place.behind(keys[-1]) if len(keys) == MAX_KEYS else None


async def _with_room(
    tx: Transaction, organization_id: str, keys: Sequence[str], wanted: VariableSearch
) -> tuple[list[str], str | None, int]:
    """The keys of which a page may look at all variables; the next one, if there is one, and at how
    many of that.
    """
    most = wanted.size + 1
    room = most if wanted.wants_all else _look_at(wanted)
    counted = await tx.fetch(COUNTED, organization_id, *wanted.start, most, each(keys))
    whole: list[str] = []
    for key, count in sorted(map(tuple, counted)):
        if count == most or count > room:
            return whole, key, room
        whole.append(key)
        room -= count
    return whole, None, room


def _matching(keys: Sequence[Row], wanted: VariableSearch) -> str | None:
    return each(wanted.matching(key for (key,) in keys))


def _rights(granted: SearchAccess) -> int:
    """Of how many workspaces the right is looked up."""
    return min(MAX_LOOKED_AT, _MAX_RIGHTS // len(granted.team_ids))


def _by_chance(most: int) -> int:
    """A number up to `most` and at least about half of it, of which those between are likelier."""
    quarter = most // 4 + 1
    return max(most - secrets.randbelow(quarter) - secrets.randbelow(quarter), 1)


def _look_at(wanted: VariableSearch) -> int:
    return MAX_LOOKED_AT if wanted.sensitive is None else _MAX_ROWS


def _asked(wanted: VariableSearch, look_at: int) -> tuple[object, ...]:
    """The parameters $2 to $9."""
    sensitive = None if wanted.sensitive is None else int(wanted.sensitive)
    return (
        *wanted.start,
        wanted.keys.end,
        look_at,
        wanted.category,
        sensitive,
        wanted.size + 1,
    )


def _without(columns: int, rows: Sequence[Row]) -> list[Row]:
    """The rows without the first columns; where nothing was found one has the frontier alone."""
    return [row[columns:] for row in rows if row[columns] is not None]


def _most(found: Sequence[FoundVariable], wanted: VariableSearch) -> int:
    """How many of what was found are on the page."""
    if not wanted.values:
        return wanted.size
    room = MAX_PAGE_VALUE_BYTES
    for number, one in enumerate(found[: wanted.size]):
        room -= one.value_bytes
        if room < 0:
            return max(number, 1)
    return wanted.size


def _found(row: Row, granted: SearchAccess) -> FoundVariable:
    *its, name, _ = row
    stored = to_stored(its)
    variable = stored.variable
    kind = VariableSet if _is_of_set(row) else Workspace
    owner = kind(variable.owner_id, name, granted.organization_id, granted.organization_name)
    return FoundVariable(variable, owner, 0 if variable.sensitive else stored.value_bytes)


def _is_of_set(row: Row) -> bool:
    return prefix_of(row[1]) == PREFIX


def _place(row: Row) -> Place:
    """By key, folded name of the owner and category."""
    return Place(row[2], row[-1], row[4])


def _position(row: Row, wanted: VariableSearch) -> Place | SetPlace:
    """Behind the variable of a row."""
    if wanted.walk is not None and _is_of_set(row):
        return SetPlace(_place(row), wanted.walk)
    return _place(row)
