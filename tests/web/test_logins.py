"""A program beside a browser is given a token (RFC 8252), and what whoever attacks it gets. Each
attack has beside it the same without the attack, which succeeds.
"""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from structlog.testing import capture_logs

from teamvars.decisions.users import Disabling
from teamvars.domain.audit import AuditFilter
from teamvars.domain.errors import OUTCOME_UNKNOWN, Refusal
from teamvars.domain.times import DAY
from teamvars.security.tokens import challenge_of, hash_token, is_token
from teamvars.services.logins import Asked, Logins
from teamvars.storage import logins
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.app import Application
from teamvars.web.logins import page_routes
from tests.services.jobs import Job, approve, propose
from tests.support.deployment import open_deployment, operator
from tests.support.engines import ON_SQLITE
from tests.support.in_process import InProcess
from tests.support.jobs import SERVICE
from tests.support.logging_in import (
    ORIGIN,
    REDIRECT,
    Program,
    act,
    end,
    id_of,
    post,
    session_of,
    status_of,
)
from tests.support.signing_in import into_both
from tests.support.tenant import Tenant

AUTHORIZE = {
    "response_type": "code",
    "client_id": "teamvars-cli",
    "redirect_uri": REDIRECT,
    "code_challenge": challenge_of("v" * 43),
    "code_challenge_method": "S256",
    "state": "s" * 43,
    "host": "laptop",
}


async def test_a_program_that_somebody_approves_is_given_a_token_of_theirs(tenant: Tenant) -> None:
    session, program = await session_of(tenant, "writer"), Program(tenant)
    code = await program.approved(session)
    answer = await program.redeemed(code)
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    said = answer.json()
    assert said["token_type"] == "Bearer"
    assert 3600 < said["expires_in"] <= DAY // 1_000_000
    assert said["access_token"].startswith("tvu_")
    assert is_token(said["access_token"])
    vars_ = tenant.vars_path()
    assert await status_of(tenant, said["access_token"], vars_) == 200
    assert await tenant.deployment.audit_holds()


async def test_it_is_listed_with_where_it_was_made_and_by_whose_session(tenant: Tenant) -> None:
    session, program = await session_of(tenant, "writer"), Program(tenant)
    token = (await program.redeemed(await program.approved(session))).json()["access_token"]
    path = f"/users/{tenant.users['writer']}/authentication-tokens"
    listed = (await tenant.call("writer", "GET", path)).json()["data"]
    (shown,) = [one for one in listed if one["id"] == await id_of(tenant, token)]
    assert shown["attributes"]["description"] == "teamvars login on laptop from 127.0.0.1"
    assert shown["relationships"]["created-by"]["data"]["id"] == tenant.users["writer"]
    wanted = AuditFilter(subject_ids=[shown["id"]])
    (made,) = await tenant.deployment.services.audit.newest(2, wanted)
    assert (made.action, made.actor_id) == ("token.create", tenant.users["writer"])
    assert made.token_id == await id_of(tenant, session)


async def test_it_reaches_as_far_as_the_session_does(tenant: Tenant) -> None:
    await into_both(tenant)
    session, program = await session_of(tenant, "plain"), Program(tenant)
    token = (await program.redeemed(await program.approved(session))).json()["access_token"]
    there, elsewhere = (
        f"/organizations/{name}" for name in (tenant.organization, tenant.other_organization)
    )
    assert await status_of(tenant, token, there) == 200
    assert await status_of(tenant, token, elsewhere) == 404
    # And so does what is approved with that one.
    again = Program(tenant)
    made = (await again.redeemed(await again.approved(token))).json()["access_token"]
    assert await status_of(tenant, made, there) == 200
    assert await status_of(tenant, made, elsewhere) == 404
    wide = Program(tenant)
    code = await wide.approved(tenant.tokens["plain"])  # what their own token may
    made = (await wide.redeemed(code)).json()["access_token"]
    assert await status_of(tenant, made, elsewhere) == 200


