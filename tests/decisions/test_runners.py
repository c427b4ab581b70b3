"""What becomes of runners that are proposed, changed and deleted."""

import re
from itertools import permutations
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from teamvars.decisions import Decision, Delete, Found, Insert, Needs, Update
from teamvars.decisions.approvals import SEASONED
from teamvars.decisions.needs import (
    OrganizationWithId,
    ToOrganizationWithId,
    UserWithId,
    WorkspacesOf,
)
from teamvars.decisions.owners import TellOwners
from teamvars.decisions.runners import (
    AllRunners,
    ReachOf,
    Recorded,
    RunnersOf,
    RunnersPage,
    RunnerWithId,
    agreed,
    create,
    delete,
    every,
    name_workspaces,
    of_workspace,
    page,
    seen,
    update,
)
from teamvars.domain.access import Level
from teamvars.domain.audit import Actor, AuditEntry
from teamvars.domain.errors import invalid
from teamvars.domain.ids import new_id
from teamvars.domain.organizations import Organization
from teamvars.domain.pages import Page, Paged
from teamvars.domain.runners import (
    MAX_RUNNERS,
    ApprovalMode,
    Change,
    Runner,
    RunnerDraft,
    RunnerSpec,
    RunnerStatus,
    WorkspacesDraft,
)
from teamvars.domain.workspaces import Workspace
from tests.decisions.directory import ACME as ORGANIZATION
from tests.decisions.directory import (
    ALICE,
    NOW,
    USER,
    Answers,
    actions,
    found,
    refused,
    to_acme,
    to_network,
)
from tests.decisions.test_deliveries import (
    FEDERATED,
    ISSUER,
    LATER,
    SPEC,
    TRUST,
    Trusting,
    approved_as,
    spec_of,
)
from tests.support.steps import steps_of

DRAFT = RunnerDraft(
    name="ci",
    issuer=ISSUER,
    conditions={"sub": "job"},
    workspace_ids=("ws-1",),
    expires_at=LATER,
    max_ttl=60,
)
NAMES = {"ws-1": "network", "ws-2": "payments"}
IDS = [ids for n in range(3) for ids in permutations((*NAMES, "ws-8", "ws-9", "ws-gone"), n)]
THERE: Answers = {
    OrganizationWithId("org-1"): ORGANIZATION,
    **{UserWithId(id_): replace(ALICE, id=id_) for id_ in ("user-1", "user-2")},
    WorkspacesOf("org-1"): [(Workspace(*one, "org-1", "acme"), None) for one in NAMES.items()],
    **{
        ReachOf("org-1", ids, patterns): RunnerSpec(
            "", 0, workspace_ids=ids, workspace_patterns=patterns
        ).reach(NAMES)
        for ids in IDS
        for patterns in ((), ("*",), ("p*",), ("pay*",))
    },
}
NO_RUNNERS: Answers = {RunnersOf("org-1"): []}
LONG_AGO = NOW - SEASONED
ACME = ("org-1",)
PROPOSAL = Recorded("org-1", "run-1", ("runner.create", "runner.update"))


def entry(action: str, subject_id: str, at: int = LONG_AGO, by: str = "user-2", **said: Any) -> Any:
    details = msgspec.json.encode(said).decode()
    return AuditEntry(
        "s", 1, at, "user", by, None, "req", action, "x", subject_id, details, "", b"", 2, None, b""
    )


def letter(decided: Decision[Any]) -> tuple[str, str]:
    """Where owners are told that a runner stands, and who they are told did what."""
    (told,) = (write for write in decided.writes if isinstance(write, TellOwners))
    stands = told.subject.removeprefix("Runner ci of acme: ")
    before, said, after = told.text.partition(f": {stands}. ")
    assert said, told.text
    assert re.fullmatch(r"The runner ci of acme, version [1-9]", before)
    return stands, after.partition(" at 1970-01-01 00:00:00 UTC. ")[0]


