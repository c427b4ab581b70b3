"""How much work it is to do something, by no clock."""

import sys
from collections import Counter
from collections.abc import Callable


def steps_of(do: Callable[[], object]) -> int:
    """How many functions are called while it is done."""
    calls, former = Counter[str](), sys.getprofile()
    sys.setprofile(lambda _, event, __: calls.update((event,)))
    try:
        do()
    finally:
        sys.setprofile(former)
    return calls["call"]
