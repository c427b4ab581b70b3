"""What contract §4 says of one variable: what it may be asked to be, and what is shown of it."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.faults.model.refusals import FaultTriple

Attributes = Mapping[str, Any]
Name = tuple[str, str]
"""Its key and its category."""

DEFAULTS: Attributes = {"value": "", "description": "", "hcl": False, "sensitive": False}
NO_CODE = ("", "1 +")
"""The values of the machine that are not code. One that a variable may have anyhow is `""`."""


def name_of(variable: Attributes) -> Name:
    """What it has alone in its workspace."""
    return variable["key"], variable["category"]


def shown(variable: Attributes) -> Attributes:
    """Its id and attributes as its readers see them."""
    value = None if variable["sensitive"] else variable["value"]
    return {name: x for name, x in {**variable, "value": value}.items() if name != "workspace"}


def changed(before: Attributes, given: Attributes) -> list[str]:
    """The attributes that are others now; of a sensitive variable, a value that is given."""
    hidden = before["sensitive"] or given.get("sensitive")
    return [
        name
        for name in DEFAULTS
        if name in given and (given[name] != before[name] or (name == "value" and hidden))
    ]


def faults(given: Attributes, before: Attributes | None, at: str) -> list[FaultTriple]:
    """What is wrong with the attributes of a request, in their order. `before`: None in a create.

    What is missing comes with the operation, which knows what it requires.
    """
    found: list[FaultTriple] = []
    for name, value in given.items():
        code = _WRONG[name](value) if name in _WRONG else "unknown_attribute"
        if name == "sensitive" and value is False and before is not None and before["sensitive"]:
            code = "sensitive_is_permanent"
        if code is None and name == _blamed_for_code(given, before):
            code = "hcl_syntax"
        if code is not None:
            found.append(("422", code, f"{at}/{name}"))
    return found


def missing(given: Attributes, *names: str, at: str) -> list[FaultTriple]:
    """A fault for each attribute that is required and not there."""
    return [("422", "missing_member", f"{at}/{name}") for name in names if name not in given]


def _blamed_for_code(given: Attributes, before: Attributes | None) -> str | None:
    """The attribute by which the request makes something code that is none.

    A stored sensitive value is not looked at, and neither is one that was at fault itself.
    """
    after = {**(before or DEFAULTS), **given}
    is_code = after["hcl"] is True and after.get("category") == "tool"
    if not is_code or after["value"] not in NO_CODE:
        return None
    if "value" in given:
        return "value"
    if before is not None and before["sensitive"]:
        return None
    return next((name for name in ("hcl", "category") if name in given), None)


def _key(key: object) -> str | None:
    if not isinstance(key, str):
        return "wrong_type"
    return "invalid_value" if not key or set(" =\n") & set(key) else None


def _category(category: object) -> str | None:
    return None if category in ("tool", "env") else "invalid_value"


def _text(text: object) -> str | None:
    return None if isinstance(text, str) else "wrong_type"


def _flag(flag: object) -> str | None:
    return None if isinstance(flag, bool) else "wrong_type"


_WRONG: Mapping[str, Callable[[object], str | None]] = {
    "key": _key,
    "value": _text,
    "description": _text,
    "category": _category,
    "hcl": _flag,
    "sensitive": _flag,
}
