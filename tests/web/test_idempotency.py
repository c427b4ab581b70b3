"""A change that is sent again under its Idempotency-Key happens once, and is answered as first."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from itertools import count
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import pytest

from teamvars import wiring
from teamvars.domain import idempotency
from teamvars.security.idempotency import RecordKeys
from teamvars.services import idempotency as service
from teamvars.storage.database import Transaction
from tests.support.deployment import Deployment, open_deployment, operator
from tests.support.engines import ON_POSTGRES, ON_SQLITE
from tests.support.patience import HANGS, until
from tests.support.tenant import Tenant, faults, linkage_document, variable_document

_KEYS = count(1)


def new_key() -> str:
    """One that no other test has."""
    return f"key-{next(_KEYS)}"


def keyed(key: str, **more: str) -> dict[str, str]:
    return {"Idempotency-Key": key, **more}


def team(name: str) -> dict[str, Any]:
    return {"data": {"type": "teams", "attributes": {"name": name}}}


def token(description: str = "mine") -> dict[str, Any]:
    return {"data": {"type": "authentication-tokens", "attributes": {"description": description}}}


def teams_path(tenant: Tenant) -> str:
    return f"/organizations/{tenant.organization}/teams"


def tokens_path(tenant: Tenant, who: str = "owner") -> str:
    return f"/users/{tenant.users[who]}/authentication-tokens"


def shown(answer: httpx.Response) -> tuple[int, Mapping[str, str], bytes]:
    """All of an answer but for the request's id."""
    headers = {name: text for name, text in answer.headers.items() if name != "x-request-id"}
    return answer.status_code, headers, answer.content


async def held(tenant: Tenant, column: str = "count(*)") -> int:
    """Of the records of the owner."""

    async def body(tx: Transaction) -> int:
        sql = f"SELECT coalesce({column}, 0) FROM idempotency_records WHERE principal = $1"  # noqa: S608
        row = await tx.fetch_one(sql, tenant.users["owner"])
        assert row is not None
        return int(row[0])

    return await tenant.deployment.services.database.read(body)


# The first answer again


async def test_a_repeated_creation_has_the_first_answer_with_its_headers(tenant: Tenant) -> None:
    key, path = keyed(new_key()), tenant.vars_path()
    first = await tenant.call("owner", "POST", path, variable_document(), key)
    again = await tenant.call("owner", "POST", path, variable_document(), key)
    assert first.status_code == 201
    assert {"etag", "location"} <= first.headers.keys()
    assert shown(again) == shown(first)
    assert again.headers["X-Request-Id"] != first.headers["X-Request-Id"]
    assert len(await tenant.variables()) == 1


async def test_without_a_key_the_second_is_another_request(tenant: Tenant) -> None:
    path = tokens_path(tenant)
    for _ in range(2):
        assert (await tenant.call("owner", "POST", path, token())).status_code == 201
    assert await held(tenant) == 0


async def test_what_was_first_is_answered_also_when_it_has_changed_since(tenant: Tenant) -> None:
    made = await tenant.make_variable()
    path, key = f"{tenant.vars_path()}/{made['id']}", keyed(new_key())
    first = await tenant.call("owner", "PATCH", path, changed(made, value="a"), key)
    await tenant.call("owner", "PATCH", path, changed(made, value="b"))
    again = await tenant.call("owner", "PATCH", path, changed(made, value="a"), key)
    assert again.json() == without_value(first)
    assert again.headers["ETag"] == first.headers["ETag"]
    assert [one["attributes"]["value"] for one in await tenant.variables()] == ["b"]


# Values


def changed(made: Mapping[str, Any], **attributes: Any) -> dict[str, Any]:
    return {"data": {"type": "vars", "id": made["id"], "attributes": attributes}}


def without_value(answer: httpx.Response) -> dict[str, Any]:
    document: dict[str, Any] = answer.json()
    assert document["data"]["attributes"]["value"] is not None
    document["data"]["attributes"]["value"] = None
    return document


