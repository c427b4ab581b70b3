"""The audit trail: showing it, handing it on, and proving that nobody has touched it."""

from collections.abc import AsyncIterator, Collection, Iterable
from functools import partial

from msgspec.structs import replace

from teamvars.decisions.variables import ToOwner
from teamvars.domain.access import Caller, Level, Permission
from teamvars.domain.audit import (
    Acceptance,
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
from teamvars.domain.errors import not_found
from teamvars.domain.pages import Page, Paged
from teamvars.services import audit_pages, audit_verification
from teamvars.services.audit_pages import AskedKey, AuditPage, OrganizationAuditPage
from teamvars.services.audit_verification import Place, vouched
from teamvars.services.house import UseCases, access_to, glances, reads
from teamvars.storage import access, access_by_name, audit_entries, runners, streams
from teamvars.storage.database import Transaction

_FILLED_AT_ONCE = 200
"""How many entries one statement fills in: SQLite's run on the event loop."""
_OLDEST = Position(-(2**63), "", 0)


class Audit(UseCases):
    """What callers learn of the streams they may see, and what an operator does with all."""

    async def of_owner(
        self,
        caller: Caller,
        to: ToOwner,
        page: Page,
        key: str | None = None,
        part: str | None = None,
    ) -> AuditPage:
        """The changes of a workspace or a variable set, for whoever reads its variables.

        With a key, or a part of one, those of the variables that have such a key or had it.
        Refuses: unauthenticated, not found.
        """
        asked = AskedKey(key, part)

        async def body(tx: Transaction) -> AuditPage:
            granted = await access_to(tx, caller, self._clock(), to)
            granted.require(Permission.READ_VARIABLES)
            found, searched_from = (
                (await audit_pages.newest(tx, granted.stream, page), None)
                if asked == AskedKey()
                else await audit_pages.about_key(tx, granted.stream, asked, page)
            )
            is_owner = granted.level is Level.OWNER
            shown = await self._page(tx, caller, granted.stream, found, is_owner=is_owner)
            return replace(shown, searched_from=searched_from)

        reads = self._database.read if asked == AskedKey() else self._database.query
        return await reads(body)

    @reads
    async def of_team(self, tx: Transaction, caller: Caller, team_id: str, page: Page) -> AuditPage:
        """The changes of a team, for owners and whoever manages membership.

        Refuses: unauthenticated, not found, forbidden.
        """
        granted = await access.team(tx, caller, self._clock(), team_id)
        granted.require_see_changes()
        found = await audit_pages.newest(tx, granted.stream, page)
        is_owner = granted.is_owner
        return await self._page(tx, caller, granted.stream, found, is_owner=is_owner)

    @reads
    async def of_runner(
        self, tx: Transaction, caller: Caller, runner_id: str, page: Page
    ) -> AuditPage:
        """What a runner was handed, for the owners of its organization: its own stream. What was
        made of it is in the organization's.

        Refuses: unauthenticated, not found.
        """
        await self._actor(tx, caller)
        runner = await runners.get(tx, runner_id)
        granted = await access.organization(tx, caller, self._clock(), runner.organization_id)
        stream = await streams.find(tx, runner_id)
        if not granted.is_owner or stream is None:
            raise not_found()
        found = await audit_pages.newest(tx, stream, page)
        return await self._page(tx, caller, stream, found, is_owner=True)

    async def _page(
        self,
        tx: Transaction,
        caller: Caller,
        stream: Stream,
        found: Paged[AuditEntry],
        *,
        is_owner: bool,
    ) -> AuditPage:
        """What was found in a stream, as the caller may see it."""
        organization_id, entries = stream.organization_id, found.items
        actors = await audit_entries.names_in(tx, organization_id, entries, sees_secret=is_owner)
        seen = (
            None
            if is_owner
            else await audit_pages.seen_places(tx, caller, self._clock(), organization_id, entries)
        )
        return AuditPage(found, actors, seen=seen)

    @glances
    async def of_organization(
        self,
        tx: Transaction,
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
        granted = await access_by_name.organization(tx, caller, self._clock(), organization)
        granted.require_owner()
        organization_id = granted.organization.id
        list_ = f"audit events of {organization_id}"
        before = self._house.cursors.opened(cursor, list_, Position)
        wanted = replace(await audit_pages.resolved_within(tx, granted, query), before=before)
        found = await audit_pages.of_organization(tx, wanted, query.part, query.size)
        actors = await audit_entries.names_in(tx, organization_id, found.items, sees_secret=True)
        further = found.following and self._house.cursors.seal(found.following, list_)
        return OrganizationAuditPage(found.items, actors, further)

    async def fill_organizations(self) -> None:
        """Fills in whose the entries are that older releases have written."""
        after = _OLDEST
        while up_to := await self._database.read(
            partial(audit_entries.last_open, after=after, most=_FILLED_AT_ONCE)
        ):
            await self._database.write(partial(audit_entries.fill, after=after, up_to=up_to))
            after = up_to

    async def newest(self, limit: int, wanted: AuditFilter = AuditFilter()) -> list[AuditEntry]:  # noqa: B008 - frozen
        """The newest entries of all streams that the filter lets through, newest first."""
        return await self._database.read(partial(streams.search, wanted=wanted, limit=limit))

    @reads
    async def find(
        self, tx: Transaction, limit: int, query: AuditQuery
    ) -> tuple[list[AuditEntry], AuditNames]:
        """The newest entries that are asked for, newest first, and what all in them is called.

        Refuses: what nothing is or was called and what no entry has, not found.
        """
        names = await audit_pages.names(tx) if query.is_by_name else AuditNames()
        wanted = await audit_pages.resolved(tx, names, query)
        found = await streams.search(tx, wanted, limit)
        if not query.is_by_name:
            names = await audit_pages.names(tx, AuditNames.ids_in(found))
        return found, names

    async def heads(self) -> list[tuple[Head, bool]]:
        """Where every stream stands now, to be kept where nobody with the database can reach.

        With each, whether the service itself wrote that it stands there.
        """
        live = await self._database.read(streams.every)
        return [
            (Head(stream.id, stream.sequence, stream.link), self._tools.chain.head_holds(stream))
            for stream in live
        ]

    async def export(self, known: dict[str, int]) -> AsyncIterator[AuditEntry]:
        """The entries after those `known` by stream, stream by stream; moves `known` along.

        Asked again and again it misses none: what a stream got before it was closed is found
        through the entry that closed it.
        """
        heads = await self.heads()
        waiting = [
            head.stream_id for head, _ in heads if head.sequence != known.get(head.stream_id, 0)
        ]
        while waiting:
            stream_id = waiting.pop()
            while entries := await self._database.read(
                partial(
                    streams.entries_after,
                    stream_id=stream_id,
                    sequence=known.get(stream_id, 0),
                )
            ):
                for entry in entries:
                    known[stream_id] = entry.sequence
                    yield entry
                    waiting += (id_ for id_, end in vouched(entry).items() if end)

    async def verify(
        self, kept: Iterable[Head] = (), passed: Collection[Place] = ()
    ) -> tuple[int, list[Break]]:
        """How many streams were checked, and the first break of each that does not hold.

        A stream must lead, link by link, to its head. What streams there must be follows from
        the system's: each entry that says one was opened or closed vouches for it, and for whose
        its entries are. Heads `kept` elsewhere must lie on the way: that shows a rollback of the
        whole database. What an operator has accepted is a break of its own, unless it is `passed`.
        """
        return await self._database.read(
            partial(audit_verification.verify, chain=self._tools.chain, kept=kept, passed=passed)
        )

    async def accept(self, caller: Caller, wanted: Acceptance) -> Acceptance:
        """Accepts what was found of a stream that does not hold: from then on it goes on, and what
        there was is compared with its digest for ever. The system's stream records it as well, and
        the one above where the stream has ended. Returns it with the number it got.

        Refuses: another digest than that of what is there, a stream that holds or that there is
        not, and one above it that does not hold itself.
        """
        chain = self._tools.chain
        return await self._database.write(
            lambda tx: audit_verification.accept(tx, chain, caller, wanted, self._clock())
        )
