"""What a workspace gets: its own variables and those of sets, with what they come before."""

from typing import Any

import apsw
import pytest

from teamvars.storage.database import Transaction
from tests.support.engines import ON_SQLITE
from tests.support.tenant import Tenant
from tests.web.test_variable_sets import as_global, attach, changed, make_set, put


async def listed(tenant: Tenant, what: str, who: str = "reader") -> list[dict[str, Any]]:
    path = f"/workspaces/{tenant.workspaces['network']}/{what}"
    answer = await tenant.call(who, "GET", path)
    assert answer.status_code == 200, answer.text
    data: list[dict[str, Any]] = answer.json()["data"]
    return data


async def values(tenant: Tenant) -> dict[str, str | None]:
    """The values that count, by key."""
    found = await listed(tenant, "all-vars")
    return {one["attributes"]["key"]: one["attributes"]["value"] for one in found}


async def test_all_variables_are_those_that_count_and_the_own_list_is_as_before(
    tenant: Tenant,
) -> None:
    path = tenant.vars_path()
    own = await tenant.make_variable("region")
    before = await tenant.call("reader", "GET", path)
    every = await tenant.call("reader", "GET", path.replace("/vars", "/all-vars"))
    assert (every.content, every.headers["etag"]) == (before.content, before.headers["etag"])
    everywhere = await make_set(tenant, "everywhere", **as_global())
    await put(tenant, everywhere, "region", "overridden")
    zone = await put(tenant, everywhere, "zone", "a")
    found = await listed(tenant, "all-vars")
    assert [one["id"] for one in found] == [own["id"], zone["id"]]
    assert found[0] == own
    assert found[1] == zone
    after = await tenant.call("reader", "GET", path)
    assert (after.content, after.headers["etag"]) == (before.content, before.headers["etag"])


async def test_effective_variables_say_what_each_comes_before_and_why(tenant: Tenant) -> None:
    own = await tenant.make_variable("region", value="own")
    first = await make_set(tenant, "A", "network")
    second = await make_set(tenant, "B", "network")
    everywhere = await make_set(tenant, "everywhere", **as_global())
    by_name = await put(tenant, first, "zone", "by A")
    loser = await put(tenant, second, "zone", "by B")
    hidden = await put(tenant, second, "region", "canary", sensitive=True)
    least = await put(tenant, everywhere, "region", "for all")
    region, zone = await listed(tenant, "effective-vars")
    place = {"id": tenant.workspaces["network"], "type": "workspaces", "name": "network"}
    assert region["id"] == own["id"]
    assert region["links"] == own["links"]
    assert region["relationships"] == own["relationships"]
    said = dict(region["attributes"])
    assert said.pop("overrides") == [
        {
            "id": hidden["id"],
            "value": None,
            "sensitive": True,
            "version-id": hidden["attributes"]["version-id"],
            "source": {"id": second, "type": "varsets", "name": "B"},
            "level": "organization-by-workspace",
            "rule": "level",
        },
        {
            "id": least["id"],
            "value": "for all",
            "sensitive": False,
            "version-id": least["attributes"]["version-id"],
            "source": {"id": everywhere, "type": "varsets", "name": "everywhere"},
            "level": "global",
            "rule": "level",
        },
    ]
    assert said == {**own["attributes"], "source": place, "level": "workspace"}
    assert zone["id"] == by_name["id"]
    (beaten,) = zone["attributes"]["overrides"]
    assert (beaten["id"], beaten["rule"]) == (loser["id"], "name")
    # A priority set comes before the workspace's own.
    assert (await changed(tenant, second, priority=True)).status_code == 200
    assert await values(tenant) == {"region": None, "zone": "by B"}


