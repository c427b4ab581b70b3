"""`.tfvars`: `name = expression`, one definition after another; and a text as an expression."""

import re

from teamvars.hcl import Definition, HclError, TooMuchWork, definitions
from teamvars.variable_files.findings import Findings

_TO_ESCAPE = re.compile(r'["\\\x00-\x1f]|[$%](?=\{)')
_ESCAPED = {'"': r"\"", "\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t", "$": "$$", "%": "%%"}


def read(findings: Findings) -> None:
    """Reads all of the text. Raises Enough."""
    for found in definitions(findings.text):
        if isinstance(found, HclError):
            findings.error(found)
        else:
            _read(findings, found)


def _read(findings: Findings, found: Definition) -> None:
    findings.name(found.name, found.at)
    is_known = True
    for unknown in found.expression.unknowns:
        is_known = False
        findings.error(unknown)
    if not is_known:
        return
    try:
        value = found.expression.evaluate(work=findings.work)
    except TooMuchWork:
        if findings.work.left <= 0:
            raise findings.ended(found.at, "The values take too much work together.") from None
        findings.fault(found.at, "The value takes too much work to evaluate.")
        return
    except HclError as error:
        findings.error(error)
        return
    is_text = isinstance(value, str)
    findings.item(found.name, found.at, value if is_text else found.text, hcl=not is_text)


def quoted(text: str) -> str:
    """The text as a string of the configuration language in which nothing is filled in."""
    return '"' + _TO_ESCAPE.sub(_escaped, text) + '"'


def _escaped(match: re.Match[str]) -> str:
    return _ESCAPED.get(match[0]) or f"\\u{ord(match[0]):04x}"
