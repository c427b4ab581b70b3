"""`actions/copy`: variables of one workspace into another (contract §4), on both engines."""

import asyncio
import itertools
from typing import Any

import httpx

from teamvars.domain.applies import MAX_ITEMS
from teamvars.domain.workspaces import Workspace
from teamvars.kernel.variables import Category
from teamvars.pace import Pace
from teamvars.services.planning import by_name, opened
from teamvars.storage import access, streams
from teamvars.storage.database import Transaction
from teamvars.web import copies
from teamvars.web.dialects import STANDARD
from tests.services.calls import caller
from tests.storage.stores import opened as opened_store
from tests.support.tenant import Tenant, faults, linkage_document
from tests.support.turns import turns_of_others
from tests.web.test_applies import apply, audit, item, listed, results

SOURCE = "/data/relationships/source/data/id"


def key(name: str, category: str = "env") -> dict[str, str]:
    """A variable of the source."""
    return {"key": name, "category": category}


async def copy(
    tenant: Tenant,
    *keys: object,
    who: str = "owner",
    source: str = "payments",
    target: str = "network",
    on_conflict: str | None = None,
    dry_run: bool = False,
    versioned: bool = False,
    if_match: str | None = None,
) -> httpx.Response:
    """A copy of these variables, or of all."""
    attributes: dict[str, Any] = {"keys": list(keys)} if keys else {}
    if on_conflict is not None:
        attributes["on-conflict"] = on_conflict
    linkage = {"type": "workspaces", "id": tenant.workspaces.get(source, source)}
    data = {
        "type": "copies",
        "attributes": attributes,
        "relationships": {"source": {"data": linkage}},
    }
    path = f"/workspaces/{tenant.workspaces.get(target, target)}/actions/copy"
    meta = {"dry-run": dry_run, **({"versioned": True} if versioned else {})}
    headers = {} if if_match is None else {"If-Match": if_match}
    return await tenant.call(who, "POST", path, {"data": data, "meta": meta}, headers)


async def fill(tenant: Tenant, workspace: str = "payments", **values: str) -> None:
    """Readable variables of a workspace; those whose names begin with `secret` are sensitive."""
    items = [
        item(name, value=value, sensitive=name.startswith("secret"), description=f"the {name}")
        for name, value in values.items()
    ]
    answer = await apply(tenant, *items, who="owner", workspace=workspace)
    assert answer.status_code == 200


async def let_writers_write(tenant: Tenant, workspace: str) -> None:
    """Gives the writers' team a grant on another workspace."""
    await let(tenant, "writers", "write", workspace)


async def let(tenant: Tenant, team: str, level: str, workspace: str) -> None:
    """Gives a team access to another workspace."""
    relationships = {
        "team": {"data": {"type": "teams", "id": tenant.teams[team]}},
        "workspace": {"data": {"type": "workspaces", "id": tenant.workspaces[workspace]}},
    }
    data = {"type": "team-workspaces", "attributes": {"access": level}}
    document = {"data": {**data, "relationships": relationships}}
    assert (await tenant.call("owner", "POST", "/team-workspaces", document)).status_code == 201


async def value_in_store(tenant: Tenant, name: str, workspace: str = "network") -> str:
    """A sensitive value, by way of the keyring."""
    services = tenant.deployment.services
    tools = services.applies._tools

    async def body(tx: Any) -> str:
        granted = await access.workspace(
            tx, caller(tenant, "owner"), tools.clock(), tenant.workspaces[workspace]
        )
        stored = (await by_name(tx, granted, Pace()))[name, Category.ENV]
        values = await opened(tx, granted, tools.sealer.data_key(granted.key), [stored])
        return values[stored.variable.id]

    return await services.database.query(body)


async def test_all_variables_are_copied_with_what_they_say(tenant: Tenant) -> None:
    await fill(tenant, a="1", secret="s3cret")
    await apply(
        tenant,
        item("zones", category="tool", value='["a"]', hcl=True),
        who="owner",
        workspace="payments",
    )
    answer = await copy(tenant)
    assert sorted(results(answer)) == [
        ("a", "created", []),
        ("secret", "created", []),
        ("zones", "created", []),
    ]
    original, copied = await listed(tenant, "payments"), await listed(tenant)
    for name, shown in copied.items():
        versions = shown.pop("version-id"), original[name].pop("version-id")
        assert versions[0] != versions[1]
    assert copied == original
    assert copied["secret", "env"]["value"] is None
    assert await value_in_store(tenant, "secret") == "s3cret"
    shown_list = await tenant.call("owner", "GET", tenant.vars_path())
    assert answer.headers["ETag"] == shown_list.headers["ETag"]


