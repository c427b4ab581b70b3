"""Whoever means harm to a typing person: no letter, no tick and no click lands elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.console.hands.people import IN_ONE_BROWSER, Person

FORMS = "return document.querySelectorAll('main form').length"
DIALOGS = "return document.querySelectorAll('dialog').length"
SETTLES = "return document.querySelector('.veil')"
SUGGESTED = "return document.querySelector('.suggested button')"
CATEGORY = "return document.querySelector('main form .choice input:checked').value"
PASTED = """
const [text, button] = arguments;
const paste = new Event("paste", { bubbles: true, cancelable: true });
Object.defineProperty(paste, "clipboardData", { value: { getData: () => text } });
const main = document.querySelector("main");
main.dispatchEvent(new MouseEvent("mousedown", { button, bubbles: true }));
main.dispatchEvent(paste);
"""
# A key that is held goes on where the focus is by then.
HELD = """
const press = (repeat) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown",
  { key: arguments[0], repeat, bubbles: true, cancelable: true }));
press(false);
arguments[1]?.click();
return press(true);
"""
SCROLLED = "return scrollY"
LONGER_THAN_THE_WINDOW = "document.body.style.minHeight = '300vh'"
# However long the host takes, whoever has typed is still typing.
STANDS_STILL = "const now = performance.now(); performance.now = () => now;"
# However long it takes from the first click to the second, it is less than what settles takes.
UNSETTLED = """
const real = window.setTimeout;
const waiting = [];
window.setTimeout = (act, ms, ...rest) =>
  ms === 300 ? (waiting.push(act), 0) : real(act, ms, ...rest);
