"""Who may approve a program, what it is given then, and when nobody else has a say."""

from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.decisions import Delete, Insert, Needs, Update, tokens
from teamvars.decisions.logins import (
    approve,
    approving,
    deny,
    redeem,
    redeemable,
    revoke,
    show,
)
from teamvars.decisions.needs import (
    LiveTokensOf,
    LoginBy,
    SessionOf,
    TokensIssued,
    UserWithId,
    WhoCalls,
)
from teamvars.domain.audit import SYSTEM_STREAM, Actor
from teamvars.domain.errors import invalid
from teamvars.domain.logins import (
    CODE,
    LIFETIME,
    Login,
    LoginDraft,
    Presented,
    is_loopback,
    plain_user_code,
)
from teamvars.domain.sign_ins import Session
from teamvars.domain.times import DAY, LATEST
from teamvars.domain.tokens import (
    MAX_LIVE_TOKENS,
    HashedToken,
    Token,
    TokenOwner,
)
from tests.decisions.directory import ALICE, NOW, USER, actions, found, refused, there_is

CHALLENGE = "c" * 43
REDIRECT = "http://127.0.0.1:1/callback"
ASKED = LoginDraft(host="laptop", redirect_uri=REDIRECT, code_challenge=CHALLENGE, state="s" * 43)
TYPED = LoginDraft(user_code="bcdfg hjklm")
WAITS = Login("lgn-1", b"device", "build-7", None, 1, NOW + 9, user_code="BCDFGHJKLM")
BESIDE = ASKED.login(NOW)
OWN = Token(
    "at-1",
    "user",
    "user-1",
    1,
    NOW + DAY,
    None,
    reach=frozenset({"org-1"}),
    provider="one",
    sid="s-1",
)
FRESH = tokens.Fresh("at-9", "secret", b"hash")
OF_ALICE = TokenOwner("user", "user-1", SYSTEM_STREAM)
SIGNED_IN: Any = {
    WhoCalls(): USER,
    LiveTokensOf(OF_ALICE): 0,
    SessionOf("at-1"): None,
    **there_is(OWN),
    LoginBy("user_code", "BCDFGHJKLM"): WAITS,
    LoginBy("id", BESIDE.id): None,
}
APPROVED = replace(BESIDE, code_hash=b"code", token_id="at-1", ends_at=NOW + 5)
SHOWN = Presented(b"code", CHALLENGE, REDIRECT)
REDEEMING: Any = {
    LoginBy("code_hash", b"code"): APPROVED,
    **there_is(OWN),
    UserWithId("user-1"): ALICE,
    LiveTokensOf(OF_ALICE): 0,
}
LOCKED = (SYSTEM_STREAM,)


