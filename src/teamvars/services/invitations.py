"""Invitations: made and sent again by owners, and accepted by those they are for."""

from collections.abc import Callable, Sequence

from teamvars.domain.access import Caller
from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.errors import forbidden, not_found, refuse_all
from teamvars.domain.ids import new_id
from teamvars.domain.invitations import no_address, not_pending
from teamvars.domain.memberships import EMAIL_POINTER, InvitationDraft, Membership, Status
from teamvars.domain.names import fold, is_email
from teamvars.domain.organizations import Organization
from teamvars.domain.pages import Paged
from teamvars.domain.teams import Team
from teamvars.domain.users import User, other_username_for, username_for
from teamvars.security.chain import Chain
from teamvars.services import Clock
from teamvars.services.directory import invitations as invitation_changes
from teamvars.services.directory import memberships as membership_changes
from teamvars.services.directory import users as user_changes
from teamvars.services.directory.invitations import Inviting
from teamvars.services.directory.ledger import Ledger
from teamvars.services.memberships import MembershipPage, granted, page_of
from teamvars.storage import access_by_name, memberships, teams, users
from teamvars.storage.database import Body, Database, Transaction

Found = tuple[Organization, Sequence[Team]]
"""The organization somebody is invited to, and those of the wanted teams that are its own."""


class Invitations:
    """What callers do with invitations. All methods refuse unauthenticated and not found.

    `wake` is called once there is a message to be sent.
    """

    def __init__(
        self,
        database: Database,
        chain: Chain,
        clock: Clock,
        inviting: Inviting,
        wake: Callable[[], None],
    ) -> None:
        self._database = database
        self._chain = chain
        self._clock = clock
        self._inviting = inviting
        self._wake = wake

    async def invite(
        self, caller: Caller, organization: str, draft: InvitationDraft
    ) -> MembershipPage:
        """Invites whoever has that e-mail address, and puts them into teams.

        Where mail is set up, a message with a link goes there; the caller never sees the link.
        Until they accept, the organization learns nothing of them but an id: not their name, nor
        how they write their address, nor whether they were known here. A user who does not exist
        is created. Refuses: forbidden, every fault of the draft, teams of another organization,
        somebody who is in the organization or invited to it, one invitation more than a day has.
        """

        async def body(tx: Transaction) -> MembershipPage:
            ledger = Ledger(tx, caller, self._chain, self._clock())

            async def look() -> Found:
                seen = await access_by_name.organization(tx, caller, ledger.now, organization)
                seen.require_owner()
                return seen.organization, await _own_teams(tx, seen.organization, draft)

            found = await ledger.locked(look, streams_of)
            made = await invite_to(ledger, self._inviting, found, draft)
            await invitation_changes.create(
                ledger, self._inviting, made, caller.user_id, self._inviting.delivery
            )
            return await _shown(tx, made)

        return await self._sent(body)

    async def resend(self, caller: Caller, membership_id: str) -> MembershipPage:
        """Sends a new link, good for seven days, and voids the former.

        Refuses: forbidden, an invitation that was accepted, a user without an e-mail address, one
        invitation more than a day has.
        """

        async def body(tx: Transaction) -> MembershipPage:
            ledger = Ledger(tx, caller, self._chain, self._clock())

            async def look() -> Membership:
                found, seen = await granted(tx, caller, ledger.now, membership_id)
                seen.require_owner()
                return found

            found = await ledger.locked(look, lambda it: [it.organization_id, SYSTEM_STREAM])
            address = require_pending(found)
            place = found.organization_id, address, None
            refuse_all(await invitation_changes.surplus(ledger, self._inviting, *place))
            await invitation_changes.create(
                ledger, self._inviting, found, caller.user_id, self._inviting.delivery
            )
            return await _shown(tx, found)

        return await self._sent(body)

    async def accept(self, caller: Caller, membership_id: str) -> MembershipPage:
        """Accepts an invitation; one that is accepted already stays so.

        Refuses: forbidden to all but the invited user with a token of their own.
        """

        async def body(tx: Transaction) -> MembershipPage:
            ledger = Ledger(tx, caller, self._chain, self._clock())

            async def look() -> Membership:
                found, _ = await granted(tx, caller, ledger.now, membership_id)
                if caller.user_id != found.user.id:
                    raise forbidden("Only the invited user may accept, with a token of their own.")
                if found.invitation is not None and not found.invitation.is_live(ledger.now):
                    raise not_found()
                return found

            found = await ledger.locked(look, lambda it: [it.organization_id])
            if found.status is Status.INVITED:
                await accept_for_user(ledger, found)
            found, seen = await granted(tx, caller, ledger.now, membership_id)
            return await page_of(tx, Paged([found], 1), seen.sees_secret)

        return await self._database.write(body)

    async def _sent(self, body: Body[MembershipPage]) -> MembershipPage:
        """The result of the write, after which what waits to be sent is looked for."""
        page = await self._database.write(body)
        self._wake()
        return page


