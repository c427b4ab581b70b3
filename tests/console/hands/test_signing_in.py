"""Signing in with a provider of others, in whichever browser: in all tabs at once, and out of all
of them.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver

from tests.console.hands.people import IN_ONE_BROWSER, LATER, Person
from tests.console.provided import Provided, provided
from tests.support.server import free_port

SIGN_IN = "Sign in with Example"


@dataclass(frozen=True)
class Guest(Person):
    """Whoever has no token at hand, but an account with the provider."""

    @property
    def workspaces(self) -> str:
        """The page of the workspaces, below `/app`."""
        return f"/{self.tenant.organization}/workspaces"

    def is_late(self) -> bool:
        """Whether the provider was, as on a busy host."""
        return "The provider could not be asked" in self.text()

    def authorize(self, account: str, begin: Callable[[], object], told: str = "") -> None:
        """At the provider, as that account, to whom `begin` leads, until one is signed in, or told
        so; again where it is late.
        """
        while True:
            begin()
            self.wait_for(lambda: self.driver.find_elements(By.NAME, "sub") or self.is_late())
            if not self.is_late():
                self.driver.find_element(By.NAME, "sub").send_keys(account)
                self.click("Authorize")
                self.wait_for(lambda: self.has_arrived(told) or self.is_late())
            if not self.is_late():
                return

    def has_arrived(self, told: str) -> bool:
        """Whether somebody is signed in, and reads that."""
        return self.find("button", "Sign out") is not None and told in self.text()

    def sign_in(self, account: str) -> None:
        """From the form, as that account."""

        def begin() -> None:
            if self.is_late():
                self.go(self.workspaces)
            self.click(SIGN_IN)

        self.authorize(account, begin)

    def opens(self, workspace: str) -> None:
        """Clicks its row."""

        def clicked() -> bool:
            self.driver.find_element(By.PARTIAL_LINK_TEXT, workspace).click()
            return True

        self.wait_for(clicked)

    def another_tab(self, path: str) -> str:
        """Opens it there, and returns by what it is found again."""
        self.driver.switch_to.new_window("tab")
        self.go(path)
        return self.driver.current_window_handle

    def turns_to(self, tab: str) -> None:
        """Looks at another tab."""
        self.driver.switch_to.window(tab)

    async def time_goes_by_for_the_service(self) -> None:
        """So much that the writer's sessions have ended."""
        await self.site.served.services.database.write(
            lambda tx: tx.execute(
                "UPDATE tokens SET expires_at = created_at WHERE user_id = $1 "
                "AND id IN (SELECT token_id FROM sessions)",
                self.tenant.users["writer"],
            )
        )

    def is_out(self) -> None:
        """Waits until a page that is loaded again asks to sign in, and shows nothing of before."""
        self.driver.refresh()
        self.wait_for(lambda: self.find("button", SIGN_IN))
        assert "network" not in self.text()


@pytest.fixture(scope="module")
async def console(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Provided]:
    """Where these people sign in."""
    async with provided(tmp_path_factory.mktemp("provided")) as console:
        yield console


@pytest.fixture
async def guest(driver: WebDriver, console: Provided) -> AsyncIterator[Guest]:
    """Somebody with a tab, in a browser in which nobody is signed in."""
    (waiting,) = driver.window_handles
    driver.switch_to.new_window("tab")
    yield Guest(driver, console.site, console.tenant)
    driver.get(f"{console.site.url}/healthz")
    driver.delete_all_cookies()
    for tab in driver.window_handles:
        if tab != waiting:
            driver.switch_to.window(tab)
            driver.close()
    driver.switch_to.window(waiting)


async def test_whoever_signs_in_is_in_all_tabs_and_out_of_all(guest: Guest) -> None:
    first = guest.another_tab(guest.workspaces)
    guest.sign_in("writer")
    guest.reads("network")
    assert guest.driver.current_url == f"{guest.site.url}/app{guest.workspaces}"  # where it was
    second, third = (guest.another_tab(guest.workspaces) for _ in range(2))
    for tab in (first, second, third):
        guest.turns_to(tab)
        guest.driver.refresh()
        guest.reads("network")
    kept = guest.run("return JSON.stringify([{...sessionStorage}, {...localStorage}])")
    assert "tvs_" not in kept
    assert guest.run("return document.cookie") == ""

    guest.turns_to(second)
    guest.click("Sign out")
    guest.reads("You are signed out.")
    guest.turns_to(third)
    guest.opens("network")
    guest.reads("The token is no longer valid")
    for tab in (first, second, third):
        guest.turns_to(tab)
        guest.is_out()


