"""A file of definitions, `name = expression` each, as terraform reads its variable files."""

import re
from collections.abc import Iterator

from teamvars.hcl.errors import HclError
from teamvars.hcl.expression import Expression
from teamvars.hcl.parser import Parser

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
