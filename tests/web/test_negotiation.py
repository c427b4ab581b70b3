"""What concerns HTTP and JSON:API in every request and answer: contract §2."""

import gzip
import json
import time
from collections.abc import AsyncIterator
from ipaddress import ip_network
from typing import Any
from uuid import uuid4

import httpx
import pytest
from structlog.typing import EventDict

from teamvars import wiring
from teamvars.domain.tokens import OwnerName
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.app import Application
from teamvars.web.http.request import MAX_BODY_BYTES
from tests.support.deployment import Deployment, operator
from tests.support.engines import ON_SQLITE
from tests.support.in_process import InProcess
from tests.support.tenant import (
    JSON_API,
    Tenant,
    build_tenant,
    faults,
    linkage_document,
    variable_document,
)

pytestmark = ON_SQLITE

OPEN, CLOSE = b"[", b"]"


@pytest.fixture(scope="module")
async def tenant(deployment: Deployment) -> Tenant:
    """One for all tests here: none looks at what another may have left."""
    return await build_tenant(deployment)


def new_variable() -> dict[str, Any]:
    """A document that creates a variable of another key each time."""
    return variable_document(key=uuid4().hex)


async def send(
    tenant: Tenant, body: bytes, content_type: str | None = JSON_API, **headers: str
) -> httpx.Response:
    """Creates a variable as the writer, with a body of that very text."""
    if content_type is not None:
        headers["Content-Type"] = content_type
    headers["Authorization"] = f"Bearer {tenant.tokens['writer']}"
    return await tenant.deployment.client.post(tenant.vars_path(), content=body, headers=headers)


def document_with(text: str) -> bytes:
    """The JSON text of a good document to create a variable with `text` as its last member."""
    good = json.dumps(new_variable())
    return f"{good[:-1]}, {text}}}".encode()


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR"])
async def test_the_word_bearer_is_read_in_any_case(tenant: Tenant, scheme: str) -> None:
    headers = {"Authorization": f"{scheme} {tenant.tokens['reader']}"}
    assert (await tenant.call(None, "GET", tenant.vars_path(), headers=headers)).status_code == 200


async def test_more_than_one_space_before_the_token_is_fine(tenant: Tenant) -> None:
    headers = {"Authorization": f"Bearer   {tenant.tokens['reader']}  "}
    assert (await tenant.call(None, "GET", tenant.vars_path(), headers=headers)).status_code == 200


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "{token}",
        "Basic {token}",
        "Token {token}",
        "Bearer{token}",
        "Bearer {token}x",
        "Bearer {token} {token}",
        "Bearer {token}, Bearer {token}",
        "Bearer '{token}'",
        "Bearer tvu_" + "0" * 49,
        "Bearer nonsense",
    ],
)
async def test_whoever_shows_no_good_token_is_asked_for_one(
    tenant: Tenant, authorization: str | None
) -> None:
    headers = {}
    if authorization is not None:
        headers["Authorization"] = authorization.format(token=tenant.tokens["reader"])
    answer = await tenant.call(None, "GET", tenant.vars_path(), headers=headers)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert faults(answer) == [("401", "unauthenticated", None)]


async def test_a_token_of_the_right_form_that_nobody_has_is_refused(
    tenant: Tenant, deployment: Deployment
) -> None:
    owner = OwnerName(organization=tenant.organization, team="readers")
    made = await deployment.services.tokens.create(operator(), owner, None)
    headers = {"Authorization": f"Bearer {made.secret}"}
    before = await tenant.call(None, "GET", tenant.vars_path(), headers=headers)
    await deployment.services.issued_tokens.revoke(operator(), made.token.id)
    after = await tenant.call(None, "GET", tenant.vars_path(), headers=headers)
    assert (before.status_code, after.status_code) == (200, 401)
    assert after.headers["WWW-Authenticate"] == "Bearer"


