"""How much source there is, room by room: `python3 dev.py size`.

Counts the Python of `src`, which is what the wheels hold. A statement is one of the syntax tree,
on however many lines; docstrings, which are statements as well, are left out. Public names are
modules, classes, functions and methods that do not begin with an underscore.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Size:
    """What the modules of a room add up to; `longest` is a function's lines and its name."""

    modules: int = 0
    statements: int = 0
    nodes: int = 0
    longest: tuple[int, str] = (0, "")
    public: Counter[bool] = field(default_factory=Counter)
    """How many public names have a docstring, and how many have none."""

    def __add__(self, other: "Size") -> "Size":
        return Size(
            self.modules + other.modules,
            self.statements + other.statements,
            self.nodes + other.nodes,
            max(self.longest, other.longest),
            self.public + other.public,
        )

    def __str__(self) -> str:
        share = self.public[True] / max(self.public.total(), 1)
        lines, name = self.longest
        return (
            f"{self.modules:7}{self.statements:12,}{self.nodes:10,}{share:12.1%}{lines:9}  {name}"
        )


def main() -> int:
    """Prints a line for each room and one for all."""
    rooms: dict[str, Size] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        room = room_of(path.relative_to(SOURCES))
        rooms[room] = rooms.get(room, Size()) + measured(path)
    width = max(map(len, rooms))
    print(f"{'room':{width}}modules  statements     nodes  documented  longest function")
    for room, size in [*rooms.items(), ("total", sum(rooms.values(), Size()))]:
        print(f"{room:{width}}{size}")
    return 0


def room_of(path: Path) -> str:
    """The package and the folder in it that hold a module: `teamvars/web`."""
    return "/".join(path.parts[: min(2, len(path.parts) - 1)])


def measured(path: Path) -> Size:
    """The size of one module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    functions = [node for node in nodes if isinstance(node, FUNCTIONS)]
    return Size(
        modules=1,
        statements=sum(isinstance(n, ast.stmt) and not is_docstring(n) for n in nodes),
        nodes=len(nodes),
        longest=max(((lines(f), f"{f.name} in {path.name}") for f in functions), default=(0, "")),
        public=Counter(ast.get_docstring(node) is not None for node in public(tree)),
    )


def is_docstring(statement: ast.stmt) -> bool:
    """Whether it is a text that stands alone: of an attribute as well."""
    match statement:
        case ast.Expr(ast.Constant(str())):
            return True
    return False


def lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """From `def` to the last line."""
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


def public(tree: Documented) -> Iterator[Documented]:
    """The module or class itself, and what is public in it."""
    yield tree
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, *FUNCTIONS)) and not node.name.startswith("_"):
            if isinstance(node, ast.ClassDef):
                yield from public(node)
            else:
                yield node


if __name__ == "__main__":
    sys.exit(main())
