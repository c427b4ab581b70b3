"""Running an attack beside a bystander, and judging what it did."""

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import httpx

from tests.faults.hostile.attack import Attack
from tests.faults.hostile.bystander import Pulse
from tests.faults.hostile.finding import (
    Finding,
    Limits,
    answer_faults,
    bystander_faults,
    memory_faults,
)
from tests.faults.hostile.target import Target
from tests.faults.hostile.watch import Watch
from tests.faults.hostile.wire import PATIENCE, Answer

_ENDED_WITHIN = 2 * PATIENCE
_PULSES = 50


@dataclass(frozen=True, slots=True)
class Plan:
    """How many seconds to attack, how often to try where only time was at fault, the limits."""

    seconds: float
    tries: int
    limits: Limits
    flood_limits: Limits
    fair_limits: Limits


FIGURES = Plan(
    3.0,
    3,
    Limits(3, 0.020, 0.1, 0.5),
    Limits(5, 0.040, 0.2, 0.5),
    Limits(2, 0.020, 0.1, 0.5),
)
"""What is promised."""

UNTIMED = Limits(1, math.inf, math.inf, math.inf)
GLANCE = Plan(0.1, 1, UNTIMED, UNTIMED, UNTIMED)
"""What a busy machine keeps as well: nobody is cut off or lost, nor refused for any other reason
than how long it takes.
"""


async def assault(target: Target, attack: Attack, plan: Plan) -> Finding:
    """The best of some tries. After a fault the server is started anew."""
    finding = await _try(target, attack, plan)
    for _ in range(plan.tries - 1):
        if finding.faults or (finding.is_clear and not finding.slow):
            break
        await _start_anew(target)
        finding = min(finding, await _try(target, attack, plan), key=_harm)
    if finding.harm:
        await _start_anew(target)
    return finding


async def provoked(target: Target, attack: Attack, plan: Plan) -> Finding:
    """The first of some tries that is noticed, or the last: for controls."""
    finding = await _try(target, attack, plan)
    for _ in range(plan.tries - 1):
        if finding.is_clear and finding.slow:
            break
        await _start_anew(target)
        finding = await _try(target, attack, plan)
    return finding


def _harm(finding: Finding) -> tuple[int, bool, int, float]:
    return len(finding.faults), not finding.is_clear, len(finding.slow), finding.under.p99


async def _try(target: Target, attack: Attack, plan: Plan) -> Finding:
    watch = Watch(target.served.server)
    answers, under, faults = await _beside_a_bystander(target, attack, plan.seconds)
    limits = plan.flood_limits if attack.flood else plan.limits
    limits = plan.fair_limits if attack.fair else limits
    if attack.writers_wait is not None and target.engine == "sqlite":
        limits = replace(limits, writes_p99=max(limits.writes_p99, attack.writers_wait))
    peak = watch.peak_mib()
    faults += [
        *answer_faults(attack, answers),
        *bystander_faults(under),
        *memory_faults(peak),
        *watch.faults(),
    ]
    too_late = sum(answer.came_too_late for answer in answers)
    slow = tuple(limits.faults(target.quiet, under, too_late))
    is_clear = limits.can_tell(target.quiet, under)
    came_to = target.quiet, under, peak, tuple(faults), slow, is_clear
    return Finding(attack.name, target.engine, *came_to)


async def _beside_a_bystander(
    target: Target, attack: Attack, seconds: float
) -> tuple[Sequence[Answer], Pulse, list[str]]:
    """What was answered to the attack, how the bystander fared, and what came to no end."""
    target.bystander.pulse()
    attacking = asyncio.create_task(_run(target, attack, seconds))
    await asyncio.wait([attacking], timeout=seconds)
    during = target.bystander.pulse()
    answers, faults = await attacking
    if not await is_well(target):
        faults.append("it is not well afterwards")
    return answers, during.and_then(target.bystander.pulse()), faults


async def _run(
    target: Target, attack: Attack, seconds: float
) -> tuple[Sequence[Answer], list[str]]:
    """What was answered; an attack that does not come to its end is a fault."""
    try:
        async with asyncio.timeout(seconds + _ENDED_WITHIN):
            return await attack.run(target, seconds), []
    except TimeoutError:
        return [], ["it hangs"]


async def is_well(target: Target) -> bool:
    """Whether the server answers."""
    begun = time.monotonic()
    server = target.served.server
    async with httpx.AsyncClient(
        base_url=server.url, timeout=PATIENCE, verify=server.trust
    ) as client:
        while time.monotonic() < begun + PATIENCE:
            try:
                if (await client.get("/healthz")).status_code == 200:
                    return True
            except httpx.TransportError:
                await asyncio.sleep(0.05)
    return False


async def _start_anew(target: Target) -> None:
    """Takes away whatever an attack has left behind, and waits for the bystander to be served."""
    target.served.server.kill()
    await asyncio.to_thread(target.served.server.start)
    target.bystander.pulse()
    for _ in range(_PULSES):
        await asyncio.sleep(0.1)
        if target.bystander.pulse().writes:
            break