async def test_an_expired_token_is_refused(tenant: Tenant, deployment: Deployment) -> None:
    owner = OwnerName(organization=tenant.organization, team="readers")
    made = await deployment.services.tokens.create(operator(), owner, 1)
    headers = {"Authorization": f"Bearer {made.secret}"}
    answer = await tenant.call(None, "GET", tenant.vars_path(), headers=headers)
    assert answer.status_code == 401
    assert faults(answer) == [("401", "unauthenticated", None)]


ACCEPTED = [
    None,
    "",
    "*/*",
    "application/*",
    "application/json",
    "application/vnd.api+json",
    "APPLICATION/VND.API+JSON",
    "application/vnd.api+json; q=0.1",
    "application/vnd.api+json;q=1.000",
    'application/vnd.api+json; profile="https://example.com/a https://example.com/b"',
    'application/vnd.api+json; profile="https://example.com/a,b;c"; q=0.5',
    'application/vnd.api+json; ext=""',
    "text/html, application/vnd.api+json",
    "text/html,*/*;q=0.1",
    "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2",  # of Java
    "application/json;q=0, application/vnd.api+json",
    "application/json;q=0, */*",
    "*/*;q=0, application/vnd.api+json",
    "application/*;q=0, application/json",
    "application/vnd.api+json; charset=utf-8, application/vnd.api+json",
    'application/vnd.api+json; ext="https://example.com/x", application/vnd.api+json',
    "application/vnd.api+json;Q=0.5",
]
NOT_ACCEPTED = [
    "text/html",
    "text/*",
    "application/xml, text/html;q=0.9",
    "application/vnd.api+json; charset=utf-8",
    'application/vnd.api+json; ext="https://example.com/x"',
    'application/vnd.api+json; profile="https://example.com/a"; charset=utf-8',
    "application/vnd.api+json; q=0",
    "application/vnd.api+json; q=0.000",
    "*/*; q=0",
    "application/json; q=0",
    "application/json; charset=utf-8",
    "application/vnd.api+json; q=0, */*",
    "application/vnd.api+json; q=0, application/*; q=1",
    "application/vnd.api+json; q=nonsense",
    "application/vnd.api+json; q=.0",
    "application/vnd.api+json; q=.",
    "application/vnd.api+jsonp",
    "nonsense",
    ",",
]


@pytest.mark.parametrize("accept", ACCEPTED)
async def test_an_accept_that_admits_the_media_type_is_answered(
    tenant: Tenant, accept: str | None
) -> None:
    headers = {"Authorization": f"Bearer {tenant.tokens['reader']}"}
    request = tenant.deployment.client.build_request("GET", tenant.vars_path(), headers=headers)
    del request.headers["Accept"]
    if accept is not None:
        request.headers["Accept"] = accept
    answer = await tenant.deployment.client.send(request)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == JSON_API


@pytest.mark.parametrize("accept", NOT_ACCEPTED)
async def test_an_accept_that_does_not_is_refused(tenant: Tenant, accept: str) -> None:
    answer = await tenant.call("reader", "GET", tenant.vars_path(), headers={"Accept": accept})
    assert answer.status_code == 406
    assert faults(answer) == [("406", "not_acceptable", None)]
    assert answer.json()["errors"][0]["source"] == {"header": "Accept"}
    assert answer.headers["Content-Type"] == JSON_API