async def test_a_repeat_does_not_show_a_value_that_was_made_sensitive_since(
    tenant: Tenant,
) -> None:
    creating, updating = keyed(new_key()), keyed(new_key())
    made = await tenant.call("owner", "POST", tenant.vars_path(), variable_document(), creating)
    path = f"{tenant.vars_path()}/{made.json()['data']['id']}"
    change = changed(made.json()["data"], description="now here")
    updated = await tenant.call("owner", "PATCH", path, change, updating)
    assert shown(await tenant.call("owner", "PATCH", path, change, updating)) == shown(updated)
    secret = changed(made.json()["data"], sensitive=True)
    assert (await tenant.call("owner", "PATCH", path, secret)).is_success
    again = await tenant.call("owner", "POST", tenant.vars_path(), variable_document(), creating)
    assert (again.status_code, again.json()) == (201, without_value(made))
    again = await tenant.call("owner", "PATCH", path, change, updating)
    assert (again.status_code, again.json()) == (200, without_value(updated))


async def test_a_creation_is_repeated_without_its_value_once_the_variable_is_gone(
    tenant: Tenant,
) -> None:
    key, path = keyed(new_key()), tenant.vars_path()
    made = await tenant.call("owner", "POST", path, variable_document(), key)
    await tenant.call("owner", "DELETE", f"{path}/{made.json()['data']['id']}")
    again = await tenant.call("owner", "POST", path, variable_document(), key)
    assert (again.status_code, again.json()) == (201, without_value(made))
    assert await tenant.variables() == []


async def test_what_is_kept_of_any_change_holds_no_value(tenant: Tenant) -> None:
    readable, secret = (f"canary-{uuid4().hex}" for _ in range(2))
    network, payments = (tenant.workspaces[name] for name in ("network", "payments"))

    async def change(method: str, path: str, document: Mapping[str, Any]) -> httpx.Response:
        answer = await tenant.call("owner", method, path, document, keyed(new_key()))
        assert answer.is_success, answer.text
        return answer

    made = await change("POST", tenant.vars_path(), variable_document(value=readable))
    hidden = variable_document(key="hidden", value=secret, sensitive=True)
    await change("POST", tenant.vars_path(), hidden)
    one = made.json()["data"]
    await change("PATCH", f"{tenant.vars_path()}/{one['id']}", changed(one, hcl=False))
    items = [
        {**variable_document(key=key, value=value)["data"]}
        for key, value in (("region", f"{readable}!"), ("applied", readable), ("hidden", secret))
    ]
    await change("POST", f"/workspaces/{network}/actions/apply", {"data": items})
    source = {"source": {"data": {"type": "workspaces", "id": network}}}
    copy = {"data": {"type": "copies", "relationships": source}}
    await change("POST", f"/workspaces/{payments}/actions/copy", copy)
    keys = RecordKeys(tenant.deployment.keys)

    async def kept(tx: Transaction) -> list[bytes]:
        columns = "name, key_id, fingerprint, answer, expires_at"
        sql = f"SELECT {columns} FROM idempotency_records WHERE principal = $1"  # noqa: S608
        rows = await tx.fetch(sql, tenant.users["owner"])
        records = [idempotency.Record(*row) for row in rows]
        return [keys.open(record) for record in records]

    answers = await tenant.deployment.services.database.read(kept)
    assert len(answers) == 5
    assert sum(b'"region"' in answer for answer in answers) == 4
    for answer in answers:
        assert readable.encode() not in answer
        assert secret.encode() not in answer


async def test_a_repeat_under_a_condition_that_the_first_has_ended(tenant: Tenant) -> None:
    made = await tenant.make_variable()
    path = f"{tenant.vars_path()}/{made['id']}"
    tag = (await tenant.call("owner", "GET", path)).headers["ETag"]
    document = {"data": {"type": "vars", "id": made["id"], "attributes": {"value": "new"}}}
    headers = keyed(new_key(), **{"If-Match": tag})
    first = await tenant.call("owner", "PATCH", path, document, headers)
    assert first.status_code == 200
    assert shown(await tenant.call("owner", "PATCH", path, document, headers)) == shown(first)
    without = await tenant.call("owner", "PATCH", path, document, headers | {"If-Match": "*"})
    assert faults(without) == [("422", "idempotency_key_reused", None)]


async def test_a_keyed_creation_of_code_is_parsed_and_repeated(tenant: Tenant) -> None:
    key, path = keyed(new_key()), tenant.vars_path()
    document = variable_document(value="[1, 2]", hcl=True)
    first = await tenant.call("owner", "POST", path, document, key)
    assert first.status_code == 201
    assert shown(await tenant.call("owner", "POST", path, document, key)) == shown(first)
    broken = variable_document(key="other", value="[1,", hcl=True)
    refused = await tenant.call("owner", "POST", path, broken, keyed(new_key()))
    assert faults(refused) == [("422", "hcl_syntax", "/data/attributes/value")]