def proposal_of(runner: Runner, by: str = "user-2", **more: Any) -> Any:
    """The entry of its present version."""
    spec = runner.spec
    said = {"name": spec.name, "version": runner.version, "spec": spec.digest, **more}
    return entry("runner.update", "run-1", NOW, by, **said)


def knowing(runner: Runner = FEDERATED, *, owner: bool = True) -> list[Answers]:
    """What there is to be found of a runner."""
    granted = next(iter(to_acme(owner=owner).values()))
    found = {RunnerWithId("run-1"): runner, ToOrganizationWithId("org-1"): granted}
    return [{**found, PROPOSAL: proposal_of(runner)}, THERE]


def proposing(*more: Answers, owner: bool = True, member: bool = True) -> Found:
    return found(to_acme(owner=owner, member=member), THERE, NO_RUNNERS, *more)


def test_a_new_runner_is_approved_for_nothing() -> None:
    decided = create(proposing(), "acme", DRAFT, "run-1", TRUST)
    runner = decided.answer.runner
    assert decided.writes[0] == Insert(runner)
    assert letter(decided) == ("waits for approval", "alice proposed it")
    assert (runner.version, runner.approval, runner.spec) == (1, None, SPEC)
    assert decided.answer.status is RunnerStatus.PROPOSED
    assert actions(decided) == [("org-1", "runner.create")]
    assert decided.opens == {"run-1": "org-1"}


TEAM = Actor("team", "team-0", "at-1")
AT_FIRST = invalid("", "No.").at("/data/relationships/workspaces/data/0/id")


@pytest.mark.parametrize(
    ("rights", "more", "codes"),
    [
        ({"owner": False}, {}, ["forbidden"]),
        ({"owner": False, "member": False}, {}, ["not_found"]),
        ({"owner": False}, {"name": ""}, ["forbidden"]),
        ({}, {"name": ""}, ["invalid_value"]),
        ({}, {"workspace_ids": ("ws-9",)}, ["not_found"]),
        ({}, {"conditions": {}, "max_ttl": 1}, ["invalid_value", "invalid_value"]),
        ({}, {"faults": (invalid("name", "No."),), "name": ""}, ["invalid_value"]),
        ({}, {"faults": (AT_FIRST,), "workspace_ids": (None,)}, ["invalid_value"]),
        (
            {},
            {"faults": (AT_FIRST,), "workspace_ids": (None, "ws-8")},
            ["invalid_value", "not_found"],
        ),
    ],
)
def test_who_may_not_propose_is_told_of_no_fault_and_who_may_of_all(
    rights: dict[str, bool], more: dict[str, Any], codes: list[str]
) -> None:
    draft = replace(DRAFT, **more)
    assert refused(create, proposing(**rights), "acme", draft, "run-1", TRUST) == codes


def test_what_a_draft_says_wrong_costs_no_more_for_each_where_there_is_more_of_it() -> None:
    def steps(many: int) -> int:
        said = tuple(invalid(f"conditions/{n}", "No.") for n in range(many))
        draft = replace(DRAFT, workspace_patterns=("[",) * many, faults=said)
        return steps_of(lambda: refused(create, proposing(), "acme", draft, "run-1", TRUST))

    assert steps(400) < 3 * steps(200)


def test_an_organization_has_so_many_runners() -> None:
    full = proposing({RunnersOf("org-1"): [FEDERATED] * MAX_RUNNERS})
    assert refused(create, full, "acme", DRAFT, "run-1", TRUST) == ["too_many_items"]
    unnamed = replace(DRAFT, name="")
    both = ["too_many_items", "invalid_value"]
    assert refused(create, full, "acme", unnamed, "run-1", TRUST) == both


