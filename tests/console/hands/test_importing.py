"""What somebody says of a key when a file is imported holds for that key, whatever they do next."""

from selenium.webdriver.common.keys import Keys

from tests.console.hands.people import IN_ONE_BROWSER, Person

FILE = "DB_PASSWORD=a\nDB_HOST=b\nLEVEL=c\nPASSENGERS=4\n"


def ticked(person: Person) -> list[str]:
    """The keys that would be sensitive."""
    script = """return [...document.querySelectorAll("dialog .small")]
      .filter((one) => one.control.checked).map((one) => one.textContent)"""
    return [str(one).removeprefix("Sensitive: ") for one in person.run(script)]


def preview(person: Person, file: str) -> None:
    """Types a file into the dialog, and goes on to its preview."""
    person.click(".env", "label")
    person.fill("Contents of the file", file)
    person.click("Preview")
    person.wait_for(lambda: person.find("button", "Back"))


@IN_ONE_BROWSER
async def test_ticks_belong_to_keys_and_outlive_the_way_back(person: Person) -> None:
    await person.site.make(person.tenant, "API_TOKEN", "readable so far")
    person.work()
    person.click("Import")
    preview(person, FILE + "API_TOKEN=d\n")
    assert ticked(person) == ["DB_PASSWORD"]  # what is there already is for no suggestion
    person.click("Sensitive: DB_HOST", "label")
    person.click("Sensitive: DB_PASSWORD", "label")
    person.click("Back")
    preview(person, "FIRST=1\n" + FILE + "API_TOKEN=d\nMY_TOKEN=e\n")
    assert ticked(person) == ["DB_HOST", "MY_TOKEN"]
    person.click("Import LEVEL", "input")
    person.reads("5 new, 1 changed.", "dialog")
    person.click("Apply 6 changes")
    person.reads("Imported: 5 new, 1 changed.", "#notices")
    stored = await person.site.stored(person.tenant)
    assert {key for key, one in stored.items() if one["sensitive"]} == {"DB_HOST", "MY_TOKEN"}
    assert set(stored) == {"FIRST", "DB_PASSWORD", "DB_HOST", "PASSENGERS", "MY_TOKEN", "API_TOKEN"}


@IN_ONE_BROWSER
async def test_all_new_ones_are_made_sensitive_with_one_tick(person: Person) -> None:
    await person.site.make(person.tenant, "LEVEL", "readable so far")
    person.work()
    person.click("Import")
    preview(person, FILE)
    person.click("All new ones are sensitive", "label")
    assert ticked(person) == ["DB_PASSWORD", "DB_HOST", "PASSENGERS"]
    # What was suggested for a key that somebody has made meanwhile is no longer, and what a hand
    # has ticked is.
    await person.site.make(person.tenant, "DB_HOST", "theirs")
    person.click("Apply 4 changes")
    person.reads("Somebody has changed variables here", "dialog")
    person.click("Apply 4 changes")
    person.reads("Imported:", "#notices")
    stored = await person.site.stored(person.tenant)
    assert {key for key, one in stored.items() if not one["sensitive"]} == {"LEVEL"}


@IN_ONE_BROWSER
async def test_a_suggestion_changes_nothing_that_somebody_made_meanwhile(person: Person) -> None:
    person.work()
    person.click("Import")
    preview(person, "A_TOKEN=mine\nB_TOKEN=mine\n")
    assert ticked(person) == ["A_TOKEN", "B_TOKEN"]
    await person.site.make(person.tenant, "A_TOKEN", "theirs")
    person.click("Apply 2 changes")
    person.reads("Somebody has changed variables here", "dialog")
    assert ticked(person) == ["B_TOKEN"]
    person.click("Apply 2 changes")
    person.reads("Imported:", "#notices")
    stored = await person.site.stored(person.tenant)
    assert (stored["A_TOKEN"]["sensitive"], stored["A_TOKEN"]["value"]) == (False, "mine")


@IN_ONE_BROWSER
async def test_a_preview_shows_the_values_that_others_have_put_there(person: Person) -> None:
    """What is replaced is what somebody has seen, however long ago the page was loaded."""
    site, tenant = person.site, person.tenant
    level = await site.make(tenant, "LEVEL", "loaded")
    person.work()
    await site.change(tenant, level, value="theirs")
    person.click("Import")
    preview(person, "LEVEL=mine\nNEW=mine\nHIDDEN=typed\n")
    person.reads("theirs", "dialog .before")
    await site.change(tenant, level, value="theirs again")
    await site.make(tenant, "NEW", "also theirs")
    await site.make(tenant, "HIDDEN", "theirs", sensitive=True)
    person.click("Apply 3 changes")
    person.reads("Somebody has changed variables here", "dialog")
    person.reads("theirs again", "dialog")
    person.reads("also theirs", "dialog")
    person.misses("typed", "dialog tbody")


async def test_a_second_press_applies_nothing_that_nobody_has_seen(person: Person) -> None:
    """Whoever presses twice to see a preview, or to apply one, finds the dialog's heading there."""
    person.work()
    person.click("Import")
    preview(person, "LEVEL=mine\n")
    presses_for_nothing(person)
    await person.site.make(person.tenant, "LEVEL", "theirs")
    person.click("Apply 1 change")
    person.reads("Somebody has changed variables here", "dialog")
    presses_for_nothing(person)
    assert (await person.site.stored(person.tenant))["LEVEL"]["value"] == "theirs"


@IN_ONE_BROWSER
async def test_a_second_press_deletes_nothing_that_nobody_has_seen(person: Person) -> None:
    await person.site.make(person.tenant, "PSK", "x")
    person.enter("owner", f"/{person.tenant.organization}/workspaces?key=PSK")
    person.click("Choose all variables")
    person.click("Delete …")
    person.wait_for(lambda: person.find("button", "Delete: 1 variable in 1 workspace"))
    presses_for_nothing(person)
    assert "PSK" in await person.site.stored(person.tenant)
    person.click("Delete: 1 variable in 1 workspace")
    person.reads("1 variable in 1 workspace deleted.", "#notices")


def presses_for_nothing(person: Person) -> None:
    """What is pressed once more sends nothing."""
    person.sees()
    person.hold("/apply")
    person.press(Keys.ENTER)
    person.press(Keys.ENTER, holding=Keys.CONTROL)
    person.sees()
    assert person.held() == 0
    person.release()


@IN_ONE_BROWSER
async def test_a_copy_holds_to_the_versions_that_were_shown(person: Person) -> None:
    site, tenant = person.site, person.tenant
    await site.make(tenant, "LEVEL", "debug", workspace="network")
    await site.make(tenant, "REGION", "eu", workspace="network")
    person.work("owner", "payments")
    person.click("Copy from …")
    person.fill("From workspace", "network")
    person.click("Preview")
    person.wait_for(lambda: person.find("button", "Copy 2 variables"))
    await site.make(tenant, "REGION", "theirs", workspace="payments")
    person.click("Copy 2 variables")
    person.reads("Somebody has changed variables meanwhile", "dialog")
    assert set(await site.stored(tenant, "payments")) == {"REGION"}
    person.click("Copy 1 variable")
    person.reads("Copied: 1 new", "#notices")
    stored = await site.stored(tenant, "payments")
    assert (stored["REGION"]["value"], stored["LEVEL"]["value"]) == ("theirs", "debug")