async def test_members_are_added_once_and_each_state_of_a_workspace_is_answered_again(
    tenant: Tenant,
) -> None:
    path, document = tenant.linkage_path(), linkage_document(tenant.users["plain"])
    key = keyed(new_key())
    for _ in range(2):
        added = await tenant.call("owner", "POST", path, document, key)
        assert (added.status_code, added.content) == (204, b"")
    workspace = f"/workspaces/{tenant.workspaces['network']}/actions"
    locking, unlocking = keyed(new_key()), keyed(new_key())
    locked = await tenant.call("owner", "POST", f"{workspace}/lock", None, locking)
    unlocked = await tenant.call("owner", "POST", f"{workspace}/unlock", None, unlocking)
    again = await tenant.call("owner", "POST", f"{workspace}/unlock", None, unlocking)
    assert shown(again) == shown(unlocked)
    assert unlocked.status_code == 200
    assert shown(await tenant.call("owner", "POST", f"{workspace}/lock", None, locking)) == shown(
        locked
    )
    now = await tenant.call("owner", "GET", f"/workspaces/{tenant.workspaces['network']}")
    assert now.json()["data"]["attributes"]["locked"] is False


async def test_an_apply_is_repeated_though_its_condition_and_its_code_have_gone(
    tenant: Tenant,
) -> None:
    await tenant.make_variable("old")
    path = f"/workspaces/{tenant.workspaces['network']}/actions/apply"
    attributes = {"key": "a", "category": "tool", "value": "[1, 2]", "hcl": True}
    document = {"data": [{"type": "vars", "attributes": attributes}], "meta": {"prune": True}}
    tag = (await tenant.call("writer", "GET", tenant.vars_path())).headers["ETag"]
    headers = keyed(new_key(), **{"If-Match": tag})
    dry = {**document, "meta": {"prune": True, "dry-run": True}}
    for _ in range(2):
        looked = await tenant.call("writer", "POST", path, dry, headers)
        assert looked.json()["meta"]["dry-run"] is True
    first = await tenant.call("writer", "POST", path, document, headers)
    assert [one["outcome"] for one in first.json()["meta"]["results"]] == ["created", "deleted"]
    assert shown(await tenant.call("writer", "POST", path, document, headers)) == shown(first)
    reused = await tenant.call("writer", "POST", path, {**document, "meta": {}}, headers)
    assert faults(reused) == [("422", "idempotency_key_reused", None)]
    other = await tenant.call("writer", "POST", path, document, headers | keyed(new_key()))
    assert faults(other) == [("412", "precondition_failed", None)]


async def test_a_copy_is_repeated_though_it_stands_in_its_own_way(tenant: Tenant) -> None:
    await tenant.make_variable("plain")
    await tenant.make_variable("secret", sensitive=True)
    path = f"/workspaces/{tenant.workspaces['payments']}/actions/copy"
    source = {"data": {"type": "workspaces", "id": tenant.workspaces["network"]}}
    document = {
        "data": {
            "type": "copies",
            "attributes": {"on-conflict": "refuse"},
            "relationships": {"source": source},
        }
    }
    key = keyed(new_key())
    first = await tenant.call("owner", "POST", path, document, key)
    assert first.status_code == 200
    assert shown(await tenant.call("owner", "POST", path, document, key)) == shown(first)
    # Who is no owner any more is refused what was sensitive, whatever else is in the way.
    owner, plain = (linkage_document(tenant.users[who]) for who in ("owner", "plain"))
    await tenant.call("owner", "POST", tenant.linkage_path("owners"), plain)
    await tenant.call("owner", "POST", tenant.linkage_path("writers"), owner)
    access = {
        "data": {
            "type": "team-workspaces",
            "attributes": {"access": "write"},
            "relationships": {
                "team": {"data": {"type": "teams", "id": tenant.teams["writers"]}},
                "workspace": {"data": {"type": "workspaces", "id": tenant.workspaces["payments"]}},
            },
        }
    }
    assert (await tenant.call("owner", "POST", "/team-workspaces", access)).is_success
    left = await tenant.call("plain", "DELETE", tenant.linkage_path("owners"), owner)
    assert left.status_code == 204
    refused = await tenant.call("owner", "POST", path, document, key)
    assert refused.status_code == 403
    assert {code for _, code, _ in faults(refused)} == {"forbidden"}
    # With a key that is new they are told all that is wrong, as without one.
    without = await tenant.call("owner", "POST", path, document)
    new = await tenant.call("owner", "POST", path, document, keyed(new_key()))
    assert faults(new) == faults(without)
    assert len({code for _, code, _ in faults(new)}) == 2


