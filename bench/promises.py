"""Figures beside what is promised of them."""

import math


def missed(what: str, reached: float, *, at_least: float = 0.0, at_most: float = math.inf) -> bool:
    """Prints a figure; whether it misses what is promised."""
    is_missed = not at_least <= reached <= at_most
    bar = f"at least {at_least:g}" if at_most == math.inf else f"at most {at_most:g}"
    print(f"{what}: {reached:.2f} of {bar}{'  MISSED' if is_missed else ''}", flush=True)
    return is_missed