async def test_some_are_copied_by_name(tenant: Tenant) -> None:
    await fill(tenant, a="1", b="2", c="3")
    answer = await copy(tenant, key("c"), key("a"))
    assert results(answer) == [("c", "created", []), ("a", "created", [])]
    assert (await listed(tenant)).keys() == {("a", "env"), ("c", "env")}


async def test_sensitive_ones_are_for_owners(tenant: Tenant) -> None:
    await fill(tenant, "network", a="1", secret="s3cret", secret_too="s3cret")
    await let_writers_write(tenant, "payments")
    for who in ("writer", "writers-token"):
        refused = await copy(
            tenant, key("a"), key("secret"), who=who, source="network", target="payments"
        )
        assert faults(refused) == [("403", "forbidden", "/data/attributes/keys/1")]
        refused = await copy(tenant, who=who, source="network", target="payments")
        assert faults(refused) == [("403", "forbidden", "/data/attributes/keys")] * 2
        for dry_run in (True, False):
            tried = await copy(
                tenant, key("secret"), who=who, source="network", target="payments", dry_run=dry_run
            )
            assert tried.status_code == 403
    assert await listed(tenant, "payments") == {}
    plain = await copy(tenant, key("a"), who="writer", source="network", target="payments")
    assert results(plain) == [("a", "created", [])]
    organization = await copy(
        tenant, key("secret"), who="organization-token", source="network", target="payments"
    )
    assert results(organization) == [("secret", "created", [])]


async def test_who_is_no_owner_any_more_when_the_copy_is_made_copies_nothing_sensitive(
    tenant: Tenant, store_url: str
) -> None:
    await fill(tenant, secret="s3cret")
    await let_writers_write(tenant, "payments")
    for team in ("owners", "writers"):
        path, document = tenant.linkage_path(team), linkage_document(tenant.users["plain"])
        assert (await tenant.call("owner", "POST", path, document)).status_code == 204

    async def remove_while_the_copy_waits(tx: Transaction) -> asyncio.Task[httpx.Response]:
        await streams.lock(tx, [tenant.workspaces["network"]])
        made = asyncio.create_task(copy(tenant, who="plain"))
        await tx.execute(
            "DELETE FROM team_members WHERE team_id = $1 AND membership_id = $2",
            tenant.teams["owners"],
            tenant.memberships["plain"],
        )
        await asyncio.sleep(0.3)
        assert not made.done(), "it waits for the workspace"
        return made

    async with opened_store(store_url) as other_node:
        made = await other_node.write_in_turns(remove_while_the_copy_waits)
    assert faults(await made) == [("403", "forbidden", "/data/attributes/keys")]
    assert await listed(tenant) == {}


async def test_a_sensitive_copy_stays_so_and_hides_what_it_replaces(tenant: Tenant) -> None:
    await fill(tenant, secret="s3cret", plain="open")
    await fill(tenant, "network", plain="other")
    await apply(tenant, item("secret", value="was readable"), who="owner")
    replaced = await copy(tenant, key("secret"), on_conflict="replace")
    assert results(replaced) == [("secret", "updated", ["value", "description", "sensitive"])]
    assert (await listed(tenant))["secret", "env"]["value"] is None
    assert await value_in_store(tenant, "secret") == "s3cret"
    await apply(tenant, item("plain", value="kept", sensitive=True), who="owner")
    over = await copy(tenant, key("plain"), on_conflict="replace")
    assert results(over) == [("plain", "updated", ["value"])]
    assert (await listed(tenant))["plain", "env"]["sensitive"] is True
    assert await value_in_store(tenant, "plain") == "open"


async def test_a_conflict_is_refused_skipped_or_replaced(tenant: Tenant) -> None:
    await fill(tenant, a="1", b="2")
    await fill(tenant, "network", b="mine")
    before = await listed(tenant)
    for on_conflict in (None, "refuse"):
        refused = await copy(tenant, key("a"), key("b"), on_conflict=on_conflict)
        assert faults(refused) == [("422", "key_taken", "/data/attributes/keys/1")]
    assert await listed(tenant) == before
    skipped = await copy(tenant, on_conflict="skip")
    assert results(skipped) == [("a", "created", []), ("b", "unchanged", [])]
    assert (await listed(tenant))["b", "env"]["value"] == "mine"
    replaced = await copy(tenant, on_conflict="replace")
    assert results(replaced) == [("a", "unchanged", []), ("b", "updated", ["value"])]
    again = await copy(tenant, on_conflict="replace")
    assert {outcome for _, outcome, _ in results(again)} == {"unchanged"}


