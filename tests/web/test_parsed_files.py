"""Reading files of variables: contract §4, on both engines."""

import json
from typing import Any

import pytest

from teamvars.services.code.checker import Process
from teamvars.services.parsed_files import MAX_CONTENT_BYTES
from teamvars.variable_files import MAX_NAMES
from tests.support.engines import ON_SQLITE
from tests.support.tenant import Tenant, faults

CONTENT = "/data/attributes/content"
TFVARS = 'region = "eu"\nports = [80, 443]\n'
LONGEST = "a = [" + "1," * ((MAX_CONTENT_BYTES - 7) // 2) + "]\n"


async def send(tenant: Tenant, attributes: Any, who: str | None = "writer") -> Any:
    path = f"/workspaces/{tenant.workspaces['network']}/actions/parse"
    document = {"data": {"type": "parsed-files", "attributes": attributes}}
    return await tenant.call(who, "POST", path, document)


async def parse(tenant: Tenant, file_format: str, content: str) -> Any:
    return await send(tenant, {"format": file_format, "content": content})


async def read(tenant: Tenant, file_format: str, content: str) -> Any:
    """What became of a file."""
    answer = await parse(tenant, file_format, content)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]["attributes"]


async def test_a_file_is_read_and_nothing_of_it_is_stored_or_recorded(tenant: Tenant) -> None:
    audit = f"/workspaces/{tenant.workspaces['network']}/audit-events"
    before = await tenant.call("owner", "GET", audit)
    answer = await parse(tenant, "tfvars", TFVARS)
    assert answer.status_code == 200, answer.text
    data = answer.json()["data"]
    assert data["type"] == "parsed-files"
    assert data["id"].startswith("file-")
    assert data["attributes"] == {
        "items": [
            {"key": "region", "value": "eu", "category": "tool", "hcl": False},
            {"key": "ports", "value": "[80, 443]", "category": "tool", "hcl": True},
        ],
        "faults": [],
    }
    assert await tenant.variables() == []
    assert (await tenant.call("owner", "GET", audit)).json() == before.json()


@pytest.mark.parametrize(
    ("file_format", "content", "category"),
    [("dotenv", "A='$x'\n", "env"), ("json", '{"A": "$x"}', "tool"), ("tfvars", 'A="$x"', "tool")],
)
async def test_each_format_has_its_category_and_what_it_defines_can_be_created(
    tenant: Tenant, file_format: str, content: str, category: str
) -> None:
    (item,) = (await read(tenant, file_format, content))["items"]
    assert item == {"key": "A", "value": "$x", "category": category, "hcl": False}
    document = {"data": {"type": "vars", "attributes": {**item, "description": ""}}}
    assert (await tenant.call("writer", "POST", tenant.vars_path(), document)).status_code == 201


@pytest.mark.parametrize("file_format", ["dotenv", "tfvars", "json"])
async def test_what_a_file_defines_can_be_applied_as_it_is(
    tenant: Tenant, file_format: str
) -> None:
    contents = {"dotenv": "A='1'\nB=\n", "tfvars": TFVARS, "json": '{"a": "x", "b": {"${c}": 1}}'}
    items = (await read(tenant, file_format, contents[file_format]))["items"]
    path = f"/workspaces/{tenant.workspaces['network']}/actions/apply"
    document = {"data": [{"type": "vars", "attributes": item} for item in items]}
    answer = await tenant.call("writer", "POST", path, document)
    assert answer.status_code == 200, answer.text
    kept = [variable["attributes"] for variable in await tenant.variables()]
    assert [{name: one[name] for name in items[0]} for one in kept] == sorted(
        items, key=lambda item: item["key"]
    )


async def test_faults_have_their_places_beside_what_could_be_read(tenant: Tenant) -> None:
    found = await read(tenant, "tfvars", 'a = "1"\nb = var.topsecret\n')
    assert [item["key"] for item in found["items"]] == ["a"]
    (fault,) = found["faults"]
    assert (fault["line"], fault["column"]) == (2, 5)
    assert fault.keys() == {"line", "column", "detail"}
    assert "topsecret" not in fault["detail"]