async def test_repeated_accept_fields_make_up_one_list(tenant: Tenant) -> None:
    headers = [
        ("Authorization", f"Bearer {tenant.tokens['reader']}"),
        ("Accept", "text/html"),
        ("Accept", JSON_API),
    ]
    answer = await tenant.deployment.client.get(tenant.vars_path(), headers=headers)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "content_type",
    [
        "application/vnd.api+json",
        "Application/Vnd.Api+Json",
        "application/vnd.api+json;",
        'application/vnd.api+json; profile="https://example.com/a"',
        "application/vnd.api+json;profile=https://example.com/a",
        'application/vnd.api+json; ext=""',
    ],
)
async def test_a_body_is_taken_as_the_media_type(tenant: Tenant, content_type: str) -> None:
    body = json.dumps(new_variable()).encode()
    assert (await send(tenant, body, content_type)).status_code == 201


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "application/json",
        "text/plain",
        "application/*",
        "application/vnd.api+json; charset=utf-8",
        "application/vnd.api+json; charset",
        'application/vnd.api+json; ext="https://example.com/x"',
        'application/vnd.api+json; ext="https://jsonapi.org/ext/atomic"',
        'application/vnd.api+json; profile="https://example.com/a"; version=1',
        "application/vnd.api+json, application/vnd.api+json",
        "application/vnd.api+json, text/plain",
    ],
)
async def test_a_body_of_another_content_type_is_refused(
    tenant: Tenant, content_type: str | None
) -> None:
    answer = await send(tenant, json.dumps(new_variable()).encode(), content_type)
    assert answer.status_code == 415
    assert faults(answer) == [("415", "unsupported_media_type", None)]
    assert answer.json()["errors"][0]["source"] == {"header": "Content-Type"}


@pytest.mark.parametrize(
    ("coding", "status"), [("identity", 201), ("gzip", 415), ("br, gzip", 415)]
)
async def test_a_compressed_body_is_refused_as_such(
    tenant: Tenant, coding: str, status: int
) -> None:
    sent: dict[str, Any] = {"Content-Encoding": coding}
    answer = await send(tenant, json.dumps(new_variable()).encode(), **sent)
    assert answer.status_code == status
    if status != 201:
        answer = await send(tenant, gzip.compress(b"{}"), **sent)
        assert faults(answer) == [("415", "unsupported_media_type", None)]
        assert answer.json()["errors"][0]["source"] == {"header": "Content-Encoding"}


async def test_a_body_that_no_header_announces_needs_its_content_type_too(tenant: Tenant) -> None:
    path = tenant.vars_path()
    headers = {"Authorization": f"Bearer {tenant.tokens['writer']}"}
    request = tenant.deployment.client.build_request(
        "POST", path, headers=headers, json=new_variable()
    )
    del request.headers["Content-Length"]  # as HTTP/2 allows
    request.headers["Content-Type"] = "application/json"
    assert (await tenant.deployment.client.send(request)).status_code == 415
    request.headers["Content-Type"] = JSON_API
    assert (await tenant.deployment.client.send(request)).status_code == 201


@pytest.mark.parametrize("content_type", ["text/plain", "application/json", "nonsense"])
async def test_content_types_of_requests_without_a_body_are_ignored(
    tenant: Tenant, content_type: str
) -> None:
    headers = {"Content-Type": content_type}
    answer = await tenant.call("reader", "GET", tenant.vars_path(), headers=headers)
    assert answer.status_code == 200


async def test_a_body_of_just_two_mebibytes_is_read(tenant: Tenant) -> None:
    good = json.dumps(new_variable()).encode()
    answer = await send(tenant, good + b" " * (MAX_BODY_BYTES - len(good)))
    assert answer.status_code == 201


async def test_a_body_of_one_byte_more_is_refused(tenant: Tenant) -> None:
    good = json.dumps(new_variable()).encode()
    answer = await send(tenant, good + b" " * (MAX_BODY_BYTES - len(good) + 1))
    assert answer.status_code == 413
    assert faults(answer) == [("413", "body_too_large", None)]


class Chunks:
    """A body that comes in pieces and that no header announces the length of."""

    def __init__(self, count: int, size: int = 64 * 1024) -> None:
        self.sent = 0
        self._count = count
        self._size = size

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in range(self._count):
            self.sent += 1
            yield b" " * self._size


async def send_chunks(tenant: Tenant, method: str, path: str, chunks: Chunks) -> httpx.Response:
    headers = {"Authorization": f"Bearer {tenant.tokens['owner']}", "Content-Type": JSON_API}
    return await tenant.deployment.client.request(method, path, content=chunks, headers=headers)


