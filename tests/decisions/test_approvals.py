"""What is approved, by whom, and what is not."""

from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.decisions import Decision, Found, Locks, Needs
from teamvars.decisions.approvals import (
    approve,
    approve_as_owner,
    proposals,
    revoke,
)
from teamvars.decisions.needs import MembersOf, OrganizationWithId, TeamsOf
from teamvars.decisions.owners import TellOwners
from teamvars.decisions.runners import AllRunners, Recorded, RunnerView, seen
from teamvars.domain.audit import SYSTEM_STREAM, Actor
from teamvars.domain.errors import ENTRY_ALTERED, Kind, Refusal
from teamvars.domain.memberships import Membership, Status
from teamvars.domain.notices import Memo
from teamvars.domain.organizations import Organization
from teamvars.domain.runners import ApprovalDraft, ApprovalMode, Runner, unreadable
from teamvars.domain.users import User
from teamvars.mail import compose_memo
from tests.decisions.directory import (
    CREW,
    NOW,
    OPERATOR,
    OWNERS,
    USER,
    Answers,
    actions,
    found,
    refused,
)
from tests.decisions.test_deliveries import (
    FEDERATED,
    ISSUER,
    SPEC,
    TRUST,
    Trusting,
    approved_as,
    spec_of,
)
from tests.decisions.test_runners import LONG_AGO, PROPOSAL, entry, knowing, letter, proposal_of


def approving(runner: Runner, *, locked: bool = True) -> Found:
    return found(*knowing(runner), actor=OPERATOR, locked=("org-1",) if locked else ())


PROPOSED = replace(FEDERATED, approval=None)
DIGEST = TRUST.digest(PROPOSED, frozenset({"ws-1"}))


def test_an_approval_has_what_the_version_reaches_now() -> None:
    decided = approve(approving(PROPOSED), "run-1", DIGEST, "root", TRUST)
    approval = decided.answer.approval
    assert approval is not None
    assert (approval.version, approval.spec, approval.reach) == (2, SPEC, frozenset({"ws-1"}))
    assert (approval.issuer, approval.approved_at, approval.mac) == (ISSUER, NOW, b"mac")
    assert actions(decided) == [("org-1", "runner.approve")]
    assert letter(decided) == ("approved", "Whoever runs this service approved it")


def test_owners_are_told_of_an_approval_that_is_given_again_in_a_message_of_its_own() -> None:
    """Mailboxes show the first alone of two with one Message-ID."""
    sent = set()
    for now in (NOW, NOW + 1_000_000):
        known = approving(PROPOSED)
        known.now = now
        told = approve(known, "run-1", DIGEST, "root", TRUST).writes[-1]
        assert isinstance(told, TellOwners)
        memo = Memo(told.id, "alice@example.com", told.subject, told.text, now)
        sent.add(compose_memo(memo, "vars@example.com", "https://vars.example.com")["Message-ID"])
    assert len(sent) == 2


def test_a_pattern_is_approved_for_what_it_matches_now() -> None:
    runner = spec_of(PROPOSED, workspace_ids=(), workspace_patterns=("p*",))
    digest = TRUST.digest(runner, frozenset({"ws-2"}))
    decided = approve(approving(runner), "run-1", digest, "root", TRUST)
    assert decided.answer.approval is not None
    assert decided.answer.approval.reach == {"ws-2"}


@pytest.mark.parametrize("digest", ["", DIGEST[:11], "0" * 64, DIGEST + "0"])
def test_nothing_is_approved_but_what_was_looked_at(digest: str) -> None:
    assert refused(approve, approving(PROPOSED), "run-1", digest, "root", TRUST) != []


@pytest.mark.parametrize(
    "more",
    [
        {"expires_at": NOW},
        {"issuer": "https://evil.example"},
        {"conditions": {}},
        {"workspace_patterns": ("*",)},
        {"max_ttl": 10**6},
    ],
)
def test_what_breaks_a_rule_is_not_approved_although_it_stands_in_the_store(
    more: dict[str, Any],
) -> None:
    runner = replace(PROPOSED, spec=replace(SPEC, **more))
    view = seen(approving(runner), runner, "acme", TRUST)
    told = refused(approve, approving(runner), "run-1", view.digest, "root", TRUST)
    assert "invalid_value" in told


