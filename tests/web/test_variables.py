"""Creating, listing and deleting variables: contract §4, on both engines."""

import asyncio
import re
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from teamvars.domain.variables import StoredVariable
from teamvars.storage import variables
from tests.support.deployment import Deployment
from tests.support.engines import ON_SQLITE
from tests.support.tenant import JSON_API, Tenant, build_tenant, faults, variable_document

VALUE_BYTES = 256 * 1024


@pytest.fixture(scope="module")
async def shared(deployment: Deployment) -> Tenant:
    """A tenant for tests that do not look at what another may have left."""
    return await build_tenant(deployment)


async def create(tenant: Tenant, **attributes: Any) -> dict[str, Any]:
    """A variable of a new key, unless one is given; returns its attributes."""
    made = await tenant.make_variable(**{"key": uuid4().hex, **attributes})
    shown: dict[str, Any] = made["attributes"]
    return shown


async def refused(tenant: Tenant, document: object) -> list[tuple[str, str, str | None]]:
    """The faults of a document that does not create a variable."""
    answer = await tenant.call("writer", "POST", tenant.vars_path(), document)
    assert answer.status_code != 201
    return faults(answer)


async def test_a_created_variable_is_shown_as_the_specification_says(tenant: Tenant) -> None:
    document = variable_document(key="region", value="eu-central-1", description="where")
    answer = await tenant.call("writer", "POST", tenant.vars_path(), document)
    assert answer.status_code == 201
    data = answer.json()["data"]
    workspace_id = tenant.workspaces["network"]
    assert data == {
        "id": data["id"],
        "type": "vars",
        "attributes": {
            "key": "region",
            "value": "eu-central-1",
            "description": "where",
            "category": "tool",
            "hcl": False,
            "sensitive": False,
            "version-id": data["attributes"]["version-id"],
        },
        "relationships": {
            "configurable": {
                "data": {"id": workspace_id, "type": "workspaces"},
                "links": {
                    "related": f"/api/v2/organizations/{tenant.organization}/workspaces/network"
                },
            }
        },
        "links": {"self": f"/api/v2/workspaces/{workspace_id}/vars/{data['id']}"},
    }
    assert answer.headers["Location"] == data["links"]["self"]
    assert answer.headers["Content-Type"] == JSON_API
    assert re.fullmatch(r"var-[1-9A-HJ-NP-Za-km-z]{16}", data["id"])
    assert re.fullmatch(r"[0-9a-f]{36}", data["attributes"]["version-id"])


async def test_create_list_and_read_show_the_same(tenant: Tenant) -> None:
    made = await tenant.make_variable("region")
    listed = await tenant.call("reader", "GET", tenant.vars_path())
    assert (listed.status_code, listed.json()) == (200, {"data": [made]})
    read = await tenant.call("reader", "GET", made["links"]["self"].removeprefix("/api/v2"))
    assert (read.status_code, read.json()) == (200, {"data": made})


async def test_the_related_link_leads_to_the_workspace(tenant: Tenant) -> None:
    made = await tenant.make_variable()
    related = made["relationships"]["configurable"]["links"]["related"]
    answer = await tenant.call("reader", "GET", related.removeprefix("/api/v2"))
    assert answer.status_code == 200
    assert answer.json()["data"]["id"] == tenant.workspaces["network"]
    assert answer.json()["data"]["links"]["self"] == related


async def test_names_of_the_related_link_are_compared_without_case(tenant: Tenant) -> None:
    path = f"/organizations/{tenant.organization.upper()}/workspaces/NetWork"
    answer = await tenant.call("reader", "GET", path)
    assert answer.json()["data"]["attributes"]["name"] == "network"


async def test_an_empty_workspace_has_an_empty_list(tenant: Tenant) -> None:
    answer = await tenant.call("owner", "GET", tenant.vars_path("payments"))
    assert (answer.status_code, answer.json()) == (200, {"data": []})


async def test_the_defaults_are_those_of_the_specification(shared: Tenant) -> None:
    document = variable_document(key=uuid4().hex, category="env", description="")
    del document["data"]["attributes"]["value"]
    answer = await shared.call("writer", "POST", shared.vars_path(), document)
    shown = answer.json()["data"]["attributes"]
    assert (shown["value"], shown["description"]) == ("", "")
    assert (shown["hcl"], shown["sensitive"], shown["category"]) == (False, False, "env")


