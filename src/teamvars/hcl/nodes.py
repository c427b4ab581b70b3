"""The tree an expression is parsed into. `at` is an offset into the source, for error messages."""

from dataclasses import dataclass

from teamvars.hcl.values import Value


@dataclass(frozen=True, slots=True)
class Literal:
    """A value known while parsing."""

    value: Value


@dataclass(frozen=True, slots=True)
class Variable:
    """A name that is no keyword."""

    name: str
    at: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function call; it parses, and never has a value here."""

    name: str
    arguments: "tuple[Node, ...]"
    at: int


@dataclass(frozen=True, slots=True)
class Operand:
    """A node with the place to blame when its value is of the wrong type."""

    node: "Node"
    at: int


@dataclass(frozen=True, slots=True)
class Template:
    """The parts of a string with something to fill in, each converted to a string."""

    parts: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Join:
    """A template's `%{ for }`: the tuple its `for` makes, run together to one string."""

    each: "For"


@dataclass(frozen=True, slots=True)
class Tuple:
    items: "tuple[Node, ...]"
    at: int


@dataclass(frozen=True, slots=True)
class Item:
    """One `key = value` of an object."""

    key: "Node"
    value: "Node"
    at: int


@dataclass(frozen=True, slots=True)
class Object:
    items: tuple[Item, ...]
    at: int


@dataclass(frozen=True, slots=True)
class AmbiguousKey:
    """A key such as `a.b` outside parentheses: neither a name nor clearly a reference."""

    at: int


@dataclass(frozen=True, slots=True)
class Unary:
    """`operators`, each `-` or `!`, before an operand; the last one applies first."""

    operators: str
    operand: "Node"
    at: int


@dataclass(frozen=True, slots=True)
class Operator:
    symbol: str
    at: int


@dataclass(frozen=True, slots=True)
class Operation:
    """Operands and binary operators in postfix order: `1 + 2 * 3` is `1 2 3 * +`.

    Flat, so that a chain of 100,000 operators is no tree 100,000 deep.
    """

    postfix: tuple[Operand | Operator, ...]


@dataclass(frozen=True, slots=True)
class Conditional:
    condition: Operand
    then: "Node"
    otherwise: "Node"
    at: int


@dataclass(frozen=True, slots=True)
class ForNames:
    """The names a `for` introduces, and the collection it goes through; `key` may be empty."""

    key: str
    value: str
    collection: "Node"
    at: int


@dataclass(frozen=True, slots=True)
class For:
    """A tuple made from a collection, or an object when there is a `key`.

    `grouped` is the `...` that collects all values of one key in a tuple.
    """

    names: ForNames
    key: "Node | None"
    value: "Node"
    condition: "Node | None"
    grouped: bool = False


@dataclass(frozen=True, slots=True)
class Attribute:
    """`.name`"""

    name: str
    at: int


@dataclass(frozen=True, slots=True)
class Index:
    """`[key]`, or `.0` in the legacy form."""

    key: "Node"
    at: int


@dataclass(frozen=True, slots=True)
class Splat:
    """`[*]` or `.*`: `steps` applied to every element."""

    steps: "tuple[Step, ...]"
    at: int


@dataclass(frozen=True, slots=True)
class Traversal:
    """`source`, and the steps taken from it."""

    source: "Node"
    steps: "tuple[Step, ...]"


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
