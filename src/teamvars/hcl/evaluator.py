"""From a tree to a value, by the rules of HCL's specification as terraform 1.11 applies them.

Nothing is known but what the source itself says: a name from outside, or a function, is an
error. The work is bounded: every node costs a step, and so does every part of a value that is
made, converted or compared.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from teamvars.hcl.errors import HclError, TooMuchWork
from teamvars.hcl.nodes import (
    AmbiguousKey,
    Attribute,
    Call,
    Conditional,
    For,
    ForNames,
    Join,
    Literal,
    Node,
    Object,
    Operation,
    Operator,
    Splat,
    Step,
    Template,
    Traversal,
    Tuple,
    Unary,
    Variable,
)
from teamvars.hcl.numbers import EXACT_DIGITS, Number, NumberError, compute, exact, negated
from teamvars.hcl.tokens import nfc
from teamvars.hcl.values import (
    BOOL,
    CHARACTERS_PER_UNIT,
    DYNAMIC,
    FALSE,
    NUMBER,
    SEQUENCES,
    STRING,
    TRUE,
    Type,
    Value,
    converted,
    equal,
    list_of,
    object_value,
    text,
    tuple_value,
    unified,
)

MAX_STEPS = 600_000
"""What one evaluation may cost; about a second."""

MAX_DEPTH = 64
"""Collections inside each other in one value."""

STEPS_PER_ROUNDING = 150
"""What it costs to round a number to 512 bits: a written one, or the result of an operation."""

Scope = dict[str, Value]
"""The values of the names that the surrounding `for`s have introduced."""

Placed = tuple[Value, int]
"""An operand's value and its offset."""


class Fault(Exception):
    """What an evaluation stumbles over, before anybody looks for its line.

    A conditional forgives the one in the branch that it does not choose. To say in which line it
    is takes the longer the longer the source is, so that is done for the one that is told alone.
    """

    def __init__(self, at: int, message: str, name: str = "") -> None:
        super().__init__(at, message)
        self.at = at
        self.message = message
        self.name = name

    def told(self, source: str) -> HclError:
        """The error, with its place in the source."""
        return HclError.at(source, self.at, self.message, name=self.name)


class Attempt(NamedTuple):
    """What a conditional's branch came to: its value, or a null of its type and the fault."""

    value: Value
    fault: Fault | None


