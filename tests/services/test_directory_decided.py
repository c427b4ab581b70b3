"""What a directory file makes of an organization, as it is decided before anything is written."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.decisions import Decision, Delete, Found, Update, variable_sets
from teamvars.domain.access import Caller, Level
from teamvars.domain.audit import Actor
from teamvars.domain.directory import (
    Directory,
    OrganizationEntry,
    ProjectAccess,
    ProjectEntry,
    RunnerEntry,
    SetEntry,
    TagsEntry,
    TeamEntry,
)
from teamvars.domain.invitations import Delivery, Invitation
from teamvars.domain.memberships import Membership, Status
from teamvars.domain.names import FormerName, FormerNames, Origin
from teamvars.domain.organizations import Organization
from teamvars.domain.project_grants import ProjectAccessType, ProjectGrant
from teamvars.domain.projects import DEFAULT_NAME, Project, default_project
from teamvars.domain.runners import MAX_RUNNERS, Runner, RunnerSpec, unreadable
from teamvars.domain.tags import MAX_TAGS, TagRow, Tags
from teamvars.domain.team_access import AccessType, Grant
from teamvars.domain.teams import Right, Team, Visibility, owners_of
from teamvars.domain.users import User
from teamvars.domain.variable_sets import Attached, SetLimits, VariableSet
from teamvars.domain.workspaces import Workspace
from teamvars.kernel.variables import Category
from teamvars.services.directory_files import actual, exporting
from teamvars.services.directory_files.actual import Changing, OrganizationState
from teamvars.services.directory_files.changeset import Changeset, Step
from teamvars.services.directory_files.contents import Contents
from teamvars.services.directory_files.files import effects_of, layout_of
from teamvars.services.directory_files.people import People
from teamvars.services.directory_files.runners import Proposals
from teamvars.services.directory_files.sets import Sets
from teamvars.storage import access_by_name, organizations, users
from teamvars.storage import variable_sets as variable_set_rows

DAY = 24 * 3600 * 1_000_000
ANN, BEN, IVY, NEW = (
    User(f"user-{name}", name, f"{name}@example.com", site_admin=False)
    for name in ("ann", "ben", "ivy", "new")
)
READ, WRITE, CUSTOM = ProjectAccessType.READ, ProjectAccessType.WRITE, ProjectAccessType.CUSTOM
MADE = {"team": "x"}
ISSUER = "https://ci.example.com"
BUILDER = RunnerSpec(
    "builder", DAY, "builds", ISSUER, {"sub": "job"}, workspace_ids=("ws-network", "ws-gone")
)
OPEN = Visibility.ORGANIZATION
NOWHERE: dict[str, Any] = {
    "is_global": False,
    "is_priority": False,
    "workspaces": (),
    "projects": (),
}
LIMITS = SetLimits.of(sets=4, of_target=2)


def by_name(*some: Any) -> dict[str, Any]:
    return {one.name.lower(): one for one in some}


def organization(**more: Any) -> OrganizationState:
    """What is there; each test changes its own."""
    project = default_project("org-1", 0)
    shop, core = (Project(f"prj-{name}", "org-1", name, 0) for name in ("shop", "core"))
    spaces = [Workspace(f"ws-{n}", n, "org-1", "acme") for n in ("network", "payments", "lab")]
    crew = Team(
        "team-crew",
        "org-1",
        "crew",
        OPEN,
        frozenset({Right.READ_PROJECTS}),
        is_owners=False,
    )
    sets = (
        VariableSet("varset-cloud", "cloud", "org-1", "acme", is_global=True),
        VariableSet("varset-own", "own", "org-1", "acme", project_id="prj-shop"),
        VariableSet("varset-loose", "loose", "org-1", "acme", "of many"),
    )
    place = "org-1", "acme"
    members = {
        user.username: Membership(f"ou-{user.username}", *place, user, status, 0)
        for user, status in ((ANN, Status.ACTIVE), (BEN, Status.ACTIVE), (IVY, Status.INVITED))
    }
    state = OrganizationState(
        Organization("org-1", "acme", None, 0),
        members=members,
        workspaces=by_name(*spaces),
        variables={"ws-network": 0, "ws-payments": 3, "ws-lab": 0},
        tags={"ws-network": Tags(("a",), {"k": "v"}), "ws-payments": Tags(), "ws-lab": Tags()},
        teams=by_name(owners_of("org-1", "team-owners"), crew),
        in_team={"team-owners": {"ou-ann"}, "team-crew": {"ou-ben"}},
        grants={
            "team-owners": {},
            "team-crew": {
                "ws-network": Grant(
                    "tws-1", "org-1", "team-crew", "ws-network", AccessType.WRITE, Level.WRITE
                )
            },
        },
        runners={"builder": Runner("run-1", "org-1", 1, BUILDER, 0)},
        projects=by_name(project, shop, core),
        bindings={project.id: {}, shop.id: MADE, core.id: {}},
        placed={"ws-network": shop.id},
        project_grants={
            "team-crew": {
                core.id: ProjectGrant(
                    "tprj-1", "org-1", "team-crew", core.id, CUSTOM, Level.WRITE, {"x": True}
                )
            }
        },
        sets=by_name(*sets),
        set_variables={"varset-cloud": 2, "varset-own": 0, "varset-loose": 0},
        attached={
            "varset-cloud": frozenset(),
            "varset-own": frozenset({"ws-network"}),
            "varset-loose": frozenset({"ws-lab", "prj-core"}),
        },
    )
    for name, value in more.items():
        setattr(state, name, value)
    return state


def decided(
    entry: OrganizationEntry,
    state: OrganizationState,
    *,
    prune: bool = False,
    delete_variables: bool = False,
) -> tuple[list[str], list[str]]:
    """The lines of the report, and what is wrong with the file."""
    trust: Any = SimpleNamespace(issuers={ISSUER}, digest=lambda *_: "digest")
    changeset = Changeset(0)
    content = Contents(entry, state, People([ANN, BEN, IVY, NEW], changeset), changeset)
    content.apply()
    if prune:
        content.prune(delete_variables=delete_variables)
    content.look_at_owners()
    Proposals(entry, state, changeset, trust).apply(prune=prune)
    Sets(entry, state, changeset, LIMITS).apply(prune=prune, delete_variables=delete_variables)
    if not changeset.faults:
        content.ids()
    return changeset.told, [fault.detail for fault in changeset.faults]


def fresh(**said: Any) -> Any:
    return {"workspaces": ("fresh",), **said}


def team(name: str = "crew", **said: Any) -> Any:
    return {"teams": (TeamEntry(name, at="t", **said),)}


def sets(*entries: SetEntry) -> Any:
    return {"variable_sets": entries}


def runners(*entries: RunnerEntry) -> Any:
    return {"runners": entries}


def placed(**where: str) -> Any:
    return {"workspaces": tuple(where), "placed": where}


MANY = tuple(f"tag-{number}" for number in range(MAX_TAGS + 1))
MADE_BUILDER = RunnerEntry("new", issuer=ISSUER, conditions={"sub": "x"}, expired_at=DAY)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"members": {"BEN": Status.ACTIVE, "ivy": Status.INVITED}}, []),
        ({"members": {"ivy": Status.ACTIVE}}, ["change member ivy of acme: active"]),
        ({"members": {"Ben": Status.INVITED}}, ["change member ben of acme: invited"]),
        ({"members": {"new": Status.ACTIVE}}, ["add member new of acme: active"]),
        ({"workspaces": ("NETWORK", "lab")}, []),
        (fresh(), ["create workspace acme/fresh"]),
        (
            {"workspaces": ("network",), "tags": {"network": TagsEntry(("A",), {"k": "v"})}},
            [],
        ),
        (
            {"workspaces": ("network",), "tags": {"network": TagsEntry(("b",))}},
            ["change the tags of workspace acme/network"],
        ),
        (placed(network="Shop", lab="default project"), []),
        (placed(lab="SHOP"), ["move workspace acme/lab to project shop"]),
        (
            placed(network="core"),
            [
                "move workspace acme/network to project core",
                "detach variable set acme/own from workspace network",
            ],
        ),
        (fresh(placed={"fresh": "core"}), ["create workspace acme/fresh"]),
        (
            {**fresh(placed={"fresh": "shop"}), **sets(SetEntry("own", workspaces=("fresh",)))},
            [
                "create workspace acme/fresh",
                "attach variable set acme/own to workspace fresh",
                "detach variable set acme/own from workspace network",
            ],
        ),
        ({"projects": (ProjectEntry("SHOP"), ProjectEntry("core", {}))}, []),
        ({"projects": (ProjectEntry("shop", {**MADE}),)}, []),
        ({"projects": (ProjectEntry("shop", {}),)}, ["change the tags of project acme/shop"]),
        ({"projects": (ProjectEntry("new", MADE),)}, ["create project acme/new"]),
        (
            {"projects": (ProjectEntry("new"),), **placed(lab="New")},
            ["create project acme/new", "move workspace acme/lab to project new"],
        ),
        (team(), []),
        (team("CREW", visibility=Visibility.ORGANIZATION, read_projects=True), []),
        (team(visibility=Visibility.SECRET), ["update team acme/crew"]),
        (team(read_projects=False), ["update team acme/crew"]),
        (team(manage_teams=True), ["update team acme/crew"]),
        (team(members_manage_token=True), ["update team acme/crew"]),
        (team(members=("Ben",)), []),
        (team(members=()), ["remove ben from team acme/crew"]),
        (
            team(members=("ivy", "ann")),
            [
                "add ann to team acme/crew",
                "add ivy to team acme/crew",
                "remove ben from team acme/crew",
            ],
        ),
        (
            team("new", members=("ben",), workspaces={"lab": AccessType.READ}),
            ["create team acme/new", "add ben to team acme/new", "grant acme/new read on lab"],
        ),
        (
            {"members": {"new": Status.ACTIVE}, **team("owners", members=("new",))},
            [
                "add member new of acme: active",
                "add new to team acme/owners",
                "remove ann from team acme/owners",
            ],
        ),
        (
            {"teams": (TeamEntry("crew", members=()), TeamEntry("Owners", members=("ann", "ben")))},
            ["add ben to team acme/owners", "remove ben from team acme/crew"],
        ),
        (team(workspaces={"Network": AccessType.WRITE}), []),
        (team(workspaces={"network": AccessType.READ}), ["grant acme/crew read on network"]),
        (
            team(workspaces={"lab": AccessType.READ}),
            ["grant acme/crew read on lab", "revoke the grant of acme/crew on network"],
        ),
        (team(workspaces={}), ["revoke the grant of acme/crew on network"]),
        (team(projects={"CORE": ProjectAccess(CUSTOM, Level.WRITE, {"x": True})}), []),
        (
            team(projects={"core": ProjectAccess(CUSTOM, Level.READ)}),
            ["grant acme/crew custom on project core"],
        ),
        (
            team(projects={"shop": ProjectAccess(READ)}),
            [
                "grant acme/crew read on project shop",
                "revoke the grant of acme/crew on project core",
            ],
        ),
        (team(projects={}), ["revoke the grant of acme/crew on project core"]),
        (sets(SetEntry("CLOUD", is_global=True), SetEntry("loose", "of many")), []),
        (
            sets(
                SetEntry("cloud", is_priority=True),
                SetEntry("loose", is_global=True, workspaces=("Lab",), projects=()),
            ),
            [
                "update variable set acme/cloud",
                "update variable set acme/loose",
                "detach variable set acme/loose from project core",
            ],
        ),
        (
            sets(SetEntry("loose", workspaces=("network", "payments"), projects=("core", "shop"))),
            [
                "attach variable set acme/loose to workspace network",
                "attach variable set acme/loose to workspace payments",
                "attach variable set acme/loose to project shop",
                "detach variable set acme/loose from workspace lab",
            ],
        ),
        (sets(SetEntry("own", project="Shop", workspaces=("network",))), []),
        (
            sets(SetEntry("own", workspaces=())),
            ["detach variable set acme/own from workspace network"],
        ),
        (
            sets(SetEntry("own", projects=("shop",))),
            ["attach variable set acme/own to project shop"],
        ),
        (runners(RunnerEntry("BUILDER")), []),
        (runners(RunnerEntry("builder", workspaces=("Network",))), []),
        (
            runners(RunnerEntry("builder", workspaces=("network", "lab"))),
            ["propose version 2 of runner acme/builder"],
        ),
        (
            runners(RunnerEntry("builder", workspaces=(), patterns=("n*",))),
            ["propose version 2 of runner acme/builder"],
        ),
        (
            runners(RunnerEntry("builder", include_sensitive=False)),
            ["propose version 2 of runner acme/builder"],
        ),
        (
            {**fresh(), **runners(replace(MADE_BUILDER, workspaces=("fresh",)))},
            ["create workspace acme/fresh", "propose runner acme/new"],
        ),
    ],
)
def test_what_a_file_says_is_made_and_what_it_leaves_out_stays(
    said: Mapping[str, Any], told: Sequence[str]
) -> None:
    assert decided(OrganizationEntry("acme", **said), organization()) == (told, [])


@pytest.mark.parametrize(
    ("said", "faults"),
    [
        (
            {"members": {"nobody": Status.ACTIVE}, "member_at": {"nobody": "m"}},
            ["m: There is no user nobody; name them under users."],
        ),
        (
            {
                "workspaces": ("network",),
                "tags": {"network": TagsEntry(MANY)},
                "workspace_at": {"network": "w"},
            },
            [f"w: Workspace acme/network: Nothing has more than {MAX_TAGS} tags of its own."],
        ),
        (placed(lab="nowhere"), ["o: Workspace acme/lab: there is no project nowhere."]),
        (
            {"projects": (ProjectEntry("shop", dict.fromkeys(MANY, "v"), at="p"),)},
            [f"p: Project acme/shop: Nothing has more than {MAX_TAGS} tags of its own."],
        ),
        (team(members=("new",)), ["t: Team acme/crew: new is no member of acme."]),
        (
            team(members=("new",), member_at={"new": "m"}),
            ["m: Team acme/crew: new is no member of acme."],
        ),
        (
            team(workspaces={"no": AccessType.READ}, workspace_at={"no": "w"}),
            ["w: Team acme/crew: there is no workspace acme/no."],
        ),
        (
            team(projects={"no": ProjectAccess(READ)}),
            ["t: Team acme/crew: there is no project acme/no."],
        ),
        (team("owners", members=()), ["t: Organization acme would have no active owner left."]),
        (
            team("owners", members=("ivy",)),
            ["t: Organization acme would have no active owner left."],
        ),
        (
            sets(SetEntry("loose", workspaces=("no",), at="s", workspace_at={"no": "w"})),
            ["w: Variable set acme/loose: there is no workspace no."],
        ),
        (
            sets(SetEntry("loose", projects=("no",), at="s")),
            ["s: Variable set acme/loose: there is no project no."],
        ),
        (
            sets(SetEntry("loose", projects=("no",), at="s", project_at={"no": "p"})),
            ["p: Variable set acme/loose: there is no project no."],
        ),
        (
            sets(SetEntry("new", project="no", at="s"), SetEntry("newer")),
            [
                "s: Variable set acme/new: there is no project no.",
                "o: An organization has at most 4 variable sets.",
            ],
        ),
        (
            sets(SetEntry("own", is_global=True, at="s")),
            ["s: Variable set acme/own: A variable set of a project reaches no more …"],
        ),
        (
            sets(SetEntry("own", workspaces=("network", "lab"), projects=("core",), at="s")),
            ["s: Variable set acme/own: A set of a project … Not in it: core, lab."],
        ),
        (
            runners(RunnerEntry("builder", workspaces=("no",), patterns=("n*",), at="r")),
            ["r: Runner acme/builder: there is no workspace no."],
        ),
        (
            runners(RunnerEntry("builder", max_ttl=1, at="r", key_at={"max-ttl": "k"})),
            ["k: Runner acme/builder: This is …"],
        ),
        (
            runners(RunnerEntry("builder", patterns=("",), at="r", key_at={"patterns": "k"})),
            ["k: Runner acme/builder: …"],
        ),
    ],
)
def test_what_is_wrong_is_told_at_its_line(said: Mapping[str, Any], faults: Sequence[str]) -> None:
    _, found = decided(OrganizationEntry("acme", at="o", **said), organization())
    assert len(found) == len(faults)
    for one, wanted in zip(found, faults, strict=True):
        begins, _, ends = wanted.partition("…")
        assert one.startswith(begins.rstrip())
        assert one.endswith(ends)


@pytest.mark.parametrize(
    ("said", "delete_variables", "told", "faults"),
    [
        (
            {},
            True,
            [
                "delete team acme/crew",
                "delete workspace acme/network",
                "delete workspace acme/payments",
                "delete workspace acme/lab",
                "delete project acme/core",
                "delete project acme/shop",
                "remove member ann of acme",
                "remove member ben of acme",
                "remove member ivy of acme",
                "delete runner acme/builder",
                "delete variable set acme/cloud",
                "delete variable set acme/loose",
                "delete variable set acme/own",
            ],
            ["o: Organization acme would have no active owner left."],
        ),
        (
            {
                "members": dict.fromkeys(("Ann", "Ben", "ivy"), Status.ACTIVE),
                "workspaces": ("NETWORK",),
                "projects": (ProjectEntry("Shop"), ProjectEntry("core")),
                **team("Crew"),
                **sets(SetEntry("LOOSE"), SetEntry("own")),
                **runners(RunnerEntry("Builder")),
            },
            False,
            [
                "change member ivy of acme: active",
                "delete workspace acme/payments",
                "delete workspace acme/lab",
                "delete variable set acme/cloud",
            ],
            [
                (
                    "o: Workspace acme/payments is not in the file and has 3 variables. To remove "
                    "both, add --delete-variables."
                ),
                (
                    "o: Variable set acme/cloud is not in the file and has 2 variables. To remove "
                    "both, add --delete-variables."
                ),
            ],
        ),
        (
            {
                "members": dict.fromkeys(("ann", "ben", "ivy"), Status.INVITED),
                "workspaces": ("network", "payments", "lab"),
                **team(),
                **sets(SetEntry("cloud"), SetEntry("loose"), SetEntry("own")),
                **runners(RunnerEntry("builder")),
            },
            False,
            [
                "change member ann of acme: invited",
                "change member ben of acme: invited",
                "delete project acme/core",
                "delete project acme/shop",
            ],
            [
                (
                    "o: Project acme/shop is not in the file. Workspaces that are in it: 1. Name "
                    "it, or say of each of them which project it is in."
                ),
                "o: Organization acme would have no active owner left.",
                "o: Variable set acme/own is of a project that is not in the file.",
            ],
        ),
    ],
)
def test_what_a_file_does_not_name_is_pruned_where_that_is_said(
    said: Mapping[str, Any], delete_variables: bool, told: Sequence[str], faults: Sequence[str]
) -> None:
    entry = OrganizationEntry("acme", at="o", **said)
    found = decided(entry, organization(), prune=True, delete_variables=delete_variables)
    assert found == (told, faults)


def test_a_workspace_leaves_the_sets_of_its_project_that_it_is_attached_to() -> None:
    state = organization(placed={"ws-network": "prj-shop", "ws-lab": "prj-shop"})
    entry = OrganizationEntry("acme", **placed(lab="core"))
    assert decided(entry, state) == (["move workspace acme/lab to project core"], [])


def test_a_fault_of_what_stands_nowhere_is_told_without_a_place() -> None:
    nobody = OrganizationEntry("acme", {"nobody": Status.ACTIVE})
    assert decided(nobody, organization())[1] == ["There is no user nobody; name them under users."]


def test_all_members_are_gone_through_as_often_however_many_teams_there_are() -> None:
    class Members(dict[str, Membership]):
        times = 0

        def values(self) -> Any:
            Members.times += 1
            return super().values()

    counted = []
    for number in (1, 50):
        Members.times = 0
        teams = tuple(TeamEntry(f"t{n}", members=("ann",)) for n in range(number))
        entry = OrganizationEntry("acme", teams=teams)
        told, _ = decided(entry, organization(members=Members(organization().members)))
        assert f"add ann to team acme/t{number - 1}" in told
        counted.append(Members.times)
    assert counted[0] == counted[1]


def test_nobody_has_to_be_an_owner_where_nobody_was() -> None:
    nobody = organization(in_team={"team-owners": set(), "team-crew": {"ou-ben"}})
    assert decided(OrganizationEntry("acme", **team("owners", members=())), nobody) == ([], [])


def former(was: str, id_: str, now: str) -> FormerNames:
    return FormerNames([FormerName(id_, was, now)])


def renamed() -> OrganizationState:
    """One of which a thing of each kind was called `old`."""
    return organization(
        former={
            "workspace": former("old", "ws-network", "network"),
            "project": former("old", "prj-core", "core"),
            "team": former("old", "team-crew", "crew"),
            "variable set": former("old", "varset-own", "own"),
        },
    )


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            {"workspaces": ("net",), "origins": {"net": Origin("NETWORK")}},
            ["rename workspace acme/network to net"],
        ),
        (
            {
                "workspaces": ("lab", "payments"),
                "origins": {"lab": Origin("payments"), "payments": Origin("lab")},
            },
            [],
        ),
        (
            {
                "workspaces": ("b", "network"),
                "origins": {"b": Origin("network"), "network": Origin("lab")},
            },
            ["rename workspace acme/network to b", "rename workspace acme/lab to network"],
        ),
        (team("team", origin=Origin("crew")), ["rename team acme/crew to team"]),
        (team("owners", origin=Origin("crew")), []),
        (team("bosses", origin=Origin("owners")), ["create team acme/bosses"]),
        (team("old", origin=Origin(new=True)), ["create team acme/old"]),
        (
            {"projects": (ProjectEntry("base", origin=Origin("core")),)},
            ["rename project acme/core to base"],
        ),
        (
            sets(SetEntry("wolke", origin=Origin("cloud"))),
            ["rename variable set acme/cloud to wolke"],
        ),
    ],
)
def test_what_is_named_after_another_is_renamed_in_an_order_in_which_names_are_free(
    said: Mapping[str, Any], told: Sequence[str]
) -> None:
    found, _ = decided(OrganizationEntry("acme", **said), renamed())
    assert found == told


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ({"workspaces": ("old",), "workspace_at": {"old": "w"}}, "w: Workspace acme/old is called"),
        ({"workspaces": ("old",)}, "o: Workspace acme/old is called network now"),
        (team("old"), "t: Team acme/old is called crew now"),
        ({"projects": (ProjectEntry("old", at="p"),)}, "p: Project acme/old is called core now"),
        (sets(SetEntry("old", at="s")), "s: Variable set acme/old is called own now"),
        (
            {"workspaces": ("lab",), "origins": {"lab": Origin("payments")}},
            "o: Workspace acme/lab exists, and so does payments",
        ),
        (placed(lab="old"), "o: Workspace acme/lab: there is no project old. It is called core"),
        (
            team(workspaces={"old": AccessType.READ}),
            "t: Team acme/crew: there is no workspace acme/old. It is called network",
        ),
        (
            team(projects={"old": ProjectAccess(READ)}),
            "t: Team acme/crew: there is no project acme/old. It is called core",
        ),
        (
            sets(SetEntry("loose", workspaces=("old",), at="s")),
            "s: Variable set acme/loose: there is no workspace old. It is called network",
        ),
        (
            sets(SetEntry("loose", projects=("old",), at="s")),
            "s: Variable set acme/loose: there is no project old. It is called core",
        ),
        (
            runners(RunnerEntry("builder", workspaces=("old", "lab"), at="r")),
            "r: Runner acme/builder: there is no workspace old. It is called network",
        ),
    ],
)
def test_what_was_called_so_before_is_named_by_what_it_is_called_now(
    said: Mapping[str, Any], fault: str
) -> None:
    _, (found,) = decided(OrganizationEntry("acme", at="o", **said), renamed())
    assert found.startswith(fault)


def many(number: int, *, is_global: bool = False) -> list[SetEntry]:
    return [SetEntry(f"more-{n}", is_global=is_global) for n in range(number)]


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (sets(*many(1)), None),
        (sets(*many(2)), "o: An organization has at most 4 variable sets."),
        (sets(*many(1, is_global=True)), None),
        (
            sets(
                SetEntry("cloud", "d"), *many(1, is_global=True), SetEntry("loose", is_global=True)
            ),
            "o: At most 2 variable sets of an organization are global",
        ),
        (
            sets(SetEntry("loose", is_global=True), *many(1, is_global=True)),
            "o: At most 2 variable sets of an organization are global",
        ),
        (sets(SetEntry("loose", workspaces=("network",))), None),
        (
            sets(
                SetEntry("loose", workspaces=("network",)),
                SetEntry("cloud", workspaces=("network",)),
            ),
            "o: At most 2 variable sets are attached to a workspace, and more would be to network.",
        ),
        (
            sets(*(SetEntry(name, projects=("core",)) for name in ("loose", "cloud", "more"))),
            "o: At most 2 variable sets are attached to a project, and more would be to core.",
        ),
    ],
)
def test_there_are_no_more_sets_than_there_may_be(
    said: Mapping[str, Any], fault: str | None
) -> None:
    _, found = decided(OrganizationEntry("acme", at="o", **said), organization())
    assert [one[: len(fault or "")] for one in found] == ([] if fault is None else [fault])


@pytest.mark.parametrize(
    ("entry", "faults"),
    [
        (SetEntry("s0", "d"), 0),
        (SetEntry("loose", "d"), 0),
        (SetEntry("loose", is_global=False), 0),
        (SetEntry("loose", is_global=True), 1),
    ],
)
def test_whoever_has_more_sets_than_there_may_be_makes_no_more(
    entry: SetEntry, faults: int
) -> None:
    state = organization()
    for number in range(3):
        one = VariableSet(f"varset-{number}", f"s{number}", "org-1", "acme", is_global=True)
        state.sets[one.name] = one
        state.set_variables[one.id] = 0
        state.attached[one.id] = frozenset({"ws-lab"})
    assert len(decided(OrganizationEntry("acme", **sets(entry)), state)[1]) == faults


def test_an_organization_has_so_many_runners() -> None:
    entries = [replace(MADE_BUILDER, name=f"r{n}", patterns=("n*",)) for n in range(MAX_RUNNERS)]
    full = OrganizationEntry("acme", at="o", **runners(*entries))
    told, faults = decided(full, organization())
    assert len(told) == MAX_RUNNERS
    assert faults == [f"o: An organization has at most {MAX_RUNNERS} runners."]
    assert decided(full, organization(runners={}))[1] == []
    state = organization()
    state.runners |= {
        f"r{n}": Runner(f"run-r{n}", "org-1", 1, BUILDER, 0) for n in range(MAX_RUNNERS)
    }
    assert decided(OrganizationEntry("acme"), state) == ([], [])


def test_the_file_of_an_organization_changes_nothing_of_it() -> None:
    unsaid: list[str] = []
    exported = exporting._organization(organization(), unsaid)
    assert (decided(exported, organization(), prune=True), unsaid) == (([], []), [])
    custom = ProjectAccess(CUSTOM, Level.WRITE, {"x": True})
    assert exported == OrganizationEntry(
        "acme",
        {"ann": Status.ACTIVE, "ben": Status.ACTIVE, "ivy": Status.INVITED},
        ("lab", "network", "payments"),
        (
            TeamEntry("owners", OPEN, False, members_manage_token=True, members=("ann",)),
            TeamEntry(
                "crew",
                OPEN,
                False,
                members_manage_token=False,
                members=("ben",),
                workspaces={"network": AccessType.WRITE},
                read_projects=True,
                projects={"core": custom},
            ),
        ),
        (
            RunnerEntry(
                "builder",
                "builds",
                ISSUER,
                {"sub": "job"},
                workspaces=("network",),
                patterns=(),
                include_sensitive=True,
                allow_unbound=False,
                max_ttl=900,
                expired_at=DAY,
            ),
        ),
        tags={"network": TagsEntry(("a",), {"k": "v"})},
        projects=(ProjectEntry("core"), ProjectEntry("shop", MADE)),
        placed={"network": "shop"},
        variable_sets=(
            SetEntry("cloud", "", **{**NOWHERE, "is_global": True}),
            SetEntry(
                "loose", "of many", **{**NOWHERE, "workspaces": ("lab",), "projects": ("core",)}
            ),
            SetEntry("own", "", **{**NOWHERE, "workspaces": ("network",)}, project="shop"),
        ),
    )


@pytest.mark.parametrize(
    ("name", "bindings", "said"),
    [
        (DEFAULT_NAME, {}, []),
        (DEFAULT_NAME, MADE, [ProjectEntry(DEFAULT_NAME, MADE)]),
        ("Base", {}, [ProjectEntry("Base", origin=Origin(DEFAULT_NAME))]),
    ],
)
def test_a_file_says_of_the_default_project_what_is_not_as_at_first(
    name: str, bindings: Mapping[str, str], said: Sequence[ProjectEntry]
) -> None:
    state = organization()
    default = state.projects.pop(DEFAULT_NAME.lower())
    state.projects[name.lower()] = replace(default, name=name)
    state.bindings[default.id] = bindings
    state.placed["ws-lab"] = "prj-of-others"  # in what is broken
    exported = exporting._organization(state, [])
    assert [one for one in exported.projects if one.name not in ("core", "shop")] == said
    assert exported.placed == {"network": "shop"}


def test_a_machine_that_signs_for_itself_has_no_conditions() -> None:
    state = organization()
    spec = replace(BUILDER, issuer=None, conditions={}, public_key="key")
    state.runners["builder"] = replace(state.runners["builder"], spec=spec)
    (runner,) = exporting._organization(state, []).runners
    assert (runner.issuer, runner.conditions, runner.public_key) == (None, None, "key")


@pytest.mark.parametrize(
    ("user", "begins"),
    [
        (ANN, []),
        (replace(ANN, email=None), []),
        (replace(ANN, placeholder=True), ["User ann was only invited so far"]),
        (replace(ANN, placeholder=True, email="ann"), ["User ann was only invited so far"]),
        (replace(ANN, email="ann"), ["The address of user ann cannot "]),
        (replace(ANN, disabled=True), ["User ann is disabled"]),
    ],
)
def test_what_a_file_cannot_say_of_a_user_is_told(user: User, begins: Sequence[str]) -> None:
    told = exporting._unsaid_of([user])
    assert [one[: len(begin)] for one, begin in zip(told, begins, strict=True)] == begins


def test_what_a_file_has_no_word_for_is_told() -> None:
    unsaid: list[str] = []
    state = organization()
    place = "tws-2", "org-1", "team-crew", "ws-lab"
    state.grants["team-crew"]["ws-lab"] = Grant(*place, AccessType.PLAN, Level.READ)
    state.runners["lost"] = Runner("run-2", "org-1", 1, unreadable("lost"), 0)
    exported = exporting._organization(state, unsaid)
    assert exported.teams[1].workspaces is None
    assert [one.name for one in exported.runners] == ["builder"]
    (told,) = unsaid
    assert "Team acme/crew" in told
    assert "(lab: plan)" in told


def test_what_waits_in_an_invitation_ends_with_it_and_rows_that_are_alike_come_last() -> None:
    invited = replace(organization().members["ivy"], invitation=Invitation(1, Delivery.NONE))
    changeset = Changeset(0)
    tag = TagRow("tb-1", "ws-lab", None, "k", "v")
    more, gone = Attached(projects=frozenset({"prj-core"})), Attached()
    one = organization().sets["loose"]
    for before, after in ((gone, more), (more, gone), (gone, more)):
        changeset.add(Step.ATTACH_SET, (), variable_sets.attached, one, before, after)
    retagged = Decision(None, (Update(tag, replace(tag, value="w")),))
    changeset.add(Step.TAG_WORKSPACE, (), lambda _: retagged)
    changeset.add(Step.DELETE_PROJECT, (), lambda _: Decision(None, (Delete(Project, ("prj-1",)),)))
    for member in (invited, organization().members["ben"]):
        changeset.end_invitation(member)
    whole = changeset.decided(Found(Caller(b"", "req-1", Actor.operator("root")), 0))
    kinds = [getattr(write, "kind", type(write)).__name__ for write in whole.writes]
    assert kinds == ["KeepDefault", "Project", "Target", "Insert", "Insert", "Update"]
    told = [(note.event.action, note.event.subject_id) for note in whole.notes]
    assert ("invitation.revoke", "ou-ivy") in told
    assert ("invitation.revoke", "ou-ben") not in told


@pytest.mark.parametrize(
    ("prune", "changing"),
    [
        (True, Changing(None, None)),
        (False, Changing({"network", "lab", "pay"}, {"cloud", "new", "old"})),
    ],
)
def test_what_may_change_is_locked(prune: bool, changing: Changing) -> None:
    entry = OrganizationEntry(
        "acme",
        workspaces=("net", "fresh", "lab", "pay"),
        origins={"net": Origin("Network"), "fresh": Origin(new=True)},
        tags={"lab": TagsEntry()},
        placed={"Pay": "shop"},
        **sets(SetEntry("Cloud"), SetEntry("new", origin=Origin("Old"))),
    )
    assert actual._changing(Directory(organizations=(entry,)), prune=prune) == changing


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked up of users, of organizations and of variables in sets."""
    everybody = [ANN, BEN, replace(IVY, placeholder=True), replace(NEW, email=None)]
    found = {"acme": organization().organization}
    held = {"varset-loose": frozenset({("k", Category.ENV)})}
    for module, name, answer in (
        (users, "every", everybody),
        (organizations, "every", found),
        (access_by_name, "organizations_meant", found),
        (actual, "load", {"acme": organization()}),
        (variable_set_rows, "keys_of", frozenset("k")),
        (variable_set_rows, "held", (held, {})),
    ):
        monkeypatch.setattr(module, name, _answering(answer))