@pytest.mark.parametrize("name", ["key", "description", "category"])
async def test_an_attribute_without_a_default_is_required(shared: Tenant, name: str) -> None:
    document = variable_document(key=uuid4().hex)
    del document["data"]["attributes"][name]
    assert await refused(shared, document) == [
        ("422", "missing_member", f"/data/attributes/{name}")
    ]


TYPES = {
    **dict.fromkeys(("key", "value", "description", "category"), str),
    **dict.fromkeys(("hcl", "sensitive"), bool),
}
OF_ALL_TYPES: list[object] = [None, 5, 0, 1, [], {}, "true", True]


@ON_SQLITE
@pytest.mark.parametrize(
    ("name", "value"),
    [
        (name, value)
        for name, type_ in TYPES.items()
        for value in OF_ALL_TYPES
        if not isinstance(value, type_)
    ],
)
async def test_an_attribute_of_another_json_type_is_refused(
    shared: Tenant, name: str, value: object
) -> None:
    document = variable_document(**{"key": uuid4().hex, name: value})
    assert await refused(shared, document) == [("422", "wrong_type", f"/data/attributes/{name}")]


@ON_SQLITE
@pytest.mark.parametrize("category", ["", "Tool", "terraform", "policy-set", "env ", "ENV"])
async def test_a_category_is_one_of_the_two(shared: Tenant, category: str) -> None:
    document = variable_document(key=uuid4().hex, category=category)
    assert await refused(shared, document) == [
        ("422", "invalid_value", "/data/attributes/category")
    ]


async def test_all_faults_come_at_once_in_the_documents_order(shared: Tenant) -> None:
    document = {
        "data": {
            "attributes": {
                "sensitive": "yes",
                "description": "d" * 513,
                "sensitve": True,
                "value": "v" * (VALUE_BYTES + 1),
                "key": "a b",
                "hcl": None,
            },
            "type": "var",
        }
    }
    assert await refused(shared, document) == [
        ("422", "wrong_type", "/data/attributes/sensitive"),
        ("422", "invalid_value", "/data/attributes/description"),
        ("422", "unknown_attribute", "/data/attributes/sensitve"),
        ("422", "invalid_value", "/data/attributes/value"),
        ("422", "invalid_value", "/data/attributes/key"),
        ("422", "wrong_type", "/data/attributes/hcl"),
        ("422", "missing_member", "/data/attributes/category"),
        ("409", "type_conflict", "/data/type"),
    ]


@ON_SQLITE
@pytest.mark.parametrize(
    ("name", "pointer"),
    [("sensitve", "sensitve"), ("Key", "Key"), ("", ""), ("a/b~c", "a~1b~0c"), ("id", "id")],
)
async def test_an_unknown_attribute_is_refused(shared: Tenant, name: str, pointer: str) -> None:
    document = variable_document(**{"key": uuid4().hex, name: True})
    assert await refused(shared, document) == [
        ("422", "unknown_attribute", f"/data/attributes/{pointer}")
    ]


@pytest.mark.parametrize("value", ["x", None, 5, ["\t"]])
async def test_attributes_that_the_service_assigns_are_ignored(
    shared: Tenant, value: object
) -> None:
    shown = await create(shared, **{"version-id": value, "created-at": value})
    assert re.fullmatch(r"[0-9a-f]{36}", shown["version-id"])
    assert "created-at" not in shown


async def test_unknown_members_outside_attributes_are_ignored(shared: Tenant) -> None:
    document = variable_document(key=uuid4().hex)
    document |= {"jsonapi": {"version": "9"}, "meta": {"a": 1}, "links": 5}
    document["data"] |= {"lid": "x", "meta": None, "links": [], "relationships": {"other": 5}}
    answer = await shared.call("writer", "POST", shared.vars_path(), document)
    assert answer.status_code == 201


async def test_ids_given_by_clients_are_not_supported(shared: Tenant) -> None:
    document = variable_document(key=uuid4().hex)
    document["data"]["id"] = "var-1111111111111111"
    answer = await shared.call("writer", "POST", shared.vars_path(), document)
    assert answer.status_code == 403
    assert faults(answer) == [("403", "client_id_not_supported", "/data/id")]


