"""Authentication tokens over HTTP: contract §6, on both engines."""

# ruff: noqa: S608 - what is put together here is done behind the service's back

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from teamvars.domain.times import in_24_months, microseconds
from teamvars.domain.tokens import MAX_LIVE_TOKENS
from teamvars.storage.database import Transaction
from tests.support.engines import ON_SQLITE
from tests.support.tenant import Tenant, faults


def organization_path(tenant: Tenant) -> str:
    return f"/organizations/{tenant.organization}/authentication-token"


def team_path(tenant: Tenant, team: str = "crew") -> str:
    return f"/teams/{tenant.teams[team]}/authentication-token"


def user_path(tenant: Tenant, who: str = "plain") -> str:
    return f"/users/{tenant.users[who]}/authentication-tokens"


def token_document(type_: str = "authentication-tokens", **attributes: object) -> dict[str, Any]:
    return {"data": {"type": type_, "attributes": attributes}}


async def status(tenant: Tenant, token: str, path: str) -> int:
    """What a request with that token is answered with."""
    headers = {"Authorization": f"Bearer {token}"}
    return (await tenant.call(None, "GET", path, headers=headers)).status_code


async def made(tenant: Tenant, who: str, path: str, document: object = None) -> Any:
    """A new token, with the token itself."""
    answer = await tenant.call(who, "POST", path, document)
    assert answer.status_code == 201, answer.text
    return answer.json()["data"]


async def test_a_token_is_shown_once(tenant: Tenant) -> None:
    for who, path in (
        ("owner", organization_path(tenant)),
        ("owner", team_path(tenant)),
        ("plain", user_path(tenant)),
    ):
        new = await made(tenant, who, path)
        secret = new["attributes"]["token"]
        shown = await tenant.call(who, "GET", f"/authentication-tokens/{new['id']}")
        listed = await tenant.call(who, "GET", path)
        assert secret not in shown.text + listed.text
        assert "token" not in shown.json()["data"]["attributes"]
    assert await tenant.deployment.audit_holds()


async def test_a_new_token_of_a_team_or_organization_replaces_the_former(tenant: Tenant) -> None:
    for path in (organization_path(tenant), team_path(tenant)):
        target = f"/organizations/{tenant.organization}"
        first = (await made(tenant, "owner", path))["attributes"]["token"]
        assert await status(tenant, first, target) == 200
        second = (await made(tenant, "owner", path))["attributes"]["token"]
        assert await status(tenant, first, target) == 401
        assert await status(tenant, second, target) == 200
    assert (await tenant.call("organization-token", "GET", "/account/details")).status_code == 401
    assert await tenant.deployment.audit_holds()


async def test_an_organizations_token_can_replace_itself(tenant: Tenant) -> None:
    new = await made(tenant, "organization-token", organization_path(tenant))
    assert await status(tenant, new["attributes"]["token"], tenant.vars_path("payments")) == 200
    assert await tenant.deployment.audit_holds()


async def test_a_user_may_have_many_tokens_and_end_each(tenant: Tenant) -> None:
    document = token_document(description="robot", nonsense=1)
    tokens = [await made(tenant, "plain", user_path(tenant), document) for _ in "123"]
    listed = (await tenant.call("plain", "GET", user_path(tenant))).json()["data"]
    assert len(listed) == 4
    assert [one["attributes"]["description"] for one in listed[1:]] == ["robot"] * 3
    path = f"/authentication-tokens/{tokens[0]['id']}"
    assert (await tenant.call("plain", "DELETE", path)).status_code == 204
    assert (await tenant.call("plain", "DELETE", path)).status_code == 404
    secret = tokens[0]["attributes"]["token"]
    assert await status(tenant, secret, "/account/details") == 401
    assert await status(tenant, tokens[1]["attributes"]["token"], "/account/details") == 200
    assert await tenant.deployment.audit_holds()


