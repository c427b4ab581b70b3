"""What people do every day, and what it costs them: a click is a pointer's or an Enter's."""

import re
from functools import partial

from selenium.webdriver.common.keys import Keys

from tests.console.deliveries import hand_out, propose
from tests.console.hands.people import IN_ONE_BROWSER, Person
from tests.console.visitors import WHEN


async def test_a_variable_is_changed(person: Person) -> None:
    await person.site.make(person.tenant, "region", "eu")
    person.work()
    with person.counting(3):
        person.click("Edit region")
        person.press("a", holding=Keys.CONTROL)
        person.press("us")
        person.submit()
        person.reads("us", "tbody .value")
    assert (await person.site.stored(person.tenant))["region"]["value"] == "us"


async def test_whoever_has_a_token_signs_in_and_stays_so_in_this_tab(person: Person) -> None:
    person.go(f"/{person.tenant.organization}/workspaces/network")
    person.fill("Token", person.tenant.tokens["writer"])
    person.press(Keys.ENTER)
    person.reads("network", "h1")
    person.driver.refresh()
    person.reads("network", "h1")


async def test_an_owner_of_nothing_makes_a_workspace_with_two_variables(person: Person) -> None:
    tenant = person.tenant
    for id_ in tenant.workspaces.values():
        await tenant.call("owner", "DELETE", f"/workspaces/{id_}")
    person.enter("owner", "/")
    person.reads("Begin with one", "main")
    with person.counting(8):
        person.click("New workspace")
        person.wait_for(lambda: person.focus() == "Name")
        person.press("checkout")
        person.submit()
        person.reads("checkout", "h1")
        for key in ("REGION", "LEVEL"):
            person.click("Add variable")
            person.press(key)
            person.tab_to("Value")
            person.press("x")
            person.submit()
            person.wait_for(partial(person.find, "button", f"Edit {key}"))
    path = f"/organizations/{tenant.organization}/workspaces"
    (made,) = (await tenant.call("owner", "GET", path)).json()["data"]
    assert (made["attributes"]["name"], made["attributes"]["variables-count"]) == ("checkout", 2)


async def test_two_people_are_invited_into_a_team(person: Person) -> None:
    tenant = person.tenant
    addresses = [f"{who}@{tenant.organization}.example" for who in ("ann", "ben")]
    person.enter("owner", f"/{tenant.organization}/members")
    with person.counting(6):
        person.click("Invite")
        person.press(" ".join(addresses))
        person.click("crew", "label")
        person.submit()
        person.reads(f"Invited: {', '.join(addresses)}", "main")
    assert len(await tenant.members("crew")) == 2


async def test_who_changed_a_variable_and_who_sees_it_is_found(person: Person) -> None:
    await person.site.make(person.tenant, "DB_URL", "x", sensitive=True)
    person.enter("owner", f"/{person.tenant.organization}/workspaces")
    with person.counting(4):
        person.fill("Find a key anywhere", "DB_U")
        person.wait_for(lambda: "DB_URL" in person.text("main"))
        person.press(Keys.ARROW_DOWN, Keys.ENTER)
        person.clicks.append("Enter")
        person.click("Edit DB_URL")
        person.reads("No runner was handed it.", "form")
        person.click("Who changed it")
        person.reads("owner-", "main ol")
        person.click("Access")
        person.reads("through owners", "main")


async def test_what_was_found_keeps_the_focus_while_more_of_a_key_is_looked_for(
    person: Person,
) -> None:
    for key in ("DB_NAME", "DB_URL"):
        await person.site.make(person.tenant, key, "x")
    person.enter("owner", f"/{person.tenant.organization}/workspaces")
    person.fill("Find a key anywhere", "DB_")
    person.reads("DB_NAME", "main")
    person.hold("q=DB_U", "GET")
    person.press("U")
    person.wait_for(lambda: person.held())
    person.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    focus = person.focus()
    assert focus.startswith("DB_URL")
    person.release()
    person.misses("DB_NAME", "main")
    assert person.focus() == focus
    person.press(Keys.ENTER)
    person.click("Edit DB_URL")


