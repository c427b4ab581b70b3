"""What a value comes to."""

import msgspec

from teamvars.cli.exits import INVALID
from teamvars.cli.failures import Failure
from teamvars.domain.names import escaped
from teamvars.domain.variables import Category, Variable
from teamvars.hcl import HclError, evaluate

_JSON = msgspec.json.Encoder(decimal_format="number")


def evaluated(variable: Variable, value: str) -> str:
    """The value as a line of JSON: a text, or what code comes to. Fails at the place at fault."""
    if not variable.hcl or variable.category is Category.ENV:
        return _line(value)
    try:
        return _line(evaluate(value))
    except HclError as error:
        about, *excerpt = str(error).split("\n")
        lines = [f"{variable.key} has no value by itself: {about}", *map(escaped, excerpt)]
        raise Failure("\n".join(lines), INVALID) from None


def _line(value: object) -> str:
    return f"{_JSON.encode(value).decode()}\n"