@pytest.mark.parametrize("who", ["owner", "organization-token", "owners-token", "admin"])
async def test_a_users_tokens_are_nobody_elses(tenant: Tenant, who: str) -> None:
    new = await made(tenant, "plain", user_path(tenant))
    one = f"/authentication-tokens/{new['id']}"
    for method, path in (
        ("GET", user_path(tenant)),
        ("POST", user_path(tenant)),
        ("GET", one),
        ("DELETE", one),
    ):
        assert (await tenant.call(who, method, path)).status_code == 404
    assert await status(tenant, new["attributes"]["token"], "/account/details") == 200


async def test_a_token_that_is_not_there_cannot_be_shown_or_ended(tenant: Tenant) -> None:
    for path in (team_path(tenant), organization_path(tenant)):
        await tenant.call("owner", "DELETE", path)
        assert (await tenant.call("owner", "GET", path)).status_code == 404
        assert (await tenant.call("owner", "DELETE", path)).status_code == 404
    assert await tenant.deployment.audit_holds()


@pytest.mark.parametrize("document", [None, {}])
async def test_a_token_needs_no_document(tenant: Tenant, document: object) -> None:
    new = await made(tenant, "owner", team_path(tenant), document)
    assert new["attributes"]["description"] is None
    assert "token" in new["attributes"]


async def test_a_token_may_have_an_end(tenant: Tenant) -> None:
    document = token_document("authentication-token", **{"expired-at": "2999-01-02T03:04:05Z"})
    new = await made(tenant, "owner", team_path(tenant), document)
    assert new["attributes"]["expired-at"] == "2999-01-02T03:04:05.000Z"


async def shown_end(tenant: Tenant, token: dict[str, Any]) -> str:
    """When a token ends, as everybody is shown who looks at it later."""
    answer = await tenant.call("plain", "GET", f"/authentication-tokens/{token['id']}")
    end: str = answer.json()["data"]["attributes"]["expired-at"]
    assert end == token["attributes"]["expired-at"]
    return end


@pytest.mark.parametrize(
    "document",
    [None, {"data": {"type": "authentication-tokens", "attributes": {"expired-at": None}}}],
    ids=str,
)
async def test_a_token_without_an_end_ends_after_24_months(tenant: Tenant, document: Any) -> None:
    for who, path in (
        ("owner", organization_path(tenant)),
        ("owner", team_path(tenant)),
        ("plain", user_path(tenant)),
    ):
        attributes = (await made(tenant, who, path, document))["attributes"]
        begins, ends = (
            datetime.fromisoformat(attributes[name]) for name in ("created-at", "expired-at")
        )
        assert microseconds(ends) == in_24_months(microseconds(begins))


async def test_a_users_token_ends_no_later_than_the_one_it_is_made_with(tenant: Tenant) -> None:
    own = await made(tenant, "plain", user_path(tenant), ending("2099-01-02T03:04:05Z"))
    headers = {"Authorization": f"Bearer {own['attributes']['token']}"}

    async def make(document: Any = None) -> httpx.Response:
        return await tenant.call(None, "POST", user_path(tenant), document, headers)

    later = await make(ending("2099-01-02T03:04:06Z"))
    assert faults(later) == [("422", "invalid_value", "/data/attributes/expired-at")]
    assert "2099-01-02T03:04:05Z" in later.json()["errors"][0]["detail"]
    for end in ("2099-01-02T03:04:05Z", "2098-01-02T03:04:05Z"):
        token = (await make(ending(end))).json()["data"]
        assert await shown_end(tenant, token) == end.replace("Z", ".000Z")
    soon = (datetime.now(UTC) + timedelta(days=7)).strftime("%Y-%m-%dT%H:%M:%SZ")
    short = (await make(ending(soon))).json()["data"]["attributes"]["token"]
    headers["Authorization"] = f"Bearer {short}"
    grandchild = (await make()).json()["data"]
    assert await shown_end(tenant, grandchild) == soon.replace("Z", ".000Z")
    assert (await make(ending("2098-01-02T03:04:05Z"))).status_code == 422
    # What a team or an organization has outlives the people who made it.
    owner = await made(tenant, "owner", user_path(tenant, "owner"), ending(soon))
    headers["Authorization"] = f"Bearer {owner['attributes']['token']}"
    path = team_path(tenant)
    team = await tenant.call(None, "POST", path, ending("2098-01-02T03:04:05Z"), headers)
    assert team.json()["data"]["attributes"]["expired-at"] == "2098-01-02T03:04:05.000Z"