def test_a_change_is_a_version_that_waits_and_leaves_the_approval_as_it_is() -> None:
    decided = update(found(*knowing(), locked=ACME), "run-1", RunnerDraft(max_ttl=70), TRUST)
    after = decided.answer.runner
    assert (after.version, after.spec.max_ttl, after.max_ttl) == (3, 70, 60)
    assert after.approval == FEDERATED.approval
    assert decided.answer.status is RunnerStatus.CHANGED
    assert decided.writes[0] == Update(FEDERATED, after)
    assert letter(decided) == ("a change waits for approval", "alice proposed it")
    assert actions(decided) == [("org-1", "runner.update")]


def test_owners_are_told_of_no_approval_that_nobody_has_made_who_could() -> None:
    known = found(*knowing(approved_as(FEDERATED, mac=b"")), locked=ACME)
    decided = update(known, "run-1", RunnerDraft(max_ttl=70), TRUST)
    assert letter(decided) == ("waits for approval", "alice proposed it")


@pytest.mark.parametrize(
    ("runner", "version"),
    [
        (FEDERATED, 2),
        (spec_of(FEDERATED, max_ttl=70), 2),
        (replace(FEDERATED, version=4), 4),  # it was changed back
        (approved_as(FEDERATED, mode=ApprovalMode.OWNERS), 2),
        (approved_as(FEDERATED, mode=ApprovalMode.OWNER), 0),
        (approved_as(FEDERATED, mac=b"forged"), 0),
        (replace(FEDERATED, approval=None), 0),
    ],
)
def test_a_change_records_up_to_which_version_two_have_agreed(runner: Runner, version: int) -> None:
    assert agreed(runner, TRUST) == version
    decided = update(found(*knowing(runner), locked=ACME), "run-1", RunnerDraft(max_ttl=80), TRUST)
    assert decided.notes[0].event.details["agreed"] == version


def test_a_version_that_is_not_as_proposed_is_no_part_of_another() -> None:
    """Who changes one thing of it would propose the rest as well, and has not looked at it."""
    theirs = replace(FEDERATED, spec=replace(SPEC, conditions={"sub": "theirs"}))
    known = [*knowing(theirs), {PROPOSAL: proposal_of(FEDERATED)}]
    assert refused(update, found(*known, locked=ACME), "run-1", RunnerDraft(max_ttl=70), TRUST) == [
        "other_digest"
    ]
    view = seen(found(*known), theirs, "acme", TRUST)
    assert (view.status, view.may_approve) == (RunnerStatus.CHANGED, False)


def test_what_changes_nothing_writes_nothing() -> None:
    decided = update(found(*knowing()), "run-1", RunnerDraft(max_ttl=60), TRUST)
    assert (decided.writes, decided.notes, decided.answer.runner) == ((), (), FEDERATED)


@pytest.mark.parametrize("decide", [update, delete])
def test_who_is_no_owner_changes_no_runner_and_does_not_learn_of_it(decide: Any) -> None:
    asked = [RunnerDraft(max_ttl=70), TRUST] if decide is update else []
    assert refused(decide, found(*knowing(owner=False)), "run-1", *asked) == ["not_found"]


def test_whoever_makes_and_deletes_runners_all_day_does_not_fill_the_queue_of_letters() -> None:
    def told(runner_id: str) -> str:
        known = {RunnerWithId(runner_id): replace(FEDERATED, id=runner_id)}
        decided = delete(found(*knowing(), known), runner_id)
        return next(write.id for write in decided.writes if isinstance(write, TellOwners))

    waiting = {told(new_id("run")) for _ in range(1000)}
    assert 20 < len(waiting) <= 62


def test_a_deleted_runner_closes_its_stream() -> None:
    decided = delete(found(*knowing()), "run-1")
    assert decided.writes[0] == Delete(Runner, ("run-1",))
    assert letter(decided) == ("deleted", "alice deleted it")
    assert decided.streams == {"org-1", "run-1"}


def test_an_approval_of_somebodys_own_is_shown_as_none() -> None:
    assert FEDERATED.approval is not None
    forged = replace(FEDERATED, approval=replace(FEDERATED.approval, mac=b""))
    assert seen(found(*knowing(forged)), forged, "acme", TRUST).status is RunnerStatus.PROPOSED


