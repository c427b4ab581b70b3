"""What is deleted can be had back for ten seconds; what was done is said; all of it is found."""

from selenium.webdriver.common.keys import Keys

from tests.console.hands.people import IN_ONE_BROWSER, Person

ROWS = "return document.querySelectorAll('tbody tr').length"


async def has(person: Person, key: str) -> bool:
    """Whether there is such a variable."""
    return key in await person.site.stored(person.tenant)


async def test_a_variable_that_is_deleted_can_be_had_back(person: Person) -> None:
    await person.site.make(person.tenant, "PSK", "x", sensitive=True)
    person.work()
    person.click("Delete PSK")
    person.reads("Deleted in ten seconds", "table")
    assert person.focus() == "Undo: PSK"
    person.press(Keys.ENTER)
    person.misses("Deleted in ten seconds", "table")
    assert person.focus() == "Delete PSK"
    assert await has(person, "PSK")
    person.press(Keys.ENTER)
    person.click("Delete now: PSK")
    person.reads("PSK is deleted.", "#notices")
    assert not await has(person, "PSK")


async def test_whoever_leaves_the_page_deletes_at_once(person: Person) -> None:
    for key in ("A", "B", "C"):
        await person.site.make(person.tenant, key, "x")
    person.work()
    person.click("Delete A")
    person.click("Access")
    person.reads("Teams", "main h2")
    await person.gone("A")
    person.click("Variables")
    person.click("Delete B")
    person.go("/settings/tokens")
    await person.gone("B")
    person.driver.back()
    person.click("Delete C")
    person.click("Sign out")
    await person.gone("C")


@IN_ONE_BROWSER
async def test_what_somebody_has_changed_meanwhile_is_not_deleted_before_that_is_seen(
    person: Person,
) -> None:
    id_ = await person.site.make(person.tenant, "region", "eu")
    person.work()
    person.click("Delete region")
    document = {"data": {"type": "vars", "id": id_, "attributes": {"value": "us"}}}
    await person.tenant.call("owner", "PATCH", f"{person.tenant.vars_path()}/{id_}", document)
    person.click("Delete now: region")
    person.reads("region is not deleted. Somebody has changed it meanwhile.", "#notices")
    person.reads("us", "tbody .value")
    assert await has(person, "region")
    person.click("Delete region")
    person.click("Delete now: region")
    await person.gone("region")


@IN_ONE_BROWSER
async def test_what_is_added_under_a_filter_that_hides_it_is_seen_until_that_changes(
    person: Person,
) -> None:
    await person.site.make(person.tenant, "region", "eu")
    person.work()
    person.fill("Filter variables", "reg")
    person.click("Add variable")
    person.fill("Key", "LEVEL")
    person.click("Add variable", "form button")
    person.reads("LEVEL is added.", "#notices")
    person.wait_for(lambda: person.find("button", "Edit LEVEL"))
    person.comes_back()
    assert person.find("button", "Edit LEVEL")
    person.fill("Filter variables", "regi")
    person.wait_for(lambda: not person.find("button", "Edit LEVEL"))


@IN_ONE_BROWSER
async def test_blanks_at_the_ends_are_seen_and_asked_about(person: Person) -> None:
    person.work()
    person.click("Add variable")
    person.fill("Key", "TOKEN_URL")
    person.fill("Value", "https://example.com\n")
    person.click("Add variable", "form button")
    person.reads("It ends with a line end.", "dialog")
    person.click("Back to the form")
    assert not await has(person, "TOKEN_URL")
    person.click("Add variable", "form button")
    person.click("Save it so")
    person.reads("ends with a line end", "table")
    assert (await person.site.stored(person.tenant))["TOKEN_URL"]["value"].endswith("\n")


async def test_all_rows_of_a_long_list_are_found_and_printed(person: Person) -> None:
    items = [
        {"type": "vars", "attributes": {"key": f"KEY_{at:03}", "category": "env", "value": "x"}}
        for at in range(500)
    ]
    path = f"/workspaces/{person.tenant.workspaces['network']}/actions/apply"
    assert (await person.tenant.call("owner", "POST", path, {"data": items})).is_success
    person.work()
    person.wait_for(lambda: person.find("button", "Edit KEY_000"))
    person.run("dispatchEvent(new Event('beforeprint'))")
    assert person.run(ROWS) == 500
    person.fill("Filter variables", "KEY_1")
    person.press("f", holding=Keys.CONTROL)
    assert person.run(ROWS) == 100
    person.press(Keys.ESCAPE)
    person.fill("Filter variables", "KEY")
    person.wait_for(lambda: person.run(ROWS) == 500)
