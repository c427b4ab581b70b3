"""Whom a provider means, and what becomes of that."""

from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.decisions import Decision, Delete, Insert, Locks, Needs
from teamvars.decisions.deliveries import Use
from teamvars.decisions.needs import (
    IdentityOf,
    OrganizationsCalled,
    OwnerStreams,
    StandingOf,
    TokensIssued,
    TokensOfSignIn,
    UserAt,
    UserMeant,
    UserWithId,
    WasUsed,
    WhoCalls,
)
from teamvars.decisions.sign_ins import (
    Arrival,
    Fresh,
    arriving,
    end_all,
    give_way,
    join,
    link,
    linkable,
    meant,
    sign_in,
    sign_out,
    unlink,
)
from teamvars.decisions.tokens import Fresh as FreshToken
from teamvars.domain.audit import NO_ORGANIZATION, SYSTEM_STREAM, Actor, Stream
from teamvars.domain.notices import Memo
from teamvars.domain.sign_ins import (
    IDLE,
    MAX_SESSIONS,
    SESSION,
    Identity,
    Person,
    Provider,
    Session,
    SignOut,
    Standing,
    device_of,
    is_entra,
)
from teamvars.domain.times import DAY
from teamvars.domain.tokens import HashedToken, IssuedToken, Token
from teamvars.domain.workspaces import Usage
from tests.decisions.directory import (
    ACME,
    ALICE,
    NOW,
    OPERATOR,
    USER,
    actions,
    found,
    refused,
    to_acme,
)

ISSUER = "https://login.example.com"
COMPANY = Provider("company", "Example", ISSUER, "us", ("acme",), ("example.com",), DAY)
PERSON = Person(ISSUER, "a-1", "alice@example.com", "s-1")
KNOWN = Identity("id-1", ISSUER, "a-1", "user-1", 1)
FRESH = Fresh(FreshToken("at-9", "secret", b"hash"), b"cookie", "signed in with Example")
SYSTEM = Stream(SYSTEM_STREAM, NO_ORGANIZATION, 1, b"", b"", Usage())
ARRIVAL = Arrival(ALICE, frozenset({"org-1"}), is_expected=True, sessions=0, stream=SYSTEM)
ARRIVED = {arriving(COMPANY, PERSON): ARRIVAL}
MEMBER = Standing(frozenset({"org-1"}), frozenset(), is_owner=False, is_known=False)
CALLING = {UserWithId("user-1"): ALICE, OrganizationsCalled(("acme",)): [ACME]}
NEW = {
    IdentityOf(ISSUER, "a-1"): None,
    UserAt("alice@example.com"): ALICE,
    OrganizationsCalled(("acme",)): [ACME],
    StandingOf("user-1"): MEMBER,
    OwnerStreams("user-1"): frozenset({"org-1", "team-0"}),
}
LOCKED = (SYSTEM_STREAM, "org-1", "team-0")


def test_a_session_is_a_token_that_reaches_the_organizations_of_its_provider() -> None:
    decision = sign_in(found(ARRIVED), COMPANY, PERSON, FRESH)
    token = Token(
        "at-9",
        "user",
        "user-1",
        NOW,
        NOW + IDLE,
        None,
        "signed in with Example",
        "user-1",
        frozenset({"org-1"}),
        "company",
        "s-1",
    )
    assert decision.answer == ALICE
    assert decision.writes == (
        Insert(HashedToken(token, b"hash")),
        Insert(Session("at-9", b"cookie", "company", NOW + SESSION, DAY)),
    )
    assert actions(decision) == [(SYSTEM_STREAM, "token.create")]


def test_nobody_becomes_an_owner_while_they_are_joined_by_an_address() -> None:
    for locked in ((), (SYSTEM_STREAM,), LOCKED[1:]):
        with pytest.raises(Needs):
            join(found(NEW, locked=locked), COMPANY, PERSON, "id-9")
    decision = join(found(NEW, locked=LOCKED), COMPANY, PERSON, "id-9")
    assert decision.answer == ALICE
    assert decision.writes[0] == Insert(Identity("id-9", ISSUER, "a-1", "user-1", NOW))
    assert actions(decision) == [(SYSTEM_STREAM, "user.link")]
    assert decision.taken is not None


