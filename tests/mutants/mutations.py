"""Mutants: what the code would be without one of its guards."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

GUARDS = ("require", "verify", "lock", "check")
"""How functions are called that refuse, authenticate or lock; with or without a leading `_`."""
_LOCKING = ("lock", "locks")
"""Arguments that say whether a lock is taken."""

_SHIFTED: dict[type[ast.cmpop], str] = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_UNREACHED = {"False": "False and", "True": "True or", "None": "None and"}
"""What stands before an expression that is not to be reached, by what is to be in its place."""
_WRITTEN_DOWN = (ast.Constant, ast.Tuple, ast.List, ast.Dict)
"""With one of these `or` gives a default, as in `names or ()`, and decides nothing."""
_NESTING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Mutant(NamedTuple):
    """A file with one place of it replaced."""

    path: str
    """Of the file, from the project's folder."""

    line: int
    function: str
    """The qualified name of the function around the place; empty where there is none."""

    change: str
    """What stands there, and what instead; numbered where a function has the same twice."""

    source: str
    """The whole file as it would be."""

    is_call: bool = False
    """Whether it does without the call of a guard, or without a lock, rather than a condition."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.function or 'module'}: {self.change}"


class _Change(NamedTuple):
    node: ast.expr
    function: str
    instead: str
    is_call: bool = False


def of_file(root: Path, path: str) -> list[Mutant]:
    """All mutants of a file."""
    source = (root / path).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    seen: Counter[tuple[str, str]] = Counter()
    mutants = []
    for node, function, instead, is_call in _changes(ast.parse(source), ()):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        original = source[begin:end].decode()
        change = f"{' '.join(original.split())} → {instead}"
        seen[function, change] += 1
        if (times := seen[function, change]) > 1:
            change += f" ({times})"
        written = _written(original, instead)
        whole = (source[:begin] + written.encode() + source[end:]).decode()
        mutants.append(Mutant(path, node.lineno, function, change, whole, is_call))
    return mutants


def _written(original: str, instead: str) -> str:
    """How a change is written: all lines stay where they are, and no function loses a variable of
    those around it, so that its code can take the place of what is loaded.
    """
    if instead in _UNREACHED:
        return f"({_UNREACHED[instead]} ({original}))"
    lines = original.count("\n") - instead.count("\n")
    return f"({instead}" + "\n" * lines + ")"


def _changes(node: ast.AST, within: tuple[str, ...]) -> Iterator[_Change]:
    """The changes of a node and all below it; `within` are the names around it."""
    if isinstance(node, ast.Assert):  # tells readers and mypy what cannot be otherwise
        return
    function = ".".join(within).removesuffix(".<locals>")
    for condition in _conditions(node):
        for instead in _instead(condition):
            yield _Change(condition, function, instead)
    if isinstance(node, ast.Expr) and _is_guard(node.value):
        yield _Change(node.value, function, "None", is_call=True)
    if (
        isinstance(node, ast.keyword)
        and node.arg in _LOCKING
        and isinstance(node.value, ast.Constant)
    ):
        yield _Change(node.value, function, str(not node.value.value), is_call=True)
    if isinstance(node, _NESTING):
        is_function = not isinstance(node, ast.ClassDef)
        within = (*within, node.name, "<locals>") if is_function else (*within, node.name)
    for child in ast.iter_child_nodes(node):
        yield from _changes(child, within)


def _conditions(node: ast.AST) -> Iterable[ast.expr]:
    """What the node decides by: whole conditions, and each part of one with `and` or `or`."""
    match node:
        case ast.Compare():
            return (node,)
        case ast.If() | ast.While() | ast.IfExp():
            parts = [node.test]
        case ast.comprehension():
            parts = node.ifs
        case ast.BoolOp() if not any(isinstance(part, _WRITTEN_DOWN) for part in node.values):
            parts = node.values
        case _:
            return ()
    # Comparisons, and parts of `and` and `or`, are met by themselves.
    return [part for part in parts if not isinstance(part, ast.Compare | ast.BoolOp)]


def _instead(condition: ast.expr) -> Iterator[str]:
    """What may stand in place of a condition: both outcomes, and a bound beside the true one."""
    yield from sorted({"False", "True"} - {ast.unparse(condition)})
    if isinstance(condition, ast.Compare) and len(condition.ops) == 1:
        shifted = _SHIFTED.get(type(condition.ops[0]))
        if shifted is not None:
            left, right = ast.unparse(condition.left), ast.unparse(condition.comparators[0])
            yield f"{left} {shifted} {right}"


def _is_guard(value: ast.expr) -> bool:
    """Whether a statement is nothing but the call of a guard, awaited or not."""
    call = value.value if isinstance(value, ast.Await) else value
    if not isinstance(call, ast.Call):
        return False
    called = call.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name.lstrip("_").startswith(GUARDS)
