"""Rendered lists in memory: shared while they are made, bounded when they are kept."""

import asyncio

import pytest

from teamvars.services import rendered
from teamvars.services.rendered import ENTRY_BYTES, ListKey, Rendered, RenderedLists

ROOM = 100 * ENTRY_BYTES
KEY = b"head", "acme", "network"
NEXT_KEY = b"next", "acme", "network"


def of(size: int) -> Rendered:
    """A list whose body has so many bytes."""
    return Rendered('"tag"', (bytes(size),))


class Renderer:
    """Renders when it is told to, and counts."""

    def __init__(self, outcome: Rendered | Exception | None) -> None:
        self._outcome = outcome
        self.done = asyncio.Event()
        self.times = 0

    def forget(self) -> None:
        """Lets go of what it has rendered."""
        self._outcome = None

    async def __call__(self) -> Rendered | None:
        self.times += 1
        await self.done.wait()
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


async def waiting_for(
    lists: RenderedLists, render: Renderer, count: int
) -> list[asyncio.Task[Rendered | None]]:
    """Callers that all wait for the same list."""
    callers = [asyncio.create_task(lists.make("ws-1", KEY, render)) for _ in range(count)]
    await asyncio.sleep(0)
    return callers


async def test_those_who_want_a_list_at_the_same_head_render_it_once() -> None:
    lists, render = RenderedLists(ROOM), Renderer(of(10))
    callers = await waiting_for(lists, render, 5)
    render.done.set()
    assert await asyncio.gather(*callers) == [of(10)] * 5
    assert render.times == 1
    assert lists.find("ws-1", KEY) == of(10)


async def test_a_list_at_another_head_is_another_list() -> None:
    lists, old, new = RenderedLists(ROOM), Renderer(of(10)), Renderer(of(20))
    (caller,) = await waiting_for(lists, old, 1)
    new.done.set()
    assert await lists.make("ws-1", NEXT_KEY, new) == of(20)
    assert lists.find("ws-1", KEY) is None
    old.done.set()
    assert await caller == of(10)


@pytest.mark.parametrize("renamed", [(b"head", "new", "network"), (b"head", "acme", "new")])
async def test_a_list_with_another_name_in_it_is_another_list(renamed: ListKey) -> None:
    lists = RenderedLists(ROOM)
    await keep(lists, "ws-1", 10)
    assert lists.find("ws-1", KEY)
    assert lists.find("ws-1", renamed) is None


async def test_what_is_looked_for_is_counted_by_whether_it_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lists, counted = RenderedLists(ROOM), list[str]()
    await keep(lists, "ws-1", 10)
    monkeypatch.setattr(rendered.LOOKUPS, "add", counted.append)
    for key in (KEY, NEXT_KEY):
        lists.find("ws-1", key)
    assert counted == ["hit", "miss"]


async def test_one_who_goes_away_takes_nobody_along() -> None:
    lists, render = RenderedLists(ROOM), Renderer(of(10))
    first, second, third, fourth = await waiting_for(lists, render, 4)
    first.cancel()
    third.cancel()
    await asyncio.wait([first, third])
    render.done.set()
    assert [await second, await fourth] == [of(10)] * 2
    assert render.times == 2, "the one who rendered went away, and one other took over"


async def test_a_failure_is_everybodys_and_is_not_kept() -> None:
    lists, broken, whole = RenderedLists(ROOM), Renderer(OSError("down")), Renderer(of(10))
    callers = await waiting_for(lists, broken, 3)
    broken.done.set()
    whole.done.set()
    outcomes = await asyncio.gather(*callers, return_exceptions=True)
    assert [str(outcome) for outcome in outcomes] == ["down"] * 3
    assert await lists.make("ws-1", KEY, whole) == of(10)


async def test_a_failure_nobody_waits_for_any_more_is_not_complained_of() -> None:
    lists, broken = RenderedLists(ROOM), Renderer(OSError("down"))
    (caller,) = await waiting_for(lists, broken, 1)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    broken.done.set()
    await asyncio.sleep(0)
    assert lists.find("ws-1", KEY) is None


async def test_a_list_of_a_stream_that_has_moved_is_not_kept() -> None:
    lists, moved = RenderedLists(ROOM), Renderer(None)
    moved.done.set()
    assert await lists.make("ws-1", KEY, moved) is None
    assert lists.find("ws-1", KEY) is None


async def keep(lists: RenderedLists, name: str, size: int) -> None:
    render = Renderer(of(size))
    render.done.set()
    await lists.make(name, KEY, render)


async def test_when_full_it_forgets_the_list_that_was_not_used_for_longest() -> None:
    lists = RenderedLists(100 + 2 * ENTRY_BYTES)
    await keep(lists, "ws-1", 50)
    await keep(lists, "ws-2", 50)
    assert lists.find("ws-1", KEY)
    await keep(lists, "ws-3", 50)
    kept = [name for name in ("ws-1", "ws-2", "ws-3") if lists.find(name, KEY)]
    assert kept == ["ws-1", "ws-3"]


async def test_a_workspace_takes_the_room_of_its_newest_list_alone() -> None:
    lists = RenderedLists(100 + 2 * ENTRY_BYTES)
    await keep(lists, "ws-1", 50)
    for size in (10, 20, 30, 40, 50):
        await keep(lists, "ws-2", size)
    assert lists.find("ws-1", KEY)
    assert lists.find("ws-2", KEY) == of(50)


async def test_a_list_larger_than_all_room_displaces_nothing_and_is_shared_while_it_is_sent() -> (
    None
):
    lists, render = RenderedLists(100 + 2 * ENTRY_BYTES), Renderer(of(101 + ENTRY_BYTES))
    await keep(lists, "ws-1", 50)
    render.done.set()
    sent = await lists.make("ws-2", KEY, render)
    render.forget()
    assert lists.find("ws-1", KEY)
    assert lists.find("ws-2", KEY) is sent
    del sent
    await asyncio.sleep(0)
    assert lists.find("ws-2", KEY) is None


async def test_empty_lists_are_bounded_as_well() -> None:
    lists = RenderedLists(ROOM)
    for number in range(1000):
        await keep(lists, f"ws-{number}", 0)
    kept = [number for number in range(1000) if lists.find(f"ws-{number}", KEY)]
    assert kept == list(range(900, 1000))


async def test_a_list_that_takes_just_all_the_room_is_kept() -> None:
    lists, render = RenderedLists(100 + ENTRY_BYTES), Renderer(of(100))
    render.done.set()
    await lists.make("ws-1", KEY, render)
    render.forget()
    await asyncio.sleep(0)
    assert lists.find("ws-1", KEY) == of(100)


@pytest.mark.parametrize(("value_bytes", "at_a_time"), [(ROOM // 8, 2), (ROOM // 8 + 1, 1)])
async def test_lists_with_much_in_them_are_rendered_one_at_a_time(
    value_bytes: int, at_a_time: int
) -> None:
    lists, renders = RenderedLists(ROOM), [Renderer(of(10)) for _ in "12"]
    making = [
        asyncio.create_task(lists.make(f"ws-{n}", KEY, render, value_bytes=value_bytes))
        for n, render in enumerate(renders)
    ]
    for _ in range(5):
        await asyncio.sleep(0)
    assert sum(render.times for render in renders) == at_a_time
    for render in renders:
        render.done.set()
    assert await asyncio.gather(*making) == [of(10)] * 2
