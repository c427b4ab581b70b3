"""`/openapi.json` says what a real server does: its routes, examples, errors, headers, schemas."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import jsonschema_rs
import msgspec
import openapi_spec_validator
import pytest

from teamvars import wiring
from teamvars.decisions.invitations import Asked
from teamvars.domain.errors import Code
from teamvars.domain.workspaces import Quota
from teamvars.security import keyring
from teamvars.storage.engines import database_for
from teamvars.time_limits import TimeLimits
from teamvars.web import examples
from teamvars.web.dialects import STANDARD, TERRAFORM, Dialect
from teamvars.web.http import openapi, paging
from teamvars.web.http.errors import STATUS
from teamvars.web.http.parameters import MAX_CHARACTERS
from teamvars.web.http.request import MAX_BODY_BYTES, STRANGER_BODY_BYTES
from teamvars.web.http.sending import Sender
from tests.support.deployment import operator, secret_of
from tests.support.ids import filled, ids_of, tag_of
from tests.support.jobs import runner_document
from tests.support.served_deployment import ServedDeployment
from tests.support.tenant import JSON_API, Tenant, build_tenant
from tests.web.test_projects import make, move
from tests.web.test_sending import Client, request

# What servers add to any answer (RFC 9110, RFC 9112); a document of an API does not repeat them.
OF_HTTP_ITSELF = {"connection", "content-length", "content-type", "date", "server"}
# Only a client that stalls, one whose head is too long, and a store that fails get these: the fault
# tests see to them.
NOT_TO_BE_HAD_HERE = {"408", "429", "431", "500", "503"}
# An answer of these to whatever has nothing to decode is the server's own, to broken HTTP.
TO_DOCUMENTS_ALONE = {"400"}
# Nobody does these for another, owners included.
TAKES_LARGE_BODIES = "/actions/apply", "/workspaces/{workspace_id}/relationships/vars"
FOR_ONESELF = (
    "/actions/accept",
    "/users/{user_id}/actions/end-sessions",
    "/users/{user_id}/authentication-tokens",
)

FOR_OTHERS = (
    "/oauth/token",
    "/oauth/device_authorization",
    "/oauth/revoke",
    "/logins/actions/show",
    "/logins/actions/deny",
    "/actions/deliver",
    "/actions/approve",
)
"""Nobody here is a job or a program, or somebody who approves: test_deliveries.py, test_logins.py,
test_login_codes.py and test_owner_approvals.py have them."""
VALIDATORS: dict[str, Any] = {}
"""By the text of the schema, of the one document that answers here are compared with."""


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
async def document(served: ServedDeployment) -> Any:
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


def described(document: Any) -> Iterator[tuple[str, Any]]:
    """Each operation, by its method and path."""
    for template, path in document["paths"].items():
        for method, said in path.items():
            if method != "parameters":
                yield f"{method.upper()} {template}", said


def document_in(dialect: Dialect) -> Any:
    """The document of a service that speaks so."""
    keys = keyring.generate()
    services = wiring.services(database_for("sqlite:////nowhere"), keys, Quota(None, None))
    routes = wiring.routes(services, dialect)
    return msgspec.json.decode(
        msgspec.json.encode(openapi.document(routes, examples.IDS, examples.TAGS, dialect.amend))
    )


def resolved(document: Any, part: Any) -> Any:
    """What a `$ref` points at, or the part itself."""
    for name in part.get("$ref", "").split("/")[1:]:
        document = document[name]
        part = document
    return part


def test_every_route_is_in_the_document_and_nothing_else(
    document: Any, served: ServedDeployment
) -> None:
    routes = {(one.method, one.template) for one in wiring.routes(served.services)}
    assert {(one.method, one.template) for one in operations(document)} == routes


async def test_all_who_are_sent_the_document_share_its_memory(served: ServedDeployment) -> None:
    """The server holds what a client does not read, and anybody may ask for this."""
    (route,) = (one for one in wiring.routes(served.services) if one.template == openapi.PATH)
    clients = Client(), Client()
    for client in clients:
        asked = request()
        assert await Sender(TimeLimits()).send(client, asked, await route.handler(asked))
    first, second = ([each.get("body") for each in client.taken[1:]] for client in clients)
    assert len(first) > 1, "a short one is sent as it is"
    assert all(one is other for one, other in zip(first, second, strict=True))


def test_the_document_is_valid_openapi_3_1(document: Any) -> None:
    assert document["openapi"].startswith("3.1.")
    openapi_spec_validator.validate(document)


def test_every_operation_has_a_name_a_tag_and_a_sentence(document: Any) -> None:
    named: dict[str, str] = {}
    for where, said in described(document):
        name = said["operationId"]
        assert re.fullmatch("[a-z]+([A-Z][a-z]+)*", name), (
            f"{where}: Route(…) lacks a name such as 'listVariables', or has {name!r}"
        )
        assert name not in named, f"{where} is called {name}, and so is {named[name]}"
        named[name] = where
        assert said["description"].endswith((".", "?")), f"{where}: its handler lacks a docstring"
        (tag,) = said["tags"]
        assert tag in [one["name"] for one in document["tags"]]
    assert named["listVariables"] == "GET /api/v2/workspaces/{workspace_id}/vars"
    tagged = {
        "/api/v2/workspaces/{workspace_id}/vars": "Variables",
        "/api/v2/teams/{team_id}/relationships/users": "Members",
    }
    for path, tag in tagged.items():
        assert document["paths"][path]["get"]["tags"] == [tag]


def test_every_error_code_is_listed_with_its_status(document: Any) -> None:
    listed = document["components"]["schemas"]["Error"]["properties"]["code"]["enum"]
    assert listed == [code.word for code in Code]
    responses = document["components"]["responses"]
    for code in set(Code) - {Code.METHOD_NOT_ALLOWED}:  # whoever gets that asked for no operation
        assert code.word in responses[str(STATUS[code.kind])]["description"]


@pytest.mark.parametrize("dialect", [STANDARD, TERRAFORM], ids=lambda one: one.name)
def test_every_example_fits_its_schema(dialect: Dialect) -> None:
    document = document_in(dialect)
    tried = 0
    for operation in operations(document):
        for parameter in operation.parameters:
            if parameter["in"] == "path":
                lacking = f"{operation}: web/examples.py has no {parameter['name']} among its IDS"
                assert "example" in parameter, lacking
        if operation.body is not None:
            (content,) = operation.body["content"].values()
            lacking = f"{operation}: Route(…) lacks an example of its document"
            assert "example" in content, lacking
            schema = {**content["schema"], "components": document["components"]}
            jsonschema_rs.validator_for(schema).validate(content["example"])
            tried += 1
    assert tried >= 15


def test_what_a_request_cannot_lack_is_marked_and_nothing_else(document: Any) -> None:
    marked = {
        (str(operation), parameter["name"])
        for operation in operations(document)
        for parameter in operation.parameters
        if parameter["required"] and parameter["in"] != "path"
    }
    assert marked == {
        ("GET /api/v2/vars", "filter[organization][name]"),
        ("GET /api/v2/vars", "filter[workspace][name]"),
    }
    of_paths = [
        parameter
        for operation in operations(document)
        for parameter in operation.parameters
        if parameter["in"] == "path"
    ]
    assert all(parameter["required"] for parameter in of_paths)


def test_limits_of_parameters_are_those_that_are_kept(document: Any) -> None:
    for operation in operations(document):
        for parameter in operation.parameters:
            schema, name = parameter["schema"], parameter["name"]
            words = schema.get("items", schema)
            if name == paging.AFTER.name:
                assert schema == {"type": "string", "maxLength": paging.MAX_CURSOR_CHARACTERS}
            elif name == paging.NUMBER.name:
                assert schema == {"type": "integer", "minimum": 0, "maximum": paging.MAX_NUMBER}
            elif name == paging.SIZE.name:
                assert schema == {"type": "integer", "minimum": 1, "maximum": paging.MAX_SIZE}
            elif parameter["in"] == "query" and "enum" not in words:
                assert words["maxLength"] == MAX_CHARACTERS, f"{operation}: {name}"
            elif name == "X-Request-Id":  # whatever it is, nobody is refused for it
                assert schema == {"type": "string"}


def test_words_times_addresses_and_paths_are_told_apart(document: Any) -> None:
    schemas = document["components"]["schemas"]

    def said(schema: str, attribute: str, what: str) -> Any:
        one = schemas[schema]["properties"][attribute]
        options = [resolved(document, option) for option in one.get("anyOf", [one])]
        return next(option[what] for option in options if what in option)

    assert said("VariableAttributes", "category", "enum") == ["tool", "env"]
    assert said("MembershipAttributes", "status", "enum") == ["active", "invited"]
    assert said("TeamAttributes", "visibility", "enum") == ["organization", "secret"]
    assert said("TeamWorkspaceAttributes", "variables", "enum") == ["none", "read", "write"]
    assert "custom" in said("TeamWorkspaceAttributes", "access", "enum")
    assert said("TokenAttributes", "expired-at", "format") == "date-time"
    assert said("NewTokenAttributes", "expired-at", "format") == "date-time"
    assert said("MembershipAttributes", "email", "format") == "idn-email"
    assert said("PageLinks", "next", "format") == "uri-reference"


def test_each_dialect_has_a_document_of_what_it_takes() -> None:
    required = {}
    for dialect in (STANDARD, TERRAFORM):
        schemas = document_in(dialect)["components"]["schemas"]
        created, changed = schemas["NewVariableAttributes"], schemas["ChangedVariableResource"]
        assert created["properties"]["category"]["enum"] == list(dialect.categories.values())
        required[dialect.name] = created["required"], changed["required"]
    assert required == {
        "standard": (["category", "description", "key"], ["type", "attributes", "id"]),
        "terraform": (["category", "key"], ["type"]),
    }


def of_callers(document: Any) -> Iterator[Operation]:
    """The operations but for those of others."""
    return (one for one in operations(document) if not one.template.endswith(FOR_OTHERS))


async def test_every_example_is_accepted_and_repeated(
    document: Any, served: ServedDeployment
) -> None:
    tried = 0
    for operation in of_callers(document):
        if operation.example is None:
            assert operation.body is None
            continue
        tenant = await build_tenant(served)  # nobody has taken the example's names there
        ids = await ids_for(tenant)
        if operation.method == "DELETE":  # of somebody who is there
            await send(tenant, operation, ids, method="POST")
        key: Any = {"idempotency_key": uuid4().hex} if operation.has("Idempotency-Key") else {}
        answer = await send(tenant, operation, ids, **key)
        assert answer.is_success, f"{operation}: {answer.text}"
        assert str(answer.status_code) in operation.responses
        if key:
            again = await send(tenant, operation, ids, **key)
            same = again.status_code, again.content
            assert same == (answer.status_code, answer.content) or "already_made" in again.text
        tried += 1
    assert tried >= 7


async def test_answers_match_what_the_document_says_of_them(
    document: Any, served_tenant: Tenant
) -> None:
    seen: dict[str, set[str]] = {}
    declared = {}
    for operation in of_callers(document):
        required = set(operation.responses) - NOT_TO_BE_HAD_HERE
        if operation.body is None and not operation.has("page[number]", "Idempotency-Key"):
            required -= TO_DOCUMENTS_ALONE
        if operation.template.endswith(TAKES_LARGE_BODIES):
            required -= {"413"}
        if re.search("_id}/actions/(accept|resend|revoke)$", operation.template):
            required -= {"409"}  # for who repeats it while the first is under way
        declared[str(operation)] = required
        tenant = await build_tenant(served_tenant.deployment)  # some delete it
        if operation.template.endswith("/current-state-version"):
            required -= {"422"}  # in a workspace that is local
        every_kind = to_anybody if operation.public else every_kind_of_answer
        answers = [one async for one in every_kind(tenant, operation)]
        for answer in answers:
            check_answer(document, operation, answer)
        seen[str(operation)] = {str(answer.status_code) for answer in answers}
    assert seen == declared


async def test_a_deprecated_filter_is_answered_with_the_headers_the_document_names(
    document: Any, served_tenant: Tenant
) -> None:
    operation = next(one for one in operations(document) if str(one).startswith("POST /api/v2/wor"))
    ids = await ids_for(served_tenant)
    filtered = {**operation.example, "filter": {"workspace": {"name": "network"}}}
    answer = await send(served_tenant, operation, ids, document=filtered)
    assert {"deprecation", "link"} <= set(answer.headers)
    check_answer(document, operation, answer)


def validator_of(document: Any, schema: Any) -> Any:
    """What judges documents of a schema; made once, since most answers have one of a few."""
    key = json.dumps(schema)
    if key not in VALIDATORS:
        whole = {**schema, "components": document["components"]}
        VALIDATORS[key] = jsonschema_rs.validator_for(whole)
    return VALIDATORS[key]


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
        validator_of(document, said["content"][media_type]["schema"]).validate(answer.json())


async def every_kind_of_answer(tenant: Tenant, operation: Operation) -> Any:
    """Answers to a good request and to every mistake that can be made with any operation."""
    ids = await ids_for(tenant)
    too_large = b" " * (MAX_BODY_BYTES + 1)
    yield await send(tenant, operation, ids, who=None)
    yield await send(tenant, operation, dict.fromkeys(ids, "nothing"))
    yield await send(tenant, operation, ids, accept="text/html")
    yield await send(tenant, operation, ids, content=too_large)
    if "403" in operation.responses:
        yield await send(tenant, operation, ids, who="reader")
    if operation.has("If-None-Match"):
        yield await send(tenant, operation, ids, if_none_match="*")
    if operation.has("If-Match"):
        yield await send(tenant, operation, ids, if_match='"another"')
    if operation.has("page[number]"):
        yield await send(tenant, operation, ids, query="?page[number]=x")
        yield await send(tenant, operation, ids, query="?page[number]=2&page[size]=1")
    specials = (
        with_bad_documents,
        of_owners,
        of_what_is_used,
        of_projects,
        of_invitations,
        with_keys,
        with_locks,
    )
    for special in specials:
        async for answer in special(tenant, operation, ids):
            yield answer
    yield await send(tenant, operation, ids)


async def to_anybody(tenant: Tenant, operation: Operation) -> Any:
    """The same of what takes no token."""
    ids = await ids_for(tenant)
    if operation.body is not None:
        yield await send(tenant, operation, ids, accept="text/html")
        yield await send(tenant, operation, ids, content=b" " * (STRANGER_BODY_BYTES + 1))
    async for answer in with_bad_documents(tenant, operation, ids):
        yield answer
    if "302" in operation.responses:  # who prefers a page is led to one
        yield await send(tenant, operation, ids, accept="text/html")
    if "403" in operation.responses:
        user = await tenant.deployment.services.accounts.show(tenant.users["outsider"])
        asked = Asked(user.user.email or "", tenant.organization)
        invitations = tenant.deployment.services.operator_invitations
        issued = await invitations.create(operator(), asked, show=True)
        yield await send(tenant, operation, {**ids, "link_secret": secret_of(issued)})
    yield await send(tenant, operation, ids)


async def with_bad_documents(tenant: Tenant, operation: Operation, ids: Mapping[str, str]) -> Any:
    """Answers to what is no document, or not one of the operation's."""
    if operation.body is None:
        return
    yield await send(tenant, operation, ids, content=b"{")
    yield await send(tenant, operation, ids, content_type="text/plain")
    yield await send(tenant, operation, ids, document={"data": {}})
    yield await send(tenant, operation, ids, document=with_another_type(operation.example))