async def test_what_somebody_is_asked_says_where_the_browser_goes_and_until_when(
    tenant: Tenant,
) -> None:
    session, program = await session_of(tenant, "writer"), Program(tenant)
    shown = (await act(tenant, session, "show", program.asks(expires_in=3600))).json()["data"]
    attributes = shown["attributes"]
    assert attributes["host"] == "laptop"
    ends = datetime.fromisoformat(attributes["expires-at"])
    assert timedelta(0) < ends - datetime.now(UTC) < timedelta(hours=2)  # and no day
    refusing = urlsplit(attributes["redirect-uri"])
    assert attributes["redirect-uri"].startswith(f"{REDIRECT}?")
    assert parse_qs(refusing.query) == {
        "error": ["access_denied"],
        "state": [program.state],
        "iss": [SERVICE],
    }
    approved = await act(tenant, session, "approve", program.asks(expires_in=3600))
    bringing = parse_qs(urlsplit(approved.json()["data"]["attributes"]["redirect-uri"]).query)
    assert set(bringing) == {"code", "state", "iss"}
    made = (await program.redeemed(bringing["code"][0])).json()
    assert 0 < made["expires_in"] <= 3600


async def test_nobody_is_asked_for_more_than_the_operator_allows(tenant: Tenant) -> None:
    session, program = await session_of(tenant, "writer", longest=DAY), Program(tenant)
    for action in ("show", "approve"):
        refused = await act(tenant, session, action, program.asks(expires_in=2 * 86_400))
        assert refused.status_code == 422
        (error,) = refused.json()["errors"]
        assert error["source"]["pointer"] == "/data/attributes/expires-in"
        assert "at the latest" in error["detail"]
    assert (await act(tenant, session, "approve", program.asks(expires_in=80_000))).is_success


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        ({"redirect_uri": "http://evil.test:80/callback"}, ["redirect-uri"]),
        ({"redirect_uri": "http://localhost:49152/callback"}, ["redirect-uri"]),
        ({"redirect_uri": "https://127.0.0.1:49152/callback"}, ["redirect-uri"]),
        ({"redirect_uri": "http://127.0.0.1:49152@evil.test/callback"}, ["redirect-uri"]),
        ({"redirect_uri": "http://127.0.0.1.evil.test:80/callback"}, ["redirect-uri"]),
        ({"redirect_uri": "http://127.0.0.1:49152/callback?to=evil"}, ["redirect-uri"]),
        ({"redirect_uri": "http://127.0.0.1:49152/callback\n"}, ["redirect-uri"]),
        ({"redirect_uri": "http://127.0.0.1:70000/callback"}, ["redirect-uri"]),
        ({"redirect_uri": "http://127.0.0.1:49152/elsewhere"}, ["redirect-uri"]),
        ({"redirect_uri": "javascript:alert(1)"}, ["redirect-uri"]),
        ({"code_challenge": "short"}, ["code-challenge"]),
        ({"code_challenge": None, "state": "1"}, ["code-challenge", "state"]),
        ({"host": "lap\u202etop"}, ["host"]),
        ({"host": None, "expires_in": 0}, ["expires-in", "host"]),
        ({"expires_in": 10**12}, ["expires-in"]),
        ({"expires_in": "1"}, ["expires-in"]),
        ({"scope": "all"}, ["scope"]),
    ],
)
@ON_SQLITE
async def test_all_that_is_wrong_with_what_a_program_asks_is_told_at_once(
    tenant: Tenant, changed: dict[str, Any], names: list[str]
) -> None:
    program = Program(tenant)
    for action in ("show", "approve"):
        refused = await act(tenant, tenant.tokens["writer"], action, program.asks(**changed))
        assert refused.status_code == 422
        pointers = {error["source"]["pointer"] for error in refused.json()["errors"]}
        assert sorted(pointers) == [f"/data/attributes/{name}" for name in names]
    assert (await act(tenant, tenant.tokens["writer"], "show", program.asks())).is_success


@ON_SQLITE
async def test_a_program_may_listen_by_the_newer_protocol(tenant: Tenant) -> None:
    asked = Program(tenant).asks(redirect_uri="http://[::1]:1/callback")
    assert (await act(tenant, tenant.tokens["writer"], "show", asked)).is_success