class Evaluator:
    """Evaluates trees of one `source`, which it needs for the positions of errors."""

    def __init__(self, source: str, steps: int = MAX_STEPS) -> None:
        self._source = source
        self.left = steps
        """So many may still be taken."""

    def result(self, node: Node) -> Value:
        """The value of a whole expression, not too large to be written out."""
        try:
            value = self.value(node, {})
        except Fault as fault:
            raise fault.told(self._source) from None
        self._spend(value.weight)
        return value

    def value(self, node: Node, scope: Scope) -> Value:
        """The value of a part, by names in its scope. Refuses: no value, too much work."""
        self._spend(1)
        return _RULES[type(node)](self, node, scope)

    def _literal(self, node: Literal, _: Scope) -> Value:
        return node.value

    def _variable(self, node: Variable, scope: Scope) -> Value:
        if node.name not in scope:
            raise unknown(node)
        return scope[node.name]

    def _call(self, node: Call, _: Scope) -> Value:
        raise unknown(node)

    def _ambiguous_key(self, node: AmbiguousKey, _: Scope) -> Value:
        raise Fault(node.at, "a key with steps needs parentheses, or quotation marks")

    def _template(self, node: Template, scope: Scope) -> Value:
        rule = "what is put into a template must convert to a string"
        return self._joined(
            [self._as(self.value(part.node, scope), STRING, part.at, rule) for part in node.parts]
        )

    def _join(self, node: Join, scope: Scope) -> Value:
        return self._joined(self.value(node.each, scope).content)

    def _joined(self, strings: Sequence[Value]) -> Value:
        self._spend(sum([string.weight for string in strings]))
        return text(nfc("".join([string.content for string in strings])))

    def _tuple(self, node: Tuple, scope: Scope) -> Value:
        return self._made(tuple_value([self.value(item, scope) for item in node.items]), node.at)

    def _object(self, node: Object, scope: Scope) -> Value:
        attributes: Scope = {}
        for item in node.items:
            key = self._as(self.value(item.key, scope), STRING, item.at, "a key must be a string")
            attributes[key.content] = self.value(item.value, scope)
        return self._made(object_value(attributes), node.at)

    def _unary(self, node: Unary, scope: Scope) -> Value:
        value = self.value(node.operand, scope)
        self._spend(len(node.operators))
        for sign in reversed(node.operators):
            if sign == "-":
                number = self._as(value, NUMBER, node.at, "a negative needs a number")
                value = Value(NUMBER, negated(number.content))
            else:
                value = _truth(not self._truth(value, node.at, "'not' needs a bool"))
        return value

    def _operation(self, node: Operation, scope: Scope) -> Value:
        operands: list[Placed] = []
        for part in node.postfix:
            if isinstance(part, Operator):
                right, left = operands.pop(), operands.pop()
                operands.append((self._binary(part, left, right), left[1]))
            else:
                operands.append((self.value(part.node, scope), part.at))
        return operands[0][0]

    def _binary(self, by: Operator, left: Placed, right: Placed) -> Value:
        self._spend(1)
        symbol = by.symbol
        if symbol in ("==", "!="):
            self._spend(min(left[0].weight, right[0].weight))
            return _truth(equal(left[0], right[0]) == (symbol == "=="))
        if symbol in ("&&", "||"):
            # terraform 1.11 looks at both sides, whatever the first one says.
            one, other = (self._truth(*side, "logic needs bools") for side in (left, right))
            return _truth(one and other if symbol == "&&" else one or other)
        one, other = (
            self._as(value, NUMBER, at, "arithmetic and order need numbers").content
            for value, at in (left, right)
        )
        if symbol in _ORDERS:
            return _truth(_ORDERS[symbol](one, other))
        return self._computed(by, one, other)

    def _computed(self, by: Operator, left: Number, right: Number) -> Value:
        result: Number | None = exact(by.symbol, left, right)
        if result is not None:
            return Value(NUMBER, result)
        self._spend(STEPS_PER_ROUNDING)
        try:
            return Value(NUMBER, compute(by.symbol, left, right))
        except NumberError as error:
            raise Fault(by.at, str(error)) from None

    def _conditional(self, node: Conditional, scope: Scope) -> Value:
        """The chosen branch, converted to the type it has in common with the other one.

        terraform evaluates both branches, and forgives an error in the one it does not choose.
        """
        then, otherwise = self._attempt(node.then, scope), self._attempt(node.otherwise, scope)
        common = self._common_type(then.value, otherwise.value)
        if common is None:
            raise Fault(node.at, "the results of a conditional must have one type")
        found, rule = self.value(node.condition.node, scope), "a condition must be a bool"
        chosen = then if self._truth(found, node.condition.at, rule) else otherwise
        if chosen.fault is not None:
            raise chosen.fault
        if common != chosen.value.type:
            self._spend(chosen.value.weight)
        result = converted(chosen.value, common)
        if result is None:
            raise Fault(node.at, "the result of a conditional does not convert")
        return result

    def _attempt(self, node: Node, scope: Scope) -> Attempt:
        try:
            return Attempt(self.value(node, scope), None)
        except Fault as fault:
            return Attempt(Value(_type_of_failed(node), None), fault)

    def _common_type(self, then: Value, otherwise: Value) -> Type | None:
        if DYNAMIC in (then.type, otherwise.type):
            return otherwise.type if then.type == DYNAMIC else then.type
        if then.type is not otherwise.type:
            self._spend(then.weight + otherwise.weight)
        return unified((then.type, otherwise.type))

    def _for(self, node: For, scope: Scope) -> Value:
        if node.key is not None:
            return self._object_for(node, node.key, scope)
        items = [self.value(node.value, inner) for inner in self._rounds(node, scope)]
        return self._made(tuple_value(items), node.names.at)

    def _object_for(self, node: For, key_node: Node, scope: Scope) -> Value:
        at = node.names.at
        groups: dict[str, list[Value]] = {}
        for inner in self._rounds(node, scope):
            found = self.value(key_node, inner)
            key = self._as(found, STRING, at, "a 'for' needs a string as key").content
            value = self.value(node.value, inner)
            if key in groups and not node.grouped:
                raise Fault(at, "a 'for' makes the same key twice")
            groups.setdefault(key, []).append(value)
        if node.grouped:
            grouped = {key: tuple_value(values) for key, values in groups.items()}
            return self._made(object_value(grouped), at)
        return self._made(object_value({key: values[0] for key, values in groups.items()}), at)

    def _rounds(self, node: For, scope: Scope) -> Iterator[Scope]:
        """The scope of each round that the condition lets through; one dict, filled anew."""
        inner = dict(scope)
        for key, value in self._elements(node.names, scope):
            self._spend(1)
            if node.names.key:
                inner[node.names.key] = key
            inner[node.names.value] = value
            if node.condition is None or self._passes(node.condition, inner, node.names.at):
                yield inner

    def _passes(self, condition: Node, inner: Scope, at: int) -> bool:
        found = self.value(condition, inner)
        return self._truth(found, at, "the condition of a 'for' must be a bool")

    def _elements(self, names: ForNames, scope: Scope) -> Iterator[tuple[Value, Value]]:
        """Keys and values: positions of a tuple, or names of an object in their order."""
        collection = self.value(names.collection, scope)
        if collection.is_sequence:
            for position, item in enumerate(collection.content):
                yield Value(NUMBER, position), item
        elif collection.is_mapping:
            for name, item in collection.content.items():
                yield text(name), item
        else:
            raise Fault(names.at, "a 'for' needs a tuple or an object to go through")

    def _traversal(self, node: Traversal, scope: Scope) -> Value:
        return self._taken(self.value(node.source, scope), node.steps, scope)

    def _taken(self, value: Value, steps: tuple[Step, ...], scope: Scope) -> Value:
        for step in steps:
            self._spend(1)
            if isinstance(step, Splat):
                value = self._splat(value, step, scope)
            elif isinstance(step, Attribute):
                if not value.is_mapping:
                    raise Fault(step.at, "only an object has attributes")
                value = self._attribute(value, step.name, step.at)
            else:
                value = self._indexed(value, self.value(step.key, scope), step.at)
        return value

    def _splat(self, value: Value, splat: Splat, scope: Scope) -> Value:
        """The steps taken from every element; a single value counts as a tuple of it."""
        if value.is_null and value.type.kind in SEQUENCES:
            raise Fault(splat.at, "a splat cannot go through a null")
        elements = value.content if value.is_sequence else () if value.is_null else (value,)
        self._spend(len(elements))
        results = [self._taken(element, splat.steps, scope) for element in elements]
        made = tuple_value(results)
        if value.type.kind == "list" and results:
            made = Value(list_of(results[0].type), made.content, made.weight)
        return self._made(made, splat.at)

    def _indexed(self, value: Value, key: Value, at: int) -> Value:
        if value.is_mapping:
            name = self._as(key, STRING, at, "an object is indexed with a string")
            return self._attribute(value, name.content, at)
        if not value.is_sequence:
            raise Fault(at, "only a tuple or an object has indices")
        position = self._as(key, NUMBER, at, "a tuple is indexed with a number").content
        if not isinstance(position, int) or not 0 <= position < len(value.content):
            raise Fault(at, "the tuple has no element at this index")
        found: Value = value.content[position]
        return found

    def _attribute(self, value: Value, name: str, at: int) -> Value:
        if name not in value.content:
            raise Fault(at, "the object has no such attribute")
        found: Value = value.content[name]
        return found

    def _as(self, value: Value, want: Type, at: int, rule: str) -> Value:
        """`value` converted to the primitive type `want`. Refuses, citing `rule`: null too."""
        if value.type is want and value.content is not None:
            return value
        self._spend(value.weight)
        if want is NUMBER and value.weight > EXACT_DIGITS // CHARACTERS_PER_UNIT:
            self._spend(STEPS_PER_ROUNDING)
        found = None if value.is_null else converted(value, want)
        if found is None:
            raise Fault(at, rule)
        return found

    def _truth(self, value: Value, at: int, rule: str) -> bool:
        return bool(self._as(value, BOOL, at, rule).content)

    def _made(self, value: Value, at: int) -> Value:
        if value.type.depth > MAX_DEPTH:
            raise Fault(at, f"a value is nested deeper than {MAX_DEPTH} levels")
        return value

    def _spend(self, steps: int) -> None:
        self.left -= steps
        if self.left <= 0:
            raise TooMuchWork.at(self._source, 0, "the expression takes too much work to evaluate")