BOBS = replace(FEDERATED, proposed_by="user-2")
MINE = replace(FEDERATED, proposed_by="user-1")


@pytest.mark.parametrize(
    ("runner", "mode", "actor", "may"),
    [
        (replace(BOBS, approval=None), ApprovalMode.OWNERS, USER, True),
        (replace(BOBS, approval=None), ApprovalMode.OWNER, USER, True),
        (replace(BOBS, approval=None), ApprovalMode.OPERATOR, USER, False),
        (spec_of(BOBS), ApprovalMode.OWNERS, USER, True),
        (approved_as(BOBS, reach=frozenset()), ApprovalMode.OWNERS, USER, True),
        (BOBS, ApprovalMode.OWNERS, USER, False),
        (spec_of(BOBS, expires_at=NOW), ApprovalMode.OWNERS, USER, False),
        (spec_of(MINE), ApprovalMode.OWNERS, USER, False),
        (spec_of(MINE), ApprovalMode.OWNER, USER, True),
        (spec_of(FEDERATED), ApprovalMode.OWNERS, USER, False),
        (spec_of(FEDERATED), ApprovalMode.OWNERS, TEAM, False),
        (spec_of(BOBS), ApprovalMode.OWNERS, TEAM, False),
        (spec_of(BOBS), ApprovalMode.OWNER, TEAM, False),
    ],
)
def test_who_may_approve_is_told_where_there_is_something_to_approve(
    runner: Runner, mode: ApprovalMode, actor: Actor, may: bool
) -> None:
    trust = Trusting()
    trust.mode = mode
    assert seen(found(*knowing(runner), actor=actor), runner, "acme", trust).may_approve is may


def test_readers_see_the_runners_that_reach_their_workspace_or_would_or_did() -> None:
    elsewhere = approved_as(
        spec_of(replace(FEDERATED, id="run-2"), workspace_ids=("ws-2",)), reach=frozenset({"ws-2"})
    )
    taken_away = approved_as(replace(elsewhere, id="run-3"), reach=frozenset({"ws-1"}))
    proposed = [
        replace(one, id=id_, approval=None) for one, id_ in ((FEDERATED, "run-4"), (elsewhere, "5"))
    ]
    known = {RunnersOf("org-1"): [*proposed, taken_away, elsewhere, FEDERATED]}
    for level, seen_in in ((Level.OWNER, None), (Level.READ, "ws-1")):
        listed = of_workspace(found(THERE, known, to_network(level)), "ws-1", Page(), TRUST)
        views = [show() for show in listed.items]
        assert [one.runner.id for one in views] == ["run-1", "run-3", "run-4"]
        assert {one.seen_in for one in views} == {seen_in}
    stranger = found(to_network(Level.NONE))
    assert refused(of_workspace, stranger, "ws-1", Page(), TRUST) == ["not_found"]
    member = found(to_acme(owner=False))
    assert refused(page, member, "acme", Page(), TRUST) == ["forbidden"]


class Counting(Trusting):
    """Says what it has named."""

    def __init__(self) -> None:
        self.named: list[str] = []

    def digest(self, runner: Runner, reach: frozenset[str]) -> str:
        self.named.append(runner.id)
        return super().digest(runner, reach)


def test_of_all_runners_each_is_named_once_all_that_is_needed_is_there() -> None:
    runners = [FEDERATED, replace(FEDERATED, id="run-2", organization_id="org-2")]
    there, trust = found({AllRunners(): runners}), Counting()
    later: dict[Any, Any] = {
        WorkspacesOf("org-1"): THERE[WorkspacesOf("org-1")],
        WorkspacesOf("org-2"): [],
        OrganizationWithId("org-1"): Organization("org-1", "acme", None, 1),
        OrganizationWithId("org-2"): Organization("org-2", "beta", None, 1),
    }
    while later:
        with pytest.raises(Needs) as asked:
            every(there, trust)
        there.answers[asked.value.need] = later.pop(asked.value.need)
    listed = [(one.runner.id, one.organization_name) for one in every(there, trust)]
    assert listed == [("run-1", "acme"), ("run-2", "beta")]
    assert trust.named == ["run-1", "run-2"]


