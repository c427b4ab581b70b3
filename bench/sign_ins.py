"""What it costs that people sign in: `.venv/bin/python -m bench.sign_ins`.

A sign-in is what a worker does for it: it sends a browser away, redeems the code, checks what the
provider says, begins a session and gives its token. The provider is in this process, so its time
does not count; the connection to it, with TLS, does. What is compared takes turns, since others
work on this machine, and costs are processor time of the service.

Promised: 200 sign-ins a second of one worker's time; a list and a create cost with the token of a
session what they cost with a user's (0.98); a list keeps 0.9 of its rate beside 100 sign-ins a
second, to what it does beside as many elsewhere; the first page takes with a session at most a
tenth longer than with a pasted token. `--quick` measures little, and holds nothing against the
promise.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count, cycle
from pathlib import Path
from time import monotonic
from urllib.parse import urlencode, urlsplit

import httpx
import pytest

from bench import machine, programs, promises, wrk
from bench.console import USABLE
from bench.wrk import NUMBER, Plan, Request
from teamvars.domain.directory import Directory, OrganizationEntry, UserEntry
from teamvars.services.directory_files.files import Options
from tests.console.hands.people import Person
from tests.console.visitors import Site
from tests.support.commands import InstalledHost
from tests.support.deployment import operator
from tests.support.issuer_servers import issuer_server
from tests.support.postgres import LocalPostgres
from tests.support.served_deployment import ServedDeployment, prepare_deployment
from tests.support.sign_in_provider import SignInProvider
from tests.support.tenant import ACTIVE, JSON_API, Tenant, build_tenant
from tests.support.webdriver import BROWSERS, open_driver

PEOPLE = [f"person-{number}" for number in range(100)]
AT_ONCE = 12
"""Fewer than may wait at one address."""
PER_SECOND = 100
"""Sign-ins, beside which a list is measured."""
RATE, ALIKE, BESIDE, PAGE = 200.0, 0.98, 0.9, 1.1
"""What is promised."""
_IN = "/app/sign-in/company"


@dataclass(frozen=True)
class Effort:
    """How long everything is measured."""

    rounds: int
    sign_ins: int
    seconds: int
    pages: int


QUICK, THOROUGH = Effort(1, 24, 1, 1), Effort(5, 120, 3, 9)


class Crowd(SignInProvider):
    """A provider with which one after the other of many people signs in, or `only` one."""

    only: str | None = None

    def begin(self) -> None:
        """With nobody yet."""
        super().begin()
        self.turns = cycle(PEOPLE)

    def id_token(self, asked: dict[str, str]) -> str:
        """Of whoever is next."""
        self.claims["sub"] = self.only or next(self.turns)
        return super().id_token(asked)


@dataclass(frozen=True)
class Place:
    """A service with one worker, and whom people sign in with there."""

    name: str
    served: ServedDeployment
    tenant: Tenant
    provider: Crowd
    browsers: httpx.AsyncHTTPTransport

    @property
    def url(self) -> str:
        """Where it is."""
        return self.served.server.url

    async def sign_in(self, who: str | None = None) -> str:
        """A browser signs in, as whoever is next unless it is said who; returns the cookie of its
        session, as it is sent.
        """
        away = await self._asks("GET", _IN)
        said = self.provider.answer(away.headers["Location"])
        self.provider.only = who
        back = await self._asks("GET", f"{_IN}/callback?{urlencode(said)}", Cookie=_cookie(away))
        return _cookie(back)

    async def token(self, cookie: str) -> str:
        """The token of a session."""
        ours = {"Origin": self.url, "Sec-Fetch-Site": "same-origin", "Teamvars-Session": ""}
        found = await self._asks("POST", "/app/session", Cookie=cookie, **ours)
        token: str = found.json()["token"]
        return token

    async def _asks(self, method: str, path: str, **headers: str) -> httpx.Response:
        request = httpx.Request(method, self.url + path, headers=headers)
        answer = await self.browsers.handle_async_request(request)
        await answer.aread()
        if answer.status_code >= 400:
            raise RuntimeError(f"{urlsplit(path).path} was answered with {answer.status_code}.")
        return answer


def _cookie(answer: httpx.Response) -> str:
    pair: str = answer.headers["Set-Cookie"].partition(";")[0]
    return pair


def main() -> int:
    """Prints the figures beside what is promised; fails when one is missed."""
    parser = argparse.ArgumentParser(prog="bench.sign_ins", description="Measure signing in.")
    parser.add_argument("--quick", action="store_true", help="little, and held against nothing")
    quick = parser.parse_args().quick
    programs.require()
    with tempfile.TemporaryDirectory(prefix="teamvars-bench-") as folder:
        missed = asyncio.run(_measure(Path(folder), QUICK if quick else THOROUGH))
    return int(missed and not quick)


async def _measure(folder: Path, effort: Effort) -> bool:
    missed = False
    with LocalPostgres(durable=True) as postgres:
        for engine in ("SQLite", "PostgreSQL"):
            stores: list[str | None] = [None, None]
            if engine != "SQLite":
                names = ("sign_ins", "elsewhere")
                for name in names:
                    postgres.create_database(name)
                stores = [postgres.url(name) for name in names]
            async with (
                serving(engine, made(folder / f"{engine} here"), stores[0]) as place,
                serving(engine, made(folder / f"{engine} elsewhere"), stores[1]) as elsewhere,
            ):
                missed |= await _rate(place, effort)
                missed |= await _alike(place, effort)
                missed |= await _beside(place, elsewhere, effort)
                if engine == "SQLite":
                    missed |= await _pages(place, effort)
    return missed


def made(folder: Path) -> Path:
    """It, now that it is there."""
    folder.mkdir()
    return folder


@asynccontextmanager
async def serving(name: str, folder: Path, store: str | None) -> AsyncIterator[Place]:
    """A service on that store, while this lasts."""
    own = {} if store is None else {"database_url": store}
    host = InstalledHost(folder).having(log_format="json", max_variables=0, **own)
    with pytest.MonkeyPatch.context() as environment:
        async with issuer_server(folder, Crowd) as provider, prepare_deployment(host) as served:
            assert isinstance(provider, Crowd)
            provider.begin()
            environment.setenv("SSL_CERT_FILE", str(provider.authority))
            tenant = await build_tenant(served)
            await _join(served, tenant, provider)
            said = {"title": "Example", "issuer": provider.url, "client_id": "us"}
            company = {**said, "organizations": [tenant.organization]}
            served.server.host = host.having(
                public_url=served.server.url, providers=json.dumps({"company": company})
            )
            async with httpx.AsyncHTTPTransport() as browsers:
                with served.server:
                    yield Place(name, served, tenant, provider, browsers)


async def _join(served: ServedDeployment, tenant: Tenant, provider: Crowd) -> None:
    """The people are in the organization, and linked."""
    users = tuple(UserEntry(who, f"{who}@example.com") for who in PEOPLE)
    entry = OrganizationEntry(tenant.organization, dict.fromkeys(PEOPLE, ACTIVE), (), ())
    await served.services.directory.apply(operator(), Directory(users, (entry,)), Options())
    await served.services.accounts.link(operator(), tenant.users["owner"], provider.url, "owner")
    for who in PEOPLE:
        await served.services.accounts.link(operator(), who, provider.url, who)


async def _rate(place: Place, effort: Effort) -> bool:
    """How many sign in a second of a worker's time."""
    await _sign_in(place, AT_ONCE)  # warms up: the provider's documents are fetched once
    rounds = [await _cost(place, effort.sign_ins) for _ in range(effort.rounds)]
    cost = statistics.median(rounds)
    print(f"{place.name:12} a sign-in takes {cost * 1000:5.2f} ms of the processor")
    return promises.missed(f"sign-ins a second, {place.name}", 1 / cost, at_least=RATE)


