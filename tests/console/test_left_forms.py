"""Whoever leaves a form, or its page, while it looks for what it names, changes nothing by it. A
page that was left is seen until another one is there.
"""

import re
from dataclasses import dataclass

import pytest

from tests.console.test_projects import make_project
from tests.console.test_teams import username
from tests.console.visitors import Crowd, Site, held

STAYS_SEEN = """() => {
  const real = window.setTimeout;
  window.setTimeout = (act, ms) => (ms === 200 ? 0 : real(act, ms));
}"""
"""However long the next page takes, nothing says in its place that it is loaded."""
NEXT = re.compile(r"/organizations/[^/?]+$")
"""What the page of an organization's workspaces asks for."""


@dataclass(frozen=True)
class Form:
    """Where it is, what opens it, what is typed there, what sends it, and what it looks for."""

    path: str
    opens: str
    label: str
    typed: str
    sends: str
    looked: str


MEMBERS = Form(
    "teams/{crew}", "Add members", "Whom to add", "{reader}", "Add to the team", r"filter\[user\]="
)
INVITATIONS = Form(
    "members", "Invite", "E-mail addresses", "a@b.example c@d.example", "Invite", "memberships$"
)
RUNNER = Form(
    "runners", "Propose a runner", "Workspaces", "network", "Propose", "search.wildcard-name"
)
PROJECT = Form(
    "projects/{project}/access", "Give access", "Team", "crew", "Give access", "filter.names"
)
WORKSPACE = Form("workspaces/payments/access", "", "Team", "crew", "Give access", "filter.names")


@pytest.mark.parametrize(
    ("form", "way"),
    [
        *((one, "Cancel") for one in (MEMBERS, INVITATIONS, RUNNER, PROJECT)),
        *((one, "page") for one in (MEMBERS, INVITATIONS, RUNNER, PROJECT, WORKSPACE)),
    ],
    ids=lambda one: one if isinstance(one, str) else one.path.split("/")[0],
)
async def test_whoever_leaves_meanwhile_changes_nothing(
    sqlite_site: Site, crowd: Crowd, form: Form, way: str
) -> None:
    tenant = await sqlite_site.tenant()
    shop = await make_project(tenant)
    path = form.path.format(crew=tenant.teams["crew"], project=shop)
    visitor = await crowd.arrived(sqlite_site, tenant, path)
    page, sent = visitor.page, list[str]()
    if form.opens:
        await visitor.button(form.opens).click()
    sends = page.locator("form").get_by_role("button", name=form.sends, exact=True)
    typed = form.typed.format(reader=username(tenant, "reader"))
    await page.get_by_label(form.label, exact=True).fill(typed)
    looked = re.compile(form.looked)
    async with held(page, NEXT):
        async with page.expect_response(looked), held(page, looked) as is_asked_for:
            await sends.click()
            await is_asked_for()
            page.on("request", lambda one: sent.append(one.method))
            await page.evaluate(STAYS_SEEN)
            if way == "Cancel":
                await visitor.button("Cancel").click()
            else:
                where = page.get_by_role("navigation", name="Where you are")
                await where.get_by_role("link").first.click()
                if form.opens:
                    await visitor.button("Leave it").click()
        await page.evaluate("fetch('/healthz')")  # whatever the answer begins has begun by then
    assert set(sent) == {"GET"}
