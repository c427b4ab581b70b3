"""Files of variables that are read, of which nothing is stored."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from teamvars.domain.ids import new_id
from teamvars.services.parsed_files import MAX_CONTENT_BYTES, FileDraft, ParsedFiles
from teamvars.variable_files import Format, ParsedFile
from teamvars.web.dialects import Dialect
from teamvars.web.http.reader import Reader
from teamvars.web.http.request import Request
from teamvars.web.http.routes import RequestBody, Route
from teamvars.web.http.sending import Response

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


PARSE = RequestBody(
    FileDocument,
    {
        "data": {
            "type": "parsed-files",
            "attributes": {"format": "tfvars", "content": 'region = "eu"\nports = [80, 443]\n'},
        }
    },
)


def draft(document: object) -> FileDraft:
    """What file somebody wants to have read."""
    read = Reader(document)
    data = read.data(dict)
    read.require_type(data, "parsed-files")
    attributes = read.member(data, "attributes", dict, "/data")
    read.refuse_unknown(attributes, known={"format", "content"})
    word = read.member(attributes, "format", str, "/data/attributes")
    file_format = read.choice(word, _FORMATS, "A format is {}.", "/data/attributes/format")
    content = read.member(attributes, "content", str, "/data/attributes")
    return FileDraft(file_format, content, read.faults)


def parsed(found: ParsedFile, dialect: Dialect) -> ParsedFileDocument:
    """The document of what a file defines."""
    category = dialect.categories[found.category]
    attributes = ParsedFileAttributes(
        [FileItem(item.key, item.value, category, item.hcl) for item in found.items],
        [FileFault(fault.line, fault.column, fault.detail) for fault in found.faults],
    )
    return ParsedFileDocument(ParsedFileResource(new_id("file"), "parsed-files", attributes))


def routes(parsed_files: ParsedFiles, dialect: Dialect) -> list[Route]:
    """The one operation."""

    async def parse(request: Request) -> Response:
        """Read a file of variables: what does it define, where is it wrong? Nothing is stored."""
        caller, workspace_id = request.require_caller(), request.parameters["workspace_id"]
        found = await parsed_files.parse(caller, workspace_id, draft(request.document))
        return Response.document(200, parsed(found, dialect))

    return [
        Route(
            "POST",
            "/api/v2/workspaces/{workspace_id}/actions/parse",
            parse,
            {200: ParsedFileDocument},
            takes=PARSE,
            may_forbid=True,
            name="parseFile",
        )
    ]