async def test_a_key_is_set_in_a_workspace_that_is_named_and_in_those_that_are_ticked(
    person: Person,
) -> None:
    person.enter("owner", f"/{person.tenant.organization}/workspaces")
    with person.counting(5):
        person.click("Set a key …")
        person.wait_for(lambda: person.focus() == "Key")
        person.press("LEVEL")
        person.tab_to("Value")
        person.press("debug")
        person.tab_to("Workspaces")
        person.press("network")
        person.submit()
        person.click("Set: 1 variable in 1 workspace")
        person.reads("1 variable in 1 workspace set.", "body")
    assert (await person.site.stored(person.tenant))["LEVEL"]["value"] == "debug"
    with person.counting(5):
        person.click("Choose all workspaces")
        person.click("Set a key in 2 workspaces …")
        person.wait_for(lambda: person.focus() == "Key")
        person.press("LEVEL")
        person.tab_to("Value")
        person.press("info")
        person.submit()
        person.click("Set: 2 variables in 2 workspaces")
        person.reads("2 variables in 2 workspaces set.", "body")
    for workspace in ("network", "payments"):
        assert (await person.site.stored(person.tenant, workspace))["LEVEL"]["value"] == "info"


@IN_ONE_BROWSER
async def test_what_others_have_made_is_compared_once_one_comes_back(person: Person) -> None:
    await person.site.make(person.tenant, "HERE", "x")
    person.enter("owner", f"/{person.tenant.organization}/workspaces/network/compare?with=payments")
    person.reads("HERE", "main")
    await person.site.make(person.tenant, "LATER", "x", "payments")
    person.comes_back()
    person.reads("LATER", "main")


@IN_ONE_BROWSER
async def test_who_was_handed_a_secret_is_found(person: Person) -> None:
    tenant = person.tenant
    id_ = await person.site.make(tenant, "PSK", "x", sensitive=True)
    runner = await propose(tenant, "nightly")
    await hand_out(person.site, tenant, runner, 2, {id_: "v"})
    person.enter("owner", f"/{tenant.organization}/workspaces")
    with person.counting(3):
        person.fill("Find a key anywhere", "PSK")
        person.wait_for(lambda: "write-only" in person.text("main"))
        person.press(Keys.ARROW_DOWN, Keys.ENTER)
        person.clicks.append("Enter")
        person.click("Edit PSK")
        person.reads("Last handed to nightly", "form")
        assert re.search(rf"Last handed to nightly {WHEN}, the run", person.text("form"))


async def test_single_keys_act_while_nobody_types(person: Person) -> None:
    for key in ("A", "B"):
        await person.site.make(person.tenant, key, "x")
    person.work()
    person.press("/")
    assert person.focus() == "Filter variables"
    person.press("/n?")
    assert person.value("Filter variables") == "/n?"
    person.press(Keys.BACKSPACE * 3, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert person.focus() == "Edit B"
    person.press(Keys.ARROW_UP, Keys.ENTER)
    person.press("typed", Keys.ESCAPE)
    person.click("Stay")
    assert person.value("Value") == "xtyped"
    person.press(Keys.ESCAPE)
    person.click("Leave it")
    person.wait_for(lambda: person.focus() == "Edit A")
    person.press("n")
    person.press("n")
    assert person.value("Key") == "n"
    person.click("network", "h1")
    person.press("n?")  # the form is open: nothing else opens, and nothing is asked
    person.wait_for(lambda: person.find("button", "Close"))
    person.click("Single keys act", "label")
    person.click("Close")
    person.press("?/")
    assert person.focus() == "network"
    assert person.value("Key") == "n"


async def test_a_row_opens_where_it_is_clicked(person: Person) -> None:
    await person.site.make(person.tenant, "region", "eu")
    person.work()
    person.click("region", "tbody bdi")
    person.wait_for(lambda: person.focus() == "Value")
