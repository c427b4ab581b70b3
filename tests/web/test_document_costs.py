"""Whatever document is sent: reading and refusing it costs in proportion to its length at most."""

import asyncio
import json
import time
import tracemalloc
from collections.abc import Callable
from typing import NamedTuple

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from teamvars.domain.errors import Refusal
from teamvars.web.dialects import STANDARD
from teamvars.web.http import errors
from teamvars.web.http.json_body import Parser
from teamvars.web.http.request import MAX_BODY_BYTES
from teamvars.web.http.resource_objects import Identifier
from teamvars.web.variables.requests import create_draft

LARGE = b"[" + b",".join([b'{"a":[0,""]}'] * 12_000) + b"]"
"""A document of plain values whose reading is what others are held against."""
MEMORY_A_BYTE, MEMORY = 80, 4 * 1024 * 1024
TIMES_AS_MUCH = 25

WRAPPERS = (
    '{"data":{"type":"vars","attributes":{"%s":[%s]}}}',
    '{"%s":[%s]}',
    '{"data":{"%s":{"x":[%s]}}}',
    '{"data":[{"%s":[%s]}]}',
)
ITEMS = ("[]", "{}", '{"a":1}', r'"\u0000"', r'"\u0041"', '""', r'"\"\\"', "0", "1e9", "true")


class Recipe(NamedTuple):
    """A document of so many items, or unknown attributes, and a name of that length."""

    name: int
    items: int
    item: str | None = "0"
    wrapper: str = WRAPPERS[0]

    def body(self) -> bytes:
        name = "n" * self.name
        if self.item is not None:
            return (self.wrapper % (name, ",".join([self.item] * self.items))).encode()
        attributes = {f"{name}{number}": number for number in range(self.items)}
        return json.dumps({"data": {"type": "vars", "attributes": attributes}}).encode()


async def refused(body: bytes) -> int:
    """Reads the document, as a create does, and refuses it; the bytes of the answer."""
    document: object = None
    try:
        document = await Parser().parse(body)
        draft, _ = create_draft(document, Identifier("ws-1", "workspaces"), STANDARD)
        refusal = Refusal(*draft.faults)
    except Refusal as malformed:
        refusal = malformed
    return len(msgspec.json.encode(errors.document(refusal, document)))


def seconds(work: Callable[[], object]) -> float:
    """The least processor time of some tries."""
    times = []
    for _ in range(3):
        began = time.thread_time()
        work()
        times.append(time.thread_time() - began)
    return min(times)


# What stopped a worker for half a minute, or made it take gigabytes.
@example(Recipe(1_000_000, 500_000))
@example(Recipe(900_000, 1500, r'"\u0000"'))
@example(Recipe(1, 49_000, None))
@example(Recipe(1, 140_000, None))
@example(Recipe(150, 12_000, None))
@example(Recipe(1, 500_000, "[", "%.0s%s"))
@example(Recipe(1, 500_000, '"', "%.0s%s"))
@example(Recipe(1, 500_000, r"\\", '%.0s"%s'))
@settings(max_examples=12, deadline=None)
@given(
    st.builds(
        Recipe,
        st.sampled_from([1, 50, 100_000, 1_000_000]),
        st.integers(1, 60_000),
        st.sampled_from(ITEMS),
        st.sampled_from(WRAPPERS),
    )
)
def test_time_and_memory_grow_no_faster_than_the_document_and_the_answer_stays_small(
    recipe: Recipe,
) -> None:
    body = recipe.body()[:MAX_BODY_BYTES]
    assert asyncio.run(refused(body)) <= errors.MOST_BYTES
    tracemalloc.start()
    try:
        asyncio.run(refused(body))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= MEMORY + MEMORY_A_BYTE * len(body)
    plain = seconds(lambda: json.loads(LARGE)) / len(LARGE)
    assert seconds(lambda: asyncio.run(refused(body))) <= TIMES_AS_MUCH * plain * (
        len(body) + len(LARGE)
    )