def test_what_is_approved_ends_no_later_than_the_token_that_approves() -> None:
    assert show(found(SIGNED_IN), ASKED).ends_at == NOW + DAY
    assert show(found(SIGNED_IN), replace(ASKED, expires_in=60)).ends_at == NOW + 60_000_000
    unending = there_is(replace(OWN, expires_at=None))
    assert show(found(SIGNED_IN, unending), ASKED).ends_at == NOW + LIFETIME
    all_of_it = replace(ASKED, expires_in=86_400)
    assert show(found(SIGNED_IN), all_of_it).ends_at == NOW + DAY
    long = replace(ASKED, expires_in=2 * 86_400)
    assert refused(show, found(SIGNED_IN), long) == ["invalid_value"]
    assert show(found(SIGNED_IN, unending), long).ends_at == NOW + 2 * DAY
    forever = replace(ASKED, expires_in=LATEST // 1_000_000)
    assert refused(show, found(SIGNED_IN, unending), forever) == ["invalid_value"]
    of_session = {SessionOf("at-1"): Session("at-1", b"", "one", NOW + 9, 3 * DAY)}
    assert show(found(SIGNED_IN, of_session), long).ends_at == NOW + 2 * DAY
    assert show(found(SIGNED_IN, of_session), ASKED).ends_at == NOW + 3 * DAY


def test_a_program_beside_a_browser_is_approved_by_a_row() -> None:
    decision = approve(found(SIGNED_IN, locked=LOCKED), ASKED, b"code")
    made = replace(BESIDE, code_hash=b"code", token_id="at-1", ends_at=NOW + DAY)
    assert decision.writes == (Insert(made),)
    assert made.expires_at == NOW + CODE
    assert decision.notes == ()
    again = {LoginBy("id", BESIDE.id): made}
    repeated = approve(found(SIGNED_IN, again, locked=LOCKED), ASKED, b"other")
    assert repeated.writes == (Update(made, replace(made, code_hash=b"other")),)
    for taken in (replace(made, token_id="at-2"), replace(made, issued_id="at-9")):
        others = found(SIGNED_IN, {LoginBy("id", BESIDE.id): taken}, locked=LOCKED)
        assert refused(approve, others, ASKED, b"code") == ["invalid_value"]


def test_a_program_that_waits_is_approved_or_refused_once() -> None:
    decision = approve(found(SIGNED_IN, locked=LOCKED), TYPED, b"unused")
    approved = replace(WAITS, token_id="at-1", ends_at=NOW + DAY)
    assert decision.writes == (Update(WAITS, approved),)
    denied = replace(WAITS, denied=True)
    assert deny(found(SIGNED_IN, locked=LOCKED), TYPED).writes == (Update(WAITS, denied),)
    over_for_others = replace(approved, token_id="at-2")
    for over in (None, over_for_others, denied, replace(approved, expires_at=NOW)):
        there = {LoginBy("user_code", "BCDFGHJKLM"): over}
        for decide, more in ((show, ()), (approve, (b"",)), (deny, ())):
            other = found(SIGNED_IN, there, locked=LOCKED)
            assert refused(decide, other, TYPED, *more) == ["invalid_value"]
    assert refused(deny, found(SIGNED_IN), LoginDraft()) == ["missing_member"]


def test_whoever_has_approved_a_program_that_waits_may_do_so_again_and_nothing_changes() -> None:
    """The answer may have been lost; the program may have its token since."""
    approved = replace(WAITS, token_id="at-1", ends_at=NOW + 5)
    for one in (approved, replace(approved, issued_id="at-9")):
        there = found(SIGNED_IN, {LoginBy("user_code", "BCDFGHJKLM"): one}, locked=LOCKED)
        decision = approve(there, TYPED, b"unused")
        assert (decision.answer.ends_at, decision.writes) == (NOW + 5, ())
        assert refused(deny, there, TYPED) == ["invalid_value"]


def test_what_is_wrong_with_a_document_is_told_before_a_program_is_refused() -> None:
    known, wrong = found(SIGNED_IN, locked=LOCKED), invalid("no-such", "No.")
    at_code = invalid("user-code", "No.")
    assert refused(deny, known, replace(TYPED, faults=(wrong,))) == ["invalid_value"]
    both = ["invalid_value", "missing_member"]
    assert refused(deny, known, LoginDraft(faults=(wrong,))) == both
    assert refused(deny, known, LoginDraft(faults=(at_code,))) == ["invalid_value"]


def test_what_two_may_decide_at_once_is_decided_under_a_lock() -> None:
    for draft in (ASKED, TYPED):
        with pytest.raises(Needs):
            approve(found(SIGNED_IN), draft, b"code")
    with pytest.raises(Needs):
        deny(found(SIGNED_IN), TYPED)
    with pytest.raises(Needs):
        redeem(found(REDEEMING), SHOWN, FRESH)


@pytest.mark.parametrize("kind", ["team", "organization"])
def test_only_users_have_a_say(kind: str) -> None:
    others = found(SIGNED_IN, {WhoCalls(): Actor(kind, "x-1", "at-1")}, locked=LOCKED)
    assert refused(show, others, ASKED) == ["forbidden"]
    assert refused(approve, others, ASKED, b"code") == ["forbidden"]
    assert refused(deny, others, TYPED) == ["forbidden"]
    assert refused(revoke, others) == ["unsupported_token_type"]


def test_whoever_has_too_many_tokens_approves_none_and_is_given_none() -> None:
    full = {LiveTokensOf(OF_ALICE): MAX_LIVE_TOKENS}
    assert refused(show, found(SIGNED_IN, full), ASKED) == ["too_many_items"]
    assert refused(redeem, found(REDEEMING, full, locked=LOCKED), SHOWN, FRESH) == [
        "too_many_items"
    ]


def test_the_token_is_that_of_whoever_approved_and_reaches_as_far() -> None:
    decision = redeem(found(REDEEMING, locked=LOCKED), SHOWN, FRESH)
    token = Token(
        "at-9",
        "user",
        "user-1",
        NOW,
        NOW + 5,
        None,
        "teamvars login on laptop",
        "user-1",
        frozenset({"org-1"}),
        "one",
        "s-1",
    )
    assert decision.writes == (
        Insert(HashedToken(token, b"hash")),
        Update(APPROVED, replace(APPROVED, issued_id="at-9")),
    )
    unending = there_is(replace(OWN, expires_at=None))
    there = found(REDEEMING, unending, locked=LOCKED)
    there.caller.address = "192.0.2.1"
    made = redeem(there, SHOWN, FRESH).answer
    assert made is not None
    assert made.token == replace(token, description="teamvars login on laptop from 192.0.2.1")
    assert actions(decision) == [(SYSTEM_STREAM, "token.create")]


@pytest.mark.parametrize(
    ("login", "word"),
    [
        (None, "invalid_grant"),
        (replace(APPROVED, challenge="d" * 43), "invalid_grant"),
        (replace(APPROVED, redirect="http://127.0.0.1:2/callback"), "invalid_grant"),
        (replace(APPROVED, expires_at=NOW), "invalid_grant"),
        (replace(APPROVED, expires_at=NOW, user_code="BCDFGHJKLM"), "expired_token"),
        (replace(APPROVED, denied=True), "access_denied"),
    ],
)
def test_what_proves_nothing_is_no_grant(login: Login | None, word: str) -> None:
    there = found(REDEEMING, {LoginBy("code_hash", b"code"): login}, locked=LOCKED)
    assert refused(redeemable, there, SHOWN) == [word]
    assert refused(redeem, there, SHOWN, FRESH) == [word]


@pytest.mark.parametrize(
    "answers",
    [
        {TokensIssued("id", "at-1"): []},
        there_is(replace(OWN, expires_at=NOW)),
        {UserWithId("user-1"): None},
        {UserWithId("user-1"): replace(ALICE, disabled=True)},
    ],
    ids=["revoked", "expired", "nobody", "disabled"],
)
def test_a_token_that_is_no_longer_good_has_approved_nothing(answers: Any) -> None:
    there = found(REDEEMING, answers, locked=LOCKED)
    assert refused(approving, there, APPROVED) == ["invalid_grant"]
    assert refused(redeem, there, SHOWN, FRESH) == ["invalid_grant"]


def test_a_token_that_would_have_ended_is_not_made() -> None:
    over = {LoginBy("code_hash", b"code"): replace(APPROVED, ends_at=NOW)}
    assert refused(redeem, found(REDEEMING, over, locked=LOCKED), SHOWN, FRESH) == ["invalid_grant"]


def test_what_is_redeemed_again_ends_what_it_gave() -> None:
    given = replace(OWN, id="at-9")
    again = {
        LoginBy("code_hash", b"code"): replace(APPROVED, issued_id="at-9"),
        **there_is(given),
    }
    decision = redeem(found(REDEEMING, again, locked=LOCKED), SHOWN, FRESH)
    assert decision.answer is None
    assert decision.writes == (Delete(HashedToken, ("at-9",)),)
    assert actions(decision) == [(SYSTEM_STREAM, "token.revoke")]


def test_whoever_has_a_token_of_a_user_may_end_it() -> None:
    nameless = Actor("user", "user-1")  # as one who accepts by a link
    assert refused(revoke, found({WhoCalls(): nameless})) == ["unsupported_token_type"]
    decision = revoke(found(SIGNED_IN))
    assert decision.writes == (Delete(HashedToken, ("at-1",)),)
    assert actions(decision) == [(SYSTEM_STREAM, "token.revoke")]
    ended = found(SIGNED_IN, {TokensIssued("id", "at-1"): []})
    assert refused(revoke, ended) == ["unauthenticated"]


@pytest.mark.parametrize(
    ("place", "is_it"),
    [
        ("http://127.0.0.1:65535/callback", True),
        ("http://[::1]:1/callback", True),
        ("http://127.0.0.1:65536/callback", False),
        ("http://127.0.0.1:0/callback", False),
        ("http://127.0.0.2:1/callback", False),
        ("http://localhost:1/callback", False),
        ("http://127.0.0.1:1/callback#x", False),
        (None, False),
    ],
)
def test_a_browser_is_sent_to_this_machine_alone(place: str | None, is_it: bool) -> None:
    assert is_loopback(place) is is_it


def test_a_code_is_the_same_however_it_is_typed() -> None:
    assert plain_user_code(" bcdfg-hjklm ") == plain_user_code("BCDFG HJKLM") == "BCDFGHJKLM"
