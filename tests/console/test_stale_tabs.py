"""Forms of what is there already send what somebody has changed in them, and nothing else: others
may have changed the rest since the tab was opened.
"""

import json
from typing import Any

from playwright.async_api import Page, Request

from tests.console.deliveries import propose
from tests.console.test_projects import give, make_project
from tests.console.test_variable_sets import make_set
from tests.console.visitors import Crowd, Site


def watched(page: Page) -> list[dict[str, Any]]:
    """The resource objects that the page sends to change what is there."""
    sent: list[dict[str, Any]] = []

    def note(request: Request) -> None:
        if request.method == "PATCH":
            sent.append(json.loads(request.post_data or "{}")["data"])

    page.on("request", note)
    return sent


async def test_no_form_sends_what_nobody_has_changed_in_it(sqlite_site: Site, crowd: Crowd) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    shop = await make_project(tenant)
    await give(tenant, shop, "crew", "custom")
    set_id = await make_set(tenant, "Shared", "network")
    await propose(tenant, "backup")
    await site.make(tenant, "LEVEL", "info\r\nat first")
    forms = [
        ("settings", "", "Save"),
        ("workspaces/network", "Edit LEVEL", "Save"),
        ("workspaces/network/settings", "", "Save"),
        (f"projects/{shop}/settings", "", "Save"),
        (f"projects/{shop}/access", "Change the access of crew", "Save"),
        (f"varsets/{set_id}/settings", "", "Save"),
        (f"teams/{tenant.teams['crew']}", "Change team", "Save"),
        ("runners", "Change backup", "Propose"),
    ]
    visitor = await crowd.arrived(site, tenant, "teams")
    page = visitor.page
    sent = watched(page)
    for path, opens, sends in forms:
        await visitor.go(f"/{tenant.organization}/{path}")
        if opens:
            await visitor.button(opens).click()
        form = page.locator("main form").filter(has=visitor.button(sends))
        element = await form.element_handle()
        await form.get_by_role("button", name=sends).click()
        assert element is not None
        await element.wait_for_element_state("hidden")  # another is in its place, or none
    assert [one["attributes"] for one in sent] == [{}] * len(sent)
    assert not [one for one in sent if "relationships" in one]
