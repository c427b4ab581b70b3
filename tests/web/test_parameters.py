"""Whatever stands in the query or the path of any route, it is answered, and never by a 5xx."""

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from urllib.parse import quote, urlencode

import pytest

from teamvars import wiring
from teamvars.domain.workspaces import Quota
from teamvars.security import keyring
from teamvars.storage.engines import database_for
from teamvars.web.dialects import TERRAFORM
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.app import Application
from teamvars.web.http.routes import Route
from tests.support.deployment import Deployment
from tests.support.engines import ON_SQLITE
from tests.support.exchanging import caller_of
from tests.support.ids import filled, ids_at_hand
from tests.support.in_process import BASE, InProcess
from tests.support.tenant import Tenant, build_tenant

LONG = "a" * 50_010  # more than SQLite takes for a pattern
HOSTILE = [
    *("", " ", ",", "%", "_", "!", "\\", "'", '"', "\0", "\n", "\x1b[31m", "\x7f", "\u202e"),
    *(
        "-1",
        "0",
        "1.5",
        "1e9",
        "²",
        "\u0661",
        "9" * 30,
        "1" + "0" * 5000,
        "0" * 19 + "1" + "9" * 5000,
    ),
    *(str(2**31), str(2**63 - 1), str(2**63), "null", "[]", "{}", "ß", "\ufffd", "😀" * 64),
    *("a," * 2000, "!" * 257, "%" * 256, "_" * 256, LONG[:3000]),
]
BROKEN_UTF8 = ("%ff", "%ed%a0%80", "%c3", "%", "%zz", "%00", "+")


@cache
def routes() -> Sequence[Route]:
    """All of them, as the service is put together."""
    keys = keyring.generate()
    services = wiring.services(database_for("sqlite:////nowhere"), keys, Quota(None, None))
    return tuple(wiring.routes(services))


def reading(method: str = "GET") -> list[Route]:
    """The routes of a method."""
    return [route for route in routes() if route.method == method]


def always(tenant: Tenant, template: str) -> dict[str, str]:
    """The parameters that a route cannot do without."""
    named = {
        "filter[organization][name]": tenant.organization,
        "filter[workspace][name]": "network",
    }
    return {
        "/api/v2/team-workspaces": {"filter[workspace][id]": tenant.workspaces["network"]},
        "/api/v2/team-projects": {"filter[project][id]": tenant.project},
        "/api/v2/vars": named,
    }.get(template, {})


def parameters(route: Route) -> list[str]:
    return [parameter.name for parameter in route.reads]


SEARCHES = [(route.template, name) for route in reading() for name in parameters(route)]
BY_FORM = ("page[number]", "page[size]", "include", "sort", "fields[vars]")
"""Of these the store is told only what our code makes of them: numbers, and its own words."""


@pytest.fixture(scope="module")
async def shared(deployment: Deployment) -> Tenant:
    return await build_tenant(deployment)


def path_to(tenant: Tenant, template: str) -> str:
    """A path of the template at which something is, or its address if it is not below the API's."""
    if not template.startswith("/api/v2"):
        return BASE.removesuffix("/api/v2") + template
    ids = {**ids_at_hand(tenant), "user_id": tenant.users["owner"]}
    return filled(template.removeprefix("/api/v2"), ids)


def search(tenant: Tenant, template: str, *pairs: tuple[str, str]) -> str:
    """As `path_to`, with a query, and what the route cannot do without."""
    said = dict(pairs)
    needed = ((name, text) for name, text in always(tenant, template).items() if name not in said)
    return f"{path_to(tenant, template)}?{urlencode((*pairs, *needed))}"


async def status(tenant: Tenant, path: str, caller: str = "owner") -> int:
    answer = await tenant.call(caller, "GET", path)
    if answer.status_code == 400:
        codes = {error["code"] for error in answer.json()["errors"]}
        assert codes == {"invalid_parameter"}, path[:200]
    assert len(answer.content) < 2**20
    return answer.status_code


@ON_SQLITE
@pytest.mark.parametrize(("template", "name"), SEARCHES)
async def test_a_long_text_is_refused_by_the_name_of_its_parameter(
    shared: Tenant, template: str, name: str
) -> None:
    for text in (LONG, "a" * 257):
        answer = await shared.call("owner", "GET", search(shared, template, (name, text)))
        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["code"]) == (400, "invalid_parameter")
        assert error["source"] == {"parameter": name}


