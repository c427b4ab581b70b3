"""What a workspace holds at most: contract §4, `workspace_full`, on both engines."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx

from teamvars import settings, wiring
from teamvars.domain.workspaces import Quota
from teamvars.web.http.app import Application
from tests.house import BASE, House
from tests.world import World, faults, variable_document

FULL = ("422", "workspace_full", "/data")


@asynccontextmanager
async def limited(
    world: World, variables: int | None, value_bytes: int | None
) -> AsyncIterator[World]:
    """The same world, served with that quota."""
    house = world.house
    quota = Quota(variables, value_bytes)
    services = wiring.services(house.services.database, house.keys, quota)
    application = Application(wiring.routes(services, house.keys), services.sessions, ())
    transport = httpx.ASGITransport(application)
    async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
        yield replace(world, house=House(house.config, house.keys, services, client))


async def create(world: World, key: str, value: str = "") -> httpx.Response:
    document = variable_document(key=key, value=value)
    return await world.call("writer", "POST", world.vars_path(), document)


async def update(world: World, id_: str, **attributes: Any) -> httpx.Response:
    document = {"data": {"type": "vars", "id": id_, "attributes": attributes}}
    return await world.call("writer", "PATCH", f"{world.vars_path()}/{id_}", document)


async def test_a_workspace_holds_so_many_variables_and_no_more(world: World) -> None:
    async with limited(world, 2, None) as world:
        first = (await create(world, "a")).json()["data"]
        assert (await create(world, "b")).status_code == 201
        refused = await create(world, "c")
        assert refused.status_code == 422
        assert faults(refused) == [FULL]
        path = f"{world.vars_path()}/{first['id']}"
        assert (await world.call("writer", "DELETE", path)).status_code == 204
        assert (await create(world, "c")).status_code == 201


async def test_a_full_workspace_can_still_be_changed(world: World) -> None:
    async with limited(world, 1, 10) as world:
        made = (await create(world, "a", "0123456789")).json()["data"]
        assert (await update(world, made["id"], value="9876543210")).status_code == 200
        assert (await update(world, made["id"], key="b")).status_code == 200


async def test_each_workspace_counts_for_itself(world: World) -> None:
    async with limited(world, 1, None) as world:
        assert (await create(world, "a")).status_code == 201
        path = world.vars_path("payments")
        answer = await world.call("owner", "POST", path, variable_document())
        assert answer.status_code == 201


async def test_a_workspace_holds_so_many_bytes_of_values_and_no_more(world: World) -> None:
    async with limited(world, None, 10) as world:
        made = (await create(world, "a", "é" * 4)).json()["data"]
        assert faults(await create(world, "b", "123")) == [FULL]
        assert (await create(world, "b", "12")).status_code == 201
        assert faults(await update(world, made["id"], value="é" * 4 + "x")) == [FULL]
        assert (await update(world, made["id"], value="x" * 7)).status_code == 200
        assert (await create(world, "c", "z")).status_code == 201
        assert faults(await create(world, "d", "z")) == [FULL]
        assert (await create(world, "d", "")).status_code == 201


async def test_sensitive_values_count_alike(world: World) -> None:
    async with limited(world, None, 10) as world:
        made = (await create(world, "a", "12345")).json()["data"]
        assert (await update(world, made["id"], sensitive=True)).status_code == 200
        assert faults(await create(world, "b", "123456")) == [FULL]
        assert (await update(world, made["id"], value="1234")).status_code == 200
        assert (await create(world, "b", "123456")).status_code == 201


async def test_what_is_deleted_counts_no_more(world: World) -> None:
    async with limited(world, None, 5) as world:
        made = (await create(world, "a", "12345")).json()["data"]
        await world.call("writer", "DELETE", f"{world.vars_path()}/{made['id']}")
        assert (await create(world, "b", "12345")).status_code == 201


async def test_both_limits_and_other_faults_come_together(world: World) -> None:
    async with limited(world, 0, 2) as world:
        refused = await create(world, "a b", "123")
        expected = ("422", "invalid_value", "/data/attributes/key")
        assert faults(refused) == [FULL, FULL, expected]


async def test_a_workspace_that_is_too_full_by_a_new_limit_may_still_shrink(world: World) -> None:
    async with limited(world, None, None) as generous:
        made = (await create(generous, "a", "123456789")).json()["data"]
        assert (await create(generous, "b", "123456789")).status_code == 201
    async with limited(world, 1, 5) as world:
        assert (await update(world, made["id"], value="12345678")).status_code == 200
        assert faults(await update(world, made["id"], value="123456789")) == [FULL]
        path = f"{world.vars_path()}/{made['id']}"
        assert (await world.call("writer", "DELETE", path)).status_code == 204


def test_zero_lifts_both_limits() -> None:
    assert settings.load(max_variables=0).quota == Quota(None, None)
    assert settings.load().quota == Quota(5000, 16 * 1024 * 1024)
    assert settings.load(max_variables=7).quota == Quota(7, 16 * 1024 * 1024)


async def test_without_limits_more_fits_than_with_them(world: World) -> None:
    async with limited(world, 1, 1) as narrow:
        assert faults(await create(narrow, "a", "12")) == [FULL]
    async with limited(world, None, None) as wide:
        assert (await create(wide, "a", "12")).status_code == 201
        assert (await create(wide, "b", "12")).status_code == 201
