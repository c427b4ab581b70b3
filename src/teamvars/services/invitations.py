"""Invitations: made by owners and operators, accepted with a token or by a link, and expired."""

from collections.abc import Callable, Sequence

import msgspec

from teamvars.decisions import invitations as decisions
from teamvars.decisions import users as user_decisions
from teamvars.decisions.invitations import Asked, Fresh, Terms
from teamvars.decisions.memberships import MembershipPage, revoke_by_operator
from teamvars.domain.access import Caller
from teamvars.domain.audit import Actor
from teamvars.domain.errors import DEAD_LINK, Code, Kind, Refusal, passing_over
from teamvars.domain.ids import new_id
from teamvars.domain.invitations import LIFETIME, Delivery, Invited
from teamvars.domain.memberships import InvitationDraft, Membership, MembershipFilter, Status
from teamvars.domain.tokens import NewToken
from teamvars.domain.users import other_username_for
from teamvars.kernel import Discreet
from teamvars.mail import link_of
from teamvars.security.tokens import INVITATION, has_invitation_form, hash_token, new_token
from teamvars.services.house import House, UseCases, looks, makes, reads
from teamvars.services.tokens import fresh_token
from teamvars.storage import access_by_name, invitations, memberships, users
from teamvars.storage.database import Transaction


class Inviting(msgspec.Struct, frozen=True):
    """What inviting takes: whether mail is set up, how many links an organization has a day, and
    where people find the service.
    """

    mail: bool
    a_day: int
    url: str


class Invitations(UseCases):
    """What callers do with invitations. All methods refuse unauthenticated and not found."""

    accept = makes(decisions.accept)

    def __init__(self, house: House, inviting: Inviting, wake: Callable[[], None]) -> None:
        """`wake` is called once there is a message to be sent."""
        super().__init__(house)
        self._terms = Terms(Delivery.WAITING if inviting.mail else Delivery.NONE, inviting.a_day)
        self._wake = wake

    async def invite(
        self, caller: Caller, organization: str, draft: InvitationDraft
    ) -> MembershipPage:
        """See `decisions.invitations.invite`.

        Where mail is set up, a message with a link goes there; the caller never sees the link.
        Until they accept, the organization learns nothing of them but an id: not their name, nor
        how they write their address, nor whether they were known here.
        """
        asked = organization, draft, _fresh(draft.email or ""), self._terms
        page = await self._make(caller, decisions.invite, *asked)
        self._wake()
        return page

    async def resend(self, caller: Caller, membership_id: str) -> MembershipPage:
        """Sends a new link; see `decisions.invitations.resend`."""
        asked = membership_id, new_token(INVITATION), self._terms
        page = await self._make(caller, decisions.resend, *asked)
        self._wake()
        return page


def _fresh(email: str) -> Fresh:
    """What an invitation to an address is made with."""
    return Fresh(new_id("ou"), new_id("user"), other_username_for(email), new_token(INVITATION))


class InvitationLinks(UseCases):
    """What whoever holds a link does with it, without a token.

    To all that is no link, or no longer one, both methods refuse alike. Who guesses takes no lock
    and waits for no writer.
    """

    _open = looks(decisions.opened_by, at_a_glance=True)
    _open_first = looks(decisions.open_for_first_token, at_a_glance=True)

    async def show(self, secret: str) -> Invited:
        """Who invites whom where. It uses nothing up."""
        return await self._open(Caller(b"", ""), _hash(secret))

    async def accept(self, caller: Caller, secret: str) -> NewToken:
        """Makes the membership active, and shows its user the first token, this once.

        The caller becomes that user. Refuses: forbidden, where the user has to accept with a token
        of their own; the link is as good as before then.
        """
        hash_ = _hash(secret)
        opened = await self._open_first(caller, hash_)
        caller.actor = Actor("user", opened.user.id)
        try:
            return await self._make(caller, decisions.accept_by_link, hash_, fresh_token("user"))
        except Refusal as refusal:
            if refusal.kind is Kind.NOT_FOUND:  # the organization ended while this waited
                raise Refusal(DEAD_LINK) from None
            raise