async def test_no_kept_list_is_stale_whatever_becomes_of_sets(tenant: Tenant) -> None:
    own = await tenant.make_variable("k", value="own")
    made = await make_set(tenant, "shared")
    variable = await put(tenant, made, "k", "set")
    assert await values(tenant) == {"k": "own"}
    assert (await attach(tenant, made, "network")).status_code == 204
    assert await values(tenant) == {"k": "own"}
    assert (await changed(tenant, made, priority=True)).status_code == 200
    assert await values(tenant) == {"k": "set"}
    one = f"/varsets/{made}/relationships/vars/{variable['id']}"
    patch = {"data": {"type": "vars", "id": variable["id"], "attributes": {"value": "other"}}}
    assert (await tenant.call("owner", "PATCH", one, patch)).status_code == 200
    assert await values(tenant) == {"k": "other"}
    assert (await attach(tenant, made, "network", method="DELETE")).status_code == 204
    assert await values(tenant) == {"k": "own"}
    assert (await changed(tenant, made, **as_global())).status_code == 200
    assert await values(tenant) == {"k": "other"}
    assert (await tenant.call("owner", "DELETE", own["links"]["self"][7:])).status_code == 204
    assert await values(tenant) == {"k": "other"}
    assert (await tenant.call("owner", "DELETE", one)).status_code == 204
    assert await values(tenant) == {}
    await put(tenant, made, "k", "again")
    assert await values(tenant) == {"k": "again"}
    assert (await tenant.call("owner", "DELETE", f"/varsets/{made}")).status_code == 204
    assert await values(tenant) == {}
    assert await tenant.deployment.audit_holds()


async def test_who_has_the_list_is_told_so(tenant: Tenant) -> None:
    made = await make_set(tenant, "shared", "network")
    await put(tenant, made, "k", "1")
    for what in ("all-vars", "effective-vars"):
        path = f"/workspaces/{tenant.workspaces['network']}/{what}"
        first = await tenant.call("reader", "GET", path)
        headers = {"If-None-Match": first.headers["etag"]}
        again = await tenant.call("reader", "GET", path, headers=headers)
        assert again.status_code == 304
        await put(tenant, made, f"k-{what}")
        assert (await tenant.call("reader", "GET", path, headers=headers)).status_code == 200


async def test_strangers_see_no_list(tenant: Tenant) -> None:
    for what in ("all-vars", "effective-vars"):
        path = f"/workspaces/{tenant.workspaces['network']}/{what}"
        assert (await tenant.call("plain", "GET", path)).status_code == 404
        assert (await tenant.call(None, "GET", path)).status_code == 401


async def test_who_sees_a_set_reads_it_at_none_but_their_own_workspaces(tenant: Tenant) -> None:
    made = await make_set(tenant, "shared", "network", "payments")
    variable = await put(tenant, made, "k", "1")
    for name, status in (("network", 200), ("payments", 404)):
        path = f"/workspaces/{tenant.workspaces[name]}/varsets/{made}/relationships/vars"
        for one in (path, f"{path}/{variable['id']}"):
            assert (await tenant.call("reader", "GET", one)).status_code == status


MOVES = {
    "from another set": (
        "sealed_value = (SELECT sealed_value FROM set_variables WHERE set_id = '{second}')"
    ),
    "from the workspace": (
        "sealed_value = (SELECT sealed_value FROM variables WHERE workspace_id = '{network}')"
    ),
    "a secret that is made readable": "sensitive = 1 - sensitive",
}


@pytest.mark.parametrize("move", MOVES)
async def test_a_value_that_was_moved_behind_the_services_back_does_not_open(
    tenant: Tenant, move: str
) -> None:
    first, second = await make_set(tenant, "first", "network"), await make_set(tenant, "second")
    moved = await put(tenant, first, "moved", "mine", sensitive="secret" in move)
    await put(tenant, second, "other", "theirs")
    await tenant.make_variable("own")
    workspace_id = tenant.workspaces["network"]

    async def attack(tx: Transaction) -> None:
        setting = MOVES[move].format(second=second, network=workspace_id)
        await tx.execute(
            f"UPDATE set_variables SET {setting} WHERE set_id = $1",  # noqa: S608
            first,
        )

    await tenant.deployment.services.database.write(attack)
    for what in ("all-vars", "effective-vars"):
        path = f"/workspaces/{workspace_id}/{what}"
        answer = await tenant.call("reader", "GET", path)
        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["code"]) == (500, "damaged_value")
        assert error["meta"] == {"id": moved["id"], "key": "moved"}


@ON_SQLITE
async def test_a_set_whose_row_was_deleted_by_hand_keeps_no_list_from_its_readers(
    tenant: Tenant,
) -> None:
    """`sqlite3` and its like delete what other rows name: they check that only if they are told."""
    gone = await make_set(tenant, "gone", "network")
    await put(tenant, gone, "region", "eu")
    await tenant.make_variable("own", value="mine")
    file = apsw.Connection(tenant.deployment.config.url.removeprefix("sqlite:///"))
    file.execute("DELETE FROM variable_sets WHERE id = ?", (gone,))
    file.close()
    assert await values(tenant) == {"own": "mine"}
    (one,) = await listed(tenant, "effective-vars")
    assert one["attributes"]["key"] == "own"
