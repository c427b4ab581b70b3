"""What becomes of requests about tokens, and of what an operator does to users."""

from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.decisions import Delete, Found, Insert, Locks, Needs, Update
from teamvars.decisions.needs import (
    LiveTokensOf,
    MembersOf,
    OrganizationCalled,
    OrganizationWithId,
    OwnedAlone,
    OwnerStreams,
    SessionOf,
    TeamCalled,
    TeamTokensPage,
    TokenLimitsOf,
    TokensIssued,
    TokensOf,
    TokenWithId,
    Unclaimed,
    UserMeant,
    UserWithId,
    WhereToSignIn,
)
from teamvars.decisions.owners import TellOwners
from teamvars.decisions.tokens import Fresh, create, end, end_all, make, newest, of_teams, revoke
from teamvars.decisions.users import (
    Disabling,
    changed,
    disable,
    enable,
    remove_unclaimed,
    rename,
)
from teamvars.domain.audit import SYSTEM_STREAM, Actor
from teamvars.domain.organizations import Organization
from teamvars.domain.pages import Page, Paged
from teamvars.domain.times import DAY, in_24_months
from teamvars.domain.tokens import (
    DESCRIPTION_TAKEN,
    LIMITS_ENABLED,
    MAX_LIVE_TOKENS,
    WAY_BACK,
    DescribedOfTeam,
    HashedToken,
    IssuedToken,
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
    limit_of,
)
from teamvars.domain.users import User
from tests.decisions.directory import (
    ACME,
    ALICE,
    CREW,
    MEMBER,
    NOW,
    OPERATOR,
    actions,
    found,
    refused,
    there_is,
    to_acme,
    to_team,
)

FRESH = Fresh("at-9", "secret", b"hash")
OWN = TokenOwner("user", "user-1", SYSTEM_STREAM)
OF_TEAM = TokenOwner("team", "team-1", "team-1")
CURRENT = Token("at-1", "user", "user-1", 1, NOW + 5, None)
OLD = Token("at-2", "team", "team-1", 1, None, None)
MINE: dict[Any, Any] = {
    **there_is(CURRENT),
    SessionOf("at-1"): None,
    LiveTokensOf(OWN): 1,
    UserWithId("user-1"): ALICE,
    WhereToSignIn("user-1"): [],
}


def test_a_users_token_ends_no_later_than_the_one_it_is_made_with() -> None:
    decision = make(found(MINE), OfUser("user-1"), TokenDraft(), FRESH)
    assert decision.answer.token.expires_at == NOW + 5
    assert actions(decision) == [(SYSTEM_STREAM, "token.create")]
    assert decision.writes == (Insert(HashedToken(decision.answer.token, b"hash")),)
    assert "secret" not in repr(decision)


def test_what_a_user_makes_is_of_the_sign_in_that_they_make_it_with() -> None:
    used = there_is(replace(CURRENT, provider="company", sid="s-1"))
    own = make(found(MINE, used), OfUser("user-1"), TokenDraft(), FRESH).answer.token
    assert (own.provider, own.sid) == ("company", "s-1")
    full = {LiveTokensOf(OF_TEAM): 0, TokensOf(OF_TEAM): ()}
    known = limited(to_team(), used, full)
    crews = make(known, OfTeam("team-1"), TokenDraft(), FRESH).answer.token
    assert (crews.provider, crews.sid) == (None, None)


def test_nothing_is_made_with_a_token_that_has_ended_meanwhile() -> None:
    ended = found(MINE, {TokensIssued("id", "at-1"): []})
    assert refused(make, ended, OfUser("user-1"), TokenDraft(), FRESH) == ["unauthenticated"]
    # A session goes with its token: that there is none says nothing before that is there.
    unasked = {need: answer for need, answer in MINE.items() if need != SessionOf("at-1")}
    with pytest.raises(Needs) as needs:
        make(found(unasked), OfUser("user-1"), TokenDraft(), FRESH)
    assert needs.value.need == SessionOf("at-1")


