"""`GET /organizations/:organization/vars`: the variables a caller may read, on both engines."""

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest

from teamvars.decisions.variables import ToWorkspace
from teamvars.domain.errors import Refusal
from teamvars.domain.names import fold
from teamvars.domain.pages import CursorPaged, Page
from teamvars.domain.variable_search import Place, VariableSearch
from teamvars.domain.variable_sets import MAX_NAME_CHARACTERS
from teamvars.fair_slots import LOCK_WAITERS, LONE_SLOTS
from teamvars.kernel.variables import MAX_KEY_CHARACTERS
from teamvars.security.cursors import Cursors
from teamvars.storage import access_by_name, variable_search
from teamvars.storage.database import Transaction
from tests.services.calls import caller
from tests.support.deployment import Deployment
from tests.support.engines import ON_SQLITE
from tests.support.tenant import Tenant, build_tenant, variable_document
from tests.web.dialects import terraform
from tests.web.test_applies import apply, item
from tests.web.test_project_grants import grant as grant_on_project
from tests.web.test_project_sets import at_projects, make_owned
from tests.web.test_projects import make as make_project
from tests.web.test_projects import moved
from tests.web.test_strangers import locked_by_another
from tests.web.test_team_workspaces import access_document
from tests.web.test_variable_sets import as_global, attach, make_set, put, rights

KEYS = [
    *("a", "a*", "a*b", "a%", "a_", "a!", "ab", "A", "b", "B", "AWS_1", "AWS_2", "aws_1"),
    *(
        "é",
        "É",
        "ẞ_URL",
        "e\u0301",
        "\ud7ff",
        "\ud7ffz",
        "\ue000",
        "😀",
        "😀😀",
        "\U0010ffff",
        "\U0010ffffz",
    ),
]
PATTERNS = [
    *(
        None,
        "a",
        "a*",
        "a**",
        "a%*",
        "a_*",
        "a!",
        "A*",
        "*",
        "**",
        "AWS_*",
        "none",
        "none*",
        "\x01*",
    ),
    *("\ud7ff", "\ud7ff*", "😀*", "\U0010ffff*", "é*", "a*b", "b*"),
]
PARTS = ["a", "A", "ws", "*", "%", "_", "É", "SS_url", "E\u0301", "\ud7ff", "😀", "none", "=", "!"]
CALLERS = {
    "owner": None,
    "organization-token": None,
    "reader": {"network", "set everywhere", "set At network"},
    "hidden": {"Zoo", "ant-1", "payments", "set everywhere", "set at two"},
    "plain": set[str](),
}
SETS: dict[str, tuple[str, ...]] = {
    "At network": ("network",),
    "at two": ("Zoo", "payments"),
    "everywhere": (),
    "nowhere": (),
}
"""Sets by name, with the workspaces that each is attached to."""
Attributes = dict[str, Any]


class Wanted(NamedTuple):
    """What one search asks for; None asks for nothing in particular."""

    key: str | None = None
    category: str | None = None
    sensitive: str | None = None
    workspace: str | None = None
    part: str | None = None

    def matches(self, one: Attributes) -> bool:
        """Whether the model finds it."""
        return (
            matches(self.key, one["key"])
            and (self.part or "").casefold() in one["key"].casefold()
            and self.category in (None, one["category"])
            and self.sensitive in (None, str(one["sensitive"]).lower())
            and (self.workspace is None or fold(self.workspace) == fold(where(one)))
        )

    def query(self) -> dict[str, str]:
        """The filters of the query."""
        names = {name: f"filter[{name}]" for name in self._fields} | {"part": "q"}
        return {names[name]: said for name, said in self._asdict().items() if said}


def matches(pattern: str | None, key: str) -> bool:
    if pattern is None or pattern.endswith("*"):
        return key.startswith((pattern or "*")[:-1])
    return key == pattern


def path(tenant: Tenant, **query: object) -> str:
    names = {"after": "page[after]", "size": "page[size]", "fields": "fields[vars]"}
    said = {names.get(name, name): value for name, value in query.items()}
    return f"/organizations/{tenant.organization}/vars?{urlencode(said)}"


async def page(tenant: Tenant, who: str = "owner", **query: object) -> dict[str, Any]:
    """The document of one page."""
    answer = await tenant.call(who, "GET", path(tenant, **query))
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


