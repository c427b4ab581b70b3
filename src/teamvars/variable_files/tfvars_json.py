"""`.tfvars.json`: one object, a name for each variable.

A string is the text itself: terraform reads no templates in such files. Whatever else becomes an
expression of the configuration language that comes to the same, numbers as they are written.
"""

import re
from collections.abc import Callable

import msgspec

from teamvars.hcl.numbers import NumberError, read_number
from teamvars.variable_files.findings import MAX_DEPTH, Enough, Findings, sentence
from teamvars.variable_files.tfvars import quoted

_COMMENT = "//"
"""The name that terraform ignores in such a file."""

_SPACE = re.compile(r"[ \t\r\n]*+")
_STRING = re.compile(r'"((?>[^"\\\x00-\x1f]++|\\.)*+)"')
_SOUND = re.compile(
    r"""(?> [^\\]++ | \\(?: ["\\/bfnrt] | u(?![dD][89a-fA-F])[0-9a-fA-F]{4}
        | u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2} ) )*+""",
    re.VERBOSE,
)
"""Of what stands in a string, all that is before the first escape which names no character."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_WORD = re.compile(r"true|false|null")


def read(findings: Findings) -> None:
    """Reads all of the text. Raises Enough, also where the text is no JSON."""
    _Reader(findings).file()


class _Reader:
    """Reads from left to right; `at` is where it has come to, behind any white space."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._text = findings.text
        self._at = 0
        self._is_good = True

    def file(self) -> None:
        """The one object, a variable for each of its members."""
        self._skip(0)
        if not self._text.startswith("{", self._at):
            raise self._broken("The file must be one JSON object.")
        self._members(self._variable)
        if self._at < len(self._text):
            raise self._broken("The file is one object, and something follows it.")

    def _variable(self, name: str, at: int) -> None:
        self._is_good = True
        is_comment = name == _COMMENT
        if not is_comment:
            self._findings.name(name, at)
        is_text = self._text.startswith('"', self._at)
        value = self._string() if is_text else self._code(1)
        if self._is_good and not is_comment:
            self._findings.item(name, at, value, hcl=not is_text)

    def _code(self, depth: int) -> str:
        """The value that begins here, as an expression."""
        start = self._text[self._at : self._at + 1]
        if start == '"':
            return quoted(self._string())
        if start in ("{", "["):
            if depth > MAX_DEPTH:
                raise self._broken(f"The nesting is deeper than {MAX_DEPTH} levels.")
            return self._object(depth) if start == "{" else self._array(depth)
        return self._number() or self._word()

    def _object(self, depth: int) -> str:
        parts: dict[str, str] = {}

        def member(name: str, at: int) -> None:
            if name in parts:
                self._fault(at, "An object has the same member twice.")
            parts[name] = f"{quoted(name)} = {self._code(depth + 1)}"

        self._members(member)
        return "{" + ", ".join(parts.values()) + "}"

    def _members(self, member: Callable[[str, int], None]) -> None:
        """An object; each member is handed on by its name and place, to read its value."""
        self._skip(1)
        if self._accept("}"):
            return
        while True:
            at = self._at
            if not self._text.startswith('"', at):
                raise self._broken("The name of a member is expected, in quotation marks.")
            name = self._string()
            if not self._accept(":"):
                raise self._broken("A colon is missing after the name of a member.")
            member(name, at)
            if self._accept("}"):
                return
            if not self._accept(","):
                raise self._broken("An object lacks a comma or its closing brace.")

    def _array(self, depth: int) -> str:
        self._skip(1)
        items: list[str] = []
        if self._accept("]"):
            return "[]"
        while True:
            items.append(self._code(depth + 1))
            if self._accept("]"):
                return "[" + ", ".join(items) + "]"
            if not self._accept(","):
                raise self._broken("An array lacks a comma or its closing bracket.")

    def _string(self) -> str:
        match = _STRING.match(self._text, self._at)
        if match is None:
            raise self._broken("A string is not closed, or has a control character.")
        start, raw = match.start(1), match[1]
        self._skip(match.end() - self._at)
        return self._unescaped(raw, start) if "\\" in raw else raw

    def _unescaped(self, raw: str, start: int) -> str:
        sound = _SOUND.match(raw)
        if sound is None or sound.end() < len(raw):
            at = start + (sound.end() if sound else 0)
            self._fault(at, "An escape sequence names no character.")
            return ""
        return msgspec.json.decode(f'"{raw}"', type=str)

    def _number(self) -> str:
        """The number that begins here, as it is written; empty when there is none."""
        match = _NUMBER.match(self._text, self._at)
        if match is None:
            return ""
        try:
            read_number(match[0])
        except NumberError as error:
            self._fault(self._at, sentence(str(error)))
        self._skip(len(match[0]))
        return match[0]

    def _word(self) -> str:
        match = _WORD.match(self._text, self._at)
        if match is None:
            raise self._broken("A JSON value is expected.")
        self._skip(len(match[0]))
        return match[0]

    def _accept(self, character: str) -> bool:
        """Steps past the character if it is here."""
        if not self._text.startswith(character, self._at):
            return False
        self._skip(1)
        return True

    def _skip(self, characters: int) -> None:
        """Steps past so many characters, and the white space after them."""
        match = _SPACE.match(self._text, self._at + characters)
        self._at = match.end() if match else self._at

    def _fault(self, at: int, detail: str) -> None:
        self._is_good = False
        self._findings.fault(at, detail)

    def _broken(self, detail: str) -> Enough:
        """Notes why nothing behind this place can be read."""
        self._findings.fault(self._at, detail)
        return Enough()