async def test_whoever_goes_back_is_as_signed_in_as_before(guest: Guest) -> None:
    guest.go(guest.workspaces)
    guest.sign_in("writer")
    guest.opens("network")
    guest.reads("network", "h1")
    guest.driver.get(f"{guest.site.url}/healthz")
    guest.driver.back()  # the document is made anew, or comes out of the browser's own store
    guest.reads("network", "h1")
    guest.driver.back()
    guest.reads("1 workspace you can see")

    guest.opens("network")
    guest.reads("network", "h1")
    guest.click("Sign out")
    guest.reads("You are signed out.")
    guest.driver.back()
    guest.wait_for(lambda: guest.find("button", SIGN_IN))
    assert "network" not in guest.text()


@IN_ONE_BROWSER
async def test_whoever_idles_is_signed_out_and_signs_in_again(guest: Guest) -> None:
    guest.go(guest.workspaces)
    guest.sign_in("writer")
    guest.reads("network")
    guest.run(LATER, 28 * 60 + 10)
    guest.reads("In two minutes you are signed out", "#notices")
    guest.run(LATER, 31 * 60)
    guest.reads("You were signed out after 30 minutes")
    await guest.time_goes_by_for_the_service()
    guest.is_out()
    guest.sign_in("writer")
    guest.reads("network")


async def test_a_session_that_idles_is_over_in_every_tab(guest: Guest) -> None:
    first = guest.another_tab(guest.workspaces)
    guest.sign_in("writer")
    await guest.time_goes_by_for_the_service()
    guest.another_tab(guest.workspaces)
    guest.wait_for(lambda: guest.find("button", SIGN_IN))
    guest.turns_to(first)
    guest.opens("network")
    guest.reads("The token is no longer valid")


async def test_what_was_typed_waits_until_one_has_signed_in_in_another_tab(guest: Guest) -> None:
    key = f"typed-{free_port()}"
    first = guest.another_tab(f"{guest.workspaces}/network")
    guest.sign_in("writer")
    guest.click("Add variable")
    guest.fill("Key", key)
    await guest.time_goes_by_for_the_service()
    guest.submit()
    guest.reads("What you typed is still there once you are back.")
    tabs = set(guest.driver.window_handles)
    guest.click(SIGN_IN)
    guest.wait_for(lambda: set(guest.driver.window_handles) - tabs)
    (other,) = set(guest.driver.window_handles) - tabs
    guest.turns_to(other)
    guest.authorize("reader", lambda: None)
    guest.turns_to(first)
    guest.comes_back()  # others do not see what somebody has typed
    guest.sees()
    assert guest.find("input", "Key") is None
    guest.driver.switch_to.new_window("tab")
    guest.authorize("writer", lambda: guest.go("/sign-in/company"))
    guest.turns_to(first)
    guest.comes_back()
    guest.wait_for(lambda: guest.focus() == "Key")
    assert guest.value("Key") == key
    guest.submit()
    guest.reads(f"{key} is added.", "#notices")


async def test_a_tab_does_not_go_on_as_somebody_else(guest: Guest) -> None:
    first = guest.another_tab(guest.workspaces)
    guest.sign_in("writer")
    guest.reads("writer-", ".who")
    guest.driver.switch_to.new_window("tab")
    guest.authorize("reader", lambda: guest.go("/sign-in/company"))
    guest.reads("reader-", ".who")
    guest.turns_to(first)
    guest.driver.refresh()
    guest.reads("Somebody has signed in again in this browser")
    guest.driver.refresh()
    guest.reads("reader-", ".who")


async def test_an_account_that_is_linked_by_clicks_signs_in_from_then_on(guest: Guest) -> None:
    account = f"of-plain-{free_port()}"
    guest.enter("plain", "/settings/tokens")
    told = "From now on you sign in with this account as well."
    guest.authorize(account, lambda: guest.click("Link my account at Example"), told)
    guest.reads("plain-", ".who")  # with the token as before: a link signs nobody in
    assert not [one for one in guest.driver.get_cookies() if "session" in one["name"]]
    guest.click("Sign out")
    guest.reads("You are signed out.")
    guest.sign_in(account)
    guest.reads("plain-", ".who")
    shown = await guest.site.served.services.accounts.show(guest.tenant.users["plain"])
    assert account in [one.subject for one in shown.identities]