async def pages(
    tenant: Tenant, who: str = "owner", **query: object
) -> AsyncIterator[dict[str, Any]]:
    """All pages, by their links."""
    document = await page(tenant, who, **query)
    yield document
    while (further := document["links"]["next"]) is not None:
        answer = await tenant.call(who, "GET", further.removeprefix("/api/v2"))
        assert answer.status_code == 200, answer.text
        document = answer.json()
        yield document


async def walk(tenant: Tenant, who: str = "owner", **query: object) -> list[Attributes]:
    """The attributes of all that is found, page by page."""
    return [one["attributes"] async for each in pages(tenant, who, **query) for one in each["data"]]


async def keys(tenant: Tenant, who: str = "owner", **query: object) -> list[str]:
    return [one["key"] for one in await walk(tenant, who, **query)]


async def make_workspaces(tenant: Tenant, *names: str) -> None:
    for name in names:
        document = {"data": {"type": "workspaces", "attributes": {"name": name}}}
        answer = await tenant.call(
            "owner", "POST", f"/organizations/{tenant.organization}/workspaces", document
        )
        tenant.workspaces[name] = answer.json()["data"]["id"]  # type: ignore[index]


async def grant(tenant: Tenant, team: str, workspace: str) -> str:
    """Gives a team the right to read; returns the id of the access."""
    document = access_document(
        tenant.teams[team], tenant.workspaces[workspace], access="custom", variables="read"
    )
    answer = await tenant.call("owner", "POST", "/team-workspaces", document)
    assert answer.status_code == 201, answer.text
    id_: str = answer.json()["data"]["id"]
    return id_


def where(one: Attributes) -> str:
    """The name of the workspace, or of the set behind that word."""
    name: str = one["workspace-name"]
    assert bool(name) != bool(one["varset-name"])
    return name or f"set {one['varset-name']}"


def order(one: Attributes) -> tuple[bool, str, str, bool]:
    in_workspace = one["workspace-name"] != ""
    return in_workspace, one["key"], fold(where(one)), one["category"] == "tool"


@pytest.fixture(scope="module")
async def filled(deployment: Deployment) -> tuple[Tenant, list[Attributes]]:
    """A tenant with odd keys in several workspaces and sets, and what they are."""
    tenant = await build_tenant(deployment)
    await make_workspaces(tenant, "Zoo", "ant-1", "ANT_2")
    for workspace in ("Zoo", "ant-1", "payments"):
        await grant(tenant, "secret", workspace)
    chance = random.Random(9)
    model = []
    for name in ("network", "payments", "Zoo", "ant-1", "ANT_2"):
        made = [
            item(key, category, value=f"{name} {key}", sensitive=chance.random() < 0.3)
            for key, category in itertools.product(KEYS, ("tool", "env"))
            if chance.random() < 0.6
        ]
        assert (await apply(tenant, *made, who="owner", workspace=name)).status_code == 200
        said = {"workspace-name": name, "varset-name": ""}
        model += [{**one["attributes"], **said} for one in made]
    for name, attached in SETS.items():
        id_ = await make_set(tenant, name, *attached, **as_global(is_=name == "everywhere"))
        made = [
            item(key, category, value=f"{name} {key}", sensitive=chance.random() < 0.3)
            for key, category in itertools.product(KEYS, ("tool", "env"))
            if chance.random() < 0.6
        ]
        answer = await tenant.call("owner", "POST", f"/varsets/{id_}/actions/apply", {"data": made})
        assert answer.status_code == 200, answer.text
        said = {"workspace-name": "", "varset-name": name}
        model += [{**one["attributes"], **said} for one in made]
    return tenant, sorted(model, key=order)