def _hash(secret: str) -> bytes:
    if not has_invitation_form(secret):
        raise Refusal(DEAD_LINK)
    return hash_token(secret)


_BATCH = 100
_WAITS_NO_MORE = Code.ALREADY_MEMBER, Code.NOT_FOUND


class Issued(Discreet, frozen=True):
    """A membership with a new invitation, and the link, where the operator is shown it."""

    membership: Membership
    link: str | None


class OperatorInvitations(UseCases):
    """What an operator does with invitations; the bounds of a day do not hold for them.

    A link is shown where they ask for it, or where no mail is set up; else a message carries it.
    All methods refuse: not found.
    """

    revoke = makes(revoke_by_operator)

    def __init__(self, house: House, inviting: Inviting) -> None:
        super().__init__(house)
        self._inviting = inviting

    async def create(self, caller: Caller, asked: Asked, *, show: bool) -> Issued:
        """Invites somebody. Refuses: an address that is none, somebody who is in already."""
        made, terms = _fresh(asked.email), self._terms(show=show)
        page = await self._make(caller, decisions.invite_by_operator, asked, made, terms)
        return self._issued(page, terms, made.secret)

    async def resend(self, caller: Caller, membership_id: str, *, show: bool) -> Issued:
        """Makes a new link and voids the former. Refuses an invitation that was accepted."""
        secret, terms = new_token(INVITATION), self._terms(show=show)
        asked = membership_id, secret, terms
        page = await self._make(caller, decisions.resend_by_operator, *asked)
        return self._issued(page, terms, secret)

    async def invite_missing(
        self, caller: Caller, organization: str, tell: Callable[[Issued], object]
    ) -> None:
        """Makes links for those of an organization who wait without one, each by itself, and tells
        of each as soon as it is made: its link is there only this once.

        Whoever has no e-mail address is left out, and whoever waits no more once it is their turn.
        """
        now = self._clock()
        for one in await self.pending(organization):
            if one.lacks_link(now):
                try:
                    tell(await self.resend(caller, one.id, show=False))
                except Refusal as refusal:
                    if refusal.faults[0].code not in _WAITS_NO_MORE:
                        raise

    @reads
    async def pending(
        self, tx: Transaction, organization: str | None = None
    ) -> Sequence[Membership]:
        """The memberships that wait for their users, of one organization or of all."""
        within = memberships.Within()
        if organization is not None:
            named = await access_by_name.organization_meant(tx, organization)
            within = memberships.Within(organization_id=named.id)
        wanted = MembershipFilter(status=Status.INVITED)
        return (await memberships.search(tx, within, wanted, None)).items

    async def expire(self) -> None:
        """Ends some of the invitations that have expired, and removes those users whom invitations
        made, nobody was ever known as, and nobody invites any more.
        """
        caller = Caller(b"", new_id("req"), Actor.service("housekeeping"))
        ended = await self._database.read(lambda tx: invitations.expired(tx, self._clock(), _BATCH))
        for membership_id in ended:
            with passing_over(Kind.NOT_FOUND):  # it ended in another way
                await self._make(caller, decisions.expire, membership_id)
        before = self._clock() - LIFETIME
        if await self._database.read(lambda tx: users.unclaimed(tx, before, 1)):
            await self._make(caller, user_decisions.remove_unclaimed, before)
        if await self._database.read(lambda tx: invitations.has_old_requests(tx, self._clock())):
            await self._database.write(lambda tx: invitations.forget_requests(tx, self._clock()))

    def _terms(self, *, show: bool) -> Terms:
        return Terms(Delivery.WAITING if self._inviting.mail and not show else Delivery.SHOWN)

    def _issued(self, page: MembershipPage, terms: Terms, secret: str) -> Issued:
        is_shown = terms.delivery is Delivery.SHOWN
        link = link_of(self._inviting.url, secret) if is_shown else None
        return Issued(page.memberships[0], link)
