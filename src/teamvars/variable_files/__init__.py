"""Files of variables, as people keep them: read into what they define, and written.

Pure: nothing here knows the service, and no fault quotes the file.
"""

from collections.abc import Callable
from enum import StrEnum

from teamvars.kernel.variables import Category
from teamvars.variable_files import dotenv, tfvars, tfvars_json, yaml_mapping
from teamvars.variable_files.findings import (
    MAX_FAULTS,
    MAX_NAMES,
    Enough,
    FileFault,
    Findings,
    Item,
    ParsedFile,
)

__all__ = ["MAX_FAULTS", "MAX_NAMES", "FileFault", "Format", "Item", "ParsedFile", "parse"]


class Format(StrEnum):
    """How a file is written."""

    DOTENV = "dotenv"
    TFVARS = "tfvars"
    JSON = "json"
    YAML = "yaml"


def parse(file_format: Format, content: str) -> ParsedFile:
    """The variables that a file defines, and all that is wrong with it; it never raises.

    It takes time: a second and more for half a MiB that is hostile.
    """
    findings = Findings(content.removeprefix("\ufeff"))
    try:
        _require_characters(findings)
        _READERS[file_format](findings)
    except Enough:
        pass
    category = Category.ENV if file_format is Format.DOTENV else Category.TOOL
    return findings.parsed(category)


def _require_characters(findings: Findings) -> None:
    try:
        findings.text.encode()
    except UnicodeEncodeError as error:
        findings.fault(error.start, "Half of a surrogate pair is no character.")
        raise Enough from None


_READERS: dict[Format, Callable[[Findings], None]] = {
    Format.DOTENV: dotenv.read,
    Format.TFVARS: tfvars.read,
    Format.JSON: tfvars_json.read,
    Format.YAML: yaml_mapping.read,
}
