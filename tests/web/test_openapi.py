"""`/openapi.json` says what a real server does: its routes, examples, errors, headers, schemas."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import jsonschema_rs
import openapi_spec_validator
import pytest

from teamvars import wiring
from teamvars.domain.errors import Code
from teamvars.web.errors import STATUS
from teamvars.web.exchange import MAX_BODY_BYTES
from tests.served import ServedHouse
from tests.world import JSON_API, World, build_world

# What servers add to any answer (RFC 9110, RFC 9112); a document of an API does not repeat them.
OF_HTTP_ITSELF = {"connection", "content-length", "content-type", "date", "server"}
# Only a client that stalls, and a store that fails, get these: the fault tests see to them.
NOT_TO_BE_HAD_HERE = {"408", "429", "503"}
# An answer of these to whatever has nothing to decode is the server's own, to broken HTTP.
TO_DOCUMENTS_ALONE = {"400"}
# Nobody does these for another, owners included.
FOR_ONESELF = ("/actions/accept", "/users/{user_id}/authentication-tokens")


@dataclass(frozen=True)
class Operation:
    """One operation of the document."""

    method: str
    template: str
    parameters: list[Any]
    body: Any
    responses: Mapping[str, Any]
    public: bool

    def __str__(self) -> str:
        return f"{self.method} {self.template}"

    @property
    def example(self) -> Any:
        """The example of a request's document."""
        return self.body and self.body["content"][JSON_API]["example"]

    def has(self, *names: str) -> bool:
        """Whether it has any parameter of these names."""
        return any(parameter["name"] in names for parameter in self.parameters)


@pytest.fixture(scope="session")
async def document(served: ServedHouse) -> Any:
    """The document of a real server."""
    answer = await served.client.get(f"{served.server.url}/openapi.json")
    assert answer.headers["Content-Type"] == "application/json"
    return answer.json()


def operations(document: Any) -> Iterator[Operation]:
    for template, path in document["paths"].items():
        for method, said in path.items():
            if method == "parameters":
                continue
            yield Operation(
                method.upper(),
                template,
                [*path["parameters"], *said["parameters"]],
                said.get("requestBody"),
                {
                    status: resolved(document, response)
                    for status, response in said["responses"].items()
                },
                public=said.get("security") == [],
            )


def resolved(document: Any, part: Any) -> Any:
    """What a `$ref` points at, or the part itself."""
    for name in part.get("$ref", "").split("/")[1:]:
        document = document[name]
        part = document
    return part


def test_every_route_is_in_the_document_and_nothing_else(
    document: Any, served: ServedHouse
) -> None:
    routes = {(one.method, one.template) for one in wiring.routes(served.services, served.keys)}
    assert {(one.method, one.template) for one in operations(document)} == routes


def test_the_document_is_valid_openapi_3_1(document: Any) -> None:
    assert document["openapi"].startswith("3.1.")
    openapi_spec_validator.validate(document)


def test_every_operation_has_a_name_and_says_what_it_does(document: Any) -> None:
    said = [said for path in document["paths"].values() for said in path.values()]
    named = [one for one in said if isinstance(one, dict)]
    assert len({one["operationId"] for one in named}) == len(named)
    assert all(one["summary"] for one in named)


def test_every_error_code_is_listed_with_its_status(document: Any) -> None:
    listed = document["components"]["schemas"]["Error"]["properties"]["code"]["enum"]
    assert listed == [code.word for code in Code]
    responses = document["components"]["responses"]
    for code in Code:
        assert code.word in responses[str(STATUS[code.kind])]["description"]


async def test_every_example_is_accepted(document: Any, served_world: World) -> None:
    tried = 0
    for operation in operations(document):
        if operation.example is None:
            assert operation.body is None
            continue
        ids = await ids_for(served_world)
        if operation.method == "DELETE":  # of somebody who is there
            await send(served_world, operation, ids, method="POST")
        answer = await send(served_world, operation, ids)
        assert answer.is_success, f"{operation}: {answer.text}"
        assert str(answer.status_code) in operation.responses
        tried += 1
    assert tried >= 7


