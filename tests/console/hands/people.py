"""Whoever sits at a browser: keys and clicks as hands make them, and what the eyes see then."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
from selenium.common.exceptions import (
    ElementClickInterceptedException,
    ElementNotInteractableException,
    JavascriptException,
    StaleElementReferenceException,
)
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.remote.webelement import WebElement

from tests.console.visitors import Site
from tests.support.patience import until, wait_until
from tests.support.tenant import Tenant

IN_ONE_BROWSER = pytest.mark.parametrize("driver", ["chromium"], indirect=True, scope="session")
"""What our own code decides alone: of focus, keys and what is typed it takes nothing that browsers
do each in their own way.
"""

LOOK_SECONDS = 0.05
"""Between two looks: each takes the browser six milliseconds, which it then lacks."""

_T = TypeVar("_T")
# What is redrawn between two looks, or is covered yet, is looked at once more.
_MOVING = (
    ElementClickInterceptedException,
    ElementNotInteractableException,
    JavascriptException,
    StaleElementReferenceException,
)
# The first that is seen of a kind and has this name, as people read it.
_FIND = """
const [kind, name, within] = arguments;
const called = (one) =>
  one.getAttribute("aria-label") ?? one.labels?.[0]?.textContent ?? one.textContent;
const isSeen = (one) => one.checkVisibility() && !one.closest("[inert]");
const top = [...document.querySelectorAll("dialog[open]")].at(-1);
return [...(within ?? top ?? document).querySelectorAll(kind)]
  .find((one) => isSeen(one) && called(one).trim() === name) ?? null;
"""
_FOCUS = """
const one = document.activeElement;
return one.getAttribute("aria-label") ?? one.labels?.[0]?.textContent ?? one.textContent;
"""
_PAINTED = """
const [done] = arguments;
requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));
"""
LATER = """
const real = window.real ??= window.Date.now;
const [seconds] = arguments;
window.Date.now = () => real() + 1000 * seconds;
document.dispatchEvent(new Event('visibilitychange'));
"""
"""So many seconds have gone by, for the page alone, and somebody looks at it."""
KEEP = """
const kept = { token: arguments[0], seenAt: Date.now() };
sessionStorage.setItem("teamvars.session", JSON.stringify(kept));
"""
"""As a tab is that somebody has signed in to with a token."""
# What the page asks of these paths waits until it is told what becomes of it.
_HOLD = """
const [part, method] = arguments;
const sends = window.fetch;
window.held = { count: 0, how: null, waiting: [] };
const isMeant = (url, { method: how = "GET" }) =>
  String(url).includes(part) && (!method || how === method);
