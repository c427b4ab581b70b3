"""The use cases: authorise, change, record, each in one visible transaction."""

from collections.abc import Callable

Clock = Callable[[], int]
"""Says what time it is, in µs UTC."""
