"""Whether long work leaves the event loop to others."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def turns_of_others(work: Awaitable[T]) -> tuple[T, int]:
    """What the work comes to, and how many turns another task had before it ended."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(count())
    try:
        return await work, turns
    finally:
        other.cancel()
