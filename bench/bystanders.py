"""What others feel of a large apply, and what a worker takes, beside another checkout:
`python -m bench.bystanders CHECKOUT`.

Both serve stores of their own on both engines, are driven by the `bench` of their own, and take
turns, so that what else the machine does touches both alike. The other checkout is one in which
`python3 dev.py setup` has run. Only the ratios are good for anything: each is the median of those
of the turns, and of so few it says little unless it is far from 1.
"""

import argparse
import json
import statistics
from contextlib import ExitStack
from pathlib import Path

from bench.changes import ROOT, obeying
from bench.stage import POSTGRES, SQLITE

SERVING = Path(__file__).with_name("serving.py")
FIGURES = {
    "list_p99": "p99 of a list over quiet, ms",
    "update_p99": "p99 of an update over quiet, ms",
    "longest_update": "longest update over quiet, ms",
    "seconds": "the apply of 5,000, s",
    "faster": "apply of 500 / creates, times faster",
    "memory": "memory of the worker after it, MiB",
}


def main() -> None:
    """Prints a line for each figure and engine."""
    parser = argparse.ArgumentParser(prog="bench.bystanders", description="Compare an apply.")
    parser.add_argument("checkout", nargs="?", type=Path, default=ROOT, help="to compare with")
    parser.add_argument("--turns", type=int, default=5, help="for each engine (5)")
    options = parser.parse_args()
    print(f"{'':12}{'':40}{'there':>8}{'here':>8}{'ratio':>8}")
    with ExitStack() as stack:
        sides = [
            stack.enter_context(obeying(SERVING, checkout))
            for checkout in (options.checkout.resolve(), ROOT)
        ]
        for engine in (SQLITE, POSTGRES):
            turns = [[json.loads(side(engine)) for side in sides] for _ in range(options.turns)]
            for figure, words in FIGURES.items():
                pairs = [(there[figure], here[figure]) for there, here in turns]
                there, here = (statistics.median(one) for one in zip(*pairs, strict=True))
                ratio = statistics.median(here / there for there, here in pairs)
                print(f"{engine:12}{words:40}{there:8.1f}{here:8.1f}{ratio:8.2f}", flush=True)


if __name__ == "__main__":
    main()