def ending(at: str) -> dict[str, Any]:
    """A document for a token with that end."""
    return token_document(**{"expired-at": at})


@pytest.mark.parametrize("kind", ["audit-trails", "organization", "AUDIT-TRAILS", " "])
async def test_a_token_of_a_kind_that_there_is_not_is_refused_and_the_real_one_stays(
    tenant: Tenant, kind: str
) -> None:
    path = f"{organization_path(tenant)}?token={kind}"
    for method in ("POST", "GET", "DELETE"):
        answer = await tenant.call("owner", method, path)
        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["code"]) == (400, "invalid_parameter")
        assert error["source"] == {"parameter": "token"}
        assert (await tenant.call(None, method, path)).status_code == 401
    assert (await tenant.call("organization-token", "GET", "/account/details")).is_success


async def test_a_kind_of_token_that_says_nothing_is_no_kind(tenant: Tenant) -> None:
    await made(tenant, "owner", f"{organization_path(tenant)}?token=")


async def test_an_empty_type_counts_as_absent_as_clients_send_it(tenant: Tenant) -> None:
    document = {"data": {"type": "", "attributes": {"description": "robot"}}}
    for who, path in (
        ("owner", organization_path(tenant)),
        ("owner", f"{team_path(tenant)}s"),
        ("plain", user_path(tenant)),
    ):
        assert (await made(tenant, who, path, document))["attributes"]["description"] == "robot"


@ON_SQLITE
@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"data": {}}, [("422", "missing_member", "/data/type")]),
        ({"data": {"type": "teams"}}, [("409", "type_conflict", "/data/type")]),
        (
            token_document(description=1, **{"expired-at": "2001-01-01T00:00:00Z"}),
            [
                ("422", "wrong_type", "/data/attributes/description"),
                ("422", "invalid_value", "/data/attributes/expired-at"),
            ],
        ),
        *(
            (
                token_document(description=text, **{"expired-at": "soon"}),
                [
                    ("422", "invalid_value", "/data/attributes/description"),
                    ("422", "invalid_value", "/data/attributes/expired-at"),
                ],
            )
            for text in ("a" * 513, "a\nb", "a\u202eb")
        ),
    ],
)
async def test_every_fault_of_a_new_token_is_named_at_once(
    tenant: Tenant, document: object, expected: list[object]
) -> None:
    for who, path in (
        ("owner", organization_path(tenant)),
        ("plain", user_path(tenant)),
    ):
        assert faults(await tenant.call(who, "POST", path, document)) == expected


async def test_a_token_says_who_made_it_and_of_a_team_whose_it_is(tenant: Tenant) -> None:
    maker = {"data": {"id": tenant.users["owner"], "type": "users"}}
    of_team = await made(tenant, "owner", team_path(tenant))
    crew = {"data": {"id": tenant.teams["crew"], "type": "teams"}}
    assert of_team["relationships"] == {"created-by": maker, "team": crew}
    for path in (team_path(tenant), f"/authentication-tokens/{of_team['id']}"):
        shown = (await tenant.call("owner", "GET", path)).json()["data"]
        assert shown["relationships"] == of_team["relationships"]
    of_organization = await made(tenant, "owner", organization_path(tenant))
    assert of_organization["relationships"] == {"created-by": maker}
    secret = of_organization["attributes"]["token"]
    headers = {"Authorization": f"Bearer {secret}"}
    by_robot = await tenant.call(None, "POST", team_path(tenant), headers=headers)
    assert by_robot.json()["data"]["relationships"]["created-by"] == {"data": None}


def described(what: str, **attributes: object) -> dict[str, Any]:
    return token_document("", description=what, **attributes)


