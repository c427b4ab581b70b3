"""The audit trail: showing it, handing it on, and proving that nobody has touched it."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from teamvars.domain.access import Caller, Level, Permission
from teamvars.domain.audit import (
    NO_ORGANIZATION,
    SYSTEM_STREAM,
    AuditEntry,
    AuditFilter,
    AuditQuery,
    Break,
    Head,
    OrganizationAuditQuery,
    Position,
    Stream,
)
from teamvars.domain.audit_names import AuditNames
from teamvars.domain.names import is_safe
from teamvars.domain.pages import Page
from teamvars.security.chain import Chain
from teamvars.security.cursors import Cursors
from teamvars.services import Clock, audit_pages, cursors
from teamvars.services.audit_pages import AuditPage, OrganizationAuditPage
from teamvars.services.audit_queries import resolved, resolved_within
from teamvars.storage import access, audit_actors, audit_organizations, streams
from teamvars.storage.database import Database, Transaction

_FILLED_AT_ONCE = 200
"""How many entries one statement fills in: SQLite's run on the event loop."""
_WALKED_AT_ONCE = 1000
"""How many entries of several streams are read by one statement."""
_OLDEST = Position(-(2**63), "", 0)


class Audit:
    """What callers learn of the streams they may see, and what an operator does with all."""

    def __init__(self, database: Database, chain: Chain, cursors: Cursors, clock: Clock) -> None:
        self._database = database
        self._chain = chain
        self._cursors = cursors
        self._clock = clock

    async def of_workspace(
        self, caller: Caller, workspace_id: str, page: Page, key: str | None = None
    ) -> AuditPage:
        """The changes of a workspace, for whoever reads its variables.

        With a key those of the variables that have it or had it. Refuses: unauthenticated, not
        found.
        """

        async def body(tx: Transaction) -> AuditPage:
            granted = await access.workspace(tx, caller, self._clock(), workspace_id)
            granted.require(Permission.READ_VARIABLES)
            found, searched_from = (
                (await audit_pages.newest(tx, granted.stream, page), None)
                if key is None
                else await audit_pages.about_key(tx, granted.stream, key, page)
            )
            actors = await audit_actors.find(
                tx,
                granted.workspace.organization_id,
                found.items,
                sees_secret=granted.level is Level.OWNER,
            )
            return AuditPage(found, actors, searched_from)

        return await (self._database.read if key is None else self._database.query)(body)

    async def of_team(self, caller: Caller, team_id: str, page: Page) -> AuditPage:
        """The changes of a team, for owners and whoever manages membership.

        Refuses: unauthenticated, not found, forbidden.
        """

        async def body(tx: Transaction) -> AuditPage:
            granted = await access.team(tx, caller, self._clock(), team_id)
            granted.require_see_changes()
            found = await audit_pages.newest(tx, granted.stream, page)
            organization_id = granted.team.organization_id
            actors = await audit_actors.find(
                tx, organization_id, found.items, sees_secret=granted.is_owner
            )
            return AuditPage(found, actors)

        return await self._database.read(body)

    async def of_organization(
        self,
        caller: Caller,
        organization: str,
        query: OrganizationAuditQuery,
        cursor: str | None,
    ) -> OrganizationAuditPage:
        """The changes of an organization and of all that is or was in it, for its owners.

        A walk from page to page has each entry once that was committed before it began, and one
        that is committed meanwhile at most once. Refuses: unauthenticated, not found, forbidden,
        what is no cursor of these.
        """

        async def body(tx: Transaction) -> OrganizationAuditPage:
            granted = await access.organization(tx, caller, self._clock(), organization)
            granted.require_owner()
            organization_id = granted.organization.id
            list_ = f"audit events of {organization_id}"
            before = cursors.opened(self._cursors, cursor, list_, Position)
            wanted = replace(await resolved_within(tx, granted, query), before=before)
            found = await audit_pages.of_organization(tx, wanted, query.size)
            actors = await audit_actors.find(tx, organization_id, found.items, sees_secret=True)
            further = found.following and self._cursors.seal(found.following, list_)
            return OrganizationAuditPage(found.items, actors, further)

        return await self._database.query(body)

    async def fill_organizations(self) -> None:
        """Fills in whose the entries are that older releases have written."""
        after = _OLDEST
        while up_to := await self._database.read(
            partial(audit_organizations.last_open, after=after, most=_FILLED_AT_ONCE)
        ):
            await self._database.write(partial(audit_organizations.fill, after=after, up_to=up_to))
            after = up_to

    async def newest(self, limit: int, wanted: AuditFilter = AuditFilter()) -> list[AuditEntry]:  # noqa: B008 - frozen
        """The newest entries of all streams that the filter lets through, newest first."""

        async def body(tx: Transaction) -> list[AuditEntry]:
            return await streams.search(tx, wanted, limit)

        return await self._database.read(body)

    async def find(self, limit: int, query: AuditQuery) -> tuple[list[AuditEntry], AuditNames]:
        """The newest entries that are asked for, newest first, and what everything is called.

        Refuses: what nothing is or was called and what no entry has, not found.
        """

        async def body(tx: Transaction) -> tuple[list[AuditEntry], AuditNames]:
            names = AuditNames(await streams.naming(tx))
            wanted = await resolved(tx, names, query)
            return await streams.search(tx, wanted, limit), names

        return await self._database.read(body)

    async def heads(self) -> list[Head]:
        """Where every stream stands now, to be kept where nobody with the database can reach."""
        live = await self._database.read(streams.every)
        return [Head(stream.id, stream.sequence, stream.link) for stream in live]

    async def export(self, known: dict[str, int]) -> AsyncIterator[AuditEntry]:
        """The entries after those `known` by stream, stream by stream; moves `known` along.

        Asked again and again it misses none: what a stream got before it was closed is found
        through the entry that closed it.
        """
        heads = await self.heads()
        waiting = [one.stream_id for one in heads if one.sequence != known.get(one.stream_id, 0)]
        while waiting:
            stream_id = waiting.pop()
            while entries := await self._after(stream_id, known.get(stream_id, 0)):
                for entry in entries:
                    known[stream_id] = entry.sequence
                    yield entry
                    waiting += (id_ for id_, end in _vouched_for(entry).items() if end)

    async def _after(self, stream_id: str, sequence: int) -> Sequence[AuditEntry]:
        async def body(tx: Transaction) -> Sequence[AuditEntry]:
            return await streams.entries_after(tx, stream_id, sequence)

        return await self._database.read(body)

    async def verify(self, kept: Iterable[Head] = ()) -> tuple[int, list[Break]]:
        """How many streams were checked, and the first break of each that does not hold.

        A stream must lead, link by link, to its head. What streams there must be follows from
        the system's: each entry that says one was opened or closed vouches for it, and for whose
        its entries are. Heads `kept` elsewhere must lie on the way: that shows a rollback of the
        whole database.
        """

        async def body(tx: Transaction) -> tuple[int, list[Break]]:
            checked, breaks = await self._verify(tx)
            return checked, [*breaks, *[found for head in kept if (found := await _lost(tx, head))]]

        return await self._database.read(body)

    async def _verify(self, tx: Transaction) -> tuple[int, list[Break]]:
        live = {stream.id: stream for stream in await streams.every(tx)}
        sizes = await streams.sizes(tx)
        expected: dict[str, tuple[int, bytes] | None] = {SYSTEM_STREAM: None}
        order = [SYSTEM_STREAM]
        organizations = {SYSTEM_STREAM: NO_ORGANIZATION}
        breaks: list[Break | None] = []
        async for stream_id, entries in _walked(tx, order, sizes):
            for entry in filter(self._chain.holds, entries):
                vouched_for = _vouched_for(entry)
                # One by one: the difference of the keys would go through all streams each time.
                new = [id_ for id_ in vouched_for if id_ not in expected]
                order += new
                expected.update(vouched_for)
                above = None if stream_id == SYSTEM_STREAM else stream_id
                organizations.update({id_: above or id_ for id_ in new})
            end = expected[stream_id]
            breaks.append(
                self._break(stream_id, live.get(stream_id), end, entries)
                or _strayed(entries, organizations[stream_id])
            )
        strays = {*live, *sizes} - set(expected)
        breaks += [Break(id_, 1, "no entry says that this stream was opened") for id_ in strays]
        return len(order), [found for found in breaks if found is not None]

    def _break(
        self,
        stream_id: str,
        stream: Stream | None,
        closed_at: tuple[int, bytes] | None,
        entries: list[AuditEntry],
    ) -> Break | None:
        if closed_at is not None and stream is not None:
            return Break(stream_id, closed_at[0] + 1, "the stream is there after its end")
        if closed_at is not None:
            return self._chain.first_break(stream_id, entries, closed_at)
        if stream is None:
            return Break(stream_id, 1, "the stream is missing")
        found = self._chain.first_break(stream_id, entries, (stream.sequence, stream.link))
        if found is None and not self._chain.head_holds(stream):
            return Break(stream_id, stream.sequence + 1, "the stream's head was altered")
        return found


