"""A real server, and a browser that looks at it; whatever a page complains of fails the test."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from playwright.async_api import Browser

from tests.console.visitors import Crowd, Site
from tests.support.browser import open_browser
from tests.support.commands import Host
from tests.support.postgres import Postgres
from tests.support.served_deployment import serve_deployment


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Chromium, without a window."""
    async with open_browser() as browser:
        yield browser


@pytest.fixture(scope="session")
async def sqlite_site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    """The console on SQLite, in the standard dialect."""
    host = Host(tmp_path_factory.mktemp("sqlite")).having(log_format="json")
    async with serve_deployment(host) as served:
        yield Site(served, "tool")


@pytest.fixture(scope="session")
async def postgres_site(
    tmp_path_factory: pytest.TempPathFactory, postgres: Postgres
) -> AsyncIterator[Site]:
    """The console on PostgreSQL, in the dialect of terraform."""
    postgres.create_database(name := f"console-{uuid4()}")
    host = Host(tmp_path_factory.mktemp("postgres")).having(
        log_format="json", database_url=postgres.url(name), dialect="terraform"
    )
    async with serve_deployment(host) as served:
        yield Site(served, "terraform")


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def site(request: pytest.FixtureRequest) -> Site:
    """The console on each engine."""
    found: Site = request.getfixturevalue(f"{request.param}_site")
    return found


@pytest.fixture
async def crowd(browser: Browser) -> AsyncIterator[Crowd]:
    """Whoever looks at the console in this test; none of their pages may complain."""
    crowd = Crowd(browser)
    yield crowd
    await crowd.leave()
    assert crowd.complaints == []