async def of_owners(tenant: Tenant, operation: Operation, ids: Mapping[str, str]) -> Any:
    """The answer where the last owner, or their team, would go."""
    if "422" in operation.responses and operation.body is None and operation.method == "DELETE":
        owners = {"team_id": tenant.teams["owners"], "membership_id": tenant.memberships["owner"]}
        yield await send(tenant, operation, {**ids, **owners})


async def of_what_is_used(tenant: Tenant, operation: Operation, ids: Mapping[str, str]) -> Any:
    """The answer where nobody has said that variables may go."""
    if operation.has("force"):
        yield await send(tenant, operation, ids, query="?force=false")


async def of_projects(tenant: Tenant, operation: Operation, ids: Mapping[str, str]) -> Any:
    """The answer where a workspace is in the project, where none is, and to a dry run of a move or
    of attaching a set.
    """
    if re.search(
        "/(projects|varsets)/[^/]+/relationships/(workspaces|projects)$", operation.template
    ):
        dry = {**operation.example, "meta": {"dry-run": True}}
        yield await send(tenant, operation, ids, document=dry)
    if operation.method != "DELETE" or not operation.template.endswith("/{project_id}"):
        return
    project = await make(tenant)
    for project_id in (project, tenant.project):
        await move(tenant, project_id, "network")
        yield await send(tenant, operation, {**ids, "project_id": project})