def test_an_operator_is_told_what_an_approval_that_holds_does_not_have() -> None:
    wider = spec_of(FEDERATED, workspace_ids=("ws-1", "ws-2"))
    for runner, joins in ((FEDERATED, []), (PROPOSED, []), (wider, ["payments"])):
        acme = Organization("org-1", "acme", None, 1)
        all_there_are = {AllRunners(): [runner], OrganizationWithId("org-1"): acme}
        (proposal,) = proposals(found(*knowing(runner), all_there_are, actor=OPERATOR), TRUST)
        assert proposal.joins == joins
        assert proposal.reach == ["network", *joins]


def test_an_approval_is_decided_under_the_lock_of_its_organization() -> None:
    with pytest.raises(Needs):
        approve(approving(PROPOSED, locked=False), "run-1", DIGEST, "root", TRUST)


def test_a_machine_is_approved_by_its_key_which_no_issuer_vouches_for() -> None:
    runner = spec_of(PROPOSED, issuer=None, conditions={}, public_key="A" * 43)
    digest = TRUST.digest(runner, frozenset({"ws-1"}))
    approval = approve(approving(runner), "run-1", digest, "root", TRUST).answer.approval
    assert approval is not None
    assert approval.issuer == ""


NOT_THEIRS = proposal_of(spec_of(PROPOSED, allow_unbound=True))
AS_PROPOSED = proposal_of(PROPOSED)


@pytest.mark.parametrize(
    "said",
    [
        None,
        Refusal(ENTRY_ALTERED),
        NOT_THEIRS,
        AS_PROPOSED._replace(details=NOT_THEIRS.details),
        AS_PROPOSED._replace(details='{"name":"ci","version":2}'),
        proposal_of(replace(PROPOSED, version=3)),
        proposal_of(replace(PROPOSED, spec=replace(SPEC, name="another"))),
    ],
)
def test_nothing_is_approved_but_what_was_proposed_as_the_trail_has_it(said: Any) -> None:
    known = found(*knowing(PROPOSED), {PROPOSAL: said}, actor=OPERATOR, locked=("org-1",))
    with pytest.raises(Refusal) as refusal:
        approve(known, "run-1", DIGEST, "root", TRUST)
    (fault,) = refusal.value.faults
    assert fault.code.word == "other_digest"
    assert fault.detail.startswith("Version 2 of run-1 is not what was proposed")
    # An owner is not sent to the operator, who would be told the same.
    with pytest.raises(Refusal) as to_owner:
        asking({PROPOSAL: said})
    assert to_owner.value.faults == (fault,)


def test_whoever_approves_what_nobody_can_read_is_told_so_and_not_what_it_lacks() -> None:
    lost = replace(PROPOSED, spec=unreadable("ci"))
    known = found(*knowing(lost), {PROPOSAL: AS_PROPOSED}, actor=OPERATOR, locked=("org-1",))
    with pytest.raises(Refusal, match="other_digest") as refusal:
        approve(known, "run-1", TRUST.digest(lost, frozenset()), "root", TRUST)
    (fault,) = refusal.value.faults
    assert fault.detail.startswith("Version 2 of run-1 is not what was proposed")


def test_a_revoked_approval_is_gone_and_what_has_none_is_left_alone() -> None:
    decided = revoke(approving(FEDERATED), "run-1")
    assert decided.answer.approval is None
    assert actions(decided) == [("org-1", "runner.revoke")]
    said = "Whoever runs this service took its approval back"
    assert letter(decided) == ("waits for approval", said)
    assert revoke(approving(PROPOSED), "run-1").notes == ()
    with pytest.raises(Needs):
        revoke(approving(FEDERATED, locked=False), "run-1")