async def _cost(place: Place, many: int) -> float:
    """Seconds of the processor for each."""
    spent = machine.cpu_seconds(place.served.server.pid)
    await _sign_in(place, many)
    return (machine.cpu_seconds(place.served.server.pid) - spent) / many


async def _sign_in(place: Place, many: int) -> None:
    async def work() -> None:
        for _ in range(many // AT_ONCE):
            await place.token(await place.sign_in())

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))


async def _alike(place: Place, effort: Effort) -> bool:
    """What requests cost with a user's token, to those with a session's of the same user."""
    tenant, missed = place.tenant, False
    session = await place.token(await place.sign_in("owner"))
    body = {"key": f"k_{NUMBER}", "value": "eu", "description": "", "category": "env"}
    create = json.dumps({"data": {"type": "vars", "attributes": body}})
    for name, request in (
        ("list", Request("GET", f"/api/v2{tenant.vars_path()}")),
        ("create", Request("POST", f"/api/v2{tenant.vars_path('payments')}", create)),
    ):
        rounds = [
            [
                (await asyncio.to_thread(_load, place, request, token, effort.seconds))[1]
                for token in (tenant.tokens["owner"], session)
            ]
            for _ in range(effort.rounds)
        ]
        ratio = statistics.median(of_user / of_session for of_user, of_session in rounds)
        about = f"{name}, {place.name}, a session's token to a user's"
        missed |= promises.missed(about, ratio, at_least=ALIKE)
    return missed


