"""Every attribute of a variable stands in each place that names them, and every write keeps it.

A new one begins as a field of `Variable` and of `VariableDraft`, without a default in the former.
What mypy does not tell then, these tests do.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest

from teamvars import console
from teamvars.cli.client import secrecy
from teamvars.cli.client import variables as client
from teamvars.cli.client.changes import Wanted
from teamvars.cli.client.contents import Contents, Owner
from teamvars.cli.client.holdings import StatedVariable
from teamvars.domain.variables import ATTRIBUTES, UNNOTICED, Variable
from teamvars.web.applies import ItemAttributes
from teamvars.web.variables.documents import VariableAttributes
from teamvars.web.variables.effective import EffectiveAttributes
from teamvars.web.variables.requests import NewVariableAttributes, VariableChanges
from tests.faults.machine import strategies
from tests.faults.model import variables as model
from tests.security.samples import VARIABLE
from tests.support.ids import set_of
from tests.support.tenant import Tenant, faults, variable_document

ASSIGNED = {"id", "owner_id", "version_id", "created_at"}
"""What the service says of a variable, and nobody asks for."""
NAMES_A_VARIABLE = {"key", "category"}
SAID = (set(Variable.__struct_fields__) - ASSIGNED) | set(ATTRIBUTES)

SAMPLES: Mapping[str, tuple[object, object]] = {
    "value": ("1", "2"),
    "description": ("first", "second"),
    "hcl": (False, True),
    "sensitive": (False, True),
}
"""Of each attribute that an update or an apply may change, what it is before and after."""


def as_documents_say(name: str) -> str:
    """What documents call the attribute that a field of that name has."""
    return name.replace("_", "-")


def names_of_the_console() -> Collection[str]:
    """What the console calls the attributes, where two people have changed one variable."""
    text = (Path(console.__file__).parent / "static" / "conflict.js").read_text()
    named = re.search(r"const NAMES = \{(.+?)\}", text, re.DOTALL)
    assert named is not None
    return re.findall(r"([\w-]+)\"?:", named[1])


def told_to_programs() -> set[str]:
    """What `vars diff` and `vars compare` tell programs of a variable, beside its name."""
    return set(secrecy.attributes(VARIABLE, is_hidden=False) or {})


PLACES: Mapping[str, Collection[str]] = {
    "Variable in domain/variables.py": Variable.__struct_fields__,
    "VariableDraft in domain/variables.py": ATTRIBUTES,
    "NewVariableAttributes in web/variables/requests.py": NewVariableAttributes.__struct_fields__,
    "VariableChanges in web/variables/requests.py": VariableChanges.__struct_fields__,
    "ItemAttributes in web/applies.py": ItemAttributes.__struct_fields__,
    "VariableAttributes in web/variables/documents.py": VariableAttributes.__struct_fields__,
    "EffectiveAttributes in web/variables/effective.py": EffectiveAttributes.__struct_fields__,
    "_attributes in cli/client/variables.py": client._attributes(
        Contents(Owner("", ""), [], None, ""), VARIABLE
    ),
    "Wanted in cli/client/changes.py": Wanted.__struct_fields__,
    "attributes in cli/client/secrecy.py": NAMES_A_VARIABLE | told_to_programs(),
    "StatedVariable in cli/client/holdings.py": StatedVariable.__struct_fields__,
    "NAMES in console/static/conflict.js": names_of_the_console(),
    "attributes in tests/faults/machine/strategies.py": strategies.attributes,
    "DEFAULTS in tests/faults/model/variables.py": NAMES_A_VARIABLE | model.DEFAULTS.keys(),
    "_WRONG in tests/faults/model/variables.py": model._WRONG,
    "SAMPLES in tests/test_variable_attributes.py": NAMES_A_VARIABLE | SAMPLES.keys(),
}


@pytest.mark.parametrize("place", PLACES)
def test_every_place_has_every_attribute(place: str) -> None:
    there, said = (set(map(as_documents_say, names)) for names in (PLACES[place], SAID))
    lacking = said - there
    assert not lacking, f"{place} lacks {', '.join(sorted(lacking))}."


def test_of_every_attribute_it_is_said_whether_runs_are_given_it() -> None:
    """Else the dry run of a set's change would name workspaces whose runs notice nothing of it."""
    assert set(ATTRIBUTES) - UNNOTICED == {"key", "value", "category", "hcl", "sensitive"}