@pytest.fixture(params=["as it is", "few rows a page", "few rows a page, many grants"])
def bounds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How much a page may look at, and from how many grants on a caller goes the other way."""
    if request.param != "as it is":
        monkeypatch.setattr(variable_search, "MAX_LOOKED_AT", 11)
        monkeypatch.setattr(variable_search, "_MAX_ROWS", 5)
        monkeypatch.setattr(variable_search, "MAX_KEYS", 3)
    if "grants" in request.param:
        monkeypatch.setattr(access_by_name, "MAX_LISTED", 0)
        monkeypatch.setattr(variable_search, "_MAX_RIGHTS", 7)
    return str(request.param)


@pytest.mark.parametrize("who", CALLERS)
async def test_all_pages_together_are_what_is_wanted_and_may_be_read_in_order(
    filled: tuple[Tenant, list[Attributes]], bounds: str, who: str
) -> None:
    tenant, model = filled
    visible = CALLERS[who]
    choices = itertools.product(
        PATTERNS,
        (None, "tool", "env"),
        (None, "true", "false"),
        (None, None, "zoo", "NETWORK", "nothing"),
        (*(None,) * len(PARTS), *PARTS),
    )
    chance = random.Random(f"{who} {bounds}")
    for wanted in map(Wanted._make, chance.sample(list(choices), 50)):
        expected = [
            (one["key"], one["category"], where(one), one["sensitive"])
            for one in model
            if wanted.matches(one) and (visible is None or where(one) in visible)
        ]
        size = chance.choice((1, 3, 7, 20, 100) if len(expected) < 60 else (20, 100))
        found = await walk(tenant, who, size=size, **wanted.query())
        in_sets = sum(one["varset-name"] != "" for one in found)
        if "many" in bounds:  # those of sets come in portions
            found[:in_sets] = sorted(found[:in_sets], key=order)
        assert [
            (one["key"], one["category"], where(one), one["sensitive"]) for one in found
        ] == expected, (wanted, size)
        assert not any("value" in one for one in found)


async def test_no_page_is_larger_than_asked_and_a_full_store_gives_full_ones(
    filled: tuple[Tenant, list[Attributes]],
) -> None:
    tenant, model = filled
    sizes = [len(one["data"]) async for one in pages(tenant, size=7)]
    assert set(sizes[:-1]) == {7}
    assert sum(sizes) == len(model)
    assert len((await page(tenant))["data"]) == 20
    assert len((await page(tenant, size=1000))["data"]) == 100


async def test_a_variable_looks_as_elsewhere_and_says_where_it_is(tenant: Tenant) -> None:
    made = await tenant.make_variable("region")
    (found,) = (await page(tenant))["data"]
    attributes = {**made["attributes"], "workspace-name": "network", "varset-name": ""}
    assert attributes.pop("value") == "eu"
    assert found == {**made, "attributes": attributes}


async def test_a_variable_of_a_set_comes_before_others_and_names_the_set(tenant: Tenant) -> None:
    await tenant.make_variable("region")
    made = await put(tenant, await make_set(tenant, "Zone keys", "network"), "region", "us")
    found = (await page(tenant, "reader", fields="key,value,varset-name,workspace-name,varset"))[
        "data"
    ]
    names = {"varset-name": "Zone keys", "workspace-name": ""}
    assert found[0] == {
        **{name: made[name] for name in ("id", "type", "relationships", "links")},
        "attributes": {"key": "region", "value": "us", **names},
    }
    assert [one["attributes"]["value"] for one in found] == ["us", "eu"]
    assert "relationships" not in found[1]


async def test_whose_variables_a_search_finds_are_the_sets_that_one_sees(tenant: Tenant) -> None:
    shop = await make_project(tenant)
    made = {
        "everywhere": await make_set(tenant, "everywhere", **as_global()),
        "at payments": await make_set(tenant, "at payments", "payments"),
        "of shop": await make_owned(tenant, shop, "of shop"),
        "nowhere": await make_set(tenant, "nowhere"),
    }
    for name, id_ in made.items():
        await put(tenant, id_, name.replace(" ", "_"))

    async def found(who: str) -> list[str]:
        listed = await tenant.call(who, "GET", f"/organizations/{tenant.organization}/varsets")
        names = sorted(one["attributes"]["name"] for one in listed.json()["data"])
        assert sorted(where(one) for one in await walk(tenant, who)) == [f"set {n}" for n in names]
        return names

    assert await found("owner") == await found("organization-token") == sorted(made)
    assert await found("writer") == ["everywhere"]
    assert await found("plain") == []
    custom = {"workspace_access": {"variables": "none"}}
    own = {"project_access": {"variable-sets": "read"}}
    await grant_on_project(tenant, shop, "writers", access="custom", **custom, **own)
    assert await found("writer") == ["everywhere", "of shop"]
    await rights(tenant, "readers", "read-workspaces")
    assert await found("reader") == ["at payments", "everywhere"]
    await rights(tenant, "readers", "manage-projects")
    assert await found("reader") == ["at payments", "everywhere"]
    await rights(tenant, "readers", "manage-workspaces")
    assert await found("reader") == sorted(made)
    await attach(tenant, made["at payments"], "payments", method="DELETE")
    assert await found("writer") == ["everywhere", "of shop"]


def in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has every caller go through the workspaces for the sets, few at a time."""
    monkeypatch.setattr(access_by_name, "MAX_LISTED", 0)
    monkeypatch.setattr(variable_search, "_MAX_RIGHTS", 1)


