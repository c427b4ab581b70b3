"""Where a token has no rights, although its user owns the place: on no route, on both engines."""

from dataclasses import replace
from typing import Any

import pytest

from teamvars.changes.waves import Change
from teamvars.decisions import Decision, Found, tokens
from teamvars.domain.times import DAY
from teamvars.domain.tokens import Token
from teamvars.services.tokens import fresh_token
from tests.support.deployment import Deployment, operator
from tests.support.tenant import Tenant, build_tenant
from tests.web.test_authorization import TARGETED, WORKSPACE, Targets, ask, look

ELSEWHERE, UNSIGNED = "signed in elsewhere", "not signed in"


async def signed_in(tenant: Tenant, organization: str) -> str:
    """A token of the owner's that a session made, with rights in that organization alone."""
    fresh, who = fresh_token("user"), tenant.users["owner"]
    rows = await tenant.deployment.services.database.read(
        lambda tx: tx.fetch("SELECT id FROM organizations WHERE name = $1", organization)
    )

    def decide(found: Found) -> Decision[Any]:
        reach = frozenset(row[0] for row in rows)
        made = Token(fresh.id, "user", who, found.now, found.now + DAY, None, "", who, reach)
        return tokens.created(found, made, fresh)

    await tenant.deployment.services.changes.make(Change(operator(), None, decide))
    return fresh.secret


async def having(deployment: Deployment, token: str) -> Tenant:
    """A tenant in which the owner has that token as well, which has no rights there."""
    tenant = await build_tenant(deployment)
    if token == ELSEWHERE:
        other = await signed_in(tenant, tenant.other_organization)
        return replace(tenant, tokens={**tenant.tokens, token: other})
    own = await signed_in(tenant, tenant.organization)
    before = tenant.tokens["owner"]
    tenant = replace(tenant, tokens={**tenant.tokens, "owner": own, token: before})
    document = {"data": {"type": "organizations", "attributes": {"sso-required": True}}}
    path = f"/organizations/{tenant.organization}"
    answer = await tenant.call("owner", "PATCH", path, document)
    assert answer.status_code == 200, answer.text
    return tenant


@pytest.mark.parametrize("token", [ELSEWHERE, UNSIGNED])
async def test_an_owner_whose_token_has_no_rights_there_is_told_what_outsiders_are(
    deployment: Deployment, token: str
) -> None:
    tenant = await having(deployment, token)
    targets, told = Targets(tenant), {}
    for route in TARGETED:
        asked = route, await targets.of(route[1]), tenant.users["plain"]
        told[route] = [look(await ask(tenant, who, *asked)) for who in (token, "outsider")]
    assert {route: one for route, (one, other) in told.items() if one != other} == {}
    control = "GET", WORKSPACE
    assert (await ask(tenant, "owner", control, await targets.of(WORKSPACE))).status_code == 200
