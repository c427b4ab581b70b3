"""Ids that somebody has altered behind the service's back: whoever asks is answered."""

from collections import defaultdict
from collections.abc import Sequence

import httpx
import pytest

from tests.support.deployment import Deployment, open_deployment
from tests.support.ids import Ids, filled, set_of
from tests.support.tenant import Tenant, linkage_document
from tests.web.test_copies import copy
from tests.web.test_damaged_texts import READ, everything

OF_KEYRING = {"keyring_keys", "server_keys"}
"""Whose ids the keyring has as well: with others no node starts."""
HELD = {"variable_sets"}
"""Of whose ids the engine itself holds one to the others."""
SERVER_ERROR = 500
UNREADABLE = {
    ("data_keys", "damaged_value"),
    ("set_variables", "damaged_value"),
    ("variables", "damaged_value"),
}
"""What is sealed, or seals, opens as nothing else than what it was made for."""


async def ids_in(node: Deployment) -> list[tuple[str, list[str]]]:
    """Of each table that has rows their own ids, and those of what they refer to: columns that are
    altered together.
    """
    listed = (
        "SELECT schema.name, its.name FROM sqlite_schema AS schema, "
        "pragma_table_info(schema.name) AS its WHERE schema.type = 'table'"
        if node.config.url.startswith("sqlite")
        else "SELECT table_name, column_name FROM information_schema.columns "
        "WHERE table_schema = 'public'"
    )
    found: defaultdict[tuple[str, bool], list[str]] = defaultdict(list)
    for table, column in await node.alter(listed):
        if column in ("id", "scope") or column.endswith("_id"):
            found[table, column == "id" and table not in HELD].append(column)
    filled = [
        (table, columns)
        for (table, _), columns in found.items()
        if await node.alter(f"SELECT 1 FROM {table} LIMIT 1")  # noqa: S608
    ]
    return sorted((table, columns) for table, columns in filled if table not in OF_KEYRING)


async def alter(node: Deployment, table: str, columns: Sequence[str], *, back: bool) -> None:
    """Puts a character behind each of these ids, on SQLite a byte that is no UTF-8, or takes it
    away again.
    """
    if node.config.url.startswith("sqlite"):
        altered = "CAST(CAST({0} AS BLOB) || x'ff' AS TEXT)"
        former = "CAST(substr(CAST({0} AS BLOB), 1, length(CAST({0} AS BLOB)) - 1) AS TEXT)"
    else:
        altered, former = "{0} || '~'", "left({0}, -1)"
    made = former if back else altered
    sets = ", ".join(f"{column} = {made.format(column)}" for column in columns)
    await node.alter(f"UPDATE {table} SET {sets}")  # noqa: S608


def counts_what_it_lists(answer: httpx.Response) -> bool:
    """Whether a list of one page has as many as it says that there are; clients read it again and
    again where it has not.
    """
    if not answer.is_success or "json" not in answer.headers.get("Content-Type", ""):
        return True
    document = answer.json()
    pages = document.get("meta", {}).get("pagination", {"total-count": None})
    return pages["total-count"] in (None, len(document["data"]))


async def failed(node: Deployment, tenant: Tenant, ids: Ids) -> dict[str, str]:
    """The reads that were answered with a fault of the service's, and which, or with another number
    than there are: of entries the stream says it, and 'audit verify' what is missing.
    """
    there = Tenant(**{**vars(tenant), "deployment": node})
    found = {}
    for path in READ:
        answer = await there.call("owner", "GET", filled(path, ids).removeprefix("/api/v2"))
        if answer.status_code >= SERVER_ERROR:
            found[path] = answer.json()["errors"][0]["code"]
        elif not path.endswith("/audit-events") and not counts_what_it_lists(answer):
            found[path] = "another number"
    return found


async def test_whatever_id_was_altered_no_read_fails_but_of_values_that_do_not_open(
    deployment: Deployment, store_url: str, tenant: Tenant
) -> None:
    ids = await everything(tenant)
    assert await failed(deployment, tenant, ids) == {}
    told = set()
    for table, columns in await ids_in(deployment):
        await alter(deployment, table, columns, back=False)
        async with open_deployment(store_url, keys=deployment.keys) as node:
            told |= {(table, code) for code in (await failed(node, tenant, ids)).values()}
        await alter(deployment, table, columns, back=True)
    assert told == UNREADABLE
    assert await failed(deployment, tenant, ids) == {}


@pytest.mark.parametrize("dry_run", [True, False])
async def test_a_copy_names_the_variable_whose_id_was_altered(
    deployment: Deployment, tenant: Tenant, dry_run: bool
) -> None:
    await tenant.make_variable("kept")
    await alter(deployment, "variables", ["id"], back=False)
    answer = await copy(tenant, source="network", target="payments", dry_run=dry_run)
    (error,) = answer.json()["errors"]
    assert (error["code"], error["meta"]["key"]) == ("damaged_value", "kept")