async def test_a_copy_is_repeated_though_its_source_has_lost_the_variable(tenant: Tenant) -> None:
    made = await tenant.make_variable("gone")
    path = f"/workspaces/{tenant.workspaces['payments']}/actions/copy"
    source = {"data": {"type": "workspaces", "id": tenant.workspaces["network"]}}
    names = [{"key": "gone", "category": made["attributes"]["category"]}]
    data = {
        "type": "copies",
        "attributes": {"keys": names, "on-conflict": "replace"},
        "relationships": {"source": source},
    }
    key = keyed(new_key())
    first = await tenant.call("owner", "POST", path, {"data": data}, key)
    assert first.status_code == 200
    await tenant.call("owner", "DELETE", f"{tenant.vars_path()}/{made['id']}")
    assert shown(await tenant.call("owner", "POST", path, {"data": data}, key)) == shown(first)


async def test_a_key_in_quotes_is_the_key_without_them(tenant: Tenant) -> None:
    path = teams_path(tenant)
    first = await tenant.call("owner", "POST", path, team("a"), keyed(r'"one\"key\\"'))
    again = await tenant.call("owner", "POST", path, team("a"), keyed('one"key\\'))
    assert first.status_code == 201
    assert shown(again) == shown(first)


async def test_a_refusal_is_not_kept(tenant: Tenant) -> None:
    key, path = keyed(new_key()), tenant.vars_path()
    refused = await tenant.call("owner", "POST", path, variable_document(key="a b"), key)
    assert refused.status_code == 422
    assert await held(tenant) == 0
    made = await tenant.call("owner", "POST", path, variable_document(), key)
    assert made.status_code == 201


async def test_a_key_on_what_changes_nothing_is_ignored(tenant: Tenant) -> None:
    made = await tenant.make_variable()
    bad, path = keyed(" " * 300), f"{tenant.vars_path()}/{made['id']}"
    assert (await tenant.call("owner", "GET", path, None, bad)).status_code == 200
    assert (await tenant.call("owner", "DELETE", path, None, bad)).status_code == 204
    assert await held(tenant) == 0


# Tokens


async def test_a_token_is_made_once_and_shown_once(tenant: Tenant) -> None:
    key, path = keyed(new_key()), tokens_path(tenant)
    first = await tenant.call("owner", "POST", path, token(), key)
    made = first.json()["data"]["id"]
    again = await tenant.call("owner", "POST", path, token(), key)
    assert faults(again) == [("409", "already_made", None)]
    (error,) = again.json()["errors"]
    assert (error["source"], error["meta"]) == ({"header": "Idempotency-Key"}, {"id": made})
    assert first.json()["data"]["attributes"]["token"] not in again.text
    assert (await tenant.call("owner", "DELETE", f"/authentication-tokens/{made}")).is_success


async def test_a_token_that_replaces_the_one_it_was_asked_with(tenant: Tenant) -> None:
    key = keyed(new_key())
    path = f"/organizations/{tenant.organization}/authentication-token"
    first = await tenant.call("organization-token", "POST", path, token(), key)
    assert first.status_code == 201
    again = await tenant.call("organization-token", "POST", path, token(), key)
    assert faults(again) == [("401", "unauthenticated", None)]


# Refusals of keys


