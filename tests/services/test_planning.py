"""What a plan tells of its steps, before and after they are made."""

import pytest
from msgspec.structs import replace

from teamvars.domain.applies import Outcome, Result
from teamvars.domain.owned_variables import Owner
from teamvars.domain.set_effects import Alteration
from teamvars.domain.variables import StoredVariable
from teamvars.domain.workspaces import Usage, Workspace
from teamvars.kernel.variables import Category
from teamvars.services.planning import Applied, Plan, Step
from tests.security.samples import VARIABLE

OWNER: Owner = Workspace("ws-1", "network", "org-1", "acme")


def step(outcome: Outcome, key: str = "region", *changed: str) -> Step:
    variable = replace(VARIABLE, id=f"var-{key}", key=key)
    return Step(outcome, StoredVariable(variable, None, 0), changed)


def name(key: str) -> tuple[str, Category]:
    return key, VARIABLE.category


@pytest.mark.parametrize(
    ("outcome", "dry_run", "id_", "version"),
    [
        (Outcome.CREATED, False, "var-region", "1"),
        (Outcome.UPDATED, False, "var-region", "1"),
        (Outcome.CREATED, True, None, None),
        (Outcome.UPDATED, True, "var-region", None),
        (Outcome.UNCHANGED, True, "var-region", "1"),
        (Outcome.DELETED, True, "var-region", "1"),
    ],
)
def test_a_dry_run_tells_no_id_that_it_would_have_made(
    outcome: Outcome, dry_run: bool, id_: str | None, version: str | None
) -> None:
    told = step(outcome, "region", "value").result(dry_run=dry_run)
    assert told == Result(name("region"), outcome, ("value",), id_, version)


def test_runs_notice_all_that_is_changed_but_descriptions() -> None:
    gone = Result(name("never there"), Outcome.DELETED, (), None, None)
    plan = Plan(
        (
            step(Outcome.CREATED, "a"),
            step(Outcome.UPDATED, "b", "description"),
            step(Outcome.UPDATED, "c", "description", "value"),
            step(Outcome.UNCHANGED, "d"),
            replace(step(Outcome.UPDATED, "e", "key"), former=name("f")),
            step(Outcome.DELETED, "g"),
            gone,
        ),
        Usage(),
    )
    made, deleted, updated = ({name(key)} for key in "agc")
    assert plan.alteration == Alteration(
        frozenset(made), frozenset(deleted), frozenset(updated | {name("e")})
    )
    assert [one.name[0] for one in plan.changes] == ["a", "b", "c", "e", "g"]
    assert [one.name[0] for one in plan.renamed] == ["e"]
    told = Applied.of(plan, OWNER, "version")
    assert [one.name[0] for one in told.results] == [*"abcdeg", "never there"]