def identified(*ids: str) -> dict[str, Any]:
    return {"data": [{"type": "authentication-tokens", "id": id_} for id_ in ids]}


async def tokens_of_teams(tenant: Tenant, query: str = "") -> list[str | None]:
    """The descriptions of all tokens of teams that there are."""
    path = f"/organizations/{tenant.organization}/team-tokens{query}"
    answer = await tenant.call("owner", "GET", path)
    assert answer.status_code == 200, answer.text
    return [one["attributes"]["description"] for one in answer.json()["data"]]


async def test_a_team_has_tokens_with_descriptions_beside_the_one_without(tenant: Tenant) -> None:
    many, target = f"{team_path(tenant)}s", f"/organizations/{tenant.organization}"
    first = await made(tenant, "owner", many, described("ci"))
    await made(tenant, "owner", many, described("night"))
    single = await made(tenant, "owner", team_path(tenant))
    assert await status(tenant, first["attributes"]["token"], target) == 200
    assert (await tenant.call("owner", "GET", team_path(tenant))).json()["data"]["id"] == (
        single["id"]
    )
    listed = (await tenant.call("owner", "GET", many)).json()
    assert [one["attributes"]["description"] for one in listed["data"]] == ["ci", "night", None]
    assert listed["meta"]["pagination"]["total-count"] == 3
    team = {"data": {"id": tenant.teams["crew"], "type": "teams"}}
    assert all(one["relationships"]["team"] == team for one in listed["data"])

    await made(tenant, "owner", team_path(tenant))
    assert await status(tenant, single["attributes"]["token"], target) == 401
    assert (await tenant.call("owner", "DELETE", team_path(tenant))).status_code == 204
    assert (await tenant.call("owner", "GET", team_path(tenant))).status_code == 404
    assert await status(tenant, first["attributes"]["token"], target) == 200
    one = f"/authentication-tokens/{first['id']}"
    assert (await tenant.call("owner", "DELETE", one)).status_code == 204
    assert await status(tenant, first["attributes"]["token"], target) == 401
    await made(tenant, "owner", many, described("ci"))
    assert await tenant.deployment.audit_holds()


async def test_a_description_is_a_teams_once_and_tells_its_tokens_apart(tenant: Tenant) -> None:
    many, at = f"{team_path(tenant)}s", "/data/attributes/description"
    await made(tenant, "owner", many, described("ci"))
    again = await tenant.call("owner", "POST", many, described("ci"))
    assert faults(again) == [("422", "name_taken", at)]
    await made(tenant, "owner", f"{team_path(tenant, 'readers')}s", described("ci"))
    for document, code in (
        (None, "missing_member"),
        (described(""), "invalid_value"),
        (token_document(description=1), "wrong_type"),
    ):
        assert faults(await tenant.call("owner", "POST", many, document)) == [("422", code, at)]
    single = await tenant.call("owner", "POST", team_path(tenant), described("ci"))
    assert faults(single) == [("422", "invalid_value", at)]
    assert f"{many}" in single.json()["errors"][0]["detail"]
    assert await tenant.deployment.audit_holds()


async def test_tokens_with_a_description_race_for_it_and_one_is_made(tenant: Tenant) -> None:
    many = f"{team_path(tenant)}s"
    racing = [tenant.call("owner", "POST", many, described("ci")) for _ in range(4)]
    statuses = [answer.status_code for answer in await asyncio.gather(*racing)]
    assert sorted(statuses) == [201, 422, 422, 422]