async def make_many(tenant: Tenant) -> dict[str, str]:
    """Sets by name that reach some of many workspaces, of which the readers read some. Those called
    `hidden` reach none of these.
    """
    many = [f"m-{n:02}" for n in range(14)]
    await make_workspaces(tenant, *many)
    shop, empty = await make_project(tenant), await make_project(tenant, name="empty")
    ids = [tenant.workspaces[name] for name in ("m-03", "m-09", "m-10")]
    path = f"/projects/{shop}/relationships/workspaces"
    assert (await tenant.call("owner", "POST", path, moved(*ids))).is_success
    for name in ("m-05", "m-10", "m-12", "m-13"):
        await grant(tenant, "readers", name)
    made = {
        "everywhere": await make_set(tenant, "everywhere", **as_global()),
        "late": await make_set(tenant, "late", "m-00", "m-12"),
        "all": await make_set(tenant, "all", *many),
        "of shop": await make_owned(tenant, shop, "of shop"),
        "at shop": await make_set(tenant, "at shop"),
        "hidden": await make_set(tenant, "hidden", "m-00", "m-07"),
        "hidden empty": await make_set(tenant, "hidden empty"),
    }
    for name, project in (("of shop", shop), ("at shop", shop), ("hidden empty", empty)):
        assert (await at_projects(tenant, made[name], project)).is_success
    for name, id_ in made.items():
        for n in range(3):
            await put(tenant, id_, f"{name.replace(' ', '_')}_{n}")
    return made


