"""Expressions of the HashiCorp configuration language, with the verdicts of terraform 1.11.

What has been read is an expression, what it refers to without being evaluated, and the definitions
of a file, `name = expression` each, as terraform reads its variable files.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from teamvars.hcl.errors import HclError, TooMuchWork
from teamvars.hcl.evaluator import MAX_STEPS, Evaluator, unknown
from teamvars.hcl.nodes import Attribute, Call, For, Literal, Node, Splat, Traversal, Variable
from teamvars.hcl.parser import Parser
from teamvars.hcl.values import plain

__all__ = [
    "Definition",
    "Expression",
    "HclError",
    "TooMuchWork",
    "Work",
    "definitions",
    "evaluate",
    "parse",
]

MAX_SOURCE = 262_144
"""Bytes of UTF-8: what a variable's value may have."""

FEW = 10
"""Of expressions that belong together, as in a file, so many may take all that one may."""


class Work:
    """How many steps are left of those that the evaluations of many expressions share."""

    __slots__ = ("left",)

    def __init__(self, characters: int) -> None:
        """For expressions of so many characters together: enough for all that is merely written
        down, which takes a step for each, and for a few that take all that one may.
        """
        self.left = 2 * characters + FEW * MAX_STEPS


class Expression:
    """A source whose syntax is right. It shows nothing of the source in its `repr`."""

    __slots__ = ("_root", "_source")

    def __init__(self, source: str, root: Node) -> None:
        self._source = source
        self._root = root

    @property
    def references(self) -> tuple[str, ...]:
        """The variables it refers to, such as `var.region` or `local.x`, in the source's order."""
        names: dict[str, None] = {}
        for suffix, node, local in _walk(self._root):
            if isinstance(node, Variable) and node.name not in local:
                names[node.name + suffix] = None
        return tuple(names)

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions it calls, such as `file` or `provider::aws::arn_parse`."""
        calls = (node for _, node, _ in _walk(self._root) if isinstance(node, Call))
        return tuple(dict.fromkeys(call.name for call in calls))

    @property
    def repeats(self) -> bool:
        """Whether a part of it may be evaluated more than once: it has a `for` or a splat."""
        return any(isinstance(node, For | Splat) for _, node, _ in _walk(self._root))

    @property
    def unknowns(self) -> Iterator[HclError]:
        """The error of each place that refers to a variable or calls a function.

        Those in a branch that is never chosen are among them, though it evaluates without them.
        """
        for _, node, local in _walk(self._root):
            if isinstance(node, Call) or (isinstance(node, Variable) and node.name not in local):
                yield unknown(node).told(self._source)

    def evaluate(self, steps: int = MAX_STEPS, *, work: Work | None = None) -> Any:
        """Its value: None, bool, int, float or exact Decimal, str, list or dict.

        Refuses: an unknown name or function, an operation without a result, too much work: more
        than so many `steps`, or than what is left of the `work` that it shares with others.
        """
        allowed = steps if work is None else min(steps, work.left)
        evaluator = Evaluator(self._source, allowed)
        try:
            return plain(evaluator.result(self._root))
        finally:
            if work is not None:
                work.left -= allowed - evaluator.left


def parse(source: str) -> Expression:
    """Read `source` as exactly one expression.

    Refuses: anything else, more than 256 KiB, nesting over 64 levels, an exponent over 1,000.
    """
    try:
        size = len(source.encode())
    except UnicodeEncodeError as error:
        raise HclError.at(source, error.start, "half of a surrogate pair is no character") from None
    if size > MAX_SOURCE:
        raise HclError.at(source, 0, f"a value is longer than {MAX_SOURCE // 1024} KiB")
    return Expression(source, Parser(source).whole())


def evaluate(source: str) -> Any:
    """The value of `source`. Refuses: what `parse` and `Expression.evaluate` refuse."""
    return parse(source).evaluate()


_BEGINS = re.compile(r"^(?:[^\W\d]|_)[\w-]*+[ \t]*+=(?!=)", re.MULTILINE)
"""What looks like a definition, at the first column of a line."""


class Definition:
    """One definition: the offset of its name, and its expression with the text of that.

    The errors of the expression have their places in the whole file. It shows nothing of the file
    in its `repr`.
    """

    __slots__ = ("at", "expression", "name", "text")

    def __init__(self, name: str, at: int, text: str, expression: Expression) -> None:
        self.name = name
        self.at = at
        self.text = text
        self.expression = expression


def definitions(source: str) -> Iterator[Definition | HclError]:
    """Every definition of a file, and every fault, in their order.

    After a fault the next definition is looked for at the first column of a line: what is indented
    belongs, by custom, to what is broken. No part of the source is read twice.
    """
    parser: Parser | None = Parser(source)
    start = 0
    while parser is not None:
        try:
            found = parser.assignment()
        except HclError as error:
            yield error
            following = _BEGINS.search(source, max(parser.scanner.end, start + 1))
            start = following.start() if following else len(source)
            parser = Parser(source, start) if following else None
            continue
        if found is None:
            return
        text = source[found.start : found.end]
        yield Definition(found.name, found.at, text, Expression(source, found.value))


Locals = frozenset[str]
"""The names that the surrounding `for`s have introduced."""

Found = tuple[str, msgspec.Struct, Locals]


def _walk(root: Node) -> Iterator[Found]:
    """Every part in the order of the source, with the attribute read from it and the locals."""
    waiting: list[Found] = [("", root, frozenset())]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(reversed(_inside(found[1], found[2])))


def _inside(node: msgspec.Struct, local: Locals) -> list[Found]:
    match node:
        case Literal() | Variable():
            return []
        case For(names):
            # Its collection is outside the reach of its names; the rest is within.
            within = local | {names.key, names.value}
            return [("", part, local if part is names else within) for part in _parts(node)]
        case Traversal(source, steps):
            suffix = f".{steps[0].name}" if isinstance(steps[0], Attribute) else ""
            return [(suffix, source, local), *(("", step, local) for step in steps)]
        case _:
            return [("", part, local) for part in _parts(node)]


def _parts(node: msgspec.Struct) -> list[msgspec.Struct]:
    """What a node is made of; the order of its fields is that of the source."""
    parts: list[msgspec.Struct] = []
    for field in node.__struct_fields__:
        value = getattr(node, field)
        if isinstance(value, tuple):
            parts.extend(value)
        elif isinstance(value, msgspec.Struct):
            parts.append(value)
    return parts
