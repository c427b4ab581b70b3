"""The routes behind links: public, short, and the same to all who guess."""

import json
import re
from collections.abc import AsyncIterator
from functools import partial
from uuid import uuid4

import httpx
import pytest

from teamvars.decisions.invitations import Asked
from teamvars.domain.errors import DEAD_LINK
from teamvars.services.invitations import Issued
from teamvars.web.http.request import STRANGER_BODY_BYTES
from tests.support.deployment import operator, secret_of
from tests.support.engines import ON_SQLITE
from tests.support.tenant import JSON_API, Tenant

ACTIONS = "/invitations/actions"


async def invite(tenant: Tenant, email: str = "") -> Issued:
    asked = Asked(email or f"{uuid4().hex}@example.com", tenant.organization)
    invitations = tenant.deployment.services.operator_invitations
    return await invitations.create(operator(), asked, show=True)


def document(secret: str) -> object:
    return {"data": {"type": "invitations", "attributes": {"secret": secret}}}


async def ask(
    tenant: Tenant, action: str, secret: str, headers: dict[str, str] | None = None
) -> httpx.Response:
    return await tenant.call(None, "POST", f"{ACTIONS}/{action}", document(secret), headers)


async def test_a_link_says_who_invites_whom_where_as_often_as_it_is_asked(tenant: Tenant) -> None:
    issued = await invite(tenant)
    for _ in range(3):
        answer = await ask(tenant, "show", secret_of(issued))
        assert answer.headers["Cache-Control"] == "no-store"
        data = answer.json()["data"]
        assert data["id"] == issued.membership.id
        assert data["attributes"]["organization"] == tenant.organization
        assert data["attributes"]["inviter"] is None
        assert data["attributes"]["first-token"] is True


async def test_who_accepts_has_a_token_once(tenant: Tenant) -> None:
    secret = secret_of(await invite(tenant))
    answer = await ask(tenant, "accept", secret)
    assert answer.status_code == 201
    assert answer.headers["Cache-Control"] == "private, no-store"
    token = answer.json()["data"]["attributes"]["token"]
    seen = await tenant.deployment.client.get(
        "/organizations", headers={"Authorization": f"Bearer {token}"}
    )
    assert [one["id"] for one in seen.json()["data"]] == [tenant.organization]
    again = await ask(tenant, "accept", secret)
    assert (again.status_code, again.json()["errors"][0]["detail"]) == (422, DEAD_LINK.detail)


async def test_a_repeat_with_the_key_says_that_the_token_was_made(tenant: Tenant) -> None:
    secret, key = secret_of(await invite(tenant)), {"Idempotency-Key": uuid4().hex}
    first = await ask(tenant, "accept", secret, key)
    again = await ask(tenant, "accept", secret, key)
    (error,) = again.json()["errors"]
    assert (again.status_code, error["code"]) == (409, "already_made")
    assert error["meta"]["id"] == first.json()["data"]["id"]
    assert first.json()["data"]["attributes"]["token"] not in again.text
    other = await ask(tenant, "accept", secret_of(await invite(tenant)), key)
    assert other.status_code == 201  # another link's keys are its own


async def test_who_is_known_is_told_how_to_accept(tenant: Tenant) -> None:
    account = await tenant.deployment.services.accounts.show(tenant.users["outsider"])
    issued = await invite(tenant, account.user.email or "")
    shown = await ask(tenant, "show", secret_of(issued))
    assert shown.json()["data"]["attributes"]["first-token"] is False
    refused = await ask(tenant, "accept", secret_of(issued))
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (403, "forbidden")
    path = re.search(r"POST /api/v2(\S+/accept)", refused.json()["errors"][0]["detail"])
    assert path is not None
    assert (await tenant.call("outsider", "POST", path[1])).status_code == 200


@ON_SQLITE
@pytest.mark.parametrize("action", ["show", "accept"])
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "malformed_document"),
        (b'{"data": {"type": "invitations", "attributes": {}}}', 422, "missing_member"),
        (b'{"data": {"type": "links", "attributes": {"secret": ""}}}', 409, "type_conflict"),
        (b" " * (STRANGER_BODY_BYTES + 1), 413, "body_too_large"),
        (json.dumps(document("tvi_\0" + "0" * 48)).encode(), 422, "invalid_value"),
        (json.dumps(document("é" * 53)).encode(), 422, "invalid_value"),
    ],
)
async def test_what_is_no_document_of_a_link_is_refused(
    tenant: Tenant, action: str, body: bytes, status: int, code: str
) -> None:
    answer = await tenant.deployment.client.post(
        f"{ACTIONS}/{action}", content=body, headers={"Content-Type": JSON_API}
    )
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (status, code)


@pytest.mark.parametrize("action", ["show", "accept"])
async def test_a_body_whose_length_a_proxy_does_not_say_is_read_and_bounded(
    tenant: Tenant, action: str
) -> None:
    secret = secret_of(await invite(tenant))

    async def pieces(more: int = 0) -> AsyncIterator[bytes]:
        yield b" " * more
        yield json.dumps(document(secret)).encode()

    ask = partial(
        tenant.deployment.client.post, f"{ACTIONS}/{action}", headers={"Content-Type": JSON_API}
    )
    assert (await ask(content=pieces(STRANGER_BODY_BYTES))).status_code == 413
    assert (await ask(content=pieces())).is_success


async def test_no_other_site_can_have_a_browser_accept(tenant: Tenant) -> None:
    """What a form or a simple request of another page can send is no document of ours."""
    secret = secret_of(await invite(tenant))
    for type_ in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = await tenant.deployment.client.post(
            f"{ACTIONS}/accept",
            content=json.dumps(document(secret)).encode(),
            headers={"Content-Type": type_, "Origin": "https://evil.example"},
        )
        assert answer.status_code == 415
        assert "Access-Control-Allow-Origin" not in answer.headers
    assert (await ask(tenant, "accept", secret)).status_code == 201


async def test_who_guesses_takes_one_look_and_no_lock(
    tenant: Tenant, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("who guesses waits for writers")

    monkeypatch.setattr(tenant.deployment.services.database, "write", refuse)
    for action in ("show", "accept"):
        statements.clear()
        answer = await ask(tenant, action, "tvi_" + "0" * 49)
        assert answer.status_code == 422
        assert len(statements) == 1
        statements.clear()
        await ask(tenant, action, "no link at all")
        assert statements == []


async def test_following_the_link_uses_nothing_up(tenant: Tenant) -> None:
    issued = await invite(tenant)
    client = tenant.deployment.client
    for method in ("GET", "HEAD"):
        await client.request(method, f"http://teamvars.test/invitations?{secret_of(issued)}")
    assert (await ask(tenant, "accept", secret_of(issued))).status_code == 201


async def test_the_page_loads_nothing_and_tells_nobody_where_it_was(tenant: Tenant) -> None:
    answer = await tenant.deployment.client.get("http://teamvars.test/invitations")
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "script-src 'sha256-" in policy
    for part in ("unsafe", "http", "*"):
        assert part not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cache-Control"] == "no-store"
    assert "http" not in answer.text
    assert "innerHTML" not in answer.text


async def test_members_see_until_when_an_invitation_is_good(tenant: Tenant) -> None:
    issued = await invite(tenant)
    path = f"/organizations/{tenant.organization}/organization-memberships?filter[status]=invited"
    listed = (await tenant.call("owner", "GET", path)).json()["data"]
    states = {one["id"]: one["attributes"]["invitation"] for one in listed}
    assert states[issued.membership.id]["delivery"] == "shown"
    assert states[tenant.memberships["invited"]] is None
