"""What becomes of a program that waits to be approved, and of what it shows for its token.

A token that is made so is recorded as every other, by whoever approved it, in their session.
"""

from msgspec.structs import replace

from teamvars.decisions import Decision, Found, Insert, Update, together, tokens
from teamvars.decisions.needs import (
    LoginBy,
    TokensIssued,
    UserWithId,
    WhoCalls,
)
from teamvars.domain.audit import SYSTEM_STREAM, Actor
from teamvars.domain.errors import Code, Fault, Refusal, forbidden, invalid, refuse_all
from teamvars.domain.logins import (
    LIFETIME,
    Consent,
    Login,
    LoginDraft,
    Presented,
    plain_user_code,
)
from teamvars.domain.times import LATEST
from teamvars.domain.tokens import LOGGED_IN, NewToken, Token, TokenOwner, can_expire, ends_by

_USERS_ALONE = "Only users log in: sign in as one, not with the token of a team or organization."
_NO_CODE = (
    "No program waits with this code. It is good for ten minutes and once: run teamvars login "
    "again."
)
_UNNAMED = Fault(
    Code.MISSING_MEMBER,
    "It is the code that the program shows.",
    pointer="/data/attributes/user-code",
)
_APPROVED = "This was approved before. Run teamvars login again."
NO_GRANT = Fault(
    Code.INVALID_GRANT,
    "This code is good for nothing here, or no longer. Run teamvars login again.",
)
_EXPIRED = Fault(Code.EXPIRED_TOKEN, "Nobody has approved it in time.")
_DENIED = Fault(Code.ACCESS_DENIED, "It was refused in the browser.")

_NOT_SO = Fault(
    Code.UNSUPPORTED_TOKEN_TYPE, "A token of a team or organization is revoked by its owners."
)


def show(found: Found, draft: LoginDraft) -> Consent:
    """What somebody would approve.

    Refuses: forbidden to all but users; every fault of the draft, a code with which nothing waits;
    a later end than they may give a token; too many live tokens.
    """
    actor = _user(found)
    refuse_all(draft.all_faults())
    login = _meant(found, draft, actor.token_id)
    refuse_all(tokens.surplus(found, _owner(actor.id)))
    return Consent(login, login.ends_at or _end(found, login.lifetime))


def approve(found: Found, draft: LoginDraft, code_hash: bytes) -> Decision[Consent]:
    """The program has a token to come, with which the caller's is not outlived; one beside a
    browser for what has that hash. One that waits may be approved again, with the same token:
    perhaps nobody heard the answer. Refuses as `show`, and what somebody has approved before.
    """
    consent = show(found, draft)
    found.require_locked({SYSTEM_STREAM})  # of two who approve, the second is refused
    actor = _user(found)
    if consent.login.token_id is not None:
        return Decision(consent)
    approved = replace(consent.login, token_id=actor.token_id, ends_at=consent.ends_at)
    if approved.user_code is not None:
        return Decision(consent, (Update(consent.login, approved),))
    approved = replace(approved, code_hash=code_hash)
    former = found.of(LoginBy("id", approved.id))
    if former is None:
        return Decision(consent, (Insert(approved),))
    if former.token_id != actor.token_id or former.issued_id is not None:
        raise Refusal(invalid("code-challenge", _APPROVED))
    return Decision(consent, (Update(former, approved),))


def deny(found: Found, draft: LoginDraft) -> Decision[None]:
    """The program that waits with a code is told that it is refused. Refuses: forbidden to all but
    users, every fault of the draft, a code with which nothing waits.
    """
    _user(found)
    said = {fault.pointer for fault in draft.faults}
    lacks_code = draft.user_code is None and _UNNAMED.pointer not in said
    refuse_all([*draft.faults, *([_UNNAMED] if lacks_code else [])])
    login = _meant(found, draft)
    found.require_locked({SYSTEM_STREAM})
    return Decision(None, (Update(login, replace(login, denied=True)),))


