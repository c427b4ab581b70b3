"""A real server, and a browser that looks at it; whatever a page complains of fails the test."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, BrowserContext

from tests.console.visitors import SETTLES_AT_ONCE, Crowd, Site
from tests.storage.stores import fresh_postgres
from tests.support.browser import open_browser
from tests.support.commands import Host
from tests.support.patience import HANGS
from tests.support.postgres import Postgres
from tests.support.served_deployment import serve_deployment


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Chromium, without a window."""
    async with open_browser() as browser:
        yield browser


@pytest.fixture(scope="session")
async def window(browser: Browser) -> BrowserContext:
    """Where all tabs are; it has loaded what all pages share.

    One of them stays: the process that draws pages would end with the last.
    """
    context = await _window(browser)
    await context.add_init_script(SETTLES_AT_ONCE)
    await context.new_page()
    return context


async def _window(browser: Browser) -> BrowserContext:
    context = await browser.new_context(reduced_motion="reduce")
    context.set_default_timeout(HANGS * 1000)
    return context


@pytest.fixture(scope="session")
async def sqlite_site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    """The console on SQLite, in the standard dialect, where it knows its public address."""
    host = Host(tmp_path_factory.mktemp("sqlite")).having(log_format="json")
    async with serve_deployment(host, is_public=True) as served:
        yield Site(served, "tool")


@pytest.fixture(scope="session")
async def postgres_site(
    tmp_path_factory: pytest.TempPathFactory, postgres: Postgres, migrated_database: str
) -> AsyncIterator[Site]:
    """The console on PostgreSQL, in the dialect of terraform; any owner approves runners there."""
    with fresh_postgres(postgres, migrated_database) as url:
        host = Host(tmp_path_factory.mktemp("postgres")).having(
            log_format="json", database_url=url, dialect="terraform", runner_approval="owner"
        )
        async with serve_deployment(host) as served:
            yield Site(served, "terraform")


@pytest.fixture(scope="session")
def site(request: pytest.FixtureRequest) -> Site:
    """The console on SQLite, or where `on_each_engine` wants it."""
    engine = getattr(request, "param", "sqlite")
    found: Site = request.getfixturevalue(f"{engine}_site")
    return found


@pytest.fixture
async def crowd(window: BrowserContext) -> AsyncIterator[Crowd]:
    """Whoever looks at the console in this test; none of their pages may complain."""
    crowd = Crowd(window)
    yield crowd
    await crowd.leave()
    assert crowd.complaints == []


@pytest.fixture
async def timeless(browser: Browser) -> AsyncIterator[Crowd]:
    """As `crowd`, in a window of its own: a test that turns its clock turns it for all tabs, and
    what has just moved takes no click there for as long as it does for people.
    """
    async with await _window(browser) as window:
        crowd = Crowd(window)
        yield crowd
        assert crowd.complaints == []