@ON_SQLITE
@pytest.mark.parametrize(("template", "name"), [one for one in SEARCHES if one[1] in BY_FORM])
async def test_any_text_is_read_or_refused(shared: Tenant, template: str, name: str) -> None:
    await any_text_is_answered(shared, template, name)


@pytest.mark.parametrize(("template", "name"), [one for one in SEARCHES if one[1] not in BY_FORM])
async def test_any_text_is_looked_for_or_refused(shared: Tenant, template: str, name: str) -> None:
    await any_text_is_answered(shared, template, name)


async def any_text_is_answered(shared: Tenant, template: str, name: str) -> None:
    for text in HOSTILE:
        found = await status(shared, search(shared, template, (name, text)))
        assert found in (200, 400, 404)
    for raw in BROKEN_UTF8:
        found = await status(shared, f"{search(shared, template)}&{quote(name)}={raw}")
        assert found in (200, 400, 404)


UNKNOWN = (
    "&".join(f"p{n}={n}" for n in range(5000)),
    "&" * 5000,
    f"unknown={LONG}",
    f"{LONG}=unknown",
    urlencode({"unknown": "\x80" * 5000}),
)
"""Many parameters and long ones, of which nobody tells the store."""


@ON_SQLITE
@pytest.mark.parametrize("route", reading(), ids=lambda route: route.template)
async def test_any_query_that_nobody_knows_is_answered(shared: Tenant, route: Route) -> None:
    await queries_are_answered(shared, route, UNKNOWN)


@pytest.mark.parametrize(
    "route", [one for one in reading() if parameters(one)], ids=lambda route: route.template
)
async def test_any_mix_of_what_is_looked_for_is_answered(shared: Tenant, route: Route) -> None:
    random.seed(route.template)
    await queries_are_answered(shared, route, mixes(parameters(route)))


async def queries_are_answered(shared: Tenant, route: Route, queries: Iterable[str]) -> None:
    path = path_to(shared, route.template)
    if route.template == path:  # of another root than the API's
        path = f"http://teamvars.test{path}"
    shared, caller = await caller_of(shared, route)
    for query in queries:
        answer = await status(shared, f"{path}?{query}", caller)
        assert answer in (200, 204, 400, 404, *route.refuses)


def mixes(names: list[str]) -> Iterator[str]:
    """Known parameters at random."""
    for _ in range(10):
        known = random.choices([*names, "x"], k=3)
        yield urlencode([(name, random.choice(HOSTILE)[:2000]) for name in known])


@pytest.mark.parametrize(
    "route",
    [one for one in reading() if "{" in one.template],
    ids=lambda route: route.template,
)
async def test_any_path_is_answered(shared: Tenant, route: Route) -> None:
    shared, caller = await caller_of(shared, route)
    for text in HOSTILE:
        filled = quote(text, safe="") or "-"
        hostile = re.sub(r"\{\w+\}", filled, route.template)
        answer = await status(shared, hostile.removeprefix("/api/v2"), caller)
        # The token of a job is none in another workspace.
        assert answer in (200, 400, 404, *([401] if route.for_jobs else []))


@ON_SQLITE
@pytest.mark.parametrize("route", reading(), ids=lambda route: route.template)
async def test_any_header_is_answered(shared: Tenant, route: Route) -> None:
    path = path_to(shared, route.template)
    shared, caller = await caller_of(shared, route)
    names = ("Accept", "If-Match", "If-None-Match", "X-Request-Id", "X-Forwarded-For", "Range")
    for text in ("", ",", '"', "\\", "*", "9" * 5000, '"a",' * 5000, ";q=" * 3000):
        for name in names:
            answer = await shared.call(caller, "GET", path, headers={name: text})
            assert answer.status_code in (200, 204, 304, 400, 404, 406, *route.refuses)


@ON_SQLITE
@pytest.mark.parametrize(("template", "name"), SEARCHES)
async def test_what_stands_there_twice_is_honoured_or_refused_and_never_ignored(
    shared: Tenant, template: str, name: str
) -> None:
    path = search(shared, template, (name, "1"), (name, "2"))
    answer = await shared.call("owner", "GET", path)
    if name in ("filter[names]", "filter[email]", "filter[user]", "search[tags]"):
        assert answer.json()["data"] == []
    elif name == "search[exclude-tags]":
        plain = await shared.call("owner", "GET", search(shared, template))
        assert answer.json()["data"] == plain.json()["data"]
    else:
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["source"] == {"parameter": name}