async def test_only_who_may_write_has_files_read(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Process, "examine", _nobody)
    for who, status in (("reader", 403), ("plain", 404), ("outsider", 404), (None, 401)):
        good = {"format": "tfvars", "content": TFVARS}
        assert (await send(tenant, good, who)).status_code == status
        assert (await send(tenant, {"format": "yaml"}, who)).status_code == status


async def test_a_faulty_document_names_every_fault(tenant: Tenant) -> None:
    path = f"/workspaces/{tenant.workspaces['network']}/actions/parse"
    attributes = {"format": "yaml", "contents": "", "content": "x" * (MAX_CONTENT_BYTES + 1)}
    document = {"data": {"type": "vars", "attributes": attributes}}
    answer = await tenant.call("writer", "POST", path, document)
    assert faults(answer) == [
        ("409", "type_conflict", "/data/type"),
        ("422", "invalid_value", "/data/attributes/format"),
        ("422", "unknown_attribute", "/data/attributes/contents"),
        ("422", "invalid_value", CONTENT),
    ]
    assert faults(await send(tenant, {"format": 1})) == [
        ("422", "wrong_type", "/data/attributes/format"),
        ("422", "missing_member", CONTENT),
    ]


async def test_the_limit_of_a_file_counts_its_bytes(tenant: Tenant) -> None:
    longest = "#" * (MAX_CONTENT_BYTES - 2) + "é"
    assert await read(tenant, "dotenv", longest) == {"items": [], "faults": []}
    answer = await parse(tenant, "dotenv", longest + "#")
    assert faults(answer) == [("422", "invalid_value", CONTENT)]


async def test_a_file_may_define_so_many_names_and_not_one_more(tenant: Tenant) -> None:
    names = {f"n{number}": number for number in range(MAX_NAMES)}
    assert len((await read(tenant, "json", json.dumps(names)))["items"]) == MAX_NAMES
    answer = await parse(tenant, "json", json.dumps({**names, "more": 1}))
    assert faults(answer) == [("422", "too_many_items", CONTENT)]


@pytest.mark.usefixtures("hasty")
async def test_a_file_that_takes_too_long_to_read_is_too_complex(tenant: Tenant) -> None:
    assert faults(await parse(tenant, "tfvars", LONGEST)) == [("422", "too_complex", CONTENT)]
    assert len((await read(tenant, "tfvars", TFVARS))["items"]) == 2


HALF = MAX_CONTENT_BYTES // 2
HOSTILE = {
    "brackets": ("tfvars", "a = " + "[" * (2 * HALF - 4)),
    "lines": ("tfvars", "a\n" * HALF),
    "references": ("tfvars", "a = [" + "x," * (HALF - 3) + "]"),
    "open heredocs": ("tfvars", "a = <<A\n" * (HALF // 4)),
    "work": ("tfvars", "a = [" + "1+1," * (HALF // 2 - 3) + "]"),
    "a number": ("tfvars", "a = " + "9" * (2 * HALF - 4)),
    "arrays": ("json", '{"a": ' + "[" * (2 * HALF - 6)),
    "a number of JSON": ("json", '{"a": 1.' + "1" * (2 * HALF - 9) + "}"),
    "members": ("json", '{"a": {' + ",".join(['"a":1'] * (HALF // 3 - 9)) + "}}"),
    "halves": ("json", '{"a": "' + "\\ud800" * (HALF // 3 - 9) + '"}'),
    "open quotes": ("dotenv", "a='\nb=\"\n" * (HALF // 4)),
    "dollars": ("dotenv", 'a="' + "$" * (2 * HALF - 4) + '"'),
    "blanks": ("dotenv", "a=x" + " " * (2 * HALF - 4) + "x"),
}


@ON_SQLITE
@pytest.mark.parametrize("kind", list(HOSTILE))
async def test_a_hostile_file_has_an_answer_that_is_bounded(tenant: Tenant, kind: str) -> None:
    file_format, content = HOSTILE[kind]
    answer = await parse(tenant, file_format, content)
    assert answer.status_code in (200, 422), answer.text
    assert len(answer.content) < 4 * 1024 * 1024
    if answer.status_code == 422:
        assert faults(answer) == [("422", "too_complex", CONTENT)]
    else:
        assert len(answer.json()["data"]["attributes"]["faults"]) <= 101


def _nobody(*_: object) -> None:
    raise AssertionError