def test_whoever_was_joined_meanwhile_is_not_joined_again() -> None:
    known = {IdentityOf(ISSUER, "a-1"): KNOWN, UserWithId("user-1"): ALICE}
    assert join(found(NEW, known), COMPANY, PERSON, "id-9") == Decision(ALICE)
    linked = {StandingOf("user-1"): replace(MEMBER, is_known=True)}
    assert meant(found(NEW, known, linked), COMPANY, PERSON) == ALICE
    # Whoever is seen to be linked may be so by this account, since a moment ago.
    unasked = {need: answer for need, answer in NEW.items() if need != IdentityOf(ISSUER, "a-1")}
    with pytest.raises(Needs) as needs:
        meant(found(unasked, linked), COMPANY, PERSON)
    assert needs.value.need == IdentityOf(ISSUER, "a-1")


def test_nobody_signs_in_as_one_with_whom_the_account_was_linked_meanwhile() -> None:
    other = {arriving(COMPANY, PERSON): replace(ARRIVAL, user=replace(ALICE, id="user-2"))}
    assert refused(sign_in, found(other), COMPANY, PERSON, FRESH) == ["forbidden"]


@pytest.mark.parametrize(
    "answers",
    [
        {UserAt("alice@example.com"): None},
        {UserAt("alice@example.com"): replace(ALICE, site_admin=True)},
        {StandingOf("user-1"): replace(MEMBER, is_owner=True)},
        {StandingOf("user-1"): replace(MEMBER, is_known=True)},
    ],
    ids=["nobody", "a site admin", "an owner", "somebody who is linked"],
)
def test_an_address_means_nobody_who_is_more_than_a_member(answers: Any) -> None:
    assert refused(meant, found(NEW, answers), COMPANY, PERSON) == ["forbidden"]
    assert meant(found(NEW), COMPANY, PERSON) == ALICE


@pytest.mark.parametrize(
    "email",
    [None, "alice@other.example", "alice", "alice@EXAMPLE.com.evil.test", "alice@ex\u0430mple.com"],
)
def test_an_address_of_elsewhere_means_nobody(email: str | None) -> None:
    assert refused(meant, found(NEW), COMPANY, replace(PERSON, email=email)) == ["forbidden"]


@pytest.mark.parametrize(
    ("issuer", "is_it"),
    [
        ("https://login.microsoftonline.com/72f988bf/v2.0", True),
        ("https://login.microsoftonline.us/72f988bf/v2.0", True),
        ("https://login.partner.microsoftonline.cn/72f988bf/v2.0", True),
        ("https://sts.windows.net/72f988bf/", True),
        ("https://login.microsoftonline.com.example/72f988bf/v2.0", False),
        ("https://login.example.com/", False),
    ],
)
def test_entra_is_known_in_all_its_clouds(issuer: str, is_it: bool) -> None:
    assert is_entra(issuer) is is_it


def test_letters_of_a_domain_are_of_any_case() -> None:
    shouted = replace(PERSON, email="alice@EXAMPLE.com")
    known = found(NEW, {UserAt("alice@EXAMPLE.com"): ALICE})
    assert meant(known, COMPANY, shouted) == ALICE


@pytest.mark.parametrize(
    "answers",
    [
        {UserAt("alice@example.com"): replace(ALICE, disabled=True)},
        {StandingOf("user-1"): replace(MEMBER, active=frozenset({"org-2"}))},
        {StandingOf("user-1"): replace(MEMBER, active=frozenset())},
        {StandingOf("user-1"): replace(MEMBER, active=frozenset(), invited=frozenset({"org-2"}))},
        {OrganizationsCalled(("acme",)): []},
    ],
    ids=["disabled", "elsewhere", "nowhere", "invited elsewhere", "no organization"],
)
def test_whoever_has_nothing_there_is_not_joined(answers: Any) -> None:
    asked = found(NEW, answers, locked=LOCKED)
    assert refused(join, asked, COMPANY, PERSON, "id-9") == ["forbidden"]


@pytest.mark.parametrize(
    "there",
    [
        replace(ARRIVAL, user=replace(ALICE, disabled=True)),
        replace(ARRIVAL, is_expected=False),
        None,
    ],
    ids=["disabled", "in none of the organizations", "linked no longer"],
)
def test_whoever_has_nothing_there_is_not_signed_in(there: Arrival | None) -> None:
    asked = found({arriving(COMPANY, PERSON): there})
    assert refused(sign_in, asked, COMPANY, PERSON, FRESH) == ["forbidden"]


