"""What becomes of a request to make or revoke tokens or to limit how long they live, and what that
records.

A token is recorded in the stream of whoever the token is for.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from teamvars.decisions import Decision, Delete, Found, Insert, Note, Update, Write, together
from teamvars.decisions.needs import (
    LiveTokensOf,
    OrganizationCalled,
    OrganizationWithId,
    SessionOf,
    TeamCalled,
    TeamTokensPage,
    TeamTokensWithIds,
    TokenLimitsOf,
    TokensIssued,
    TokensOf,
    TokensPage,
    TokenWithId,
    ToOrganization,
    ToOrganizationWithId,
    ToTeam,
    UserMeant,
    UserWithId,
    WhereToSignIn,
    WhoCalls,
    as_owner,
)
from teamvars.decisions.owners import TellOwners
from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.errors import (
    NO_SUCH_EXPIRY,
    NO_SUCH_TOKEN,
    NO_VALID_TOKEN,
    TOO_MANY_TOKENS,
    Code,
    Fault,
    Refusal,
    not_found,
    refuse_all,
)
from teamvars.domain.linked import IdsDraft
from teamvars.domain.organizations import Organization
from teamvars.domain.pages import Page, Paged, paged
from teamvars.domain.tokens import (
    DESCRIPTION_TAKEN,
    EXPIRY_RULE,
    LIMITED_KINDS,
    MAX_LIVE_TOKENS,
    MILLISECOND,
    ORGANIZATION_END,
    OWN_END,
    SESSION_END,
    WAY_BACK,
    DescribedOfTeam,
    HashedToken,
    IssuedToken,
    LimitsDraft,
    NewToken,
    OfOrganization,
    OfTeam,
    OfUser,
    OwnerName,
    TeamTokenSearch,
    Token,
    TokenDraft,
    TokenLimit,
    TokenOwner,
    Whose,
    can_expire,
    ends_by,
    latest_end,
    lifetime,
    limit_of,
    limits_tokens,
    stream_of,
)
from teamvars.domain.users import User
from teamvars.kernel import Discreet


class Shorten(Write, frozen=True):
    """Tokens of a kind, an organization's or those of its teams, live no longer than so many µs."""

    organization_id: str
    kind: str
    lifetime: int


class Fresh(Discreet, frozen=True):
    """What a new token is made with: its id, and the token itself with its hash."""

    id: str
    secret: str
    hash: bytes


def create(
    found: Found, named: OwnerName, lifetime: int | None, fresh: Fresh, *, is_said: bool = True
) -> Decision[NewToken]:
    """A token that lives `lifetime` µs, or until it is revoked. Unless somebody has said that, it
    lives no longer than its organization allows.

    Where its user has to sign in, one that is good all the same is recorded there as well, and all
    owners are told. Refuses: not found, an end that cannot be written or is later than the
    organization allows, too many live tokens.
    """
    owner = _called(found, named)
    expires_at = None if lifetime is None else found.now + lifetime
    if lifetime is not None and not can_expire(expires_at, found.now):
        raise Refusal(NO_SUCH_EXPIRY.filled(rule=EXPIRY_RULE))
    latest = _limited_end(found, owner, _organization_named(found, named))
    if latest is not None and (expires_at is None or expires_at > latest):
        if is_said:
            raise Refusal(Fault(Code.INVALID_VALUE, ends_by(ORGANIZATION_END, latest)))
        expires_at = latest
    refuse_all(surplus(found, owner))
    token = Token(fresh.id, owner.kind, owner.id, found.now, expires_at, None)
    made = created(found, token, fresh)
    is_way_back = owner.kind == "user" and lifetime is not None and lifetime <= WAY_BACK
    places = found.of(WhereToSignIn(owner.id)) if is_way_back else []
    return together(made.answer, made, *(_let_in(found, token, place) for place in places))


