"""What becomes of a request to invite somebody, or to accept, and of invitations that expire."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from teamvars.decisions import (
    Decision,
    Delete,
    Found,
    Write,
    memberships,
    owners,
    together,
    tokens,
    users,
)
from teamvars.decisions.memberships import MembershipPage, page_of, teams_of
from teamvars.decisions.needs import (
    DataKeyOf,
    LinkOpens,
    LinksOfDay,
    MembershipOf,
    MembershipWithId,
    OrganizationCalled,
    TeamCalled,
    TeamIdsOf,
    TeamsWithIds,
    UserAt,
    UserCalled,
    as_owner,
    meant,
    owners_team,
)
from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.errors import (
    ALREADY_ACCEPTED,
    ALREADY_MEMBER,
    DEAD_LINK,
    NO_ADDRESS,
    TOO_MANY_INVITATIONS,
    TOO_MANY_TO_ADDRESS,
    Fault,
    Refusal,
    forbidden,
    not_found,
    refuse_all,
)
from teamvars.domain.invitations import (
    FIRST_TOKEN_LIFETIME,
    LIFETIME,
    MAX_A_DAY_OF_ADDRESS,
    Delivery,
    Invitation,
    Invited,
)
from teamvars.domain.memberships import EMAIL_POINTER, InvitationDraft, Membership, Status
from teamvars.domain.names import is_email
from teamvars.domain.organizations import Organization
from teamvars.domain.teams import Team
from teamvars.domain.tokens import NewToken, Token
from teamvars.domain.users import User, username_for
from teamvars.kernel import Discreet


class Asked(msgspec.Struct, frozen=True):
    """Whom an operator invites: the address, the organization and its teams by name."""

    email: str
    organization: str
    teams: Sequence[str] = ()


class Fresh(Discreet, frozen=True):
    """What an invitation is made with: the ids of a membership and of a user, a name for whoever
    cannot be called by the address, and the secret of the link.
    """

    membership_id: str
    user_id: str
    username: str
    secret: str


class Terms(msgspec.Struct, frozen=True):
    """What becomes of the link, and how many an organization has a day; None: there is no bound of
    a day, for an organization or an address.
    """

    delivery: Delivery
    a_day: int | None = None


class Invite(Discreet, Write, frozen=True):
    """A membership has a new link, which voids the former.

    With `Delivery.NONE` nobody gets the link, and there is none.
    """

    membership: Membership
    inviter: str | None
    invitation: Invitation
    secret: str


class CountLink(Write, frozen=True):
    """A link counts for an organization and an address, for a day."""

    organization_id: str
    email: str


class Settle(Discreet, Write, frozen=True):
    """A message needs nothing more: its secret is erased, unless another is in its place."""

    membership_id: str
    link_hash: bytes
    delivery: Delivery


def invite(
    found: Found, organization: str, draft: InvitationDraft, fresh: Fresh, terms: Terms
) -> Decision[MembershipPage]:
    """Invites whoever has that e-mail address, and puts them into teams.

    A user who does not exist is created. Refuses: forbidden, every fault of the draft, teams of
    another organization, somebody who is in the organization or invited to it, one invitation more
    than a day has.
    """
    owner = as_owner(found, organization)
    into = [
        team
        for team in found.of(TeamsWithIds(tuple(draft.wanted())))
        if team.organization_id == owner.id
    ]
    return _invited(found, (owner, into), draft, fresh, terms)


def invite_by_operator(
    found: Found, asked: Asked, fresh: Fresh, terms: Terms
) -> Decision[MembershipPage]:
    """The same by an operator. Refuses: not found, as `invite`."""
    organization = found.of(OrganizationCalled(asked.organization))
    into = [found.of(TeamCalled(asked.organization, name)) for name in dict.fromkeys(asked.teams)]
    draft = InvitationDraft(asked.email, [team.id for team in into])
    return _invited(found, (organization, into), draft, fresh, terms)


def resend(found: Found, membership_id: str, secret: str, terms: Terms) -> Decision[MembershipPage]:
    """Makes a new link, good for seven days, and voids the former.

    Refuses: forbidden, an invitation that was accepted, a user without an e-mail address, one
    invitation more than a day has.
    """
    membership, granted = memberships.seen(found, membership_id)
    granted.require_owner()
    return _resent(found, membership, secret, terms)


def resend_by_operator(
    found: Found, membership_id: str, secret: str, terms: Terms
) -> Decision[MembershipPage]:
    """The same by an operator. Refuses: not found, as `resend`."""
    membership = meant(found, MembershipWithId(membership_id), "membership")
    return _resent(found, membership, secret, terms)


def accept(found: Found, membership_id: str) -> Decision[MembershipPage]:
    """Accepts an invitation; one that is accepted already stays so.

    Its teams are told to whoever has rights there then. Refuses: forbidden to all but the invited
    user with a token of their own.
    """
    membership, granted = memberships.seen(found, membership_id)
    if found.caller.user_id != membership.user.id:
        raise forbidden("Only the invited user may accept, with a token of their own.")
    if membership.invitation is not None and not membership.invitation.is_live(found.now):
        raise not_found()
    if membership.status is Status.ACTIVE:
        return Decision(memberships.read(found, membership_id))
    accepted = _accepted(found, membership)
    has_to_sign_in = granted.organization.sso_required and found.caller.reach is None
    teams = [] if has_to_sign_in else teams_of(found, membership)  # a member sees all of theirs
    return together(page_of(accepted.answer, teams), accepted)


def accept_by_link(found: Found, link_hash: bytes, fresh: tokens.Fresh) -> Decision[NewToken]:
    """Makes the membership active, and gives its user, who calls, the first token.

    Refuses alike all that is no link, or no longer one; forbidden, where the user has to accept
    with a token of their own.
    """
    opened = open_for_first_token(found, link_hash)
    membership = found.of(MembershipWithId(opened.membership_id))
    token = Token(
        id=fresh.id,
        owner_kind="user",
        owner_id=opened.user.id,
        created_at=found.now,
        expires_at=found.now + FIRST_TOKEN_LIFETIME,
        last_used_at=None,
        description="by invitation",  # other organizations read it as well
        created_by=opened.user.id,
    )
    made = tokens.created(found, token, fresh)
    return together(made.answer, _accepted(found, membership), made)


def open_for_first_token(found: Found, link_hash: bytes) -> Invited:
    """What the link opens, for a user who has no token. Refuses as `accept_by_link`."""
    opened = opened_by(found, link_hash)
    if not opened.first_token:
        raise forbidden(
            "You already have an account here: accept with a token of your own, by "
            "'teamvars login accept' or POST "
            f"/api/v2/organization-memberships/{opened.membership_id}/actions/accept."
        )
    return opened


def opened_by(found: Found, link_hash: bytes) -> Invited:
    """What the link opens. Refuses alike all that is no link, or no longer one."""
    opened = found.of(LinkOpens(link_hash))
    if opened is None:
        raise Refusal(DEAD_LINK)
    return opened


def expire(found: Found, membership_id: str) -> Decision[None]:
    """Ends an invitation if it has expired. Refuses: not found."""
    membership = found.of(MembershipWithId(membership_id))
    if membership.status is Status.ACTIVE:  # since an older release accepted it
        found.require_locked([membership.organization_id])
        return Decision(None, (Delete(Invitation, (membership_id,)),))
    if membership.invitation is None or membership.invitation.is_live(found.now):
        return Decision(None)
    return memberships.ended(found, [membership], "expire")


def settle(
    found: Found, invited: Invited, link_hash: bytes, delivery: Delivery, reply: int | None
) -> Decision[None]:
    """What became of a message; `reply` is that of a mail server that refused it."""
    verb = "send" if delivery is Delivery.SENT else "fail"
    details = {"user": invited.user.id, **({} if reply is None else {"reply": reply})}
    place, id_ = invited.organization_id, invited.membership_id
    note = found.note(place, f"invitation.{verb}", id_, details)
    return Decision(None, (Settle(id_, link_hash, delivery),), (note,))


def _resent(
    found: Found, membership: Membership, secret: str, terms: Terms
) -> Decision[MembershipPage]:
    if membership.status is not Status.INVITED:
        raise Refusal(ALREADY_ACCEPTED)
    if membership.shown_email is None:
        raise Refusal(NO_ADDRESS)
    found.require_locked([membership.organization_id, SYSTEM_STREAM])
    refuse_all(_surplus(found, membership.organization_id, membership.shown_email, terms, None))
    linked = _linked(found, membership, secret, terms)
    return together(page_of(linked.answer, teams_of(found, membership)), linked)


def _invited(
    found: Found,
    place: tuple[Organization, Sequence[Team]],
    draft: InvitationDraft,
    fresh: Fresh,
    terms: Terms,
) -> Decision[MembershipPage]:
    """`place`: the organization, and those of the wanted teams that are its own."""
    organization, into = place
    faults = [*draft.all_faults(), *draft.missing(team.id for team in into)]
    email = draft.email or ""
    user = found.of(UserAt(email)) if is_email(email) else None
    if user and found.of(MembershipOf(organization.id, user.id)):
        faults.append(ALREADY_MEMBER)
    if is_email(email):
        faults += _surplus(found, organization.id, email, terms, EMAIL_POINTER)
    refuse_all(faults)
    found.require_locked([organization.id, SYSTEM_STREAM, *(team.id for team in into)])
    made = Membership(
        id=fresh.membership_id,
        organization_id=organization.id,
        organization_name=organization.name,
        user=user or _placeholder(found, email, fresh),
        status=Status.INVITED,
        created_at=found.now,
        invited_as=email,
    )
    linked = _linked(found, made, fresh.secret, terms)
    return together(
        page_of(linked.answer, into),
        *([] if user else [users.created(found, made.user)]),
        memberships.created(found, made),
        *(memberships.joined(found, team, [made.id]) for team in into),
        linked,
    )


def _placeholder(found: Found, email: str, fresh: Fresh) -> User:
    """A user who has not signed in yet, under a name that is free."""
    name = username_for(email)
    if found.of(UserCalled(name)) is not None:
        name = fresh.username
    return User(fresh.user_id, name, email, site_admin=False, placeholder=True)


def _surplus(
    found: Found, organization_id: str, email: str, terms: Terms, pointer: str | None
) -> list[Fault]:
    """The faults of one link more than a day may have; all counts wait for the system's stream."""
    if terms.a_day is None:
        return []
    of_organization, of_address = found.of(LinksOfDay(organization_id, email))
    faults = []
    if of_organization >= terms.a_day:
        faults.append(TOO_MANY_INVITATIONS.filled(most=terms.a_day))
    if of_address >= MAX_A_DAY_OF_ADDRESS:
        faults.append(TOO_MANY_TO_ADDRESS.filled(most=MAX_A_DAY_OF_ADDRESS).at(pointer))
    return faults