@ON_SQLITE
@pytest.mark.parametrize(
    "text", ["", '""', "a b", "ä", "a" * 256, '"' + "a" * 256 + '"', '"open', r'"\a"', '"a";p=1']
)
async def test_what_is_no_key_is_refused(tenant: Tenant, text: str) -> None:
    headers = {b"Idempotency-Key": text.encode()}
    headers[b"Authorization"] = f"Bearer {tenant.tokens['owner']}".encode()
    headers[b"Content-Type"] = b"application/vnd.api+json"
    answer = await tenant.deployment.client.post(
        teams_path(tenant), json=team("a"), headers=headers
    )
    assert faults(answer) == [("400", "invalid_header", None)]
    assert answer.json()["errors"][0]["source"] == {"header": "Idempotency-Key"}
    stranger = await tenant.deployment.client.post(
        teams_path(tenant), json=team("a"), headers={b"Idempotency-Key": text.encode()}
    )
    assert stranger.status_code == 401


async def test_the_longest_key_is_one(tenant: Tenant) -> None:
    for key in ("~" * 255, '"' + "!" * 255 + '"'):
        name = f"team-{len(key)}"
        made = await tenant.call("owner", "POST", teams_path(tenant), team(name), keyed(key))
        assert made.status_code == 201


async def test_a_key_that_came_with_another_request_is_refused(tenant: Tenant) -> None:
    key, path = keyed(new_key()), teams_path(tenant)
    made = (await tenant.call("owner", "POST", path, team("a"), key)).json()["data"]["id"]
    others = [
        ("POST", path, team("b")),
        ("POST", f"{path}?x=1", team("a")),
        ("POST", tenant.vars_path(), variable_document()),
        ("PATCH", f"/teams/{made}", team("a")),
        ("POST", tokens_path(tenant), token()),
    ]
    for method, other, document in others:
        answer = await tenant.call("owner", method, other, document, key)
        assert faults(answer) == [("422", "idempotency_key_reused", None)], other
        assert answer.json()["errors"][0]["source"] == {"header": "Idempotency-Key"}
    assert await tenant.variables() == []


async def test_the_same_key_from_another_token_is_another_key(tenant: Tenant) -> None:
    key = keyed(new_key())
    other = await tenant.call("owner", "POST", tokens_path(tenant), token())
    secret = other.json()["data"]["attributes"]["token"]
    for headers in (key, {**key, "Authorization": f"Bearer {secret}"}):
        answer = await tenant.call("owner", "POST", tokens_path(tenant), token("x"), headers)
        assert answer.status_code == 201


# Rights


async def test_who_lost_the_right_gets_the_refusal_of_today(tenant: Tenant) -> None:
    key, path = keyed(new_key()), tenant.vars_path()
    first = await tenant.call("writer", "POST", path, variable_document(), key)
    assert first.status_code == 201

    async def again(document: object) -> list[tuple[str, str, str | None]]:
        return faults(await tenant.call("writer", "POST", path, document, key))

    grants = f"/team-workspaces?filter[workspace][id]={tenant.workspaces['network']}"
    (one,) = (
        f"/team-workspaces/{grant['id']}"
        for grant in (await tenant.call("owner", "GET", grants)).json()["data"]
        if grant["relationships"]["team"]["data"]["id"] == tenant.teams["writers"]
    )
    read = {"data": {"type": "team-workspaces", "attributes": {"access": "read"}}}
    assert (await tenant.call("owner", "PATCH", one, read)).is_success
    for document in (variable_document(), variable_document(key="other")):
        assert await again(document) == [("403", "forbidden", None)]
    assert (await tenant.call("owner", "DELETE", one)).is_success
    for document in (variable_document(), variable_document(key="other")):
        assert await again(document) == [("404", "not_found", None)]
    await tenant.deployment.services.issued_tokens.revoke(operator(), await token_id(tenant))
    assert await again(variable_document()) == [("401", "unauthenticated", None)]


async def token_id(tenant: Tenant, who: str = "writer") -> str:
    issued = await tenant.deployment.services.issued_tokens.list()
    (found,) = (one.token.id for one in issued if one.token.owner_id == tenant.users[who])
    return found


# Limits and housekeeping


async def fill(tenant: Tenant, number: int, size: int = 1, expires_in: int = 10**9) -> None:
    """Adds records of the owner, each of that many bytes."""
    sql = (
        "INSERT INTO idempotency_records "
        "(name, principal, key_id, fingerprint, answer, bytes, expires_at) "
        "VALUES ($1, $2, 'mk', $3, $3, $4, $5)"
    )
    owner = tenant.users["owner"]
    expires_at = wiring.clock() + expires_in
    rows = [(f"{owner}-{next(_KEYS)}", owner, b"", size, expires_at) for _ in range(number)]
    await tenant.deployment.services.database.write(lambda tx: tx.execute_many(sql, rows))