def make(found: Found, whose: Whose, draft: TokenDraft, fresh: Fresh) -> Decision[NewToken]:
    """A new token; it takes the place of the one that an organization has, and of that of a team
    without a description.

    A user's own ends no later than the one it is made with, and so does each that is made with one
    of a team or organization. Refuses: forbidden, every fault of the draft, a description that
    another of the team's has, and too many live tokens.
    """
    owner = managed(found, whose)
    is_one = isinstance(whose, OfOrganization | OfTeam)
    latest, why = _latest_end(found, whose, owner)
    full = [] if is_one else surplus(found, owner)
    provider, sid = _sign_in_of(found, owner)
    faults = [*draft.all_faults(found.now, latest, why), *draft.description_faults(whose)]
    refuse_all([*faults, *full])
    token = Token(
        id=fresh.id,
        owner_kind=owner.kind,
        owner_id=owner.id,
        created_at=found.now,
        expires_at=draft.expires_at(found.now, latest),
        last_used_at=None,
        description=draft.description or "",
        created_by=found.caller.user_id,
        reach=found.caller.reach if owner.kind == "user" else None,
        provider=provider,
        sid=sid,
    )
    former = _only(found, whose, owner) if is_one else []
    made = replace(created(found, token, fresh), taken=None if is_one else DESCRIPTION_TAKEN)
    return together(made.answer, *(revoked(found, one) for one in former), made)


def end_all(found: Found, whose: Whose) -> Decision[None]:
    """Revokes the one token of a team or organization. Refuses: forbidden, there is none."""
    tokens = _only(found, whose, managed(found, whose))
    if not tokens:
        raise not_found()
    return together(None, *(revoked(found, token) for token in tokens))


def end(found: Found, token_id: str) -> Decision[None]:
    """Revokes one token, be it the caller's own."""
    return revoked(found, own(found, token_id))


def end_of_teams(found: Found, organization: str, draft: IdsDraft) -> Decision[None]:
    """Revokes tokens of an organization's teams, all that the draft names or none.

    Refuses: forbidden, ids of no such tokens.
    """
    owner = as_owner(found, organization)
    tokens = found.of(TeamTokensWithIds(owner.id, draft.wanted))
    refuse_all(draft.all_faults({token.id for token in tokens}, NO_SUCH_TOKEN))
    return together(None, *(revoked(found, token) for token in tokens))


def revoke(found: Found, meant: TokensIssued) -> Decision[Sequence[IssuedToken]]:
    """Revokes all that an operator means."""
    issued = found.of(meant)
    return together(issued, *(revoked(found, one.token) for one in issued))


def revoke_of_user(found: Found, who: str) -> Decision[Sequence[IssuedToken]]:
    """Revokes all of a user's own. Refuses: not found."""
    return revoke(found, TokensIssued("user", found.of(UserMeant(who)).id))


def revoke_of_organization(found: Found, name: str) -> Decision[Sequence[IssuedToken]]:
    """Revokes that of an organization and those of its teams. Refuses: not found."""
    found.of(OrganizationCalled(name))
    return revoke(found, TokensIssued("organization", name))


def created(found: Found, token: Token, fresh: Fresh) -> Decision[NewToken]:
    """A token begins; its user is no longer a placeholder."""
    user = found.of(UserWithId(token.owner_id)) if token.owner_kind == "user" else None
    return created_for(found, user, token, fresh, {})


def created_for(
    found: Found, user: User | None, token: Token, fresh: Fresh, more: Mapping[str, object]
) -> Decision[NewToken]:
    """As `created`, for the user whose token it is, who is found already. Its entry says `more` as
    well.
    """
    writes: list[Write] = [Insert(HashedToken(token, fresh.hash))]
    if user is not None and user.placeholder:
        writes.append(Update(user, replace(user, placeholder=False)))
    made = NewToken(token, fresh.secret)
    return Decision(made, tuple(writes), (_noted(found, token, "create", more),))


def revoked(found: Found, token: Token, more: Mapping[str, object] = {}) -> Decision[None]:
    """A token ends: from the commit on it authenticates nobody. Its entry says `more` as well."""
    note = _noted(found, token, "revoke", more)
    return Decision(None, (Delete(HashedToken, (token.id,)),), (note,))


def managed(found: Found, whose: Whose) -> TokenOwner:
    """Whose tokens they are. Refuses: not found, forbidden to whoever does not manage them."""
    match whose:
        case OfOrganization(name):
            id_ = as_owner(found, name).id
            return TokenOwner("organization", id_, id_)
        case OfTeam(id_) | DescribedOfTeam(id_):
            found.of(ToTeam(id_)).require_manage_token()
            return TokenOwner("team", id_, id_)
        case OfUser(id_):
            actor = found.of(WhoCalls())
            if (actor.kind, actor.id) != ("user", id_):
                raise not_found()
            return TokenOwner("user", id_, SYSTEM_STREAM)


