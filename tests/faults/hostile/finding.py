"""What an attack came to, the limits it is held to, and the table of all of them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from teamvars.fair_slots import WAIT_SECONDS
from tests.faults.hostile.attack import Attack
from tests.faults.hostile.bystander import Pulse
from tests.faults.hostile.wire import CLOSED, UNANSWERED, Answer

MOST_MIB = 400.0
MOST_REFUSAL_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """What a bystander may notice: the p99 of its reads and that of its writes are at most so many
    times the quiet ones, or so many seconds, whichever is more; no read waits longer than `worst`
    seconds, and no other request for as long as anybody may. What the machine itself made anybody
    wait meanwhile is not counted, and where that is more than what may be noticed, nobody can tell.
    """

    times: float
    p99: float
    writes_p99: float
    worst: float

    def can_tell(self, quiet: Pulse, under: Pulse) -> bool:
        """Whether the machine was quiet enough to notice anything."""
        return under.machine_p99 <= max(self.p99, self.times * quiet.p99)

    def faults(self, quiet: Pulse, under: Pulse, too_late: int) -> Iterator[str]:
        """What the bystander noticed beyond them, and answers that came too late."""
        if too_late and self.worst < WAIT_SECONDS:
            yield f"{too_late} x 503 after {WAIT_SECONDS:.0f} s"
        machine = under.machine_p99
        most = max(self.p99, self.times * quiet.p99) + machine
        if under.p99 > most:
            yield f"p99 over {most * 1000:.0f} ms"
        most = max(self.writes_p99, self.times * quiet.writes_p99) + machine
        if under.writes_p99 > most:
            yield f"p99 of writes over {most * 1000:.0f} ms"
        if under.worst > max(self.worst, self.times * quiet.worst) + under.machine_worst:
            yield f"a wait of {under.worst:.2f} s"


@dataclass(frozen=True, slots=True)
class Finding:
    """One attack on one engine. `slow` are faults that a busy machine can make as well. It is
    `is_clear` unless the machine was so busy that nobody can tell.
    """

    attack: str
    engine: str
    quiet: Pulse
    under: Pulse
    peak_mib: float
    faults: Sequence[str]
    slow: Sequence[str]
    is_clear: bool = True

    @property
    def harm(self) -> str:
        """What the attack did that it should not have; nothing when all held."""
        return "; ".join([*self.faults, *(self.slow if self.is_clear else ())])

    @property
    def verdict(self) -> str:
        """What is said of it in the table."""
        return self.harm or ("held" if self.is_clear else "cannot tell: the machine is busy")


def answer_faults(attack: Attack, answers: Iterable[Answer]) -> Iterator[str]:
    """What was answered and should not have been."""
    counted = Counter(answer.status for answer in answers if not answer.came_too_late)
    for status, count in sorted(counted.items()):
        if status not in attack.allowed:
            yield f"{count} x {_said(status)}"
    if attack.needed and not attack.needed & counted.keys():
        yield f"none was {' or '.join(map(_said, sorted(attack.needed)))}"
    largest = max((answer.size for answer in answers if answer.status >= 400), default=0)
    if largest > MOST_REFUSAL_BYTES:
        yield f"a refusal of {largest:,} bytes"


def bystander_faults(under: Pulse) -> Iterator[str]:
    """Requests of the bystander that failed."""
    for failure, count in sorted(Counter(under.failures).items()):
        yield f"{count} x {failure} for the bystander"


def memory_faults(peak_mib: float) -> Iterator[str]:
    """A worker that took too much."""
    if peak_mib > MOST_MIB:
        yield f"{peak_mib:.0f} MiB"


def table(findings: Sequence[Finding]) -> list[str]:
    """A line for each finding, under a heading."""
    heading = f"{'attack':55} {'engine':9} {'quiet':>7} {'p99':>8} {'worst':>8} {'write':>8} "
    heading += f"{'echo':>8} {'MiB':>6}  verdict (ms; write, echo: p99 of the bystander's writes, "
    lines = [heading + "and of what the machine makes anybody wait)"]
    for one in findings:
        under = one.under
        numbers = (one.quiet.p99, under.p99, under.worst, under.writes_p99, under.machine_p99)
        quiet, p99, worst, write, echo = (f"{seconds * 1000:.1f}" for seconds in numbers)
        lines.append(
            f"{one.attack:55} {one.engine:9} {quiet:>7} {p99:>8} {worst:>8} {write:>8} "
            f"{echo:>8} {one.peak_mib:6.0f}  {one.verdict}"
        )
    return lines


def _said(status: int) -> str:
    return {CLOSED: "closed", UNANSWERED: "not answered"}.get(status, str(status))
