"""Projects: made and changed, which workspaces are in them, and which teams have access."""

from typing import Any

from playwright.async_api import expect

from tests.console.visitors import Crowd, Site
from tests.support.tenant import Tenant


async def make_project(tenant: Tenant, name: str = "Shop", *workspaces: str) -> str:
    """The id of a new project with these workspaces."""
    path = f"/organizations/{tenant.organization}/projects"
    data = {"type": "projects", "attributes": {"name": name}}
    id_: str = (await tenant.call("owner", "POST", path, {"data": data})).json()["data"]["id"]
    linked = [{"type": "workspaces", "id": tenant.workspaces[one]} for one in workspaces]
    path = f"/projects/{id_}/relationships/workspaces"
    assert (await tenant.call("owner", "POST", path, {"data": linked})).is_success
    return id_


async def give(tenant: Tenant, project: str, team: str, access: str) -> None:
    """Gives a team access to a project."""
    related: dict[str, Any] = {
        "team": {"data": {"type": "teams", "id": tenant.teams[team]}},
        "project": {"data": {"type": "projects", "id": project}},
    }
    data = {"type": "team-projects", "attributes": {"access": access}, "relationships": related}
    assert (await tenant.call("owner", "POST", "/team-projects", {"data": data})).is_success


async def only_grant(tenant: Tenant, project: str) -> Any:
    """The one access that a team has to the project."""
    answer = await tenant.call("owner", "GET", f"/team-projects?filter[project][id]={project}")
    (grant,) = answer.json()["data"]
    return grant


async def change_access(tenant: Tenant, project: str, **attributes: object) -> None:
    """Changes that access, as somebody else does."""
    id_ = (await only_grant(tenant, project))["id"]
    data = {"type": "team-projects", "id": id_, "attributes": attributes}
    assert (await tenant.call("owner", "PATCH", f"/team-projects/{id_}", {"data": data})).is_success


