"""What audit events say of who acted, with which token, and of what changed (contract §7)."""

from typing import Any

from tests.support.deployment import operator
from tests.support.tenant import Tenant, linkage_document, variable_document


async def newest(tenant: Tenant, who: str = "owner") -> dict[str, Any]:
    """The attributes of the newest change of `network`."""
    path = f"/workspaces/{tenant.workspaces['network']}/audit-events"
    answer = await tenant.call(who, "GET", path)
    assert answer.status_code == 200, answer.text
    attributes: dict[str, Any] = answer.json()["data"][0]["attributes"]
    return attributes


async def change(tenant: Tenant, who: str, key: str = "changed") -> dict[str, Any]:
    """A variable of `network`, made by that caller."""
    answer = await tenant.call(who, "POST", tenant.vars_path(), variable_document(key=key))
    assert answer.status_code == 201, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


async def username(tenant: Tenant, who: str) -> str:
    answer = await tenant.call(who, "GET", "/account/details")
    name: str = answer.json()["data"]["attributes"]["username"]
    return name


async def new_token(tenant: Tenant, path: str, who: str, description: str | None) -> str:
    """A token made over HTTP, as a caller of its own; returns its id."""
    attributes = {} if description is None else {"description": description}
    document = {"data": {"type": "authentication-tokens", "attributes": attributes}}
    made = await tenant.call(who, "POST", path, document)
    assert made.status_code == 201, made.text
    data = made.json()["data"]
    tenant.tokens["made"] = data["attributes"]["token"]  # type: ignore[index]
    id_: str = data["id"]
    return id_


async def token_of_user(tenant: Tenant, who: str, description: str | None) -> str:
    path = f"/users/{tenant.users[who]}/authentication-tokens"
    return await new_token(tenant, path, who, description)


async def test_a_user_a_team_and_an_organization_are_named(tenant: Tenant) -> None:
    expected = {
        "writer": await username(tenant, "writer"),
        "writers-token": "writers",
        "organization-token": tenant.organization,
    }
    for who, name in expected.items():
        await change(tenant, who, key=f"by-{who}")
        for reader in ("owner", "reader", "organization-token"):
            assert (await newest(tenant, reader))["actor-name"] == name


async def test_who_was_renamed_has_the_new_name_and_an_operator_has_none(tenant: Tenant) -> None:
    await change(tenant, "writer")
    before = await username(tenant, "writer")
    accounts = tenant.deployment.services.accounts
    await accounts.rename(operator(), before, f"new-{before}")
    assert (await newest(tenant))["actor-name"] == f"new-{before}"
    path = f"/teams/{tenant.teams['writers']}/audit-events"
    (*_, first) = (await tenant.call("owner", "GET", path)).json()["data"]
    assert first["attributes"]["actor"]["type"] == "operator"
    assert first["attributes"]["actor-name"] is None
    assert first["attributes"]["token-description"] is None


async def test_who_has_left_is_not_named_and_who_is_invited_goes_by_the_invitation(
    tenant: Tenant,
) -> None:
    await token_of_user(tenant, "writer", "the writer's laptop")
    await change(tenant, "made")
    at_first = await newest(tenant, "reader")
    assert at_first["actor-name"] == await username(tenant, "writer")
    assert at_first["token-description"] == "the writer's laptop"

    membership = f"/organization-memberships/{tenant.memberships['writer']}"
    assert (await tenant.call("owner", "DELETE", membership)).status_code == 204
    left = await newest(tenant, "reader")
    assert (left["actor-name"], left["token-description"]) == (None, None)
    assert left["actor"]["id"] == tenant.users["writer"]

    account = (await tenant.call("writer", "GET", "/account/details")).json()
    email = account["data"]["attributes"]["email"]
    said = email.upper()
    document = {"data": {"type": "organization-memberships", "attributes": {"email": said}}}
    path = f"/organizations/{tenant.organization}/organization-memberships"
    invited = await tenant.call("owner", "POST", path, document)
    assert invited.status_code == 201, invited.text
    again = await newest(tenant, "reader")
    assert (again["actor-name"], again["token-description"]) == (said, None)

    accept = f"/organization-memberships/{invited.json()['data']['id']}/actions/accept"
    assert (await tenant.call("writer", "POST", accept)).status_code == 200
    assert await newest(tenant, "reader") == at_first


