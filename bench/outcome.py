"""Everything one run found out."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from bench import machine
from bench.applies import Applied
from bench.rounds import Effort, Results


@dataclass(frozen=True, slots=True)
class Outcome:
    """The samples, and for each server the seconds until it was ready and the MiB of a worker.

    `versions` are those of the programs that were there to be measured."""

    effort: Effort
    versions: Mapping[str, str]
    results: Results
    started: Mapping[str, float]
    memory: Mapping[str, float]
    growth: Mapping[str, dict[int, float]]
    applies: Mapping[str, Applied]

    def as_json(self) -> dict[str, object]:
        """All of it, for whoever wants to look closer."""
        rows = [
            {"work": work, "subject": subject, "samples": [asdict(sample) for sample in samples]}
            for (work, subject), samples in self.results.rows.items()
        ]
        return {
            "machine": machine.describe(),
            "effort": asdict(self.effort),
            "versions": dict(self.versions),
            "started": dict(self.started),
            "memory": dict(self.memory),
            "growth": dict(self.growth),
            "applies": {name: asdict(applied) for name, applied in self.applies.items()},
            "rows": rows,
        }
