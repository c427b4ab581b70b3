"""A service to which two providers are known, and browsers that sign in there."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest

from teamvars import console, wiring
from teamvars.domain.directory import Directory, OrganizationEntry, TeamEntry
from teamvars.domain.sign_ins import Provider
from teamvars.domain.times import DAY
from teamvars.services import https, issuers
from teamvars.services import sign_ins as service
from teamvars.services.directory_files.files import Options
from teamvars.services.issuers import Issuer, IssuerKeys
from teamvars.services.sign_ins import Client, SignIns
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.app import Application
from teamvars.web.sign_ins import SignInPages, callback
from tests.support.deployment import operator
from tests.support.in_process import InProcess
from tests.support.patience import HANGS
from tests.support.sign_in_provider import SignInProvider, sign_in_provider
from tests.support.tenant import ACTIVE, JSON_API, Tenant

OWN = "https://vars.test"
SECRET = "the client's own secret"
ATTEMPT, SESSION_COOKIE = "__Host-teamvars-sign-in", "__Host-teamvars-session"
ANSWER = "__Host-teamvars-answer"


@dataclass
class Browser:
    """A browser with its cookies, at the service."""

    client: httpx.AsyncClient
    cookies: dict[str, str] = field(default_factory=dict)
    set: list[str] = field(default_factory=list)

    async def ask(self, method: str, path: str, **headers: str) -> httpx.Response:
        """One request; headers' names are written with `_`."""
        said = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookies:
            said["cookie"] = "; ".join(f"{name}={one}" for name, one in self.cookies.items())
        found = await self.client.request(method, path, headers=said)
        for text in found.headers.get_list("set-cookie"):
            self.set.append(text)
            self.cookies |= {name: one.value for name, one in SimpleCookie(text).items()}
        return found

    async def depart(self, name: str = "one") -> str:
        """Where it is sent to sign in."""
        found = await self.ask("GET", f"/app/sign-in/{name}")
        assert found.status_code == 302
        return found.headers["location"]

    async def arrive(self, said: dict[str, str], name: str = "one") -> httpx.Response:
        """It comes back."""
        return await self.ask("GET", f"{callback(name)}?{urlencode(said)}")

    async def take_up(self, named: str = "", **other: str) -> httpx.Response:
        """One of our pages asks for the token."""
        ours = {"origin": OWN, "sec_fetch_site": "same-origin", "teamvars_session": named}
        return await self.ask("POST", "/app/session", **ours | other)


@dataclass
class Scene:
    """Two providers, `one` for the tenant's first organization and `two` for its other one."""

    tenant: Tenant
    one: SignInProvider
    two: SignInProvider
    sign_ins: SignIns
    http: InProcess

    def browser(self) -> Browser:
        """A new one."""
        return Browser(self.http)

    def name_of(self, who: str) -> str:
        """What a user is called."""
        return f"{who}-{self.tenant.organization.removeprefix('org-')}"

    async def link(self, who: str, provider: SignInProvider) -> None:
        """The operator links a user with whom the provider speaks of from now on."""
        provider.claims["sub"] = self.name_of(who)
        await self.tenant.deployment.services.accounts.link(
            operator(), self.tenant.users[who], provider.url, self.name_of(who)
        )

    async def signed_in(self, who: str = "writer") -> tuple[Browser, str]:
        """A browser in which that user has signed in, and the token."""
        await self.link(who, self.one)
        browser = self.browser()
        found = await browser.arrive(self.one.answer(await browser.depart()))
        assert found.status_code == 303, found.text
        return browser, (await browser.take_up()).json()["token"]

    async def make_token(self, who: str, token: str) -> dict[str, str]:
        """The attributes of another token of that user, which is made with this one."""
        path = f"/api/v2/users/{self.tenant.users[who]}/authentication-tokens"
        document = {"data": {"type": "authentication-tokens", "attributes": {"description": "x"}}}
        sent = {"Authorization": f"Bearer {token}", "Content-Type": JSON_API}
        answer = await self.http.post(path, json=document, headers=sent)
        assert answer.status_code == 201, answer.text
        made: dict[str, str] = answer.json()["data"]["attributes"]
        return made

    async def call(self, token: str, path: str, method: str = "GET") -> int:
        """The status that the API answers with."""
        sent = {"Authorization": f"Bearer {token}"}
        return (await self.http.request(method, f"/api/v2{path}", headers=sent)).status_code


@pytest.fixture
async def providers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[SignInProvider, SignInProvider]]:
    """Two, the first of which the machine trusts; a busy host may let them answer late."""
    for module in (issuers, service):
        monkeypatch.setattr(module, "TIMEOUT_SECONDS", HANGS)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    async with sign_in_provider(tmp_path / "one") as one, sign_in_provider(tmp_path / "two") as two:
        monkeypatch.setattr(https, "tls_of_machine", lambda: one.client)
        yield one, two


@pytest.fixture
async def scene(
    tenant: Tenant, providers: tuple[SignInProvider, SignInProvider]
) -> AsyncIterator[Scene]:
    """The service, to which both are known."""
    one, two = providers
    kinds = (
        Provider("one", "One", one.url, "us", (tenant.organization,), ("example.com",), DAY),
        Provider("two", "Two", two.url, "us", (tenant.other_organization,), (), DAY),
    )
    clients = [Client(kind, SECRET, OWN + callback(kind.name)) for kind in kinds]
    services = tenant.deployment.services
    sign_ins = SignIns(services.sign_ins._house, clients)
    sign_ins._keys["two"] = IssuerKeys(Issuer(two.url), two.client)
    one.claims["sub"] = two.claims["sub"] = tenant.organization  # nobody else's in the store
    async with served(services, sign_ins) as http:
        yield Scene(tenant, one, two, sign_ins, http)


def served(services: wiring.Services, sign_ins: SignIns) -> InProcess:
    """A client of the service, where people sign in so."""
    application = Application(
        [*wiring.routes(services), *console.routes(SignInPages(sign_ins, OWN))],
        services.sessions,
        ClientAddresses(()),
    )
    return InProcess(application, base=OWN)


async def into_both(tenant: Tenant) -> None:
    """`plain` is in the other organization as well, as one of its owners."""
    mark = tenant.organization.removeprefix("org-")
    people = (f"outsider-{mark}", f"plain-{mark}")
    owners = TeamEntry("owners", members=people)
    entry = OrganizationEntry(
        tenant.other_organization, dict.fromkeys(people, ACTIVE), (), (owners,)
    )
    services = tenant.deployment.services
    await services.directory.apply(operator(), Directory((), (entry,)), Options())


async def ids_of(scene: Scene, token: str, path: str) -> set[str]:
    """The ids of what the API lists."""
    return {one["id"] for one in json.loads(await text_of(scene, token, path))["data"]}


async def text_of(scene: Scene, token: str, path: str) -> str:
    """What the API answers."""
    sent = {"Authorization": f"Bearer {token}"}
    return (await scene.http.get(f"/api/v2{path}", headers=sent)).text
