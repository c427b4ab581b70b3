"""Text as a string of the configuration language."""

import re

_TO_ESCAPE = re.compile(r'["\\\x00-\x1f]|[$%](?=\{)')
_ESCAPED = {'"': r"\"", "\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t", "$": "$$", "%": "%%"}


def quoted(text: str) -> str:
    """The text as a string of the configuration language in which nothing is filled in."""
    return '"' + _TO_ESCAPE.sub(_escaped, text) + '"'


def _escaped(match: re.Match[str]) -> str:
    return _ESCAPED.get(match[0]) or f"\\u{ord(match[0]):04x}"