def page(found: Found, whose: Whose, wanted: Page) -> Paged[Token]:
    """A page of somebody's tokens, expired ones included; of those of a user, a token that has
    rights in some organizations alone is shown what has rights in just these. Refuses: forbidden.
    """
    owner = managed(found, whose)
    reach = found.caller.reach if owner.kind == "user" else None
    return found.of(TokensPage(owner, wanted, reach))


def newest(found: Found, whose: Whose) -> Token:
    """The one token of a team or organization. Refuses: forbidden, there is none."""
    tokens = _only(found, whose, managed(found, whose))
    if not tokens:
        raise not_found()
    return tokens[-1]


def own(found: Found, token_id: str) -> Token:
    """A token that the caller manages. Refuses: not found, for every other one as well, as `page`
    does not show it.
    """
    found.of(WhoCalls())
    token = found.of(TokenWithId(token_id))
    if token.owner_kind == "user":
        managed(found, OfUser(token.owner_id))
        if found.caller.reach not in (None, token.reach):
            raise not_found()
    elif token.owner_kind == "team":
        if not found.of(ToTeam(token.owner_id)).manages_token:
            raise not_found()
    elif not found.of(ToOrganizationWithId(token.owner_id)).is_owner:
        raise not_found()
    return token


def of_teams(found: Found, organization: str, wanted: TeamTokenSearch, some: Page) -> Paged[Token]:
    """A page of the tokens of an organization's teams, expired ones too. Refuses: forbidden."""
    return found.of(TeamTokensPage(as_owner(found, organization).id, wanted, some))


def _only(found: Found, whose: Whose, owner: TokenOwner) -> Sequence[Token]:
    """What a new one takes the place of, oldest first; operators may have made several."""
    tokens = found.of(TokensOf(owner))
    return [one for one in tokens if not (isinstance(whose, OfTeam) and one.description)]


def _called(found: Found, named: OwnerName) -> TokenOwner:
    """The owner that an operator names. Refuses: not found, by name; a disabled user."""
    if named.user is not None:
        user = found.of(UserMeant(named.user))
        if user.disabled:
            detail = (
                f"User {named.user} is disabled, so the token would not work. Enable the user "
                "first."
            )
            raise Refusal(Fault(Code.INVALID_VALUE, detail))
        return TokenOwner("user", user.id, SYSTEM_STREAM)
    name = named.organization or ""
    if named.team is not None:
        team_id = found.of(TeamCalled(name, named.team)).id
        return TokenOwner("team", team_id, team_id)
    organization_id = found.of(OrganizationCalled(name)).id
    return TokenOwner("organization", organization_id, organization_id)


def _organization_of(found: Found, whose: Whose) -> str | None:
    """The organization whose limits concern them; None: none's do."""
    match whose:
        case OfOrganization(name):
            return found.of(ToOrganization(name)).organization.id
        case OfTeam(id_) | DescribedOfTeam(id_):
            return found.of(ToTeam(id_)).team.organization_id
        case OfUser():
            return None


def _organization_named(found: Found, named: OwnerName) -> str | None:
    """The same of those that an operator names."""
    if named.organization is None:
        return None
    return found.of(OrganizationCalled(named.organization)).id


def _limited_end(found: Found, owner: TokenOwner, organization_id: str | None) -> int | None:
    """When a new token ends at the latest, as its organization limits it.

    The organization's stream is locked, or a limit that is set meanwhile would miss the token.
    """
    if organization_id is None:
        return None
    found.require_locked({organization_id, owner.stream_id})
    organization = found.of(OrganizationWithId(organization_id))
    return latest_end(organization, owner.kind, found.of(TokenLimitsOf(organization_id)), found.now)


def _latest_end(found: Found, whose: Whose, owner: TokenOwner) -> tuple[int | None, str]:
    """When a token ends at the latest, and why; None: nothing says so."""
    limited = _limited_end(found, owner, _organization_of(found, whose))
    is_of_person = found.caller.user_id is not None and owner.kind != "user"
    own, why = (None, "") if is_of_person else own_end(found)
    if own is None or (limited is not None and limited <= own):
        return limited, ORGANIZATION_END
    return own, why


def own_end(found: Found) -> tuple[int | None, str]:
    """When the token ends that the caller uses, or what is made in a session, and why."""
    actor = found.caller.actor
    assert actor is not None and actor.token_id is not None  # authenticated by it
    # Before the token, with which it goes: one that is gone is not taken for one that never was.
    session = found.of(SessionOf(actor.token_id)) if actor.kind == "user" else None
    if session is not None:
        return found.now + session.longest, SESSION_END
    return used(found).expires_at, OWN_END


