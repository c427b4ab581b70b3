"""A program without a browser waits for somebody to type its code (RFC 8628), and what whoever
attacks that gets.
"""

# ruff: noqa: S608 - what is put together here is done behind the service's back

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

import httpx
import pytest

from teamvars import wiring
from teamvars.decisions.users import Disabling
from teamvars.domain.logins import CLIENT
from teamvars.security.tokens import hash_token
from teamvars.storage import logins
from teamvars.storage.database import Body
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.app import Application
from tests.support.deployment import open_deployment, operator
from tests.support.engines import ON_SQLITE
from tests.support.in_process import InProcess
from tests.support.jobs import SERVICE
from tests.support.logging_in import (
    BY_DEVICE,
    ORIGIN,
    act,
    end,
    id_of,
    post,
    session_of,
    status_of,
)
from tests.support.signing_in import into_both
from tests.support.tenant import Tenant, faults

SECOND = 1_000_000
NOTHING: Mapping[str, str | None] = {}


async def begun(
    tenant: Tenant,
    address: str = "198.51.100.7",
    *,
    kept: bool = True,
    other: Mapping[str, str | None] = NOTHING,
) -> httpx.Response:
    """What a program is answered that begins to wait, at an address; `kept`: where these are."""
    said = {"client_id": CLIENT, "host": "build-7", **other}
    services = tenant.deployment.services
    addresses = ClientAddresses(are_audited=kept)
    application = Application(wiring.routes(services), services.sessions, addresses)
    async with InProcess(application, base=ORIGIN, peer=address) as client:
        form = {name: one for name, one in said.items() if one is not None}
        return await client.post("/oauth/device_authorization", data=form)


async def polled(tenant: Tenant, code: str, **other: str | None) -> Any:
    """What it is answered that asks for its token, without having waited."""
    await patient(tenant, code)
    return await asked(tenant, code, **other)


async def asked(tenant: Tenant, code: str, **other: str | None) -> Any:
    """The same at once."""
    said = {"client_id": CLIENT, "grant_type": BY_DEVICE, "device_code": code, **other}
    return await post(tenant, "token", said)


async def patient(tenant: Tenant, code: str, seconds: int = 5) -> None:
    """Lets it have asked so many seconds earlier."""
    await tenant.deployment.services.database.write(
        lambda tx: tx.execute(
            "UPDATE logins SET polled_at = polled_at - $2 WHERE code_hash = $1",
            hash_token(code),
            seconds * SECOND,
        )
    )


async def open_ones(tenant: Tenant) -> int:
    """How many wait."""
    return await tenant.deployment.services.database.read(
        lambda tx: tx.count("SELECT count(*) FROM logins WHERE token_id IS NULL")
    )


async def test_a_program_whose_code_somebody_types_is_given_a_token(tenant: Tenant) -> None:
    await into_both(tenant)
    waits = await begun(tenant, other={"expires_in": "3600"})
    assert waits.status_code == 200, waits.text
    said = waits.json()
    assert said["verification_uri"] == f"{SERVICE}/app/settings/device"
    assert (said["expires_in"], said["interval"]) == (600, 5)
    assert waits.headers["cache-control"] == "no-store"
    assert (await polled(tenant, said["device_code"])).json()["error"] == "authorization_pending"
    session = await session_of(tenant, "plain")
    typed = said["user_code"].lower().replace("-", " ")
    shown = (await act(tenant, session, "show", {"user-code": typed})).json()["data"]["attributes"]
    assert shown["user-code"] == said["user_code"]
    assert (shown["host"], shown["address"]) == ("build-7", "198.51.100.7")
    assert shown["redirect-uri"] is None
    assert (await act(tenant, session, "approve", {"user-code": typed})).status_code == 200
    made = (await polled(tenant, said["device_code"])).json()
    assert 0 < made["expires_in"] <= 3600
    organizations = tenant.organization, tenant.other_organization
    found = [
        await status_of(tenant, made["access_token"], f"/organizations/{name}")
        for name in organizations
    ]
    assert found == [200, 404]
    assert await tenant.deployment.audit_holds()