def limited(
    *answers: Any, by: Organization = ACME, limits: tuple[TokenLimit, ...] = (), **more: Any
) -> Found:
    """As `found`, with the organization's limits, and its streams locked."""
    asked = {OrganizationWithId("org-1"): by, TokenLimitsOf("org-1"): limits}
    return found(*answers, asked, locked=("org-1", "team-1"), **more)


LIMITS = replace(ACME, settings={LIMITS_ENABLED: True})
HOUR = limit_of("org-1", "team", 3_600_000, NOW)


def test_a_limit_counts_where_the_organization_says_so_and_else_the_default_does() -> None:
    answers = to_team(), {TokensOf(OF_TEAM): (OLD,)}
    for by, limits, ends in (
        (ACME, (HOUR,), in_24_months(NOW)),
        (LIMITS, (HOUR,), NOW + 3_600_000_000),
        (LIMITS, (replace(HOUR, kind="organization"),), in_24_months(NOW)),
        (LIMITS, (), in_24_months(NOW)),
    ):
        made = make(limited(*answers, by=by, limits=limits), OfTeam("team-1"), TokenDraft(), FRESH)
        assert made.answer.token.expires_at == ends
    later = TokenDraft(expired_at="2999-01-01T00:00:00Z")
    for limits in ((HOUR,), ()):
        known = limited(*answers, by=LIMITS, limits=limits)
        assert refused(make, known, OfTeam("team-1"), later, FRESH) == ["invalid_value"]


ROBOTS = Actor("team", "team-2", "at-7"), Actor("organization", "org-1", "at-7")


@pytest.mark.parametrize("robot", ROBOTS)
def test_what_is_made_with_a_token_of_a_team_or_organization_ends_no_later(robot: Actor) -> None:
    own = Token("at-7", robot.kind, robot.id, 1, NOW + 3_600_000_005, None)
    answers = {**to_team(), TokensOf(OF_TEAM): (OLD,), **there_is(own)}
    for by, ends in ((ACME, NOW + 3_600_000_005), (LIMITS, NOW + 3_600_000_000)):
        known = limited(answers, by=by, limits=(HOUR,), actor=robot)
        made = make(known, OfTeam("team-1"), TokenDraft(), FRESH)
        assert made.answer.token.expires_at == ends
        later = TokenDraft(expired_at="2999-01-01T00:00:00Z")
        assert refused(make, known, OfTeam("team-1"), later, FRESH) == ["invalid_value"]
    soon = {**answers, **there_is(replace(own, expires_at=NOW + 5))}
    made = make(
        limited(soon, by=LIMITS, limits=(HOUR,), actor=robot), OfTeam("team-1"), TokenDraft(), FRESH
    )
    assert made.answer.token.expires_at == NOW + 5
    endless = limited(answers, there_is(replace(own, expires_at=None)), actor=robot)
    made = make(endless, OfTeam("team-1"), TokenDraft(), FRESH)
    assert made.answer.token.expires_at == in_24_months(NOW)


def test_only_a_users_own_token_reaches_no_further_than_the_one_it_is_made_with() -> None:
    for reach in (None, frozenset({"org-1"})):
        of_team = limited(to_team(), {TokensOf(OF_TEAM): ()})
        of_user = found(MINE)
        for known, whose, its in (
            (of_team, OfTeam("team-1"), None),
            (of_user, OfUser("user-1"), reach),
        ):
            known.caller.reach = reach
            assert make(known, whose, TokenDraft(), FRESH).answer.token.reach == its


def test_a_new_token_of_an_organization_takes_the_place_of_any_and_a_teams_of_the_plain_one() -> (
    None
):
    described = replace(OLD, id="at-3", description="ci")
    to_crew = {**to_team(), TokensOf(OF_TEAM): (OLD, described)}
    made = make(limited(to_crew), OfTeam("team-1"), TokenDraft(), FRESH)
    assert [one.keys for one in made.writes if isinstance(one, Delete)] == [("at-2",)]
    of_acme = TokenOwner("organization", "org-1", "org-1")
    both = {
        TokensOf(of_acme): (replace(OLD, owner_kind="organization", owner_id="org-1"), described)
    }
    made = make(limited(to_acme(), both), OfOrganization("acme"), TokenDraft(), FRESH)
    assert [one.keys for one in made.writes if isinstance(one, Delete)] == [("at-2",), ("at-3",)]


