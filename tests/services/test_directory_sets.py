"""Variable sets in a directory file: their names, and what they reach; never what is in them."""

from operator import itemgetter
from typing import Any

import pytest
from msgspec.structs import astuple, replace

from teamvars.domain.directory import (
    Directory,
    OrganizationEntry,
    ProjectEntry,
    SetEntry,
    TeamEntry,
)
from teamvars.domain.errors import Refusal
from teamvars.domain.names import Origin
from teamvars.domain.projects import DEFAULT_NAME
from teamvars.domain.variable_sets import SetLimits
from teamvars.services.directory_files.files import Options
from tests.services.calls import Calls
from tests.services.jobs import approve
from tests.services.test_directory_projects import (
    PRUNING,
    SPACES,
    apply,
    events,
    exported,
    refused,
)
from tests.services.test_directory_runners import entry as runner
from tests.support.deployment import operator
from tests.web.test_variable_sets import as_global, changed, make_set, names, put, vars_of

CLOUD = SetEntry("Cloud", is_global=True)
PROJECTS = ProjectEntry("shop"), ProjectEntry("core")
EMPTY: dict[str, Any] = {
    "description": "",
    "is_global": False,
    "is_priority": False,
    "workspaces": (),
    "projects": (),
}


async def applied(
    calls: Calls, *sets: SetEntry, options: Options = PRUNING, **entry: Any
) -> tuple[str, ...]:
    """Applies a file that names these sets and whatever else there is; returns the changes."""
    found = await exported(calls)
    teams = [TeamEntry(one.name) for one in found.teams]
    said = {"members": found.members, "variable_sets": sets, **entry}
    return await apply(calls, teams=teams, options=options, **said)


async def reaching(calls: Calls, workspace: str) -> list[str]:
    """The names of the sets that a workspace gets."""
    return await names(calls.tenant, f"/workspaces/{calls.tenant.workspaces[workspace]}/varsets")


async def test_a_file_makes_sets_and_attaches_them_and_a_second_time_nothing(
    own_calls: Calls,
) -> None:
    shop = SetEntry("Shop", "what\nthe shop needs", is_priority=True, workspaces=("NETWORK",))
    sets: dict[str, Any] = {"variable_sets": (CLOUD, shop, SetEntry("idle"))}
    assert await apply(own_calls, **sets) == (
        "create variable set Cloud",
        "create variable set Shop",
        "attach variable set Shop to workspace network",
        "create variable set idle",
    )
    assert await apply(own_calls, **sets) == ()
    assert await reaching(own_calls, "network") == ["Cloud", "Shop"]
    assert await reaching(own_calls, "payments") == ["Cloud"]
    assert (await exported(own_calls)).variable_sets == (
        SetEntry("Cloud", **{**EMPTY, "is_global": True}),
        SetEntry("idle", **EMPTY),
        replace(shop, is_global=False, workspaces=("network",), projects=()),
    )


async def test_what_a_file_says_of_a_set_is_exact_and_what_it_leaves_out_stays(
    own_calls: Calls,
) -> None:
    tenant = own_calls.tenant
    id_ = await make_set(tenant, "Shop", "network", description="d", priority=True)
    await put(tenant, id_, "region")
    assert await apply(own_calls, variable_sets=(SetEntry("SHOP"),)) == ()
    wider = SetEntry("shop", "", is_global=True, workspaces=("payments",))
    assert await apply(own_calls, variable_sets=(wider,)) == (
        "update variable set Shop",
        "attach variable set Shop to workspace payments",
        "detach variable set Shop from workspace network",
    )
    assert await reaching(own_calls, "network") == ["Shop"]
    narrow = SetEntry("shop", is_global=False, workspaces=())
    assert len(await apply(own_calls, variable_sets=(narrow,))) == 2
    assert await reaching(own_calls, "network") == []
    shown = await tenant.call("owner", "GET", f"/varsets/{id_}")
    said = shown.json()["data"]["attributes"]
    assert (said["description"], said["priority"], said["var-count"]) == ("", True, 1)
    told = [
        action for action, _ in await events(own_calls, f"/organizations/{tenant.organization}")
    ]
    expected = ["varset.detach", "varset.update", "varset.detach", "varset.attach", "varset.update"]
    assert [one for one in told if one.startswith("varset.")][:5] == expected