async def test_a_caller_has_so_many_records_and_others_are_not_concerned(tenant: Tenant) -> None:
    await fill(tenant, idempotency.MAX_RECORDS - 1)
    key = keyed(new_key())
    assert (await tenant.call("owner", "POST", teams_path(tenant), team("a"), key)).is_success
    full = await tenant.call("owner", "POST", teams_path(tenant), team("b"), keyed(new_key()))
    assert faults(full) == [("429", "too_many_requests", None)]
    again = await tenant.call("owner", "POST", teams_path(tenant), team("a"), key)
    assert again.status_code == 201
    assert (await tenant.call("owner", "POST", teams_path(tenant), team("b"))).is_success
    path = tenant.vars_path()
    for who in ("writer", "organization-token"):
        document = variable_document(key=who)
        made = await tenant.call(who, "POST", path, document, keyed(new_key()))
        assert made.status_code == 201


async def test_a_caller_has_so_many_bytes_of_records(tenant: Tenant) -> None:
    await fill(tenant, 1, idempotency.MAX_BYTES - 100)
    full = await tenant.call("owner", "POST", teams_path(tenant), team("b"), keyed(new_key()))
    assert faults(full) == [("429", "too_many_requests", None)]
    teams = (await tenant.call("owner", "GET", teams_path(tenant))).json()["data"]
    assert "b" not in {one["attributes"]["name"] for one in teams}


async def test_who_lacks_the_right_is_not_told_of_the_limit(tenant: Tenant) -> None:
    await fill(tenant, idempotency.MAX_RECORDS)
    path = f"/workspaces/{tenant.other_workspace}/vars"
    answer = await tenant.call("owner", "POST", path, variable_document(), keyed(new_key()))
    assert faults(answer) == [("404", "not_found", None)]


async def test_a_record_that_has_expired_is_none(tenant: Tenant) -> None:
    key, path = keyed(new_key()), tokens_path(tenant)
    assert (await tenant.call("owner", "POST", path, token(), key)).status_code == 201
    await fill(tenant, idempotency.MAX_RECORDS, expires_in=-1)
    expire = "UPDATE idempotency_records SET expires_at = $1 WHERE principal = $2"
    await tenant.deployment.execute(expire, wiring.clock(), tenant.users["owner"])
    assert (await tenant.call("owner", "POST", path, token("two"), key)).status_code == 201
    again = await tenant.call("owner", "POST", path, token("two"), key)
    assert faults(again) == [("409", "already_made", None)]


async def test_housekeeping_deletes_what_has_expired_and_nothing_else(tenant: Tenant) -> None:
    await fill(tenant, 250, expires_in=-1)
    await fill(tenant, 3, idempotency.MAX_BYTES, expires_in=-1)
    await fill(tenant, 3)
    await tenant.deployment.services.repeats.forget_expired()
    assert await held(tenant) == 3


async def test_answers_are_kept_for_a_day(tenant: Tenant) -> None:
    before = tenant.deployment.services.database.now()
    await tenant.call("owner", "POST", teams_path(tenant), team("a"), keyed(new_key()))
    day = 24 * 60 * 60 * 1_000_000
    slack = 60_000_000  # asked again, the server may say a little less
    expires_at = await held(tenant, "min(expires_at)")
    now = tenant.deployment.services.database.now()
    assert before - slack <= expires_at - day <= now + slack


async def test_an_answer_that_was_altered_or_moved_does_not_open(tenant: Tenant) -> None:
    keys = [keyed(new_key()) for _ in range(2)]
    for number, key in enumerate(keys):
        await tenant.call("owner", "POST", teams_path(tenant), team(f"team-{number}"), key)
    swap = (
        "UPDATE idempotency_records SET answer = (SELECT max(answer) FROM idempotency_records "
        "WHERE principal = $1) WHERE principal = $1"
    )
    if "postgres" in tenant.deployment.config.url:
        swap = swap.replace("max(answer)", "answer").replace(
            "principal = $1)", "principal = $1 ORDER BY name LIMIT 1)"
        )
    await tenant.deployment.execute(swap, tenant.users["owner"])
    statuses = [
        (await tenant.call("owner", "POST", teams_path(tenant), team(f"team-{n}"), key)).status_code
        for n, key in enumerate(keys)
    ]
    assert sorted(statuses) == [201, 500]