def redeemable(found: Found, presented: Presented) -> Login:
    """The program that shows this; it may still wait, or have its token.

    Refuses: invalid_grant; expired_token and access_denied to whoever waits.
    """
    login = found.of(LoginBy("code_hash", presented.code_hash))
    shown = presented.challenge, presented.redirect
    if login is None or (login.challenge, login.redirect) != shown:
        raise Refusal(NO_GRANT)
    if login.expires_at <= found.now:
        raise Refusal(_EXPIRED if login.user_code is not None else NO_GRANT)
    if login.denied:
        raise Refusal(_DENIED)
    return login


def redeem(found: Found, presented: Presented, fresh: tokens.Fresh) -> Decision[NewToken | None]:
    """The token that was approved. What was redeemed before has leaked: that token ends, and nobody
    has another. Refuses as `redeemable`; invalid_grant where the session has ended since, or the
    user is disabled; too many live tokens.
    """
    login = redeemable(found, presented)
    found.require_locked({SYSTEM_STREAM})  # so that it is redeemed once
    if login.issued_id is not None:
        leaked = found.of(TokensIssued("id", login.issued_id))
        return together(None, *(tokens.revoked(found, one.token) for one in leaked))
    by = approving(found, login)
    refuse_all(tokens.surplus(found, _owner(by.owner_id)))
    if not can_expire(login.ends_at, found.now):
        raise Refusal(NO_GRANT)
    where = "" if found.caller.address is None else f" from {found.caller.address}"
    token = Token(
        id=fresh.id,
        owner_kind="user",
        owner_id=by.owner_id,
        created_at=found.now,
        expires_at=login.ends_at,
        last_used_at=None,
        description=f"{LOGGED_IN}{login.host}{where}",
        created_by=by.owner_id,
        reach=by.reach,
        provider=by.provider,
        sid=by.sid,
    )
    made = tokens.created(found, token, fresh)
    redeemed = Update(login, replace(login, issued_id=token.id))
    return together(made.answer, made, Decision(None, (redeemed,)))


def revocable(found: Found) -> None:
    """Refuses a caller whose token does not end so: unauthenticated, what is not a user's."""
    actor = found.of(WhoCalls())
    if actor.kind != "user" or actor.token_id is None:
        raise Refusal(_NOT_SO)


def revoke(found: Found) -> Decision[None]:
    """The token of the caller ends. Refuses as `revocable`."""
    revocable(found)
    return tokens.revoked(found, tokens.used(found))


def approving(found: Found, login: Login) -> Token:
    """The token with which it was approved, if that is still good. Refuses: invalid_grant."""
    tokens_there = found.of(TokensIssued("id", login.token_id or ""))
    by = next((one.token for one in tokens_there), None)
    if by is None or not by.is_live(found.now):
        raise Refusal(NO_GRANT)
    user = found.of(UserWithId(by.owner_id))
    if user is None or user.disabled:
        raise Refusal(NO_GRANT)
    return by


def _user(found: Found) -> Actor:
    actor = found.of(WhoCalls())
    if actor.kind != "user":
        raise forbidden(_USERS_ALONE)
    return actor


def _owner(user_id: str) -> TokenOwner:
    return TokenOwner("user", user_id, SYSTEM_STREAM)


def _meant(found: Found, draft: LoginDraft, by: str | None = None) -> Login:
    if draft.user_code is None:
        return draft.login(found.now)
    login = found.of(LoginBy("user_code", plain_user_code(draft.user_code)))
    if login is None or not login.is_open(found.now, by):
        raise Refusal(invalid("user-code", _NO_CODE))
    return login


def _end(found: Found, lifetime: int | None) -> int:
    """When the token would end. Refuses what is later than that of one made in the console."""
    latest, why = tokens.own_end(found)
    if lifetime is None:
        return min(found.now + LIFETIME, LATEST if latest is None else latest)
    ends_at = found.now + lifetime
    if latest is not None and ends_at > latest:
        raise Refusal(invalid("expires-in", ends_by(why, latest)))
    if not can_expire(ends_at, found.now):
        raise Refusal(invalid("expires-in", "No calendar has that day."))
    return ends_at