async def test_sets_are_renamed_on_purpose_alone(own_calls: Calls) -> None:
    tenant = own_calls.tenant
    id_ = await make_set(tenant, "Shop")
    await put(tenant, id_, "region")
    store = SetEntry("Store", is_priority=True, origin=Origin("shop"))
    assert await apply(own_calls, variable_sets=(store,)) == (
        "rename variable set Shop to Store",
        "update variable set Store",
    )
    assert await apply(own_calls, variable_sets=(store,)) == ()
    assert (await changed(tenant, id_, name="Stall")).status_code == 200
    (told,) = await refused(own_calls, variable_sets=(SetEntry("STORE", at="f:3"),))
    place = f"f:3: Variable set {tenant.organization}/STORE is called Stall now"
    assert told.startswith(place)
    new = SetEntry("Store", origin=Origin(new=True))
    assert await apply(own_calls, variable_sets=(new,)) == ("create variable set Store",)


async def test_pruning_removes_other_sets_and_asks_before_it_removes_variables(
    own_calls: Calls,
) -> None:
    tenant = own_calls.tenant
    full = await make_set(tenant, "full", "network")
    await put(tenant, full, "region")
    await make_set(tenant, "empty", "network")
    assert await apply(own_calls) == ()
    careful = Options(prune=True)
    with pytest.raises(Refusal) as raised:
        await applied(own_calls, options=careful, at="f:1")
    (fault,) = raised.value.faults
    assert fault.detail == (
        f"f:1: Variable set {tenant.organization}/full is not in the file and has 1 variables. To "
        "remove both, add --delete-variables."
    )
    left = SetEntry("full")
    assert await applied(own_calls, left, options=careful) == ("delete variable set empty",)
    assert await applied(own_calls) == ("delete variable set full",)
    assert await applied(own_calls) == ()


async def test_what_is_pruned_ends_attachments_of_sets_that_stay(own_calls: Calls) -> None:
    tenant = own_calls.tenant
    await apply(own_calls, *PROJECTS)
    at_both = {"workspaces": ("network",), "projects": ("shop",)}
    await apply(own_calls, variable_sets=(SetEntry("kept", **at_both),))  # type: ignore[arg-type]
    left = SetEntry("kept", workspaces=("payments",))
    assert await applied(own_calls, left, workspaces=("payments",)) == (
        "delete workspace network",
        "delete project core",
        "delete project shop",
        "attach variable set kept to workspace payments",
    )
    told = await events(own_calls, f"/organizations/{tenant.organization}")
    (ended,) = (details for action, details in told if action == "varset.detach")
    assert len(ended["workspaces"]) == len(ended["projects"]) == 1
    assert ended["workspaces"] == [tenant.workspaces["network"]]
    gone = await applied(own_calls, SetEntry("kept"), workspaces=())
    assert gone == ("delete workspace payments",)
    told = await events(own_calls, f"/organizations/{tenant.organization}")
    assert [action for action, _ in told].count("varset.detach") == 2
    assert await tenant.deployment.audit_holds()


async def test_a_set_is_attached_to_workspaces_that_there_are_once_the_file_is_applied(
    own_calls: Calls,
) -> None:
    shop = SetEntry("Shop", workspaces=("edge", "made"), workspace_at={"made": "f:5"})
    (told,) = await refused(
        own_calls, variable_sets=(shop,), workspaces=("edge",), origins={"edge": Origin("network")}
    )
    place = f"Variable set {own_calls.tenant.organization}/Shop"
    assert told == f"f:5: {place}: there is no workspace made."
    more: dict[str, Any] = {
        "workspaces": ("edge", "made", "payments"),
        "origins": {"edge": Origin("network")},
    }
    assert await applied(own_calls, shop, **more) == (
        "rename workspace network to edge",
        "create workspace made",
        "create variable set Shop",
        "attach variable set Shop to workspace edge",
        "attach variable set Shop to workspace made",
    )
    old = SetEntry("Shop", workspaces=("network",))
    (told,) = await refused(own_calls, variable_sets=(old,), workspaces=())
    assert told == f"{place}: there is no workspace network. It is called edge now."
    with pytest.raises(Refusal) as raised:
        await applied(own_calls, shop, workspaces=("edge", "payments"))
    assert [one.detail for one in raised.value.faults] == [
        f"f:5: {place}: there is no workspace made."
    ]
    less = replace(shop, workspaces=("edge",))
    assert await applied(own_calls, less, workspaces=("edge", "payments")) == (
        "delete workspace made",
    )


