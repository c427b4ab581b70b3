"""Debian's Chromium, without a window.

Its shell, which has none, takes a third less of the processor. It is installed where that can be
done (as root, with apt-get). Where it cannot, TEAMVARS_TEST_BROWSER=off leaves out what is looked
at with it.
"""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, async_playwright, expect

from tests.support import packages
from tests.support.patience import HANGS

SETTING = "TEAMVARS_TEST_BROWSER"
PROGRAMS = ("chromium-headless-shell", "chromium")
DOMAIN = "example.test"
"""Whose hosts are all on this machine, for the browser."""
# Its own sandbox refuses to run as root, and it sees no page but ours. A GPU that is not there it
# would imitate, and processes keep apart what is all ours: both take time. One process draws all
# pages, and is there for the next as long as any is open.
ALL_OURS = (
    *("--no-sandbox", "--disable-gpu", "--in-process-gpu"),
    *("--process-per-site", "--renderer-process-limit=1"),
)
MISSING = f"""\
There is no browser to look at the pages with. On Debian: apt-get install {PROGRAMS[0]}
{SETTING}=off leaves these tests out."""


@asynccontextmanager
async def open_browser() -> AsyncIterator[Browser]:
    """The browser; skips the test, or fails it, where there is none."""
    if os.environ.get(SETTING) == "off":
        pytest.skip(f"{SETTING}=off")
    program = _program()
    if program is None:
        packages.install(PROGRAMS[0])
        program = _program() or pytest.fail(MISSING)
    expect.set_options(timeout=HANGS * 1000)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=program,
            args=[*ALL_OURS, f"--host-resolver-rules=MAP *.{DOMAIN} 127.0.0.1"],
            timeout=HANGS * 1000,
        )
        yield browser
        await browser.close()


def _program() -> str | None:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)
