"""What comes from variable sets, and what is asked about them, gets in nobody's way."""

from functools import partial

from selenium.webdriver.common.keys import Keys

from tests.console.hands.people import IN_ONE_BROWSER, Person
from tests.console.test_variable_sets import EVERYWHERE, FIRST, gets, make_set, put

FOCUSED = "return [document.activeElement.value, document.activeElement.selectionStart]"


async def test_rows_that_come_and_go_with_sets_leave_a_form_as_it_is(person: Person) -> None:
    tenant = person.tenant
    for key in ("LEVEL", "REGION"):
        await person.site.make(tenant, key, "own")
    person.work()
    person.click("Edit REGION")
    person.press("typed-")
    typed = person.run(FOCUSED)
    first = await make_set(tenant, "First", "network", **FIRST)
    for key in ("A", "LEVEL", "REGION", "Z"):
        await put(tenant, first, key)
    await put(tenant, await make_set(tenant, "Everywhere", **EVERYWHERE), "REGION")
    person.comes_back()
    person.reads("from Everywhere", "table")
    assert person.run(FOCUSED) == typed
    person.press("on")
    assert "typed-" in person.value("Value")
    assert len(person.value("Value")) == len("own" + "typed-" + "on")


@IN_ONE_BROWSER
async def test_nothing_is_attached_before_somebody_has_read_what_that_does(person: Person) -> None:
    tenant = person.tenant
    set_id = await make_set(tenant, "Shared")
    await put(tenant, set_id, "REGION", "eu")
    person.enter("owner", f"/{tenant.organization}/varsets/{set_id}/attached")
    person.click("Attach to workspaces")
    person.press("network")
    person.hold("/relationships/workspaces")
    person.submit()
    person.wait_for(person.held)
    person.press("more")  # what is asked about stays as it is
    assert person.value("Workspaces") == "network"
    person.release()
    person.reads("1 workspace gains a value.", "dialog")
    person.press("typed on\n")
    assert await gets(tenant) == {}
    person.click("Cancel")
    person.submit()
    person.click("Attach")
    person.reads("Attached to 1 workspace", "main")
    assert await gets(tenant) == {"REGION": "eu"}


@IN_ONE_BROWSER
async def test_no_question_opens_over_whoever_types_elsewhere_by_then(person: Person) -> None:
    tenant = person.tenant
    set_id = await make_set(tenant, "Shared")
    await put(tenant, set_id, "REGION", "eu")
    person.enter("owner", f"/{tenant.organization}/varsets/{set_id}/attached")
    person.click("Attach to workspaces")
    person.press("network")
    person.hold("/relationships/workspaces")
    person.submit()
    person.wait_for(person.held)
    person.fill("Filter workspaces", "ne")
    person.release()
    person.reads("Nothing was sent, since you went on elsewhere", "form")
    person.press("t")
    assert person.value("Filter workspaces") == "net"
    assert person.find("dialog", "") is None
    assert await gets(tenant) == {}


async def test_what_is_inherited_is_passed_by_the_arrows_and_opened_by_its_set(
    person: Person,
) -> None:
    tenant = person.tenant
    await person.site.make(tenant, "A", "own")
    await put(tenant, await make_set(tenant, "Shared", "network"), "B")
    person.work()
    person.click("Filter variables", "input")
    person.press(*"\ue015" * 2)
    person.wait_for(lambda: person.focus() == "Shared")
    person.press("\ue007")
    person.wait_for(partial(person.find, "h1", "Shared"))


async def test_escape_and_back_lead_to_where_one_was(person: Person) -> None:
    organization = person.tenant.organization
    person.enter("owner", f"/{organization}/projects")
    person.reads("Default Project")
    person.press("n")
    person.wait_for(lambda: person.focus() == "Name")
    person.press(Keys.ESCAPE)
    person.wait_for(lambda: person.focus() == "New project")
    person.click("Variable sets")
    person.reads("No variable set yet")
    person.driver.back()
    person.reads("Default Project")
    person.wait_for(lambda: person.focus() == organization)
