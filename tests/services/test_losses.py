"""A store that has lost rows, or data keys, is not taken for a whole one.

Each loss is made and looked for in one transaction, which is then undone.
"""

from typing import Any

import pytest

from teamvars import wiring
from teamvars.domain.diagnosis import Finding, Severity
from teamvars.security.sealing import Sealer
from teamvars.services import diagnosis
from teamvars.services.diagnosis import Diagnosis
from teamvars.services.installation import Installation
from teamvars.storage import installation
from teamvars.storage.database import Body, NotReady, T, Transaction
from tests.services.calls import Calls
from tests.support.deployment import Deployment
from tests.support.tenant import build_tenant

WHOLE = [
    Finding(
        Severity.OK, "rows", "every row that a stream counts is there, and every data key opens"
    )
]


class Undone(Exception):
    """Takes what was found out of a transaction that must not be committed."""


class Within:
    """The store as one transaction sees it."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    async def read(self, body: Body[T]) -> T:
        return await body(self._tx)


@pytest.fixture(scope="module")
async def calls(modules_own: Deployment) -> Calls:
    """The only tenant of its installation, with two variables in `network`."""
    calls = Calls(await build_tenant(modules_own))
    await calls.create(key="one", value="first")
    await calls.create(key="two", value="second", sensitive=True)
    return calls


async def after(calls: Calls, loss: str, look: Body[T]) -> T:
    """What is found once the statement has taken something away."""
    found: list[T] = []

    async def body(tx: Transaction) -> None:
        await tx.execute(loss.format(**calls.tenant.workspaces, crew=calls.tenant.teams["crew"]))
        found.append(await look(tx))
        raise Undone

    with pytest.raises(Undone):
        await calls.services.database.write(body)
    return found[-1]


async def findings_after(calls: Calls, loss: str) -> list[Finding]:
    """What `doctor` says of the rows then."""
    sealer = Sealer(calls.tenant.deployment.keys)

    async def look(tx: Transaction) -> list[Finding]:
        store: Any = Within(tx)
        return await Diagnosis(store, wiring.clock).of_losses(sealer)

    return await after(calls, loss, look)


async def test_a_store_that_has_all_its_rows_has_lost_nothing(calls: Calls) -> None:
    assert await findings_after(calls, "SELECT 1") == WHOLE


LOSSES = [
    (
        "DELETE FROM variables",
        "variables",
        "{network} has 0 variables of 0 bytes instead of 2 variables",
    ),
    ("DELETE FROM variables WHERE key = 'one'", "variables", "has 1 variables of 6 bytes instead"),
    ("UPDATE variables SET value_bytes = 7 WHERE key = 'one'", "variables", "of 13 bytes instead"),
    (
        "UPDATE variables SET value_bytes = 9223372036854775807 WHERE key = 'one'",
        "variables",
        "{network} has 2 variables of 10995",
    ),
    (
        "UPDATE streams SET variables = 1 WHERE id = '{crew}'",
        "variables",
        "{crew} has 0 variables of 0 bytes instead of 1",
    ),
    (
        "DELETE FROM audit_entries WHERE stream_id = '{network}' AND sequence = 1",
        "audit",
        "{network} has 1, the last of them number 2, instead of 2",
    ),
    (
        "DELETE FROM audit_entries WHERE stream_id = '{network}'",
        "audit",
        "{network} has 0, the last of them number 0, instead of 2",
    ),
    (
        "UPDATE audit_entries SET sequence = 9 WHERE stream_id = '{network}' AND sequence = 2",
        "audit",
        "{network} has 2, the last of them number 9, instead of 2",
    ),
    ("DELETE FROM teams WHERE id = '{crew}'", "streams", "(1): {crew}."),
    ("DELETE FROM streams WHERE id = 'system'", "streams", "(1): system."),
    (
        (
            "UPDATE workspaces SET project_id = (SELECT id FROM projects AS other WHERE "
            "other.organization_id <> workspaces.organization_id) WHERE id = '{network}'"
        ),
        "places",
        "(1): {network} in prj-",
    ),
    ("UPDATE data_keys SET wrapped = substr(wrapped, 1, 20)", "data keys", "does not open"),
    ("DELETE FROM data_keys", "data keys", "Organizations whose values cannot be read (2): the"),
    ("UPDATE data_keys SET version = 2", "data keys", "Organizations whose values cannot be read"),
]


@pytest.mark.parametrize(("loss", "subject", "text"), LOSSES)
async def test_each_kind_of_loss_is_a_problem_that_names_what_is_not_there(
    calls: Calls, loss: str, subject: str, text: str
) -> None:
    (found,) = await findings_after(calls, loss)
    names = {**calls.tenant.workspaces, "crew": calls.tenant.teams["crew"]}
    assert (found.severity, found.subject) == (Severity.PROBLEM, subject)
    assert text.format(**names) in found.text
    assert found.text.endswith("Restore a complete backup.")


async def test_of_many_losses_some_are_named_and_all_are_counted(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnosis, "MOST_NAMED", 3)
    (found,) = await findings_after(calls, "UPDATE streams SET variables = variables + 5")
    total = int(found.text.partition("(")[2].partition(")")[0])
    assert total > 3
    assert found.text.count(" has ") == 3
    assert f"; and {total - 3} more." in found.text


async def test_a_workspace_that_is_gone_with_its_variables_is_found_by_its_stream(
    calls: Calls,
) -> None:
    found = await findings_after(calls, "DELETE FROM workspaces WHERE id = '{network}'")
    assert [one.subject for one in found] == ["variables", "streams"]
    assert all(calls.tenant.workspaces["network"] in one.text for one in found)


async def checks_after(calls: Calls, loss: str, many: int) -> list[str]:
    """What as many checks, one after another, say then: the ids of those that each looked at, the
    one that it opened last, or why not.
    """
    sealer = Sealer(calls.tenant.deployment.keys)

    async def look(tx: Transaction) -> list[str]:
        store: Any = Within(tx)
        opened, said = "", []
        for _ in range(many):
            looked: list[str] = []
            require = Installation(store).require_data_key
            try:
                opened = await require(sealer, opened, lambda id_, _: looked.append(id_))  # noqa: B023
                said.append(" ".join(looked))
            except NotReady as error:
                said.append(str(error))
        return said

    return await after(calls, loss, look)


async def test_each_check_opens_another_organizations_key_and_begins_again_after_the_last(
    calls: Calls,
) -> None:
    said = await checks_after(calls, "SELECT 1", 5)
    first, second = sorted(set(said))
    assert said == [first, second, first, second, first]


async def test_behind_a_key_that_does_not_open_the_next_one_is_looked_at(calls: Calls) -> None:
    first, second = sorted(set(await checks_after(calls, "SELECT 1", 2)))
    loss = f"DELETE FROM data_keys WHERE organization_id = '{second}'"  # noqa: S608 - an id
    assert await checks_after(calls, loss, 3) == [first, f"{second} {first}", f"{second} {first}"]


async def test_where_no_key_opens_each_check_says_so(calls: Calls) -> None:
    said = await checks_after(calls, "DELETE FROM data_keys", 2)
    assert [one.partition(".")[0] for one in said] == ["No data key opens"] * 2


async def test_without_an_organization_there_is_no_key_to_open(calls: Calls) -> None:
    assert await checks_after(calls, "DELETE FROM organizations", 2) == ["", ""]


async def values_after(calls: Calls, loss: str, *, every: bool) -> list[Finding]:
    """What `doctor` says of the values then."""
    sealer = Sealer(calls.tenant.deployment.keys)

    async def look(tx: Transaction) -> list[Finding]:
        store: Any = Within(tx)
        return await Diagnosis(store, wiring.clock).of_values(sealer, every=every)

    return await after(calls, loss, look)


async def test_one_value_of_each_data_key_is_opened_or_every_value_if_that_is_wanted(
    calls: Calls,
) -> None:
    one = await values_after(calls, "SELECT 1", every=False)
    every = await values_after(calls, "SELECT 1", every=True)
    assert [finding.severity for finding in (*one, *every)] == [Severity.OK] * 2
    assert [finding.text[:7] for finding in (*one, *every)] == ["1 open:", "2 open:"]


SWAP = (
    "UPDATE variables SET sealed_value = (SELECT sealed_value FROM variables AS other "
    "WHERE other.key <> variables.key)"
)


@pytest.mark.parametrize("key", ["one", "two"])
async def test_a_damaged_value_is_named_by_whoever_opens_every_value(
    calls: Calls, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "_PAGE_ROWS", 1)
    (found,) = await values_after(calls, f"{SWAP} WHERE key = '{key}'", every=True)
    assert (found.severity, found.subject) == (Severity.PROBLEM, "values")
    assert "(1, and 1 open)" in found.text
    assert f"{key} (tool) of {calls.tenant.organization}/network, var-" in found.text


async def test_where_all_values_are_damaged_one_of_each_data_key_shows_it(calls: Calls) -> None:
    (found,) = await values_after(calls, SWAP, every=False)
    assert (found.severity, found.subject) == (Severity.PROBLEM, "values")
    assert "(1, and 0 open)" in found.text
