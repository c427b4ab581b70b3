"""What becomes of somebody whom a provider means, and of an operator's word on who that is.

All of it is recorded in the system's stream. A session is a token of its user, and begins and ends
as tokens do.
"""

from typing import Literal

import msgspec

from teamvars.decisions import Decision, Delete, Found, Insert, Need, together, tokens
from teamvars.decisions.deliveries import USED_BEFORE, Use
from teamvars.decisions.needs import (
    IdentityOf,
    OrganizationsCalled,
    OwnerStreams,
    StandingOf,
    TokensIssued,
    TokensOfSignIn,
    ToOrganizationWithId,
    UserAt,
    UserMeant,
    UserWithId,
    WasUsed,
    WhoCalls,
)
from teamvars.domain.audit import SYSTEM_STREAM, Stream
from teamvars.domain.errors import (
    NAME_TAKEN,
    Code,
    Fault,
    Refusal,
    forbidden,
    there_is_no,
)
from teamvars.domain.notices import Memo
from teamvars.domain.organizations import Organization
from teamvars.domain.sign_ins import (
    IDLE,
    MAX_SESSIONS,
    SESSION,
    Identity,
    Person,
    Provider,
    Session,
    SignOut,
    is_subject,
)
from teamvars.domain.tokens import OfUser, Token
from teamvars.domain.users import User
from teamvars.kernel import Discreet

_NOBODY = (
    "No user here is linked with your account there. Ask an owner of your organization, or whoever "
    "runs this service."
)
_NOWHERE = (
    "You are in no organization that {} signs people in to. Ask an owner of yours to invite you."
)
_FURTHER = (
    "{} signs people in to more organizations than your token has rights in. Use another token."
)
_SIGN_IN = (
    "Members of {} have to sign in, and nobody has for your token. Link the account while you are "
    "signed in, or have whoever runs this service link it."
)
_DISABLED = "Your user is disabled. Ask whoever runs this service."


class Fresh(Discreet, frozen=True):
    """What a session is made with: its token, the hash of what the cookie has, and where it is from
    in words.
    """

    token: tokens.Fresh
    cookie_hash: bytes
    description: str


class Arrival(msgspec.Struct, frozen=True):
    """Who is linked with somebody that a provider means: the organizations of certain names, by id;
    whether the user is in one of these or may accept an invitation to one; how many sessions of
    theirs are open; and the system's stream.
    """

    user: User
    reach: frozenset[str]
    is_expected: bool
    sessions: int
    stream: Stream

    @property
    def may_change(self) -> bool:
        """Whether a session may be recorded, be it of whom it will."""
        return True


class Arriving(Need[Arrival | None], frozen=True):
    """Whom a provider means by that name, with what it takes to sign in to organizations of these
    names; None: nobody is linked with that.
    """

    issuer: str
    subject: str
    organizations: tuple[str, ...]


def arriving(provider: Provider, person: Person) -> Arriving:
    """What is to be known of the person there."""
    return Arriving(person.issuer, person.subject, provider.organizations)


def arrival(found: Found, provider: Provider, person: Person) -> Arrival | None:
    """Who signs in; None: whom the provider means was never here.

    Refuses: forbidden, to a disabled user, or one who is neither in one of the provider's
    organizations nor invited to one.
    """
    there = found.of(arriving(provider, person))
    if there is not None:
        _require_enabled(there.user)
        if not there.is_expected:
            raise forbidden(_NOWHERE.format(provider.title))
    return there


def sign_in(
    found: Found, provider: Provider, person: Person, fresh: Fresh
) -> Decision[User | None]:
    """A session of the user whom the provider means, in its organizations; None: there are too many
    of theirs. Refuses: as `arrival`, and whom it means no longer.
    """
    there = arrival(found, provider, person)
    if there is None or there.user.id != found.caller.user_id:  # linked otherwise meanwhile
        raise forbidden(_NOBODY)
    if there.sessions >= MAX_SESSIONS:
        return Decision(None)
    user = there.user
    token = Token(
        id=fresh.token.id,
        owner_kind="user",
        owner_id=user.id,
        created_at=found.now,
        expires_at=found.now + IDLE,
        last_used_at=None,
        description=fresh.description,
        created_by=user.id,
        reach=there.reach,
        provider=provider.name,
        sid=person.sid,
    )
    return together(user, _session(found, provider, user, token, fresh))


