"""Requests that let canaries out: writes of every kind, made, tried and refused."""

import json
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx

from teamvars.variable_files import Format
from tests.faults.canaries import Flock, finds
from tests.support.tenant import JSON_API, Tenant, variable_document


def file_document(file_format: str, content: str) -> Any:
    attributes = {"format": file_format, "content": content}
    return {"data": {"type": "parsed-files", "attributes": attributes}}


async def let_out(tenant: Tenant, flock: Flock, *, keyed: bool) -> list[httpx.Response]:
    """Writes of every kind, accepted and refused; returns the answers.

    With keys each is sent twice. A key is its client's own, and nobody else's business.
    """
    answers = []

    async def send(
        method: str, path: str, document: Any, who: str = "owner", **headers: str
    ) -> httpx.Response:
        if keyed and method in ("POST", "PATCH"):
            flock.hidden.append(uuid4().hex)
            headers["Idempotency-Key"] = flock.hidden[-1]
            answers.append(await tenant.call(who, method, path, document, headers))
        answers.append(await tenant.call(who, method, path, document, headers))
        return answers[-1]

    async def create(key: str, value: object, **attributes: Any) -> str:
        document = variable_document(key=key, value=value, **attributes)
        made = await send("POST", tenant.vars_path(), document)
        return made.json()["data"]["id"] if made.status_code == 201 else ""

    def change(variable_id: str, **attributes: Any) -> Any:
        return {"data": {"type": "vars", "id": variable_id, "attributes": attributes}}

    plain = await create("plain", flock.show(), description=flock.know())
    secret = await create("secret", flock.hide(), sensitive=True)
    env = await create("env", flock.hide(), sensitive=True, category="env")
    code = await create("code", json.dumps(flock.hide()), sensitive=True, hcl=True)
    hidden_later = await create("later", flock.hide())
    path = tenant.vars_path()
    answers.clear()  # `later` was still shown
    await send("PATCH", f"{path}/{hidden_later}", change(hidden_later, sensitive=True))
    await send("PATCH", f"{path}/{secret}", change(secret, value=flock.hide()))
    await send("PATCH", f"{path}/{plain}", change(plain, value=flock.hide(), sensitive=True))
    await send("PATCH", f"{path}/{code}", change(code, value=json.dumps(flock.hide())))
    # Refused, each for another reason.
    await create("secret", flock.hide())
    await create("bad key", flock.hide())
    await create("bad", flock.hide(), category=flock.hide(), hcl="yes", more=flock.hide())
    await create("long", flock.hide() * 10_000)
    await create("syntax", flock.hide(), hcl=True)
    await create("typed", [flock.hide()])
    await send("PATCH", f"{path}/{secret}", change(secret, sensitive=False, value=flock.hide()))
    await send("PATCH", f"{path}/{secret}", change(env, value=flock.hide()))
    await send("POST", path, variable_document(value=flock.hide()), who="reader")
    await send("POST", path, variable_document(value=flock.hide()), who="outsider")
    await send("POST", tenant.linkage_path(), {"data": [{"type": "users", "id": flock.hide()}]})
    for broken in ("{", '{"a":1,"a":%s}', "[%s" * 40):
        content = broken.replace("%s", json.dumps(flock.hide()))
        headers = {
            "Authorization": f"Bearer {tenant.tokens['owner']}",
            "Content-Type": JSON_API,
        }
        answers.append(await tenant.deployment.client.post(path, content=content, headers=headers))
    parse = f"/workspaces/{tenant.workspaces['network']}/actions/parse"
    for file_format in Format:
        await send("POST", parse, file_document(file_format, flock.hide()))
        await send("POST", parse, file_document(file_format, f"a = ${{{flock.hide()}}}"))
        await send("POST", parse, file_document(file_format, flock.hide()), who="reader")
    await send("POST", parse, file_document("json", json.dumps({"a": flock.show()})))
    await send("POST", parse, file_document(flock.hide(), flock.hide()))
    await send("GET", f"{path}?value={quote(flock.hide())}", None)
    for who in ("owner", "reader"):
        await send("GET", path, None, who=who)
        await send("GET", f"{path}/{secret}", None, who=who)
        await send("GET", f"/workspaces/{tenant.workspaces['network']}/audit-events", None, who=who)
        events = f"/organizations/{tenant.organization}/audit-events"
        await send("GET", events, None, who=who)
    await send("DELETE", f"{path}/{env}", None)
    await let_out_many(tenant, flock, send)
    return answers