async def _walked(
    tx: Transaction, order: Sequence[str], sizes: Mapping[str, int]
) -> AsyncIterator[tuple[str, list[AuditEntry]]]:
    """The streams in an order that may grow meanwhile, each with its entries.

    Most are short: a statement for each took most of the time.
    """
    reached = 0
    while reached < len(order):
        portion: dict[str, list[AuditEntry]] = {}
        room = _WALKED_AT_ONCE
        while reached < len(order) and (not portion or room >= sizes.get(order[reached], 0)):
            stream_id = order[reached]
            portion[stream_id] = []
            room -= sizes.get(stream_id, 0) + 1
            reached += 1
        for entry in await streams.entries(tx, list(portion)):
            portion[entry.stream_id].append(entry)
        for each in portion.items():
            yield each


def _strayed(entries: Iterable[AuditEntry], organization_id: str) -> Break | None:
    """A break where an entry is another organization's than its stream; None: they are all its."""
    for entry in entries:
        if entry.organization_id not in (None, organization_id):
            reason = "the entry's organization is not that of its stream"
            return Break(entry.stream_id, entry.sequence, reason)
    return None


async def _lost(tx: Transaction, head: Head) -> Break | None:
    """A break when the entry a kept head speaks of is not there any more."""
    if head.sequence == 0:
        return None
    found = await streams.entries_between(tx, head.stream_id, head.sequence - 1, head.sequence)
    if found and found[0].link == head.link:
        return None
    return Break(head.stream_id, head.sequence, "the entry of the kept head is gone: a rollback")


def _vouched_for(entry: AuditEntry) -> Mapping[str, tuple[int, bytes] | None]:
    """The streams an entry opens (None) or closes (where it ended); none once it was altered."""
    details = entry.read_details() or {}
    try:
        opened: dict[Any, tuple[int, bytes] | None] = dict.fromkeys(details.get("opens", ()))
        for closed in details.get("closes", ()):
            opened[closed["stream"]] = (closed["sequence"], bytes.fromhex(closed["link"]))
    except (ValueError, KeyError, TypeError):
        return {}
    # An altered entry may say anything, and not all of it is a parameter of a statement.
    return opened if all(isinstance(id_, str) and is_safe(id_) for id_ in opened) else {}