async def test_who_has_approved_a_code_hears_so_again_and_nobody_else_does(tenant: Tenant) -> None:
    """Whose answer was lost was told that no program waits, while theirs had its token."""
    said = (await begun(tenant)).json()
    session, other = await session_of(tenant, "plain"), await session_of(tenant, "writer")
    code = {"user-code": said["user_code"]}
    first = await act(tenant, session, "approve", code)
    assert first.status_code == 200
    unknown = await act(tenant, other, "approve", {"user-code": "BBBBB-BBBBB"})
    again = await act(tenant, session, "approve", code)
    assert (again.status_code, again.json()) == (200, first.json())
    refused = await act(tenant, other, "approve", code)
    (told,), (of_none,) = (one.json()["errors"] for one in (refused, unknown))
    assert told | {"id": ""} == of_none | {"id": ""}
    assert (await polled(tenant, said["device_code"])).status_code == 200
    assert (await act(tenant, session, "approve", code)).status_code == 200


async def test_no_link_has_a_code(tenant: Tenant) -> None:
    """Whoever sends somebody to the page cannot have them there with a code of theirs."""
    said = (await begun(tenant)).json()
    assert "verification_uri_complete" not in said
    assert "?" not in said["verification_uri"]


async def test_a_code_that_somebody_else_sent_gives_nothing_once_it_is_refused(
    tenant: Tenant,
) -> None:
    said = (await begun(tenant, "203.0.113.66")).json()
    session = await session_of(tenant, "owner")
    shown = await act(tenant, session, "show", {"user-code": said["user_code"]})
    assert shown.json()["data"]["attributes"]["address"] == "203.0.113.66"
    mistyped = {"user-code": said["user_code"], "no-such": 1, "host": 5}
    for action in ("show", "approve", "deny"):
        assert faults(await act(tenant, session, action, mistyped)) == [
            ("422", "unknown_attribute", "/data/attributes/no-such"),
            ("422", "wrong_type", "/data/attributes/host"),
        ]
    # To look at it approves nothing, and a mistyped document refuses nothing.
    assert (await polled(tenant, said["device_code"])).json()["error"] == "authorization_pending"
    assert (await act(tenant, session, "deny", {"user-code": said["user_code"]})).status_code == 204
    assert (await polled(tenant, said["device_code"])).json()["error"] == "access_denied"
    again = await act(tenant, session, "approve", {"user-code": said["user_code"]})
    assert again.status_code == 422
    assert (await polled(tenant, said["device_code"])).json()["error"] == "access_denied"


async def test_an_address_that_the_trail_leaves_out_is_kept_with_no_code(tenant: Tenant) -> None:
    for kept in (True, False):
        said = (await begun(tenant, "203.0.113.66", kept=kept)).json()
        login = await tenant.deployment.services.database.read(
            partial(logins.find, by="code_hash", value=hash_token(said["device_code"]))
        )
        assert login is not None
        assert login.address == ("203.0.113.66" if kept else None)
        assert "203.0.113" not in login.network


async def test_a_program_that_asks_too_soon_is_told_to_slow_down(tenant: Tenant) -> None:
    code = (await begun(tenant)).json()["device_code"]
    assert (await asked(tenant, code)).json()["error"] == "authorization_pending"
    for _ in range(3):
        assert (await asked(tenant, code)).json()["error"] == "slow_down"
    # What was refused so counts for nothing: it has waited since it was last heard.
    await patient(tenant, code)
    assert (await asked(tenant, code)).json()["error"] == "authorization_pending"


async def test_a_node_knows_when_another_was_asked(tenant: Tenant) -> None:
    said = (await begun(tenant)).json()
    here = tenant.deployment
    assert (await asked(tenant, said["device_code"])).json()["error"] == "authorization_pending"
    async with open_deployment(here.config.url, keys=here.keys) as beside:
        there = Tenant(**{**vars(tenant), "deployment": beside})
        assert (await asked(there, said["device_code"])).json()["error"] == "slow_down"
        code = {"user-code": said["user_code"]}
        session = await session_of(tenant, "writer")
        assert (await act(there, session, "approve", code)).status_code == 200
        assert (await polled(tenant, said["device_code"])).status_code == 200


async def test_a_code_is_good_for_ten_minutes_and_for_one_token(tenant: Tenant) -> None:
    session = await session_of(tenant, "writer")
    late, said = (await begun(tenant)).json(), (await begun(tenant)).json()
    await tenant.deployment.services.database.write(
        lambda tx: tx.execute(
            "UPDATE logins SET expires_at = created_at WHERE code_hash = $1",
            hash_token(late["device_code"]),
        )
    )
    assert (await polled(tenant, late["device_code"])).json()["error"] == "expired_token"
    for action in ("show", "approve", "deny"):
        refused = await act(tenant, session, action, {"user-code": late["user_code"]})
        assert refused.json()["errors"][0]["source"]["pointer"] == "/data/attributes/user-code"
    approved = {"user-code": said["user_code"]}
    for _ in range(2):  # as whoever has lost the answer
        assert (await act(tenant, session, "approve", approved)).status_code == 200
    first = (await polled(tenant, said["device_code"])).json()["access_token"]
    again = (await polled(tenant, said["device_code"])).json()  # as whose answer was lost
    assert again["error"] == "invalid_grant"
    assert again["error_description"].endswith("Run teamvars login again.")
    assert await status_of(tenant, first) == 401