@ON_SQLITE
async def test_all_that_is_wrong_with_a_query_is_told_at_once_in_its_order(shared: Tenant) -> None:
    org, where = shared.organization, "filter[organization][name]"
    at = f"/organizations/{org}"
    queries: dict[str, list[tuple[str, str]]] = {
        f"{at}/vars": [
            *(("filter[sensitive]", "maybe"), ("x", "y"), ("page[size]", "0")),
            *(("fields[vars]", "key,nothing"), ("include", "workspaces"), ("filter[key]", "\0")),
            *(("filter[category]", "x"), ("page[after]", "a" * 4000)),
        ],
        f"{at}/audit-events": [("filter[since]", "now"), ("filter[actor]", "a" * 257)],
        f"{at}/workspaces": [
            *(("filter[tagged][3][value]", "lonely"), ("sort", "id"), ("page[number]", "-1")),
            *(("filter[tagged][4][key]", "a" * 129), ("filter[tagged][4][value]", "a" * 257)),
            *(("include", "project,nothing"), ("search[tags]", ",".join(map(str, range(101))))),
        ],
        f"{at}/team-tokens": [("filter[expiry_status]", "active,gone"), ("sort", "x")],
        "/vars": [("filter[workspace][name]", "a" * 257), ("filter[x]", "y"), (where, "")],
    }
    fine = {("x", "y"), ("filter[tagged][4][key]", "a" * 129)}
    for path, said in queries.items():
        answer = await shared.call("owner", "GET", f"{path}?{urlencode(said)}")
        errors = answer.json()["errors"]
        assert (answer.status_code, {one["code"] for one in errors}) == (400, {"invalid_parameter"})
        wrong = [name for name, text in said if (name, text) not in fine]
        assert [one["source"]["parameter"] for one in errors] == wrong
    changed = f"/teams/{shared.teams['readers']}?include=users&sort=name"
    answer = await shared.call("owner", "PATCH", changed, {"data": {"type": "x"}})
    named = [one["source"]["parameter"] for one in answer.json()["errors"]]
    assert named == ["include", "sort"]
    assert (await shared.call(None, "PATCH", changed, {"data": {}})).status_code == 401


@ON_SQLITE
async def test_what_has_to_be_said_is_missed_where_there_is_no_query(shared: Tenant) -> None:
    answer = await shared.call("owner", "GET", "/vars")
    assert [one["source"]["parameter"] for one in answer.json()["errors"]] == [
        "filter[organization][name]",
        "filter[workspace][name]",
    ]


async def test_a_list_of_words_may_be_long_but_not_endless(shared: Tenant) -> None:
    path = f"/organizations/{shared.organization}/teams?filter[names]="
    words = [f"crew-{n}" for n in range(99)]
    found = await shared.call("owner", "GET", path + ",".join([*words, "crew"]))
    assert [one["attributes"]["name"] for one in found.json()["data"]] == ["crew"]
    refused = await shared.call("owner", "GET", path + ",".join([*words, "crew", "more"]))
    assert refused.json()["errors"][0]["source"] == {"parameter": "filter[names]"}


async def test_the_links_of_a_page_ask_for_all_that_was_asked_for(shared: Tenant) -> None:
    path = f"/organizations/{shared.organization}/teams?filter[names]=crew&filter[names]=readers"
    first = (await shared.call("owner", "GET", f"{path}&page[size]=1")).json()
    follow = first["links"]["next"].removeprefix("/api/v2")
    second = (await shared.call("owner", "GET", follow)).json()
    names = [page["data"][0]["attributes"]["name"] for page in (first, second)]
    assert names == ["crew", "readers"]


async def test_a_letter_that_only_looks_like_one_finds_nothing(shared: Tenant) -> None:
    for name in (shared.organization.replace("o", "º", 1), f"{shared.organization}\u017f"):
        assert await status(shared, f"/organizations/{quote(name)}") == 404
    assert (
        await status(shared, f"/organizations/{shared.organization}/workspaces/networ%E2%84%AA")
        == 404
    )