async def let_out_many(
    tenant: Tenant, flock: Flock, send: Callable[..., Awaitable[httpx.Response]]
) -> None:
    """Applies and copies, made, tried and refused."""
    network, payments = (
        f"/workspaces/{tenant.workspaces[name]}/actions" for name in ("network", "payments")
    )

    def items(*attributes: dict[str, Any], **meta: bool) -> Any:
        data = [
            {"type": "vars", "attributes": {"key": f"many-{n}", "category": "env", **each}}
            for n, each in enumerate(attributes)
        ]
        return {"data": data, "meta": {name.replace("_", "-"): on for name, on in meta.items()}}

    def copies(source: str = "network", **attributes: Any) -> Any:
        linkage = {"data": {"type": "workspaces", "id": tenant.workspaces[source]}}
        data = {"type": "copies", "attributes": attributes, "relationships": {"source": linkage}}
        return {"data": data}

    def hidden(**attributes: Any) -> dict[str, Any]:
        return {"value": flock.hide(), **attributes}

    code = {"category": "tool", "hcl": True}
    made = [
        *({"value": flock.show(), "description": flock.know()}, hidden(sensitive=True)),
        {**code, "value": json.dumps(flock.hide()), "sensitive": True},
    ]
    assert (await send("POST", f"{network}/apply", items(*made))).status_code == 200
    changed = items({}, hidden(), hidden(sensitive=True), prune=False)
    assert (await send("POST", f"{network}/apply", changed)).status_code == 200
    # What is tried or refused is nowhere, the good items included.
    tried = items(hidden(), hidden(), hidden(key="new"), prune=True, dry_run=True)
    assert (await send("POST", f"{network}/apply", tried)).status_code == 200
    for refused in (
        items(hidden(), hidden(key="bad key")),
        items(hidden(), hidden(key=flock.hide()), hidden(category=flock.hide())),
        items(hidden(), hidden(), hidden(key="many-0")),
        items(hidden(), hidden(sensitive=False)),
        items(hidden(), hidden(more=flock.hide())),
        items(hidden(), hidden(value=[flock.hide()])),
        items(hidden(), hidden(key="code", **code)),
        items(hidden(), hidden(value=flock.hide() * 10_000)),
        {**items(hidden()), "meta": {"dry_run": True, "prune": flock.hide()}},
        {"data": [hidden(), flock.hide()], "meta": flock.hide()},
    ):
        answer = await send("POST", f"{network}/apply", refused)
        assert answer.status_code == 422, answer.text
    stale = {"If-Match": f'"{flock.hide().encode().hex()}"'}
    assert (await send("POST", f"{network}/apply", items(hidden()), **stale)).status_code == 412
    for who in ("reader", "outsider"):
        await send("POST", f"{network}/apply", items(hidden()), who=who)
    for content in ('{"data": [{"a": %s}', '{"data": [%s, 1', '{"a": 1, "a": %s}'):
        headers = {"Authorization": f"Bearer {tenant.tokens['owner']}", "Content-Type": JSON_API}
        body = content.replace("%s", json.dumps(flock.hide()))
        path = f"{network}/apply"
        broken = await tenant.deployment.client.post(path, content=body, headers=headers)
        assert broken.status_code == 400
        assert not finds(broken.content, *flock.hidden)
    # Copies of what is hidden, also over what is readable, which is then nowhere to be seen.
    over = items({"key": "many-1", "value": "readable"}, {"key": "gone", "value": "other"})
    await send("POST", f"{payments}/apply", over)
    copied = await send("POST", f"{payments}/copy", copies(**{"on-conflict": "replace"}))
    assert copied.status_code == 200
    await send("POST", f"{payments}/copy", {**copies(), "meta": {"dry-run": True}})
    await send("POST", f"{payments}/copy", copies())
    await send("POST", f"{payments}/copy", copies(keys=[flock.hide()]))
    await send("POST", f"{payments}/copy", copies(keys=[{"key": flock.hide(), "category": "env"}]))
    await send("POST", f"{payments}/copy", copies(**{"on-conflict": flock.hide()}))
    await send("POST", f"{network}/copy", copies("payments"), who="writer")
    await send("GET", tenant.vars_path("payments"), None)
    events = f"/workspaces/{tenant.workspaces['payments']}/audit-events"
    await send("GET", events, None)
    await send("POST", f"{payments}/apply", items(prune=True))