async def test_a_session_that_ends_after_it_approved_a_code_gives_nothing(tenant: Tenant) -> None:
    said = (await begun(tenant)).json()
    session = await session_of(tenant, "writer")
    assert (await act(tenant, session, "approve", {"user-code": said["user_code"]})).is_success
    await end(tenant, session)
    assert (await polled(tenant, said["device_code"])).json()["error"] == "invalid_grant"


@pytest.mark.parametrize("is_session", [False, True], ids=["pasted", "session"])
async def test_a_user_who_is_disabled_after_they_approved_a_code_gives_nothing(
    tenant: Tenant, is_session: bool
) -> None:
    said = (await begun(tenant)).json()
    by = await session_of(tenant, "writer") if is_session else tenant.tokens["writer"]
    assert (await act(tenant, by, "approve", {"user-code": said["user_code"]})).is_success
    accounts, user = tenant.deployment.services.accounts, tenant.users["writer"]
    await accounts.disable(operator(), user, Disabling())
    refused = await polled(tenant, said["device_code"])
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")
    await accounts.enable(operator(), user)
    later = await polled(tenant, said["device_code"])
    assert later.status_code == (400 if is_session else 200)


async def test_of_two_who_approve_a_code_at_once_one_is_heard(tenant: Tenant) -> None:
    said = (await begun(tenant)).json()
    both = await asyncio.gather(
        *(
            act(tenant, tenant.tokens[who], "approve", {"user-code": said["user_code"]})
            for who in ("writer", "reader")
        )
    )
    assert sorted(one.status_code for one in both) == [200, 422]


async def test_a_code_that_was_brought_to_a_browser_is_none_of_these(tenant: Tenant) -> None:
    """And the other way round: what has no challenge is redeemed by no verifier."""
    said = (await begun(tenant)).json()
    session = await session_of(tenant, "writer")
    assert (await act(tenant, session, "approve", {"user-code": said["user_code"]})).is_success
    other = {
        "grant_type": "authorization_code",
        "client_id": CLIENT,
        "code": said["device_code"],
        "redirect_uri": "http://127.0.0.1:1/callback",
        "code_verifier": "v" * 43,
    }
    assert (await post(tenant, "token", other)).json()["error"] == "invalid_grant"
    assert (await polled(tenant, said["device_code"])).status_code == 200


@pytest.mark.parametrize(
    ("other", "error"),
    [
        ({"client_id": "another"}, "invalid_client"),
        ({"client_id": None, "host": None}, "invalid_request"),
        ({"host": "lap top"}, "invalid_request"),
        ({"expires_in": "soon"}, "invalid_request"),
        ({"expires_in": "0"}, "invalid_request"),
        ({"expires_in": "9" * 20}, "invalid_request"),
        ({"host": "h" * 5000}, "invalid_request"),
    ],
)
async def test_what_no_program_asks_is_refused(
    tenant: Tenant, other: dict[str, str | None], error: str
) -> None:
    refused = await begun(tenant, other=other)
    assert refused.json()["error"] == error
    assert (await begun(tenant)).status_code == 200


