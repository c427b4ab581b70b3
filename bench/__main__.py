"""How fast the service is, measured against what the machine can do: `python3 dev.py bench`.

Everything runs in one go and takes turns, so that what else the machine does touches all alike;
what counts are ratios. docs/performance.md explains the rows.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import applies, growth, plot, profile, programs, report, stage
from bench.outcome import Outcome
from bench.rounds import QUICK, THOROUGH, Pair, Results
from bench.stage import FILLED, Stage
from bench.works import CREATE, LIST, LIST_WRITTEN, MIXED, MIXED_WIDE, WORKS

RESULTS = Path(__file__).with_name("results")
GROWTH, APPLIES = "growth", "apply-500"
NAMES = [*(work.name for work in WORKS if work is not LIST_WRITTEN), GROWTH, APPLIES]


def main() -> None:
    """Measures what was asked for and writes table, plot and samples to bench/results/."""
    wanted = _arguments()
    programs.require()
    if wanted.profile:
        profile.run([work for work in WORKS if work.name in wanted.only])
        return
    effort = QUICK if wanted.quick else THOROUGH
    results, begun = Results(), time.monotonic()
    print("Making stores and starting servers …", flush=True)
    with stage.scale() if wanted.scale else stage.ratios() as on:
        for name, pairs in _turns(on):
            if name in wanted.only:
                print(f"{name} ({time.monotonic() - begun:.0f} s)", flush=True)
                results.run(pairs, effort)
        alone = [] if wanted.scale else [s for s in on.servers if s.name.endswith("x1")]
        times, applied = {}, {}
        if GROWTH in wanted.only:
            print(f"{GROWTH} ({time.monotonic() - begun:.0f} s)", flush=True)
            times = growth.measure(alone, effort)
        if APPLIES in wanted.only:
            print(f"{APPLIES} ({time.monotonic() - begun:.0f} s)", flush=True)
            applied = applies.measure(alone, effort)
        versions = programs.versions()
        outcome = Outcome(effort, versions, results, on.started, on.memory(), times, applied)
    name = "scale" if wanted.scale else "ratios"
    # Less than everything, or less thoroughly, is not what the published figures are.
    partly = "-partly" if set(wanted.only) < set(NAMES) else ""
    _write(outcome, name + partly + ("-quick" if wanted.quick else ""))


def _turns(on: Stage) -> Iterator[tuple[str, Sequence[Pair]]]:
    """What takes turns with what, by the name of the work: a ratio's two rows always do."""
    for work in WORKS:
        pairs: list[Pair] = [(work, server) for server in on.servers]
        if work is LIST:
            both = [(each, server) for server in on.servers for each in (LIST, LIST_WRITTEN)]
            yield work.name, [*on.for_lists, *both]
        elif work is CREATE:
            yield work.name, [*on.for_creates, *pairs]
        elif work is MIXED:
            full = [server for server in on.servers if server.name.endswith(FILLED)]
            yield work.name, [*pairs, *((MIXED_WIDE, server) for server in full)]
        elif work is not LIST_WRITTEN:
            yield work.name, pairs


def _write(outcome: Outcome, name: str) -> None:
    RESULTS.mkdir(exist_ok=True)
    text = report.markdown(outcome)
    (RESULTS / f"{name}.md").write_text(text)
    (RESULTS / f"{name}.json").write_text(json.dumps(outcome.as_json(), indent=1) + "\n")
    plot.draw(outcome, RESULTS / f"{name}.png")
    print(f"\n{text}\nWritten to bench/results/{name}.md, .json and .png")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dev.py bench", description="Measure the service.")
    parser.add_argument("--quick", action="store_true", help="3 rounds of 1 s, to look around")
    parser.add_argument("--scale", action="store_true", help="1,000,000 variables against none")
    parser.add_argument("--profile", action="store_true", help="where the time of each goes")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME")
    return parser.parse_args()


if __name__ == "__main__":
    main()