async def of_invitations(tenant: Tenant, operation: Operation, ids: Mapping[str, str]) -> Any:
    """The answer where the membership waits for its user."""
    if operation.template.endswith(("/actions/resend", "/actions/revoke")):
        invited = await tenant.deployment.services.operator_invitations.pending(tenant.organization)
        yield await send(tenant, operation, {**ids, "membership_id": invited[0].id})


async def with_keys(tenant: Tenant, operation: Operation, ids: Mapping[str, str]) -> Any:
    """Answers to what is no key, and to one that came with another request."""
    if not operation.has("Idempotency-Key"):
        return
    yield await send(tenant, operation, ids, idempotency_key="no key")
    key = str(uuid4())
    for who in ("owner", "admin", "plain"):
        path = f"/users/{tenant.users[who]}/authentication-tokens"
        another = {"data": {"type": "authentication-tokens", "attributes": {}}}
        await tenant.call(who, "POST", path, another, {"Idempotency-Key": key})
    yield await send(tenant, operation, ids, idempotency_key=key)


async def with_locks(tenant: Tenant, operation: Operation, ids: Mapping[str, str]) -> Any:
    """Answers where another has locked the workspace, and where nobody has; then it is ready."""
    if "/actions/" not in operation.template or "409" not in operation.responses:
        return
    actions = f"/workspaces/{ids['workspace_id']}/actions"
    await tenant.call("writer", "POST", f"{actions}/lock")
    yield await send(tenant, operation, ids)
    await tenant.call("owner", "POST", f"{actions}/force-unlock")
    if operation.template.endswith("unlock"):
        yield await send(tenant, operation, ids)
        await tenant.call("owner", "POST", f"{actions}/lock")