async def test_owners_list_the_tokens_of_all_teams_in_the_order_they_ask_for(
    tenant: Tenant,
) -> None:
    await let_members(tenant, "writers", may=True)
    for who, team, what, end in (
        ("owner", "readers", "b", "2040-01-01T00:00:00Z"),
        ("writer", "writers", "a", "2041-01-01T00:00:00Z"),
        ("owner", "crew", "c", "2039-01-01T00:00:00Z"),
    ):
        document = described(what, **{"expired-at": end})
        await made(tenant, who, f"{team_path(tenant, team)}s", document)
    # Those of the tenant have none.
    for query, expected in {
        "": ["b", "a", "c"],
        "sort=team-name": ["c", "b", "a"],
        "sort=-team-name": ["a", "b", "c"],
        "sort=expired-at": ["c", "b", "a"],
        "sort=-expired-at": ["a", "b", "c"],
        "sort=created-by": ["b", "c", "a"],
        "sort=-created-by": ["a", "c", "b"],
        "q=CR": ["c"],
        "q=ers&sort=team-name": ["b", "a"],
    }.items():
        found = await tokens_of_teams(tenant, f"?{query}")
        assert [one for one in found if one] == expected, query
    assert (await tokens_of_teams(tenant, "?q=nobody")) == []
    for query in ("sort=name", "filter[expiry_status]=active,gone"):
        path = f"/organizations/{tenant.organization}/team-tokens?{query}"
        assert (await tenant.call("owner", "GET", path)).status_code == 400


async def test_owners_list_the_tokens_of_all_teams_by_their_end(tenant: Tenant) -> None:
    now = datetime.now(UTC)
    for what, days in {"week": 6, "month": 29, "later": 31, "over": 1, "endless": 1}.items():
        end = f"{now + timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}"
        await made(tenant, "owner", f"{team_path(tenant)}s", described(what, **{"expired-at": end}))

    async def alter(tx: Transaction) -> None:
        sql = "UPDATE tokens SET expires_at = $1 WHERE description = $2 AND team_id = $3"
        for end, what in ((microseconds(now) - 1, "over"), (None, "endless")):
            await tx.execute(sql, end, what, tenant.teams["crew"])

    await tenant.deployment.services.database.write(alter)
    for ends, expected in {
        "active": ["week", "month", "later", "endless"],
        "expiring_in_7_days": ["week"],
        "expiring_in_30_days": ["week", "month"],
        "expired": ["over"],
        "no_expiration": ["endless"],
        "expired,no_expiration": ["over", "endless"],
        "no_expiration,expiring_in_7_days,no_expiration": ["week", "endless"],
        "": ["week", "month", "later", "over", "endless"],
    }.items():
        assert await ending_so(tenant, ends) == expected, ends


async def ending_so(tenant: Tenant, ends: str) -> list[str | None]:
    return await tokens_of_teams(tenant, f"?q=crew&filter[expiry_status]={ends}")


@ON_SQLITE
async def test_a_token_of_a_team_whose_end_is_no_time_is_listed_as_expired(tenant: Tenant) -> None:
    """PostgreSQL has no words there."""
    one = await made(tenant, "owner", f"{team_path(tenant)}s", described("ci"))
    await touch(tenant, "UPDATE tokens SET expires_at = $2 WHERE id = $1", one["id"], "2030-01-01")
    assert await ending_so(tenant, "expired") == ["ci"]
    assert not await ending_so(tenant, "active,expiring_in_7_days,expiring_in_30_days")


async def test_owners_revoke_tokens_of_teams_all_or_none(tenant: Tenant) -> None:
    target = f"/organizations/{tenant.organization}"
    where, ends = f"{target}/team-tokens", {}
    for team in ("crew", "readers", "writers"):
        new = await made(tenant, "owner", f"{team_path(tenant, team)}s", described(team))
        ends[team] = new["id"], new["attributes"]["token"]
    first, second = ends["crew"][0], ends["readers"][0]
    own = (await made(tenant, "plain", user_path(tenant)))["id"]
    single = f"/teams/{tenant.other_team}/authentication-token"
    strange = (await made(tenant, "outsider", single))["id"]

    refused = await tenant.call("owner", "DELETE", where, identified(first, own, strange, "at-no"))
    assert faults(refused) == [("404", "not_found", f"/data/{n}/id") for n in (1, 2, 3)]
    wrong = {"data": [{"type": "users", "id": first}, 7]}
    assert faults(await tenant.call("owner", "DELETE", where, wrong)) == [
        ("409", "type_conflict", "/data/0/type"),
        ("422", "wrong_type", "/data/1"),
    ]
    assert (await tenant.call("manager", "DELETE", where, identified(first))).status_code == 403
    assert set(ends) < set(await tokens_of_teams(tenant))

    gone = await tenant.call("owner", "DELETE", where, identified(second, first, second))
    assert (gone.status_code, gone.content) == (204, b"")
    statuses = [await status(tenant, secret, target) for _, secret in ends.values()]
    assert statuses == [401, 401, 200]
    for team in ("crew", "readers"):
        events = f"/teams/{tenant.teams[team]}/audit-events?page[size]=1"
        (told,) = (await tenant.call("owner", "GET", events)).json()["data"]
        assert told["attributes"]["action"] == "token.revoke"
        assert told["attributes"]["subject"]["id"] == ends[team][0]
    assert await tenant.deployment.audit_holds()