@pytest.mark.parametrize("id_", ["", None])
async def test_an_empty_id_counts_as_absent(shared: Tenant, id_: str | None) -> None:
    document = variable_document(key=uuid4().hex)
    document["data"]["id"] = id_
    answer = await shared.call("writer", "POST", shared.vars_path(), document)
    assert answer.status_code == 201
    assert answer.json()["data"]["id"].startswith("var-")


@pytest.mark.parametrize("id_", [5, [], {}, False])
async def test_an_id_of_another_json_type_is_refused(shared: Tenant, id_: object) -> None:
    document = variable_document(key=uuid4().hex)
    document["data"]["id"] = id_
    assert await refused(shared, document) == [("422", "wrong_type", "/data/id")]


@pytest.mark.parametrize("type_", ["var", "Vars", "workspaces", ""])
async def test_another_type_than_vars_is_a_conflict(shared: Tenant, type_: str) -> None:
    document = variable_document(key=uuid4().hex)
    document["data"]["type"] = type_
    assert await refused(shared, document) == [("409", "type_conflict", "/data/type")]


@pytest.mark.parametrize("name", ["configurable", "workspace"])
async def test_a_relationship_may_name_the_workspace_of_the_path(shared: Tenant, name: str) -> None:
    document = variable_document(key=uuid4().hex)
    linkage = {"type": "workspaces", "id": shared.workspaces["network"]}
    document["data"]["relationships"] = {name: {"data": linkage}}
    answer = await shared.call("writer", "POST", shared.vars_path(), document)
    assert answer.status_code == 201
    assert "Deprecation" not in answer.headers


@ON_SQLITE
@pytest.mark.parametrize("name", ["configurable", "workspace"])
@pytest.mark.parametrize(
    ("linkage", "expected"),
    [
        (
            {"type": "workspaces", "id": "ws-1111111111111111"},
            [("409", "relationship_conflict", "/data/id")],
        ),
        (
            {"type": "organizations"},
            [
                ("409", "relationship_conflict", "/data/type"),
                ("422", "missing_member", "/data/id"),
            ],
        ),
        (
            {"type": 5, "id": None},
            [("422", "wrong_type", "/data/type"), ("422", "wrong_type", "/data/id")],
        ),
        ([], [("422", "wrong_type", "/data")]),
        (None, [("422", "wrong_type", "/data")]),
    ],
)
async def test_a_relationship_to_anything_else_is_refused(
    shared: Tenant, name: str, linkage: object, expected: list[tuple[str, str, str]]
) -> None:
    document = variable_document(key=uuid4().hex)
    document["data"]["relationships"] = {name: {"data": linkage}}
    at = f"/data/relationships/{name}"
    assert await refused(shared, document) == [(s, c, at + end) for s, c, end in expected]


async def test_a_relationship_to_a_workspace_that_is_there_but_another_is_refused_alike(
    shared: Tenant,
) -> None:
    document = variable_document(key=uuid4().hex)
    linkage = {"type": "workspaces", "id": shared.workspaces["payments"]}
    document["data"]["relationships"] = {"workspace": {"data": linkage}}
    expected = ("409", "relationship_conflict", "/data/relationships/workspace/data/id")
    assert await refused(shared, document) == [expected]


async def test_a_variable_of_a_workspace_is_in_no_variable_set(shared: Tenant) -> None:
    document = variable_document(key=uuid4().hex)
    linkage = {"type": "varsets", "id": "varset-1111111111111111"}
    document["data"]["relationships"] = {"varset": {"data": linkage}}
    at = "/data/relationships/varset/data"
    conflict = "409", "relationship_conflict"
    assert await refused(shared, document) == [(*conflict, f"{at}/type"), (*conflict, f"{at}/id")]
    document["data"]["relationships"] = {"varset": {"data": None}}
    answer = await shared.call("writer", "POST", shared.vars_path(), document)
    assert answer.status_code == 201