def join(found: Found, provider: Provider, person: Person, fresh_id: str) -> Decision[User]:
    """From now on the provider means that user, by an address that it has verified.

    Refuses: as `meant` and `arrival`.
    """
    user = meant(found, provider, person)
    _require_enabled(user)
    named = {one.id for one in found.of(OrganizationsCalled(provider.organizations))}
    standing = found.of(StandingOf(user.id))
    if not named & (standing.active | standing.invited):
        raise forbidden(_NOWHERE.format(provider.title))
    if found.of(IdentityOf(person.issuer, person.subject)) is not None:
        return Decision(user)
    # Nobody becomes an owner, or is linked, between the look and the commit.
    found.require_locked({SYSTEM_STREAM, *found.of(OwnerStreams(user.id))})
    return together(user, _linked(found, user, person, fresh_id))


def give_way(found: Found, user_id: str) -> Decision[None]:
    """The oldest sessions end, so that there is room for one: any site can have a browser sign in
    again, as often as it likes, and is to keep nobody out by it.
    """
    issued = (one.token for one in found.of(TokensIssued("session", user_id)))
    live = [one for one in issued if one.is_live(found.now)]
    surplus = live[: max(len(live) - MAX_SESSIONS + 1, 0)]
    return together(None, *(tokens.revoked(found, one) for one in surplus))


def _require_enabled(user: User) -> None:
    if user.disabled:
        raise forbidden(_DISABLED)


def sign_out(found: Found, provider: Provider, said: SignOut) -> Decision[None]:
    """What somebody has signed in for who is signed out there by now: their sessions end, and the
    tokens of theirs that were made in them, also where the session has ended already.

    Refuses: what was said before.
    """
    if found.of(WasUsed(said.once)):
        raise Refusal(USED_BEFORE)
    whom = None if said.subject is None else found.of(IdentityOf(provider.issuer, said.subject))
    user_id = None if whom is None else whom.user_id
    over = found.of(TokensOfSignIn(provider.name, said.sid, user_id))
    used = Decision(None, (Use(said.once, said.expires_at),), taken=USED_BEFORE)
    by = {"provider": provider.name}
    return together(None, used, *(tokens.revoked(found, token, by) for token in over))


def end_all(found: Found, user_id: str) -> Decision[None]:
    """All sessions of the caller end, on every node; of those that have rights elsewhere than their
    token, only those that the token shows: none. Refuses: not found, for everybody else.
    """
    tokens.managed(found, OfUser(user_id))
    found.require_locked({SYSTEM_STREAM})  # none begins meanwhile
    reach = found.caller.reach
    own = [one.token for one in found.of(TokensIssued("session", user_id))]
    return together(
        None, *(tokens.revoked(found, one) for one in own if reach in (None, one.reach))
    )


def link_own(found: Found, provider: Provider, person: Person, fresh_id: str) -> Decision[User]:
    """From now on the provider means the caller by that name. Refuses: as `linkable`, and a name by
    which it means another.
    """
    return _link(found, linkable(found, provider), person, fresh_id)


def calling(found: Found, detail: str = "Only users are linked with accounts.") -> User:
    """The user who calls. Refuses: unauthenticated; with that detail teams and organizations."""
    actor = found.of(WhoCalls())
    user = found.of(UserWithId(actor.id)) if actor.kind == "user" else None
    if user is None:
        raise forbidden(detail)
    return user


def linkable(found: Found, provider: Provider) -> User:
    """The caller, who may be linked with somebody whom the provider means.

    Nobody has more rights by it: refuses as `calling`, and as forbidden a token that has rights in
    some organizations alone, where the provider speaks for others, or none where the provider lets
    somebody in who has to sign in there.
    """
    user = calling(found)
    reach = found.caller.reach
    named = found.of(OrganizationsCalled(provider.organizations))
    if reach is not None and not {one.id for one in named} <= reach:
        raise forbidden(_FURTHER.format(provider.title))
    for place in named:
        if place.sso_required and reach is None and not _is_let_in(found, user, place):
            raise forbidden(_SIGN_IN.format(place.name))
    return user


def _is_let_in(found: Found, user: User, place: Organization) -> bool:
    """Whether the caller's token has all the rights there that a session of the user's would."""
    standing = found.of(StandingOf(user.id))
    if place.id not in standing.active | standing.invited:
        return True
    return found.of(ToOrganizationWithId(place.id)).is_member


