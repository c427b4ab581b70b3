"""What only one browser takes for granted is found by the other: these tests run in both, unless
they say that one is enough.
"""

from collections.abc import AsyncIterator, Iterator

import pytest
from selenium.webdriver.remote.webdriver import WebDriver

from tests.console.hands.people import Person
from tests.console.visitors import Site
from tests.support.webdriver import BROWSERS, open_driver


@pytest.fixture(scope="session", params=BROWSERS)
def driver(request: pytest.FixtureRequest) -> Iterator[WebDriver]:
    """Each of the browsers in turn."""
    with open_driver(request.param) as driver:
        yield driver


@pytest.fixture
async def person(driver: WebDriver, sqlite_site: Site) -> AsyncIterator[Person]:
    """Somebody with an organization of their own, and a tab, which is all that a session has."""
    (waiting,) = driver.window_handles
    driver.switch_to.new_window("tab")
    yield Person(driver, sqlite_site, await sqlite_site.tenant())
    driver.close()
    driver.switch_to.window(waiting)