async def test_a_chunked_body_is_read(tenant: Tenant) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        text = json.dumps(new_variable()).encode()
        for start in range(0, len(text), 7):
            yield text[start : start + 7]

    headers = {"Authorization": f"Bearer {tenant.tokens['owner']}", "Content-Type": JSON_API}
    answer = await tenant.deployment.client.post(
        tenant.vars_path(), content=pieces(), headers=headers
    )
    assert answer.status_code == 201
    assert "Content-Length" not in answer.request.headers


async def test_a_chunked_body_is_refused_before_it_is_read_to_the_end(tenant: Tenant) -> None:
    chunks = Chunks(count=1600)
    answer = await send_chunks(tenant, "POST", tenant.vars_path(), chunks)
    assert answer.status_code == 413
    assert answer.headers["Connection"] == "close"
    assert chunks.sent < 100


async def test_a_chunked_body_of_just_the_limit_is_read(tenant: Tenant) -> None:
    chunks = Chunks(count=32)
    answer = await send_chunks(tenant, "POST", tenant.vars_path(), chunks)
    assert answer.status_code == 400  # white space alone is no document


async def test_the_size_limit_holds_where_a_body_is_ignored(tenant: Tenant) -> None:
    made = await tenant.make_variable(uuid4().hex)
    path = f"{tenant.vars_path()}/{made['id']}"
    chunks = Chunks(count=1600)
    answer = await send_chunks(tenant, "DELETE", path, chunks)
    assert answer.status_code == 413
    assert chunks.sent < 100
    assert (await tenant.call("reader", "GET", path)).status_code == 200


@pytest.mark.parametrize("kilobytes", [64, 4096])
async def test_who_refuses_before_reading_drains_the_body_or_closes(
    tenant: Tenant, kilobytes: int
) -> None:
    chunks = Chunks(count=kilobytes // 64)
    answer = await tenant.deployment.client.post("/nowhere", content=chunks)
    assert answer.status_code == 404
    if kilobytes == 64:
        assert chunks.sent == 1
        assert "Connection" not in answer.headers
    else:
        assert chunks.sent < 50
        assert answer.headers["Connection"] == "close"


async def test_a_client_that_waits_to_be_asked_for_its_body_is_not_waited_for(
    tenant: Tenant,
) -> None:
    chunks = Chunks(count=1)
    headers = {"Expect": "100-continue"}
    answer = await tenant.deployment.client.post("/nowhere", content=chunks, headers=headers)
    assert answer.headers["Connection"] == "close"
    assert chunks.sent == 0


async def test_a_content_length_in_strange_digits_breaks_nothing(tenant: Tenant) -> None:
    headers = {
        b"Authorization": f"Bearer {tenant.tokens['owner']}".encode(),
        b"Content-Length": "²".encode("latin-1"),
    }
    answer = await tenant.deployment.client.get(tenant.vars_path(), headers=headers)
    assert answer.status_code == 200


def nested(levels: int) -> str:
    """An array in an array, so many in all."""
    return "[" * levels + "]" * levels


MALFORMED = {
    "empty": b"",
    "white space": b" \n",
    "not UTF-8": b'{"data": "\xff"}',
    "UTF-16": json.dumps(new_variable()).encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf" + json.dumps(new_variable()).encode(),
    "a surrogate in UTF-8": b'{"data": "\xed\xa0\x80"}',
    "not JSON": b"key=region",
    "a document cut off": json.dumps(new_variable()).encode()[:-1],
    "two documents": b"{} {}",
    "a trailing comma": b'{"data": {},}',
    "single quotes": b"{'data': {}}",
    "a comment": b"{} // why",
    "NaN": document_with('"meta": NaN'),
    "Infinity": document_with('"meta": Infinity'),
    "-Infinity": document_with('"meta": [-Infinity]'),
    "a raw line feed in a string": b'{"data": "a\nb"}',
    "a raw NUL in a string": b'{"data": "a\x00b"}',
    "a wrong escape": rb'{"data": "\x41"}',
    "a duplicate member": document_with('"data": 1'),
    "a duplicate member deep down": b'{"data": {"attributes": {"key": "a", "key": "b"}}}',
    "a duplicate member in another spelling": rb'{"meta": 1, "met\u0061": 2}',
    "a duplicate where nothing is read": document_with('"meta": [{"a": 1, "a": 1}]'),
    "a lone high surrogate": rb'{"data": "\ud800"}',
    "a lone low surrogate": rb'{"data": ["\udc00"]}',
    "surrogates in the wrong order": rb'{"data": "\ude00\ud83d"}',
    "a lone surrogate in a name": rb'{"\ud800": 1}',
    "33 levels": document_with(f'"meta": {nested(32)}'),
    "33 levels of objects": b'{"a":' * 33 + b"1" + b"}" * 33,
    "100,000 brackets": OPEN * 100_000 + CLOSE * 100_000,
    "100,000 open brackets": OPEN * 100_000,
    "100,000 open objects": b'{"a":' * 100_000,
}


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED.keys())
async def test_what_is_no_json_document_is_refused(tenant: Tenant, body: bytes) -> None:
    answer = await send(tenant, body)
    assert answer.status_code == 400
    assert faults(answer) == [("400", "malformed_document", None)]