async def test_a_flood_of_strangers_keeps_nobody_elsewhere_out(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of those that wait there is a bound, and whoever floods it drives out their own."""
    monkeypatch.setattr(logins, "MOST_OPEN", 12)
    monkeypatch.setattr(logins, "_LEVELED_AT_ONCE", 3)
    database = tenant.deployment.services.database
    await database.write(lambda tx: tx.execute("DELETE FROM logins"))
    honest = [(await begun(tenant, f"198.51.100.{n}")).json() for n in range(3)]
    flood = [(await begun(tenant, "203.0.113.66")).json() for _ in range(40)]
    assert all("device_code" in one for one in flood)
    assert await open_ones(tenant) <= 12
    # As many networks as it may have of IPv6 count as one where they are one.
    for n in range(40):
        await begun(tenant, f"2001:db8::{n:x}")
    assert await open_ones(tenant) <= 12
    session = await session_of(tenant, "writer")
    for one in honest:
        assert (await act(tenant, session, "approve", {"user-code": one["user_code"]})).is_success
        assert (await polled(tenant, one["device_code"])).status_code == 200
    assert (await polled(tenant, flood[0]["device_code"])).json()["error"] == "invalid_grant"


async def test_all_that_strangers_begin_meanwhile_is_one_transaction(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else whoever floods has each writer wait for many."""
    database = tenant.deployment.services.database
    write, writes = database.write, []
    has_begun, goes_on = asyncio.Event(), asyncio.Event()

    async def slow(body: Body[Any], *, subject: str | None = None) -> Any:
        writes.append(body)
        has_begun.set()
        await goes_on.wait()
        return await write(body, subject=subject)

    monkeypatch.setattr(database, "write", slow)
    first = asyncio.ensure_future(begun(tenant))
    await has_begun.wait()
    others = [asyncio.ensure_future(begun(tenant, f"203.0.113.{n}")) for n in range(7)]
    for _ in range(1000):
        await asyncio.sleep(0)
    goes_on.set()
    answers = [one.json() for one in await asyncio.gather(first, *others)]
    assert len(writes) == 2
    assert len({one["user_code"] for one in answers}) == 8
    for one in answers:
        assert (await polled(tenant, one["device_code"])).json()["error"] == "authorization_pending"


async def test_of_two_that_ask_at_once_with_one_code_the_second_is_too_soon(
    tenant: Tenant,
) -> None:
    code = (await begun(tenant)).json()["device_code"]
    told = await asyncio.gather(*(asked(tenant, code) for _ in range(3)))
    errors = sorted(one.json()["error"] for one in told)
    assert errors == ["authorization_pending", "slow_down", "slow_down"]


async def test_what_somebody_has_approved_no_flood_drives_out(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logins, "MOST_OPEN", 2)
    said = (await begun(tenant, "203.0.113.66")).json()
    session = await session_of(tenant, "writer")
    assert (await act(tenant, session, "approve", {"user-code": said["user_code"]})).is_success
    for _ in range(6):
        await begun(tenant, "203.0.113.66")
    assert (await polled(tenant, said["device_code"])).status_code == 200


async def altered(tenant: Tenant, code: str, column: str, value: object) -> None:
    """Changes the row of a program behind the service's back."""
    await tenant.deployment.services.database.write(
        lambda tx: tx.execute(
            f"UPDATE logins SET {column} = $1 WHERE code_hash = $2",
            value,
            hash_token(code),
        )
    )


@ON_SQLITE  # which takes everything into every column
@pytest.mark.parametrize(
    ("column", "value", "answer"),
    [
        ("lifetime", "long", "authorization_pending"),
        ("expires_at", "never", "expired_token"),
        ("expires_at", b"", "expired_token"),
        ("polled_at", "lately", "slow_down"),
        ("host", b"\xff", "authorization_pending"),
    ],
    ids=str,
)
async def test_no_program_waits_for_ever_in_a_row_that_was_altered(
    tenant: Tenant, column: str, value: object, answer: str
) -> None:
    session, begun_ = await session_of(tenant, "writer"), (await begun(tenant)).json()
    await altered(tenant, begun_["device_code"], column, value)
    assert (await asked(tenant, begun_["device_code"])).json()["error"] == answer
    found = await act(tenant, session, "deny", {"user-code": begun_["user_code"]})
    assert found.is_success is (answer != "expired_token")
    assert (await asked(tenant, begun_["device_code"])).status_code == 400


async def test_what_was_approved_and_has_lost_its_end_gives_nothing(tenant: Tenant) -> None:
    session, begun_ = await session_of(tenant, "writer"), (await begun(tenant)).json()
    approval = await act(tenant, session, "approve", {"user-code": begun_["user_code"]})
    assert approval.status_code == 200, approval.text
    await altered(tenant, begun_["device_code"], "ends_at", None)
    assert (await asked(tenant, begun_["device_code"])).json()["error"] == "invalid_grant"


@ON_SQLITE
async def test_a_session_that_nobody_can_read_gives_no_token(tenant: Tenant) -> None:
    session = await session_of(tenant, "writer")
    id_ = await id_of(tenant, session)
    await tenant.deployment.services.database.write(
        lambda tx: tx.execute("UPDATE sessions SET longest = 'long' WHERE token_id = $1", id_)
    )
    path = f"/users/{tenant.users['writer']}/authentication-tokens"
    document = {"data": {"type": "authentication-tokens", "attributes": {}}}
    headers = {"Authorization": f"Bearer {session}"}
    found = await tenant.call(None, "POST", path, document, headers)
    assert faults(found) == [("422", "invalid_value", "/data/attributes/expired-at")]
