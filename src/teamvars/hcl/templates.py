"""Quoted strings and heredocs: text with `${…}` interpolations and `%{…}` directives.

HCL native syntax specification, "Templates". A template is read in three steps: its pieces from
left to right, then (`<<-` only) without their common indentation, then as a tree in which every
`if` and `for` holds the pieces up to its end.
"""

import re
from typing import Protocol

import msgspec

from teamvars.hcl.errors import HclError
from teamvars.hcl.nodes import Conditional, For, ForNames, Join, Literal, Node, Operand, Template
from teamvars.hcl.tokens import (
    CLOSE,
    END,
    INTERPOLATION,
    LITERAL,
    NAME,
    WHITE_SPACE,
    Heredoc,
    Scanner,
    nfc,
)
from teamvars.hcl.values import text

_OPENER_ESCAPE = r"\$\$\{|%%\{"
_HEREDOC_ESCAPE = re.compile(_OPENER_ESCAPE)
_QUOTED_ESCAPE = re.compile(rf"\\(?:u[0-9a-fA-F]{{4}}|U[0-9a-fA-F]{{8}}|.)|{_OPENER_ESCAPE}")
_SIMPLE_ESCAPES = {
    r"\n": "\n",
    r"\r": "\r",
    r"\t": "\t",
    r"\"": '"',
    r"\\": "\\",
    "$${": "${",
    "%%{": "%{",
}

_FOLLOWS = {"else": ("if",), "endif": ("if", "else"), "endfor": ("for",)}
"""Which directive each one may follow, those between them being ended."""


class Grammar(Protocol):
    """What a template needs of the parser it is part of."""

    scanner: Scanner

    def expression(self) -> Node:
        """Read an expression."""

    def for_names(self) -> ForNames:
        """Read what follows the word `for`, up to its collection."""

    def enter(self) -> None:
        """Go one level deeper. Refuses: too deep."""

    def leave(self) -> None:
        """Come back up one level."""


class Interpolation(msgspec.Struct, frozen=True):
    """`${…}`"""

    operand: Operand


class Directive(msgspec.Struct, frozen=True):
    """`word` is `if`, `else`, `endif`, `for` or `endfor`; the first and fourth have a subject."""

    word: str
    subject: Operand | ForNames | None
    at: int


Piece = str | Interpolation | Directive


class _Block(msgspec.Struct):
    """The directive whose end is still to come, and what has been read since it began."""

    opened_by: Directive
    parts: list[Operand] = msgspec.field(default_factory=list)
    before_else: list[Operand] | None = None
    run: list[str] = msgspec.field(default_factory=list)

    def close_run(self) -> list[Operand]:
        """All parts so far, the text of neighbouring pieces joined."""
        if self.run:
            self.parts.append(Operand(_literal("".join(self.run)), 0))
            self.run = []
        return self.parts


def read_template(grammar: Grammar, heredoc: Heredoc | None) -> Node:
    """The template whose opening is the current token; afterwards its closing is."""
    pieces = _Pieces(grammar, heredoc).read()
    if heredoc is not None and heredoc.flush:
        pieces = _without_indentation(pieces)
    if len(pieces) == 1 and isinstance(pieces[0], Interpolation):
        return pieces[0].operand.node  # `"${x}"` is x itself, whatever its type
    if all(isinstance(piece, str) for piece in pieces):
        return _literal("".join(piece for piece in pieces if isinstance(piece, str)))
    return Template(tuple(_assembled(pieces)))