@pytest.mark.parametrize("who", ["owners-token", "organization-token"])
async def test_nobody_but_users_approves(tenant: Tenant, who: str) -> None:
    program = Program(tenant)
    for action in ("show", "approve", "deny"):
        refused = await act(tenant, tenant.tokens[who], action, program.asks())
        assert refused.status_code == 403
    assert (await act(tenant, "tvu_none", "show", program.asks())).status_code == 401


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_verifier": "w" * 43}, "invalid_grant"),
        ({"redirect_uri": "http://127.0.0.1:1/callback"}, "invalid_grant"),
        ({"code": "c" * 43}, "invalid_grant"),
        ({"client_id": "another"}, "invalid_client"),
        ({"client_id": None}, "invalid_request"),
        ({"code_verifier": None, "code": None}, "invalid_request"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        (
            {"grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": "code"},
            "invalid_grant",
        ),
    ],
)
async def test_a_code_is_good_for_whoever_has_asked_for_it_alone(
    tenant: Tenant, changed: dict[str, str | None], error: str
) -> None:
    program = Program(tenant)
    code = await program.approved(await session_of(tenant, "writer"))
    if changed.get("device_code"):
        changed = {**changed, "device_code": code}
    refused = await program.redeemed(code, **changed)
    assert (refused.status_code, refused.json()["error"]) == (400, error)
    assert "access_token" not in refused.json()
    assert (await program.redeemed(code)).status_code == 200


async def test_a_code_of_somebody_else_cannot_be_injected(tenant: Tenant) -> None:
    """An attacker approves their own program, and has the code brought to another's."""
    attackers, program = Program(tenant), Program(tenant)
    code = await attackers.approved(await session_of(tenant, "reader"))
    refused = await program.redeemed(code)
    assert refused.json()["error"] == "invalid_grant"
    assert (await attackers.redeemed(code)).status_code == 200


async def test_a_code_is_good_once_and_ends_what_it_gave_when_it_is_shown_again(
    tenant: Tenant,
) -> None:
    program = Program(tenant)
    code = await program.approved(await session_of(tenant, "writer"))
    token = (await program.redeemed(code)).json()["access_token"]
    # Who has the code alone ends nothing.
    stolen = await program.redeemed(code, code_verifier="w" * 43)
    assert stolen.json()["error"] == "invalid_grant"
    assert await status_of(tenant, token) == 200
    again = await program.redeemed(code)
    assert again.json()["error"] == "invalid_grant"
    assert await status_of(tenant, token) == 401
    assert (await program.redeemed(code)).json()["error"] == "invalid_grant"
    assert await tenant.deployment.audit_holds()


async def test_of_two_who_show_a_code_at_once_not_both_have_a_token(tenant: Tenant) -> None:
    program = Program(tenant)
    code = await program.approved(await session_of(tenant, "writer"))
    both = await asyncio.gather(program.redeemed(code), program.redeemed(code))
    assert sorted(one.status_code for one in both) == [200, 400]


async def test_a_code_is_good_for_a_minute(tenant: Tenant) -> None:
    program = Program(tenant)
    session = await session_of(tenant, "writer")
    late = await program.approved(session)
    await age(tenant, late)
    assert (await program.redeemed(late)).json()["error"] == "invalid_grant"
    punctual = Program(tenant)
    assert (await punctual.redeemed(await punctual.approved(session))).status_code == 200


async def test_a_session_that_ends_before_the_code_is_shown_gives_nothing(tenant: Tenant) -> None:
    session, program = await session_of(tenant, "writer"), Program(tenant)
    code = await program.approved(session)
    await end(tenant, session)
    assert (await program.redeemed(code)).json()["error"] == "invalid_grant"
    session, program = await session_of(tenant, "writer"), Program(tenant)
    assert (await program.redeemed(await program.approved(session))).status_code == 200


async def test_a_session_that_idles_before_the_code_is_shown_gives_nothing(tenant: Tenant) -> None:
    session, program = await session_of(tenant, "writer"), Program(tenant)
    code = await program.approved(session)
    await tenant.deployment.services.database.write(
        lambda tx: tx.execute(
            "UPDATE tokens SET expires_at = created_at WHERE hash = $1", hash_token(session)
        )
    )
    assert (await program.redeemed(code)).json()["error"] == "invalid_grant"


