"""What an expression refers to and whether it repeats anything, without evaluating it."""

from collections.abc import Iterator

from teamvars.hcl.nodes import (
    Attribute,
    Call,
    Conditional,
    For,
    Index,
    Join,
    Node,
    Object,
    Operand,
    Operation,
    Splat,
    Step,
    Template,
    Traversal,
    Tuple,
    Unary,
    Variable,
)

Locals = frozenset[str]
"""The names that the surrounding `for`s have introduced."""

Found = tuple[str, Node, Locals]


def unknowns(root: Node) -> Iterator[Variable | Call]:
    """Every variable and call that only a configuration knows, in the order of the source."""
    for _, node, local in _walk(root):
        if isinstance(node, Call) or (isinstance(node, Variable) and node.name not in local):
            yield node


def references(root: Node) -> tuple[str, ...]:
    """The names of variables, each once, as they come: a root name with its first attribute."""
    names: dict[str, None] = {}
    for suffix, node, local in _walk(root):
        if isinstance(node, Variable) and node.name not in local:
            names[node.name + suffix] = None
    return tuple(names)


def functions(root: Node) -> tuple[str, ...]:
    """The names of the functions it calls, each once, as they come."""
    return tuple(dict.fromkeys(node.name for _, node, _ in _walk(root) if isinstance(node, Call)))


def repeats(root: Node) -> bool:
    """Whether it has a `for` or a splat."""
    return any(
        isinstance(node, For)
        or (isinstance(node, Traversal) and any(isinstance(step, Splat) for step in node.steps))
        for _, node, _ in _walk(root)
    )


def _walk(root: Node) -> Iterator[Found]:
    """Every node in the order of the source, with the attribute read from it and the locals."""
    waiting: list[Found] = [("", root, frozenset())]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(reversed(_inside(found[1], found[2])))


def _inside(node: Node, local: Locals) -> list[Found]:
    match node:
        case Join(each):
            return [("", each, local)]
        case For():
            return _inside_for(node, local)
        case Traversal(source, steps):
            first = steps[0]
            suffix = f".{first.name}" if isinstance(first, Attribute) else ""
            return [(suffix, source, local), *(("", key, local) for key in _keys(steps))]
        case _:
            return [("", child, local) for child in _children(node)]


def _inside_for(node: For, local: Locals) -> list[Found]:
    """A `for`'s collection is outside the reach of its names; the rest is within."""
    names = node.names
    within = local | {names.key, names.value}
    inner = [node.key, node.value, node.condition]
    return [
        ("", names.collection, local),
        *(("", child, within) for child in inner if child is not None),
    ]


def _keys(steps: tuple[Step, ...]) -> Iterator[Node]:
    for step in steps:
        if isinstance(step, Index):
            yield step.key
        elif isinstance(step, Splat):
            yield from _keys(step.steps)


def _children(node: Node) -> list[Node]:
    match node:
        case Call(_, inner) | Tuple(inner):
            return list(inner)
        case Template(parts):
            return [part.node for part in parts]
        case Object(items):
            return [part for item in items for part in (item.key, item.value)]
        case Unary(_, operand):
            return [operand]
        case Operation(postfix):
            return [part.node for part in postfix if isinstance(part, Operand)]
        case Conditional(condition, then, otherwise):
            return [condition.node, then, otherwise]
        case _:
            return []