def _load(place: Place, request: Request, token: str, seconds: int) -> tuple[float, float]:
    """How many were answered, and the processor seconds of the service for each."""
    plan = Plan([request], {"Authorization": f"Bearer {token}", "Content-Type": JSON_API})
    spent = machine.cpu_seconds(place.served.server.pid)
    done = wrk.run(place.url, plan, seconds).per_second * seconds
    return done, (machine.cpu_seconds(place.served.server.pid) - spent) / done


async def _beside(place: Place, elsewhere: Place, effort: Effort) -> bool:
    """What a list keeps of its rate beside sign-ins, to that beside the same at another service on
    this machine: what else they take is no fault of this one.
    """
    request = Request("GET", f"/api/v2{place.tenant.vars_path()}")
    dearer, rates, came = [], [], []
    for _ in range(effort.rounds):
        alone, cost, _ = await _listed(place, request, elsewhere, effort)
        beside, more, per_second = await _listed(place, request, place, effort)
        dearer.append(more / cost)
        rates.append(beside / alone)
        came.append(per_second)
    about = f"list, {place.name}, beside {statistics.median(came):.0f} sign-ins a second"
    print(f"{about}: {statistics.median(dearer):.2f} times its processor time, theirs included")
    return promises.missed(f"{about}, of its rate", statistics.median(rates), at_least=BESIDE)


async def _listed(
    place: Place, request: Request, other: Place, effort: Effort
) -> tuple[float, float, float]:
    """What `_load` says while people sign in at the other, and how many do a second."""
    token = place.tenant.tokens["reader"]
    async with _signing_in(other) as done:
        before, begun = done(), monotonic()
        lists, cost = await asyncio.to_thread(_load, place, request, token, effort.seconds)
        return lists, cost, (done() - before) / (monotonic() - begun)


@asynccontextmanager
async def _signing_in(place: Place) -> AsyncIterator[Callable[[], int]]:
    """Meanwhile people sign in at a steady rate; yields what tells how many have."""
    done, begun = 0, monotonic()

    async def work(number: int) -> None:
        nonlocal done
        for turn in count():
            due = begun + (number + turn * AT_ONCE) / PER_SECOND
            await asyncio.sleep(max(0.0, due - monotonic()))
            await place.token(await place.sign_in())
            done += 1

    async with asyncio.TaskGroup() as group:
        working = [group.create_task(work(number)) for number in range(AT_ONCE)]
        yield lambda: done
        for one in working:
            one.cancel()


async def _pages(place: Place, effort: Effort) -> bool:
    """How long the first page takes with a session, to how long with a pasted token."""
    site = Site(place.served, "tool")
    await site.make(place.tenant, "region", "eu")
    missed = False
    for browser in BROWSERS:
        with open_driver(browser) as driver:
            person = Person(driver, site, place.tenant)
            cookie = await place.sign_in("owner")
            rounds = await asyncio.to_thread(_in_turns, person, cookie, effort.pages)
        pasted, session = (statistics.median(one) for one in zip(*rounds, strict=True))
        print(f"{browser:12} first page: {pasted:.0f} ms with a token, {session:.0f} in a session")
        ratio = statistics.median(one / other for other, one in rounds)
        missed |= promises.missed(
            f"first page, {browser}, with a session to a token", ratio, at_most=PAGE
        )
    return missed


def _in_turns(person: Person, cookie: str, rounds: int) -> list[tuple[float, float]]:
    """With a token that was pasted in one tab, and with a session in another."""
    page = f"/{person.tenant.organization}/workspaces/network"
    person.enter("owner", page)
    pasted = person.driver.current_window_handle
    name, _, value = cookie.partition("=")
    person.driver.add_cookie({"name": name, "value": value, "path": "/"})
    person.driver.switch_to.new_window("tab")
    tabs = pasted, person.driver.current_window_handle
    for tab in tabs:
        _took(person, tab, page)  # warms up
    found = []
    for number in range(rounds):
        took = {tab: _took(person, tab, page) for tab in (tabs if number % 2 else tabs[::-1])}
        found.append((took[tabs[0]], took[tabs[1]]))
    return found


def _took(person: Person, tab: str, page: str) -> float:
    """ms until a row can be clicked."""
    person.driver.switch_to.window(tab)
    person.go(page)
    return float(person.driver.execute_async_script(USABLE))


if __name__ == "__main__":
    sys.exit(main())