async def test_of_an_unknown_word_nobody_knows_what_it_means_for_what_is_there(
    tenant: Tenant,
) -> None:
    await fill(tenant, a="1", b="2")
    await fill(tenant, "network", a="mine")
    for names in ((), (key("a"), key("b"))):
        refused = await copy(tenant, *names, on_conflict="skp")
        assert faults(refused) == [("422", "invalid_value", "/data/attributes/on-conflict")]


async def test_an_if_match_keeps_from_copying_over_somebody_elses_change(tenant: Tenant) -> None:
    await fill(tenant, a="1")
    seen = (await tenant.call("owner", "GET", tenant.vars_path())).headers["ETag"]
    await fill(tenant, "network", b="2")
    for dry_run, faulty in itertools.product((False, True), repeat=2):
        on_conflict = "skp" if faulty else None
        stale = await copy(tenant, dry_run=dry_run, on_conflict=on_conflict, if_match=seen)
        assert faults(stale) == [("412", "precondition_failed", None)]
    unseen = await copy(tenant, source="ws-1111111111111111", if_match=seen)
    assert unseen.status_code == 412
    now = (await tenant.call("owner", "GET", tenant.vars_path())).headers["ETag"]
    assert results(await copy(tenant, if_match=now)) == [("a", "created", [])]


async def test_a_dry_run_changes_neither_workspace(tenant: Tenant) -> None:
    await fill(tenant, a="1", secret="s3cret")
    trails = await audit(tenant), await audit(tenant, "payments")
    tried = await copy(tenant, dry_run=True)
    assert tried.json()["meta"]["dry-run"] is True
    assert (await audit(tenant), await audit(tenant, "payments")) == trails
    assert results(await copy(tenant)) == results(tried)


async def test_both_workspaces_trails_say_what_was_copied(tenant: Tenant) -> None:
    await fill(tenant, a="1", b="2")
    await fill(tenant, "network", b="2")
    originals = {
        each["attributes"]["key"]: each["id"] for each in await tenant.variables("payments")
    }
    before = len(await audit(tenant)), len(await audit(tenant, "payments"))
    await copy(tenant, on_conflict="replace")
    made = (await audit(tenant))[: -before[0]]
    assert [(each["action"], each["details"]["copy-of"]) for each in made] == [
        ("variable.create", originals["a"])
    ]
    noted = (await audit(tenant, "payments"))[: -before[1]]
    assert [(each["action"], each["details"]["key"], each["details"]["to"]) for each in noted] == [
        ("variable.copy", "a", tenant.workspaces["network"])
    ]
    assert (await tenant.deployment.services.audit.verify())[1] == []


async def test_a_source_that_is_not_seen_is_as_one_that_is_not_there(tenant: Tenant) -> None:
    answers = [
        await copy(tenant, who=who, source=source)
        for who, source in (
            ("writer", "payments"),
            ("writer", "ws-1111111111111111"),
            ("owner", tenant.other_workspace),
        )
    ]
    for answer in answers:
        (error,) = answer.json()["errors"]
        assert (error["status"], error["code"]) == ("404", "not_found")
        assert error["source"] == {"pointer": SOURCE}
    assert len({answer.json()["errors"][0]["detail"] for answer in answers}) == 1


async def test_who_may_read_both_workspaces_copies_nothing(tenant: Tenant) -> None:
    await fill(tenant, a="1")
    await let(tenant, "readers", "read", "payments")
    for dry_run in (True, False):
        answer = await copy(tenant, who="reader", dry_run=dry_run)
        assert faults(answer) == [("403", "forbidden", None)]
    assert await listed(tenant) == {}


async def test_nothing_leaves_an_organization_even_by_who_owns_two(tenant: Tenant) -> None:
    await join_other_organization(tenant, "owner")
    seen = await tenant.call("owner", "GET", f"/workspaces/{tenant.other_workspace}/vars")
    assert seen.status_code == 200, "the source is one that the caller may read"
    await fill(tenant, "network", a="1")
    directions = [
        (tenant.other_workspace, "payments"),
        ("network", tenant.other_workspace),
    ]
    unknown = await copy(tenant, source="ws-1111111111111111")
    for source, target in directions:
        for dry_run in (True, False):
            answer = await copy(tenant, source=source, target=target, dry_run=dry_run)
            assert (answer.status_code, faults(answer)) == (unknown.status_code, faults(unknown))