window.fetch = async (url, options = {}) => {
  if (!isMeant(url, options)) return sends(url, options);
  window.held.count += 1;
  if (!window.held.how) await new Promise((resolve, reject) => {
    window.held.waiting.push(resolve);
    options.signal?.addEventListener("abort", () => reject(options.signal.reason));
  });
  if (window.held.how === "fail") throw new TypeError("no answer");
  return sends(url, options);
};
"""
_RELEASE = """
window.held.how = arguments[0];
for (const one of window.held.waiting) one();
"""


@dataclass(frozen=True)
class Person:
    """One of a tenant's people, at a browser of their own."""

    driver: WebDriver = field(repr=False)
    site: Site = field(repr=False)
    tenant: Tenant = field(repr=False)
    clicks: list[str] = field(default_factory=list)
    """What was clicked or sent with Enter."""

    def go(self, path: str) -> None:
        """Loads a page of the console, by the path below `/app`."""
        self.driver.get(f"{self.site.url}/app{path}")

    def forget(self) -> None:
        """Has the tab keep nothing, as a new one."""
        self.driver.get(f"{self.site.url}/healthz")
        self.run("sessionStorage.clear()")

    def enter(self, who: str, path: str) -> None:
        """Loads a page in a tab that somebody has signed in to."""
        self.forget()
        self.run(KEEP, self.tenant.tokens[who])
        self.go(path)
        self.wait_for(lambda: self.find("button", "Sign out"))

    def work(self, who: str = "writer", workspace: str = "network") -> None:
        """Signs in at the variables of a workspace."""
        self.enter(who, f"/{self.tenant.organization}/workspaces/{workspace}")
        self.reads(workspace, "h1")

    # What the eyes see

    def find(self, kind: str, name: str, within: WebElement | None = None) -> WebElement | None:
        """The first of that kind and name that is seen."""
        found: WebElement | None = self.driver.execute_script(_FIND, kind, name, within)
        return found

    def wait_for(self, look: Callable[[], _T | None]) -> _T:
        """What a look finds, once it finds something."""
        found: list[_T] = []

        def looked() -> bool:
            try:
                seen = look()
            except _MOVING:
                return False
            if seen:
                found.append(seen)
            return bool(seen)

        wait_until(looked, self.text, LOOK_SECONDS)
        return found[0]

    def reads(self, text: str, place: str = "body") -> None:
        """Waits until that stands there."""
        self.wait_for(lambda: text in self.text(place))

    def misses(self, text: str, place: str = "body") -> None:
        """Waits until that no longer stands there."""
        self.wait_for(lambda: text not in self.text(place))

    def text(self, place: str = "body") -> str:
        """What is read in a place."""
        script = "return document.querySelector(arguments[0])?.innerText ?? ''"
        return str(self.driver.execute_script(script, place))

    def value(self, label: str) -> str:
        """What a field holds."""
        return str(self.field(label).get_property("value"))

    def field(self, label: str) -> WebElement:
        """A field by its label."""
        return self.wait_for(lambda: self.find("input, textarea, select", label))

    def focus(self) -> str:
        """The name of what has the focus."""
        return str(self.driver.execute_script(_FOCUS)).strip()

    def run(self, script: str, *arguments: object) -> Any:
        """What a script of the page's own returns."""
        return self.driver.execute_script(script, *arguments)

    def sees(self) -> None:
        """Waits until what was done is on the screen, with whatever it scrolls."""
        self.driver.execute_async_script(_PAINTED)

    # What the hands do

    def click(self, name: str, kind: str = "button, a[href], label") -> None:
        """Clicks what has that name, once it is there."""

        def clicked() -> bool:
            found = self.find(kind, name)
            if found is None or not found.is_enabled():
                return False
            found.click()
            self.clicks.append(name)
            return True

        self.wait_for(clicked)

    @contextmanager
    def counting(self, most: int) -> Iterator[None]:
        """Whoever does what is inside clicks so often at most; an Enter is a click."""
        self.clicks.clear()
        yield
        assert len(self.clicks) <= most, self.clicks

    def submit(self) -> None:
        """Sends the form that one types in."""
        self.press(Keys.ENTER, holding=Keys.CONTROL)
        self.clicks.append("Enter")

    def tab_to(self, name: str) -> None:
        """Goes on with the Tab key until what has that name has the focus."""
        for _ in range(40):
            self.press(Keys.TAB)
            if self.focus() == name:
                return
        raise AssertionError(f"The Tab key never reaches {name}.")

    def press(self, *keys: str, holding: str = "") -> None:
        """Presses keys, wherever the focus is."""
        chain = ActionChains(self.driver)
        if holding:
            chain.key_down(holding)
        for one in keys:
            chain.send_keys(one)
        if holding:
            chain.key_up(holding)
        chain.perform()

    def enters(self, label: str) -> None:
        """Clicks into a field, once it takes a click."""

        def clicked() -> bool:
            self.field(label).click()
            return True

        self.wait_for(clicked)

    def fill(self, label: str, text: str) -> None:
        """Types into a field, in the place of what it holds."""
        self.enters(label)
        self.press("a", holding=Keys.CONTROL)
        self.press(Keys.DELETE, *text)

    # What befalls them

    async def gone(self, key: str) -> None:
        """Returns once there is no such variable any more."""

        async def is_gone() -> bool:
            return key not in await self.site.stored(self.tenant)

        await until(is_gone)

    def comes_back(self) -> None:
        """The tab was hidden, and is looked at again."""
        self.run("document.dispatchEvent(new Event('visibilitychange'))")

    def hold(self, part: str, method: str = "") -> None:
        """From now on, until the page is loaded again, requests whose URL has that part wait."""
        self.run(_HOLD, part, method)

    def held(self) -> int:
        """How many wait, or waited."""
        return int(self.run("return window.held.count"))

    def release(self, how: str = "answer") -> None:
        """Lets them go, and all that come after them; with `fail` no answer comes."""
        self.run(_RELEASE, how)
