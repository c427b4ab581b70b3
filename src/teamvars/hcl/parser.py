"""From tokens to a tree: HCL native syntax specification, "Expressions".

Each method reads one rule of the grammar. It begins with the rule's first token as the current
one and ends with the first token after it. What terraform does beyond the specification is said
where it is done.
"""

from collections.abc import Callable

from teamvars.hcl.errors import HclError
from teamvars.hcl.nodes import (
    AmbiguousKey,
    Assignment,
    Attribute,
    Call,
    Conditional,
    For,
    ForNames,
    Index,
    Item,
    Literal,
    Node,
    Object,
    Operand,
    Operation,
    Operator,
    Splat,
    Step,
    Traversal,
    Tuple,
    Unary,
    Variable,
)
from teamvars.hcl.numbers import NumberError, read_number
from teamvars.hcl.templates import read_template
from teamvars.hcl.tokens import END, HEREDOC, NAME, NEWLINE, NUMBER, Scanner, nfc
from teamvars.hcl.values import FALSE, NULL, TRUE, Value, text
from teamvars.hcl.values import NUMBER as NUMBER_TYPE

MAX_NESTING = 64
"""Levels of expressions inside each other."""

PRECEDENCE = {
    "||": 1,
    "&&": 2,
    "==": 3,
    "!=": 3,
    ">": 4,
    ">=": 4,
    "<": 4,
    "<=": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
    "%": 6,
}
"""How tightly each binary operator binds; all of them associate to the left."""

KEYWORDS = {"null": Literal(NULL), "true": Literal(TRUE), "false": Literal(FALSE)}


Opened = tuple[int, bool]
"""Where a bracket was opened, and whether newlines were tokens around it."""