def test_the_oldest_sessions_give_way_and_what_has_ended_counts_for_none() -> None:
    full = found({arriving(COMPANY, PERSON): replace(ARRIVAL, sessions=MAX_SESSIONS)})
    assert sign_in(full, COMPANY, PERSON, FRESH) == Decision(None)
    ended = issued("at-0", NOW)
    live = [issued(f"at-{n}", NOW + 1) for n in range(1, MAX_SESSIONS + 2)]
    for sessions, gone in (
        ([ended, *live[: MAX_SESSIONS - 1]], []),
        ([ended, *live[:MAX_SESSIONS]], ["at-1"]),
        (live, ["at-1", "at-2"]),
    ):
        decision = give_way(found({TokensIssued("session", "user-1"): sessions}), "user-1")
        deleted = [write.keys for write in decision.writes if isinstance(write, Delete)]
        assert deleted == [(id_,) for id_ in gone]
        assert actions(decision) == [(SYSTEM_STREAM, "token.revoke")] * len(gone)


@pytest.mark.parametrize(
    ("subject", "known", "user_id"),
    [("a-1", KNOWN, "user-1"), ("a-1", None, None), (None, None, None)],
)
def test_a_provider_signs_out_whom_it_means_once(
    subject: str | None, known: Identity | None, user_id: str | None
) -> None:
    session = Token("at-8", "user", "user-1", 1, NOW + 5, None, provider="company")
    said = SignOut(subject, "s-1", b"once", 99)
    answers = {
        WasUsed(b"once"): False,
        IdentityOf(ISSUER, "a-1"): known,
        TokensOfSignIn("company", "s-1", user_id): [session],
    }
    decision = sign_out(found(answers), COMPANY, said)
    assert decision.writes == (Use(b"once", 99), Delete(HashedToken, ("at-8",)))
    (note,) = decision.notes
    assert (note.stream_id, note.event.action) == (SYSTEM_STREAM, "token.revoke")
    assert note.event.details["provider"] == "company"
    again = found(answers, {WasUsed(b"once"): True})
    assert refused(sign_out, again, COMPANY, said) == ["invalid_request"]


def issued(id_: str, ends: int) -> IssuedToken:
    """A token of the user."""
    return IssuedToken(Token(id_, "user", "user-1", 1, ends, None), "alice")


def test_an_account_is_linked_with_one_user_and_that_once() -> None:
    answers = {UserMeant("alice"): ALICE, IdentityOf(ISSUER, "a-1"): None}
    decision = link(found(answers, actor=OPERATOR), "alice", ISSUER, "a-1", "id-9")
    made, told = decision.writes
    assert made == Insert(Identity("id-9", ISSUER, "a-1", "user-1", NOW))
    assert isinstance(told, Insert)
    assert isinstance(told.row, Memo)
    assert told.row.address == "alice@example.com"
    assert "a-1" in told.row.text
    unreached = found({**answers, UserMeant("alice"): replace(ALICE, email=None)}, actor=OPERATOR)
    assert link(unreached, "alice", ISSUER, "a-1", "id-9").writes == (made,)
    (note,) = decision.notes
    assert note.event.details == {"username": "alice", "issuer": ISSUER, "subject": "a-1"}
    again = found(answers, {IdentityOf(ISSUER, "a-1"): KNOWN}, actor=OPERATOR)
    assert link(again, "alice", ISSUER, "a-1", "id-9").writes == ()
    others = found(answers, {IdentityOf(ISSUER, "a-1"): replace(KNOWN, user_id="user-2")})
    assert refused(link, others, "alice", ISSUER, "a-1", "id-9") == ["name_taken"]


@pytest.mark.parametrize("subject", ["", "\0", "\u0430", "a\n", "a" * 256])
def test_nobody_is_linked_by_what_no_provider_calls_them(subject: str) -> None:
    for known in (None, KNOWN):
        answers = {UserMeant("alice"): ALICE, IdentityOf(ISSUER, subject): known}
        assert refused(link, found(answers, actor=OPERATOR), "alice", ISSUER, subject, "id-9") == [
            "invalid_value"
        ]


