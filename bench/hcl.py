"""What reading a value costs, and a file of variables: `python3 dev.py hcl`.

Promised: a value of 40 bytes parses in under 80 µs, and time grows linearly up to 256 KiB.
`--quick` measures each once, up to 16 KiB, and holds nothing against the promise.
"""

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial

from teamvars import variable_files
from teamvars.hcl import evaluate, parse
from teamvars.variable_files import MAX_NAMES, Format

SMALL = '{ name = "web", ports = [80, 443], x=1 }'
SIZES = (4_096, 16_384, 65_536, 262_144)
SHAPES: dict[str, Callable[[int], str]] = {
    "numbers": lambda size: "[" + "1," * ((size - 2) // 2) + "]",
    "strings": lambda size: "[" + '"abc",' * ((size - 2) // 6) + "]",
    "objects": lambda size: "[" + f"{SMALL}," * ((size - 2) // 41) + "]",
    "operators": lambda size: "1" + "+1" * ((size - 1) // 2),
    "interpolations": lambda size: '"' + "${1}" * ((size - 2) // 4) + '"',
    "heredoc": lambda size: "<<A\n" + "some text\n" * ((size - 6) // 10) + "A\n",
}
TEXT = '"' + "x" * 80 + '"'
FILES = {
    "tfvars, strings": (Format.TFVARS, TEXT),
    "tfvars, objects": (Format.TFVARS, SMALL),
    "dotenv": (Format.DOTENV, TEXT),
}
PARSE_LIMIT = 80e-6


def best_time(action: Callable[[], object], rounds: int) -> float:
    """The shortest of `rounds` runs, in seconds of this process alone."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def main() -> int:
    """Prints what each shape costs at each size."""
    parser = argparse.ArgumentParser(prog="dev.py hcl", description="Measure parsing of values.")
    parser.add_argument("--quick", action="store_true", help="each once, and no large ones")
    quick = parser.parse_args().quick
    sizes, rounds, small_rounds = (SIZES[:2], 1, 1) if quick else (SIZES, 3, 2_000)
    small = best_time(lambda: parse(SMALL), small_rounds)
    both = best_time(lambda: evaluate(SMALL), small_rounds)
    print(f"{len(SMALL)} bytes: parse {small * 1e6:.0f} µs, parse and evaluate {both * 1e6:.0f} µs")
    print("\nmilliseconds to parse" + "".join(f"{size // 1024:>8} KiB" for size in sizes))
    for name, shape in SHAPES.items():
        cells = ""
        for size in sizes:
            source = shape(size)
            cells += f"{best_time(partial(parse, source), rounds) * 1e3:>12.1f}"
        print(f"{name:<21}{cells}")
    names = 100 if quick else MAX_NAMES
    print(f"\nmilliseconds to read a file of {names} names")
    for name, (file_format, value) in FILES.items():
        content = "".join(f"name_{number}={value}\n" for number in range(names))
        took = best_time(partial(variable_files.parse, file_format, content), rounds)
        print(f"{name:<21}{len(content) // 1024:>8} KiB{took * 1e3:>12.1f}")
    return 0 if quick or small < PARSE_LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