# At the same time


@pytest.fixture
async def nodes(tenant: Tenant) -> AsyncIterator[list[Deployment]]:
    """The tenant's node and another one on its store."""
    first = tenant.deployment
    async with open_deployment(first.config.url, keys=first.keys) as second:
        yield [first, second]


async def test_many_at_once_on_two_nodes_make_one_and_all_have_its_answer(
    tenant: Tenant, nodes: list[Deployment]
) -> None:
    key = {**keyed(new_key()), "Authorization": f"Bearer {tenant.tokens['owner']}"}
    key["Content-Type"] = "application/vnd.api+json"
    answers = await asyncio.gather(
        *(
            nodes[n % 2].client.post(teams_path(tenant), json=team("raced"), headers=key)
            for n in range(16)
        )
    )
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1


@ON_POSTGRES
async def test_a_repeat_waits_for_the_first_and_is_refused_when_that_takes_long(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    # SQLite has one writer: there, a repeat queues behind the first.
    url = tenant.deployment.config.url
    monkeypatch.setattr(service, "WAIT_SECONDS", 0.3)
    admin = await asyncpg.connect(url)
    key, organization = keyed(new_key()), tenant.organization

    async def ask() -> httpx.Response:
        return await tenant.call("owner", "POST", teams_path(tenant), team("slow"), key)

    async with admin.transaction():
        await admin.execute(
            "SELECT 1 FROM streams WHERE id = (SELECT id FROM organizations WHERE name = $1) "
            "FOR UPDATE",
            organization,
        )
        first = asyncio.create_task(ask())
        await until(lambda: somebody_waits(admin))
        refused = await ask()
        assert faults(refused) == [("409", "idempotency_key_in_use", None)]
        assert refused.headers["Retry-After"] == "1"
        monkeypatch.setattr(service, "WAIT_SECONDS", HANGS)
        waits = asyncio.create_task(ask())
        await asyncio.sleep(0.1)
        assert not waits.done()
    await admin.close()
    assert shown(await waits) == shown(await first)


@ON_POSTGRES
async def test_those_who_wait_for_one_workspace_leave_connections_to_writers_of_others(
    tenant: Tenant,
) -> None:
    admin = await asyncpg.connect(tenant.deployment.config.url)

    async def create(workspace: str, number: int) -> int:
        document = variable_document(key=f"key_{number}")
        path = tenant.vars_path(workspace)
        return (await tenant.call("owner", "POST", path, document, keyed(new_key()))).status_code

    async with admin.transaction():
        await admin.execute(
            "SELECT 1 FROM streams WHERE id = $1 FOR UPDATE", tenant.workspaces["network"]
        )
        waiting = [asyncio.create_task(create("network", number)) for number in range(8)]
        await until(lambda: somebody_waits(admin))
        async with asyncio.timeout(HANGS):
            assert await create("payments", 0) == 201
        assert not any(task.done() for task in waiting)
    await admin.close()
    assert set(await asyncio.gather(*waiting)) == {201}


async def somebody_waits(admin: Any) -> bool:
    """Whether one of this database's connections waits for a lock."""
    waiting = (
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    return bool(await admin.fetchval(waiting))


async def test_after_a_rollback_the_repeat_is_the_first(tenant: Tenant) -> None:
    key, path = keyed(new_key()), tokens_path(tenant)
    await fill(tenant, idempotency.MAX_RECORDS)
    assert (await tenant.call("owner", "POST", path, token(), key)).status_code == 429
    await tenant.deployment.execute("DELETE FROM idempotency_records")
    assert (await tenant.call("owner", "POST", path, token(), key)).status_code == 201
    listed = (await tenant.call("owner", "GET", path)).json()["data"]
    assert [one["attributes"]["description"] for one in listed].count("mine") == 1


async def test_a_client_that_goes_away_finds_its_change_made_or_makes_it(tenant: Tenant) -> None:
    path = teams_path(tenant)
    for turns in range(30):
        name, key = f"gone-{turns}", keyed(new_key())
        gone = asyncio.create_task(tenant.call("owner", "POST", path, team(name), key))
        for _ in range(turns):
            await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        again = await tenant.call("owner", "POST", path, team(name), key)
        assert again.status_code == 201, again.text