BOB = User("user-2", "bob", "bob@example.com", site_admin=False)
OTHER = Membership("ou-9", "org-1", "acme", BOB, Status.ACTIVE, 1)
MINE = Membership(
    "ou-1", "org-1", "acme", replace(BOB, id="user-1", username="alice"), Status.ACTIVE, 1
)
LOCKED = ("org-1", "team-0")
NOT_BOBS, NOT_MINE, NEITHERS = (
    replace(PROPOSAL, but_of=them) for them in (("user-2",), ("user-1",), ("user-2", "user-1"))
)
MY_STATUS = Recorded(
    "org-1", "ou-1", ("membership.create", "membership.update", "invitation.accept")
)


def standing(owner: Membership, since: int = LONG_AGO) -> dict[Any, Any]:
    """What the trail says of somebody who was put into the owners team then."""
    return {
        Recorded("team-0", "team-0", ("member.add", "member.remove"), owner.id): entry(
            "member.add", "team-0", since
        ),
        Recorded(
            "org-1", owner.id, ("membership.create", "membership.update", "invitation.accept")
        ): entry("membership.create", owner.id, status="active"),
        Recorded(SYSTEM_STREAM, owner.user.id, ("user.enable",)): None,
    }


def all_well(**more: Any) -> Answers:
    """Two owners for a week, of whom the other has proposed the present version."""
    return {
        TeamsOf("org-1"): [OWNERS, CREW],
        MembersOf("team-0"): [MINE, OTHER],
        PROPOSAL: proposal_of(PROPOSED),
        NOT_BOBS: None,
        NOT_MINE: None,
        NEITHERS: None,
        **standing(MINE),
        **standing(OTHER),
        **more,
    }


class UnderOwners(Trusting):
    """Where a second owner approves."""

    mode = ApprovalMode.OWNERS


class UnderOne(Trusting):
    """Where any owner approves."""

    mode = ApprovalMode.OWNER


DRAFT = ApprovalDraft(digest=DIGEST)


def asking(
    *more: Answers,
    actor: Actor = USER,
    trust: Trusting = UnderOwners(),  # noqa: B008 - has no state
    draft: ApprovalDraft = DRAFT,
    locked: tuple[str, ...] = LOCKED,
) -> Decision[RunnerView]:
    known = found(*knowing(PROPOSED), all_well(), *more, actor=actor, locked=locked)
    return approve_as_owner(known, "run-1", draft, trust)


def test_a_second_owner_approves_by_the_rule_of_owners() -> None:
    decided = asking()
    (note,) = decided.notes
    approval = decided.answer.runner.approval
    assert approval is not None
    assert (approval.mode, approval.approved_by) == (ApprovalMode.OWNERS, "user-1")
    assert asking({TeamsOf("org-1"): [CREW, OWNERS]}).answer == decided.answer
    assert note.event.details["proposed-by"] == "user-2"


def test_whether_an_owner_may_approve_is_asked_once_nobody_changes_it_any_more() -> None:
    with pytest.raises(Needs) as needs:
        asking({MembersOf("team-0"): []}, locked=())
    assert needs.value.need == Locks(frozenset(LOCKED))
    with pytest.raises(Refusal) as gone:
        asking({TeamsOf("org-1"): []})
    assert gone.value.kind is Kind.NOT_FOUND