def test_only_runners_of_the_page_are_looked_at_closely() -> None:
    elsewhere = spec_of(replace(FEDERATED, approval=None), workspace_ids=("ws-2",))
    runners = [replace(one, id=f"run-{n}") for n in range(5) for one in (FEDERATED, elsewhere)]
    trust = Counting()
    known = found(THERE, {RunnersOf("org-1"): runners}, to_network(Level.OWNER))
    listed = of_workspace(known, "ws-1", Page(2, 2), trust)
    assert trust.named == [], "not while a store is asked"
    views = [show() for show in listed.items]
    assert ([one.runner.id for one in views], listed.total) == (["run-2", "run-3"], 5)
    assert trust.named == ["run-2", "run-3"]


def test_where_there_is_no_runner_no_workspace_is_looked_up() -> None:
    network, none = found(NO_RUNNERS, to_network(Level.OWNER)), Paged[Runner]([], 0)
    assert of_workspace(network, "ws-1", Page(), TRUST) == Paged([], 0)
    acme = found(to_acme(owner=True), {RunnersPage("org-1", Page()): none})
    assert page(acme, "acme", Page(), TRUST) == Paged([], 0)


@pytest.mark.parametrize(
    ("change", "ids", "after"),
    [
        (Change.ADD, ("ws-2",), ("ws-1", "ws-2")),
        (Change.ADD, ("ws-1",), None),
        (Change.REPLACE, ("ws-2",), ("ws-2",)),
        (Change.REPLACE, ("ws-1",), None),
        (Change.REMOVE, ("ws-1",), ()),
        (Change.REMOVE, ("ws-2",), None),
    ],
)
def test_workspaces_are_named_by_a_version_that_waits(
    change: Change, ids: tuple[str, ...], after: tuple[str, ...] | None
) -> None:
    runner = replace(FEDERATED, spec=replace(SPEC, workspace_patterns=("pay*",)))
    asked = "run-1", change, WorkspacesDraft(ids), TRUST
    decided = name_workspaces(found(*knowing(runner), locked=ACME), *asked)
    assert decided.answer.runner.spec.workspace_ids == (("ws-1",) if after is None else after)
    assert decided.answer.runner.version == (2 if after is None else 3)
    assert actions(decided) == ([] if after is None else [("org-1", "runner.update")])


@pytest.mark.parametrize(
    ("change", "draft", "codes"),
    [
        (Change.REPLACE, WorkspacesDraft(()), ["invalid_value"]),
        (Change.REMOVE, WorkspacesDraft(("ws-1",)), ["invalid_value"]),
        (Change.ADD, WorkspacesDraft(("ws-9", "ws-2")), ["not_found"]),
        (Change.REMOVE, WorkspacesDraft(("ws-1", "ws-9")), ["not_found"]),
        (Change.REPLACE, WorkspacesDraft((), (invalid("", "No."),)), ["invalid_value"]),
    ],
)
def test_all_that_a_change_of_workspaces_names_is_known_or_none_is_changed(
    change: Change, draft: WorkspacesDraft, codes: list[str]
) -> None:
    assert refused(name_workspaces, found(*knowing()), "run-1", change, draft, TRUST) == codes


def test_a_workspace_that_a_runner_names_is_known_to_it_after_it_has_gone() -> None:
    """Else nobody could take it out of the version."""
    runner = replace(FEDERATED, spec=replace(SPEC, workspace_ids=("ws-1", "ws-gone")))
    asked = "run-1", Change.REMOVE, WorkspacesDraft(("ws-gone",)), TRUST
    decided = name_workspaces(found(*knowing(runner), locked=ACME), *asked)
    assert decided.answer.runner.spec.workspace_ids == ("ws-1",)
