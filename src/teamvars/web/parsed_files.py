"""What is read and tried, of which nothing is stored: files of variables, and values."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from teamvars.decisions.variables import ToOwner
from teamvars.domain.access import Caller
from teamvars.domain.ids import new_id
from teamvars.domain.variables import ValueDraft
from teamvars.services.code.examination import Examination
from teamvars.services.parsed_files import MAX_CONTENT_BYTES, FileDraft, ParsedFiles, ValueChecks
from teamvars.variable_files import Format, ParsedFile
from teamvars.web.dialects import Dialect
from teamvars.web.http.reader import Reader
from teamvars.web.http.request import Request
from teamvars.web.http.routes import RequestBody, Route
from teamvars.web.http.sending import Response
from teamvars.web.variables import owners
from teamvars.web.variables.owners import OwnerKind
from teamvars.web.variables.requests import HCL, VALUE

# YAML is read by the command line alone.
_FORMATS = {known.value: known for known in Format if known is not Format.YAML}
_FORMAT = Meta(description="How the file is written.")
_CONTENT = Meta(
    max_length=MAX_CONTENT_BYTES,
    description=f"At most {MAX_CONTENT_BYTES} bytes of UTF-8, and 5,000 names.",
)


class FileAttributes(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A file of variables."""

    format: Annotated[Literal["dotenv", "tfvars", "json"], _FORMAT]
    content: Annotated[str, _CONTENT]


class FileResource(msgspec.Struct):
    """A file to read."""

    type: Literal["parsed-files"]
    attributes: FileAttributes


class FileDocument(msgspec.Struct):
    """Has a file read; nothing is stored."""

    data: FileResource


class FileItem(msgspec.Struct, gc=False):
    """A variable of the file, with the attributes that a create takes."""

    key: str
    value: str
    category: str
    hcl: bool


class FileFault(msgspec.Struct, gc=False):
    """What is wrong with the file, and where; line and column from 1, in characters."""

    line: int
    column: int
    detail: str


class ParsedFileAttributes(msgspec.Struct):
    """Where there are faults, the items are those that could be read."""

    items: list[FileItem]
    faults: list[FileFault]


class ParsedFileResource(msgspec.Struct):
    """What the file defines. Nothing is kept that its id would lead to."""

    id: str
    type: str
    attributes: ParsedFileAttributes


class ParsedFileDocument(msgspec.Struct):
    """What the file defines."""

    data: ParsedFileResource


