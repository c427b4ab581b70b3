"""Lists that look at many rows, on SQLite: nobody else waits for them."""

import asyncio
import threading
from types import ModuleType
from typing import Any

import pytest

from teamvars.storage import projects, tags, team_access, workspaces
from tests.support.engines import ON_SQLITE
from tests.support.patience import HANGS
from tests.support.tenant import Tenant


@ON_SQLITE
@pytest.mark.parametrize(
    ("path", "module", "name"),
    [
        ("/organizations/{organization}/workspaces", workspaces, "find_visible"),
        ("/organizations/{organization}/projects", projects, "find_visible"),
        ("/organizations/{organization}/tags", tags, "find_visible"),
        ("/workspaces/{workspace}/access", team_access, "principals"),
        ("/team-workspaces", team_access, "find_visible"),
        ("/team-projects", team_access, "find_visible_on_projects"),
    ],
)
async def test_others_are_answered_meanwhile(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, path: str, module: ModuleType, name: str
) -> None:
    loop, find = asyncio.get_running_loop(), getattr(module, name)
    looks, may_end = asyncio.Event(), threading.Event()

    async def found(*asked: Any) -> Any:
        loop.call_soon_threadsafe(looks.set)
        assert may_end.wait(HANGS)
        return await find(*asked)

    monkeypatch.setattr(module, name, found)
    workspace = tenant.workspaces["payments"]
    where = path.format(organization=tenant.organization, workspace=workspace)
    listed = asyncio.create_task(tenant.call("owner", "GET", where))
    await looks.wait()
    beside = await tenant.call("owner", "GET", f"/workspaces/{workspace}/vars")
    may_end.set()
    assert (beside.status_code, (await listed).status_code) == (200, 200)
