"""What whoever sits at the console waits for: `python3 dev.py console`.

Wished for: a key press in the filter of 5,000 variables takes the page less than a frame (16 ms,
the median, by the browser's own clock), and a page of variables can be used within three times what
a static page of the same server takes. Nothing fails by it: a browser beside other work takes
longer. A key press takes what the page does about it, and then the frame that shows it. Between the
two a browser may wait for the clock of the display: the time with that wait is told as well, and
that of the key that begins a word, which takes away all rows together.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from selenium.webdriver.remote.webdriver import WebDriver

from tests.console.hands.people import Person
from tests.console.visitors import Site
from tests.support.commands import InstalledHost
from tests.support.served_deployment import serve_deployment
from tests.support.tenant import Tenant
from tests.support.webdriver import BROWSERS, open_driver

VARIABLES = 5_000
WORDS = ("499", "key_4", "0001")
A_PERSON = 0.15
"""Seconds between two keys of somebody who types."""
FRAME_MS = 16
TIMES = 3
ROUNDS = 7
SETTLED = "return document.querySelectorAll('tbody tr').length === arguments[0]"
# What the page does about a key, and what it does to draw that: the frame after it has begun. Then
# all from the key to the picture, with the wait for the frame.
PRESS = """
const [text, done] = arguments;
const input = document.querySelector("input[type=search]");
const begun = performance.now();
input.value = text;
input.dispatchEvent(new Event("input", { bubbles: true }));
const handled = performance.now();
requestAnimationFrame(() => {
  const framed = performance.now();
  const channel = new MessageChannel();
  channel.port1.onmessage = () => {
    const drawn = performance.now();
    done([handled - begun + drawn - framed, drawn - begun]);
  };
  channel.port2.postMessage(null);
});
"""
# From the address to a page whose first row can be clicked.
USABLE = """
const done = arguments[0];
const look = () => {
  if (document.querySelector("tbody tr")) return done(performance.now());
  requestAnimationFrame(look);
};
look();
"""
STATIC = "return performance.getEntriesByType('navigation')[0].loadEventEnd"


def main() -> None:
    """Prints the figures beside what is wished for."""
    parser = argparse.ArgumentParser(prog="dev.py console", description="Measure the console.")
    parser.add_argument("--quick", action="store_true", help="each once")
    asyncio.run(_measure(1 if parser.parse_args().quick else ROUNDS))


async def _measure(rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="teamvars-bench-") as folder:
        async with serve_deployment(InstalledHost(Path(folder))) as served:
            site = Site(served, "tool")
            tenant = await site.tenant()
            await site.make(tenant, "region", "eu", workspace="payments")
            await _fill(tenant)
            for browser in BROWSERS:
                with open_driver(browser) as driver:
                    person = Person(driver, site, tenant)
                    _tell(browser, "page", *_pages(person, rounds))
                    presses = list(_presses(driver, person, rounds))
                    _tell(browser, "key press", [one.work for one in presses], FRAME_MS)
                    _tell(browser, "with wait", [one.shown for one in presses])
                    _tell(browser, "first key", [one.work for one in presses if one.is_first])


async def _fill(tenant: Tenant) -> None:
    said = {"category": "env", "value": "x" * 60}
    keys = [f"KEY_{at:04}" for at in range(VARIABLES)]
    items = [{"type": "vars", "attributes": {**said, "key": key}} for key in keys]
    path = f"/workspaces/{tenant.workspaces['network']}/actions/apply"
    assert (await tenant.call("owner", "POST", path, {"data": items})).is_success


def _pages(person: Person, rounds: int) -> tuple[list[float], float]:
    """How long the page of a workspace takes, and how long it might."""
    person.work("owner", "payments")
    pages, static = [], []
    for _ in range(rounds):
        person.driver.get(f"{person.site.url}/docs/deprecations")
        static.append(float(person.run(STATIC)))
        person.go(f"/{person.tenant.organization}/workspaces/payments")
        pages.append(float(person.driver.execute_async_script(USABLE)))
    return pages, TIMES * statistics.median(static)


class _Press(NamedTuple):
    work: float
    shown: float
    is_first: bool


def _presses(driver: WebDriver, person: Person, rounds: int) -> Iterator[_Press]:
    """How long each key of a word takes, which is begun where all rows are there."""
    person.go(f"/{person.tenant.organization}/workspaces/network")
    for word in WORDS * rounds:
        person.wait_for(partial(person.run, SETTLED, VARIABLES))
        for end in (*range(1, len(word) + 1), 0):
            work, shown = driver.execute_async_script(PRESS, word[:end])
            yield _Press(work, shown, end == 1)
            time.sleep(A_PERSON)


def _tell(browser: str, what: str, took: list[float], wished: float | None = None) -> None:
    beside = f"  of {wished:5.1f} ms" if wished else ""
    print(f"{browser:10}{what:12}{statistics.median(took):7.1f} ms{beside}", flush=True)


if __name__ == "__main__":
    main()
