"""Environment files: `NAME=value` lines.

There is no standard. What programs read alike is read so; where they differ, above all in what a
`$`, a backslash or a quotation mark means outside of quotation marks, it is a fault that says how
to write it. So nothing is ever replaced, and nothing is guessed.
"""

import re

from teamvars.variable_files.findings import Findings

_BLANK = re.compile(r"[ \t]*+")
_EXPORT = re.compile(r"export[ \t]++(?![ \t=])")
_NAME = re.compile(r"[^=\n]*+")
_LINE = re.compile(r"[^\n]*+")
_BARE = re.compile(r"(?>[^ \t\n]++|[ \t]++(?!\#|[ \t]|\n|\Z))*+", re.VERBOSE)
_REST = re.compile(r"[ \t]*+(?:(?<=[ \t])\#[^\n]*+)?(?=\n|\Z)", re.VERBOSE)
_SINGLE = re.compile(r"'([^']*+)'")
_DOUBLE = re.compile(r'"((?>[^"\\]++|\\(?s:.))*+)"')
_ESCAPES = {
    r"\n": "\n",
    r"\r": "\r",
    r"\t": "\t",
    r"\"": '"',
    r"\\": "\\",
    r"\$": "$",
    r"\`": "`",
}
_SPECIAL = re.compile(r"\\(?s:.)|[$`]")
"""What means something between double quotation marks."""

_DISPUTED = re.compile(r"""[$`'"\\]""")
"""What programs read differently in a value without quotation marks."""

_BARE_FAULT = (
    "Programs differ in what this character means without quotation marks. "
    "Put the value into single ones."
)
_REFERENCE = (
    "References and commands are not carried out. "
    "Put the value into single quotation marks, or into double ones with a backslash before this."
)


def read(findings: Findings) -> None:
    """Reads all of the text. Raises Enough."""
    # A line may end in CRLF; that moves no column, and no line.
    findings.text = findings.text.replace("\r\n", "\n")
    stray = findings.text.find("\r")
    if stray >= 0:
        findings.fault(stray, "A carriage return needs a newline after it.")
    at = 0
    while at < len(findings.text):
        at = _line(findings, at)


def _line(findings: Findings, at: int) -> int:
    """Reads one line, or those of one value, and gives the offset of the next."""
    text = findings.text
    at = _end(_BLANK, text, at)
    if text.startswith("#", at):
        return _next_line(text, at)
    if at == len(text) or text[at] == "\n":
        return at + 1
    at = _end(_EXPORT, text, at)
    equals = _end(_NAME, text, at)
    if not text.startswith("=", equals):
        findings.fault(at, "A name needs an equals sign and a value.")
        return equals + 1
    name = text[at:equals].rstrip(" \t")
    findings.name(name, at)
    value, end = _value(findings, _end(_BLANK, text, equals + 1))
    if value is not None:
        findings.item(name, at, value)
    return _next_line(text, end)


def _value(findings: Findings, at: int) -> tuple[str | None, int]:
    """The value that begins there, None when it is at fault, and where it ends."""
    text = findings.text
    quote = text[at : at + 1]
    if quote not in ("'", '"'):
        return _bare(findings, at)
    match = (_SINGLE if quote == "'" else _DOUBLE).match(text, at)
    if match is None:
        findings.fault(at, "The closing quotation mark is missing.")
        return None, at
    value = match[1] if quote == "'" else _unescaped(findings, match[1], at + 1)
    if _REST.match(text, match.end()) is None:
        findings.fault(match.end(), "After its closing quotation mark a value ends with its line.")
        return None, match.end()
    return value, match.end()


def _bare(findings: Findings, at: int) -> tuple[str | None, int]:
    """A value without quotation marks: it ends with the line, or before a comment."""
    # A comment may follow the equals sign at once, when a blank is between them.
    is_comment = findings.text.startswith("#", at) and findings.text[at - 1] in " \t"
    end = at if is_comment else _end(_BARE, findings.text, at)
    disputed = _DISPUTED.search(findings.text, at, end)
    if disputed is None:
        return findings.text[at:end], end
    findings.fault(disputed.start(), _REFERENCE if disputed[0] in "$`" else _BARE_FAULT)
    return None, end


def _unescaped(findings: Findings, raw: str, start: int) -> str | None:
    """What `raw`, from between double quotation marks, means; None when it is at fault."""
    is_good = True
    for special in _SPECIAL.finditer(raw):
        if special[0] not in _ESCAPES:
            detail = _REFERENCE if special[0] in "$`" else "There is no such escape sequence."
            findings.fault(start + special.start(), detail)
            is_good = False
    return _SPECIAL.sub(lambda special: _ESCAPES[special[0]], raw) if is_good else None


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where what the pattern takes from there ends; it may take nothing."""
    match = pattern.match(text, at)
    return match.end() if match else at


def _next_line(text: str, at: int) -> int:
    return _end(_LINE, text, at) + 1