async def invite_to(
    ledger: Ledger, inviting: Inviting | None, found: Found, draft: InvitationDraft
) -> Membership:
    """The new membership of whoever the draft invites; all that `found` names is locked.

    The bounds of a day are those of `inviting`; None: there are none.
    """
    tx, (organization, into) = ledger.tx, found
    faults = [*draft.all_faults(), *draft.missing(team.id for team in into)]
    email = draft.email or ""
    known = await users.find_all_by_email(tx, [email]) if is_email(email) else {}
    user = known.get(fold(email))
    if user and await memberships.find_of_user(tx, organization.id, user.id):
        faults.append(draft.already_member())
    if inviting is not None and is_email(email):
        faults += await invitation_changes.surplus(
            ledger, inviting, organization.id, email, EMAIL_POINTER
        )
    refuse_all(faults)
    made = Membership(
        id=new_id("ou"),
        organization_id=organization.id,
        organization_name=organization.name,
        user=user or await _create_user(ledger, email),
        status=Status.INVITED,
        created_at=ledger.now,
        invited_as=email,
    )
    await membership_changes.create(ledger, [made])
    if into:
        await membership_changes.add_to_teams(ledger, [(team, [made.id]) for team in into])
    return made


async def accept_for_user(ledger: Ledger, found: Membership) -> None:
    """Makes an invited membership active, whose organization is locked."""
    await membership_changes.update(ledger, [found.with_status(Status.ACTIVE)])
    if found.invitation is not None:
        await invitation_changes.record(ledger, found, "accept")


def require_pending(found: Membership) -> str:
    """The address an invitation goes to. Refuses one that was accepted, and who has no address."""
    if found.status is not Status.INVITED:
        raise not_pending()
    if found.shown_email is None:
        raise no_address()
    return found.shown_email


def streams_of(seen: Found) -> list[str]:
    """What an invitation locks: the organization, the system and the teams."""
    organization, into = seen
    return [organization.id, SYSTEM_STREAM, *(team.id for team in into)]


async def _own_teams(
    tx: Transaction, organization: Organization, draft: InvitationDraft
) -> list[Team]:
    found = await teams.find_by_ids(tx, draft.wanted())
    return [team for team in found if team.organization_id == organization.id]


async def _shown(tx: Transaction, made: Membership) -> MembershipPage:
    found = await memberships.find(tx, made.id)
    assert found is not None  # it is locked
    return await page_of(tx, Paged([found], 1), None)


async def _create_user(ledger: Ledger, email: str) -> User:
    """A user who has not signed in yet, under a name that is free; the system is locked."""
    name = username_for(email)
    while await users.find_all(ledger.tx, [name]):
        name = other_username_for(email)
    user = User(new_id("user"), name, email, site_admin=False, placeholder=True)
    await user_changes.create(ledger, [user])
    return user