async def test_global_sets_share_no_key_and_may_hand_one_over(own_calls: Calls) -> None:
    tenant = own_calls.tenant
    for name, flags in (
        ("a", as_global()),
        ("b", as_global(is_=False)),
        ("c", as_global(is_=False)),
    ):
        id_ = await make_set(tenant, name, **flags)
        await put(tenant, id_, "region")
        await put(tenant, id_, f"only-{name}")
    wide = [SetEntry(name, is_global=True, at=f"f:{name}") for name in "abc"]
    place = f"Variable set {tenant.organization}"
    assert [told.partition(": ")[2][:30] for told in await refused(own_calls, variable_sets=wide)]
    faults = await refused(own_calls, variable_sets=wide[:2])
    assert faults[0].startswith(f"f:b: {place}/b: ")
    assert "region" in faults[0]
    assert "only" not in faults[0]
    handed = (wide[1], replace(wide[0], is_global=False))
    assert len(await apply(own_calls, variable_sets=handed)) == 2
    assert len(await applied(own_calls, wide[2])) == 3
    assert await reaching(own_calls, "network") == ["c"]


async def test_limits_of_sets_hold_for_a_file(own_calls: Calls, monkeypatch: Any) -> None:
    house = own_calls.services.directory._house
    limits = SetLimits.of(sets=2, of_target=1)
    monkeypatch.setattr(own_calls.services.directory, "_house", replace(house, limits=limits))
    three = tuple(SetEntry(name) for name in "abc")
    (told,) = await refused(own_calls, variable_sets=three, at="f:1")
    assert told == "f:1: An organization has at most 2 variable sets."
    attached = [replace(one, workspaces=("network", "payments")[n:]) for n, one in enumerate(three)]
    (told,) = await refused(own_calls, variable_sets=attached[:2])
    assert told == (
        "At most 1 variable sets are attached to a workspace, and more would be to payments."
    )
    assert await apply(own_calls, variable_sets=three[:2])
    # What goes leaves room for what comes.
    assert await applied(own_calls, *attached[1:]) == (
        "attach variable set b to workspace payments",
        "create variable set c",
        "delete variable set a",
    )
    handed = (replace(three[1], workspaces=()), replace(three[2], workspaces=("payments",)))
    assert len(await applied(own_calls, *handed)) == 2


async def test_a_set_with_variables_is_the_same_set_after_its_file(own_calls: Calls) -> None:
    """What an export says, applied to another store, makes the same but for what is in the sets."""
    tenant = own_calls.tenant
    await apply(own_calls, ProjectEntry("shop"), placed={"network": "shop"})
    id_ = await make_set(tenant, "Shop", "network", "payments", description="d\t\u202e")
    await put(tenant, id_, "region")
    before = await exported(own_calls)
    assert await apply(own_calls, variable_sets=before.variable_sets) == ()
    shown = await tenant.call("owner", "GET", vars_of(id_))
    assert [one["attributes"]["key"] for one in shown.json()["data"]] == ["region"]
    other = replace(before, name="elsewhere")
    directory = Directory(organizations=(other,))
    await own_calls.services.directory.apply(operator(), directory, Options())
    found = await own_calls.services.directory.export(["elsewhere"])
    assert found.directory.organizations == (other,)


async def got(calls: Calls, workspace: str) -> dict[str, str]:
    """Where a workspace has each of its keys from: the id of what counts."""
    path = f"/workspaces/{calls.tenant.workspaces[workspace]}/effective-vars"
    answer = await calls.tenant.call("owner", "GET", path)
    return {one["attributes"]["key"]: one["id"] for one in answer.json()["data"]}