window.goOn = () => {
  window.setTimeout = real;
  for (const act of waiting) act();
};
"""
CLICKS = """
const [name, times] = arguments;
const link = [...document.links].find((one) => one.textContent === name);
for (let at = 0; at < times; at++) link.click();
"""
TYPES = """
const [label, text] = arguments;
const field = document.querySelector(`[aria-label="${label}"]`);
field.value = text;
field.dispatchEvent(new Event("input", { bubbles: true }));
"""
TYPES_ON = """
const real = performance.now.bind(performance);
performance.now = () => real() + 1000 * arguments[0];
"""


def twice(person: Person, name: str) -> None:
    """Two clicks in the place of what has that name, as fast as they come."""
    person.wait_for(lambda: not person.run(SETTLES))
    element = person.wait_for(lambda: person.find("button, a[href], label, bdi", name))
    person.run(UNSETTLED)
    ActionChains(person.driver).double_click(element).perform()
    person.run("goOn()")


@contextmanager
def at_once(person: Person) -> Iterator[None]:
    """What is in the block is done before anything that has come with it has settled."""
    person.wait_for(lambda: not person.run(SETTLES))
    person.run(UNSETTLED)
    yield
    person.run("goOn()")


def land(person: Person, name: str, kind: str = "button, label") -> None:
    """A click, meant for what was there before, in the place where that stands by now."""
    element = person.wait_for(lambda: person.find(kind, name))
    ActionChains(person.driver).move_to_element(element).click().perform()


def click_twice(person: Person, name: str, beneath: str) -> None:
    """A double click, the second of which falls on what stands there by then."""
    person.click(name)
    land(person, beneath)


async def test_an_answer_takes_no_focus_from_whoever_has_gone_on(person: Person) -> None:
    for key in ("C", "D"):
        await person.site.make(person.tenant, key, "x")
    person.work()
    person.click("Edit D")
    person.fill("Value", "saved")
    person.hold("/vars", "PATCH")
    person.submit()
    person.wait_for(person.held)
    person.click("Edit C")
    person.press("half of ")
    person.release()
    person.reads("saved", "tbody .value")
    person.press("the letters")
    assert person.value("Value") == "xhalf of the letters"
    person.press(Keys.ESCAPE)
    person.click("Leave it")

    person.fill("Filter variables", "")
    person.hold("/vars", "POST")
    person.click("Add variable")
    person.fill("Key", "two words")
    person.submit()
    person.wait_for(person.held)
    person.fill("Filter variables", "half of ")
    person.release()
    person.reads("white space", "form")
    person.press("the letters")
    assert person.value("Filter variables") == "half of the letters"
    assert person.value("Key") == "two words"


async def test_a_dialog_that_comes_late_does_not_open_over_whoever_types(person: Person) -> None:
    person.enter("owner", f"/{person.tenant.organization}/workspaces/network/settings")
    person.hold("/access", "GET")
    person.click("Delete workspace")
    person.wait_for(person.held)
    person.fill("Description", "half of ")
    person.release()
    person.sees()
    person.press("the letters")
    assert person.value("Description") == "half of the letters"
    assert person.run(DIALOGS) == 0
    person.click("Delete workspace")  # the control
    person.wait_for(lambda: person.focus() == "Type the name to confirm")


@IN_ONE_BROWSER
async def test_a_token_that_ends_takes_no_letter_of_a_value(person: Person) -> None:
    tenant = person.tenant
    person.work()
    person.run(STANDS_STILL)
    person.click("Add variable")
    person.fill("Key", "PSK")
    person.fill("Value", "half of ")
    mine = f"/users/{tenant.users['writer']}/authentication-tokens"
    (token,) = (await tenant.call("writer", "GET", mine)).json()["data"]
    made = (await tenant.call("writer", "POST", mine, {})).json()["data"]["attributes"]["token"]
    await tenant.call("writer", "DELETE", f"/authentication-tokens/{token['id']}")
    person.comes_back()
    person.reads("The token is no longer valid")
    person.run(LONGER_THAN_THE_WINDOW)
    person.press("n", "?", "the letters")
    person.sees()
    assert person.run(SCROLLED) == 0  # by the blank: the field stays where it is clicked
    assert person.value("Token") == ""
    assert person.run(DIALOGS) == 0
    person.fill("Token", made)
    person.press(Keys.ENTER)
    person.wait_for(lambda: person.focus() == "Value")
    assert person.value("Value") == "half of "


async def test_the_second_of_two_clicks_is_not_for_what_the_first_one_brought(
    person: Person,
) -> None:
    for key in "ABC":
        await person.site.make(person.tenant, key, "x")
    person.work()
    for key in "AC":
        twice(person, key)  # it opens where the first one was
        assert person.focus() == "Value"
        assert person.run(CATEGORY) == "env"
        person.click("Cancel")
    twice(person, "Delete C")
    assert person.focus() == "Undo: C"
    assert "C" in await person.site.stored(person.tenant)
    person.click("Undo: C")


async def test_a_page_a_form_and_a_dialog_that_have_just_come_or_gone_take_no_click(
    person: Person,
) -> None:
    await person.site.make(person.tenant, "A", "x")
    person.enter("writer", f"/{person.tenant.organization}/workspaces")
    with at_once(person):
        person.click("network", "a bdi")
        land(person, "Add variable")
        assert person.run(FORMS) == 0
    with at_once(person):
        click_twice(person, "Add variable", "env")
        assert person.run(CATEGORY) == "tool"
    with at_once(person):
        click_twice(person, "Cancel", "Edit A")
        assert person.run(FORMS) == 0
    person.click("Import")
    person.wait_for(lambda: person.run(DIALOGS))
    with at_once(person):
        person.press(Keys.ESCAPE)
        land(person, "Edit A")
        assert person.run(FORMS) == 0


@IN_ONE_BROWSER
async def test_what_an_answer_has_brought_takes_no_click_before_it_was_seen(
    person: Person,
) -> None:
    id_ = await person.site.make(person.tenant, "A", "x")
    await person.site.make(person.tenant, "C", "x", "payments")
    person.work("owner")
    person.click("Edit A")
    person.fill("Value", "mine")
    await person.site.change(person.tenant, id_, value="theirs")
    with at_once(person):
        click_twice(person, "Save", "Save mine")
        assert person.find("button", "Save mine")
    with at_once(person):
        click_twice(person, "Back to the form", "Cancel")
        assert person.value("Value") == "mine"
    person.press(Keys.ESCAPE)
    person.click("Leave it")

    person.click("Import")
    person.click(".env", "label")
    person.fill("Contents of the file", "B=1\n")
    with at_once(person):
        click_twice(person, "Preview", "Apply 1 change")
        assert person.find("button", "Apply 1 change")
    with at_once(person):
        click_twice(person, "Back", "Cancel")
        assert person.value("Contents of the file") == "B=1\n"
    assert "B" not in await person.site.stored(person.tenant)
    person.press(Keys.ESCAPE)
    person.click("Leave it")

    person.click("Copy from …")
    person.fill("From workspace", "payments")
    person.click("Preview")
    person.wait_for(lambda: person.find("button", "Back"))
    with at_once(person):
        click_twice(person, "Back", "Cancel")
        assert person.value("From workspace") == "payments"
        assert person.focus() == "From workspace"


async def test_a_link_that_is_clicked_twice_is_left_by_going_back_once(person: Person) -> None:
    person.enter("writer", f"/{person.tenant.organization}/workspaces")
    person.wait_for(lambda: person.find("a", "Teams"))
    person.run(CLICKS, "Teams", 2)
    person.wait_for(lambda: person.find("a", "writers2 members"))
    person.driver.back()
    person.wait_for(lambda: person.find("input", "Find a key anywhere"))


@IN_ONE_BROWSER
async def test_what_is_typed_last_stands_in_no_address_of_another_page(person: Person) -> None:
    person.enter("writer", f"/{person.tenant.organization}/workspaces")
    person.hold("/teams", "GET")
    person.wait_for(lambda: person.find("a", "Teams"))
    person.run(TYPES, "Filter by name", "net")
    person.run(CLICKS, "Teams", 1)
    person.reads("Loading …")
    person.release()
    person.wait_for(lambda: person.find("a", "Members"))
    assert person.run("return location.search") == ""


@IN_ONE_BROWSER
async def test_what_moves_by_itself_takes_no_click_at_once(person: Person) -> None:
    """A row comes under the finger that was meant for another."""
    for key in ("B", "C"):
        await person.site.make(person.tenant, key, "x")
    person.work()
    person.run(f"setInterval(() => window.moved ||= (() => {{ {SETTLES} }})())")
    await person.site.make(person.tenant, "A", "x")
    person.comes_back()
    person.wait_for(lambda: person.find("button", "Edit A"))
    person.wait_for(lambda: person.run("return Boolean(window.moved)"))
    person.click("Edit A")
    person.wait_for(lambda: person.focus() == "Value")


async def test_whoever_filters_goes_on_into_a_list_below_the_window(person: Person) -> None:
    """As where a page is enlarged: its rows come when nobody types, but not the first one."""
    await person.site.make(person.tenant, "A", "x")
    person.work()
    person.run("document.querySelector('table').style.marginTop = '200vh'")
    person.enters("Filter variables")
    person.press("a", Keys.ARROW_DOWN)
    assert person.focus() == "Edit A"


@IN_ONE_BROWSER
async def test_single_keys_wait_until_whoever_types_has_stopped(person: Person) -> None:
    """The field that they typed in may be gone."""
    person.work()
    person.run(STANDS_STILL)
    person.fill("Filter variables", "so")
    person.run("document.querySelector('h1').focus()")
    person.press("n?/")
    assert (person.focus(), person.run(FORMS), person.run(DIALOGS)) == ("network", 0, 0)
    person.run(TYPES_ON, 5)
    person.press("n")
    person.wait_for(lambda: person.focus() == "Key")


@IN_ONE_BROWSER
async def test_a_key_that_is_held_goes_on_nowhere_else(person: Person) -> None:
    await person.site.make(person.tenant, "A", "x")
    person.work()
    for key in (Keys.ENTER, "n"):
        name = {"n": "n"}.get(key, "Enter")
        edit = person.wait_for(lambda: person.find("button", "Edit A"))
        edit.parent.execute_script("arguments[0].focus()", edit)
        assert person.run(HELD, name, edit) is False
        assert person.focus() == "Value"
        assert person.run(HELD, name, None) is True  # the control: where it was pressed
        person.click("Cancel")


@IN_ONE_BROWSER
async def test_a_wheel_that_is_pressed_pastes_nothing(person: Person) -> None:
    """Some systems paste so what was selected last, in any program."""
    person.work()
    person.run(PASTED, "a=secret\nb=secret", 1)
    assert person.run(DIALOGS) == 0
    person.run(PASTED, "a=secret\nb=secret", 0)  # the control
    person.wait_for(lambda: person.find("textarea", "Contents of the file"))


async def test_what_is_told_while_one_types_moves_nothing(person: Person) -> None:
    person.enter("owner", f"/{person.tenant.organization}/workspaces/network")
    person.click("Add variable")
    person.click("tool", "form label")
    person.click("HCL", "label")
    before = person.wait_for(lambda: person.find("label", "Sensitive")).location
    person.fill("Value", "[1, 2]")
    person.reads("Evaluates to", "form")
    assert person.wait_for(lambda: person.find("label", "Sensitive")).location == before

    person.press(Keys.ESCAPE)
    person.click("Leave it")
    person.go(f"/{person.tenant.organization}/teams/{person.tenant.teams['crew']}")
    person.click("Add members")
    before = person.wait_for(lambda: person.find("button", "Add to the team")).location
    person.fill("Whom to add", "reader")
    person.wait_for(lambda: person.run(SUGGESTED))
    assert person.wait_for(lambda: person.find("button", "Add to the team")).location == before


async def test_a_dialog_that_comes_late_opens_once_and_says_where_it_cannot_be_fetched(
    person: Person,
) -> None:
    person.work()
    person.hold("/healthz", "GET")
    person.click("Import")
    person.click("Import")
    person.wait_for(lambda: person.held() == 2)
    person.release()
    person.wait_for(lambda: person.focus() == "Contents of the file")
    assert person.run(DIALOGS) == 1
    person.press(Keys.ESCAPE)
    person.wait_for(lambda: person.run(DIALOGS) == 0)

    person.release("fail")
    person.click("Copy from …")
    person.reads("Nothing you typed is lost", "#notices")
    assert person.run(DIALOGS) == 0
    person.release()
    person.click("Copy from …")
    person.wait_for(lambda: person.run(DIALOGS) == 1)
