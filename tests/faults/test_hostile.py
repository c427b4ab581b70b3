"""Who means harm takes nothing from those who do not, and no worker with them.

`python3 dev.py faults --only hostile` measures what is promised. The check runs each attack for a
moment, and holds it to what does not depend on how busy the machine is.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from teamvars.fair_slots import WAIT_SECONDS
from tests.faults.hostile.assault import FIGURES, GLANCE, assault, provoked
from tests.faults.hostile.attack import Attack
from tests.faults.hostile.attacks import ATTACKS, neighbours
from tests.faults.hostile.bystander import READERS, Pulse
from tests.faults.hostile.finding import MOST_REFUSAL_BYTES, Finding, Limits, answer_faults
from tests.faults.hostile.jobs import for_jobs
from tests.faults.hostile.target import Target, target
from tests.faults.hostile.watch import forget_peak, peak_mib, workers_of
from tests.faults.hostile.wire import UNANSWERED, Answer
from tests.faults.server_under_load import on_postgres, server_under_load
from tests.faults.unfair import UnfairHost
from tests.support.commands import Host, InstalledHost
from tests.support.patience import wait_until
from tests.support.server import is_ready

PAUSE = 2.0
ENGINES = ("sqlite", "postgres")
FEW_READERS = 4


@pytest.fixture(scope="module")
async def attacked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Target]:
    """A server on the engine of the test, with whom it should serve and what it should keep."""
    async with on_engine(request, tmp_path_factory.mktemp("hostile"), READERS) as made:
        yield made


@pytest.fixture(scope="module")
async def glanced_at(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Target]:
    """The same with fewer bystanders: nobody looks at how long they wait."""
    async with on_engine(request, tmp_path_factory.mktemp("hostile"), FEW_READERS) as made:
        yield made


@asynccontextmanager
async def on_engine(
    request: pytest.FixtureRequest, folder: Path, readers: int
) -> AsyncIterator[Target]:
    """One on the engine that a fixture has for its parameter."""
    host = InstalledHost(folder)
    if request.param == "postgres":
        there = on_postgres(request.getfixturevalue("durable"), folder)
        host = host.having(**there.settings)
    async with target(for_jobs(host), request.param, readers) as made:
        yield made


def on(engine: str) -> Callable[[Any], Any]:
    """Marks a test to run with each attack on an engine, all on one server."""
    attacks = [pytest.param(one, id=one.name) for one in ATTACKS if engine in one.engines]

    def marked(test: Any) -> Any:
        with_attack = pytest.mark.parametrize("attack", attacks)(test)
        return pytest.mark.parametrize("attacked", [engine], indirect=True)(with_attack)

    return marked


async def is_hardly_noticed(attacked: Target, attack: Attack, findings: list[Finding]) -> None:
    """Runs the attack, as long and as often as the figures are taken. Skips where the machine is
    too busy to tell.
    """
    finding = await assault(attacked, attack, FIGURES)
    findings.append(finding)
    assert finding.harm == ""
    if not finding.is_clear:
        pytest.skip(finding.verdict)


@pytest.mark.long
@on("sqlite")
async def test_an_attack_on_sqlite_is_bounded_and_hardly_noticed(
    attacked: Target, attack: Attack, findings: list[Finding]
) -> None:
    await is_hardly_noticed(attacked, attack, findings)


@pytest.mark.long
@on("postgres")
async def test_an_attack_on_postgresql_is_bounded_and_hardly_noticed(
    attacked: Target, attack: Attack, findings: list[Finding]
) -> None:
    await is_hardly_noticed(attacked, attack, findings)


@pytest.mark.parametrize("glanced_at", ENGINES, indirect=True)
async def test_no_attack_of_a_moment_does_harm(glanced_at: Target, findings: list[Finding]) -> None:
    found = [
        await assault(glanced_at, attack, GLANCE)
        for attack in ATTACKS
        if glanced_at.engine in attack.engines
    ]
    findings += found
    assert {finding.attack: finding.harm for finding in found if finding.harm} == {}


def test_a_server_whose_workers_are_killed_twice_within_seconds_goes_on(tmp_path: Path) -> None:
    hit = server_under_load(Host(tmp_path), workers=2)
    with hit.server as server:
        for _ in range(2):
            killed = workers_of(server)
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
            until(lambda: len(workers_of(server)) == 2 and is_ready(server.url))
            assert not killed & workers_of(server)
        with server.client(hit.token) as client:
            assert client.get(hit.path).status_code == 200


def until(reached: Callable[[], bool]) -> None:
    """Returns once it is so."""
    wait_until(reached)


# Controls


@pytest.mark.long
async def test_without_shares_a_flood_is_noticed_by_neighbours(
    tmp_path: Path, findings: list[Finding]
) -> None:
    """On a machine that can tell; `tests/web/test_neighbours.py` shows it on any."""
    async with target(UnfairHost(tmp_path), "sqlite") as unfair:
        found = [
            replace(await provoked(unfair, flood, FIGURES), engine="no shares")
            for flood in neighbours.ATTACKS
        ]
    findings += found
    assert all(finding.slow for finding in found[1:] if finding.is_clear)
    if not all(finding.is_clear for finding in found):
        pytest.skip("the machine is too busy to tell")


async def stop(attacked: Target, seconds: float) -> list[Answer]:
    """Stops the worker for a while, as a turn of its event loop does that is far too long."""
    (pid,) = workers_of(attacked.served.server)
    os.kill(pid, signal.SIGSTOP)
    await asyncio.sleep(PAUSE)
    os.kill(pid, signal.SIGCONT)
    return [Answer(500), Answer(400, MOST_REFUSAL_BYTES + 1), Answer(UNANSWERED)]


async def kill(attacked: Target, seconds: float) -> list[Answer]:
    """Takes the worker away."""
    (pid,) = workers_of(attacked.served.server)
    os.kill(pid, signal.SIGKILL)
    return []


@pytest.mark.parametrize("glanced_at", ["sqlite"], indirect=True)
async def test_harm_is_found_out(glanced_at: Target) -> None:
    control = Attack("a control", stop, frozenset({200, 400}), frozenset({200}))
    stopped = await assault(glanced_at, control, replace(GLANCE, limits=Limits(0, 0, 0, PAUSE / 2)))
    assert stopped.faults == (
        "1 x not answered",
        "1 x 500",
        "none was 200",
        "a refusal of 65,537 bytes",
    )
    assert stopped.under.worst > PAUSE / 2
    assert stopped.slow
    killed = await assault(glanced_at, Attack("a control", kill, frozenset()), GLANCE)
    assert "a worker ended" in killed.faults
    assert any(fault.endswith("closed for the bystander") for fault in killed.faults)


def test_who_waited_as_long_as_anybody_may_is_refused_by_a_busy_machine() -> None:
    control = Attack("a control", stop, frozenset({200}))
    answers = [Answer(503, 0, WAIT_SECONDS), Answer(503, 0, WAIT_SECONDS / 2)]
    quiet = Pulse([], [], [])
    assert list(answer_faults(control, answers)) == ["1 x 503"]
    assert list(FIGURES.limits.faults(quiet, quiet, 1)) == ["1 x 503 after 5 s"]
    assert list(GLANCE.limits.faults(quiet, quiet, 1)) == []


def test_the_peak_of_a_process_is_what_it_had_at_most_since_it_was_forgotten() -> None:
    code = (
        "import sys\n"
        "for line in sys.stdin:\n"
        "    bytearray(b'x') * (int(line) << 20)\n"
        "    print(flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for mib in (200, 100, 300):
            forget_peak(process.pid)
            process.stdin.write(f"{mib}\n")
            process.stdin.flush()
            process.stdout.readline()
            assert mib < peak_mib(process.pid) < mib + 50
        process.stdin.close()
