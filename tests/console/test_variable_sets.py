"""Variable sets: made, filled and attached, and what workspaces show of them."""

import asyncio
from typing import Any

import pytest
from playwright.async_api import Locator, Route, expect

from tests.console.deliveries import propose
from tests.console.test_projects import give, make_project
from tests.console.visitors import PAINTED, Crowd, Site, Visitor, held, on_each_engine, overtaken
from tests.support.deployment import operator
from tests.support.tenant import Tenant, variable_document

EVERYWHERE = {"global": True}
FIRST = {"priority": True}
# However long it takes from one click to the next, it is less than what settles takes.
NOTHING_SETTLES = """(() => {
  const real = window.setTimeout;
  window.setTimeout = (act, ms, ...rest) => ms === 300 ? 0 : real(act, ms, ...rest);
})()"""


async def make_set(tenant: Tenant, name: str, *workspaces: str, **said: Any) -> str:
    """The id of a new set that is attached to these workspaces."""
    linked = [{"type": "workspaces", "id": tenant.workspaces[one]} for one in workspaces]
    data = {
        "type": "varsets",
        "attributes": {"name": name, **said},
        "relationships": {"workspaces": {"data": linked}},
    }
    path = f"/organizations/{tenant.organization}/varsets"
    answer = await tenant.call("owner", "POST", path, {"data": data})
    assert answer.status_code == 201, answer.text
    id_: str = answer.json()["data"]["id"]
    return id_


async def put(tenant: Tenant, set_id: str, key: str, value: str = "x", **said: Any) -> None:
    """A new variable of a set."""
    said = {"description": "", "category": "env", **said}
    document = variable_document(key=key, value=value, **said)
    path = f"/varsets/{set_id}/relationships/vars"
    assert (await tenant.call("owner", "POST", path, document)).is_success


async def gets(tenant: Tenant, workspace: str = "network") -> dict[str, str | None]:
    """What a workspace gets, by key."""
    path = f"/workspaces/{tenant.workspaces[workspace]}/all-vars"
    found = (await tenant.call("owner", "GET", path)).json()["data"]
    return {one["attributes"]["key"]: one["attributes"]["value"] for one in found}


def confirm(visitor: Visitor, text: str) -> Locator:
    """The button of the dialog."""
    return visitor.page.get_by_role("dialog").get_by_role("button", name=text, exact=True)