class ValueCheckAttributes(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A value to try, as text or as configuration-language code."""

    value: Annotated[str, VALUE]
    hcl: Annotated[bool, HCL] = False


class ValueCheckResource(msgspec.Struct):
    """A value to try."""

    type: Literal["value-checks"]
    attributes: ValueCheckAttributes


class ValueCheckDocument(msgspec.Struct):
    """Tries a value; nothing is stored."""

    data: ValueCheckResource


class Culprit(msgspec.Struct):
    """Where and why a value does not parse or evaluate; line and column from 1, in characters."""

    line: int
    column: int
    detail: str


class ValueCheckAnswer(msgspec.Struct, rename="kebab"):
    """`value` counts only when `evaluated`; what is referred to is not known here."""

    valid: bool
    evaluated: bool
    value: Any
    error: Culprit | None
    refers_to: list[str]
    calls: list[str]


class ValueCheckAnswerResource(msgspec.Struct):
    """What became of the value. Nothing is kept that its id would lead to."""

    id: str
    type: str
    attributes: ValueCheckAnswer


class ValueCheckAnswerDocument(msgspec.Struct):
    """What became of the value."""

    data: ValueCheckAnswerResource


_FILE = RequestBody(
    FileDocument,
    {
        "data": {
            "type": "parsed-files",
            "attributes": {"format": "tfvars", "content": 'region = "eu"\nports = [80, 443]\n'},
        }
    },
)
_VALUE_CHECK = RequestBody(
    ValueCheckDocument,
    {
        "data": {
            "type": "value-checks",
            "attributes": {"value": '{ size = 2 * 3, name = "a" }', "hcl": True},
        }
    },
)


def _file_draft(document: object) -> FileDraft:
    """What file somebody wants to have read."""
    read = Reader(document)
    attributes = _attributes(read, "parsed-files", {"format", "content"})
    word = read.member(attributes, "format", str, "/data/attributes")
    file_format = read.choice(word, _FORMATS, "A format is {}.", "/data/attributes/format")
    content = read.member(attributes, "content", str, "/data/attributes")
    return FileDraft(file_format, content, read.faults)


def _attributes(read: Reader, type_: str, known: set[str]) -> dict[str, Any] | None:
    attributes = read.attributes(type_)
    read.refuse_unknown(attributes, known)
    return attributes


def _parsed(found: ParsedFile, dialect: Dialect) -> ParsedFileDocument:
    category = dialect.categories[found.category]
    attributes = ParsedFileAttributes(
        [FileItem(item.key, item.value, category, item.hcl) for item in found.items],
        [FileFault(fault.line, fault.column, fault.detail) for fault in found.faults],
    )
    return ParsedFileDocument(ParsedFileResource(new_id("file"), "parsed-files", attributes))


def _value_draft(document: object) -> ValueDraft:
    """What value somebody wants to try."""
    read = Reader(document)
    attributes = _attributes(read, "value-checks", {"value", "hcl"})
    value = read.member(attributes, "value", str, "/data/attributes")
    hcl = read.member(attributes, "hcl", bool, "/data/attributes", required=False)
    return ValueDraft(value, hcl or False, read.faults)


def _examined(found: Examination) -> ValueCheckAnswerDocument:
    error = found.error
    culprit = None
    if error is not None:
        detail = f"{error.message}: {error.name}" if error.name else error.message
        culprit = Culprit(error.line, error.column, detail)
    attributes = ValueCheckAnswer(
        valid=found.valid,
        evaluated=found.evaluated,
        value=msgspec.Raw(found.value),
        error=culprit,
        refers_to=list(found.references),
        calls=list(found.functions),
    )
    return ValueCheckAnswerDocument(
        ValueCheckAnswerResource(new_id("check"), "value-checks", attributes)
    )


def routes(parsed_files: ParsedFiles, value_checks: ValueChecks, dialect: Dialect) -> list[Route]:
    """One row an operation."""
    return [
        route
        for kind in owners.EVERY
        for route in _routes_of(kind, parsed_files, value_checks, dialect)
    ]


def _routes_of(
    kind: OwnerKind, parsed_files: ParsedFiles, value_checks: ValueChecks, dialect: Dialect
) -> list[Route]:
    of = f"Of{kind.names}" if kind.names else ""
    return [
        _route(
            kind,
            "check-value",
            lambda caller, to, said: value_checks.check(caller, to, _value_draft(said)),
            _examined,
            _VALUE_CHECK,
            responses={200: ValueCheckAnswerDocument},
            text="Try a value: does it parse, and what does it evaluate to? Nothing is stored.",
            tag="Value checks",
            name=f"checkValue{of}",
        ),
        _route(
            kind,
            "parse",
            lambda caller, to, said: parsed_files.parse(caller, to, _file_draft(said)),
            lambda found: _parsed(found, dialect),
            _FILE,
            responses={200: ParsedFileDocument},
            text=(
                "Read a file of variables: what does it define, where is it wrong? Nothing is "
                "stored."
            ),
            tag="Parsed files",
            name=f"parseFile{of}",
        ),
    ]


def _route(
    kind: OwnerKind,
    action: str,
    work: Callable[[Caller, ToOwner, object], Awaitable[Any]],
    shows: Callable[[Any], msgspec.Struct],
    takes: RequestBody,
    **more: Any,
) -> Route:
    async def handle(request: Request) -> Response:
        asked = request.require_caller(), kind.asked(request), request.document
        return Response.document(200, shows(await work(*asked)))

    path = f"{kind.path}/actions/{action}"
    return Route("POST", path, handle, takes=takes, may_forbid=True, **more)
