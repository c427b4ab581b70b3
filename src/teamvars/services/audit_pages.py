"""Pages of changes: of one stream, all of them or those of the variables with one key, or of an
organization; and what somebody asks for by names, which become ids.
"""

from collections.abc import Collection, Container, Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from teamvars.domain.access import Caller, Level, OrganizationAccess
from teamvars.domain.audit import (
    SYSTEM_STREAM,
    AuditEntry,
    AuditFilter,
    AuditQuery,
    OrganizationAuditQuery,
    Position,
    Stream,
    original_in,
    places_in,
    tells_of_part,
)
from teamvars.domain.audit_names import OPERATOR, ActorNames, AuditNames
from teamvars.domain.errors import Code, Fault, Kind, passing_over, refuse_all
from teamvars.domain.ids import prefix_of
from teamvars.domain.pages import CursorPaged, Page, Paged
from teamvars.domain.projects import PREFIX as PROJECT_PREFIX
from teamvars.domain.variable_sets import PREFIX
from teamvars.storage import access, audit_entries, organizations, streams, variables, workspaces
from teamvars.storage.database import Transaction

MOST_SEARCHED = 10_000
"""How many changes one request searches: a stream's newest, or an organization's from a page on."""

_MOST_DETAILS = 2**20
"""Characters of details on a page of an organization's changes; a first one may have more."""

_PIECE = 500
"""How many of them one statement looks at: SQLite's run on the event loop."""


_ACTORS = ("users", "teams", "organizations", "runners")
_OWN_ACTORS = ("teams", "organizations", "runners")
_NAMED = (*_ACTORS, "workspaces", "varsets")
_NOUNS = {"varsets": "variable set"}


class OrganizationAuditPage(msgspec.Struct, frozen=True):
    """A page of an organization's changes, newest first, what things are called in them, and the
    cursor of what may come after them.
    """

    entries: Sequence[AuditEntry]
    actors: ActorNames
    further: str | None


class AuditPage(msgspec.Struct, frozen=True):
    """A page of changes, newest first, and what those who made them are called.

    `searched_from` is the number of the oldest change that was searched; None: nothing was. `seen`
    are the workspaces, sets, projects and originals that their reader may be told of; None: all.
    """

    entries: Paged[AuditEntry]
    actors: ActorNames
    searched_from: int | None = None
    seen: Collection[str] | None = None


async def newest(tx: Transaction, stream: Stream, page: Page) -> Paged[AuditEntry]:
    """A page of all changes. Sequence numbers have no gaps, so it is a range of them."""
    up_to = stream.sequence - page.offset
    entries = await streams.entries_between(tx, (stream.id, max(up_to - page.size, 0), up_to))
    return Paged(entries[::-1], stream.sequence)


class AskedKey(NamedTuple):
    """Which keys are asked for: one, or all that have a part in them; those that are both."""

    key: str | None = None
    part: str | None = None


async def about_key(
    tx: Transaction, stream: Stream, asked: AskedKey, page: Page
) -> tuple[Paged[AuditEntry], int]:
    """A page of the changes of all variables that have such a key or had it, under whatever key.

    The newest `MOST_SEARCHED` changes of the stream are searched; the second result is the number
    of the oldest of them. Entries stay as they are, so these statements need no one snapshot.
    """
    pieces = _pieces(stream)
    ids = await _variables(tx, pieces, asked)
    numbers: list[int] = []
    for piece in pieces if ids else ():
        numbers += await streams.sequences_about(tx, piece, ids)
    wanted = numbers[page.offset : page.offset + page.size]
    entries: list[AuditEntry] = []
    if wanted:
        entries = await streams.entries_about(tx, (stream.id, wanted[-1] - 1, wanted[0]), ids)
    return Paged(entries[::-1], len(numbers)), max(stream.sequence - MOST_SEARCHED, 0) + 1


async def _variables(tx: Transaction, pieces: Iterable[streams.Piece], asked: AskedKey) -> set[str]:
    """The ids of those of which the pieces say such a key."""
    called: set[str] = set()
    with_part: set[str] = set()
    for piece in pieces:
        if asked.key is not None:
            called |= await streams.variables_called(tx, asked.key, piece)
        if asked.part is not None:
            told = await streams.details_of_variables(tx, piece)
            with_part |= {id_ for id_, details in told if tells_of_part(asked.part, details)}
    if asked.key is None:
        return with_part
    return called if asked.part is None else called & with_part


async def once_called(
    tx: Transaction, stream: Stream, name: str, types: Collection[str]
) -> set[str]:
    """The ids of all of these types that the newest `MOST_SEARCHED` changes of the stream say have
    the name or had it.
    """
    ids: set[str] = set()
    for piece in _pieces(stream):
        told = AuditNames(await streams.naming(tx, piece))
        ids.update(*(told.named(type_, name) for type_ in types))
    return ids