def test_whose_link_is_taken_back_is_signed_out() -> None:
    answers = {
        UserMeant("alice"): ALICE,
        IdentityOf(ISSUER, "a-1"): KNOWN,
        TokensIssued("sign-in", "user-1"): [issued("at-8", NOW + 5), issued("at-9", NOW + 5)],
    }
    decision = unlink(found(answers, actor=OPERATOR), "alice", ISSUER, "a-1")
    ended = (Delete(HashedToken, (id_,)) for id_ in ("at-8", "at-9"))
    assert decision.writes == (Delete(Identity, ("id-1",)), *ended)
    assert actions(decision) == [
        (SYSTEM_STREAM, "user.unlink"),
        (SYSTEM_STREAM, "token.revoke"),
        (SYSTEM_STREAM, "token.revoke"),
    ]
    for there in (None, replace(KNOWN, user_id="user-2")):
        others = found(answers, {IdentityOf(ISSUER, "a-1"): there})
        assert refused(unlink, others, "alice", ISSUER, "a-1") == ["not_found"]


@pytest.mark.parametrize(
    ("agent", "device"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/141.0", "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/138.0 Safari/537.36 Edg/138.0", "Edge on Windows"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Safari/605.1.15", "Safari on macOS"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) Safari/604.1", "Safari on iOS"),
        ("Mozilla/5.0 (Linux; Android 16) Chrome/138.0 Safari/537.36", "Chrome on Android"),
        ("<script>alert(1)</script>", "a browser"),
        ("", "a browser"),
    ],
)
def test_a_device_is_told_in_words_of_ours(agent: str, device: str) -> None:
    assert device_of(agent) == device


def test_somebody_ends_their_own_sessions_as_far_as_they_see_them() -> None:
    tokens = [
        Token(f"at-{reach}", "user", "user-1", 1, NOW + 9, None, reach=frozenset({reach}))
        for reach in ("org-1", "org-2")
    ]
    there = {
        WhoCalls(): USER,
        TokensIssued("session", "user-1"): [IssuedToken(one, "alice") for one in tokens],
    }
    with pytest.raises(Needs) as needs:
        end_all(found(there), "user-1")
    assert needs.value.need == Locks(frozenset({SYSTEM_STREAM}))
    for reach, ended in ((None, ["at-org-1", "at-org-2"]), (frozenset({"org-1"}), ["at-org-1"])):
        known = found(there, locked=(SYSTEM_STREAM,))
        known.caller.reach = reach
        gone = tuple(Delete(HashedToken, (id_,)) for id_ in ended)
        assert end_all(known, "user-1").writes == gone
    assert refused(end_all, found(there, locked=(SYSTEM_STREAM,)), "user-2") == ["not_found"]


@pytest.mark.parametrize(
    ("actor", "reach", "may"),
    [
        (USER, None, True),
        (USER, {"org-1"}, True),
        (USER, {"org-1", "org-2"}, True),
        (USER, {"org-2"}, False),
        (Actor("team", "team-1", "at-1"), None, False),
    ],
)
def test_only_users_are_linked_and_where_their_token_reaches_as_far_as_the_provider(
    actor: Actor, reach: set[str] | None, may: bool
) -> None:
    known = found(CALLING, {WhoCalls(): actor})
    known.caller.reach = None if reach is None else frozenset(reach)
    if may:
        assert linkable(known, COMPANY) == ALICE
    else:
        assert refused(linkable, known, COMPANY) == ["forbidden"]


@pytest.mark.parametrize(
    ("standing", "has_rights", "reach", "may"),
    [
        (MEMBER, False, None, False),
        (MEMBER, True, None, True),
        (MEMBER, False, {"org-1"}, True),
        (replace(MEMBER, active=frozenset(), invited=frozenset({"org-1"})), False, None, False),
        (replace(MEMBER, active=frozenset({"org-2"})), False, None, True),
    ],
    ids=["a pasted token", "made by the host", "a session's", "invited", "somebody elsewhere"],
)
def test_where_members_have_to_sign_in_no_token_links_that_has_no_rights_there(
    standing: Standing, has_rights: bool, reach: set[str] | None, may: bool
) -> None:
    closed = replace(ACME, sso_required=True)
    answers = {
        WhoCalls(): USER,
        OrganizationsCalled(("acme",)): [closed],
        StandingOf("user-1"): standing,
    }
    known = found(CALLING, to_acme(owner=False, member=has_rights), answers)
    known.caller.reach = None if reach is None else frozenset(reach)
    if may:
        assert linkable(known, COMPANY) == ALICE
    else:
        assert refused(linkable, known, COMPANY) == ["forbidden"]