async def send(
    tenant: Tenant,
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
        content = of_tenant(json.dumps(example), ids).encode()
    sent = {name.replace("_", "-"): text for name, text in headers.items()}
    if content is not None:
        sent.setdefault("content-type", JSON_API)
    if who == "owner" and operation.template.endswith(("/organizations", "/metrics")):
        who = "admin"  # for all the others there is only one answer
    if who == "owner" and operation.template.endswith(FOR_ONESELF):
        who = "plain"
    if who is not None:
        sent["authorization"] = f"Bearer {tenant.tokens[who]}"
    origin = str(tenant.deployment.client.base_url).removesuffix("/api/v2/")
    return await tenant.deployment.client.request(
        method or operation.method,
        origin + filled(operation.template, ids) + (query or needed(operation, ids)),
        content=content,
        headers=sent,
    )


def needed(operation: Operation, ids: Mapping[str, str]) -> str:
    """The query without which the operation has nothing to show, or is refused."""
    if operation.has("force"):
        return "?force=true"
    named = {
        "filter[project][id]": ids["project_id"],
        "filter[workspace][id]": ids["workspace_id"],
        "filter[workspace][name]": ids["workspace"],
        "filter[organization][name]": ids["organization"],
    }
    said = [f"{name}={text}" for name, text in named.items() if operation.has(name)]
    return f"?{'&'.join(said)}" if said else ""


def of_tenant(text: str, ids: Mapping[str, str]) -> str:
    """The document with ids in the place of the examples' own."""
    for name, example in examples.IDS.items():
        if "-" in example or "_" in example:  # the others are names, and in no document
            text = text.replace(example, ids[name])
    return text.replace(examples.NEW_NAME, ids["new_name"])


def with_another_type(example: Any) -> Any:
    """The document with resources of a type that no endpoint takes."""
    return json.loads(re.sub(r'"type": "[\w-]+"', '"type": "others"', json.dumps(example)))


async def ids_for(tenant: Tenant) -> dict[str, str]:
    """What every name in the document can stand for, in a new tenant."""
    assert isinstance(tenant.deployment, ServedDeployment)
    tenant = replace(tenant, deployment=tenant.deployment.near)
    ids = await ids_of(tenant)
    crew = f"/teams/{tenant.teams['crew']}/authentication-token"
    token = (await tenant.call("owner", "POST", crew)).json()["data"]
    region = {"type": "vars", "attributes": {"key": "region", "category": "env"}}
    path = f"/workspaces/{tenant.workspaces['payments']}/actions/apply"
    await tenant.call("owner", "POST", path, {"data": [region]})
    return {
        **ids,
        "token_id": token["id"],
        "runner_id": await runner_of(tenant),
        "tag_id": await tag_of(tenant, "owner", ids["workspace_id"]),
        "expired_at": (datetime.now(UTC) + timedelta(days=1)).isoformat(),
        "new_name": f"new-{uuid4()}",
        "link_secret": await link_of_new(tenant),
    }


async def runner_of(tenant: Tenant) -> str:
    """A runner of the organization."""
    path = f"/organizations/{tenant.organization}/runners"
    proof = {"issuer": None, "conditions": None, "public_key": "A" * 43}
    network = tenant.workspaces["network"]
    document = runner_document(network, **proof, workspace_patterns=["prod-*"])
    id_: str = (await tenant.call("owner", "POST", path, document)).json()["data"]["id"]
    return id_


async def link_of_new(tenant: Tenant) -> str:
    """The secret of a link for somebody new."""
    asked = Asked(f"{uuid4()}@example.com", tenant.organization)
    invitations = tenant.deployment.services.operator_invitations
    return secret_of(await invitations.create(operator(), asked, show=True))


def test_every_query_parameter_says_what_it_does_and_those_with_few_values_which() -> None:
    few = {}
    for path in document_in(STANDARD)["paths"].values():
        for method, operation in path.items():
            for one in [] if method == "parameters" else operation["parameters"]:
                if one["in"] == "query":
                    assert one.get("description") or "enum" in one["schema"], one["name"]
                    few[one["name"]] = one["schema"].get("enum")
    assert few["force"] == ["true", "false"]
    assert few["token"] == [""]
    assert few["filter[status]"] == ["invited", "active", "inactive"]