@pytest.mark.parametrize(
    "member",
    [
        f'"meta": {nested(31)}',
        '"meta": 1' + "0" * 100_000,
        '"meta": -1' + "0" * 5000,
        '"meta": 1e999999',
        '"meta": 0.1e-999999',
        r'"meta": "\ud83d\ude00"',
        '"jsonapi": {"version": "1.1"}, "lid": 5, "included": [null]',
    ],
    ids=["32 levels", "huge", "huge negative", "huge power", "tiny", "surrogate pair", "unknown"],
)
async def test_what_means_nothing_but_is_json_is_ignored(tenant: Tenant, member: str) -> None:
    assert (await send(tenant, document_with(member))).status_code == 201


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        (json.dumps(variable_document(value="a\0")).encode(), ["/data/attributes/value"]),
        (
            json.dumps(variable_document(description="\0")).encode(),
            ["/data/attributes/description"],
        ),
        (document_with(r'"meta": {"a/b": ["x", "\u0000"]}'), ["/meta/a~1b/1"]),
        (document_with(r'"m\u0000": 1'), ["/m\0"]),
        (
            document_with(r'"filter": {"workspace": {"name": "\u0000"}}'),
            ["/filter/workspace/name", "/filter/workspace/name"],
        ),
        (rb'"\u0000"', ["", ""]),
    ],
)
async def test_a_nul_in_any_string_is_invalid_where_it_stands(
    tenant: Tenant, body: bytes, pointers: list[str]
) -> None:
    answer = await send(tenant, body)
    assert answer.status_code == 422
    assert [pointer for _, _, pointer in faults(answer)] == pointers
    assert faults(answer)[0][1] == "invalid_value"


@pytest.mark.parametrize(
    "path",
    [
        "/workspaces/%00/vars",
        "/workspaces/a%00b/vars/c%00d",
        "/workspaces/%FF/vars",
        "/workspaces/%ED%A0%80/vars",
        "/teams/%00/relationships/users",
        "/organizations/%00/workspaces/%00",
        "/workspaces/" + "w" * 5000 + "/vars",
    ],
)
async def test_a_path_of_strange_characters_names_nothing(tenant: Tenant, path: str) -> None:
    answer = await tenant.call("owner", "GET", path)
    assert answer.status_code == 404
    assert faults(answer) == [("404", "not_found", None)]


async def test_a_line_feed_does_not_belong_to_a_path(tenant: Tenant) -> None:
    assert (await tenant.call("owner", "GET", tenant.vars_path() + "%0A")).status_code == 404