@pytest.mark.parametrize(
    "names",
    [("workspace",), ("organization",), ("workspace", "organization"), ()],
    ids=lambda names: "+".join(names) or "none",
)
async def test_the_deprecated_filter_is_taken_and_announced(
    shared: Tenant, names: tuple[str, ...]
) -> None:
    actual = {"workspace": "NETWORK", "organization": shared.organization.upper()}
    document = variable_document(key=uuid4().hex)
    document["filter"] = {name: {"name": actual[name]} for name in names}
    answer = await shared.call("writer", "POST", shared.vars_path(), document)
    assert answer.status_code == 201
    assert re.fullmatch(r"@\d+", answer.headers["Deprecation"])
    link = re.fullmatch(r'<([^>]+)>; rel="deprecation"(;.*)?', answer.headers["Link"])
    assert link
    page = await shared.deployment.client.get(f"http://teamvars.test{link[1]}")
    assert page.status_code == 200
    assert "filter.workspace.name" in page.text


@ON_SQLITE
@pytest.mark.parametrize(
    ("given_filter", "expected"),
    [
        (
            {"workspace": {"name": "payments"}},
            [("422", "invalid_value", "/filter/workspace/name")],
        ),
        (
            {"organization": {"name": "other"}, "workspace": {"name": ""}},
            [
                ("422", "invalid_value", "/filter/organization/name"),
                ("422", "invalid_value", "/filter/workspace/name"),
            ],
        ),
        ({"workspace": {"name": None}}, [("422", "wrong_type", "/filter/workspace/name")]),
        ({"workspace": "network"}, [("422", "wrong_type", "/filter/workspace")]),
        ([], [("422", "wrong_type", "/filter")]),
        (None, [("422", "wrong_type", "/filter")]),
    ],
)
async def test_a_deprecated_filter_that_names_something_else_is_refused(
    shared: Tenant, given_filter: object, expected: list[tuple[str, str, str]]
) -> None:
    document = {**variable_document(key=uuid4().hex), "filter": given_filter}
    assert await refused(shared, document) == expected


GOOD_KEYS = [
    "A",
    "a" * 128,
    "\N{GRINNING FACE}" * 128,
    "größe-Ω-名前",
    "with.dots/and:colons#and?marks&",
    "'quoted'",
    '"double"',
    "back\\slash",
    "%s{}$(x)`",
    "e\N{COMBINING ACUTE ACCENT}",
    "zero\N{ZERO WIDTH SPACE}width",
    "\N{ZERO WIDTH NO-BREAK SPACE}",
    "null",
    "-",
]
BAD_KEYS = {
    "empty": "",
    "129 characters": "a" * 129,
    "129 characters beyond the first plane": "\N{GRINNING FACE}" * 129,
    **{
        f"U+{ord(character):04X}": f"a{character}b"
        for character in " \t\n\r\v\f=\x01\x1b\x1c\x1f\x7f\x80\x85\x9f\xa0"
        "\u1680\u2000\u2003\u200a\u2028\u2029\u202f\u205f\u3000"
    },
    "white space before": " a",
    "white space after": "a\n",
}


@pytest.mark.parametrize("key", GOOD_KEYS)
async def test_a_key_has_any_other_characters_and_is_kept_as_it_is(
    tenant: Tenant, key: str
) -> None:
    await tenant.make_variable(key)
    assert [one["attributes"]["key"] for one in await tenant.variables()] == [key]


@ON_SQLITE
@pytest.mark.parametrize("key", BAD_KEYS.values(), ids=BAD_KEYS.keys())
async def test_a_key_is_refused_that_breaks_a_rule(shared: Tenant, key: str) -> None:
    expected = ("422", "invalid_value", "/data/attributes/key")
    assert await refused(shared, variable_document(key=key)) == [expected]


async def test_a_key_is_compared_as_it_is_stored(tenant: Tenant) -> None:
    for key in ("region", "Region", "REGION", "é", "e\N{COMBINING ACUTE ACCENT}"):
        await tenant.make_variable(key)
    assert len(await tenant.variables()) == 5


async def test_a_taken_key_is_refused_alone_and_names_the_key(tenant: Tenant) -> None:
    await tenant.make_variable("region")
    answer = await tenant.call("owner", "POST", tenant.vars_path(), variable_document(key="region"))
    assert answer.status_code == 422
    assert faults(answer) == [("422", "key_taken", "/data/attributes/key")]