def test_an_operator_makes_no_token_that_outlives_the_limit() -> None:
    named = OwnerName(organization="acme", team="crew")
    answers = {
        TeamCalled("acme", "crew"): CREW,
        OrganizationCalled("acme"): LIMITS,
        LiveTokensOf(OF_TEAM): 0,
    }
    known = limited(answers, by=LIMITS, limits=(HOUR,), actor=OPERATOR)
    assert create(known, named, 3_600_000_000, FRESH).answer.token.expires_at
    for lifetime in (3_600_000_001, None):
        assert refused(create, known, named, lifetime, FRESH) == ["invalid_value"]
        made = create(known, named, lifetime, FRESH, is_said=False).answer.token
        assert made.expires_at == made.created_at + 3_600_000_000
    unsaid = limited(answers, by=LIMITS, actor=OPERATOR)
    assert create(unsaid, named, 731 * DAY, FRESH).answer.token.expires_at
    assert refused(create, unsaid, named, 731 * DAY + 1, FRESH) == ["invalid_value"]


def test_a_limit_is_looked_at_with_the_organizations_stream_locked() -> None:
    with pytest.raises(Needs) as needs:
        make(found(to_team()), OfTeam("team-1"), TokenDraft(), FRESH)
    assert needs.value.need == Locks(frozenset({"org-1", "team-1"}))


def test_a_teams_new_token_takes_the_place_of_all_there_were() -> None:
    known = limited(to_team(), {TokensOf(OF_TEAM): (OLD,)})
    decision = make(known, OfTeam("team-1"), TokenDraft(), FRESH)
    assert actions(decision) == [("team-1", "token.revoke"), ("team-1", "token.create")]
    assert decision.answer.token.expires_at == in_24_months(NOW)


def test_tokens_of_a_team_with_a_description_stay_and_are_made_beside_it() -> None:
    described = replace(OLD, id="at-3", description="ci")
    known = limited(to_team(), {TokensOf(OF_TEAM): (OLD, described), LiveTokensOf(OF_TEAM): 2})
    single = make(known, OfTeam("team-1"), TokenDraft(), FRESH)
    assert single.writes[0] == Delete(HashedToken, ("at-2",))
    assert [action for _, action in actions(single)] == ["token.revoke", "token.create"]
    assert newest(known, OfTeam("team-1")) == OLD
    assert end_all(known, OfTeam("team-1")).writes == (Delete(HashedToken, ("at-2",)),)

    beside = make(known, DescribedOfTeam("team-1"), TokenDraft(description="night"), FRESH)
    assert beside.writes == (Insert(HashedToken(beside.answer.token, b"hash")),)
    assert beside.taken is DESCRIPTION_TAKEN
    full = limited(to_team(), {LiveTokensOf(OF_TEAM): MAX_LIVE_TOKENS})
    codes = ["missing_member", "too_many_items"]
    assert refused(make, full, DescribedOfTeam("team-1"), TokenDraft(), FRESH) == codes


def test_owners_alone_list_the_tokens_of_all_teams() -> None:
    wanted, page = TeamTokenSearch(), Page()
    there = {TeamTokensPage("org-1", wanted, page): Paged([OLD], 1)}
    assert of_teams(found(to_acme(), there), "acme", wanted, page).items == [OLD]
    assert refused(of_teams, found(to_acme(owner=False), there), "acme", wanted, page) == [
        "forbidden"
    ]


def test_there_are_only_so_many_live_tokens() -> None:
    full = MINE | {LiveTokensOf(OWN): MAX_LIVE_TOKENS}
    assert refused(make, found(full), OfUser("user-1"), TokenDraft(), FRESH) == ["too_many_items"]
    draft = TokenDraft(expired_at="no time")
    codes = ["invalid_value", "too_many_items"]
    assert refused(make, found(full), OfUser("user-1"), draft, FRESH) == codes


