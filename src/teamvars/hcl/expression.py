"""An expression that has been read, and the two verbs of the package."""

from collections.abc import Iterator
from typing import Any

from teamvars.hcl.errors import HclError
from teamvars.hcl.evaluator import MAX_STEPS, Evaluator
from teamvars.hcl.nodes import Node, Variable
from teamvars.hcl.parser import Parser
from teamvars.hcl.references import functions, references, repeats, unknowns
from teamvars.hcl.values import plain

MAX_SOURCE = 262_144
"""Bytes of UTF-8: what a variable's value may have."""


class Expression:
    """A source whose syntax is right. It shows nothing of the source in its `repr`."""

    __slots__ = ("_root", "_source")

    def __init__(self, source: str, root: Node) -> None:
        self._source = source
        self._root = root

    @property
    def references(self) -> tuple[str, ...]:
        """The variables it refers to, such as `var.region` or `local.x`, in the source's order."""
        return references(self._root)

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions it calls, such as `file` or `provider::aws::arn_parse`."""
        return functions(self._root)

    @property
    def repeats(self) -> bool:
        """Whether a part of it may be evaluated more than once: it has a `for` or a splat."""
        return repeats(self._root)

    @property
    def unknowns(self) -> Iterator[HclError]:
        """The error of each place that refers to a variable or calls a function.

        Those in a branch that is never chosen are among them, though it evaluates without them.
        """
        for node in unknowns(self._root):
            is_name = isinstance(node, Variable)
            rule = "a variable is unknown here" if is_name else "functions are unknown here"
            yield HclError.at(self._source, node.at, rule, name=node.name)

    def evaluate(self, steps: int = MAX_STEPS) -> Any:
        """Its value: None, bool, int, float or exact Decimal, str, list or dict.

        Refuses: an unknown name or function, an operation without a result, too much work: more
        than so many `steps`.
        """
        return plain(Evaluator(self._source, steps).result(self._root))


def parse(source: str) -> Expression:
    """Read `source` as exactly one expression.

    Refuses: anything else, more than 256 KiB, nesting over 64 levels, an exponent over 1,000.
    """
    try:
        size = len(source.encode())
    except UnicodeEncodeError as error:
        message = "half of a surrogate pair is no character"
        raise HclError.at(source, error.start, message) from None
    if size > MAX_SOURCE:
        raise HclError.at(source, 0, f"a value is longer than {MAX_SOURCE // 1024} KiB")
    return Expression(source, Parser(source).whole())


def evaluate(source: str) -> Any:
    """The value of `source`. Refuses: what `parse` and `Expression.evaluate` refuse."""
    return parse(source).evaluate()