async def told(tenant: Tenant, method: str, path: str, document: object = None) -> Any:
    """What the service answers the owner, who may do everything."""
    answer = await tenant.call("owner", method, path, document)
    assert answer.is_success, answer.text
    return answer.json()


def item(key: str, **attributes: object) -> dict[str, object]:
    """An item of an apply."""
    return {"type": "vars", "attributes": {"key": key, "category": "tool", **attributes}}


@pytest.mark.parametrize("field", sorted(SAMPLES))
async def test_every_write_keeps_it_and_every_read_shows_it(tenant: Tenant, field: str) -> None:
    name, (before, after) = as_documents_say(field), SAMPLES[field]
    workspace, other = (f"/workspaces/{tenant.workspaces[one]}" for one in ("network", "payments"))
    found: dict[str, object] = {}

    def note(place: str, variable: Mapping[str, Any], wanted: object = after) -> None:
        shown = "attributes" in variable and variable["attributes"].get(name)
        if shown != wanted:
            found[place] = shown

    first = {"value": "1", name: before}
    made = (await told(tenant, "POST", f"{workspace}/vars", variable_document(**first)))["data"]
    note("the answer to a create", made, before)
    note("a list after a create", (await tenant.variables())[0], before)
    path = f"{workspace}/vars/{made['id']}"
    change = {"data": {"type": "vars", "id": made["id"], "attributes": {name: after}}}
    note("the answer to an update", (await told(tenant, "PATCH", path, change))["data"])
    note("a read", (await told(tenant, "GET", path))["data"])
    note("a list", (await tenant.variables())[0])
    search = f"/organizations/{tenant.organization}/vars?fields[vars]={name}"
    note("a search", (await told(tenant, "GET", search))["data"][0])
    trail = await told(tenant, "GET", f"{workspace}/audit-events?page[size]=1")
    assert trail["data"][0]["attributes"]["changed"] == [name], "what the audit trail calls changed"

    for said in (before, after):
        items = [item("applied", **{"value": "1", name: said})]
        await told(tenant, "POST", f"{workspace}/actions/apply", {"data": items})
        applied = {one["attributes"]["key"]: one for one in await tenant.variables()}
        note("an apply", applied["applied"], said)
    source = {"data": {"type": "workspaces", "id": tenant.workspaces["network"]}}
    copy = {"data": {"type": "copies", "relationships": {"source": source}}}
    await told(tenant, "POST", f"{other}/actions/copy", copy)
    copied = {one["attributes"]["key"]: one for one in await tenant.variables("payments")}
    note("a copy", copied["region"])
    assert not found, f"{name} is lost; it should be {after!r}, but: {found}"


@pytest.mark.parametrize("field", sorted(SAMPLES))
async def test_a_variable_of_a_set_keeps_it_and_workspaces_get_it(
    tenant: Tenant, field: str
) -> None:
    name, (before, after) = as_documents_say(field), SAMPLES[field]
    workspace_id = tenant.workspaces["network"]
    ids = await set_of(tenant, "owner", tenant.organization, workspace_id)
    variables = f"/varsets/{ids['varset_id']}/relationships/vars"
    path = f"{variables}/{ids['set_variable_id']}"
    for said in (before, after):
        attributes = {"value": "1", name: said}
        change = {"data": {"type": "vars", "id": ids["set_variable_id"], "attributes": attributes}}
        shown = [(await told(tenant, "PATCH", path, change))["data"]]
        gets = (f"/workspaces/{workspace_id}/{one}" for one in ("all-vars", "effective-vars"))
        shown += [(await told(tenant, "GET", one))["data"][0] for one in (variables, *gets)]
        assert [one["attributes"][name] for one in shown] == [said] * 4


@pytest.mark.parametrize("field", sorted(SAMPLES))
async def test_an_item_that_is_deleted_says_nothing_of_it(tenant: Tenant, field: str) -> None:
    name = as_documents_say(field)
    goes = {**item("gone", **{name: SAMPLES[field][0]}), "meta": {"delete": True}}
    path = f"/workspaces/{tenant.workspaces['network']}/actions/apply"
    document = {"data": [goes], "meta": {"versioned": True}}
    answer = await tenant.call("owner", "POST", path, document)
    assert answer.status_code == 422, f"an item that is deleted may say {name}, which is ignored"
    assert faults(answer) == [("422", "invalid_value", f"/data/0/attributes/{name}")]
