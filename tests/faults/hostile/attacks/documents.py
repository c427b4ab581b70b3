"""Documents that cost more to read, or to refuse, than to send."""

from collections.abc import Callable
from functools import cache, partial

from teamvars.web.http.request import MAX_BODY_BYTES
from tests.faults.hostile.attack import REFUSED, STRANGER, UNKNOWN, Attack
from tests.faults.hostile.target import Target, forged
from tests.faults.hostile.wire import Answer, ask, repeat


def _array(item: bytes) -> bytes:
    """As many of the item as a body may hold."""
    return b"[" + b",".join([item] * ((MAX_BODY_BYTES - 2) // (len(item) + 1))) + b"]"


def _string(piece: bytes) -> bytes:
    return b'"' + piece * ((MAX_BODY_BYTES - 2) // len(piece)) + b'"'


def _under_a_name(length: int, items: list[bytes]) -> bytes:
    return b'{"' + b"a" * length + b'":[' + b",".join(items) + b"]}"


def _unknown_attributes(count: int) -> bytes:
    names = b",".join(b'"%06d":0' % n for n in range(count))
    return b'{"data":{"type":"vars","attributes":{' + names + b"}}}"


_NUL = rb'"\u0000"'

DOCUMENTS: dict[str, Callable[[], bytes]] = {
    "a long name over 500,000 items": lambda: _under_a_name(
        1_000_000, [rb'"\u0041"', *[b"0"] * 500_000]
    ),
    "arrays": partial(_array, b"[]"),
    "objects": partial(_array, b'{"a":1}'),
    "escapes": partial(_string, rb"\u0041"),
    "backslashes": partial(_string, rb"\\"),
    "depth": lambda: b"[" * (MAX_BODY_BYTES // 2) + b"]" * (MAX_BODY_BYTES // 2),
    "long numbers": partial(_array, b"9" * 100_000),
    "a member 100,000 times": lambda: b"{" + b",".join([b'"a":1'] * 100_000) + b"}",
    "1,000 NULs under 1 MB": lambda: _under_a_name(1_000_000, [_NUL] * 1000),
    "1,500 NULs under 900 kB": lambda: _under_a_name(900_000, [_NUL] * 1500),
    "140,000 unknown attributes": lambda: _unknown_attributes(140_000),
}
_BODIES = {name: cache(build) for name, build in DOCUMENTS.items()}


async def _stranger(name: str, target: Target, seconds: float) -> list[Answer]:
    return await _one_after_another(target, seconds, forged(), _BODIES[name]())


async def _caller(name: str, target: Target, seconds: float) -> list[Answer]:
    return await _one_after_another(target, seconds, target.owner, _BODIES[name]())


async def _one_after_another(
    target: Target, seconds: float, token: str, body: bytes
) -> list[Answer]:
    sent = target.request("POST", target.vars, token, body)
    return await repeat(seconds, lambda: ask(target.port, sent))


ATTACKS = [
    *(
        Attack(f"{name}, forged token", partial(_stranger, name), STRANGER, UNKNOWN)
        for name in DOCUMENTS
    ),
    *(Attack(f"{name}, valid token", partial(_caller, name), REFUSED) for name in DOCUMENTS),
]