async def test_a_team_shows_the_projects_that_it_has_access_to(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    await give(tenant, await make_project(tenant), "writers", "maintain")
    visitor = await crowd.arrived(
        site, tenant, f"teams/{tenant.teams['writers']}/workspaces", "writer"
    )
    row = visitor.page.locator("main ul.rows > li", has_text="Shop")
    await expect(row).to_have_text("Shopmaintainread and write")
    await row.get_by_role("link").click()
    await visitor.page.get_by_role("heading", level=1, name="Shop").wait_for()
    await visitor.page.get_by_role("link", name="writers").wait_for()
    await visitor.go(f"/{tenant.organization}/teams/{tenant.teams['readers']}/workspaces")
    await visitor.page.get_by_text("It has access to no project").wait_for()


async def test_a_project_is_made_renamed_and_deleted_once_no_workspace_is_in_it(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    visitor = await crowd.arrived(site, tenant, "projects")
    page = visitor.page
    await expect(page.get_by_role("link", name="Default Project")).to_contain_text("2 workspaces")
    await visitor.button("New project").click()
    form = page.get_by_role("form", name="A new project")
    await form.get_by_label("Name").fill("a/b")
    await visitor.button("Create project").click()
    await expect(form.get_by_label("Name")).to_have_attribute("aria-invalid", "true")
    await form.get_by_label("Name").fill("Shop")
    await visitor.button("Create project").click()
    await page.get_by_role("heading", level=1, name="Shop").wait_for()

    await page.get_by_role("link", name="Settings").click()
    form = page.get_by_role("form", name="Change the project")
    await form.get_by_label("Name").fill("Till")
    await form.get_by_label("Description").fill("Where people pay")
    await form.get_by_role("button", name="Save").click()
    await page.get_by_role("heading", level=1, name="Till").wait_for()
    await page.locator(".about").get_by_text("Where people pay").wait_for()
    await visitor.button("Delete project").click()
    await page.get_by_label("Type the name to confirm").fill("Till")
    await page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    await page.get_by_role("status").get_by_text("Till is deleted.").wait_for()

    await make_project(tenant, "Full", "payments")
    await visitor.go(f"/{tenant.organization}/projects")
    await page.get_by_role("link", name="Full").click()
    await page.get_by_role("heading", level=1, name="Full").wait_for()
    await page.get_by_role("link", name="Settings").click()
    await page.get_by_text("1 workspace is.").first.wait_for()
    await expect(visitor.button("Delete project")).to_have_count(0)
    await visitor.go(f"/{tenant.organization}/projects/{tenant.project}/settings")
    await page.get_by_text("It stays").first.wait_for()
    await expect(visitor.button("Delete project")).to_have_count(0)


async def test_who_gains_and_who_loses_is_read_before_workspaces_are_moved(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    shop = await make_project(tenant)
    await give(tenant, shop, "crew", "write")
    await give(tenant, tenant.project, "readers", "read")
    visitor = await crowd.arrived(sqlite_site, tenant, f"projects/{shop}")
    page = visitor.page
    await page.get_by_text("No workspace in it").first.wait_for()
    await visitor.button("Move workspaces here").click()
    names = page.get_by_label("Workspaces", exact=True)
    await names.fill("nowhere")
    await visitor.button("Move …").click()
    await page.get_by_text("There is no workspace nowhere.").first.wait_for()
    await names.fill("")
    await names.press_sequentially("pay", delay=20)
    await visitor.button("Take payments").click()
    await visitor.button("Move …").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("Move 1 workspace into Shop?")
    rows = dialog.locator("li")
    await expect(rows).to_have_count(2)
    for team, what in (
        ("crew", "gainsread and write instead of no access, in 1 workspace"),
        ("readers", "losesno access instead of read, in 1 workspace"),
    ):
        await expect(rows.filter(has_text=team)).to_have_text(team + what)
    await dialog.get_by_role("button", name="Cancel").click()
    await expect(names).to_have_value("payments\n")
    await visitor.button("Move …").click()
    await dialog.get_by_role("button", name="Move", exact=True).click()
    await page.get_by_text("1 workspace is in Shop now.").first.wait_for()
    await page.get_by_role("link", name="payments").click()

    await page.get_by_role("heading", level=1, name="payments").wait_for()
    await page.get_by_role("link", name="Settings").click()
    await expect(page.get_by_role("main")).to_contain_text("It is in Shop")
    await page.get_by_label("Project").fill("default project")
    await visitor.button("Move …").click()
    await expect(rows.filter(has_text="crew")).to_contain_text("loses")
    await dialog.get_by_role("button", name="Move", exact=True).click()
    await expect(page.get_by_role("main")).to_contain_text("It is in Default Project")
    await page.get_by_label("Project").fill("Default Project")
    await visitor.button("Move …").click()
    told = page.get_by_role("status").get_by_text("All of them are in Default Project already.")
    await told.wait_for()


async def test_what_others_have_made_of_the_access_is_told_and_seen(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    shop = await make_project(tenant)
    await give(tenant, shop, "crew", "custom")
    visitor = await crowd.arrived(sqlite_site, tenant, f"projects/{shop}/access")
    page = visitor.page
    change = visitor.button("Change the access of crew")
    form = page.get_by_role("form", name="Change the access")
    await change.click()
    await change_access(tenant, shop, access="write")
    sets = form.get_by_role("group", name="The project's own variable sets")
    await sets.get_by_role("radio", name="read", exact=True).check()
    await form.get_by_role("button", name="Save").click()
    await form.locator(".error").first.wait_for()
    await page.locator("ul.rows .badge").get_by_text("write", exact=True).wait_for()
    await form.get_by_role("button", name="Cancel").click()

    await change.click()
    await expect(form.get_by_role("radio", name="write", exact=True).first).to_be_checked()
    await change_access(tenant, shop, access="admin")
    await form.get_by_role("button", name="Save").click()
    await page.locator(".place").get_by_text("crew: admin").wait_for()


async def test_what_others_have_changed_of_the_access_is_not_changed_back(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    shop = await make_project(tenant)
    await give(tenant, shop, "crew", "custom")
    await change_access(tenant, shop, **{"workspace-access": {"variables": "write"}})
    visitor = await crowd.arrived(sqlite_site, tenant, f"projects/{shop}/access")
    await visitor.button("Change the access of crew").click()
    form = visitor.page.get_by_role("form", name="Change the access")
    sets = form.get_by_role("group", name="The project's own variable sets")
    await sets.get_by_role("radio", name="read", exact=True).check()
    await change_access(tenant, shop, **{"workspace-access": {"variables": "none"}})
    await form.get_by_role("button", name="Save").click()
    await expect(form).to_have_count(0)
    grant = await only_grant(tenant, shop)
    assert grant["attributes"]["project-access"]["variable-sets"] == "read"
    assert grant["attributes"]["workspace-access"]["variables"] == "none"


async def test_teams_are_given_access_to_a_project_by_its_levels_and_by_their_own(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    shop = await make_project(tenant)
    visitor = await crowd.arrived(sqlite_site, tenant, f"projects/{shop}/access")
    page = visitor.page
    await page.get_by_text("No team has access to the project yet").first.wait_for()
    await visitor.button("Give access").click()
    form = page.get_by_role("form", name="Give access")
    await form.get_by_label("Team").fill("nobody")
    await form.get_by_role("radio", name="maintain").check()
    await form.get_by_role("button", name="Give access").click()
    await expect(form.get_by_label("Team")).to_have_attribute("aria-invalid", "true")
    await form.get_by_label("Team").fill("CREW")
    await form.get_by_role("button", name="Give access").click()
    row = page.locator("ul.rows > li").filter(has_text="crew")
    await expect(row.locator(".badge")).to_have_text("maintain")
    await expect(row.locator(".may")).to_have_text("read and write")

    await visitor.button("Change the access of crew").click()
    form = page.get_by_role("form", name="Change the access")
    await expect(form.get_by_role("radio", name="maintain")).to_be_checked()
    await form.get_by_role("radio", name="custom").check()
    variables = form.get_by_role("group", name="Variables of its workspaces")
    await variables.get_by_role("radio", name="no access").check()
    sets = form.get_by_role("group", name="The project's own variable sets")
    await sets.get_by_role("radio", name="read and write").check()
    await form.get_by_role("button", name="Save").click()
    await expect(row.locator(".badge")).to_have_text("custom")
    await expect(row.locator(".may")).to_have_text("no access")

    path = f"/team-projects?filter[project][id]={shop}"
    (grant,) = (await tenant.call("owner", "GET", path)).json()["data"]
    assert grant["attributes"]["project-access"]["variable-sets"] == "write"
    await visitor.button("Remove the access of crew").click()
    await visitor.button("Take away").click()
    await page.get_by_text("No team has access to the project yet").first.wait_for()
    assert (await tenant.call("owner", "GET", path)).json()["data"] == []


async def test_whoever_may_not_change_projects_is_offered_nothing(site: Site, crowd: Crowd) -> None:
    tenant = await site.tenant()
    visitor = await crowd.arrived(site, tenant, "projects", "writer")
    page = visitor.page
    await page.get_by_role("link", name="Default Project").click()
    await page.get_by_role("link", name="network").wait_for()
    for name in ("Access", "Workspaces"):
        await page.get_by_role("link", name=name).click()
        await page.locator(f"[aria-current]:text('{name}')").wait_for()
        await expect(page.locator("[data-adds]")).to_have_count(0)
    await expect(page.get_by_role("link", name="Settings")).to_have_count(0)
    await visitor.go(f"/{tenant.organization}/projects/{tenant.project}/settings")
    await page.get_by_role("heading", name="Nothing here").wait_for()
    await visitor.go(f"/{tenant.organization}/projects")
    await page.get_by_role("link", name="Default Project").wait_for()
    await expect(visitor.button("New project")).to_have_count(0)


async def test_whoever_changes_a_name_changes_no_line_break_of_the_description(
    site: Site, crowd: Crowd
) -> None:
    tenant = await site.tenant()
    project, workspace = await make_project(tenant), tenant.workspaces["network"]
    places = {
        f"projects/{project}": ("projects", project, f"/projects/{project}"),
        "workspaces/network": ("workspaces", workspace, f"/workspaces/{workspace}"),
    }
    described = {"description": "first\r\nsecond"}
    for kind, id_, path in places.values():
        document = {"data": {"type": kind, "id": id_, "attributes": described}}
        assert (await tenant.call("owner", "PATCH", path, document)).is_success
    visitor = await crowd.arrived(site, tenant, "projects")
    for page, (_, _, path) in places.items():
        await visitor.go(f"/{tenant.organization}/{page}/settings")
        form = visitor.page.get_by_role("form", name="Change the")
        await form.get_by_label("Name").fill("another")
        await form.get_by_role("button", name="Save").click()
        await visitor.page.get_by_role("heading", level=1, name="another").wait_for()
        stored = (await tenant.call("owner", "GET", path)).json()["data"]["attributes"]
        assert (stored["name"], stored["description"]) == ("another", described["description"])
