"""Random operations by callers with different rights: every store answers what the model says.

One run drives SQLite, PostgreSQL and two nodes on one PostgreSQL database in step. A failure shows
the shortest sequence of operations that fails, and the seed: `pytest --hypothesis-seed=N` repeats
the run. `pytest -m long` makes a large one.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import initialize, run_state_machine_as_test

from teamvars.domain.workspaces import Quota
from tests.faults.machine.applies import ApplyRules
from tests.faults.machine.organization import OrganizationRules
from tests.faults.model.model import MOST_VARIABLES, Model
from tests.faults.nodes import model_of_tenant, open_nodes
from tests.storage.stores import fresh_postgres, fresh_sqlite
from tests.support.deployment import Deployment
from tests.support.postgres import Postgres


class Machine(ApplyRules, OrganizationRules):
    """All operations, on two workspaces that hold something."""

    @initialize()
    def begin(self) -> None:
        given = {"key": "b", "value": "1", "description": "", "category": "tool"}
        for change in ({}, {"category": "env"}, {"key": "a", "sensitive": True}):
            self.create("owner", "network", given | change, keyed=False)
        # What is readable there is sensitive here, and the other way round.
        secret = {"sensitive": True, "hcl": True}
        self.create("owner", "payments", given | secret, keyed=False)
        self.create("owner", "payments", given | {"key": "a"}, keyed=False)
        self.grant("writers", {"network": 2, "payments": 1})


@pytest.fixture(scope="module")
async def deployments(
    postgres: Postgres, migrated_database: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[list[list[Deployment]]]:
    """One node on SQLite, one on PostgreSQL, two on another database of PostgreSQL."""
    async with AsyncExitStack() as stack:
        copies = (fresh_postgres(postgres, migrated_database) for _ in range(2))
        urls = [
            fresh_sqlite(tmp_path_factory.mktemp("machine")),
            *(stack.enter_context(copy) for copy in copies),
        ]
        yield [
            await stack.enter_async_context(open_nodes(url, count, Quota(MOST_VARIABLES, None)))
            for url, count in zip(urls, (1, 1, 2), strict=True)
        ]


async def run_machine(
    request: pytest.FixtureRequest,
    deployments: list[list[Deployment]],
    config: settings,
    model_type: Callable[[], Model] = model_of_tenant,
) -> None:
    """Runs hypothesis beside the event loop on which the stores are."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    request.addfinalizer(structlog.reset_defaults)
    given = request.config.getoption("--hypothesis-seed")
    chosen = given or random.SystemRandom().randrange(2**32)
    print(f"pytest --hypothesis-seed={chosen}")  # noqa: T201 - shown when it fails

    class Bound(Machine):
        pass

    Bound.deployments = deployments
    Bound.loop = asyncio.get_running_loop()
    Bound.model_type = staticmethod(model_type)
    machine = seed(int(chosen))(Bound)
    await asyncio.to_thread(run_state_machine_as_test, machine, settings=config)


def at_most(examples: int, steps: int, **more: Any) -> settings:
    """How much to try."""
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
        **more,
    )


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(at_most(30, 35), id="short"),
        pytest.param(at_most(1500, 80), id="long", marks=pytest.mark.long),
    ],
)
async def test_every_store_answers_as_the_model_and_leaves_its_trail(
    request: pytest.FixtureRequest, deployments: list[list[Deployment]], config: settings
) -> None:
    await run_machine(request, deployments, config)
    for nodes in deployments:
        assert await nodes[-1].audit_holds()


def forgetful() -> Model:
    """A model that forgets that an invited member has no rights yet."""
    model = model_of_tenant()
    model.status |= {"invited_writer": "active"}
    return model


async def test_the_machine_notices_when_one_rule_is_missing(
    request: pytest.FixtureRequest, deployments: list[list[Deployment]]
) -> None:
    config = at_most(200, 30, phases=[Phase.generate], database=None)
    with pytest.raises(AssertionError):
        await run_machine(request, deployments, config, forgetful)