@pytest.mark.parametrize("is_session", [False, True], ids=["pasted", "session"])
async def test_a_user_who_is_disabled_before_the_code_is_shown_is_given_nothing(
    tenant: Tenant, is_session: bool
) -> None:
    """Nor, where they approved it in a session, once they are enabled: that has ended for good."""
    program = Program(tenant)
    by = await session_of(tenant, "writer") if is_session else tenant.tokens["writer"]
    code = await program.approved(by)
    accounts, user = tenant.deployment.services.accounts, tenant.users["writer"]
    await accounts.disable(operator(), user, Disabling())
    refused = await program.redeemed(code)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")
    await accounts.enable(operator(), user)
    assert (await program.redeemed(code)).status_code == (400 if is_session else 200)


async def test_whoever_approves_again_brings_another_code_and_nobody_else_does(
    tenant: Tenant,
) -> None:
    """The browser may not have come back; an attacker's word would be that of somebody else."""
    session, program = await session_of(tenant, "writer"), Program(tenant)
    former = await program.approved(session)
    refused = await act(tenant, tenant.tokens["reader"], "approve", program.asks())
    assert refused.status_code == 422
    code = await program.approved(session)
    assert (await program.redeemed(former)).json()["error"] == "invalid_grant"
    assert (await program.redeemed(code)).status_code == 200
    assert (await act(tenant, session, "approve", program.asks())).status_code == 422


async def test_two_who_approve_at_once_are_not_both_heard(tenant: Tenant) -> None:
    program = Program(tenant)
    both = await asyncio.gather(
        *(
            act(tenant, tenant.tokens[who], "approve", program.asks())
            for who in ("writer", "reader")
        )
    )
    assert sorted(one.status_code for one in both) == [200, 422]


async def test_another_node_redeems_what_one_has_approved(tenant: Tenant) -> None:
    program = Program(tenant)
    code = await program.approved(await session_of(tenant, "writer"))
    here = tenant.deployment
    async with open_deployment(here.config.url, keys=here.keys) as beside:
        there = Program(Tenant(**{**vars(tenant), "deployment": beside}), program.verifier)
        assert (await there.redeemed(code)).status_code == 200
        assert (await program.redeemed(code)).json()["error"] == "invalid_grant"


async def test_a_token_is_revoked_by_itself(tenant: Tenant) -> None:
    session, own = await session_of(tenant, "writer"), tenant.tokens["writer"]
    for token in (session, own):
        assert await status_of(tenant, token) == 200
        ended = await post(tenant, "revoke", {"token": token, "token_type_hint": "access_token"})
        assert (ended.status_code, ended.content) == (200, b"")
        assert await status_of(tenant, token) == 401
        # As of one that never was, nobody is told whether there was any.
        assert (await post(tenant, "revoke", {"token": token})).status_code == 200
    assert (await post(tenant, "revoke", {"token": "nonsense"})).status_code == 200
    assert (await post(tenant, "revoke", {})).json()["error"] == "invalid_request"
    for who in ("writers-token", "organization-token"):
        refused = await post(tenant, "revoke", {"token": tenant.tokens[who]})
        assert refused.json()["error"] == "unsupported_token_type"
    vars_ = tenant.vars_path()
    assert await status_of(tenant, tenant.tokens["writers-token"], vars_) == 200
    assert await tenant.deployment.audit_holds()


async def test_nobody_is_told_that_a_token_of_a_job_was_revoked_which_goes_on(
    tenant: Tenant,
) -> None:
    await tenant.make_variable()
    await approve(tenant, await propose(tenant))
    job = Job.new(tenant)
    issued = await job.exchange()
    refused = await post(tenant, "revoke", {"token": issued.token})
    assert (refused.status_code, refused.json()["error"]) == (400, "unsupported_token_type")
    assert (await job.deliver(issued))[1]


async def test_secrets_of_a_login_are_in_no_line_of_the_log_and_in_no_row(tenant: Tenant) -> None:
    with capture_logs() as lines:
        program = Program(tenant)
        code = await program.approved(await session_of(tenant, "writer"))
        token = (await program.redeemed(code)).json()["access_token"]
        await program.redeemed(code)
    rows = await tenant.deployment.services.database.read(
        lambda tx: tx.fetch("SELECT * FROM logins")
    )
    for secret in (code, program.verifier, token):
        assert secret not in str(lines)
        assert secret not in str([list(row) for row in rows])