def _answering(answer: object) -> Any:
    async def answering(*_: object) -> object:
        return answer

    return answering


@pytest.mark.parametrize(
    ("names", "known"), [(["acme"], ["ann", "ben"]), ([], ["ann", "ben", "new"])]
)
async def test_the_file_of_some_organizations_has_the_users_in_them(
    stored: None, monkeypatch: pytest.MonkeyPatch, names: Sequence[str], known: Sequence[str]
) -> None:
    unasked = (organizations, "every") if names else (access_by_name, "organizations_meant")
    monkeypatch.delattr(*unasked)
    nothing: Any = None
    exported = await exporting.export(nothing, names)
    assert [one.username for one in exported.directory.users] == known
    assert [one.name for one in exported.directory.organizations] == ["acme"]
    (told,) = exported.unsaid
    assert told.startswith("User ivy was only invited so far")


WIDER = SetEntry("loose", workspaces=("lab", "network"), projects=("core",))


@pytest.mark.parametrize(
    ("variables", "entry", "told"),
    [
        (
            1,
            SetEntry("loose", workspaces=("lab", "network"), projects=("core",)),
            ["network: +builder"],
        ),
        (1, SetEntry("loose", workspaces=(), projects=()), ["lab: -"]),
        (1, SetEntry("loose", "another text"), []),
        (0, WIDER, []),
    ],
)
async def test_a_dry_run_says_which_runners_are_handed_what_a_workspace_gains(
    stored: None, variables: int, entry: SetEntry, told: Sequence[str]
) -> None:
    state = organization()
    state.set_variables["varset-loose"] = variables
    before = layout_of(state)
    decided(OrganizationEntry("acme", **sets(entry)), state)
    nothing: Any = None
    for hands_out, runners in ((lambda *_: True, "builder"), (lambda *_: False, "")):
        found = (await effects_of(nothing, [(before, state)], hands_out)).get("acme", ())
        assert [
            f"{one.workspace.name}: {'+' if one.gained else '-'}{''.join(one.runners)}"
            for one in found
        ] == [line.replace("builder", runners) for line in told]


async def test_a_dry_run_says_which_runners_are_handed_another_value(
    stored: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = dict.fromkeys(("varset-loose", "varset-cloud"), frozenset({("k", Category.ENV)}))
    monkeypatch.setattr(variable_set_rows, "held", _answering((both, {})))
    state = organization()
    state.set_variables["varset-loose"] = 1
    before = layout_of(state)
    decided(OrganizationEntry("acme", **sets(SetEntry("loose", workspaces=(), projects=()))), state)
    nothing: Any = None
    (one,) = (await effects_of(nothing, [(before, state)], lambda *_: True))["acme"]
    assert (one.workspace.name, len(one.changed), one.runners) == ("lab", 1, ("builder",))
