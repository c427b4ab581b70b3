"""Browsers that are driven by WebDriver: Debian's Chromium and Firefox, without a window.

They are installed where that can be done (as root, with apt-get). Firefox needs a geckodriver as
well, which Debian does not have: where none can be built, whoever asks for it reads why.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from selenium import webdriver
from selenium.webdriver.remote.webdriver import WebDriver

from tests.support import geckodriver, packages
from tests.support.browser import SETTING
from tests.support.patience import HANGS

BROWSERS = ("chromium", "firefox")
_WIDTH, _HEIGHT = 1200, 900


@contextmanager
def open_driver(browser: str) -> Iterator[WebDriver]:
    """The browser of that name; skips the test, or fails it, where there is none."""
    if os.environ.get(SETTING) == "off":
        pytest.skip(f"{SETTING}=off")
    driver = _chromium() if browser == "chromium" else _firefox()
    driver.set_script_timeout(HANGS)
    driver.set_page_load_timeout(HANGS)
    driver.set_window_size(_WIDTH, _HEIGHT)
    try:
        yield driver
    finally:
        driver.quit()


def _chromium() -> WebDriver:
    options = webdriver.ChromeOptions()
    options.binary_location = _program("chromium", package="chromium")
    options.accept_insecure_certs = True  # of providers on this machine
    # Its own sandbox refuses to run as root, and it sees no page but ours.
    for one in ("--headless=new", "--no-sandbox", "--disable-gpu", "--in-process-gpu"):
        options.add_argument(one)
    service = webdriver.ChromeService(_program("chromedriver", package="chromium-driver"))
    return webdriver.Chrome(options, service)


def _firefox() -> WebDriver:
    try:
        driver = geckodriver.find()
    except geckodriver.NoGeckodriverError as none:
        pytest.skip(f"Firefox: {none}")
    options = webdriver.FirefoxOptions()
    options.binary_location = _program("firefox-esr", package="firefox-esr")
    options.add_argument("-headless")
    options.accept_insecure_certs = True
    options.set_preference("general.smoothScroll", value=False)
    return webdriver.Firefox(options, webdriver.FirefoxService(str(driver)))


def _program(name: str, *, package: str) -> str:
    if shutil.which(name) is None:
        packages.install(package)
    missing = f"There is no {name}. On Debian: apt-get install {package}"
    return shutil.which(name) or pytest.fail(f"{missing}\n{SETTING}=off leaves these tests out.")
