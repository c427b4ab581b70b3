"""What the parameters of paths stand for: in a tenant, or nothing at all.

A new resource has its example in `IDS` of web/examples.py, and its id in `ids_of`.
"""

import re
from collections.abc import Mapping
from uuid import uuid4

from teamvars.web.examples import IDS
from tests.support.tenant import Tenant, linkage_document, variable_document

Ids = Mapping[str, str]

MISSING: Ids = {
    name: f"{example.partition('-')[0]}-1111111111111111" if "-" in example else f"no-{name}"
    for name, example in IDS.items()
}
"""Of each kind one that is well formed, and that nothing has."""


def ids_at_hand(tenant: Tenant) -> dict[str, str]:
    """Those of what every tenant has; nothing has the others."""
    return {
        **MISSING,
        "organization": tenant.organization,
        "workspace": "network",
        "workspace_id": tenant.workspaces["network"],
        "project_id": tenant.project,
        "source_id": tenant.workspaces["payments"],
        "team_id": tenant.teams["crew"],
        "user_id": tenant.users["plain"],
        "membership_id": tenant.memberships["plain"],
    }


async def ids_of(tenant: Tenant) -> dict[str, str]:
    """Of each kind one that the tenant has, but for tokens. The variable is a new one."""
    ids = ids_at_hand(tenant)
    path = f"/team-workspaces?filter[workspace][id]={ids['workspace_id']}"
    accesses = (await tenant.call("owner", "GET", path)).json()["data"]
    variable = await tenant.make_variable(f"key-{uuid4()}")
    return {
        **ids,
        **await set_of(tenant, "owner", tenant.organization, ids["workspace_id"]),
        "variable_id": variable["id"],
        "team_workspace_id": accesses[0]["id"],
        "team_project_id": await _project_access_of(tenant),
    }


async def _project_access_of(tenant: Tenant) -> str:
    """An access to the project that gives nothing."""
    path = f"/team-projects?filter[team][id]={tenant.teams['writers']}"
    there = (await tenant.call("owner", "GET", path)).json()["data"]
    if not there:
        relationships = {
            "team": {"data": {"type": "teams", "id": tenant.teams["writers"]}},
            "project": {"data": {"type": "projects", "id": tenant.project}},
        }
        said = {"attributes": {"access": "custom"}, "relationships": relationships}
        document = {"data": {"type": "team-projects", **said}}
        there = [(await tenant.call("owner", "POST", "/team-projects", document)).json()["data"]]
    id_: str = there[0]["id"]
    return id_


async def set_of(tenant: Tenant, who: str, organization: str, workspace_id: str) -> dict[str, str]:
    """A set that is attached to a workspace, and a new variable of it."""
    path, attributes = f"/organizations/{organization}/varsets", {"name": "at hand"}
    there = (await tenant.call(who, "GET", f"{path}?q=at hand")).json()["data"]
    if not there:
        linked = linkage_document(workspace_id, type_="workspaces")
        data = {
            "type": "varsets",
            "attributes": attributes,
            "relationships": {"workspaces": linked},
        }
        there = [(await tenant.call(who, "POST", path, {"data": data})).json()["data"]]
    set_id: str = there[0]["id"]
    document = variable_document(key=f"key-{uuid4()}")
    made = await tenant.call(who, "POST", f"/varsets/{set_id}/relationships/vars", document)
    return {"varset_id": set_id, "set_variable_id": made.json()["data"]["id"]}


async def tag_of(tenant: Tenant, who: str, workspace_id: str) -> str:
    """A tag that the workspace has then."""
    path = f"/workspaces/{workspace_id}/relationships/tags"
    named = {"data": [{"type": "tags", "attributes": {"name": "tagged"}}]}
    await tenant.call(who, "POST", path, named)
    id_: str = (await tenant.call(who, "GET", path)).json()["data"][0]["id"]
    return id_


def filled(template: str, ids: Ids) -> str:
    """The path of a template."""
    lacking = set(re.findall(r"\{(\w+)\}", template)) - ids.keys()
    assert not lacking, f"{', '.join(lacking)}: there is none in IDS of web/examples.py"
    return template.format(**ids)