async def of_organization(
    tx: Transaction, wanted: AuditFilter, part: str | None, size: int
) -> CursorPaged[AuditEntry, Position]:
    """At most so many of an organization's changes that the filter lets through, newest first.

    With a part those of variables alone that tell of a key with it.

    Filters that no index serves search `MOST_SEARCHED` changes at most: the page may be short, or
    empty, and the next one goes on. Entries stay as they are, so these statements need no one
    snapshot.
    """
    if not all(wanted.within):
        return CursorPaged([], None)  # no workspace has the name
    found: list[AuditEntry] = []
    before, room = wanted.before, size + 1
    is_filtered = wanted.actor_ids is not None or wanted.within or {wanted.key, part} != {None}
    for _ in range(MOST_SEARCHED // _PIECE):
        here = AuditFilter(
            organization_id=wanted.organization_id, since=wanted.since, before=before
        )
        end = await streams.position_of(tx, here, _PIECE) if is_filtered else None
        piece = replace(wanted, before=before, down_to=end)
        if part is None:
            found += await streams.search(tx, piece, room - len(found))
        else:
            told = await streams.search(tx, piece, _PIECE)
            found += [one for one in told if one.has_part(part)]
        before = end
        if end is None or len(found) >= room:
            break
    shown = _of_size(found[:size])
    return CursorPaged(shown, shown[-1].position if len(shown) < len(found) else before)


async def seen_places(
    tx: Transaction, caller: Caller, now: int, organization_id: str, entries: Iterable[AuditEntry]
) -> frozenset[str]:
    """Of the places in the details of an organization's entries the ids of those that the caller
    sees: workspaces and sets whose variables they may read, and projects. Beside these, of the
    variables that something is a copy of those that are in such a place.
    """
    told = [entry.read_details() or {} for entry in entries]
    copied = {id_ for id_ in map(original_in, told) if id_ is not None}
    originals = await variables.places_of(tx, copied) if copied else {}
    named = {id_ for details in told for id_ in places_in(details)}.union(originals.values())
    sets = {id_ for id_ in named if prefix_of(id_) == PREFIX}
    projects = {id_ for id_ in named if prefix_of(id_) == PROJECT_PREFIX}
    place = caller.place
    # An entry names one set at most, and thousands of the others.
    seen = {id_ for id_ in sorted(sets) if await _sees_set(tx, caller, now, id_)}
    if projects:
        found = await access.projects_seen(tx, caller, now, organization_id, projects)
        seen |= {project.id for project in found}
    if workspaces := named - sets - projects:
        seen |= await access.workspaces_seen(tx, caller, now, organization_id, workspaces)
    caller.place = place  # what is told of the request is where it was made, and not of what
    return frozenset(seen).union(id_ for id_, at in originals.items() if at in seen)


async def _sees_set(tx: Transaction, caller: Caller, now: int, id_: str) -> bool:
    with passing_over(Kind.NOT_FOUND):
        return (await access.variable_set(tx, caller, now, id_)).level >= Level.READ
    return False


def _of_size(entries: Sequence[AuditEntry]) -> Sequence[AuditEntry]:
    """The first of the entries, and those after it until their details are too many."""
    sizes = accumulate(len(str(entry.details)) for entry in entries)
    return entries[: max(sum(size <= _MOST_DETAILS for size in sizes), 1)]


def _pieces(stream: Stream) -> list[streams.Piece]:
    """The newest `MOST_SEARCHED` changes of the stream."""
    oldest = max(stream.sequence - MOST_SEARCHED, 0)
    return [
        (stream.id, max(up_to - _PIECE, oldest), up_to)
        for up_to in range(stream.sequence, oldest, -_PIECE)
    ]


async def names(tx: Transaction, of: Container[str] | None = None) -> AuditNames:
    """What these things, or all, are or were called: the streams of the system and of organizations
    say so, and of an organization that is there its row, whoever has touched its entries.
    """
    known = AuditNames(of=of)
    async for page in streams.pages(tx, SYSTEM_STREAM, naming=True):
        known.note(page)
    for one in (await organizations.every(tx)).values():
        known.note_organization(one.id, one.name)
    for id_ in sorted(known.of_type("organizations")):
        async for page in streams.pages(tx, id_, naming=True):
            known.note(page)
    return known


async def resolved(tx: Transaction, names: AuditNames, query: AuditQuery) -> AuditFilter:
    """The filter with ids where the query has names, also of what is gone or was renamed.

    Refuses, all at once, what nothing is or was called and what no entry has.
    """
    resolver = _Resolver(tx, names)
    kind, actors = await resolver.actors(query.actor)
    stream, action, request = query.stream, query.action, query.request
    if stream not in (None, SYSTEM_STREAM):
        its = AuditFilter(within=[{stream}])  # at least that of its birth, which is in another
        await resolver.require(its, f"There is no stream {stream}.")
    if action is not None:
        await resolver.require(AuditFilter(action=action), f"No entry has the action {action}.")
    if request is not None:
        nothing = f"No entry belongs to the request {request}. Refused requests have none."
        await resolver.require(AuditFilter(request_id=request), nothing)
    found = AuditFilter(
        stream_id=stream,
        action=action,
        request_id=request,
        actor_kind=kind,
        actor_ids=actors,
        subject_ids=await resolver.subjects(query.subject),
        within=[
            *resolver.whole("workspaces", query.workspace, "ORG/WORKSPACE"),
            *resolver.whole("varsets", query.set, "ORG/SET"),
            *resolver.whole("teams", query.team, "ORG/TEAM"),
            *resolver.whole("organizations", query.organization, "its name"),
        ],
        since=query.since,
        until=query.until,
        before=query.before,
    )
    refuse_all(resolver.faults)
    return found


async def resolved_within(
    tx: Transaction, granted: OrganizationAccess, query: OrganizationAuditQuery
) -> AuditFilter:
    """The filter of an organization's entries, with ids where the query has names.

    Names are those of today, users' as the organization is told them, and of teams, runners,
    workspaces and the organization also those that the newest changes in its own stream tell of.
    """
    organization, actors, within = granted.organization, None, []
    if query.actor is not None:
        actors = await audit_entries.called(tx, organization.id, query.actor)
        actors |= await once_called(tx, granted.stream, query.actor, _OWN_ACTORS)
        actors.add(query.actor)
    if query.workspace is not None:
        one = await workspaces.find_named(tx, organization.name, query.workspace)
        ids = await once_called(tx, granted.stream, query.workspace, ("workspaces",))
        within.append(ids if one is None else {*ids, one.id})
    return AuditFilter(
        organization_id=organization.id,
        actor_ids=actors,
        within=within,
        key=query.key,
        since=query.since,
    )


class _Resolver:
    """Finds ids, and notes what cannot be found."""

    def __init__(self, tx: Transaction, names: AuditNames) -> None:
        self.faults: list[Fault] = []
        self._tx = tx
        self._names = names

    async def require(self, wanted: AuditFilter, otherwise: str) -> None:
        """Notes a fault where there is no such entry."""
        if not await streams.has_entry(self._tx, wanted):
            self.faults.append(Fault(Code.NOT_FOUND, otherwise))

    async def actors(self, actor: str | None) -> tuple[str | None, set[str] | None]:
        """The kind, where that is said, and the ids."""
        if actor is None:
            return None, None
        kind, colon, account = actor.partition(":")
        if colon and kind == OPERATOR:
            wanted = AuditFilter(actor_kind=OPERATOR, actor_ids=[account])
            await self.require(wanted, f"No entry is by an operator whose account is {account}.")
            return OPERATOR, {account}
        ids = self._called(_ACTORS, actor)
        if not ids:
            nobody = f"Nobody is or was called {actor}, and no entry is by an actor with that id."
            await self.require(AuditFilter(actor_ids=[actor]), nobody)
        return None, {*ids, actor}

    async def subjects(self, subject: str | None) -> set[str] | None:
        if subject is None:
            return None
        ids = self._called(_NAMED, subject) | await streams.variables_called(self._tx, subject)
        if not ids:
            nothing = (
                f"Nothing is or was called {subject}, and no entry is about anything with that id."
            )
            await self.require(AuditFilter(subject_ids=[subject]), nothing)
        return {*ids, subject}

    def whole(self, type_: str, said: str | None, form: str) -> list[set[str]]:
        """The ids of what is meant and, of an organization, of all that it has or had.

        A team or workspace is named with its organization: else it may be another's.
        """
        if said is None:
            return []
        ids = {said} if self._names.is_a(type_, said) else set()
        if not ids and ("/" in said) is (type_ != "organizations"):
            ids = self._names.called(type_, said)
        if not ids:
            noun = _NOUNS.get(type_) or type_[:-1]
            detail = f"There is and was no {noun} {said}; say {form} or its id."
            self.faults.append(Fault(Code.NOT_FOUND, detail))
        return [ids.union(*map(self._names.inside, ids))]

    def _called(self, types: tuple[str, ...], name: str) -> set[str]:
        return set().union(*(self._names.called(type_, name) for type_ in types))