def _sign_in_of(found: Found, owner: TokenOwner) -> tuple[str | None, str | None]:
    """The sign-in that a token comes of which the caller makes: a user's own is of that which the
    token is of that it is made with.
    """
    if owner.kind != "user":
        return None, None
    own = used(found)
    return own.provider, own.sid


def used(found: Found) -> Token:
    """The token that the caller uses. Refuses: unauthenticated, where it has ended meanwhile."""
    actor = found.caller.actor
    assert actor is not None and actor.token_id is not None  # authenticated by it
    for one in found.of(TokensIssued("id", actor.token_id)):
        return one.token
    raise Refusal(NO_VALID_TOKEN)


def _let_in(found: Found, token: Token, place: Organization) -> Decision[None]:
    """The host has let somebody into an organization where members have to sign in."""
    user = found.of(UserWithId(token.owner_id))
    assert user is not None and token.expires_at is not None  # whose it is, and it ends soon
    subject = f"A token for {user.username} where members of {place.name} have to sign in"
    text = (
        f"Whoever runs this service has made a token for {user.username}. "
        f"{ends_by('It ends at {}.', token.expires_at)} Until then it has rights in {place.name}, "
        "although nobody has signed in. If no owner has asked for that, ask them."
    )
    told = TellOwners(f"{token.id} {place.id}", place.id, subject, text)
    note = found.note(place.id, "token.let-in", token.id, _details(token))
    return Decision(None, (told,), (note,))


def surplus(found: Found, owner: TokenOwner) -> list[Fault]:
    """The fault of one token more than an owner may have."""
    is_full = found.of(LiveTokensOf(owner)) >= MAX_LIVE_TOKENS
    return [TOO_MANY_TOKENS.filled(most=MAX_LIVE_TOKENS)] if is_full else []


def _noted(found: Found, token: Token, verb: str, more: Mapping[str, object]) -> Note:
    return found.note(stream_of(token), f"token.{verb}", token.id, {**_details(token), **more})


def _details(token: Token) -> dict[str, object]:
    return {"owner": f"{token.owner_kind} {token.owner_id}", "expires-at": token.expires_at}


def limits_page(found: Found, organization: str, wanted: Page | None) -> Paged[TokenLimit]:
    """The limits of an organization, all or a page of them. Refuses: forbidden."""
    return paged(found.of(TokenLimitsOf(as_owner(found, organization).id)), wanted)


def put_limits(
    found: Found, organization: str, draft: LimitsDraft
) -> Decision[Sequence[TokenLimit]]:
    """Sets limits; tokens that live longer are shortened at once, where limits count.

    Refuses: forbidden, every fault of the draft.
    """
    owner = as_owner(found, organization)
    refuse_all(draft.all_faults())
    limits = {one.kind: one for one in found.of(TokenLimitsOf(owner.id))}
    parts = []
    for kind, max_ttl_ms in draft.wanted().items():
        former = limits.get(kind)
        if former is None or former.max_ttl_ms != max_ttl_ms:
            made = former or limit_of(owner.id, kind, max_ttl_ms, found.now)
            limits[kind] = replace(made, max_ttl_ms=max_ttl_ms, updated_at=found.now)
            parts.append(_limited(found, owner, former, limits[kind]))
    return together([limits[kind] for kind in LIMITED_KINDS if kind in limits], *parts)


def shortened(found: Found, organization: Organization) -> list[Write]:
    """What is written where limits begin to count."""
    limits = found.of(TokenLimitsOf(organization.id))
    return [Shorten(organization.id, kind, lifetime(kind, limits)) for kind in LIMITED_KINDS]


def _limited(
    found: Found, owner: Organization, former: TokenLimit | None, limit: TokenLimit
) -> Decision[None]:
    write = Insert(limit) if former is None else Update(former, limit)
    shorter = Shorten(owner.id, limit.kind, limit.max_ttl_ms * MILLISECOND)
    details = {"token-type": limit.kind, "max-ttl-ms": limit.max_ttl_ms}
    note = found.note(owner.id, "organization.limit-tokens", owner.id, details)
    return Decision(None, (write, *((shorter,) if limits_tokens(owner) else ())), (note,))
