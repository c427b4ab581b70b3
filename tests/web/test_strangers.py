"""Who may not write waits for no writer, whoever has locked what."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import apsw
import asyncpg
import pytest
from msgspec import structs

from teamvars.domain.logins import CLIENT
from teamvars.security.tokens import RUNNER, new_session, new_token
from teamvars.storage.database import Transaction
from teamvars.storage.engines.connections import CONNECTIONS, Lane
from teamvars.web.http import admission
from tests.services.calls import refusal_of
from tests.services.jobs import Job, approve, propose
from tests.support.deployment import Deployment
from tests.support.engines import ON_POSTGRES
from tests.support.logging_in import BY_DEVICE, post
from tests.support.patience import HANGS, until
from tests.support.signing_in import OWN, SESSION_COOKIE, Scene
from tests.support.tenant import Tenant, linkage_document, variable_document


@asynccontextmanager
async def locked_by_another(deployment: Deployment) -> AsyncIterator[None]:
    """While this lasts another process writes: to all streams, or to the file that has them."""
    url = deployment.config.url
    if url.startswith("sqlite"):
        file = apsw.Connection(url.removeprefix("sqlite:///"))
        file.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            file.execute("ROLLBACK")
        return
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await connection.execute("SELECT id FROM streams FOR UPDATE")
            yield
    finally:
        await connection.close()


def with_forged(tenant: Tenant) -> Tenant:
    """The same, with a token that nobody has."""
    return replace(tenant, tokens={**tenant.tokens, "forged": new_token("user")})


STATUSES = {"forged": 401, "outsider": 404, "plain": 404, "reader": 403}


@pytest.mark.parametrize("who", STATUSES)
async def test_who_may_not_write_variables_is_refused_while_another_has_everything_locked(
    tenant: Tenant, who: str
) -> None:
    made = await tenant.make_variable()
    tenant, path = with_forged(tenant), tenant.vars_path()
    async with locked_by_another(tenant.deployment):
        waiting = asyncio.ensure_future(
            tenant.call("writer", "POST", path, variable_document(key="of-the-writer"))
        )
        answers = await asyncio.gather(
            tenant.call(who, "POST", path, variable_document()),
            tenant.call(who, "PATCH", f"{path}/{made['id']}", variable_document()),
            tenant.call(who, "DELETE", f"{path}/{made['id']}"),
            tenant.call(who, "DELETE", "/workspaces/ws-none/vars/var-none"),
        )
        statuses = [answer.status_code for answer in answers]
        assert statuses == [STATUSES[who]] * 3 + [401 if who == "forged" else 404]
        assert not waiting.done(), "the control waits"
    assert (await waiting).status_code == 201


@ON_POSTGRES
async def test_who_might_write_until_just_now_waits_for_no_lock_either(tenant: Tenant) -> None:
    path = tenant.vars_path()
    made = await tenant.call("writer", "POST", path, variable_document())
    assert made.status_code == 201
    team = f"/teams/{tenant.teams['writers']}/relationships/users"
    gone = await tenant.call("owner", "DELETE", team, linkage_document(tenant.users["writer"]))
    assert gone.status_code == 204
    async with locked_by_another(tenant.deployment):
        answer = await tenant.call("writer", "POST", path, variable_document(key="another"))
        assert answer.status_code == 404


@ON_POSTGRES
async def test_who_could_change_a_team_until_just_now_waits_for_no_lock_either(
    tenant: Tenant,
) -> None:
    added = linkage_document(tenant.users["plain"])
    made = await tenant.call("manager", "POST", tenant.linkage_path(), added)
    assert made.status_code == 204
    managers = tenant.linkage_path("managers")
    gone = await tenant.call("owner", "DELETE", managers, linkage_document(tenant.users["manager"]))
    assert gone.status_code == 204
    async with locked_by_another(tenant.deployment):
        answer = await tenant.call("manager", "DELETE", tenant.linkage_path(), added)
        assert answer.status_code == 403


@ON_POSTGRES
async def test_who_may_not_change_a_team_or_organization_waits_for_no_lock(tenant: Tenant) -> None:
    tenant = with_forged(tenant)
    members, team = tenant.linkage_path(), {"data": {"type": "teams", "attributes": {"name": "x"}}}
    workspace = {"data": {"type": "workspaces", "attributes": {"name": "x"}}}
    of_organization = f"/organizations/{tenant.organization}"
    async with locked_by_another(tenant.deployment):
        waiting = asyncio.ensure_future(
            tenant.call("owner", "POST", members, linkage_document(tenant.users["plain"]))
        )
        for who, status in {"forged": 401, "outsider": 404, "reader": 403}.items():
            answers = await asyncio.gather(
                tenant.call(who, "POST", members, linkage_document(tenant.users["plain"])),
                tenant.call(who, "POST", f"{of_organization}/teams", team),
                tenant.call(who, "POST", f"{of_organization}/workspaces", workspace),
                tenant.call(who, "DELETE", f"/teams/{tenant.teams['crew']}"),
            )
            assert [answer.status_code for answer in answers] == [status] * 4
        assert not waiting.done(), "the control waits"
    assert (await waiting).status_code == 204


@ON_POSTGRES
async def test_who_sees_anothers_invitation_waits_for_no_lock_to_accept_it(tenant: Tenant) -> None:
    path = f"/organization-memberships/{tenant.memberships['invited']}/actions/accept"
    async with locked_by_another(tenant.deployment):
        answer = await tenant.call("plain", "POST", path)
        assert answer.status_code == 403


async def test_who_has_no_token_of_a_job_waits_for_no_writer_though_the_values_are_kept(
    tenant: Tenant,
) -> None:
    await tenant.make_variable()
    await approve(tenant, await propose(tenant))
    job = Job.new(tenant)
    await job.deliver(await job.exchange())  # from now on they are kept
    issued = await job.exchange()
    async with locked_by_another(tenant.deployment):
        waiting = asyncio.ensure_future(job.deliver(issued))
        forged = structs.replace(issued, token=new_token(RUNNER))
        async with asyncio.timeout(HANGS):
            assert await refusal_of(job.deliver(forged)) == "unauthenticated"
        assert not waiting.done(), "the control waits"
    assert (await waiting)[1]


async def test_who_has_no_token_waits_for_no_writer_to_revoke_it(tenant: Tenant) -> None:
    some = [tenant.tokens[who] for who in ("writer", "reader", "manager", "plain")]
    assert len(some) >= CONNECTIONS[Lane.WRITES]  # on PostgreSQL they have all that there are
    async with locked_by_another(tenant.deployment):
        waiting = [asyncio.ensure_future(post(tenant, "revoke", {"token": one})) for one in some]
        async with asyncio.timeout(HANGS):
            answer = await post(tenant, "revoke", {"token": new_token("user")})
        assert answer.status_code == 200
        assert not any(one.done() for one in waiting), "the controls wait"
    assert [(await one).status_code for one in waiting] == [200] * len(some)


@asynccontextmanager
async def snapshots_held(deployment: Deployment) -> AsyncIterator[None]:
    """While this lasts others have all connections on which several statements see one snapshot."""
    over, begun = asyncio.Event(), asyncio.Semaphore(0)

    async def hold(_: Transaction) -> None:
        begun.release()
        await over.wait()

    read, most = deployment.services.database.read, CONNECTIONS[Lane.READS]
    holding = [asyncio.ensure_future(read(hold)) for _ in range(most)]
    for _ in holding:
        await begun.acquire()
    try:
        yield
    finally:
        over.set()
        await asyncio.gather(*holding)


@ON_POSTGRES
async def test_who_tries_tokens_holds_no_connection_that_others_need(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant = with_forged(scene.tenant)
    path = f"/organizations/{tenant.organization}/projects"
    assert (await tenant.call("forged", "GET", path)).status_code == 401
    monkeypatch.setattr(admission, "MOST_FAILURES", 1)
    ours = {"origin": OWN, "sec_fetch_site": "same-origin", "teamvars_session": ""}
    forged = f"Bearer {tenant.tokens['forged']}"
    async with snapshots_held(tenant.deployment), asyncio.timeout(HANGS):
        waiting = asyncio.ensure_future(tenant.call("owner", "GET", path))
        assert (await tenant.call("forged", "GET", path)).status_code == 429
        linking = await scene.browser().ask("POST", "/app/link", authorization=forged, **ours)
        assert linking.status_code == 401
        of_job = {"Authorization": f"Bearer {new_token(RUNNER)}"}
        names = f"/workspaces/{tenant.workspaces['network']}/actions/deliver"
        assert (await tenant.call(None, "GET", names, headers=of_job)).status_code == 429
        assert not waiting.done(), "the control waits"
    assert (await waiting).status_code == 200


async def ask_for_token(scene: Scene) -> int:
    code = {"grant_type": BY_DEVICE, "client_id": CLIENT, "device_code": "nobody's"}
    return (await post(scene.tenant, "token", code)).status_code


async def ask_for_session(scene: Scene) -> int:
    browser = scene.browser()
    browser.cookies[SESSION_COOKIE] = new_session()
    return (await browser.take_up()).status_code


@ON_POSTGRES
@pytest.mark.parametrize(
    ("table", "ask", "status"),
    [("logins", ask_for_token, 400), ("sessions", ask_for_session, 401)],
    ids=["codes", "cookies"],
)
async def test_all_strangers_who_come_at_once_have_one_connection(
    scene: Scene, table: str, ask: Callable[[Scene], Awaitable[int]], status: int
) -> None:
    tenant, most = scene.tenant, max(CONNECTIONS.values())
    connection = await asyncpg.connect(tenant.deployment.config.url)
    waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = $1::regclass"
    try:
        async with connection.transaction(), asyncio.timeout(HANGS):
            await connection.execute(f"LOCK TABLE {table}")
            strangers = [asyncio.ensure_future(ask(scene)) for _ in range(most)]
            await until(lambda: connection.fetchval(waits, table))
            for path in (tenant.vars_path(), f"/organizations/{tenant.organization}/projects"):
                assert (await tenant.call("owner", "GET", path)).status_code == 200
            assert not any(one.done() for one in strangers), "they wait"
    finally:
        await connection.close()
    assert await asyncio.gather(*strangers) == [status] * most


async def test_nothing_is_changed_of_what_is_not_there_or_by_nobody(tenant: Tenant) -> None:
    linkage, draft = linkage_document(tenant.users["plain"]), variable_document()
    forged = with_forged(tenant)
    made = {"data": {"type": "varsets", "attributes": {"name": "shared"}}}
    path = f"/organizations/{tenant.organization}/varsets"
    shared = (await tenant.call("owner", "POST", path, made)).json()["data"]["id"]
    places = {
        tenant.vars_path(): "/workspaces/ws-none/vars",
        f"/varsets/{shared}/relationships/vars": "/varsets/varset-none/relationships/vars",
    }
    for there, nowhere in places.items():
        answer = await tenant.call("owner", "POST", there, draft)
        assert answer.status_code == 201, answer.text
        assert (await tenant.call("owner", "POST", nowhere, draft)).status_code == 404
        assert (await forged.call("forged", "POST", there, draft)).status_code == 401
        gone = f"{there}/{answer.json()['data']['id']}"
        statuses = [(await tenant.call("owner", "DELETE", gone)).status_code for _ in "12"]
        assert statuses == [204, 404]
    for method, is_in in (("POST", True), ("DELETE", False)):
        nowhere = "/teams/team-none/relationships/users"
        assert (await tenant.call("owner", method, nowhere, linkage)).status_code == 404
        answer = await forged.call("forged", method, tenant.linkage_path(), linkage)
        assert answer.status_code == 401
        answer = await tenant.call("owner", method, tenant.linkage_path(), linkage)
        assert answer.status_code == 204, answer.text
        assert (tenant.memberships["plain"] in await tenant.members()) is is_in