async def let_members(tenant: Tenant, team: str, may: bool) -> None:
    """Says whether the members of a team manage its token."""
    attributes = {"allow-member-token-management": may}
    document = {"data": {"type": "teams", "attributes": attributes}}
    answer = await tenant.call("owner", "PATCH", f"/teams/{tenant.teams[team]}", document)
    assert answer.json()["data"]["attributes"]["allow-member-token-management"] is may


async def test_members_manage_the_token_of_their_team_where_the_team_lets_them(
    tenant: Tenant,
) -> None:
    path = team_path(tenant, "writers")
    for method in ("POST", "GET", "DELETE"):
        assert (await tenant.call("writer", method, path)).status_code == 403
    await let_members(tenant, "writers", may=True)
    new = await made(tenant, "writer", path)
    one = f"/authentication-tokens/{new['id']}"
    for where in (path, one):
        assert (await tenant.call("writer", "GET", where)).json()["data"]["id"] == new["id"]
    assert await status(tenant, new["attributes"]["token"], tenant.vars_path()) == 200
    assert (await tenant.call("writer", "DELETE", one)).status_code == 204
    await made(tenant, "writer", path)
    assert (await tenant.call("writer", "DELETE", path)).status_code == 204
    await let_members(tenant, "writers", may=False)
    assert (await tenant.call("writer", "POST", path)).status_code == 403
    assert await tenant.deployment.audit_holds()


async def test_nobody_but_active_members_gains_by_what_a_team_lets_its_members(
    tenant: Tenant,
) -> None:
    for team in ("writers", "secret"):
        await let_members(tenant, team, may=True)
    path = team_path(tenant, "writers")
    # A lost token of the team must not be able to make one that outlives it.
    for who in ("reader", "plain", "manager", "writers-token"):
        for method in ("POST", "GET", "DELETE"):
            assert (await tenant.call(who, method, path)).status_code == 403, who
    for who in ("invited_writer", "outsider", "admin"):
        assert (await tenant.call(who, "POST", path)).status_code == 404, who
    assert (await tenant.call("plain", "POST", team_path(tenant, "secret"))).status_code == 404
    owned = await made(tenant, "owner", path)
    one = f"/authentication-tokens/{owned['id']}"
    assert (await tenant.call("reader", "DELETE", one)).status_code == 404
    assert (await tenant.call("hidden", "POST", team_path(tenant, "secret"))).status_code == 201


async def test_a_token_of_a_team_that_manages_teams_makes_none_that_outlives_it(
    tenant: Tenant,
) -> None:
    access = {"organization-access": {"manage-teams": True}}
    body = {"data": {"type": "teams", "attributes": {"name": "robots", **access}}}
    path = f"/organizations/{tenant.organization}/teams"
    team = (await tenant.call("owner", "POST", path, body)).json()["data"]["id"]
    soon = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    path = f"/teams/{team}/authentication-tokens"
    robot = await made(tenant, "owner", path, described("first", **{"expired-at": soon}))
    own = {"Authorization": f"Bearer {robot['attributes']['token']}"}
    for where in (path, f"/teams/{tenant.teams['crew']}/authentication-tokens"):
        more = await tenant.call(None, "POST", where, described("more"), headers=own)
        assert more.json()["data"]["attributes"]["expired-at"] == robot["attributes"]["expired-at"]
        ending_later = described("later", **{"expired-at": "2999-01-01T00:00:00Z"})
        later = await tenant.call(None, "POST", where, ending_later, headers=own)
        assert faults(later) == [("422", "invalid_value", "/data/attributes/expired-at")]
        assert "tokens that you make with it expire no later" in later.text