async def test_who_has_many_grants_finds_what_is_in_each_set_once_however_it_reaches_them(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await make_many(tenant)
    in_portions(monkeypatch)
    for size in (1, 2, 100):
        found = [where(one) for one in await walk(tenant, "reader", size=size)]
        seen = [f"set {name}" for name in made if not name.startswith("hidden")]
        assert Counter(found) == dict.fromkeys(seen, 3)
    assert await keys(tenant, "reader", **{"filter[key]": "late_1"}) == ["late_1"]
    for n in range(2):
        await tenant.make_variable(f"a{n}")
    assert (await keys(tenant, "reader", size=1))[-2:] == ["a0", "a1"]
    assert await keys(tenant, "reader", size=1, **{"filter[workspace]": "network"}) == ["a0", "a1"]


async def test_sets_that_are_made_and_go_between_pages_keep_no_other_from_being_found(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await make_many(tenant)
    in_portions(monkeypatch)
    found = []
    async for document in pages(tenant, "reader", size=2):
        found += [where(one["attributes"]) for one in document["data"]]
        if len(found) >= 4 and "hidden" in made:
            await tenant.call("owner", "DELETE", f"/varsets/{made.pop('hidden')}")
            await put(tenant, await make_set(tenant, "new", "m-13"), "new")
    assert {f"set {name}" for name in made if name != "hidden empty"} <= {*found}


async def test_where_a_page_with_sets_ends_tells_nothing_of_those_that_one_does_not_see(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await make_many(tenant)
    in_portions(monkeypatch)
    asked = {"size": 2, "filter[key]": "*"}
    before = [one["data"] async for one in pages(tenant, "reader", **asked)]
    for n in range(9):
        await put(tenant, made["hidden"], f"all_0{n}")
        await put(tenant, made["hidden empty"], f"late_1{n}")
    assert [one["data"] async for one in pages(tenant, "reader", **asked)] == before


async def test_only_the_fields_that_are_asked_for_are_shown(tenant: Tenant) -> None:
    await tenant.make_variable("region")
    await tenant.make_variable("secret", sensitive=True)
    shown = [one["attributes"] for one in (await page(tenant, fields="value,key"))["data"]]
    assert shown == [{"key": "region", "value": "eu"}, {"key": "secret", "value": None}]
    (first, _) = (await page(tenant, fields="configurable"))["data"]
    assert first["attributes"] == {}
    assert first["relationships"]["configurable"]["data"]["type"] == "workspaces"
    (first, _) = (await page(tenant, fields="workspace-name"))["data"]
    assert first["attributes"] == {"workspace-name": "network"}
    assert "relationships" not in first


async def test_the_dialect_has_its_own_words(tenant: Tenant) -> None:
    await tenant.make_variable("region")
    async with terraform(tenant) as client:
        own = path(tenant, **{"filter[category]": "terraform"})
        (found,) = (await client.get(own)).json()["data"]
        assert found["attributes"]["category"] == "terraform"
        assert found["attributes"]["created-at"].endswith("Z")
        alone = path(tenant, fields="created-at")
        assert [*(await client.get(alone)).json()["data"][0]["attributes"]] == ["created-at"]
        wrong = path(tenant, **{"filter[category]": "tool"})
        assert (await client.get(wrong)).status_code == 400


@ON_SQLITE
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("filter[category]", "terraform"),
        ("filter[sensitive]", "yes"),
        ("filter[value]", "eu"),
        ("filter[key][]", "a"),
        ("fields[vars]", "key,nothing"),
        ("fields[vars]", "created-at"),
        ("fields[workspaces]", "name"),
        ("include", "configurable"),
        ("page[size]", "0"),
        ("page[after]", "nonsense"),
        ("page[after]", "a" * 1025),
        ("page[after]", "é"),
    ],
)
async def test_what_a_search_does_not_know_is_refused_by_name(
    tenant: Tenant, name: str, said: str
) -> None:
    answer = await tenant.call("owner", "GET", path(tenant, **{name: said}))
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["code"]) == (400, "invalid_parameter")
    assert error["source"] == {"parameter": name}


async def test_a_workspace_that_is_not_there_and_one_that_is_hidden_look_the_same(
    tenant: Tenant,
) -> None:
    await tenant.call("owner", "POST", tenant.vars_path("payments"), variable_document())
    for name in ("payments", "nothing"):
        document = await page(tenant, "reader", **{"filter[workspace]": name})
        assert (document["data"], document["links"]["next"]) == ([], None)
    assert await keys(tenant, "owner", **{"filter[workspace]": "PAYMENTS"}) == ["region"]


async def test_an_organization_never_shows_what_is_anothers(tenant: Tenant) -> None:
    theirs = f"/workspaces/{tenant.other_workspace}/vars"
    await tenant.call("outsider", "POST", theirs, variable_document(key="same"))
    await tenant.make_variable("same")
    assert [one["workspace-name"] for one in await walk(tenant)] == ["network"]
    own = f"/organizations/{tenant.other_organization}/vars"
    found = (await tenant.call("outsider", "GET", own)).json()["data"]
    assert [one["attributes"]["workspace-name"] for one in found] == ["elsewhere"]


async def test_who_searches_counts_to_the_organization_as_who_reads_there_and_no_outsider_does(
    tenant: Tenant,
) -> None:
    services = tenant.deployment.services
    reading, searching, outside = (caller(tenant, who) for who in ("reader", "plain", "outsider"))
    await services.audit.of_owner(reading, ToWorkspace(tenant.workspaces["network"]), Page())
    for where in (None, "network"):
        wanted = VariableSearch(workspace=where)
        searching.organization_id = None
        await services.searches.variables(searching, tenant.organization, wanted, None)
        assert searching.organization_id == reading.organization_id is not None
        with pytest.raises(Refusal):
            await services.searches.variables(outside, tenant.organization, wanted, None)
        assert outside.organization_id is None


async def cursor(tenant: Tenant, who: str = "owner") -> str:
    """The cursor of the second page of pages of one."""
    link: str = (await page(tenant, who, size=1))["links"]["next"]
    return link.partition("after%5D=")[2].partition("&")[0]


