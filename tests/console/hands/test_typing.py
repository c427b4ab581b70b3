"""Nothing that is typed is lost, and nothing lands elsewhere."""

from selenium.webdriver.common.keys import Keys

from tests.console.hands.people import IN_ONE_BROWSER, LATER, Person

SCROLLED = "return document.querySelector('textarea').scrollTop"
PAGE_SCROLLED = "return scrollY"
PLACE = "return [...document.querySelectorAll('tbody tr')].findIndex((one) => one.matches('.open'))"
ROWS = "return Math.ceil(innerHeight / 40)"
DIALOGS = "return document.querySelectorAll('dialog').length"


async def test_coming_back_to_a_form_leaves_its_focus_caret_selection_and_scrolling(
    person: Person,
) -> None:
    for key in ("B", "C", "D"):
        await person.site.make(person.tenant, key, "a=b\nc=d\n" * 40 + "end")
    person.work()
    person.click("Edit D")
    person.fill("Description", "open as well")
    person.click("Edit C")
    person.enters("Value")
    person.press(Keys.END, holding=Keys.CONTROL)
    person.press(Keys.ARROW_LEFT, Keys.ARROW_LEFT, holding=Keys.SHIFT)
    person.sees()
    scrolled = person.run(SCROLLED)
    assert scrolled > 0
    # One before it, one behind it, and one beside it that is another now.
    await person.site.make(person.tenant, "A", "x")
    await person.site.make(person.tenant, "E", "x")
    person.comes_back()
    person.wait_for(lambda: person.find("button", "Edit A"))
    assert person.focus() == "Value"
    assert person.run(SCROLLED) == scrolled
    person.press("typed")
    assert person.value("Value").endswith("c=d\netyped")
    assert person.value("Description") == ""
    assert "open as well" in person.run(
        "return [...document.querySelectorAll('input')].map((one) => one.value)"
    )


async def test_the_focus_stays_on_a_button_whose_row_is_drawn_anew_or_moves(
    person: Person,
) -> None:
    ids = {key: await person.site.make(person.tenant, key, "x") for key in "BCD"}
    person.work()
    person.run("document.querySelector(`[aria-label='Edit C']`).focus()")
    assert person.focus() == "Edit C"
    for id_ in ids.values():
        document = {"data": {"type": "vars", "id": id_, "attributes": {"value": "another"}}}
        path = f"{person.tenant.vars_path()}/{id_}"
        assert (await person.tenant.call("owner", "PATCH", path, document)).is_success
    await person.site.make(person.tenant, "A", "x")
    person.comes_back()
    person.wait_for(lambda: person.find("button", "Edit A"))
    assert person.focus() == "Edit C"
    await person.tenant.call("owner", "DELETE", f"{person.tenant.vars_path()}/{ids['C']}")
    person.comes_back()
    person.wait_for(lambda: not person.find("button", "Edit C"))
    assert person.focus() == "network"  # and not on the button of another variable


async def test_a_form_stays_where_it_is_when_its_variable_is_deleted_or_filtered_out(
    person: Person,
) -> None:
    ids = {key: await person.site.make(person.tenant, key, "x") for key in "ABCD"}
    person.work()
    person.click("Edit C")
    person.press("typed")
    await person.tenant.call("owner", "DELETE", f"{person.tenant.vars_path()}/{ids['C']}")
    await person.tenant.call("owner", "DELETE", f"{person.tenant.vars_path()}/{ids['A']}")
    person.comes_back()
    person.wait_for(lambda: not person.find("button", "Edit A"))
    assert person.focus() == "Value"
    assert person.value("Value") == "xtyped"
    assert person.run(PLACE) == 1
    person.fill("Filter variables", "b")
    person.wait_for(lambda: not person.find("button", "Edit D"))
    assert person.run(PLACE) == 1
    assert person.value("Value") == "xtyped"


async def test_what_is_pasted_beside_a_form_or_is_one_line_opens_nothing(person: Person) -> None:
    await person.site.make(person.tenant, "COPIED", "a=secret\nb=secret")
    await person.site.make(person.tenant, "LINE", "a=secret")
    person.work()
    person.click("Edit LINE")
    person.enters("Value")
    person.press("a", "c", holding=Keys.CONTROL)
    person.click("Cancel")
    person.run("document.querySelector('h1').focus()")
    person.press("v", holding=Keys.CONTROL)
    assert person.run(DIALOGS) == 0

    person.click("Edit COPIED")
    person.enters("Value")
    person.press("a", "c", holding=Keys.CONTROL)
    person.run("document.querySelector('h1').focus()")
    person.press("v", holding=Keys.CONTROL)
    assert person.run(DIALOGS) == 0
    person.click("Cancel")
    person.run("document.querySelector('h1').focus()")
    person.press("v", holding=Keys.CONTROL)  # the control: several lines, and no form
    person.wait_for(lambda: person.value("Contents of the file") == "a=secret\nb=secret")


async def test_what_is_added_to_a_list_that_fills_the_window_has_the_focus(person: Person) -> None:
    person.work()
    for number in range(person.run(ROWS)):
        await person.site.make(person.tenant, f"A{number:03}", "x")
    person.driver.refresh()
    person.click("Add variable")
    person.fill("Key", "B")
    person.submit()
    person.reads("B is added.", "#notices")
    assert person.focus() == "Edit B"


async def test_while_a_save_is_under_way_nothing_can_be_typed_and_nothing_is_lost(
    person: Person,
) -> None:
    person.work()
    person.click("Add variable")
    person.fill("Key", "once")
    person.fill("Value", "sent")
    person.hold("/vars", "POST")
    person.press(Keys.ENTER, holding=Keys.CONTROL)
    person.wait_for(person.held)
    person.reads("Saving …", "form")
    scrolled = person.run(PAGE_SCROLLED)
    person.press("typed meanwhile")
    person.sees()
    assert person.run(PAGE_SCROLLED) == scrolled
    person.enters("Sensitive")
    assert person.value("Value") == "sent"
    assert not person.field("Sensitive").is_selected()
    person.press(Keys.ESCAPE)
    person.reads("may be saved all the same", "dialog")
    person.click("Stay")
    person.release("fail")
    person.reads("Nothing you typed is lost", "form")
    person.release()
    person.fill("Value", "sent and more")
    person.press(Keys.ENTER, holding=Keys.CONTROL)
    person.wait_for(lambda: person.find("button", "Edit once"))
    assert (await person.site.stored(person.tenant))["once"]["value"] == "sent and more"


@IN_ONE_BROWSER
async def test_a_refresh_that_fails_takes_no_letter_from_whoever_types(person: Person) -> None:
    await person.site.make(person.tenant, "region", "eu")
    person.work()
    person.click("Edit region")
    person.fill("Value", "half of ")
    person.hold("", "GET")  # also what would tell that the server is back
    person.comes_back()
    person.wait_for(person.held)
    person.press("the ")
    person.release("fail")
    person.reads("The server cannot be reached.", "#notices")
    person.press("letters")
    assert person.value("Value") == "half of the letters"
    assert person.run(DIALOGS) == 0


@IN_ONE_BROWSER
async def test_whoever_is_asked_in_time_stays_signed_in(person: Person) -> None:
    await person.site.make(person.tenant, "region", "eu")
    person.work()
    person.click("Edit region")
    person.fill("Value", "typed")
    for seconds in range(60, 29 * 60, 60):
        person.run(LATER, seconds)
    person.reads("In two minutes you are signed out", "#notices")
    person.click("Stay signed in")
    person.misses("signed out", "#notices")
    assert person.value("Value") == "typed"
