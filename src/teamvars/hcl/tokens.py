"""From characters to tokens, one at a time, so that a long source never becomes a long list; and
which characters are white space and which make names, by the Unicode rules HCL follows.

A source is read in three modes, each with its regular expression: normal text, the inside of a
quoted template, and the inside of a heredoc. The parser knows which one it is in.
"""

import re
import unicodedata

import msgspec

from teamvars.hcl.errors import HclError

WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Unicode's White_Space. `str.strip()` without arguments would also take U+001C to U+001F."""

_START_CATEGORIES = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nl"})
_CONTINUE_CATEGORIES = frozenset({"Mn", "Mc", "Nd", "Pc"})
"""Beside those that a name may start with."""
_OTHER_START = frozenset("\u1885\u1886\u2118\u212e\u309b\u309c")
_OTHER_CONTINUE = frozenset(
    "\u00b7\u0387\u1369\u136a\u136b\u136c\u136d\u136e\u136f\u1370\u1371\u19da"
)
_PATTERN_SYNTAX = "\u2e2f"
"""The one letter that Unicode keeps out of identifiers."""

MAX_MARKS = 30
"""Combining marks in a row before a joiner parts them."""

_GRAPHEME_JOINER = "\u034f"

NAME, NUMBER, HEREDOC, NEWLINE, END = "name", "number", "heredoc", "newline", "end"
"""Kinds of normal tokens. Every other token's kind is its own text, such as `==`."""

LITERAL, INTERPOLATION, DIRECTIVE, CLOSE = "literal", "interpolation", "directive", "close"
"""Kinds of pieces of a template."""

_COMMENT = r"/\*(?s:.*?)\*/"
_LAST_COMMENT = r"(?:\#|//)[^\n]*+\Z"
_LINE_END = r"\r?\n|(?:\#|//)[^\n]*+\n"
_BLANK = rf"[ \t]+|{_COMMENT}|{_LAST_COMMENT}"
_WORD = r"(?:[A-Za-z_]|[^\x00-\x7f])(?:[A-Za-z0-9_-]|[^\x00-\x7f])*"
_TOKEN = rf"""
    (?: (?P<name>    {_WORD} )
      | (?P<newline> {_LINE_END} )
      | (?P<number>  [0-9] (?: (?:[0-9.]|[eE][+-]?[0-9])* (?:[0-9]|[eE][+-]?[0-9]) )? )
      | (?P<heredoc> <<-?{_WORD}\r?\n )
      | (?P<symbol>  \.\.\. | && | \|\| | [=!<>]= | => | :: | ~\}} | [-+*/%<>=!?:.,()\[\]{{}}"] )
      | (?P<end>     \Z )
    )"""
_NORMAL_BY_LINE = re.compile(rf"(?>{_BLANK})*+{_TOKEN}", re.VERBOSE)
_NORMAL = re.compile(rf"(?>\n+|{_BLANK}|{_LINE_END})*+{_TOKEN}", re.VERBOSE)
_SPACE = re.compile(rf"(?>\n+|{_BLANK}|{_LINE_END})*+", re.VERBOSE)

# `$${` and `%%{` are escapes, and only the last two characters of a longer run belong to them.
# The possessive `++` takes a run of 250,000 `$` in one step instead of a quarter of a million.
_PLAIN = r"\$++(?!\{) | \$\$++\{ | %++(?!\{) | %%++\{"
_OPENERS = r"(?P<interpolation>\$\{~?) | (?P<directive>%\{~?)"
_QUOTED = re.compile(
    rf"""(?P<literal> (?> [^"\\$%\r\n]+ | \\[^\r\n] | {_PLAIN} )++ ) | {_OPENERS} | (?P<close>")""",
    re.VERBOSE,
)
_PLAIN_QUOTED = re.compile(r'([^"\\$%\r\n]*+)"')
_HEREDOC = re.compile(
    rf"(?P<literal> (?: (?> [^$%\r\n]+ | {_PLAIN} )++ (?:\r?\n)? ) | \r?\n ) | {_OPENERS}",
    re.VERBOSE,
)


def starts_name(character: str) -> bool:
    """Whether a name may begin so: Unicode ID_Start or an underscore."""
    if character == _PATTERN_SYNTAX:
        return False
    letter = unicodedata.category(character) in _START_CATEGORIES
    return letter or character == "_" or character in _OTHER_START


def continues_name(character: str) -> bool:
    """Whether a name may go on so: Unicode ID_Continue or a hyphen."""
    if starts_name(character) or character == "-" or character in _OTHER_CONTINUE:
        return True
    return unicodedata.category(character) in _CONTINUE_CATEGORIES


def name_length(text: str) -> int:
    """How many characters at the start of `text` make a name; 0 when none do."""
    if not text or not starts_name(text[0]):
        return 0
    for length, character in enumerate(text):
        if not continues_name(character):
            return length
    return len(text)