async def join_other_organization(tenant: Tenant, who: str) -> None:
    """Makes somebody an owner of the other organization as well."""
    services, invited = tenant.deployment.services, tenant.users[who]
    email = (await services.accounts.show(invited)).user.email
    data = {
        "type": "organization-memberships",
        "attributes": {"email": email},
        "relationships": {"teams": {"data": [{"type": "teams", "id": tenant.other_team}]}},
    }
    path = f"/organizations/{tenant.other_organization}/organization-memberships"
    made = await tenant.call("outsider", "POST", path, {"data": data})
    assert made.status_code == 201, made.text
    accept = f"/organization-memberships/{made.json()['data']['id']}/actions/accept"
    assert (await tenant.call(who, "POST", accept)).status_code == 200


async def test_what_is_wrong_with_a_copy_is_told_at_its_place(tenant: Tenant) -> None:
    await fill(tenant, a="1")
    answer = await copy(
        tenant, key("a"), key("no"), key("a"), 5, {"key": "a"}, key("a", "x"),
        {**key("a"), "value": ""}, on_conflict="overwrite",
    )  # fmt: skip
    assert faults(answer) == [
        ("422", "invalid_value", "/data/attributes/keys/1"),
        ("422", "key_taken", "/data/attributes/keys/2/key"),
        ("422", "wrong_type", "/data/attributes/keys/3"),
        ("422", "missing_member", "/data/attributes/keys/4/category"),
        ("422", "invalid_value", "/data/attributes/keys/5/category"),
        ("422", "key_taken", "/data/attributes/keys/6/key"),
        ("422", "unknown_attribute", "/data/attributes/keys/6/value"),
        ("422", "invalid_value", "/data/attributes/on-conflict"),
    ]
    assert await listed(tenant) == {}
    twice = ("422", "key_taken", "/data/attributes/keys/1/key")
    itself = await copy(tenant, key("a"), key("a"), source="network")
    assert faults(itself) == [twice, ("422", "invalid_value", SOURCE)]
    unseen = await copy(tenant, key("a"), key("a"), source="ws-1111111111111111")
    assert faults(unseen) == [twice, ("404", "not_found", SOURCE)]
    path = f"/workspaces/{tenant.workspaces['network']}/actions/copy"
    unsaid = await tenant.call("owner", "POST", path, {"data": {"type": "copies"}})
    assert faults(unsaid) == [("422", "missing_member", "/data/relationships")]
    for linkage, code in (({}, "missing_member"), ({"id": 5}, "wrong_type")):
        source = {"data": {"type": "varsets", **linkage}}
        data = {"type": "copies", "relationships": {"source": source}}
        assert faults(await tenant.call("owner", "POST", path, {"data": data})) == [
            ("422", code, SOURCE)
        ]


async def test_reading_many_bad_names_leaves_the_loop_to_others() -> None:
    names = [{f"unknown-{n}": 1 for n in range(8)}] * MAX_ITEMS
    data = {"type": "copies", "attributes": {"keys": names}}
    draft, turns = await turns_of_others(copies.draft({"data": data}, STANDARD))
    assert draft.faults
    assert turns > 0


async def test_the_targets_quota_counts(tenant: Tenant) -> None:
    limit = tenant.deployment.services.applies._house.quotas[Workspace].variables or 0
    await apply(tenant, *(item(f"k{n}") for n in range(limit)), who="owner")
    await fill(tenant, a="1")
    assert faults(await copy(tenant)) == [("422", "workspace_full", "/data")]


async def test_copies_both_ways_at_once_do_not_wait_for_each_other_for_ever(
    tenant: Tenant,
) -> None:
    await fill(tenant, **{f"a{n}": "1" for n in range(50)})
    await fill(tenant, "network", **{f"b{n}": "2" for n in range(50)})
    ways = ("payments", "network"), ("network", "payments")
    answers = await asyncio.gather(
        *(
            copy(tenant, source=source, target=target, on_conflict="replace")
            for source, target in ways * 4
        )
    )
    assert {answer.status_code for answer in answers} == {200}
    assert (await listed(tenant)).keys() == (await listed(tenant, "payments")).keys()
    assert (await tenant.deployment.services.audit.verify())[1] == []
