"""What clients set of a workspace is kept and shown, or refused: nothing of it is lost silently."""

from pathlib import Path
from typing import Any

import pytest

from teamvars.domain.client_settings import MAX_CHARACTERS
from teamvars.domain.workspaces import SETTINGS
from teamvars.storage.database import Transaction
from tests.support.tenant import Tenant, faults
from tests.web.test_workspaces import all_path, attributes_of, create, document, path

DOCS = Path(__file__).parents[2] / "docs"
OTHERS: dict[str, Any] = {
    "description": "What it is for.\nSecond line: größer",
    "allow-destroy-plan": False,
    "auto-apply": True,
    "auto-apply-run-trigger": True,
    "file-triggers-enabled": False,
    "trigger-prefixes": ["/modules", "shared"],
    "working-directory": "network/eu",
    "queue-all-runs": False,
    "speculative-enabled": False,
    "structured-run-output-enabled": False,
    "global-remote-state": True,
    "project-remote-state": True,
    "source-name": "a pipeline",
    "source-url": "https://ci.example/jobs/1",
    "setting-overwrites": {"execution-mode": False, "agent-pool": False},
}
"""Of every setting that is kept another value than its default, but for the patterns."""
NOT_OFFERED: dict[str, Any] = {
    "assessments-enabled": True,
    "auto-destroy-at": "2030-01-01T00:00:00Z",
    "auto-destroy-activity-duration": "14d",
    "inherits-project-auto-destroy": True,
    "hyok-enabled": True,
    "agent-pool-id": "apool-1",
    "vcs-repo": {"identifier": "acme/network", "ingress-submodules": True},
    "migration-environment": "acme/old",
    "execution-mode": "agent",
}


def said(attributes: dict[str, Any]) -> dict[str, Any]:
    return {"data": {"type": "workspaces", "attributes": attributes}}


def test_every_setting_is_in_one_of_the_tables() -> None:
    named = {name.partition("/")[0] for name in SETTINGS.by_name}
    assert OTHERS.keys() | NOT_OFFERED.keys() | {"trigger-patterns"} == named | {"execution-mode"}


def test_the_document_names_every_setting() -> None:
    text = (DOCS / "api.md").read_text()
    section = text[text.index("**Settings.**") : text.index("## Tokens")]
    assert all(f"`{name.rpartition('/')[2]}`" in section for name in SETTINGS.by_name)


async def test_every_setting_is_kept_as_it_was_sent_and_told_by_its_name(tenant: Tenant) -> None:
    before = await attributes_of(tenant)
    assert all(before[name] != value for name, value in OTHERS.items())
    changed = await tenant.call("owner", "PATCH", path(tenant), said(OTHERS))
    assert changed.status_code == 200, changed.text
    for shown in (changed.json()["data"]["attributes"], await attributes_of(tenant, "reader")):
        assert OTHERS.items() <= shown.items()
    events = await tenant.call("owner", "GET", f"{path(tenant)}/audit-events")
    newest = events.json()["data"][0]["attributes"]
    assert newest["action"] == "workspace.update"
    told = {name.partition("/")[0] for name in newest["details"]["changed"]}
    assert told == OTHERS.keys()
    assert "größer" not in events.text
    assert await tenant.deployment.audit_holds()

    made = await tenant.call("owner", "POST", all_path(tenant), said({**OTHERS, "name": "made"}))
    assert OTHERS.items() <= made.json()["data"]["attributes"].items()


async def test_what_is_left_out_stays_and_null_is_the_default(tenant: Tenant) -> None:
    await tenant.call("owner", "PATCH", path(tenant), said(OTHERS))
    await tenant.call("owner", "PATCH", path(tenant), said({"auto-apply": False}))
    shown = await attributes_of(tenant)
    assert shown.items() >= {**OTHERS, "auto-apply": False}.items()
    nothing = {
        name: None for name, value in OTHERS.items() if not isinstance(value, (bool, dict))
    } | {"vcs-repo": None, "auto-destroy-at": None, "auto-destroy-activity-duration": None}
    answer = await tenant.call("owner", "PATCH", path(tenant), said(nothing))
    assert answer.status_code == 200, answer.text
    shown = answer.json()["data"]["attributes"]
    assert shown["trigger-prefixes"] == []
    assert {shown[name] for name in ("description", "source-url", "working-directory")} == {""}
    assert shown["vcs-repo"] is shown["auto-destroy-at"] is None


async def test_patterns_take_the_place_of_prefixes(tenant: Tenant) -> None:
    for name, other in (
        ("trigger-prefixes", "trigger-patterns"),
        ("trigger-patterns", "trigger-prefixes"),
    ):
        await tenant.call("owner", "PATCH", path(tenant), said({name: ["a"]}))
        shown = await attributes_of(tenant)
        assert (shown[name], shown[other]) == (["a"], [])
        await tenant.call("owner", "PATCH", path(tenant), said({other: []}))
        assert (await attributes_of(tenant))[name] == []