async def test_logins_that_are_over_are_swept_and_others_stay(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them: one user begins more in a minute than are removed at once."""
    monkeypatch.setattr(logins, "_SWEPT_AT_ONCE", 1)
    session, program, other = await session_of(tenant, "writer"), Program(tenant), Program(tenant)
    over, waits = await program.approved(session), await other.approved(session)
    more = await Program(tenant).approved(session)
    for code in (over, more):
        await age(tenant, code, seconds=3600)
    await tenant.deployment.services.logins.forget_expired()
    assert [await there(tenant, code) for code in (over, more)] == [None, None]
    assert await there(tenant, waits) is not None


@ON_SQLITE
async def test_the_page_that_a_program_opens_is_the_consoles_at_the_public_address(
    tenant: Tenant,
) -> None:
    answer = await authorize(tenant, {**AUTHORIZE, "expires_in": "60", "scope": "all"})
    assert answer.status_code == 302
    place = urlsplit(answer.headers["location"])
    assert f"{place.scheme}://{place.netloc}{place.path}" == f"{SERVICE}/app/settings/login"
    said = parse_qs(place.query)
    assert said == {
        name: [AUTHORIZE[name]] for name in ("code_challenge", "redirect_uri", "state", "host")
    } | {"expires_in": ["60"]}
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"response_type": "token"}, "response_type is code."),
        ({"client_id": "<b>another"}, "client_id is teamvars-cli."),
        ({"code_challenge_method": "plain"}, "code_challenge_method is S256."),
        ({"code_challenge_method": None}, "code_challenge_method is S256."),
    ],
)
@ON_SQLITE
async def test_a_page_that_is_asked_for_anything_else_leads_nowhere(
    tenant: Tenant, changed: dict[str, str | None], word: str
) -> None:
    refused = await authorize(tenant, AUTHORIZE | changed)
    assert refused.status_code == 400
    assert word in refused.text
    assert "another" not in refused.text
    assert "frame-ancestors 'none'" in refused.headers["content-security-policy"]
    assert "location" not in refused.headers


@ON_SQLITE
async def test_a_parameter_that_is_said_twice_leads_nowhere(tenant: Tenant) -> None:
    twice = await authorize(tenant, AUTHORIZE, "&state=another")
    assert (twice.status_code, "more than once" in twice.text) == (400, True)


async def test_without_a_public_address_nobody_approves(tenant: Tenant) -> None:
    unknown = Logins(tenant.deployment.services.logins._house, None)
    refused = await authorize(tenant, AUTHORIZE, logins=unknown)
    assert (refused.status_code, "no public address" in refused.text) == (400, True)
    asked = Asked("laptop", None, None, "198.51.100.7")
    with pytest.raises(Refusal, match="invalid_request"):
        await unknown.begin(asked)


async def authorize(
    tenant: Tenant, said: dict[str, Any], more: str = "", logins: Logins | None = None
) -> httpx.Response:
    """What a browser is answered that a program has opened."""
    query = urlencode({name: one for name, one in said.items() if one is not None}) + more
    services = tenant.deployment.services
    pages = page_routes(logins or services.logins)
    application = Application(pages, services.sessions, ClientAddresses())
    async with InProcess(application, base=ORIGIN) as client:
        return await client.get(f"/oauth/authorize?{query}")


async def age(tenant: Tenant, code: str, seconds: int = 0) -> None:
    """Lets a code have expired so many seconds ago."""
    now = tenant.deployment.services.database.now() - seconds * 1_000_000
    await tenant.deployment.services.database.write(
        lambda tx: tx.execute(
            "UPDATE logins SET expires_at = $2 WHERE code_hash = $1", hash_token(code), now
        )
    )


async def there(tenant: Tenant, code: str) -> Any:
    """The row of a code, if it is still there."""
    return await tenant.deployment.services.database.read(
        lambda tx: tx.fetch_one("SELECT id FROM logins WHERE code_hash = $1", hash_token(code))
    )


async def test_a_program_is_told_where_nobody_knows_whether_its_token_was_made(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost(*_: object) -> None:
        raise Refusal(OUTCOME_UNKNOWN)

    program = Program(tenant)
    code = await program.approved(await session_of(tenant, "plain"))
    monkeypatch.setattr(Logins, "_make", lost)
    answer = await program.redeemed(code)
    assert (answer.status_code, answer.json()["error"]) == (503, "outcome_unknown")
    assert "retry-after" not in answer.headers
