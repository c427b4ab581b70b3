"""What becomes of requests about organizations."""

import pytest
from msgspec.structs import replace

from teamvars.decisions import Delete
from teamvars.decisions.generations import Generations
from teamvars.decisions.needs import (
    TeamsOf,
    TokenLimitsOf,
    ToOrganization,
    UserWithId,
    WorkspacesOf,
)
from teamvars.decisions.organizations import Fresh, GiveKey, create, delete, update
from teamvars.decisions.runners import RunnersOf
from teamvars.decisions.tokens import Shorten
from teamvars.decisions.variable_sets import SetsOf
from teamvars.domain.audit import SYSTEM_STREAM, Actor
from teamvars.domain.errors import Refusal
from teamvars.domain.keys import Generation
from teamvars.domain.organizations import Organization, OrganizationDraft
from teamvars.domain.runners import Runner, RunnerSpec
from teamvars.domain.tokens import LIMITS_ENABLED
from teamvars.domain.workspaces import Workspace
from tests.decisions.directory import ALICE, CREW, OWNERS, actions, found, refused, to_acme

FRESH = Fresh("org-1", "team-0", "ou-1")
IN_USE = Generation(1, 0, 0), Generation(2, 1, 1), Generation(3, 2)
DRAFT = OrganizationDraft(name="acme")
RUNNER = Runner("run-1", "org-1", 1, RunnerSpec("ci", 1), 1)
NETWORK = Workspace("ws-1", "network", "org-1", "acme")


def test_a_site_admin_makes_an_organization_and_owns_it() -> None:
    admin = replace(ALICE, site_admin=True)
    known = found({UserWithId("user-1"): admin, Generations(): IN_USE})
    decision = create(known, DRAFT, FRESH)
    assert GiveKey("org-1", 2) in decision.writes
    assert decision.opens == {"org-1": "org-1", "team-0": "org-1"}
    assert actions(decision) == [
        (SYSTEM_STREAM, "organization.create"),
        ("org-1", "team.create"),
        ("org-1", "membership.create"),
        ("team-0", "member.add"),
    ]
    assert decision.streams == {SYSTEM_STREAM}
    assert decision.taken is not None
    assert decision.taken.detail == "There is an organization with this name."


@pytest.mark.parametrize("actor", [Actor("user", "user-1"), Actor("organization", "org-2")])
def test_nobody_else_makes_one(actor: Actor) -> None:
    known = found({UserWithId("user-1"): ALICE}, actor=actor)
    assert refused(create, known, DRAFT, FRESH) == ["forbidden"]


def test_neither_does_a_site_admin_whose_token_has_rights_in_some_alone() -> None:
    known = found({UserWithId("user-1"): replace(ALICE, site_admin=True)})
    known.caller.reach = frozenset({"org-2"})
    assert refused(create, known, DRAFT, FRESH) == ["forbidden"]


@pytest.mark.parametrize(
    ("draft", "recorded"),
    [
        (OrganizationDraft(name="acme"), None),
        (OrganizationDraft(email="a@example.com"), {"name": "acme", "changed": ["email"]}),
        (OrganizationDraft(name="new"), {"name": "new", "changed": ["name"], "from": "acme"}),
    ],
)
def test_what_changed_is_told_in_its_own_stream(
    draft: OrganizationDraft, recorded: dict[str, object] | None
) -> None:
    decision = update(found(to_acme()), "acme", draft)
    told = [dict(note.event.details) for note in decision.notes]
    assert decision.streams == ({"org-1"} if recorded else set())
    assert told == ([] if recorded is None else [{"email": draft.email, **recorded}])


def test_all_streams_end_in_the_organizations_and_that_in_the_systems() -> None:
    contents = {
        TeamsOf("org-1"): (OWNERS, CREW),
        WorkspacesOf("org-1"): ((NETWORK, 0),),
        RunnersOf("org-1"): (RUNNER,),
        SetsOf("org-1"): [("varset-1", 0)],
    }
    decision = delete(found(to_acme(), contents), "acme", force=False)
    assert decision.writes == (Delete(Organization, ("org-1",)),)
    children = ["team-0", "team-1", "ws-1", "varset-1", "run-1"]
    assert [note.closes for note in decision.notes] == [children, ["org-1"]]
    assert actions(decision) == [
        ("org-1", "organization.empty"),
        (SYSTEM_STREAM, "organization.delete"),
    ]