OTHER_ANSWERS = [
    "include",
    "sort",
    "fields",
    "fields[teams]",
    "filter[x]",
    "search[tags]",
    "q",
    "scope",
]
OTHER_PAGES = ["page", "page[number]", "page[after]", "page[offset]"]


LISTS = [(route.template, one.name) for route in reading() for one in route.reads if one.is_list]


@ON_SQLITE
@pytest.mark.parametrize(("template", "name"), LISTS)
async def test_a_list_without_a_word_is_refused_unless_it_is_empty(
    shared: Tenant, template: str, name: str
) -> None:
    assert await status(shared, search(shared, template, (name, ""))) in (200, 404)
    for text in (",", " , ", " "):
        answer = await shared.call("owner", "GET", search(shared, template, (name, text)))
        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["code"]) == (400, "invalid_parameter")
        assert error["source"] == {"parameter": name}


@ON_SQLITE
@pytest.mark.parametrize("route", reading(), ids=lambda route: route.template)
async def test_what_would_change_an_answer_is_read_or_refused_and_never_ignored(
    shared: Tenant, route: Route
) -> None:
    if route.public:
        return
    shared, caller = await caller_of(shared, route)
    others = OTHER_ANSWERS + OTHER_PAGES * ("page[size]" in parameters(route))
    for name in (other for other in others if other not in parameters(route)):
        answer = await shared.call(caller, "GET", search(shared, route.template, (name, "x")))
        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["code"]) == (400, "invalid_parameter"), name
        assert error["source"] == {"parameter": name}
        for ignored in ((name, ""), (name.upper(), "x"), ("unheard", "x")):
            found = await status(shared, search(shared, route.template, ignored), caller)
            assert found in (200, 404, *route.refuses), ignored


async def test_a_change_that_asks_for_what_there_is_not_is_refused_and_nothing_is_changed(
    shared: Tenant,
) -> None:
    path = f"/teams/{shared.teams['readers']}"
    answer = await shared.call("owner", "DELETE", f"{path}?include=users")
    assert answer.json()["errors"][0]["source"] == {"parameter": "include"}
    assert (await shared.call("owner", "GET", path)).status_code == 200
    assert (await shared.call(None, "DELETE", f"{path}?include=users")).status_code == 401


async def test_only_where_clients_send_it_an_include_that_there_is_not_is_ignored(
    shared: Tenant,
) -> None:
    services = shared.deployment.services
    ignored = TERRAFORM.ignored_includes
    application = Application(
        wiring.routes(services, TERRAFORM), services.sessions, ClientAddresses(), ignored
    )
    headers = {"Authorization": f"Bearer {shared.tokens['owner']}"}
    path = f"/organizations/{shared.organization}/workspaces"
    async with InProcess(application, headers=headers) as http:
        sent = await http.get(f"{path}?include=current_run,readme")
        unheard = await http.get(f"{path}?include=current_run,nonsense")
    assert sent.status_code == 200
    assert unheard.json()["errors"][0]["source"] == {"parameter": "include"}
    strict = await shared.call("owner", "GET", f"{path}?include=readme")
    assert strict.status_code == 400


@pytest.mark.parametrize("size", ["100", "101", "9" * 9, "9" * 11, "9" * 300, "0" * 300 + "500"])
async def test_any_size_above_the_largest_counts_as_the_largest(shared: Tenant, size: str) -> None:
    path = f"/organizations/{shared.organization}/teams?page[size]={size}"
    answer = await shared.call("owner", "GET", path)
    assert answer.json()["meta"]["pagination"]["page-size"] == 100


async def test_there_is_no_page_before_the_first(shared: Tenant) -> None:
    path = f"/organizations/{shared.organization}/teams?page[size]=2"
    first = await shared.call("owner", "GET", f"{path}&page[number]=1")
    for number in ("0", "000"):
        answer = await shared.call("owner", "GET", f"{path}&page[number]={number}")
        assert answer.json() == first.json()
    for number in ("-1", "1.0", "one", "\u0661", "1" * 11):
        refused = await shared.call("owner", "GET", f"{path}&page[number]={number}")
        assert refused.json()["errors"][0]["source"] == {"parameter": "page[number]"}