async def test_patterns_need_files_that_trigger_a_run(tenant: Tenant) -> None:
    patterns, triggers = {"trigger-patterns": ["a"]}, {"file-triggers-enabled": False}
    at = "/data/attributes/trigger-patterns"
    made = said({**patterns, **triggers, "name": "made"})
    refused = await tenant.call("owner", "POST", all_path(tenant), made)
    assert faults(refused) == [("422", "invalid_value", at)]
    assert (await tenant.call("owner", "PATCH", path(tenant), said(triggers))).is_success
    refused = await tenant.call("owner", "PATCH", path(tenant), said(patterns))
    assert faults(refused) == [("422", "invalid_value", at)]
    none = said({"trigger-patterns": [], "trigger-prefixes": ["a"]})
    assert (await tenant.call("owner", "PATCH", path(tenant), none)).is_success
    both = said({**patterns, "file-triggers-enabled": True})
    assert (await tenant.call("owner", "PATCH", path(tenant), both)).is_success
    refused = await tenant.call("owner", "PATCH", path(tenant), said(triggers))
    assert faults(refused) == [("422", "invalid_value", "/data/attributes/file-triggers-enabled")]
    other = said({"description": "another"})
    assert (await tenant.call("owner", "PATCH", path(tenant), other)).is_success


async def test_what_promises_something_that_does_not_happen_is_refused_all_at_once(
    tenant: Tenant,
) -> None:
    for method, where in (("POST", all_path(tenant)), ("PATCH", path(tenant))):
        answer = await tenant.call("owner", method, where, said({**NOT_OFFERED, "name": "made"}))
        assert sorted(faults(answer)) == sorted(
            ("422", "not_offered", f"/data/attributes/{name}") for name in NOT_OFFERED
        )
    assert (await tenant.call("owner", "GET", f"{all_path(tenant)}/made")).status_code == 404
    nothing: dict[str, Any] = {
        name: False if value is True else None for name, value in NOT_OFFERED.items()
    }
    nothing |= {"execution-mode": "remote", "agent-pool-id": "", "migration-environment": ""}
    accepted = await tenant.call("owner", "PATCH", path(tenant), said(nothing))
    assert accepted.status_code == 200, accepted.text


async def test_a_setting_has_its_json_type(tenant: Tenant) -> None:
    wrong: dict[str, Any] = {
        name: 7 if not isinstance(value, dict) else {"execution-mode": 7}
        for name, value in OTHERS.items()
    }
    wrong["trigger-prefixes"] = ["a", 7]
    at = {"setting-overwrites": "setting-overwrites/execution-mode"}
    at["trigger-prefixes"] = "trigger-prefixes/1"
    answer = await tenant.call("owner", "PATCH", path(tenant), said(wrong))
    assert sorted(faults(answer)) == sorted(
        ("422", "wrong_type", f"/data/attributes/{at.get(name, name)}") for name in wrong
    )
    assert faults(
        await tenant.call("owner", "PATCH", path(tenant), said({"auto-apply": None}))
    ) == [("422", "wrong_type", "/data/attributes/auto-apply")]


async def test_a_member_of_the_wrong_type_hides_no_fault_of_the_others(tenant: Tenant) -> None:
    wrong = {
        "trigger-prefixes": ["a\nb", 7, "fine", "x" * (MAX_CHARACTERS + 1)],
        "tag-names": ["-eu", None, "eu", ""],
    }
    answer = await tenant.call("owner", "PATCH", path(tenant), said(wrong))
    at = "/data/attributes"
    assert faults(answer) == [
        ("422", "invalid_value", f"{at}/trigger-prefixes/0"),
        ("422", "wrong_type", f"{at}/trigger-prefixes/1"),
        ("422", "invalid_value", f"{at}/trigger-prefixes/3"),
        ("422", "invalid_value", f"{at}/tag-names/0"),
        ("422", "wrong_type", f"{at}/tag-names/1"),
        ("422", "invalid_value", f"{at}/tag-names/3"),
    ]


async def test_a_new_workspace_has_what_clients_take_for_the_default(tenant: Tenant) -> None:
    made = (await create(tenant, name="fresh")).json()["data"]["attributes"]
    assert made["queue-all-runs"] is False
    assert made["setting-overwrites"] == {"execution-mode": False, "agent-pool": False}
    own = (await create(tenant, name="own", execution_mode="local")).json()["data"]["attributes"]
    assert own["setting-overwrites"] == {"execution-mode": True, "agent-pool": True}
    assert (own["operations"], own["execution-mode"]) == (False, "local")


@pytest.mark.parametrize(
    "stored", ["{", "[]", '{"auto-apply": {}}', '{"later": 7}', '{"later":' + "[" * 10_000]
)
async def test_stored_settings_that_cannot_be_read_hide_no_workspace(
    tenant: Tenant, stored: str
) -> None:
    async def break_it(tx: Transaction) -> None:
        sql = "UPDATE workspaces SET settings = $1 WHERE id = $2"
        await tx.execute(sql, stored, tenant.workspaces["network"])

    await tenant.deployment.services.database.write(break_it)
    assert (await attributes_of(tenant))["auto-apply"] is False
    answer = await tenant.call("owner", "PATCH", path(tenant), document(auto_apply=True))
    assert answer.json()["data"]["attributes"]["auto-apply"] is True