async def test_a_set_is_made_filled_attached_changed_and_deleted(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    visitor = await crowd.arrived(site, tenant, "varsets")
    page = visitor.page
    await page.get_by_text("A set has variables that several workspaces share").first.wait_for()
    await visitor.button("New variable set").click()
    form = page.get_by_role("form", name="A new variable set")
    await form.get_by_label("Name").fill(" ")
    await visitor.button("Create variable set").click()
    await expect(form.get_by_label("Name")).to_have_attribute("aria-invalid", "true")
    await form.get_by_label("Name").fill("Cloud account")
    await form.get_by_label("Description").fill("Of all shops")
    await visitor.button("Create variable set").click()
    await page.get_by_role("heading", level=1, name="Cloud account").wait_for()
    await page.locator(".about").get_by_text("Of all shops").wait_for()
    form = await visitor.add("REGION", "eu")
    await form.get_by_role("button", name="Add variable").click()
    await visitor.row("REGION").wait_for()

    await page.get_by_role("link", name="Attached to").click()
    await page.get_by_text("Attached to no workspace").first.wait_for()
    await visitor.button("Attach to workspaces").click()
    await page.get_by_label("Workspaces", exact=True).fill("network payments")
    await visitor.button("Attach …").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("2 workspaces gain a value.")
    await expect(dialog.locator("li")).to_have_text(["networkgets REGION", "paymentsgets REGION"])
    assert await gets(tenant) == {}
    await confirm(visitor, "Attach").click()
    await page.get_by_text("Attached to 2 workspaces").first.wait_for()
    assert await gets(tenant) == await gets(tenant, "payments") == {"REGION": "eu"}
    await visitor.button("Detach it from payments").click()
    await expect(dialog).to_contain_text("1 workspace loses a value.")
    await confirm(visitor, "Detach").click()
    await page.get_by_text("Attached to 1 workspace").first.wait_for()

    await page.get_by_role("link", name="Settings").click()
    form = page.get_by_role("form", name="Change the variable set")
    await form.get_by_label("Description").fill("Of all")
    await form.get_by_role("button", name="Save").click()  # no workspace gets anything else
    await page.get_by_role("status").get_by_text("The variable set is saved.").wait_for()
    await form.get_by_label("Global").check()
    await form.get_by_role("button", name="Save").click()
    await expect(dialog.locator("li")).to_have_text(["paymentsgets REGION"])
    await confirm(visitor, "Save").click()
    await page.locator(".workspace-head .badge").get_by_text("global").wait_for()
    await visitor.button("Delete variable set").click()
    await expect(dialog).to_contain_text("2 workspaces lose a value.")
    await dialog.get_by_label("Type the name to confirm").fill("Cloud account")
    await confirm(visitor, "Delete").click()
    await page.get_by_role("status").get_by_text("Cloud account is deleted.").wait_for()
    assert await gets(tenant) == {}


@on_each_engine
async def test_what_a_variable_of_a_set_does_to_workspaces_is_read_before_it_is_saved(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    set_id = await make_set(tenant, "Shared", "network")
    await put(tenant, set_id, "REGION", "eu")
    path = f"/varsets/{set_id}/relationships/vars"
    visitor = await crowd.arrived(site, tenant, f"varsets/{set_id}")
    dialog = visitor.page.get_by_role("dialog")
    form = await visitor.edit("REGION")
    await form.get_by_label("Value").fill("us")
    await form.get_by_role("button", name="Save").click()
    await expect(dialog.locator("li")).to_have_text(["networkgets another REGION"])
    await confirm(visitor, "Cancel").click()
    assert await gets(tenant) == {"REGION": "eu"}
    await form.get_by_label("Key").fill("ZONE")
    await form.get_by_role("button", name="Save").click()
    await expect(dialog.locator("li")).to_have_text(["networkgets ZONEloses REGION"])
    await confirm(visitor, "Save").click()
    await visitor.row("ZONE").wait_for()
    assert await gets(tenant) == {"ZONE": "us"}
    await visitor.button("Delete ZONE").click()
    await expect(dialog).to_contain_text("1 workspace loses a value.")
    (zone,) = (await tenant.call("owner", "GET", path)).json()["data"]
    document = {"data": {"type": "vars", "id": zone["id"], "attributes": {"value": "eu"}}}
    assert (await tenant.call("owner", "PATCH", f"{path}/{zone['id']}", document)).is_success
    await visitor.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await expect(visitor.row("ZONE")).to_contain_text("eu")
    await confirm(visitor, "Cancel").click()
    await expect(visitor.page.get_by_role("heading", level=1)).to_be_focused()
    await visitor.button("Delete ZONE").click()
    await confirm(visitor, "Delete").click()
    await visitor.button("Undo: ZONE").click()
    await visitor.button("Import").click()
    await visitor.page.get_by_label("Contents of the file").fill("ZONE=asia\n")
    await visitor.page.get_by_role("radio", name=".env").check()
    await visitor.button("Preview").click()
    await expect(dialog).to_contain_text("1 workspace gets another value.")


@pytest.mark.parametrize("workspaces", [[], ["network"]])
async def test_whoever_leaves_a_form_while_it_is_looked_at_sends_nothing_and_is_asked_nothing(
    sqlite_site: Site, crowd: Crowd, workspaces: list[str]
) -> None:
    tenant = await sqlite_site.tenant()
    set_id = await make_set(tenant, "Shared", *workspaces)
    await put(tenant, set_id, "REGION", "eu")
    visitor = await crowd.arrived(sqlite_site, tenant, f"varsets/{set_id}")
    page, sent = visitor.page, list[str]()
    page.on("request", lambda one: sent.append(one.method))
    form = await visitor.edit("REGION")
    await form.get_by_label("Value").fill("us")
    looks = "**/actions/apply"
    async with page.expect_response(looks), held(page, looks) as is_asked_for:
        await form.get_by_role("button", name="Save").click()
        await is_asked_for()
        await form.get_by_role("button", name="Cancel").click()
        await visitor.row("REGION").get_by_text("eu").wait_for()
    await page.evaluate("fetch('/healthz')")  # whatever the answer begins has begun by then
    assert "PATCH" not in sent
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_what_is_looked_at_before_it_is_saved_is_what_is_saved(
    sqlite_site: Site, crowd: Crowd
) -> None:
    """Nothing is typed on while the page is still asking for what looks at it."""
    tenant = await sqlite_site.tenant()
    set_id = await make_set(tenant, "Shared", "network")
    await put(tenant, set_id, "REGION", "eu")
    visitor = await crowd.arrived(sqlite_site, tenant, f"varsets/{set_id}")
    form = await visitor.edit("REGION")
    await form.get_by_label("Value").fill("us")
    async with held(visitor.page, "**/healthz") as is_asked_for:
        await visitor.page.keyboard.press("Control+Enter")
        await is_asked_for()
        await visitor.page.keyboard.type("x")
    await confirm(visitor, "Save").click()
    await form.wait_for(state="detached")
    assert await gets(tenant) == {"REGION": "us"}


@on_each_engine
async def test_a_workspace_shows_what_it_gets_from_sets_and_why_some_does_not_count(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    shared = await make_set(tenant, "Shared", "network")
    other = await make_set(tenant, "Towards", "network")
    first = await make_set(tenant, "First", "network", **FIRST)
    everywhere = await make_set(tenant, "Everywhere", **EVERYWHERE)
    for set_id in (shared, other, everywhere):
        await put(tenant, set_id, "REGION")
    await put(tenant, first, "LEVEL", "warn")
    await put(tenant, shared, "SECRET", "x", sensitive=True)
    await site.make(tenant, "LEVEL", "own-level")
    visitor = await crowd.member(site, tenant, "writer")
    rows = visitor.page.locator("table.variables tbody > tr")
    first_before_own = "a set with priority at the workspace comes before the workspace's own"
    here_before_all = "a set at the workspace comes before a global set"
    expected = [
        "LEVELfrom First",
        f"LEVELoverridden by First: {first_before_own}",
        "REGIONfrom Shared",
        "REGIONfrom Towardsoverridden by Shared: of two sets alike, its name comes first",
        f"REGIONfrom Everywhereoverridden by Shared: {here_before_all}",
        "SECRETfrom Shared",
    ]
    await expect(rows.locator("th")).to_have_text(expected)
    struck = "[...document.querySelectorAll('tr.beaten .name')].map((one) => one.textContent)"
    assert await visitor.page.evaluate(struck) == ["LEVEL", "REGION", "REGION"]
    # Only what is the workspace's own is changed there.
    await expect(visitor.page.locator("table").get_by_role("button", name="Delete")).to_have_count(
        1
    )
    await rows.filter(has_text="write-only").click()
    await expect(visitor.page.locator("tr.open")).to_have_count(0)

    await visitor.page.get_by_label("Filter variables").fill("everyWHERE")
    await expect(rows).to_have_count(1)
    await visitor.page.get_by_label("Filter variables").fill("")
    await visitor.page.get_by_role("link", name="Everywhere").click()
    await visitor.page.get_by_role("heading", level=1, name="Everywhere").wait_for()
    await expect(visitor.page.get_by_role("link", name="Settings")).to_have_count(0)
    await expect(visitor.page.locator("[data-adds]")).to_have_count(0)
    await visitor.button("Show REGION").wait_for()


async def test_what_a_workspace_has_itself_and_what_it_gets_follow_each_other(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    await put(tenant, await make_set(tenant, "Shared", "network"), "REGION", "theirs")
    visitor = await crowd.member(site, tenant)
    form = await visitor.add("REGION", "ours")
    await form.get_by_role("radio", name="env").check()
    await form.get_by_role("button", name="Add variable").click()
    beaten = visitor.page.locator("tr.beaten")
    await expect(beaten).to_contain_text("the workspace's own comes before a set at the workspace")
    await visitor.button("Delete REGION").click()
    await visitor.button("Delete now: REGION").click()
    await expect(beaten).to_have_count(0)
    await expect(visitor.row("REGION")).to_contain_text("theirs")
    # What others do to the set is seen when one comes back.
    await put(tenant, await make_set(tenant, "First", "network", **FIRST), "REGION", "first")
    await visitor.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await expect(beaten).to_contain_text("from Sharedoverridden by First")


async def test_what_is_read_twice_at_once_of_what_a_workspace_gets_is_shown(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    await put(tenant, await make_set(tenant, "Shared", "network"), "REGION", "theirs")
    visitor = await crowd.member(sqlite_site, tenant)
    page = visitor.page
    form = await visitor.add("REGION", "ours")
    await form.get_by_role("radio", name="env").check()
    asked: asyncio.Queue[Route] = asyncio.Queue()
    await page.route("**/workspaces/*/varsets?*", asked.put)
    await form.get_by_role("button", name="Add variable").click()
    first = await asked.get()
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    second = await asked.get()
    async with page.expect_event("requestfinished", lambda one: "/effective-vars" in one.url):
        await first.continue_()
    await page.evaluate(PAINTED)
    await second.continue_()
    await expect(page.locator("tr.beaten")).to_contain_text("the workspace's own comes before")


async def test_what_a_set_is_detached_from_comes_back_with_no_older_answer(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    set_id = await make_set(tenant, "Shared", "network", "payments")
    visitor = await crowd.arrived(sqlite_site, tenant, f"varsets/{set_id}/attached")
    page = visitor.page
    await visitor.button("Detach it from network").wait_for()
    async with overtaken(page, f"**/varsets/{set_id}?*") as is_answered:
        await visitor.button("Detach it from network").click()
        await is_answered()
        await visitor.button("Detach it from payments").click()
        await page.get_by_text("Attached to no workspace").wait_for()
    await expect(page.get_by_text("Attached to no workspace")).to_be_visible()


async def test_a_set_is_attached_to_a_project_and_the_runners_that_are_handed_it_are_named(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    await make_project(tenant, "Shop", "network")
    set_id = await make_set(tenant, "Shared")
    await put(tenant, set_id, "REGION")
    runner = await propose(tenant, "nightly")
    digest = (await tenant.call("owner", "GET", f"/runners/{runner}")).json()["data"]["attributes"]
    await site.served.services.approvals.approve(operator(), runner, digest["digest"])
    visitor = await crowd.arrived(site, tenant, f"varsets/{set_id}/attached")
    page = visitor.page
    await visitor.button("Attach to a project").click()
    await page.get_by_label("Project", exact=True).fill("shop")
    await visitor.button("Attach …").click()
    row = page.get_by_role("dialog").locator("li")
    await expect(row).to_have_text("networkgets REGIONhanded to nightly")
    await confirm(visitor, "Attach").click()
    await page.get_by_text("Attached to 1 project").first.wait_for()
    await page.get_by_role("link", name="Shop").click()
    await page.get_by_role("heading", level=1, name="Shop").wait_for()
    await page.get_by_role("link", name="Variable sets").click()
    await page.get_by_role("link", name="Shared").wait_for()

    await visitor.button("New variable set").click()
    form = page.get_by_role("form", name="A new variable set")
    await expect(form.get_by_label("Global")).to_be_hidden()
    await form.get_by_label("Name").fill("Its own")
    await visitor.button("Create variable set").click()
    await page.get_by_role("heading", level=1, name="Its own").wait_for()
    await page.get_by_role("link", name="of a project").click()
    await expect(page.get_by_role("link", name="Its own")).to_contain_text("of a project")
    await visitor.go(f"/{tenant.organization}/projects/{tenant.project}")
    await visitor.button("Move workspaces here").click()
    await page.get_by_label("Workspaces", exact=True).fill("network")
    await visitor.button("Move …").click()
    await expect(page.get_by_role("dialog")).to_contain_text("Some lose those of Shared.")


async def test_whoever_writes_the_sets_of_a_project_makes_one_there(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    shop, store = await make_project(tenant), await make_project(tenant, "Store")
    for project, access in ((shop, "admin"), (store, "maintain")):
        await give(tenant, project, "writers", access)
    visitor = await crowd.arrived(site, tenant, f"projects/{store}/varsets", "writer")
    await visitor.page.get_by_text("No variable set that you may see").wait_for()
    await visitor.go(f"/{tenant.organization}/projects/{shop}/varsets")
    await visitor.button("New variable set").click()
    form = visitor.page.get_by_role("form", name="A new variable set")
    await form.get_by_label("Name").fill("Its own")
    await visitor.button("Create variable set").click()
    await visitor.page.get_by_role("heading", level=1, name="Its own").wait_for()


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (
            500,
            '{"errors": [{"code": "damaged_value", "detail": "It is damaged."}]}',
            "It is damaged.",
        ),
        (504, "<h1>Gateway timeout</h1>", "Something between here and the server"),
    ],
)
async def test_a_set_whose_values_nobody_can_read_hides_nothing_of_the_workspace(
    sqlite_site: Site, crowd: Crowd, status: int, body: str, why: str
) -> None:
    tenant = await sqlite_site.tenant()
    await put(tenant, await make_set(tenant, "Shared", "network"), "REGION", "theirs")
    await sqlite_site.make(tenant, "OWN", "ours")
    visitor = await crowd.visitor(sqlite_site, tenant)
    await visitor.page.route(
        "**/effective-vars", lambda route: route.fulfill(status=status, body=body)
    )
    await visitor.go(f"/{tenant.organization}/workspaces/network")
    await visitor.sign_in("owner")
    await visitor.row("OWN").wait_for()
    told = visitor.page.get_by_role("status")
    await told.get_by_text(f"What comes from variable sets is not shown. {why}").wait_for()
    await visitor.page.unroute("**/effective-vars")
    await visitor.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await visitor.row("REGION").wait_for()
    await expect(told.get_by_text("is not shown")).to_have_count(0)


async def test_whoever_sees_a_global_set_reads_whom_its_sensitive_values_reach(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    set_id = await make_set(tenant, "Everywhere", **EVERYWHERE)
    await put(tenant, set_id, "OPEN", "x")
    visitor = await crowd.arrived(site, tenant, f"varsets/{set_id}")
    await visitor.row("OPEN").wait_for()
    warning = visitor.page.get_by_text("reach every runner of every workspace")
    await expect(warning).to_have_count(0)
    form = await visitor.add("TOKEN", "x")
    await form.get_by_label("Sensitive").check()
    await form.get_by_role("button", name="Add variable").click()
    await confirm(visitor, "Save").click()
    await expect(warning).to_have_count(1)
    await visitor.page.get_by_role("link", name="Attached to").click()
    await visitor.page.get_by_text("It is global").first.wait_for()


async def test_whoever_may_not_change_sets_sees_those_that_reach_them_and_no_way_to_change_one(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    await make_set(tenant, "Elsewhere", "payments")
    visitor = await crowd.arrived(site, tenant, "varsets", "reader")
    page = visitor.page
    await page.get_by_text("No variable set that you may see").first.wait_for()
    await expect(page.locator("[data-adds]")).to_have_count(0)
    set_id = await make_set(tenant, "Here", "network", "payments")
    await visitor.go(f"/{tenant.organization}/varsets")
    await page.get_by_role("link", name="Here").click()
    await page.get_by_role("link", name="Attached to").click()
    await page.get_by_role("link", name="network").wait_for()
    await expect(page.get_by_role("main")).not_to_contain_text("payments")
    await expect(page.get_by_role("button", name="Detach")).to_have_count(0)
    await visitor.go(f"/{tenant.organization}/varsets/{set_id}/settings")
    await page.get_by_role("heading", name="Nothing here").wait_for()


async def test_of_many_that_a_set_is_attached_to_some_are_shown_before_more_are_asked_for(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    set_id = await make_set(tenant, "Shared")
    linked = []
    for number in range(102):
        attributes = {"name": f"space-{number:03}"}
        data = {"type": "workspaces", "attributes": attributes}
        path = f"/organizations/{tenant.organization}/workspaces"
        answer = await tenant.call("owner", "POST", path, {"data": data})
        linked.append({"type": "workspaces", "id": answer.json()["data"]["id"]})
    path = f"/varsets/{set_id}/relationships/workspaces"
    assert (await tenant.call("owner", "POST", path, {"data": linked})).status_code == 204
    visitor = await crowd.arrived(site, tenant, f"varsets/{set_id}/attached")
    page = visitor.page
    rows = page.get_by_role("button", name="Detach it from")
    await page.get_by_text("Attached to 102 workspaces").first.wait_for()
    await expect(rows).to_have_count(100)
    await page.evaluate(NOTHING_SETTLES)
    await visitor.button("Show more").dblclick()  # the second is in the place of a row's link
    await expect(rows).to_have_count(102)
    await page.evaluate(PAINTED)
    assert page.url.endswith("/attached")
    await page.reload()
    await visitor.button("Show more").click()
    await expect(rows).to_have_count(102)
    await expect(visitor.button("Show more")).to_be_hidden()
    await visitor.button("Detach it from space-101").click()
    await page.get_by_text("Attached to 101 workspaces").first.wait_for()
    await page.get_by_label("Filter workspaces").fill("space-09")
    await expect(rows).to_have_count(10)
