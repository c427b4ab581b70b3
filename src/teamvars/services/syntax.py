"""Whether values parse as configuration-language code: for all services that take values."""

import asyncio
from dataclasses import replace

from teamvars.domain.errors import Code, Fault
from teamvars.domain.variables import MAX_VALUE_BYTES, Variable, VariableDraft
from teamvars.hcl import HclError, parse

_PARSED_ON_THE_LOOP = 4096
"""Characters up to which parsing is too quick to be worth a thread."""


async def checked(draft: VariableDraft, before: Variable | None) -> VariableDraft:
    """The draft, with a fault where it would store code that does not parse."""
    code = draft.code(before)
    if code is None or len(code.text) > MAX_VALUE_BYTES:  # too long for a value is its own fault
        return draft
    error = await first_error(code.text)
    if error is None:
        return draft
    return replace(draft, faults=(*draft.faults, _fault(error, code.pointer)))


async def first_error(source: str) -> HclError | None:
    """Why the source is not exactly one expression; None: it is."""
    if len(source) <= _PARSED_ON_THE_LOOP:
        return _first_error(source)
    return await asyncio.to_thread(_first_error, source)


def _first_error(source: str) -> HclError | None:
    try:
        parse(source)
    except HclError as error:
        return error
    return None


def _fault(error: HclError, pointer: str) -> Fault:
    """The place and the rule; never a piece of the value."""
    return Fault(
        Code.HCL_SYNTAX,
        f"At line {error.line}, column {error.column}: {error.message}.",
        pointer=pointer,
        meta={"line": error.line, "column": error.column},
    )
