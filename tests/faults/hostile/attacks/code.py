"""Values that are code, and files of variables, as long as they may be."""

import itertools
import json
from collections.abc import Mapping
from functools import cache

from teamvars.kernel.variables import MAX_VALUE_BYTES
from teamvars.services.parsed_files import MAX_CONTENT_BYTES
from tests.faults.hostile.attack import BOTH, Attack
from tests.faults.hostile.target import Target, document
from tests.faults.hostile.wire import Answer, ask, repeat, together

AT_ONCE = 16

_numbers = itertools.count()


@cache
def _code() -> str:
    return "[" + "1," * ((MAX_VALUE_BYTES - 2) // 2) + "]"


@cache
def _file() -> str:
    """What takes the longest to read, and the most memory."""
    return "a = [" + ("[" * 60 + "]" * 60 + ",") * ((MAX_CONTENT_BYTES - 7) // 121) + "]\n"


def _check(target: Target) -> bytes:
    return _action(target, "check-value", "value-checks", {"value": _code(), "hcl": True})


def _parse(target: Target) -> bytes:
    attributes = {"format": "tfvars", "content": _file()}
    return _action(target, "parse", "parsed-files", attributes)


def _action(target: Target, action: str, type_: str, attributes: Mapping[str, object]) -> bytes:
    body = json.dumps({"data": {"type": type_, "attributes": attributes}}).encode()
    path = f"{target.vars.removesuffix('/vars')}/actions/{action}"
    return target.request("POST", path, target.owner, body)


async def checks(target: Target, seconds: float) -> list[Answer]:
    """One request after another."""
    sent = _check(target)
    return await repeat(seconds, lambda: ask(target.port, sent))


async def checks_at_once(target: Target, seconds: float) -> list[Answer]:
    """Sixteen who go on."""
    sent = _check(target)
    return await together(AT_ONCE, lambda: repeat(seconds, lambda: ask(target.port, sent)))


async def files_at_once(target: Target, seconds: float) -> list[Answer]:
    """Sixteen who go on with files."""
    sent = _parse(target)
    return await together(AT_ONCE, lambda: repeat(seconds, lambda: ask(target.port, sent)))


async def creates(target: Target, seconds: float) -> list[Answer]:
    """One after another, in many workspaces, so that none of them is full soon."""
    crowd = target.crowd

    async def once() -> Answer:
        number = next(_numbers)
        workspace = crowd.workspaces[number % len(crowd.workspaces)]
        body = document(key=f"code_{number}", value=_code(), category="tool", hcl=True)
        path = f"/api/v2/workspaces/{workspace}/vars"
        return await ask(target.port, target.request("POST", path, crowd.token, body))

    return await repeat(seconds, once)


ATTACKS = [
    Attack("code, one check after another", checks, frozenset({200, 422, 429, 503}), engines=BOTH),
    Attack("code, 16 checks at once", checks_at_once, frozenset({200, 422, 429, 503})),
    Attack("code, 16 files at once", files_at_once, frozenset({200, 422, 429, 503})),
    Attack("code, creates", creates, frozenset({201, 422, 429, 503})),
]