@pytest.mark.parametrize(
    ("whose", "answers", "code"),
    [
        (OfUser("user-2"), {}, "not_found"),
        (OfTeam("team-1"), to_team(owner=False), "forbidden"),
        (DescribedOfTeam("team-1"), to_team(owner=False), "forbidden"),
        (OfTeam("team-1"), to_team(owner=False, inside=False), "not_found"),
        (OfOrganization("acme"), to_acme(owner=False), "forbidden"),
    ],
)
def test_who_manages_no_tokens_makes_and_ends_none(whose: Whose, answers: Any, code: str) -> None:
    assert refused(make, found(answers), whose, TokenDraft(), FRESH) == [code]
    assert refused(end_all, found(answers), whose) == [code]
    assert refused(newest, found(answers), whose) == [code]


@pytest.mark.parametrize("there", [(OLD, replace(OLD, id="at-3")), ()])
def test_the_newest_of_a_teams_tokens_is_its_token_and_all_end_at_once(
    there: tuple[Token, ...],
) -> None:
    known = found(to_team(), {TokensOf(OF_TEAM): there})
    if not there:
        assert refused(newest, known, OfTeam("team-1")) == ["not_found"]
        assert refused(end_all, known, OfTeam("team-1")) == ["not_found"]
        return
    assert newest(known, OfTeam("team-1")).id == "at-3"
    assert actions(end_all(known, OfTeam("team-1"))) == [("team-1", "token.revoke")] * 2


OF_ACME = replace(OLD, owner_kind="organization", owner_id="org-1")
OTHERS = [
    (replace(OLD, id="at-3", owner_kind="user", owner_id="user-2"), {}),
    (OLD, to_team(owner=False)),
    (OF_ACME, to_acme(owner=False)),
]


@pytest.mark.parametrize(("token", "answers"), OTHERS)
def test_tokens_of_others_are_not_there(token: Token, answers: Any) -> None:
    known = found({TokenWithId("at-3"): token}, answers)
    assert refused(end, known, "at-3") == ["not_found"]


@pytest.mark.parametrize(("token", "answers"), [(OLD, to_team()), (OF_ACME, to_acme())])
def test_whoever_manages_a_token_ends_it(token: Token, answers: Any) -> None:
    decision = end(found({TokenWithId("at-2"): token}, answers), "at-2")
    assert actions(decision) == [(token.owner_id, "token.revoke")]


def test_the_token_in_use_can_be_ended() -> None:
    decision = end(found(MINE, {TokenWithId("at-1"): CURRENT}), "at-1")
    assert decision.writes == (Delete(HashedToken, ("at-1",)),)
    assert decision.notes[0].event.only_takes_away


@pytest.mark.parametrize(
    ("user", "lifetime", "codes"),
    [
        (replace(ALICE, disabled=True), None, ["invalid_value"]),
        (ALICE, 0, ["invalid_value"]),
    ],
)
def test_an_operator_makes_no_token_that_nobody_could_use(
    user: Any, lifetime: int | None, codes: list[str]
) -> None:
    known = found({UserMeant("alice"): user}, MINE, actor=OPERATOR)
    assert refused(create, known, OwnerName(user="alice"), lifetime, FRESH) == codes


