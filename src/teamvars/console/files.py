"""The files of the console as they are sent: read once, compressed once, of one edition."""

import gzip
import hashlib
from collections.abc import Mapping
from pathlib import Path
from string import Template

import msgspec

_FOLDER = Path(__file__).parent / "static"
_SHELL = "shell.html"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_DIGEST_CHARACTERS = 16
_RARE = {"damaged_values.js"}
"""Modules that a page asks for when it needs them."""


class File(msgspec.Struct, frozen=True):
    """A file, as it is and compressed."""

    media_type: str
    content: bytes
    compressed: bytes


class Files(msgspec.Struct, frozen=True):
    """The shell, and what it loads, which stands below a segment that says which edition it is.

    Modules import each other by relative paths, and so all of a page come from one edition.
    """

    edition: str
    shell: File
    assets: Mapping[str, File]


def load(path: str) -> Files:
    """The files of the package; `path` is the one that the console is served at."""
    sources = {one.name: one.read_bytes() for one in sorted(_FOLDER.iterdir())}
    template = Template(sources.pop(_SHELL).decode())
    digest = hashlib.sha256()
    for name, content in sources.items():
        digest.update(name.encode() + b"\0" + content + b"\0")
    edition = digest.hexdigest()[:_DIGEST_CHARACTERS]
    base = f"{path}/{edition}"
    # All at once: else a module is asked for only when the one that imports it is there.
    modules = "\n".join(
        f'<link rel="modulepreload" href="{base}/{name}">' for name in sources if _is_needed(name)
    )
    shell = template.substitute(base=base, modules=modules).encode()
    assets = {name: _file(_TYPES[Path(name).suffix], text) for name, text in sources.items()}
    return Files(edition, _file("text/html", shell), assets)


def _is_needed(name: str) -> bool:
    return name.endswith(".js") and name not in _RARE


def _file(media_type: str, content: bytes) -> File:
    # Without a time, so that all workers and nodes send the same bytes.
    return File(f"{media_type}; charset=utf-8", content, gzip.compress(content, mtime=0))