@pytest.mark.parametrize(
    ("more", "faults"),
    [
        ({MembersOf("team-0"): [OTHER]}, 1),
        ({MembersOf("team-0"): [MINE]}, 1),
        ({MembersOf("team-0"): []}, 2),
        ({MembersOf("team-0"): [replace(MINE, status=Status.INVITED), OTHER]}, 1),
        ({MembersOf("team-0"): [MINE, replace(OTHER, user=replace(BOB, disabled=True))]}, 1),
        (standing(MINE, LONG_AGO + 1), 1),
        (standing(OTHER, LONG_AGO + 1), 1),
        ({**standing(MINE, NOW), **standing(OTHER, NOW)}, 2),
        ({**standing(MINE), Recorded(SYSTEM_STREAM, "user-1", ("user.enable",)): None}, 0),
        (
            {
                Recorded(SYSTEM_STREAM, "user-1", ("user.enable",)): entry(
                    "user.enable", "user-1", NOW
                )
            },
            1,
        ),
        (
            {
                Recorded("team-0", "team-0", ("member.add", "member.remove"), "ou-1"): entry(
                    "member.remove", "team-0"
                )
            },
            1,
        ),
        ({Recorded("team-0", "team-0", ("member.add", "member.remove"), "ou-1"): None}, 1),
        ({MY_STATUS: None}, 1),
        ({MY_STATUS: entry("membership.update", "ou-1", status="invited")}, 1),
        ({PROPOSAL: proposal_of(PROPOSED, by="user-1")}, 1),
        ({NOT_BOBS: entry("runner.create", "run-1", by="user-1", version=1)}, 1),
        (
            {
                NOT_BOBS: entry("runner.create", "run-1", by="user-3", version=1),
                replace(PROPOSAL, but_of=("user-2", "user-3")): None,
            },
            1,
        ),
        (
            {
                PROPOSAL: proposal_of(PROPOSED, agreed=1),
                NOT_BOBS: entry("runner.create", "run-1", by="user-1", version=1),
            },
            0,
        ),
    ],
)
def test_every_rule_that_keeps_an_owner_from_approving_is_told(more: Any, faults: int) -> None:
    told = [] if not faults else ["forbidden"] * faults
    if told:
        with pytest.raises(Refusal) as refusal:
            asking(more)
        assert [fault.code.word for fault in refusal.value.faults] == told
    else:
        assert actions(asking(more)) == [("org-1", "runner.approve")]


def test_a_version_that_no_user_has_proposed_is_to_be_proposed_anew() -> None:
    with pytest.raises(Refusal) as refusal:
        asking({PROPOSAL: proposal_of(PROPOSED)._replace(actor_kind="team")})
    (fault,) = refusal.value.faults
    assert "not proposed by a user with a token of their own" in fault.detail


def test_an_owner_approves_nothing_where_the_operator_does() -> None:
    with pytest.raises(Refusal, match="forbidden"):
        asking(trust=TRUST)


def test_whether_they_may_is_decided_with_the_owners_locked() -> None:
    for locked in ((), ("org-1",), ("team-0",)):
        with pytest.raises(Needs):
            asking(locked=locked)


@pytest.mark.parametrize("trust", [UnderOne(), UnderOwners()])
def test_a_token_of_a_team_approves_nothing(trust: Trusting) -> None:
    with pytest.raises(Refusal, match="forbidden"):
        asking(actor=Actor("team", "team-0", "at-1"), trust=trust)


def test_where_one_owner_is_enough_it_is_said_so() -> None:
    by_oneself = proposal_of(PROPOSED, by="user-1")
    decided = asking({PROPOSAL: by_oneself}, trust=UnderOne())
    approval = decided.answer.runner.approval
    assert approval is not None
    assert approval.mode is ApprovalMode.OWNER
    assert "proposed-by" not in decided.notes[0].event.details


def test_a_draft_names_one_version_of_this_runner() -> None:
    for draft, code in (
        (replace(DRAFT, digest="0" * 64), "other_digest"),
        (replace(DRAFT, id="run-2"), "id_conflict"),
    ):
        with pytest.raises(Refusal) as refusal:
            asking(draft=draft)
        assert refusal.value.faults[0].code.word == code


def test_what_is_approved_by_a_rule_as_strict_is_left_alone() -> None:
    strict, _, lax = ApprovalMode
    assert strict.accepts(strict)
    assert lax.accepts(strict)
    assert not strict.accepts(lax)
    approved = approve(approving(PROPOSED), "run-1", DIGEST, "root", TRUST).answer
    assert approve(approving(approved), "run-1", DIGEST, "root", TRUST).notes == ()
    for worth_less in (
        approved_as(approved, mode=lax),
        approved_as(approved, reach=frozenset({"ws-1", "ws-2"})),
        approved_as(approved, mac=b""),
    ):
        assert approve(approving(worth_less), "run-1", DIGEST, "root", TRUST).writes != ()
