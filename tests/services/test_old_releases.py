"""A node that the schema does not admit any more: it says so, changes nothing, and reads on."""

from collections.abc import AsyncIterator

import pytest

from teamvars.domain.errors import Refusal
from teamvars.services import installation
from teamvars.storage.database import NotReady, Transaction
from tests.storage.stores import words
from tests.support.deployment import Deployment, open_deployment, operator
from tests.support.tenant import Tenant, build_tenant, linkage_document, variable_document


@pytest.fixture
async def node(own_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Deployment]:
    """A node whose readiness is looked up each time."""
    monkeypatch.setattr(installation, "REMEMBERED_SECONDS", -1.0)
    async with open_deployment(own_url) as deployment:
        yield deployment


@pytest.fixture
async def tenant(node: Deployment) -> Tenant:
    return await build_tenant(node)


async def admit_later_ones_alone(node: Deployment) -> None:
    """What a later release does to the schema."""

    async def body(tx: Transaction) -> None:
        await tx.execute(
            "INSERT INTO schema_migrations (number, name, checksum, admits) "
            "VALUES (999, 'later', 'x', 999)"
        )

    await node.services.database.migrate(body)


async def test_every_change_is_refused_and_nothing_is_changed(
    node: Deployment, tenant: Tenant
) -> None:
    path, team = tenant.vars_path(), tenant.linkage_path()
    await tenant.call("writer", "POST", path, variable_document(key="there"))
    before = [(await tenant.call("owner", "GET", each)).text for each in (path, team)]
    await admit_later_ones_alone(node)
    item = variable_document(key="new")
    for method, where, document in (
        ("POST", path, item),
        ("POST", path.replace("/vars", "/actions/apply"), {"data": [item["data"]]}),
        ("DELETE", team, linkage_document(tenant.users["writer"])),
    ):
        answer = await tenant.call("owner", method, where, document)
        assert answer.status_code == 503, answer.text
        assert [error["code"] for error in answer.json()["errors"]] == ["release_too_old"]
        assert int(answer.headers["Retry-After"]) >= 1
    with pytest.raises(Refusal) as refused:
        await node.services.accounts.enable(operator(), "nobody")
    assert words(refused.value) == ["release_too_old"]
    with pytest.raises(Refusal) as refused:
        await node.services.database.probe()
    assert words(refused.value) == ["release_too_old"]
    with pytest.raises(NotReady, match="admits no release"):
        await node.services.installation.initialise(node.keys, operator())
    assert [(await tenant.call("owner", "GET", each)).text for each in (path, team)] == before


async def test_it_is_not_ready_so_that_others_are_asked(node: Deployment) -> None:
    async def statuses() -> list[int]:
        asked = [await node.client.get(f"http://x/{path}") for path in ("readyz", "healthz")]
        return [answer.status_code for answer in asked]

    assert await statuses() == [200, 200]
    await admit_later_ones_alone(node)
    assert await statuses() == [503, 200]