async def test_answers_match_what_the_document_says_of_them(
    document: Any, served_world: World
) -> None:
    seen: dict[str, set[str]] = {}
    declared = {}
    for operation in operations(document):
        required = set(operation.responses) - NOT_TO_BE_HAD_HERE
        if operation.body is None and not operation.has("page[number]"):
            required -= TO_DOCUMENTS_ALONE
        declared[str(operation)] = required
        world = await build_world(served_world.house)  # some delete it
        answers = [one async for one in every_kind_of_answer(world, operation)]
        for answer in answers:
            check_answer(document, operation, answer)
        seen[str(operation)] = {str(answer.status_code) for answer in answers}
    assert seen == declared


async def test_a_deprecated_filter_is_answered_with_the_headers_the_document_names(
    document: Any, served_world: World
) -> None:
    operation = next(one for one in operations(document) if str(one).startswith("POST /api/v2/wor"))
    ids = await ids_for(served_world)
    filtered = {**operation.example, "filter": {"workspace": {"name": "network"}}}
    answer = await send(served_world, operation, ids, document=filtered)
    assert {"deprecation", "link"} <= set(answer.headers)
    check_answer(document, operation, answer)


def check_answer(document: Any, operation: Operation, answer: httpx.Response) -> None:
    """The answer's status, headers, media type and body are as the document says."""
    where = f"{operation} {answer.status_code}: {answer.text}"
    said = operation.responses.get(str(answer.status_code))
    assert said is not None, where
    named = {name.lower() for name in said["headers"]}
    assert set(answer.headers) - OF_HTTP_ITSELF <= named, where
    if "content" not in said:
        assert answer.content == b"", where
        return
    media_type = answer.headers["Content-Type"].partition(";")[0]
    assert media_type in said["content"], where
    if media_type.endswith("json"):
        schema = {**said["content"][media_type]["schema"], "components": document["components"]}
        jsonschema_rs.validator_for(schema).validate(answer.json())


async def every_kind_of_answer(world: World, operation: Operation) -> Any:
    """Answers to a good request and to every mistake that can be made with any operation."""
    ids = await ids_for(world)
    if operation.public:
        yield await send(world, operation, ids)
        return
    too_large = b" " * (MAX_BODY_BYTES + 1)
    yield await send(world, operation, ids, who=None)
    yield await send(world, operation, dict.fromkeys(ids, "nothing"))
    yield await send(world, operation, ids, accept="text/html")
    yield await send(world, operation, ids, content=too_large)
    if "403" in operation.responses:
        yield await send(world, operation, ids, who="reader")
    if operation.has("If-None-Match"):
        yield await send(world, operation, ids, if_none_match="*")
    if operation.has("If-Match"):
        yield await send(world, operation, ids, if_match='"another"')
    if operation.has("page[number]"):
        yield await send(world, operation, ids, query="?page[number]=0")
        yield await send(world, operation, ids, query="?page[number]=2&page[size]=1")
    for special in (with_bad_documents, of_owners, of_what_is_used, with_locks):
        async for answer in special(world, operation, ids):
            yield answer
    yield await send(world, operation, ids)


async def with_bad_documents(world: World, operation: Operation, ids: Mapping[str, str]) -> Any:
    """Answers to what is no document, or not one of the operation's."""
    if operation.body is None:
        return
    yield await send(world, operation, ids, content=b"{")
    yield await send(world, operation, ids, content_type="text/plain")
    yield await send(world, operation, ids, document={"data": {}})
    yield await send(world, operation, ids, document=with_another_type(operation.example))


async def of_owners(world: World, operation: Operation, ids: Mapping[str, str]) -> Any:
    """The answer where the last owner, or their team, would go."""
    if "422" in operation.responses and operation.body is None:
        owners = {"team_id": world.teams["owners"], "membership_id": world.memberships["owner"]}
        yield await send(world, operation, {**ids, **owners})