@pytest.mark.parametrize(
    "query", ["?page[size]=nonsense", "?include=", "?page%5Bnumber%5D=7", "?a&b=&&=c", "?%FF=%00"]
)
async def test_unknown_query_parameters_are_ignored(tenant: Tenant, query: str) -> None:
    made = await tenant.make_variable(uuid4().hex)
    listed = await tenant.call("reader", "GET", tenant.vars_path() + query)
    assert made in listed.json()["data"]
    path = f"{tenant.vars_path()}/{made['id']}{query}"
    assert (await tenant.call("reader", "GET", path)).status_code == 200
    assert (await tenant.call("writer", "DELETE", path)).status_code == 204


async def test_a_trailing_slash_is_treated_as_absent(tenant: Tenant) -> None:
    created = await tenant.call("writer", "POST", tenant.vars_path() + "/", new_variable())
    assert created.status_code == 201
    path = tenant.vars_path() + "/"
    assert created.json()["data"] in (await tenant.call("reader", "GET", path)).json()["data"]
    one = f"{path}{created.json()['data']['id']}/"
    assert (await tenant.call("reader", "GET", one)).status_code == 200
    assert (await tenant.call("manager", "GET", tenant.linkage_path() + "/")).status_code == 200
    healthy = await tenant.deployment.client.get("http://teamvars.test/healthz/")
    assert healthy.status_code == 200


async def test_two_trailing_slashes_are_another_path(tenant: Tenant) -> None:
    assert (await tenant.call("reader", "GET", tenant.vars_path() + "//")).status_code == 404


@pytest.mark.parametrize("who", ["reader", "plain", None])
async def test_head_answers_as_get_without_the_body(tenant: Tenant, who: str | None) -> None:
    got = await tenant.call(who, "GET", tenant.vars_path())
    asked = await tenant.call(who, "HEAD", tenant.vars_path())
    assert asked.content == b""
    assert asked.status_code == got.status_code
    named = ("Content-Type", "Content-Length", "ETag", "Cache-Control", "Vary", "WWW-Authenticate")
    assert {name: asked.headers.get(name) for name in named} == {
        name: got.headers.get(name) for name in named
    }


async def test_head_honours_if_none_match(tenant: Tenant) -> None:
    tag = (await tenant.call("reader", "HEAD", tenant.vars_path())).headers["ETag"]
    headers = {"If-None-Match": tag}
    answer = await tenant.call("reader", "HEAD", tenant.vars_path(), headers=headers)
    assert answer.status_code == 304


OPTIONS = {
    "/workspaces/{workspace}/vars": "GET, HEAD, OPTIONS, POST",
    "/workspaces/{workspace}/vars/var-1111111111111111": "DELETE, GET, HEAD, OPTIONS, PATCH",
    "/teams/{team}/relationships/users": "DELETE, GET, HEAD, OPTIONS, POST",
    "/teams/{team}/relationships/organization-memberships": "DELETE, GET, HEAD, OPTIONS, POST",
    "/organizations/{organization}/workspaces/network": "DELETE, GET, HEAD, OPTIONS, PATCH",
    "/workspaces/{workspace}/audit-events": "GET, HEAD, OPTIONS",
}


@pytest.mark.parametrize(("template", "allow"), OPTIONS.items())
async def test_options_names_the_methods_to_whoever_shows_a_token(
    tenant: Tenant, template: str, allow: str
) -> None:
    path = template.format(
        workspace=tenant.workspaces["network"],
        team=tenant.teams["crew"],
        organization=tenant.organization,
    )
    answer = await tenant.call("outsider", "OPTIONS", path)
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["Allow"] == allow
    assert (await tenant.call(None, "OPTIONS", path)).status_code == 401
    unknown = await tenant.call("outsider", "PUT", path)
    assert unknown.status_code == 405
    assert unknown.headers["Allow"] == allow