async def test_who_may_manage_the_token_of_a_team_is_told_so(tenant: Tenant) -> None:
    await let_members(tenant, "writers", may=True)
    listed = f"/organizations/{tenant.organization}/teams?filter[names]=writers"
    for who, may in (
        ("owner", True),
        ("writer", True),
        ("reader", False),
        ("writers-token", False),
    ):
        read = (await tenant.call(who, "GET", f"/teams/{tenant.teams['writers']}")).json()["data"]
        (found,) = (await tenant.call(who, "GET", listed)).json()["data"]
        assert read["attributes"] == found["attributes"]
        assert read["attributes"]["permissions"]["can-update-api-token"] is may, who


async def test_whoever_calls_learns_who_they_are(tenant: Tenant) -> None:
    user = (await tenant.call("plain", "GET", "/account/details")).json()["data"]
    assert (user["id"], user["type"]) == (tenant.users["plain"], "users")
    assert user["attributes"]["is-service-account"] is False
    assert user["attributes"]["avatar-url"].startswith("data:image/")
    permissions = user["attributes"]["permissions"]
    assert permissions["can-manage-user-tokens"] is True
    assert permissions["can-create-organizations"] is False
    admin = (await tenant.call("admin", "GET", "/account/details")).json()["data"]
    assert admin["attributes"]["permissions"]["can-create-organizations"] is True
    other = (await tenant.call("plain", "GET", f"/users/{tenant.users['owner']}")).json()["data"]
    assert "permissions" not in other["attributes"]
    for who in ("writers-token", "organization-token"):
        robot = (await tenant.call(who, "GET", "/account/details")).json()["data"]
        assert robot["attributes"]["is-service-account"] is True


@pytest.mark.parametrize(
    "expired_at",
    [
        "9999-12-31T23:59:59-23:59",
        "9999-12-31T23:59:59.999999Z",
        "99999-01-01",
        "2999-01-02",
        "2999-01-02T03:04:05",
    ],
)
async def test_an_end_that_cannot_be_written_is_refused_and_nothing_is_made(
    tenant: Tenant, expired_at: str
) -> None:
    document = token_document(**{"expired-at": expired_at})
    for who, path in (
        ("owner", organization_path(tenant)),
        ("owner", team_path(tenant)),
        ("plain", user_path(tenant)),
    ):
        answer = await tenant.call(who, "POST", path, document)
        assert faults(answer) == [("422", "invalid_value", "/data/attributes/expired-at")]
    listed = await tenant.call("plain", "GET", user_path(tenant))
    assert len(listed.json()["data"]) == 1
    assert (await tenant.call("organization-token", "GET", "/account/details")).is_success
    document = token_document(**{"expired-at": "9999-12-31T23:59:59Z"})
    last = await made(tenant, "plain", user_path(tenant), document)
    assert last["attributes"]["expired-at"] == "9999-12-31T23:59:59.000Z"


async def touch(tenant: Tenant, statement: str, *arguments: object) -> None:
    """Changes the store behind the service's back."""

    async def body(tx: Transaction) -> None:
        await tx.execute(statement, *arguments)

    await tenant.deployment.services.database.write(body)


async def test_a_touched_row_hides_no_other_token(tenant: Tenant) -> None:
    ids = [(await made(tenant, "plain", user_path(tenant)))["id"] for _ in "123"]
    edits = "expires_at = 9223372036854775807, created_at = -9223372036854775807"
    await touch(tenant, f"UPDATE tokens SET {edits}, last_used_at = 5 WHERE id = $1", ids[1])
    listed = await tenant.call("plain", "GET", user_path(tenant))
    shown = {one["id"]: one["attributes"] for one in listed.json()["data"]}
    assert shown.keys() >= set(ids)
    assert shown[ids[1]]["expired-at"] == "9999-12-31T23:59:59.999Z"
    assert shown[ids[1]]["created-at"] < "1971"
    one = f"/authentication-tokens/{ids[1]}"
    assert (await tenant.call("plain", "GET", one)).status_code == 200
    assert (await tenant.call("plain", "DELETE", one)).status_code == 204


