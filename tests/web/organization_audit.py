"""An organization's audit events, page by page, and changes for them to tell of."""

import random
from typing import Any

from tests.support.tenant import Tenant, linkage_document

Event = dict[str, Any]


def path(tenant: Tenant, query: str = "") -> str:
    return f"/organizations/{tenant.organization}/audit-events?{query}"


async def page(tenant: Tenant, query: str = "", who: str = "owner") -> dict[str, Any]:
    answer = await tenant.call(who, "GET", path(tenant, query))
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


async def walk(tenant: Tenant, query: str = "", first: dict[str, Any] | None = None) -> list[Event]:
    """All events, from page to page."""
    document = first or await page(tenant, query)
    found: list[Event] = document["data"]
    while following := document["links"]["next"]:
        answer = await tenant.call("owner", "GET", following.removeprefix("/api/v2"))
        document = answer.json()
        found += document["data"]
    return found


def ids(events: list[Event]) -> list[str]:
    return [event["id"] for event in events]


def told(events: list[Event]) -> list[str]:
    """What happened and to what."""
    return [
        f"{one['attributes']['action']} {one['attributes']['details'].get('key', '')}".strip()
        for one in events
    ]


async def change(tenant: Tenant, method: str, where: str, document: object = None) -> Any:
    answer = await tenant.call("owner", method, where, document)
    assert answer.status_code < 300, answer.text
    return answer.json()["data"] if answer.content else None


def resource(type_: str, **attributes: object) -> dict[str, Any]:
    return {"data": {"type": type_, "attributes": attributes}}


async def make(tenant: Tenant, type_: str, name: str) -> str:
    """The path of a new team or workspace of the organization."""
    where = f"/organizations/{tenant.organization}/{type_}"
    return f"/{type_}/{(await change(tenant, 'POST', where, resource(type_, name=name)))['id']}"


async def change_much(tenant: Tenant) -> None:
    """Changes of every kind in an order of chance, to what stays and to what goes."""
    chance = random.Random(tenant.organization)
    for number in range(12):
        match chance.randrange(5):
            case 0:
                where = await make(tenant, "workspaces", f"brief-{number}")
                variable = resource("vars", key="a", value="", category="env", description="")
                await change(tenant, "POST", f"{where}/vars", variable)
                await change(tenant, "DELETE", where)
            case 1:
                where = await make(tenant, "teams", f"brief-{number}")
                await change(tenant, "POST", f"{where}/authentication-token")
                await change(tenant, "DELETE", where)
            case 2:
                document = linkage_document(tenant.users["plain"])
                await change(tenant, "POST", tenant.linkage_path(), document)
                await change(tenant, "DELETE", tenant.linkage_path(), document)
            case 3:
                made = await tenant.make_variable(f"key-{number}")
                await change(tenant, "DELETE", f"{tenant.vars_path()}/{made['id']}")
            case _:
                where = f"/organizations/{tenant.organization}/organization-memberships"
                attributes = {"email": f"{number}-{tenant.organization}@example.com"}
                await change(
                    tenant, "POST", where, resource("organization-memberships", **attributes)
                )


async def change_much_more(tenant: Tenant) -> None:
    for number in range(6):
        await tenant.make_variable(f"more-{number}")