async def of_what_is_used(world: World, operation: Operation, ids: Mapping[str, str]) -> Any:
    """The answer where nobody has said that variables may go."""
    if operation.has("force"):
        yield await send(world, operation, ids, query="?force=false")


async def with_locks(world: World, operation: Operation, ids: Mapping[str, str]) -> Any:
    """Answers where another has locked the workspace, and where nobody has; then it is ready."""
    if "/actions/" not in operation.template or "409" not in operation.responses:
        return
    actions = f"/workspaces/{ids['workspace_id']}/actions"
    await world.call("writer", "POST", f"{actions}/lock")
    yield await send(world, operation, ids)
    await world.call("owner", "POST", f"{actions}/force-unlock")
    if operation.template.endswith("unlock"):
        yield await send(world, operation, ids)
        await world.call("owner", "POST", f"{actions}/lock")


async def send(
    world: World,
    operation: Operation,
    ids: Mapping[str, str],
    *,
    who: str | None = "owner",
    method: str | None = None,
    query: str = "",
    document: object = None,
    content: bytes | None = None,
    **headers: str,
) -> httpx.Response:
    """The operation with its example, or with something in its place."""
    if content is None and operation.body is not None:
        example = operation.example if document is None else document
        content = filled(json.dumps(example), ids).encode()
    sent = {name.replace("_", "-"): text for name, text in headers.items()}
    if content is not None:
        sent.setdefault("content-type", JSON_API)
    if who == "owner" and operation.template.endswith("/organizations"):
        who = "admin"  # for all the others there is only one answer
    if who == "owner" and operation.template.endswith(FOR_ONESELF):
        who = "plain"
    if who is not None:
        sent["authorization"] = f"Bearer {world.tokens[who]}"
    origin = str(world.house.client.base_url).removesuffix("/api/v2/")
    return await world.house.client.request(
        method or operation.method,
        origin + filled(operation.template, ids) + (query or needed(operation, ids)),
        content=content,
        headers=sent,
    )


def needed(operation: Operation, ids: Mapping[str, str]) -> str:
    """The query without which the operation has nothing to show, or is refused."""
    if operation.has("force"):
        return "?force=true"
    name = "filter[workspace][id]"
    return f"?{name}={ids['workspace_id']}" if operation.has(name) else ""


def filled(text: str, ids: Mapping[str, str]) -> str:
    """The text with ids in the place of `{…}`."""
    return re.sub(r"\{(\w+)\}", lambda found: ids.get(found[1], found[0]), text)


def with_another_type(example: Any) -> Any:
    """The document with resources of a type that no endpoint takes."""
    return json.loads(re.sub(r'"type": "[\w-]+"', '"type": "others"', json.dumps(example)))


async def ids_for(world: World) -> dict[str, str]:
    """What every name in the document can stand for; the variable is a new one."""
    variable = await world.make_variable(f"key-{uuid4()}")
    for taken in await world.variables():  # the examples' own keys stay free
        if taken["attributes"]["key"] in ("some_key", "OTHER_KEY"):
            await world.call("owner", "DELETE", taken["links"]["self"].removeprefix("/api/v2"))
    crew = f"/teams/{world.teams['crew']}/authentication-token"
    await world.call("owner", "POST", crew)
    own = f"/users/{world.users['owner']}/authentication-tokens"
    token = (await world.call("owner", "POST", own)).json()["data"]
    path = f"/team-workspaces?filter[workspace][id]={world.workspaces['network']}"
    accesses = (await world.call("owner", "GET", path)).json()["data"]
    return {
        "membership_id": world.memberships["plain"],
        "team_workspace_id": accesses[0]["id"],
        "token_id": token["id"],
        "workspace_id": world.workspaces["network"],
        "variable_id": variable["id"],
        "team_id": world.teams["crew"],
        "user_id": world.users["plain"],
        "organization_membership_id": world.memberships["plain"],
        "organization": world.organization,
        "workspace": "network",
        "new_name": f"new-{uuid4()}",
    }