def unknown(node: Variable | Call) -> Fault:
    """The fault of a name that only a configuration knows."""
    is_name = isinstance(node, Variable)
    rule = "a variable is unknown here" if is_name else "functions are unknown here"
    return Fault(node.at, rule, node.name)


def _truth(content: bool) -> Value:
    return TRUE if content else FALSE


def _type_of_failed(node: Node) -> Type:
    """What terraform takes the type of an expression without a value to be."""
    if isinstance(node, Template | Join):
        return STRING
    if isinstance(node, Unary):
        return NUMBER if node.operators[0] == "-" else BOOL
    if isinstance(node, Operation):
        last = node.postfix[-1]
        return NUMBER if isinstance(last, Operator) and last.symbol in "+-*/%" else BOOL
    return DYNAMIC


_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_RULES: dict[type, Callable[[Evaluator, Any, Scope], Value]] = {
    Literal: Evaluator._literal,
    Variable: Evaluator._variable,
    Call: Evaluator._call,
    AmbiguousKey: Evaluator._ambiguous_key,
    Template: Evaluator._template,
    Join: Evaluator._join,
    Tuple: Evaluator._tuple,
    Object: Evaluator._object,
    Unary: Evaluator._unary,
    Operation: Evaluator._operation,
    Conditional: Evaluator._conditional,
    For: Evaluator._for,
    Traversal: Evaluator._traversal,
}