@pytest.mark.parametrize(
    ("named", "stream"),
    [
        (OwnerName(user="alice"), SYSTEM_STREAM),
        (OwnerName(organization="acme", team="crew"), "team-1"),
        (OwnerName(organization="acme"), "org-1"),
    ],
)
def test_an_operator_makes_a_token_of_whomever_they_name_for_as_long_as_they_say(
    named: OwnerName, stream: str
) -> None:
    answers = {
        UserMeant("alice"): ALICE,
        TeamCalled("acme", "crew"): CREW,
        OrganizationCalled("acme"): ACME,
        LiveTokensOf(OF_TEAM): 0,
        LiveTokensOf(TokenOwner("organization", "org-1", "org-1")): 0,
    }
    known = limited(MINE, answers, actor=OPERATOR)
    for lifetime, end_ in ((5, NOW + 5), (None, None)):
        decision = create(known, named, lifetime, FRESH)
        assert actions(decision) == [(stream, "token.create")]
        assert decision.answer.token.expires_at == end_
        assert len(decision.writes) == 1
    full = limited(MINE, {key: MAX_LIVE_TOKENS for key in answers if isinstance(key, LiveTokensOf)})
    if named.user is None:
        full.answers = known.answers | full.answers
        assert refused(create, full, named, None, FRESH) == ["too_many_items"]


@pytest.mark.parametrize(
    ("lifetime", "places", "told"),
    [
        (WAY_BACK, [ACME], ["org-1"]),
        (WAY_BACK + 1, [ACME], []),
        (None, [ACME], []),
        (WAY_BACK, [], []),
    ],
)
def test_where_members_have_to_sign_in_all_owners_are_told_of_a_token_that_is_good_all_the_same(
    lifetime: int | None, places: list[Organization], told: list[str]
) -> None:
    answers = {UserMeant("alice"): ALICE, WhereToSignIn("user-1"): places}
    known = found(MINE, answers, actor=OPERATOR)
    decision = create(known, OwnerName(user="alice"), lifetime, FRESH)
    letters = [one for one in decision.writes if isinstance(one, TellOwners)]
    assert [one.organization_id for one in letters] == told
    assert all("alice" in one.subject and "acme" in one.subject for one in letters)
    assert "secret" not in repr(letters)
    expected = [(SYSTEM_STREAM, "token.create"), ("org-1", "token.let-in")]
    assert actions(decision) == expected[: 1 + len(told)]


def test_a_placeholder_with_a_token_is_known() -> None:
    new = replace(ALICE, placeholder=True)
    known = found(MINE, {UserMeant("alice"): new, UserWithId("user-1"): new}, actor=OPERATOR)
    decision = create(known, OwnerName(user="alice"), None, FRESH)
    assert decision.writes[1:] == (Update(new, replace(new, placeholder=False)),)


def test_all_that_an_operator_means_is_revoked_in_the_streams_of_its_owners() -> None:
    meant = TokensIssued("organization", "acme")
    issued = [IssuedToken(OLD, "acme/crew"), IssuedToken(CURRENT, "alice")]
    decision = revoke(found({meant: issued}, actor=OPERATOR), meant)
    assert decision.streams == {"team-1", SYSTEM_STREAM}
    assert decision.answer == issued


MEANT = {
    UserMeant("alice"): ALICE,
    OwnerStreams("user-1"): frozenset({"org-1", "team-0"}),
    OwnedAlone("user-1"): (),
    TokensIssued("maker", "user-1"): [IssuedToken(OLD, "acme/crew")],
    TokensIssued("session", "user-1"): [],
}
LOCKED = (SYSTEM_STREAM, "org-1", "team-0", "team-1")


def test_nobody_becomes_an_owner_while_one_is_disabled() -> None:
    with pytest.raises(Needs):
        disable(found(MEANT, actor=OPERATOR), "alice", Disabling())
    decision = disable(found(MEANT, actor=OPERATOR, locked=LOCKED), "alice", Disabling())
    assert decision.writes == (Update(ALICE, replace(ALICE, disabled=True)),)
    assert decision.answer.user.disabled
    assert not decision.answer.revoked
    assert decision.notes[0].event.details == {"username": "alice"}


def test_the_streams_of_made_tokens_are_locked_where_these_are_revoked() -> None:
    known = found(MEANT, actor=OPERATOR, locked=(SYSTEM_STREAM, "org-1", "team-0"))
    assert actions(disable(known, "alice", Disabling())) == [(SYSTEM_STREAM, "user.disable")]
    with pytest.raises(Needs):
        disable(known, "alice", Disabling(with_made_tokens=True))