@pytest.mark.parametrize("force", [False, True])
def test_variables_go_along_only_by_force(force: bool) -> None:
    contents = {
        TeamsOf("org-1"): (),
        WorkspacesOf("org-1"): ((NETWORK, 3), (NETWORK, 2), (NETWORK, 0)),
        RunnersOf("org-1"): (),
        SetsOf("org-1"): [("varset-1", 4), ("varset-2", 0)],
    }
    known = found(to_acme(), contents)
    if not force:
        with pytest.raises(Refusal) as refusal:
            delete(known, "acme", force=False)
        (fault,) = refusal.value.faults
        assert fault.code.word == "organization_not_empty"
        assert fault.meta == {"variables": 9, "workspaces": 2, "varsets": 1}
        return
    notes = delete(known, "acme", force=True).notes
    assert [note.event.details["variables"] for note in notes] == [9, 9]


@pytest.mark.parametrize(
    ("before", "after", "begins"),
    [(False, True, True), (True, True, False), (True, False, False), (False, False, False)],
)
def test_tokens_are_shortened_once_limits_begin_to_count(
    before: bool, after: bool, begins: bool
) -> None:
    known = found(to_acme(), {TokenLimitsOf("org-1"): []})
    granted = known.of(ToOrganization("acme"))
    owner = replace(granted.organization, settings={LIMITS_ENABLED: True} if before else {})
    known.answers[ToOrganization("acme")] = replace(granted, organization=owner)
    draft = OrganizationDraft(email="a@example.com", settings={LIMITS_ENABLED: after})
    kinds = [one.kind for one in update(known, "acme", draft).writes if isinstance(one, Shorten)]
    assert kinds == (["organization", "team"] if begins else [])


@pytest.mark.parametrize(("member", "code"), [(True, "forbidden"), (False, "not_found")])
def test_who_is_no_owner_changes_nothing(member: bool, code: str) -> None:
    known = found(to_acme(owner=False, member=member))
    assert refused(update, known, "acme", OrganizationDraft(name="")) == [code]
    assert refused(delete, known, "acme", force=True) == [code]


@pytest.mark.parametrize(("said", "is_other"), [(None, False), ("ACME", False), ("other", True)])
def test_a_document_is_about_the_organization_of_its_path_however_it_is_capitalised(
    said: str | None, is_other: bool
) -> None:
    known, draft = found(to_acme()), OrganizationDraft(id=said, name="new")
    if is_other:
        assert refused(update, known, "acme", draft) == ["id_conflict"]
    else:
        assert update(known, "acme", draft).answer.organization.name == "new"


def test_what_a_draft_does_not_name_stays() -> None:
    known = found(to_acme())
    granted = known.of(ToOrganization("acme"))
    owner = replace(granted.organization, email="a@example.com")
    known.answers[ToOrganization("acme")] = replace(granted, organization=owner)
    after = update(known, "acme", OrganizationDraft(name="new")).answer.organization
    assert after == replace(owner, name="new")


@pytest.mark.parametrize(
    ("before", "said", "actor", "has_signed_in", "may"),
    [
        (False, None, "user", False, True),
        (False, False, "organization", False, True),
        (True, True, "organization", False, True),
        (False, True, "user", True, True),
        (False, True, "user", False, False),
        (False, True, "organization", True, False),
        (True, False, "user", False, True),
        (True, False, "organization", False, False),
    ],
)
def test_who_says_that_members_have_to_sign_in_has_done_so(
    before: bool, said: bool | None, actor: str, has_signed_in: bool, may: bool
) -> None:
    access = to_acme()
    granted = access[ToOrganization("acme")]
    owner = replace(granted, organization=replace(granted.organization, sso_required=before))
    known = found({ToOrganization("acme"): owner}, actor=Actor(actor, "user-1", "at-1"))
    known.caller.reach = frozenset({"org-1"}) if has_signed_in else None
    draft = OrganizationDraft(sso_required=said)
    if not may:
        assert refused(update, known, "acme", draft) == ["forbidden"]
        return
    told = [note.event.details.get("sso-required") for note in update(known, "acme", draft).notes]
    assert told == ([] if said in (None, before) else [said])


def test_no_organization_is_made_whose_maker_would_have_to_sign_in_first() -> None:
    known = found({UserWithId("user-1"): replace(ALICE, site_admin=True)})
    asked = OrganizationDraft(name="acme", sso_required=True)
    assert refused(create, known, asked, FRESH) == ["forbidden"]