async def test_a_secret_team_and_its_token_are_told_to_owners_alone(tenant: Tenant) -> None:
    path = f"/teams/{tenant.teams['writers']}"
    await new_token(tenant, f"{path}/authentication-tokens", "owner", "of the pipeline")
    await change(tenant, "made")
    told = ("writers", "of the pipeline")
    for reader in ("owner", "reader"):
        shown = await newest(tenant, reader)
        assert (shown["actor-name"], shown["token-description"]) == told
    hide = {"data": {"type": "teams", "attributes": {"visibility": "secret"}}}
    assert (await tenant.call("owner", "PATCH", path, hide)).status_code == 200
    for reader, expected in {"owner": told, "reader": (None, None)}.items():
        shown = await newest(tenant, reader)
        assert (shown["actor-name"], shown["token-description"]) == expected


async def test_colleagues_are_not_told_whence_somebody_signed_in(tenant: Tenant) -> None:
    await token_of_user(tenant, "writer", "signed in with One from 192.0.2.7, Firefox on Linux")
    await change(tenant, "made")
    for who in ("reader", "owner"):
        assert (await newest(tenant, who))["token-description"] == "a sign-in"


async def test_a_token_without_a_description_or_that_is_gone_has_none(tenant: Tenant) -> None:
    for description in (None, ""):
        await token_of_user(tenant, "writer", description)
        await change(tenant, "made", key=f"with-{description!r}")
        assert (await newest(tenant))["token-description"] is None
    id_ = await token_of_user(tenant, "writer", "short-lived")
    await change(tenant, "made", key="last")
    assert (await newest(tenant))["token-description"] == "short-lived"
    assert (await tenant.call("writer", "DELETE", f"/authentication-tokens/{id_}")).is_success
    shown = await newest(tenant)
    assert (shown["token-description"], shown["token-id"]) == (None, id_)
    assert shown["actor-name"] == await username(tenant, "writer")


async def test_changed_names_the_attributes_that_an_update_made_others(tenant: Tenant) -> None:
    made = await change(tenant, "writer")
    assert (await newest(tenant))["changed"] == []
    one = f"{tenant.vars_path()}/{made['id']}"
    attributes = {"key": "renamed", "value": "other", "description": "where"}
    document = {"data": {"type": "vars", "id": made["id"], "attributes": attributes}}
    await tenant.call("writer", "PATCH", one, document)
    assert (await newest(tenant))["changed"] == ["key", "value"]
    await tenant.call("writer", "DELETE", one)
    assert (await newest(tenant))["changed"] == []


async def test_a_team_s_changes_name_who_made_them(tenant: Tenant) -> None:
    document = linkage_document(tenant.users["plain"])
    await tenant.call("manager", "POST", tenant.linkage_path(), document)
    path = f"/teams/{tenant.teams['crew']}/audit-events"
    (event, *_) = (await tenant.call("manager", "GET", path)).json()["data"]
    assert event["attributes"]["actor-name"] == await username(tenant, "manager")


async def test_all_actors_of_a_page_are_one_statement(
    tenant: Tenant, statements: list[str]
) -> None:
    costs = []
    for who in ("owner", "writer", "writers-token", "organization-token", "owners-token"):
        await change(tenant, who, key=f"by-{who}")
        statements.clear()
        await newest(tenant)
        costs.append(len(statements))
    assert costs == [3] * 5


async def test_an_actor_s_id_that_somebody_has_touched_hides_nothing(tenant: Tenant) -> None:
    for number in range(3):
        await change(tenant, "writer", key=f"key-{number}")
    workspace_id = tenant.workspaces["network"]

    async def touch(actor_id: str) -> None:
        await tenant.deployment.services.database.write(
            lambda tx: tx.execute(
                "UPDATE audit_entries SET actor_id = $2 WHERE stream_id = $1 AND sequence = 2",
                workspace_id,
                actor_id,
            )
        )

    await touch("\u202e no id")
    answer = await tenant.call("owner", "GET", f"/workspaces/{workspace_id}/audit-events")
    await touch(tenant.users["writer"])
    names = [one["attributes"]["actor-name"] for one in answer.json()["data"]]
    assert names == [await username(tenant, "writer"), None, await username(tenant, "writer")]