async def test_options_needs_a_token_that_is_known(tenant: Tenant, deployment: Deployment) -> None:
    owner = OwnerName(organization=tenant.organization)
    made = await deployment.services.tokens.create(operator(), owner, None)
    await deployment.services.issued_tokens.revoke(operator(), made.token.id)
    headers = {"Authorization": f"Bearer {made.secret}"}
    answer = await tenant.call(None, "OPTIONS", tenant.vars_path(), headers=headers)
    assert answer.status_code == 401


@pytest.mark.parametrize("given", ["a", "!~", "x" * 128, "0b8e7b0e-7d1d-4f3f-8f59-4f6d1f4a1f63"])
async def test_a_request_id_of_the_callers_comes_back(tenant: Tenant, given: str) -> None:
    headers = {"X-Request-Id": given}
    for who in ("reader", None):
        answer = await tenant.call(who, "GET", tenant.vars_path(), headers=headers)
        assert answer.headers["X-Request-Id"] == given


@pytest.mark.parametrize("given", [None, "", "x" * 129, "with space", "tab\tbed", "ümlaut"])
async def test_without_a_usable_request_id_there_is_a_new_one(
    tenant: Tenant, given: str | None
) -> None:
    headers = {} if given is None else {b"X-Request-Id": given.encode()}
    client = tenant.deployment.client
    made = [(await client.get("/nowhere", headers=headers)).headers["X-Request-Id"] for _ in "12"]
    assert len({*made, given}) == 3
    assert all(id_.isalnum() and id_.isascii() for id_ in made)


@pytest.mark.parametrize(
    ("who", "method", "path", "status"),
    [
        ("reader", "GET", "/workspaces/{workspace}/vars", 200),
        ("reader", "POST", "/workspaces/{workspace}/vars", 400),
        ("plain", "GET", "/workspaces/{workspace}/vars", 404),
        ("reader", "DELETE", "/teams/{team}/relationships/users", 400),
        ("reader", "OPTIONS", "/workspaces/{workspace}/vars", 204),
    ],
)
async def test_answers_to_a_token_are_kept_out_of_shared_caches(
    tenant: Tenant, who: str, method: str, path: str, status: int
) -> None:
    path = path.format(workspace=tenant.workspaces["network"], team=tenant.teams["crew"])
    answer = await tenant.call(who, method, path)
    assert answer.status_code == status
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert answer.headers["Vary"] == "Authorization, Accept"
    assert "X-Request-Id" in answer.headers


async def test_a_304_says_how_it_may_be_cached_as_well(tenant: Tenant) -> None:
    answer = await tenant.call("reader", "GET", tenant.vars_path(), headers={"If-None-Match": "*"})
    assert (answer.status_code, answer.content) == (304, b"")
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert answer.headers["Vary"] == "Authorization, Accept"
    assert "ETag" in answer.headers


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/healthz", "application/json"),
        ("/readyz", "application/json"),
        ("/openapi.json", "application/json"),
    ],
)
async def test_health_and_openapi_are_json_for_everyone_and_whatever_they_accept(
    tenant: Tenant, path: str, content_type: str
) -> None:
    headers = {"Accept": "text/html"}
    answer = await tenant.deployment.client.get(f"http://teamvars.test{path}", headers=headers)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == content_type
    assert "X-Request-Id" in answer.headers


