"""What only one browser takes for granted is found by the other: these tests run in both, unless
they say that one is enough.
"""

from collections.abc import Iterator

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
async def person(driver: WebDriver, sqlite_site: Site) -> Person:
    """Somebody with an organization of their own, in a tab that keeps nothing of before: that is
    all that a session has.

    All use one tab. To open and close one costs the browser more than many tests do.
    """
    person = Person(driver, sqlite_site, await sqlite_site.tenant())
    person.forget()
    return person
