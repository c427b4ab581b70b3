"""Whoever looks for less than everything is never given everything: every list there is."""

from urllib.parse import quote

import pytest

from teamvars.web.http.negotiation import MEDIA_TYPE
from teamvars.web.http.routes import Route
from tests.support.deployment import Deployment
from tests.support.exchanging import caller_of
from tests.support.ids import set_of
from tests.support.tenant import Tenant, build_tenant
from tests.web.test_parameters import always, path_to, reading, search

# What narrows lists at HCP Terraform, as its documentation and today's clients have it.
NARROWING = (
    "q",
    "q[email]",
    "q[name]",
    "q[user]",
    "since",
    "search",
    "search[name]",
    "search[wildcard-name]",
    "search[tags]",
    "search[exclude-tags]",
    "search[current-run][status]",
    "search[user]",
    "filter",
    "filter[names]",
    "filter[email]",
    "filter[user]",
    "filter[status]",
    "filter[project][id]",
    "filter[workspace][id]",
    "filter[workspace][name]",
    "filter[organization][name]",
    "filter[current-run][status]",
    "filter[tagged][0][key]",
    "filter[whatever]",
    "filter[exclude][taggable][id]",
)
EXCLUDING = ("search[exclude-tags]", "filter[exclude][taggable][id]")
"""What leaves some things out."""
NOTHING = "nothing-has-this"
LISTS = [one for one in reading() if not one.public and one.media_type == MEDIA_TYPE]


@pytest.fixture(scope="module")
async def shared(deployment: Deployment) -> Tenant:
    """A tenant in which no list is empty."""
    tenant = await build_tenant(deployment)
    await tenant.make_variable()
    return tenant


@pytest.mark.parametrize("route", LISTS, ids=lambda route: route.template)
async def test_what_narrows_a_list_is_honoured_or_refused_and_never_ignored(
    shared: Tenant, route: Route
) -> None:
    shared, caller = await caller_of(shared, route)
    workspace_id = shared.workspaces["network"]
    made = await set_of(shared, "owner", shared.organization, workspace_id)
    template = route.template.replace("{varset_id}", made["varset_id"])
    for name in NARROWING:
        path = search(shared, template, (name, NOTHING))
        answer = await shared.call(caller, "GET", path)
        document = answer.json()
        if answer.status_code == 400:
            assert [one["source"]["parameter"] for one in document["errors"]] == [name]
        elif name in always(shared, route.template):
            assert answer.status_code == 404
        elif name in EXCLUDING:
            plain = await shared.call(caller, "GET", search(shared, template))
            assert document["data"] == plain.json()["data"], name
        else:
            assert (answer.status_code, document["data"]) == (200, []), name


@pytest.mark.parametrize("route", LISTS, ids=lambda route: route.template)
async def test_an_empty_search_looks_for_nothing_and_is_let_be(
    shared: Tenant, route: Route
) -> None:
    shared, caller = await caller_of(shared, route)
    plain = await shared.call(caller, "GET", search(shared, route.template))
    needed = always(shared, route.template)
    empty = "&".join(f"{quote(name)}=" for name in NARROWING if name not in needed)
    path = search(shared, route.template)
    answer = await shared.call(caller, "GET", f"{path}{'' if path.endswith('?') else '&'}{empty}")
    assert answer.status_code == plain.status_code
    assert answer.json().get("data") == plain.json().get("data")


async def test_every_unknown_search_is_named(shared: Tenant) -> None:
    path = f"{path_to(shared, LISTS[0].template)}?filter[a]=1&search[tags]=x&filter[a]=2&other=3"
    answer = await shared.call("owner", "GET", path)
    named = [one["source"]["parameter"] for one in answer.json()["errors"]]
    assert (answer.status_code, named) == (400, ["filter[a]", "search[tags]"])


async def test_a_stranger_is_told_nothing_of_searches(shared: Tenant) -> None:
    path = f"{shared.vars_path()}?filter[a]=1"
    bad = {"Authorization": "Bearer tvu_nonsense"}
    for headers in (None, bad):
        assert (await shared.call(None, "GET", path, headers=headers)).status_code == 401