def test_the_last_owner_is_disabled_by_force_alone_which_is_recorded() -> None:
    alone = MEANT | {OwnedAlone("user-1"): ("acme", "other")}
    known = found(alone, actor=OPERATOR, locked=LOCKED)
    assert refused(disable, known, "alice", Disabling()) == ["last_owner", "last_owner"]
    (note,) = disable(known, "alice", Disabling(force=True)).notes
    assert note.event.details == {"username": "alice", "without-owner": ["acme", "other"]}


def test_who_is_disabled_already_may_still_lose_the_tokens_they_made() -> None:
    answers = MEANT | {UserMeant("alice"): replace(ALICE, disabled=True)}
    known = found(answers, actor=OPERATOR, locked=LOCKED)
    decision = disable(known, "alice", Disabling(with_made_tokens=True))
    assert actions(decision) == [("team-1", "token.revoke")]


IN_OWNERS = {
    MembersOf("org-1"): [],
    MembersOf("team-0"): [replace(MEMBER, user=replace(ALICE, disabled=True))],
}


def test_nobody_becomes_an_owner_while_one_is_enabled() -> None:
    answers = MEANT | {UserMeant("alice"): replace(ALICE, disabled=True)}
    with pytest.raises(Needs) as needs:
        enable(found(answers, IN_OWNERS, actor=OPERATOR), "alice")
    assert needs.value.need == Locks(frozenset({SYSTEM_STREAM, "org-1", "team-0"}))


@pytest.mark.parametrize("disabled", [False, True])
def test_only_who_is_disabled_is_enabled(disabled: bool) -> None:
    answers = MEANT | {UserMeant("alice"): replace(ALICE, disabled=disabled)}
    known = found(answers, IN_OWNERS, actor=OPERATOR, locked=LOCKED)
    decision = enable(known, "alice")
    assert not decision.answer.disabled
    letters = [one.text for one in decision.writes if isinstance(one, TellOwners)]
    assert ["Whoever runs this service did that" in text for text in letters] == [True] * disabled
    assert actions(decision) == ([(SYSTEM_STREAM, "user.enable")] if disabled else [])


@pytest.mark.parametrize(("name", "changes"), [("alice", False), ("Alice", True), ("al", True)])
def test_a_user_is_renamed_where_the_name_is_another(name: str, changes: bool) -> None:
    decision = rename(found(MEANT, actor=OPERATOR), "alice", name)
    assert bool(decision.writes) is changes
    assert refused(rename, found(MEANT), "alice", "no name") == ["invalid_value"]


NEW = replace(ALICE, username="new", placeholder=True)


@pytest.mark.parametrize(
    ("before", "after", "action", "told"),
    [
        (ALICE, replace(ALICE, username="al"), "user.update", ("al", ALICE.email, "alice")),
        (ALICE, replace(ALICE, email="a@b.c"), "user.update", ("alice", "a@b.c", None)),
        (NEW, ALICE, "user.claim", ("alice", ALICE.email, "new")),
        (NEW, replace(NEW, placeholder=False), "user.claim", ("new", ALICE.email, None)),
        (NEW, replace(NEW, username="newer"), "user.update", (None, None, None)),
    ],
)
def test_of_a_placeholder_no_name_is_told_and_who_is_somebody_has_claimed_it(
    before: User, after: User, action: str, told: tuple[str | None, ...]
) -> None:
    (note,) = changed(found(actor=OPERATOR), before, after).notes
    assert note.event.action == action
    details = note.event.details
    assert (details["username"], details["email"], details.get("from")) == told
    assert ("from" in details) is (told[2] is not None)


def test_nobody_is_looked_for_to_be_removed_before_the_system_is_locked() -> None:
    with pytest.raises(Needs):
        remove_unclaimed(found({Unclaimed(1): ("user-1",)}), 1)
    known = found({Unclaimed(1): ("user-1", "user-2")}, locked=(SYSTEM_STREAM,))
    assert actions(remove_unclaimed(known, 1)) == [(SYSTEM_STREAM, "user.delete")] * 2