async def test_a_dry_run_says_what_workspaces_gain_and_lose_as_it_then_happens(
    own_calls: Calls,
) -> None:
    tenant = own_calls.tenant
    await tenant.make_variable("region")
    await apply(own_calls, runners=(runner("ci"),))
    (proposal,) = await own_calls.services.approvals.proposals(operator())
    await approve(tenant, proposal.view.runner.id)
    for name, keys in {"a": "region zone", "b": "zone size", "c": "size"}.items():
        id_ = await make_set(tenant, name)
        for key in keys.split():
            await put(tenant, id_, key)
    steps: tuple[tuple[SetEntry, ...], ...] = (
        (SetEntry("a", workspaces=SPACES), SetEntry("c", is_global=True)),
        (SetEntry("a", is_priority=True), SetEntry("b", workspaces=("network",))),
        (SetEntry("b", is_priority=True, workspaces=SPACES),),
        (SetEntry("0b", origin=Origin("b")), SetEntry("a", workspaces=("payments",))),
        (SetEntry("c", is_global=False), SetEntry("0b", is_global=True, is_priority=False)),
    )
    for sets in steps:
        before = {space: await got(own_calls, space) for space in SPACES}
        entry = OrganizationEntry(tenant.organization, workspaces=SPACES, variable_sets=sets)
        file, dry = Directory(organizations=(entry,)), Options(dry_run=True)
        foreseen = await own_calls.services.directory.apply(operator(), file, dry)
        assert (await own_calls.services.directory.apply(operator(), file, Options())).effects == {}
        told = {
            one.workspace.name: [[*map(itemgetter(0), names)] for names in astuple(one)[1:4]]
            for one in foreseen.effects[tenant.organization]
        }
        handed = {one.workspace.name: one.runners for one in foreseen.effects[tenant.organization]}
        for space in SPACES:
            was, is_ = before[space], await got(own_calls, space)
            seen = [
                sorted(is_.keys() - was.keys()),
                sorted(key for key in is_.keys() & was.keys() if is_[key] != was[key]),
                sorted(was.keys() - is_.keys()),
            ]
            assert told.get(space, [[], [], []]) == seen
            is_handed = space == "network" and (seen[0] or seen[1])
            assert handed.get(space, ()) == (("ci",) if is_handed else ())
        assert told
    # An approval that nobody gave hands nothing out, whatever the database says.
    forged = "UPDATE runners SET approval_mac = $1"
    await own_calls.services.database.write(lambda tx: tx.execute(forged, bytes(32)))
    sets = (SetEntry("c", is_priority=True, workspaces=("network",)),)
    entry = OrganizationEntry(tenant.organization, workspaces=SPACES, variable_sets=sets)
    foreseen = await own_calls.services.directory.apply(
        operator(), Directory(organizations=(entry,)), Options(dry_run=True)
    )
    assert {one.runners for one in foreseen.effects[tenant.organization]} == {()}


async def test_sets_of_projects_and_sets_that_are_attached_to_them(own_calls: Calls) -> None:
    own = SetEntry("own", project="SHOP", projects=("shop",))
    wide = SetEntry("wide", projects=("core", "shop"))
    sets: dict[str, Any] = {"variable_sets": (own, wide), "placed": {"network": "shop"}}
    assert await apply(own_calls, *PROJECTS, **sets) == (
        "create project shop",
        "create project core",
        "move workspace network to project shop",
        "create variable set own",
        "attach variable set own to project shop",
        "create variable set wide",
        "attach variable set wide to project core",
        "attach variable set wide to project shop",
    )
    assert await apply(own_calls, *PROJECTS, **sets) == ()
    assert await reaching(own_calls, "network") == ["own", "wide"]
    assert await reaching(own_calls, "payments") == []
    assert (await exported(own_calls)).variable_sets == (
        SetEntry("own", project="shop", **{**EMPTY, "projects": ("shop",)}),
        SetEntry("wide", **{**EMPTY, "projects": ("core", "shop")}),
    )
    less = SetEntry("own", projects=()), SetEntry("wide", projects=("core",))
    assert await apply(own_calls, variable_sets=less) == (
        "detach variable set own from project shop",
        "detach variable set wide from project shop",
    )
    assert await reaching(own_calls, "network") == []


async def test_a_set_of_a_project_stays_in_it(own_calls: Calls) -> None:
    own = SetEntry("own", project="shop", workspaces=("network",), at="f:7")
    sets = {"variable_sets": (own,), "placed": {"network": "shop"}}
    await apply(own_calls, *PROJECTS, **sets)  # type: ignore[arg-type]
    place = f"Variable set {own_calls.tenant.organization}/own"
    cases = {
        "belongs to the organization or project": replace(own, project="core"),
        "reaches no more than the workspaces in it": replace(own, is_global=True),
        "Not in it: payments.": replace(own, workspaces=SPACES),
        "Not in it: core.": replace(own, projects=("core", "shop")),
        "there is no project mall.": replace(own, projects=("mall",)),
        "there is no project gone.": replace(own, project="gone"),
    }
    for said, other in cases.items():
        (told,) = await refused(own_calls, variable_sets=(other,))
        assert told.startswith(f"f:7: {place}: ")
        assert said in told
    moved: dict[str, Any] = {"placed": {"network": "core"}}
    assert await apply(own_calls, **moved) == (
        "move workspace network to project core",
        "detach variable set own from workspace network",
    )
    assert await apply(own_calls, **moved) == ()
    assert await reaching(own_calls, "network") == []
    with pytest.raises(Refusal) as raised:
        await applied(own_calls, SetEntry("own"), at="f:1", **moved)
    told_all = [one.detail for one in raised.value.faults]
    assert f"f:1: {place} is of a project that is not in the file." in told_all
    gone = await applied(own_calls, placed={"network": DEFAULT_NAME})
    assert {"delete variable set own", "delete project shop"} <= set(gone)