class Parser:
    """Parses one source, from an offset on: `whole`, or one `assignment` after another."""

    def __init__(self, source: str, start: int = 0) -> None:
        self.scanner = Scanner(source, start)
        self._depth = 0

    def whole(self) -> Node:
        """The one expression that is all of the source."""
        self.scanner.advance()
        node = self.expression()
        if self.scanner.kind != END:
            raise self._fault("a value is one expression, and something follows it")
        return node

    def assignment(self) -> Assignment | None:
        """The next `name = value` of a file, on a line of its own. None: the file ends.

        After a refusal nothing more can be read with this parser.
        """
        scanner = self.scanner
        scanner.by_line = True
        while scanner.kind in ("", NEWLINE):
            scanner.advance()
        if scanner.kind == END:
            return None
        name, at = scanner.text, scanner.start
        self._expect(NAME, "a definition begins with a name")
        if scanner.kind in ("{", '"', NAME):
            raise self._fault_at(at, "a file of variables has no blocks")
        self._expect("=", "a name needs an equals sign and a value")
        start = scanner.start
        node = self.expression()
        if scanner.kind not in (NEWLINE, END):
            raise self._fault("a definition ends with its line, and something follows it")
        return Assignment(name, node, at, start, scanner.passed)

    def expression(self) -> Node:
        """The expression that begins with the current token. Refuses: none, nesting too deep."""
        self.enter()
        at = self.scanner.start
        node = self._operation()
        if self.scanner.kind == "?":
            node = self._conditional(Operand(node, at))
        self.leave()
        return node

    def for_names(self) -> ForNames:
        """`x in collection` or `k, v in collection`: what follows `for`, there and in templates."""
        at = self.scanner.start
        key, value = "", self._variable_name()
        if self.scanner.kind == ",":
            self.scanner.advance()
            key, value = value, self._variable_name()
        if not self._accept_word("in"):
            raise self._fault("'in' is missing after the names of a 'for'")
        return ForNames(key, value, self.expression(), at)

    def enter(self) -> None:
        """Go one level deeper. Refuses: too deep, before Python's own stack would end."""
        self._depth += 1
        if self._depth > MAX_NESTING + 1:
            raise self._fault(f"the nesting is deeper than {MAX_NESTING} levels")

    def leave(self) -> None:
        """Come back up one level."""
        self._depth -= 1

    def _conditional(self, condition: Operand) -> Node:
        self.scanner.advance()
        at = self.scanner.start
        then = self.expression()
        self._expect(":", "a conditional needs a colon and a second result")
        return Conditional(condition, then, self.expression(), at)

    def _operation(self) -> Node:
        """Operands and binary operators, put into postfix order while they are read."""
        scanner, at = self.scanner, self.scanner.start
        first = self._operand()
        if scanner.kind not in PRECEDENCE:
            return first
        postfix: list[Operand | Operator] = [Operand(first, at)]
        waiting: list[Operator] = []
        while scanner.kind in PRECEDENCE:
            binding = PRECEDENCE[scanner.kind]
            while waiting and PRECEDENCE[waiting[-1].symbol] >= binding:
                postfix.append(waiting.pop())
            waiting.append(Operator(scanner.kind, scanner.start))
            scanner.advance()
            at = scanner.start
            postfix.append(Operand(self._operand(), at))
        postfix.extend(reversed(waiting))
        return Operation(tuple(postfix))

    def _operand(self) -> Node:
        """A term with its traversal, and the unary operators before it."""
        scanner = self.scanner
        at, operators = scanner.start, ""
        if scanner.kind in ("-", "!"):
            signs = []
            while scanner.kind in ("-", "!"):
                signs.append(scanner.kind)
                scanner.advance()
            operators = "".join(signs)
        node = self._term()
        if scanner.kind in (".", "["):
            node = Traversal(node, self._steps())
        return Unary(operators, node, at) if operators else node

    def _term(self) -> Node:
        read = _TERMS.get(self.scanner.kind)
        if read is None:
            raise self._fault("an expression is expected")
        return read(self)

    def _number(self) -> Node:
        node = Literal(self._number_value())
        self.scanner.advance()
        return node

    def _number_value(self) -> Value:
        try:
            return Value(NUMBER_TYPE, read_number(self.scanner.text))
        except NumberError as error:
            raise self._fault(str(error)) from None

    def _name(self) -> Node:
        """A keyword, a function call or a variable."""
        scanner = self.scanner
        name, at = scanner.text, scanner.start
        scanner.advance()
        if scanner.kind in ("(", "::"):
            return self._call(name, at)
        return KEYWORDS.get(name) or Variable(name, at)

    def _call(self, name: str, at: int) -> Node:
        """A call, as far as it can be read: `provider::name::function` is a name like any."""
        names = [name]
        while self._accept("::"):
            names.append(self._need_name("a function's name is incomplete"))
        _, by_line = self._open("(", "a function's name needs arguments in parentheses")
        arguments: list[Node] = []
        while self.scanner.kind != ")":
            arguments.append(self.expression())
            if self._accept("...") or not self._accept(","):
                break
        self._close(")", (at, by_line), "the arguments of a function lack a separator or their end")
        return Call("::".join(names), tuple(arguments), at)

    def _parenthesised(self) -> Node:
        opened = self._open("(", "")
        node = self.expression()
        self._end(")", opened, "a closing parenthesis is missing")
        return node

    def _quoted(self) -> Node:
        plain = self.scanner.plain_quoted()
        node = read_template(self, None) if plain is None else Literal(text(nfc(plain)))
        self.scanner.advance()
        return node

    def _heredoc(self) -> Node:
        node = read_template(self, self.scanner.heredoc())
        self.scanner.advance()
        return node

    def _tuple(self) -> Node:
        at = self.scanner.start
        opened = self._open("[", "")
        if self._accept_word("for"):
            return self._for("]", opened)
        items: list[Node] = []
        while self.scanner.kind != "]":
            items.append(self.expression())
            if not self._accept(","):
                break
        self._close("]", opened, "a tuple lacks a comma or its closing bracket")
        return Tuple(tuple(items), at)

    def _object(self) -> Node:
        """`{…}`, where a newline separates items, but does not keep a `for` from being seen."""
        scanner, at = self.scanner, self.scanner.start
        opened = self._open("{", "")
        if self._accept_word("for"):
            return self._for("}", opened)
        scanner.by_line = True
        items: list[Item] = []
        while scanner.kind != "}":
            if self._accept(NEWLINE):
                continue
            items.append(self._item())
            if not (self._accept(",") or self._accept(NEWLINE)):
                break
        self._close("}", opened, "an object lacks a comma, a newline or its closing brace")
        return Object(tuple(items), at)

    def _item(self) -> Item:
        at, kind, word = self.scanner.start, self.scanner.kind, self.scanner.text
        key = self.expression()
        if kind == NAME:
            key = _named_key(key, word, at)
        if not (self._accept("=") or self._accept(":")):
            raise self._fault("an object's key needs an equals sign or a colon, and a value")
        return Item(key, self.expression(), at)

    def _for(self, closer: str, opened: Opened) -> Node:
        """The rest of a `for` expression, after that word."""
        names = self.for_names()
        self._expect(":", "a colon is missing after the collection of a 'for'")
        at = self.scanner.start
        key, value = None, self.expression()
        if self._accept("=>"):
            key, value = value, self.expression()
        grouped = self._accept("...")
        condition = self.expression() if self._accept_word("if") else None
        if closer == "]" and (key or grouped):
            raise self._fault_at(at, "a 'for' in brackets takes neither a key nor grouping")
        if closer == "}" and key is None:
            raise self._fault_at(at, "a 'for' in braces needs a key and an arrow")
        self._end(closer, opened, "a 'for' goes on after its end, or is not closed")
        return For(names, key, value, condition, grouped)

    def _steps(self) -> tuple[Step, ...]:
        steps: list[Step] = []
        while True:
            if self.scanner.kind == ".":
                steps.append(self._dotted())
            elif self.scanner.kind == "[":
                steps.append(self._bracketed())
            else:
                return tuple(steps)

    def _dotted(self) -> Step:
        """`.name`, `.0` or `.*`; the last one takes only the names that follow with it."""
        at = self.scanner.start
        self.scanner.advance()
        if not self._accept("*"):
            return self._named_step(at)
        steps: list[Step] = []
        while self._accept("."):
            steps.append(self._named_step(at))
        return Splat(tuple(steps), at)

    def _named_step(self, at: int) -> Step:
        scanner = self.scanner
        if scanner.kind == NUMBER:
            if "." in scanner.text:
                raise self._fault("two indexes after dots are ambiguous, brackets are not")
            return Index(self._number(), at)
        return Attribute(nfc(self._need_name("a name is expected after a dot")), at)

    def _bracketed(self) -> Step:
        """`[key]`, or `[*]`, which takes all the steps that follow with it."""
        scanner, at = self.scanner, self.scanner.start
        opened = at, scanner.by_line
        scanner.advance()
        if self._accept("*"):
            self._end("]", opened, "a splat lacks its closing bracket")
            self.enter()
            steps = self._steps()
            self.leave()
            return Splat(steps, at)
        scanner.by_line = False
        self._accept(NEWLINE)
        key = self.expression()
        self._end("]", opened, "an index lacks its closing bracket")
        return Index(key, at)

    def _open(self, kind: str, message: str) -> Opened:
        """Step past an opening bracket, to where newlines are space."""
        opened = self.scanner.start, self.scanner.by_line
        self.scanner.by_line = False
        self._expect(kind, message)
        return opened

    def _close(self, kind: str, opened: Opened, message: str) -> None:
        """As `_end`, but at the end of the input it is the opening bracket that is blamed."""
        if self.scanner.kind == END:
            raise self._fault_at(opened[0], "a bracket is not closed")
        self._end(kind, opened, message)

    def _end(self, kind: str, opened: Opened, message: str) -> None:
        """Step past a closing bracket; the token after it is read in the outer mode."""
        self.scanner.by_line = opened[1]
        self._expect(kind, message)

    def _expect(self, kind: str, message: str) -> None:
        if not self._accept(kind):
            raise self._fault(message)

    def _accept(self, kind: str) -> bool:
        """Step past the current token if it is of this kind."""
        if self.scanner.kind != kind:
            return False
        self.scanner.advance()
        return True

    def _accept_word(self, word: str) -> bool:
        return self.scanner.kind == NAME and self.scanner.text == word and self._accept(NAME)

    def _need_name(self, message: str) -> str:
        name = self.scanner.text
        self._expect(NAME, message)
        return name

    def _variable_name(self) -> str:
        return self._need_name("a variable's name is expected in a 'for'")

    def _fault(self, message: str) -> HclError:
        return self._fault_at(self.scanner.start, message)

    def _fault_at(self, at: int, message: str) -> HclError:
        return HclError.at(self.scanner.source, at, message)


def _named_key(key: Node, word: str, at: int) -> Node:
    """What a key that begins with a name means: `a = 1` and `null = 1` name their attribute."""
    if isinstance(key, Variable | Literal):
        return Literal(text(nfc(word)))
    if isinstance(key, Traversal) and isinstance(key.source, Variable):
        fixed = all(
            isinstance(step, Attribute)
            or (isinstance(step, Index) and isinstance(step.key, Literal))
            for step in key.steps
        )
        return AmbiguousKey(at) if fixed else key
    return key


_TERMS: dict[str, Callable[[Parser], Node]] = {
    NUMBER: Parser._number,
    NAME: Parser._name,
    '"': Parser._quoted,
    HEREDOC: Parser._heredoc,
    "(": Parser._parenthesised,
    "[": Parser._tuple,
    "{": Parser._object,
}