class _Pieces:
    """Reads one template's pieces, with white space already stripped beside `~`."""

    def __init__(self, grammar: Grammar, heredoc: Heredoc | None) -> None:
        self._grammar = grammar
        self._scanner = grammar.scanner
        self._heredoc = heredoc
        self._pieces: list[Piece] = []
        self._content_start = grammar.scanner.end
        self._open: list[str] = []
        self._strip_next = False

    def read(self) -> list[Piece]:
        by_line, self._scanner.by_line = self._scanner.by_line, False
        while (kind := self._next_kind()) != CLOSE:
            if kind == LITERAL:
                self._literal()
            else:
                self._sequence(kind)
        self._scanner.by_line = by_line
        if self._open:
            raise HclError.at(self._scanner.source, self._scanner.start, "a directive is not ended")
        return self._pieces

    def _next_kind(self) -> str:
        scanner = self._scanner
        if self._heredoc is None:
            return scanner.quoted_piece()
        # The text of the piece just read, or of the heredoc's opening, tells where it ended.
        return scanner.heredoc_piece(self._heredoc, scanner.text.endswith("\n"))

    def _literal(self) -> None:
        content = _unescaped(self._scanner, quoted=self._heredoc is None)
        self._pieces.append(content.lstrip(WHITE_SPACE) if self._strip_next else content)
        self._strip_next = False

    def _sequence(self, kind: str) -> None:
        """Read `${…}` or `%{…}`; strip markers reach the one piece beside them."""
        scanner, pieces = self._scanner, self._pieces
        if scanner.text.endswith("~") and pieces and isinstance(pieces[-1], str):
            pieces[-1] = pieces[-1].rstrip(WHITE_SPACE)
        scanner.advance()
        if kind == INTERPOLATION:
            pieces.append(Interpolation(self._operand()))
        else:
            pieces.append(self._directive())
        if scanner.kind not in ("}", "~}"):
            unclosed = scanner.kind in (END, '"')
            at = self._content_start if unclosed else scanner.start
            raise HclError.at(scanner.source, at, "a closing brace is missing in a template")
        self._strip_next = scanner.kind == "~}"

    def _directive(self) -> Directive:
        scanner = self._scanner
        word, at = scanner.text, scanner.start
        if scanner.kind != NAME or word not in ("if", "else", "endif", "for", "endfor"):
            raise HclError.at(scanner.source, at, "a template has no such directive")
        scanner.advance()
        if word in ("if", "for"):
            subject = self._operand() if word == "if" else self._grammar.for_names()
            self._grammar.enter()
            self._open.append(word)
            return Directive(word, subject, at)
        begun = self._open.pop() if self._open else ""
        if begun not in _FOLLOWS[word]:
            raise HclError.at(scanner.source, at, "a directive does not belong here")
        if word == "else":
            self._open.append(word)
        else:
            self._grammar.leave()
        return Directive(word, None, at)

    def _operand(self) -> Operand:
        at = self._scanner.start
        return Operand(self._grammar.expression(), at)


def _unescaped(scanner: Scanner, *, quoted: bool) -> str:
    """The text that the current literal piece stands for; only quoted ones know backslashes."""

    def replacement(match: re.Match[str]) -> str:
        simple = _SIMPLE_ESCAPES.get(match[0])
        return simple or _character(scanner, match[0], scanner.start + match.start())

    raw = scanner.text
    if "\\" not in raw and "{" not in raw:
        return raw
    return (_QUOTED_ESCAPE if quoted else _HEREDOC_ESCAPE).sub(replacement, raw)


def _character(scanner: Scanner, escape: str, at: int) -> str:
    """The character that `\\uNNNN` or `\\UNNNNNNNN` names."""
    if len(escape) < 6:
        raise HclError.at(scanner.source, at, "an escape sequence is invalid")
    code = int(escape[2:], 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise HclError.at(scanner.source, at, "an escape sequence names no Unicode character")
    return chr(code)


def _without_indentation(pieces: list[Piece]) -> list[Piece]:
    """The pieces with the white space taken off that all lines but blank ones begin with."""
    line_starts: list[int] = []
    fewest: int | None = None
    at_line_start = True
    for position, piece in enumerate(pieces):
        content = piece if isinstance(piece, str) else ""
        ends_line = content.endswith("\n")
        unindented = content.lstrip(WHITE_SPACE)
        if at_line_start and (unindented or not ends_line):
            line_starts.append(position)
            indentation = len(content) - len(unindented)
            fewest = indentation if fewest is None else min(fewest, indentation)
        at_line_start = ends_line
    result = list(pieces)
    for position in line_starts:
        piece = pieces[position]
        if isinstance(piece, str):
            result[position] = piece[fewest:]
    return result


def _assembled(pieces: list[Piece]) -> list[Operand]:
    """The parts of the template, each directive with what it encloses as one part.

    That every directive is ended was seen while the pieces were read.
    """
    blocks = [_Block(Directive("", None, 0))]
    for piece in pieces:
        if isinstance(piece, str):
            blocks[-1].run.append(piece)
        elif isinstance(piece, Interpolation):
            blocks[-1].close_run().append(piece.operand)
        elif piece.subject is not None:
            blocks.append(_Block(piece))
        elif piece.word == "else":
            blocks[-1].before_else, blocks[-1].parts = blocks[-1].close_run(), []
        else:
            ended = blocks.pop()
            blocks[-1].close_run().append(Operand(_ended(ended), ended.opened_by.at))
    return blocks[0].close_run()


def _ended(block: _Block) -> Node:
    """What `block` comes to, now that all of it is here."""
    parts, subject = tuple(block.close_run()), block.opened_by.subject
    if not isinstance(subject, Operand):
        assert subject is not None
        return Join(For(subject, None, Template(parts), None))
    then, otherwise = (parts, ()) if block.before_else is None else (block.before_else, parts)
    return Conditional(subject, Template(tuple(then)), Template(otherwise), block.opened_by.at)


def _literal(content: str) -> Literal:
    return Literal(text(nfc(content)))
