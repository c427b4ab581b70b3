"""Applies and copies, as large as they may be, and bodies that only look like applies."""

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

from teamvars.domain.applies import MAX_ITEMS
from teamvars.kernel.variables import MAX_VALUE_BYTES
from teamvars.web.http.request import LARGE_BODY_BYTES
from tests.faults.hostile.attack import BOTH, REFUSED, STRANGER, UNKNOWN, Attack
from tests.faults.hostile.target import Target, forged
from tests.faults.hostile.wire import Answer, ask, repeat, together

AT_ONCE = 16
_LONGEST_VALUES = 60
_WRITERS_WAIT = 1.5
_numbers = itertools.count()


def _items(values: Sequence[str]) -> bytes:
    """An apply of a variable for each value, and of nothing else."""
    items = [
        {"type": "vars", "attributes": {"key": f"key_{n}", "category": "env", "value": value}}
        for n, value in enumerate(values)
    ]
    return json.dumps({"data": items, "meta": {"prune": True}}).encode()


@cache
def _applies(kind: str) -> Sequence[bytes]:
    """Two whose variables all have other values."""
    if kind == "many":
        return [_items([word] * MAX_ITEMS) for word in ("left", "right")]
    return [_items([letter * MAX_VALUE_BYTES] * _LONGEST_VALUES) for letter in "ab"]


def _filled(start: bytes, piece: bytes, end: bytes) -> bytes:
    """As many pieces as a body may have."""
    room = LARGE_BODY_BYTES - len(start) - len(end)
    return start + piece * (room // len(piece)) + end


_START, _END = b'{"data":[', b"]}"
SHAPES: dict[str, Callable[[], bytes]] = {
    "24 MB of arrays": lambda: _filled(_START, b"[],", b"0" + _END),
    "24 MB of deep items": lambda: _filled(_START, b"[" * 28 + b"]" * 28 + b",", b"0" + _END),
    "24 MB of one string": lambda: _filled(_START + b'"', b"\\u0041", b'"' + _END),
    "24 MB of white space": lambda: _filled(_START, b" ", _END),
    "24 MB of long items": lambda: _filled(
        _START, b'"' + b"\\u0001" * 300_000 + b'",', b"0" + _END
    ),
    "24 MB of members": lambda: _filled(
        _START, b"{" + b",".join(b'"%d":"\\u0000"' % n for n in range(30)) + b"},", b"0" + _END
    ),
}
_BODIES = {name: cache(build) for name, build in SHAPES.items()}


def _path(workspace_id: str, action: str) -> str:
    return f"/api/v2/workspaces/{workspace_id}/actions/{action}"


def _sent(target: Target, kind: str, workspaces: int) -> Iterator[bytes]:
    """One apply after another, each of which changes every variable."""
    crowd = target.crowd
    while True:
        number = next(_numbers)
        path = _path(crowd.workspaces[number % workspaces], "apply")
        body = _applies(kind)[number // workspaces % 2]
        yield target.request("POST", path, crowd.token, body)


async def applies(kind: str, target: Target, seconds: float) -> list[Answer]:
    """One after another."""
    sent = _sent(target, kind, workspaces=1)
    return await repeat(seconds, lambda: ask(target.port, next(sent)))


async def applies_at_once(target: Target, seconds: float) -> list[Answer]:
    """Sixteen who go on, in as many workspaces."""
    sent = _sent(target, "many", AT_ONCE)
    return await together(AT_ONCE, lambda: repeat(seconds, lambda: ask(target.port, next(sent))))


async def copies(target: Target, seconds: float) -> list[Answer]:
    """All that a workspace can hold from one into another, again and again."""
    crowd = target.crowd
    source, into = crowd.workspaces[-2:]
    await ask(
        target.port,
        target.request("POST", _path(source, "apply"), crowd.token, _applies("long")[0]),
    )
    data = {
        "type": "copies",
        "attributes": {"on-conflict": "replace"},
        "relationships": {"source": {"data": {"type": "workspaces", "id": source}}},
    }
    body = json.dumps({"data": data}).encode()
    sent = target.request("POST", _path(into, "copy"), crowd.token, body)
    return await repeat(seconds, lambda: ask(target.port, sent))


async def shapes(name: str, is_known: bool, target: Target, seconds: float) -> list[Answer]:
    """Bodies of that shape, one after another."""
    path = target.vars.replace("/vars", "/actions/apply")
    token = target.owner if is_known else forged()
    sent = target.request("POST", path, token, _BODIES[name]())
    return await repeat(seconds, lambda: ask(target.port, sent))


DONE = frozenset({200, 429, 503})
ATTACKS = [
    *(
        Attack(name, run, DONE, engines=BOTH, writers_wait=_WRITERS_WAIT)
        for name, run in (
            ("applies of 5,000", partial(applies, "many")),
            ("applies of 16 MB", partial(applies, "long")),
            ("16 applies of 5,000 at once", applies_at_once),
            ("copies of 16 MB", copies),
        )
    ),
    *(Attack(f"{name}, valid token", partial(shapes, name, True), REFUSED) for name in SHAPES),
    Attack(
        "24 MB of long items, forged token",
        partial(shapes, "24 MB of long items", False),
        STRANGER,
        UNKNOWN,
    ),
]