async def test_a_set_whose_stream_is_gone_is_listed_with_the_others(
    deployment: Deployment, tenant: Tenant
) -> None:
    sets = f"/organizations/{tenant.organization}/varsets"
    made = await set_of(tenant, "owner", tenant.organization, tenant.workspaces["network"])
    before = (await tenant.call("owner", "GET", sets)).json()["data"]
    its = "UPDATE streams SET id = '{}' WHERE id = '{}'"
    await deployment.alter(its.format("gone", made["varset_id"]))
    after = (await tenant.call("owner", "GET", sets)).json()["data"]
    await deployment.alter(its.format(made["varset_id"], "gone"))
    assert [one["relationships"] for one in after] == [one["relationships"] for one in before]


@pytest.mark.parametrize("counted", ["variables", "value_bytes"])
async def test_what_a_workspace_gets_is_read_whatever_number_its_stream_has(
    deployment: Deployment, tenant: Tenant, counted: str
) -> None:
    made, space = await tenant.make_variable("kept"), tenant.workspaces["network"]
    its = f"UPDATE streams SET {counted} = {2**63 - 1} WHERE id = '{space}'"  # noqa: S608
    await deployment.alter(its)
    answer = await tenant.call("owner", "GET", f"/workspaces/{space}/all-vars")
    assert [one["id"] for one in answer.json()["data"]] == [made["id"]]
    await deployment.alter(f"UPDATE streams SET {counted} = 1 WHERE id = '{space}'")  # noqa: S608


async def test_a_token_whose_user_is_gone_is_nobodys(
    deployment: Deployment, tenant: Tenant
) -> None:
    its = f"WHERE id = '{tenant.users['plain']}'"
    assert (await tenant.call("plain", "GET", "/account/details")).status_code == 200
    await deployment.alter(f"UPDATE users SET id = id || '~' {its}")  # noqa: S608
    for method, path in (("GET", "/account/details"), ("POST", "/organizations")):
        assert (await tenant.call("plain", method, path)).status_code == 401
    assert (await tenant.call("owner", "GET", "/account/details")).status_code == 200


async def test_a_token_of_a_team_is_told_to_have_access_whatever_its_id(
    deployment: Deployment, tenant: Tenant
) -> None:
    path = f"/workspaces/{tenant.workspaces['network']}/access"
    before = (await tenant.call("owner", "GET", path)).json()
    await alter(deployment, "tokens", ["id"], back=False)
    after = (await tenant.call("owner", "GET", path)).json()
    assert after["meta"] == before["meta"]
    told = [[one["attributes"] for one in each["data"]] for each in (before, after)]
    assert told[0] == told[1]


async def test_whoever_was_put_into_an_organization_has_no_access_by_the_teams_of_theirs(
    deployment: Deployment, tenant: Tenant
) -> None:
    path = f"/workspaces/{tenant.workspaces['network']}/access"
    before = await tenant.call("owner", "GET", path)
    assert counts_what_it_lists(before)
    here, there = (
        f"(SELECT id FROM organizations WHERE name = '{name}')"  # noqa: S608
        for name in (tenant.organization, tenant.other_organization)
    )
    theirs = f"WHERE organization_id = {there} AND user_id = '{tenant.users['outsider']}'"
    await deployment.alter(f"UPDATE memberships SET organization_id = {here} {theirs}")  # noqa: S608
    after = await tenant.call("owner", "GET", path)
    assert after.json() == before.json()
    reader = f"WHERE id = '{tenant.memberships['reader']}'"
    await deployment.alter(f"UPDATE memberships SET organization_id = {there} {reader}")  # noqa: S608
    told = await deployment.services.accounts.holders(tenant.organization, "network")
    assert tenant.users["reader"] not in {one.id for one in told.holders}


async def test_a_team_of_another_organization_gives_a_member_nothing(
    deployment: Deployment, tenant: Tenant
) -> None:
    plain = linkage_document(tenant.users["plain"])
    assert (await tenant.call("owner", "POST", tenant.linkage_path(), plain)).status_code == 204
    its = f"WHERE membership_id = '{tenant.memberships['plain']}'"
    owners_there = f"team_id = '{tenant.other_team}'"
    await deployment.alter(f"UPDATE team_members SET {owners_there} {its}")  # noqa: S608
    elsewhere = f"/organizations/{tenant.other_organization}"
    its_set = await set_of(tenant, "owner", tenant.organization, tenant.workspaces["payments"])
    tried = [
        await tenant.call("plain", "GET", elsewhere),
        await tenant.call("plain", "POST", f"{elsewhere}/authentication-token"),
        await tenant.call("plain", "POST", tenant.linkage_path("owners"), plain),
        await tenant.call("plain", "GET", f"/teams/{tenant.teams['secret']}"),
        await tenant.call("plain", "GET", f"/varsets/{its_set['varset_id']}"),
    ]
    assert [answer.status_code for answer in tried] == [404, 404, 403, 404, 404]