async def test_the_same_key_is_free_in_the_other_category_and_the_other_workspace(
    tenant: Tenant,
) -> None:
    await tenant.make_variable("region", category="tool")
    await tenant.make_variable("region", category="env")
    path = tenant.vars_path("payments")
    answer = await tenant.call("owner", "POST", path, variable_document(key="region"))
    assert answer.status_code == 201
    taken = variable_document(key="region", category="env")
    assert await refused(tenant, taken) == [("422", "key_taken", "/data/attributes/key")]


async def test_a_deleted_key_is_free_again(tenant: Tenant) -> None:
    made = await tenant.make_variable("region")
    await tenant.call("writer", "DELETE", f"{tenant.vars_path()}/{made['id']}")
    again = await tenant.make_variable("region")
    assert again["id"] != made["id"]


VALUES = {
    "empty": "",
    "CRLF": "a\r\nb\rc\n",
    "a byte order mark": "\ufeffvalue\ufeff",
    "white space": " \t value \n ",
    "control characters": "\x01\x1b[31m\x7f\x85",
    "line separators": "\u2028\u2029",
    "composed and not": "é e\N{COMBINING ACUTE ACCENT}",
    "beyond the first plane": "\N{GRINNING FACE}\U0010ffff",
    "noncharacters": "\ufffe\uffff\ufffd",
    "what looks like an escape": r"\u0000 \n %00 &amp;",
    "JSON": '{"a": [null]}',
    "just 256 KiB": "x" * VALUE_BYTES,
    "just 256 KiB of wide characters": "\N{GRINNING FACE}" * (VALUE_BYTES // 4),
    "just 256 KiB of control characters": "\x01" * VALUE_BYTES,
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
async def test_a_value_is_kept_byte_for_byte(shared: Tenant, value: str) -> None:
    made = await shared.make_variable(uuid4().hex, value=value)
    read = await shared.call("reader", "GET", f"{shared.vars_path()}/{made['id']}")
    assert made["attributes"]["value"] == value
    assert read.json()["data"]["attributes"]["value"] == value


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
async def test_any_text_is_kept_as_value_and_description(shared: Tenant, text: str) -> None:
    made = await shared.make_variable(uuid4().hex, value=text, description=text)
    kept = await shared.call("reader", "GET", f"{shared.vars_path()}/{made['id']}")
    assert kept.json()["data"] == made
    shown = made["attributes"]
    assert (shown["value"], shown["description"]) == (text, text)


@pytest.mark.parametrize(
    "value",
    [
        "x" * (VALUE_BYTES + 1),
        "\N{GRINNING FACE}" * (VALUE_BYTES // 4) + "x",
        "é" * (VALUE_BYTES // 2) + "x",
    ],
    ids=["narrow", "wide", "accents"],
)
async def test_a_value_of_one_byte_too_many_is_refused(shared: Tenant, value: str) -> None:
    document = variable_document(key=uuid4().hex, value=value)
    assert await refused(shared, document) == [("422", "invalid_value", "/data/attributes/value")]


async def test_a_description_has_at_most_512_characters(shared: Tenant) -> None:
    longest = "\N{GRINNING FACE}" * 512
    assert (await create(shared, description=longest))["description"] == longest
    document = variable_document(key=uuid4().hex, description=longest + "x")
    expected = ("422", "invalid_value", "/data/attributes/description")
    assert await refused(shared, document) == [expected]


async def test_a_list_is_in_order_of_keys_by_code_points_then_of_categories(tenant: Tenant) -> None:
    keys = ["b", "a", "A", "Z", "_", "é", "\uffff", "\U00010000", "aa", "a-", "10", "9", "ß", "ss"]
    for key in keys:
        await tenant.make_variable(key, category="tool")
        await tenant.make_variable(key, category="env")
    attributes = [one["attributes"] for one in await tenant.variables()]
    expected = [(key, category) for key in sorted(keys) for category in ("env", "tool")]
    assert [(one["key"], one["category"]) for one in attributes] == expected


async def test_a_list_is_always_whole(tenant: Tenant) -> None:
    for number in range(120):
        await tenant.make_variable(f"key-{number}")
    answer = await tenant.call("reader", "GET", f"{tenant.vars_path()}?page[size]=1")
    assert len(answer.json()["data"]) == 120
    assert answer.json().keys() == {"data"}


async def test_a_variable_created_sensitive_is_never_shown(tenant: Tenant) -> None:
    made = await tenant.make_variable("token", value="hunter2", sensitive=True)
    assert made["attributes"]["value"] is None
    assert made["attributes"]["sensitive"] is True
    for path in (tenant.vars_path(), f"{tenant.vars_path()}/{made['id']}"):
        answer = await tenant.call("owner", "GET", path)
        assert "hunter2" not in answer.text
        assert '"value":null' in answer.text
    events = await tenant.call(
        "owner", "GET", f"/workspaces/{tenant.workspaces['network']}/audit-events"
    )
    assert "hunter2" not in events.text


async def stored_as(tenant: Tenant, made: dict[str, Any]) -> StoredVariable:
    """The row of a variable of the workspace `network`."""
    lookup, args = variables.getting(tenant.workspaces["network"], made["id"])
    return variables.stored(
        await tenant.deployment.services.database.read(lambda tx: tx.look_up(lookup, *args))
    )


@pytest.mark.parametrize("sensitive", [True, False])
async def test_no_value_is_stored_in_the_open(tenant: Tenant, sensitive: bool) -> None:
    made = await tenant.make_variable("token", value="hunter2" * 9, sensitive=sensitive)
    stored = await stored_as(tenant, made)
    assert stored.sealed is not None
    assert b"hunter2" not in stored.sealed
    assert stored.value_bytes == 63


async def test_a_deleted_variable_is_gone(tenant: Tenant) -> None:
    made = await tenant.make_variable("region")
    kept = await tenant.make_variable("kept")
    path = f"{tenant.vars_path()}/{made['id']}"
    answer = await tenant.call("writer", "DELETE", path)
    assert (answer.status_code, answer.content) == (204, b"")
    assert await tenant.variables() == [kept]
    assert (await tenant.call("writer", "GET", path)).status_code == 404
    assert (await tenant.call("writer", "DELETE", path)).status_code == 404


@ON_SQLITE
@pytest.mark.parametrize(
    "body", [b"null", b"{", b"\xff\x00", b'{"data": {"id": "var-other"}}', b"[" * 10_000]
)
@pytest.mark.parametrize("content_type", [JSON_API, "text/plain", "nonsense", None])
async def test_deleting_ignores_any_body(
    shared: Tenant, body: bytes, content_type: str | None
) -> None:
    made = await shared.make_variable(uuid4().hex)
    headers = {"Authorization": f"Bearer {shared.tokens['writer']}"}
    if content_type is not None:
        headers["Content-Type"] = content_type
    path = f"{shared.vars_path()}/{made['id']}"
    answer = await shared.deployment.client.request("DELETE", path, content=body, headers=headers)
    assert answer.status_code == 204


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
@pytest.mark.parametrize("who", ["owner", "reader"])
async def test_the_workspace_of_the_path_must_own_the_variable(
    shared: Tenant, method: str, who: str
) -> None:
    made = await shared.make_variable(uuid4().hex)
    elsewhere = await shared.call(
        "owner", "POST", shared.vars_path("payments"), variable_document(key=uuid4().hex)
    )
    other = elsewhere.json()["data"]["id"]
    document = {"data": {"type": "vars", "id": other, "attributes": {}}}
    body = document if method == "PATCH" else None
    missing = await shared.call(who, method, f"{shared.vars_path()}/var-1111111111111111", body)
    foreign = await shared.call(who, method, f"{shared.vars_path()}/{other}", body)
    swapped = await shared.call(who, method, f"{shared.vars_path('payments')}/{made['id']}", body)
    assert (missing.status_code, foreign.status_code, swapped.status_code) == (404, 404, 404)
    assert faults(missing) == faults(foreign) == faults(swapped)


async def test_of_racing_creations_of_one_key_exactly_one_wins(tenant: Tenant) -> None:
    document = variable_document(key="region")
    answers = await asyncio.gather(
        *(tenant.call("writer", "POST", tenant.vars_path(), document) for _ in range(8))
    )
    assert sorted(answer.status_code for answer in answers) == [201] + [422] * 7
    refused_ones = [faults(answer) for answer in answers if answer.status_code == 422]
    assert refused_ones == [[("422", "key_taken", "/data/attributes/key")]] * 7
    assert len(await tenant.variables()) == 1