async def test_the_longest_cursor_that_a_page_names_is_taken(tenant: Tenant) -> None:
    made = await make_set(tenant, "😀" * MAX_NAME_CHARACTERS, "network")
    for category in ("env", "tool"):
        await put(tenant, made, "😀" * MAX_KEY_CHARACTERS, category=category)
    assert [one["category"] for one in await walk(tenant, size=1)] == ["env", "tool"]


async def test_a_cursor_is_of_one_organization_and_gives_no_right(tenant: Tenant) -> None:
    for key in ("a", "b"):
        await tenant.make_variable(key)
    after = await cursor(tenant)
    assert await keys(tenant, "reader", after=after) == ["b"]
    assert await keys(tenant, "plain", after=after) == []
    foreign = f"/organizations/{tenant.other_organization}/vars?page[after]={after}"
    assert (await tenant.call("outsider", "GET", foreign)).status_code == 400
    assert (await tenant.call("owner", "GET", foreign)).status_code == 404
    another = "B" if after[0] == "A" else "A"
    for broken in (after[:-4], another + after[1:], after + "AAAA", after[::-1]):
        answer = await tenant.call("owner", "GET", path(tenant, after=broken))
        assert answer.status_code == 400, broken


async def test_a_cursor_is_a_place_also_for_another_search(tenant: Tenant) -> None:
    for key in ("a", "b", "c"):
        await tenant.make_variable(key)
    after = await cursor(tenant)
    assert await keys(tenant, after=after, **{"filter[key]": "a"}) == []
    assert await keys(tenant, after=after, **{"filter[key]": "c*"}) == ["c"]


