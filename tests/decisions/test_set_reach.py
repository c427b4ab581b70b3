"""Who may bring a set to which workspaces, and what becomes of sets when workspaces move."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.decisions.needs import ToOrganization, WorkspacesOf
from teamvars.decisions.runners import RunnersOf
from teamvars.decisions.set_reach import (
    HasSensitive,
    InWhich,
    PlacesOf,
    SetMove,
    handed,
    moves,
    require_own,
    require_own_moves,
    told_targets,
    touched_by,
    within,
)
from teamvars.domain.access import Level, OrganizationAccess
from teamvars.domain.errors import Refusal
from teamvars.domain.runners import Runner
from teamvars.domain.set_effects import Standing
from teamvars.domain.teams import BOTH_MANAGE, Right
from teamvars.domain.variable_sets import Attached, VariableSet
from teamvars.domain.workspaces import Workspace, WorkspaceRecord
from tests.decisions.directory import DEFAULT, NETWORK, SHOP, Answers, found, to_acme, to_sets
from tests.decisions.test_deliveries import FEDERATED, TRUST, Trusting

SET = VariableSet("varset-1", "shared", "org-1", "acme")
PAYMENTS = Workspace("ws-2", "payments", "org-1", "acme")
APPROVAL = FEDERATED.approval
FORGED = replace(FEDERATED, approval=APPROVAL and replace(APPROVAL, mac=b"forged"))
WRITER: dict[str, Any] = {"owner": False, "rights": BOTH_MANAGE}
MEMBER: dict[str, Any] = {"owner": False, "teams": ("team-1",)}


def standing(*ids: str, is_global: bool = False, one: VariableSet = SET) -> Standing:
    """A set that is attached to these workspaces and projects."""
    projects = frozenset(id_ for id_ in ids if id_.startswith("prj-"))
    attached = Attached(frozenset(ids) - projects, projects)
    return Standing(replace(one, is_global=is_global), attached)


NOWHERE, EVERYWHERE = standing(), standing(is_global=True)
# The runner is handed what `network` gets, which is in the shop.
HANDED = "ws-1", SHOP.id
FREE = "ws-2", DEFAULT.id


def knowing(*, sensitive: bool = True, runner: Runner = FEDERATED, **may: Any) -> list[Answers]:
    return [
        to_acme(**may),
        {
            HasSensitive("varset-1"): sensitive,
            PlacesOf("org-1"): dict([HANDED, FREE]),
            RunnersOf("org-1"): [runner],
            WorkspacesOf("org-1"): [(NETWORK, 0), (PAYMENTS, 0)],
        },
    ]


def refusal(decide: Any, *asked: Any) -> str:
    """What it is refused with, or nothing."""
    try:
        decide(*asked)
    except Refusal as refused:
        (fault,) = refused.faults
        assert fault.code.word == "forbidden"
        return fault.detail
    return ""


@pytest.mark.parametrize(
    ("before", "after", "is_handed"),
    [
        (NOWHERE, standing("ws-1"), True),
        (NOWHERE, standing(SHOP.id), True),
        (NOWHERE, EVERYWHERE, True),
        (NOWHERE, standing("ws-1", "ws-2"), True),
        (standing("ws-2"), EVERYWHERE, True),
        (standing("ws-2"), standing("ws-1"), True),
        (NOWHERE, standing("ws-2"), False),
        (NOWHERE, standing(DEFAULT.id), False),
        # What it reaches already in another way is brought nothing.
        (standing("ws-1"), standing(SHOP.id), False),
        (standing(SHOP.id), standing("ws-1"), False),
        (standing("ws-1"), standing("ws-1", "ws-2"), False),
        (standing("ws-1"), EVERYWHERE, False),
        (EVERYWHERE, standing("ws-1"), False),
        (EVERYWHERE, EVERYWHERE, False),
        (standing("ws-1", "ws-2"), standing("ws-1"), False),
    ],
)
def test_only_owners_bring_sensitive_values_to_where_a_runner_is_handed_them(
    before: Standing, after: Standing, is_handed: bool
) -> None:
    def asked(**more: Any) -> str:
        return refusal(require_own, found(*knowing(**more)), before, after, TRUST)

    assert ("network (ci)" in asked(**WRITER)) is is_handed
    assert "payments" not in asked(**WRITER)
    assert asked() == ""
    assert asked(**WRITER, sensitive=False) == ""
    assert asked(**WRITER, runner=replace(FEDERATED, approval=None)) == ""


def test_of_a_set_that_comes_nowhere_nothing_is_asked() -> None:
    known = found(to_acme(**MEMBER))
    for before, after in (
        *((EVERYWHERE, to) for to in (NOWHERE, EVERYWHERE, standing("ws-1"))),
        *((to, NOWHERE) for to in (NOWHERE, standing("ws-1"))),
    ):
        require_own(known, before, after, TRUST)
    # Nor where there is nothing to hide from whoever writes everywhere.
    plain = found(to_acme(**WRITER), {HasSensitive("varset-1"): False})
    require_own(plain, NOWHERE, EVERYWHERE, TRUST)


@pytest.mark.parametrize("sensitive", [False, True])
@pytest.mark.parametrize(("writes", "may"), [({"ws-2"}, True), (set(), False)])
def test_a_set_comes_to_workspaces_whose_variables_its_caller_writes(
    sensitive: bool, writes: set[str], may: bool
) -> None:
    asked = InWhich(frozenset({"ws-2"}), frozenset({"team-1"}), Level.WRITE)
    known = found(*knowing(**MEMBER, sensitive=sensitive), {asked: frozenset(writes)})
    said = refusal(require_own, known, standing("ws-1"), standing("ws-1", "ws-2"), TRUST)
    assert ("you may not write" in said) is not may
    both = InWhich(frozenset({"ws-1"}), frozenset({"team-1"}), Level.WRITE)
    known.answers[both] = frozenset({"ws-1"})
    said = refusal(require_own, known, NOWHERE, standing("ws-1"), TRUST)
    assert ("network (ci)" in said) is sensitive


def test_what_somebody_may_everywhere_is_not_asked_of_each_workspace() -> None:
    def owner(**may: Any) -> OrganizationAccess:
        access: OrganizationAccess = to_acme(**may)[ToOrganization("acme")]
        return access

    ids = {"ws-1", "ws-2"}
    assert within(found(), owner(**WRITER), ids, Level.WRITE) == ids
    reader = owner(owner=False, rights=[Right.READ_WORKSPACES])
    assert within(found(), reader, ids, Level.READ) == ids
    assert within(found(), owner(**MEMBER), [], Level.WRITE) == frozenset()
    asked = InWhich(frozenset(ids), frozenset({"team-1"}), Level.READ)
    known = found({asked: frozenset({"ws-1"})})
    assert within(known, owner(**MEMBER), ids, Level.READ) == {"ws-1"}


@pytest.mark.parametrize(
    ("runner", "names"),
    [
        (FEDERATED, {"ws-1": ["ci"]}),
        (replace(FEDERATED, approval=None), {}),
        (FORGED, {}),
    ],
)
def test_a_workspace_is_handed_to_runners_whose_approval_holds(
    runner: Runner, names: dict[str, Sequence[str]]
) -> None:
    known = found(*knowing(runner=runner))
    assert handed(known, "org-1", ["ws-1", "ws-2"], TRUST) == names


OF_DEFAULT = replace(SET, project_id=DEFAULT.id)
OF_SHOP = replace(SET, project_id=SHOP.id)
COMING = WorkspaceRecord(NETWORK)


@pytest.mark.parametrize(
    ("its", "gained", "lost", "ended"),
    [
        (standing(SHOP.id), ["ws-1"], [], []),
        (standing(DEFAULT.id), [], ["ws-1"], []),
        (standing(DEFAULT.id, "ws-1"), [], [], []),
        (standing(DEFAULT.id, SHOP.id), [], [], []),
        (standing("ws-1"), [], [], []),
        (EVERYWHERE, [], [], []),
        (standing("ws-1", one=OF_DEFAULT), [], ["ws-1"], ["ws-1"]),
        (standing("ws-1", SHOP.id, one=OF_DEFAULT), [], [], ["ws-1"]),
        (standing("ws-2", one=OF_DEFAULT), [], [], []),
        (standing("ws-1", one=OF_SHOP), [], [], []),
        (standing(DEFAULT.id, "ws-1", one=OF_DEFAULT), [], ["ws-1"], ["ws-1"]),
    ],
)
def test_a_set_comes_and_goes_with_the_project_that_a_workspace_is_in(
    its: Standing, gained: list[str], lost: list[str], ended: list[str]
) -> None:
    made = moves(found(to_sets((its, True))), [COMING], SHOP.id)
    move = SetMove(its, True, tuple(gained), tuple(lost), tuple(ended))
    assert made == ([move] if gained or lost or ended else [])
    inside = replace(COMING, project_id=SHOP.id)
    assert moves(found({touched_by(NETWORK, SHOP.id): [(its, True)]}), [inside], SHOP.id) == []


def test_workspaces_come_from_a_thousand_projects_by_one_look() -> None:
    ids = [f"prj-{n}" for n in range(1000)]
    coming = [
        WorkspaceRecord(replace(NETWORK, id=f"ws-{n}"), project_id=id_) for n, id_ in enumerate(ids)
    ]
    its = standing("prj-7")
    known = found({touched_by(NETWORK, *ids, SHOP.id): [(its, True)]})
    assert moves(known, coming, SHOP.id) == [SetMove(its, True, (), ("ws-7",), ())]
    assert moves(found(), [], SHOP.id) == []


def test_an_entry_names_projects_where_there_are_some() -> None:
    assert told_targets(SET, standing("ws-2", "ws-1").attached) == {
        "name": "shared",
        "workspaces": ["ws-1", "ws-2"],
    }
    told = told_targets(SET, standing(SHOP.id).attached)
    assert told == {"name": "shared", "workspaces": [], "projects": [SHOP.id]}


@pytest.mark.parametrize(
    ("may", "is_sensitive", "gained", "refused"),
    [
        (WRITER, True, ("ws-1",), True),
        (WRITER, True, ("ws-2",), False),
        (WRITER, True, (), False),
        (WRITER, False, ("ws-1",), False),
        ({}, True, ("ws-1",), False),
    ],
)
def test_only_owners_move_a_workspace_to_where_a_runner_is_handed_a_set(
    may: dict[str, Any], is_sensitive: bool, gained: tuple[str, ...], refused: bool
) -> None:
    move = SetMove(standing(SHOP.id), is_sensitive, gained, (), ())
    said = refusal(require_own_moves, found(*knowing(**may)), [move], TRUST)
    assert ("network (ci)" in said) is refused


class Stricter(Trusting):
    """The operator has set since that such an approval does not count."""

    def holds(self, _: Runner) -> bool:
        """None does."""
        return False


def test_an_approval_that_does_not_count_for_now_keeps_secrets_away_all_the_same() -> None:
    asked = found(*knowing(**WRITER))
    assert refusal(require_own, asked, NOWHERE, standing("ws-1"), Stricter())