def nfc(text: str) -> str:
    """`text` in Unicode normal form C, the form of every string of the language.

    Like terraform it parts long runs of combining marks, by the Stream-Safe Text Format (Unicode
    Annex 15). Without that, putting 100,000 marks into their order takes half a minute.
    """
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _stream_safe(text) if len(text) > MAX_MARKS else text)


def _stream_safe(text: str) -> str:
    safe, run = [], 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) else 0
        if run > MAX_MARKS:
            safe.append(_GRAPHEME_JOINER)
            run = 1
        safe.append(character)
    return "".join(safe)


class Heredoc(msgspec.Struct, frozen=True):
    """A heredoc's introduction: its marker, and whether `<<-` asked to take indentation away."""

    marker: str
    flush: bool


class Scanner:
    """Reads `source` token by token.

    `kind`, `text` and `start` describe the current token, and `passed` is where the one before it
    ended; `end` is where the next one will be looked for. `by_line` says whether a newline is a
    token (between the items of an object or the definitions of a file) or mere space
    (everywhere else: terraform reads a variable's value as if it stood in parentheses).
    """

    __slots__ = ("by_line", "end", "kind", "passed", "source", "start", "text")

    def __init__(self, source: str, start: int) -> None:
        self.source = source
        self.by_line = False
        self.kind = self.text = ""
        self.start = self.passed = start
        # A byte order mark is allowed in front, and nowhere else.
        self.end = start or (1 if source.startswith("\ufeff") else 0)

    def advance(self) -> None:
        """Move to the next token of normal text. Refuses: a character outside the language."""
        self.passed = self.end
        pattern = _NORMAL_BY_LINE if self.by_line else _NORMAL
        match = pattern.match(self.source, self.end)
        if match is None or match.lastgroup is None:
            raise self._stray()
        kind = match.lastgroup
        self.text = match[kind]
        self.start, self.end = match.span(kind)
        self.kind = self.text if kind == "symbol" else kind
        if not self.text.isascii() and kind == NAME:
            self._trim_name()

    def heredoc(self) -> Heredoc:
        """The introduction of the heredoc that the current token opens."""
        flush = self.text.startswith("<<-")
        marker = self.text[3 if flush else 2 :].rstrip("\r\n")
        if name_length(marker) != len(marker):
            raise HclError.at(self.source, self.start, "a heredoc's marker must be a name")
        return Heredoc(marker, flush)

    def plain_quoted(self) -> str | None:
        """Step past the rest of a quoted string that needs no interpreting, and give its text.

        Most strings are of this kind. None: it is a template, and nothing has moved.
        """
        match = _PLAIN_QUOTED.match(self.source, self.end)
        if match is None:
            return None
        self.end = match.end()
        return match[1]

    def quoted_piece(self) -> str:
        """Move to the next piece of a quoted template and give its kind."""
        match = _QUOTED.match(self.source, self.end)
        if match is None or match.lastgroup is None:
            raise HclError.at(self.source, self.end, self._quoted_fault())
        self.text = match[0]
        self.start, self.end = match.span()
        return match.lastgroup

    def heredoc_piece(self, heredoc: Heredoc, at_line_start: bool) -> str:
        """Move to the next piece of a heredoc, a line at most, and give its kind.

        The line that holds the marker alone, indented or not, closes it; so does such a line
        without a newline at the end of the input. The newline after the marker is left for the
        next token: in an object it ends the item.
        """
        match = _HEREDOC.match(self.source, self.end)
        if match is None or match.lastgroup is None:
            stray = self.end < len(self.source)
            fault = "a carriage return needs a newline after it" if stray else "is not closed"
            subject = "" if stray else "the heredoc "
            raise HclError.at(self.source, self.end, subject + fault)
        self.text = match[0]
        self.start, self.end = match.span()
        if at_line_start and self._is_marker(heredoc):
            self.end = self.start + len(self.text.rstrip("\r\n"))
            return CLOSE
        return match.lastgroup

    def _is_marker(self, heredoc: Heredoc) -> bool:
        whole_line = self.text.endswith("\n") or self.end == len(self.source)
        return whole_line and self.text.strip(WHITE_SPACE) == heredoc.marker

    def _trim_name(self) -> None:
        """Cut the current name before the first character that Unicode does not allow in one."""
        length = name_length(self.text)
        if length == 0:
            raise HclError.at(self.source, self.start, "a character is not part of the language")
        self.text = self.text[:length]
        self.end = self.start + length

    def _stray(self) -> HclError:
        """The error for a character that begins no token, found after any space."""
        skipped = _SPACE.match(self.source, self.end)
        at = skipped.end() if skipped else self.end
        return HclError.at(self.source, at, "a character is not part of the language")

    def _quoted_fault(self) -> str:
        """Why the template cannot go on at `end`."""
        if self.source[self.end : self.end + 1] in ("\r", "\n"):
            return "a quoted string must end on the line it began on"
        return "a closing quotation mark is missing"