async def test_a_cursor_hides_the_key_it_stands_at(
    filled: tuple[Tenant, list[Attributes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant, _ = filled
    monkeypatch.setattr(access_by_name, "MAX_LISTED", 0)
    monkeypatch.setattr(variable_search, "MAX_LOOKED_AT", 2)
    lengths = set()
    async for document in pages(tenant, "reader"):
        after = document["links"]["next"]
        lengths.add(0 if after is None else len(after))
    assert len(lengths) == 2  # all of one length, and the end
    sealed = Cursors(tenant.deployment.keys).seal(Place("a-key", "a-name", "env"), "list")
    assert "a-key" not in sealed


async def test_where_a_page_ends_tells_no_key_that_its_reader_may_not_see(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may rename a variable could else find such a key by what comes behind the cursor."""
    hidden = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot"]
    made = [item(key, "env", value="v") for key in hidden]
    await apply(tenant, *made, who="owner", workspace="payments")
    monkeypatch.setattr(access_by_name, "MAX_LISTED", 0)
    monkeypatch.setattr(variable_search, "MAX_LOOKED_AT", 5)
    after = await cursor(tenant, "writer")
    own = [key[:-1] + end for key in hidden for end in ("", key[-1], f"{key[-1]}_", "z")]
    await apply(tenant, *[item(key, "env", value="v") for key in own])
    monkeypatch.setattr(variable_search, "MAX_LOOKED_AT", 2000)
    behind = await keys(tenant, "writer", after=after, size=100)
    assert 0 < len(behind) < len(own)
    for key in hidden:
        assert len([one for one in behind if one.startswith(key[:-1])]) in (0, 4), behind


async def test_a_part_is_looked_for_in_what_one_may_read_alone_so_that_no_page_tells_of_others(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Candidates from keys that one may not read would end pages earlier the more of them match."""
    monkeypatch.setattr(access_by_name, "MAX_LISTED", 0)
    monkeypatch.setattr(variable_search, "MAX_LOOKED_AT", 6)
    monkeypatch.setattr("secrets.randbelow", lambda _: 0)
    own = [item(f"k{n}{end}", "env", value="v") for n in range(9) for end in ("_URL", "_other")]
    await apply(tenant, *own)
    seen = []
    for end in ("_url", "_xyz"):
        hidden = [item(f"k{n}a{end}", "env", value="v") for n in range(9)]
        made = await apply(tenant, *hidden, who="owner", workspace="payments", prune=True)
        assert made.is_success
        seen.append([one["data"] async for one in pages(tenant, "writer", q="url", size=2)])
    assert seen[0] == seen[1]
    assert sum(map(len, seen[0])) == 9


@ON_SQLITE
async def test_a_page_takes_the_same_whether_or_not_others_have_keys_with_a_part(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A right that is looked up for those alone would tell of them by the time it takes."""
    hidden = [item(f"k{n}_URL", "env", value="v") for n in range(50)]
    await apply(tenant, *hidden, who="owner", workspace="payments")
    monkeypatch.setattr(access_by_name, "MAX_LISTED", 0)
    monkeypatch.setattr("secrets.randbelow", lambda _: 0)

    async def steps(part: str) -> int:
        """What SQLite does for a page of the reader, who sees no variable."""
        counted = itertools.count()

        async def body(tx: Any) -> None:
            database, asked = tenant.deployment.services.database, caller(tenant, "reader")
            granted = await access_by_name.search(
                tx, asked, database.now(), tenant.organization, None
            )
            tx._connection.set_progress_handler(lambda: next(counted) < 0, 1)
            page = await variable_search.find_page(tx, granted, VariableSearch(part=part))
            tx._connection.set_progress_handler(None)
            assert page == CursorPaged([], None)

        await tenant.deployment.services.database.read(body)
        return next(counted)

    # A right takes some fifty steps, and what a list of keys has beside it takes two.
    assert await steps("url") - await steps("xyz") < 5 * len(hidden)


async def test_who_reads_all_workspaces_learns_nothing_of_keys_in_sets_that_they_do_not_see(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rights(tenant, "readers", "read-workspaces")
    monkeypatch.setattr(variable_search, "MAX_KEYS", 3)
    await apply(tenant, *[item(f"k{n}_url", "env", value="v") for n in range(9)], who="owner")
    before = [one["data"] async for one in pages(tenant, "reader", q="URL", size=2)]
    nowhere = await make_set(tenant, "nowhere")
    for n in range(7):
        await put(tenant, nowhere, f"k{n}_a_url")
    assert [one["data"] async for one in pages(tenant, "reader", q="URL", size=2)] == before
    assert len(await keys(tenant, "owner", q="URL", size=2)) == 16


async def test_a_part_of_many_keys_fills_its_pages_however_many_variables_each_key_has(
    tenant: Tenant,
) -> None:
    await make_workspaces(tenant, "m-1", "m-2")
    for name in ("network", "m-1", "m-2"):
        made = [item(f"k{n}_url", "env", value="v") for n in range(4)]
        await apply(tenant, *made, item("other", "env", value="v"), who="owner", workspace=name)
    sizes = [len(one["data"]) async for one in pages(tenant, q="URL", size=5)]
    assert sizes == [5, 5, 2]


async def test_a_grant_that_is_revoked_ends_the_walk(tenant: Tenant) -> None:
    given = await grant(tenant, "secret", "network")
    for key in ("a", "b", "c"):
        await tenant.make_variable(key)
    after = await cursor(tenant, "hidden")
    assert await keys(tenant, "hidden", after=after) == ["b", "c"]
    await tenant.call("owner", "DELETE", f"/team-workspaces/{given}")
    assert await keys(tenant, "hidden", after=after) == []


async def test_a_walk_goes_on_whatever_happens_between_its_pages(tenant: Tenant) -> None:
    await make_workspaces(tenant, "m-1", "m-2")
    for name in ("network", "m-1", "m-2"):
        made = [item(f"k{n}", "env", value="v") for n in range(6)]
        await apply(tenant, *made, who="owner", workspace=name)
    chance = random.Random(3)
    seen = []
    async for document in pages(tenant, size=2):
        seen += [
            (one["attributes"]["key"], one["relationships"]["configurable"]["data"]["id"])
            for one in document["data"]
        ]
        key = f"k{chance.randrange(8)}"
        await apply(tenant, item(key, "env", value="w"), who="owner", workspace="m-2")
        gone = next(iter(await tenant.variables("m-1")), None)
        if gone is not None and chance.random() < 0.5:
            await tenant.call("owner", "DELETE", f"{tenant.vars_path('m-1')}/{gone['id']}")
    assert len(seen) == len(set(seen))
    assert {(f"k{n}", tenant.workspaces["network"]) for n in range(6)} <= set(seen)


async def test_a_rename_moves_the_variables_in_the_order_at_once(tenant: Tenant) -> None:
    await make_workspaces(tenant, "m")
    for name in ("network", "m"):
        await apply(tenant, item("k", "env", value="v"), who="owner", workspace=name)
    assert [one["workspace-name"] for one in await walk(tenant)] == ["m", "network"]
    document = {"data": {"type": "workspaces", "attributes": {"name": "Z"}}}
    await tenant.call("owner", "PATCH", f"/workspaces/{tenant.workspaces['m']}", document)
    assert [one["workspace-name"] for one in await walk(tenant)] == ["network", "Z"]
    assert await keys(tenant, **{"filter[workspace]": "m"}) == []
    await apply(tenant, item("a", "env", value="v"), who="owner", workspace="m")
    assert await keys(tenant, **{"filter[workspace]": "z"}) == ["a", "k"]
    await tenant.call("owner", "DELETE", f"/workspaces/{tenant.workspaces['m']}")
    assert [one["workspace-name"] for one in await walk(tenant)] == ["network"]


async def test_a_page_with_values_ends_at_a_mebibyte(tenant: Tenant) -> None:
    large = "x" * 200_000
    made = [item(f"k{n}", "env", value=large, sensitive=n == 2) for n in range(9)]
    assert (await apply(tenant, *made, who="owner")).status_code == 200
    found = [one["data"] async for one in pages(tenant, size=100, fields="key,value")]
    assert [len(one) for one in found] == [6, 3]  # five values and the one that is hidden
    values = {one["attributes"]["key"]: one["attributes"]["value"] for one in found[0] + found[1]}
    assert values == {f"k{n}": None if n == 2 else large for n in range(9)}
    assert len((await page(tenant, size=100))["data"]) == 9


async def test_searches_take_turns_and_keep_nobody_else_waiting(tenant: Tenant) -> None:
    assert (await apply(tenant, item("k", "env", value="x" * 200_000), who="owner")).is_success
    path = f"/organizations/{tenant.organization}/vars"

    async def asked(number: int) -> Counter[str]:
        each = [tenant.call("owner", "GET", f"{path}?fields[vars]=value") for _ in range(number)]
        short = tenant.call("owner", "GET", tenant.vars_path("payments"))
        *answers, between = await asyncio.gather(*each, short)
        assert between.status_code == 200
        return Counter(
            "found" if one.is_success else one.json()["errors"][0]["code"] for one in answers
        )

    assert await asked(LOCK_WAITERS) == {"found": LOCK_WAITERS}
    counted = await asked(2 * LOCK_WAITERS)
    assert counted.keys() == {"found", "too_many_requests"}
    assert counted["found"] >= LOCK_WAITERS


async def test_whose_writes_have_all_the_slots_there_are_for_them_keeps_nobody_from_searching(
    tenant: Tenant,
) -> None:
    asked = {
        "writer": f"/organizations/{tenant.organization}/vars",
        "owner": f"/organizations/{tenant.organization}/vars?q=k",
    }
    for who, path in asked.items():  # at first they are strangers
        assert (await tenant.call(who, "GET", path)).is_success
    async with locked_by_another(tenant.deployment):
        writes = [
            asyncio.ensure_future(
                tenant.call(
                    "writer", "POST", tenant.vars_path(), variable_document(key=f"of-a-flood-{n}")
                )
            )
            for n in range(2 * LONE_SLOTS)
        ]
        await asyncio.sleep(0)
        answers = await asyncio.gather(
            *(tenant.call(who, "GET", path) for who, path in asked.items())
        )
    assert [one.status_code for one in answers] == [200, 200]
    await asyncio.gather(*writes)


async def test_what_an_older_release_adds_is_found_once_the_house_was_kept(
    tenant: Tenant,
) -> None:
    for key in ("a", "b"):
        await tenant.make_variable(key)

    async def as_before(tx: Transaction) -> None:
        await tx.execute(
            "UPDATE variables SET organization_id = NULL, workspace_name = NULL "
            "WHERE workspace_id = $1 AND key = 'a'",
            tenant.workspaces["network"],
        )

    await tenant.deployment.services.database.write(as_before)
    assert await keys(tenant) == ["b"]
    assert len(await tenant.variables()) == 2
    await tenant.deployment.services.searches.place_older()
    assert await keys(tenant) == ["a", "b"]