@ON_SQLITE
async def test_a_token_whose_end_is_no_time_has_ended(tenant: Tenant) -> None:
    """PostgreSQL has no words there."""
    one = await made(tenant, "plain", user_path(tenant))
    own = {"Authorization": f"Bearer {one['attributes']['token']}"}
    ask = tenant.deployment.client.get
    assert (await ask("/account/details", headers=own)).status_code == 200
    for end in ("2030-01-01", b"\xff"):
        await touch(tenant, "UPDATE tokens SET expires_at = $2 WHERE id = $1", one["id"], end)
        assert (await ask("/account/details", headers=own)).status_code == 401
        shown = await tenant.call("plain", "GET", f"/authentication-tokens/{one['id']}")
        assert shown.json()["data"]["attributes"]["expired-at"] < "1971"
    listed = await tenant.call("plain", "GET", user_path(tenant))
    assert one["id"] in {each["id"] for each in listed.json()["data"]}


async def fill(tenant: Tenant, live: int) -> None:
    """Gives `plain` so many live tokens, without saying so in the audit trail."""
    listed = await tenant.call("plain", "GET", user_path(tenant))
    hashed = "CAST($2 AS {bytes})"
    for n in range(live - listed.json()["meta"]["pagination"]["total-count"]):
        await touch(
            tenant,
            f"INSERT INTO tokens (id, hash, user_id, created_at) VALUES ($1, {hashed}, $3, {n})",
            f"at-{tenant.organization}-{n:03}",
            f"{tenant.organization}-{n}".encode(),
            tenant.users["plain"],
        )


async def test_an_owner_has_at_most_a_hundred_live_tokens(tenant: Tenant) -> None:
    await fill(tenant, MAX_LIVE_TOKENS - 1)
    await made(tenant, "plain", user_path(tenant))
    document = token_document(description="a" * 513)
    refused = await tenant.call("plain", "POST", user_path(tenant), document)
    assert faults(refused) == [
        ("422", "too_many_items", None),
        ("422", "invalid_value", "/data/attributes/description"),
    ]
    await touch(
        tenant,
        "UPDATE tokens SET expires_at = 1 WHERE id = $1",
        f"at-{tenant.organization}-000",
    )
    last = await made(tenant, "plain", user_path(tenant))
    assert (await tenant.call("plain", "POST", user_path(tenant))).status_code == 422
    await tenant.call("plain", "DELETE", f"/authentication-tokens/{last['id']}")
    await made(tenant, "plain", user_path(tenant))


async def test_of_racing_creations_one_takes_the_last_place(tenant: Tenant) -> None:
    await fill(tenant, MAX_LIVE_TOKENS - 1)
    answers = await asyncio.gather(
        *(tenant.call("plain", "POST", user_path(tenant)) for _ in range(6))
    )
    assert sorted(answer.status_code for answer in answers) == [201, *[422] * 5]


async def test_a_users_tokens_are_listed_in_pages_oldest_first(tenant: Tenant) -> None:
    await fill(tenant, 45)
    found: list[str] = []
    follow = user_path(tenant)
    while follow:
        page = (await tenant.call("plain", "GET", follow)).json()
        found += [one["id"] for one in page["data"]]
        assert page["meta"]["pagination"]["total-count"] == 45
        assert len(page["data"]) <= 20
        follow = (page["links"]["next"] or "").removeprefix("/api/v2")
    assert len(set(found)) == len(found) == 45
    assert found[0].endswith("-000")
    whole = await tenant.call("plain", "GET", f"{user_path(tenant)}?page[size]=100")
    assert [one["id"] for one in whole.json()["data"]] == found