def link(found: Found, who: str, issuer: str, subject: str, fresh_id: str) -> Decision[User]:
    """From now on the issuer means that user by that name. Refuses: what is no name, and one by
    which it means another.
    """
    if not is_subject(subject):
        detail = "No provider calls anybody so: it is 1 to 255 characters of ASCII."
        raise Refusal(Fault(Code.INVALID_VALUE, detail))
    return _link(found, found.of(UserMeant(who)), Person(issuer, subject), fresh_id)


def _link(found: Found, user: User, person: Person, fresh_id: str) -> Decision[User]:
    there = found.of(IdentityOf(person.issuer, person.subject))
    if there is None:
        return together(user, _linked(found, user, person, fresh_id))
    if there.user_id != user.id:
        detail = f"This account is linked with the user {there.user_id}. Take that back first."
        raise Refusal(Fault(Code.NAME_TAKEN, detail))
    return Decision(user)


def unlink(found: Found, who: str, issuer: str, subject: str) -> Decision[User]:
    """From now on the issuer means nobody by that name, and all that the user has signed in for
    ends: no token says with which of their accounts that was.
    """
    user = found.of(UserMeant(who))
    there = found.of(IdentityOf(issuer, subject))
    if there is None or there.user_id != user.id:
        raise there_is_no(f"such link of {user.username}")
    gone = Decision(
        None, (Delete(Identity, (there.id,)),), (found.note(*_about(user, "unlink", there)),)
    )
    return together(user, gone, *ended(found, user, "sign-in"))


def ended(
    found: Found, user: User, what: Literal["session", "sign-in"] = "session"
) -> list[Decision[None]]:
    """All sessions of a user end, or all that comes of any sign-in."""
    return [tokens.revoked(found, one.token) for one in found.of(TokensIssued(what, user.id))]


def meant(found: Found, provider: Provider, person: Person) -> User:
    """Whom the provider means: who is linked with the person, or may be by a verified address.

    Nobody may who owns an organization, is a site admin, or is linked with anybody already.
    Refuses: forbidden, where it means nobody.
    """
    user = _addressed(found, provider, person)
    # After that: where another sign-in of theirs has just linked them, it is seen.
    known = found.of(IdentityOf(person.issuer, person.subject))
    if known is not None:
        user = found.of(UserWithId(known.user_id))
        assert user is not None  # it goes with its user
    if user is None:
        raise forbidden(_NOBODY)
    return user


def _addressed(found: Found, provider: Provider, person: Person) -> User | None:
    """Who may be linked with the person, by the address that the provider has verified."""
    if person.email is None or not provider.speaks_for(person.email):
        return None
    user = found.of(UserAt(person.email))
    if user is None or user.site_admin:
        return None
    standing = found.of(StandingOf(user.id))
    return None if standing.is_owner or standing.is_known else user


def _linked(found: Found, user: User, person: Person, fresh_id: str) -> Decision[None]:
    made = Identity(fresh_id, person.issuer, person.subject, user.id, found.now)
    note = found.note(*_about(user, "link", made))
    taken = NAME_TAKEN.filled(what="a user").at(None)
    return Decision(None, (Insert(made), *_told(found, user, made)), (note,), taken=taken)


def _told(found: Found, user: User, made: Identity) -> list[Insert]:
    """The user is told, if there is an address, who else may be them."""
    if user.email is None:
        return []
    text = (
        f"From now on the account {made.subject} of {made.issuer} signs in as {user.username}. "
        "If neither you nor whoever runs this service wanted that, tell them at once."
    )
    return [Insert(Memo(made.id, user.email, "An account signs in as you", text, found.now))]


def _about(user: User, verb: str, identity: Identity) -> tuple[str, str, str, dict[str, object]]:
    details: dict[str, object] = {
        "username": user.username,
        "issuer": identity.issuer,
        "subject": identity.subject,
    }
    return SYSTEM_STREAM, f"user.{verb}", user.id, details


def _session(
    found: Found, provider: Provider, user: User, token: Token, fresh: Fresh
) -> Decision[None]:
    made = tokens.created_for(found, user, token, fresh.token, {"provider": provider.name})
    session = Session(
        token.id, fresh.cookie_hash, provider.name, found.now + SESSION, provider.longest
    )
    return together(None, made, Decision(None, (Insert(session),)))
