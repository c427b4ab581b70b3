"""Browsers that are driven by WebDriver: Debian's Chromium, as `tests.support.browser` has it, and
Firefox, without a window.

They are installed where that can be done (as root, with apt-get). Firefox has no driver in Debian,
and is spoken to in its own protocol.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from selenium import webdriver
from selenium.webdriver.remote.webdriver import WebDriver

from tests.support import packages
from tests.support.browser import ALL_OURS, SETTING
from tests.support.marionette import open_firefox
from tests.support.patience import HANGS

BROWSERS = ("chromium", "firefox")
SHELL = "/usr/lib/chromium/chromium-headless-shell"
"""The command of that name is a script, and the driver would end it alone."""
_WIDTH, _HEIGHT = 1200, 900


@contextmanager
def open_driver(browser: str) -> Iterator[WebDriver]:
    """The browser of that name; skips the test, or fails it, where there is none."""
    if os.environ.get(SETTING) == "off":
        pytest.skip(f"{SETTING}=off")
    with _chromium() if browser == "chromium" else _firefox() as driver:
        driver.set_script_timeout(HANGS)
        driver.set_page_load_timeout(HANGS)
        driver.set_window_size(_WIDTH, _HEIGHT)
        yield driver


def _firefox() -> AbstractContextManager[WebDriver]:
    return open_firefox(_program("firefox-esr", package="firefox-esr"))


def _chromium() -> AbstractContextManager[WebDriver]:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which(SHELL) or _program("chromium", package="chromium")
    options.accept_insecure_certs = True  # of providers on this machine
    for one in ("--headless=new", *ALL_OURS):
        options.add_argument(one)
    service = webdriver.ChromeService(_program("chromedriver", package="chromium-driver"))
    return webdriver.Chrome(options, service)


def _program(name: str, *, package: str) -> str:
    if shutil.which(name) is None:
        packages.install(package)
    missing = f"There is no {name}. On Debian: apt-get install {package}"
    return shutil.which(name) or pytest.fail(f"{missing}\n{SETTING}=off leaves these tests out.")