@pytest.mark.parametrize(
    ("method", "url", "status"),
    [
        ("GET", "http://teamvars.test/nowhere", 404),
        ("GET", "http://teamvars.test//", 404),
        ("POST", "http://teamvars.test/", 405),
        ("GET", "http://teamvars.test/api/v1/workspaces/ws-1/vars", 404),
        ("POST", "http://teamvars.test/healthz", 405),
        ("GET", "http://teamvars.test/api/v2/workspaces/ws-1/vars", 401),
    ],
)
async def test_errors_are_json_api_everywhere(
    deployment: Deployment, method: str, url: str, status: int
) -> None:
    answer = await deployment.client.request(method, url)
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == JSON_API
    assert answer.json()["errors"][0]["status"] == str(status)


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("192.0.2.7", "203.0.113.9", "203.0.113.9"),
        ("192.0.2.7", "203.0.113.1, 203.0.113.9", "203.0.113.9"),
        ("192.0.2.7", "203.0.113.9, 192.0.2.8", "203.0.113.9"),
        ("192.0.2.7", "203.0.113.9,,192.0.2.8", "192.0.2.8"),
        ("192.0.2.7", "192.0.2.9, 192.0.2.8", "192.0.2.9"),
        ("192.0.2.7", "2001:db8::1", "2001:db8::1"),
        ("::ffff:192.0.2.7", "203.0.113.9", "203.0.113.9"),
        ("::ffff:198.51.100.1", "203.0.113.9", "::ffff:198.51.100.1"),
        ("192.0.2.7", None, "192.0.2.7"),
        ("192.0.2.7", "", "192.0.2.7"),
        ("192.0.2.7", "203.0.113.9, \x9b31m", "192.0.2.7"),
        ("198.51.100.1", "203.0.113.9", "198.51.100.1"),
        ("198.51.100.1", "203.0.113.9, 192.0.2.8", "198.51.100.1"),
        ("2001:db8::7", "203.0.113.9", "2001:db8::7"),
    ],
)
async def test_only_a_trusted_proxy_is_believed_whom_it_forwards(
    deployment: Deployment,
    log_lines: list[EventDict],
    peer: str,
    forwarded: str | None,
    client: str,
) -> None:
    assert deployment.config.trusted_proxies == (ip_network("192.0.2.0/24"),)
    routes = wiring.routes(deployment.services)
    application = Application(
        routes, deployment.services.sessions, ClientAddresses(deployment.config.trusted_proxies)
    )
    headers = httpx.Headers({} if forwarded is None else {"X-Forwarded-For": forwarded}, "latin-1")
    async with InProcess(application, peer=peer) as http:
        await http.get("http://teamvars.test/healthz", headers=headers)
    assert [line["client"] for line in log_lines] == [client]


async def test_a_log_line_says_who_asked_for_what_and_no_secret(
    tenant: Tenant, log_lines: list[EventDict]
) -> None:
    document = variable_document(key=uuid4().hex, value="very-private", description="untold")
    headers = {"X-Request-Id": "mine"}
    answer = await tenant.call("writer", "POST", tenant.vars_path(), document, headers)
    assert answer.status_code == 201
    await tenant.call("manager", "POST", tenant.linkage_path(), linkage_document("someone"))
    created, refused = log_lines
    assert created["request_id"] == "mine"
    assert created["actor"] == tenant.users["writer"]
    assert created["method"] == "POST"
    assert created["route"] == "/api/v2/workspaces/{workspace_id}/vars"
    assert (created["status"], refused["status"]) == (201, 404)
    text = repr(log_lines)
    for secret in ("very-private", "untold", tenant.tokens["writer"], tenant.tokens["manager"]):
        assert secret not in text


@pytest.mark.parametrize("unit", ['\\"', '"', ";", "a;q=", ';a="', ",", '"\\', "W/"])
async def test_a_hostile_header_costs_no_more_than_its_length(tenant: Tenant, unit: str) -> None:
    made = await tenant.make_variable(uuid4().hex)

    async def seconds(characters: int) -> float:
        text = unit * (characters // len(unit))
        headers = {"Accept": f"*/*, {text}", "If-None-Match": text}
        begun = time.process_time()
        await tenant.call("reader", "GET", f"{tenant.vars_path()}/{made['id']}", headers=headers)
        return time.process_time() - begun

    tries = [(await seconds(2_000), await seconds(20_000)) for _ in range(3)]
    short, long = map(min, zip(*tries, strict=True))
    assert long < 30 * short  # 100 times as much for the square of the length