def _linked(
    found: Found, membership: Membership, secret: str, terms: Terms
) -> Decision[Membership]:
    """The first link of a membership, or a new one that voids it."""
    verb = "create" if membership.invitation is None else "resend"
    invitation = Invitation(found.now + LIFETIME, terms.delivery)
    email = membership.shown_email
    assert email is not None  # else there is nobody to invite
    if terms.delivery is Delivery.WAITING:
        found.of(DataKeyOf(membership.organization_id))  # the secret is sealed by it
    more = {"email": email, "expires-at": invitation.expires_at}
    link = Invite(membership, found.caller.user_id, invitation, secret)
    return together(
        replace(membership, invitation=invitation),
        Decision(None, (link, CountLink(membership.organization_id, email))),
        memberships.invitation(found, membership, verb, more),
    )


def _accepted(found: Found, membership: Membership) -> Decision[Membership]:
    active, place = membership.with_status(Status.ACTIVE), membership.organization_id
    of_owners = owners_team(found, place)
    found.require_locked([place, of_owners])  # nobody puts them into it, or takes them out
    (team_ids,) = found.of(TeamIdsOf((membership.id,))).values()
    newcomers = [active] if of_owners in team_ids else []
    return together(
        active,
        owners.joined(found, newcomers),
        memberships.changed(found, [(membership, active)]),
        *(
            [memberships.invitation(found, membership, "accept")]
            if membership.invitation is not None
            else []
        ),
    )
