"""The tree an expression is parsed into. `at` is an offset into the source, for error messages."""

import msgspec

from teamvars.hcl.values import Value


class Literal(msgspec.Struct, frozen=True):
    """A value known while parsing."""

    value: Value


class Variable(msgspec.Struct, frozen=True):
    """A name that is no keyword."""

    name: str
    at: int


class Call(msgspec.Struct, frozen=True):
    """A function call; it parses, and never has a value here."""

    name: str
    arguments: "tuple[Node, ...]"
    at: int


class Operand(msgspec.Struct, frozen=True):
    """A node with the place to blame when its value is of the wrong type."""

    node: "Node"
    at: int


class Template(msgspec.Struct, frozen=True):
    """The parts of a string with something to fill in, each converted to a string."""

    parts: tuple[Operand, ...]


class Join(msgspec.Struct, frozen=True):
    """A template's `%{ for }`: the tuple its `for` makes, run together to one string."""

    each: "For"


class Tuple(msgspec.Struct, frozen=True):
    """`[…]`"""

    items: "tuple[Node, ...]"
    at: int


class Item(msgspec.Struct, frozen=True):
    """One `key = value` of an object."""

    key: "Node"
    value: "Node"
    at: int


class Object(msgspec.Struct, frozen=True):
    """`{…}`"""

    items: tuple[Item, ...]
    at: int


class AmbiguousKey(msgspec.Struct, frozen=True):
    """A key such as `a.b` outside parentheses: neither a name nor clearly a reference."""

    at: int


class Unary(msgspec.Struct, frozen=True):
    """`operators`, each `-` or `!`, before an operand; the last one applies first."""

    operators: str
    operand: "Node"
    at: int


class Operator(msgspec.Struct, frozen=True):
    """A binary operator, such as `+` or `&&`."""

    symbol: str
    at: int


class Operation(msgspec.Struct, frozen=True):
    """Operands and binary operators in postfix order: `1 + 2 * 3` is `1 2 3 * +`.

    Flat, so that a chain of 100,000 operators is no tree 100,000 deep.
    """

    postfix: tuple[Operand | Operator, ...]


class Conditional(msgspec.Struct, frozen=True):
    """`condition ? then : otherwise`, also as `%{ if }` in a template."""

    condition: Operand
    then: "Node"
    otherwise: "Node"
    at: int


class ForNames(msgspec.Struct, frozen=True):
    """The names a `for` introduces, and the collection it goes through; `key` may be empty."""

    key: str
    value: str
    collection: "Node"
    at: int


class For(msgspec.Struct, frozen=True):
    """A tuple made from a collection, or an object when there is a `key`.

    `grouped` is the `...` that collects all values of one key in a tuple.
    """

    names: ForNames
    key: "Node | None"
    value: "Node"
    condition: "Node | None"
    grouped: bool = False


class Attribute(msgspec.Struct, frozen=True):
    """`.name`"""

    name: str
    at: int


class Index(msgspec.Struct, frozen=True):
    """`[key]`, or `.0` in the legacy form."""

    key: "Node"
    at: int


class Splat(msgspec.Struct, frozen=True):
    """`[*]` or `.*`: `steps` applied to every element."""

    steps: "tuple[Step, ...]"
    at: int


class Traversal(msgspec.Struct, frozen=True):
    """`source`, and the steps taken from it."""

    source: "Node"
    steps: "tuple[Step, ...]"


class Assignment(msgspec.Struct, frozen=True):
    """`name = value` of a file, and from where to where the value stands."""

    name: str
    value: "Node"
    at: int
    start: int
    end: int


Step = Attribute | Index | Splat
Node = (
    Literal
    | Variable
    | Call
    | Template
    | Join
    | Tuple
    | Object
    | AmbiguousKey
    | Unary
    | Operation
    | Conditional
    | For
    | Traversal
)
