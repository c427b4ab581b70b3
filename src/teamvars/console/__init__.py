"""The console: pages that a browser loads, which speak to the public API and to nothing else.

Its routes are the shell at each of them, and the files that these load. Modules that are wanted
together are in one file (`join`).
"""

import gzip
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from itertools import accumulate
from pathlib import Path
from string import Template

import msgspec

from teamvars.domain.errors import not_found
from teamvars.web.http.negotiation import JSON, takes_gzip
from teamvars.web.http.pages import FILE_HEADERS, headers_of_sources
from teamvars.web.http.parameters import MAX_FORM_BYTES
from teamvars.web.http.request import Request
from teamvars.web.http.routes import OwnErrors, RequestBody, Route
from teamvars.web.http.sending import FRESH, Response
from teamvars.web.oauth import TokenError, refused
from teamvars.web.sign_ins import LogoutForm, SignInPages

PATH = "/app"
_NONE: Mapping[str, str] = {}
_SEGMENTS = ("/{first}", "/{second}", "/{third}", "/{fourth}")
"""Those of the longest path of a page: organization, `workspaces`, workspace, what of it."""

_FOLDER = Path(__file__).parent / "static"
_SHELL_FILE = "shell.html"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_DIGEST_CHARACTERS = 16
_START, _FIRST, _PAGES = "main", "session", "pages"
_JOINED = {_START: ("heads", "redraw", _START), "variables": ("variables",)}
"""Files of several modules: these and what they import. One has what nearly every page is made of,
the other what draws variables and opens them. `_FIRST` is in neither: it is run before them."""
_NOTE = re.compile(r"^[ \t]*/\*\*(?:(?!\*/).)*\*/[ \t]*$", re.MULTILINE | re.DOTALL)
"""A comment that has its lines to itself: what is said to readers, and the types for a compiler."""
_PAGE = re.compile(r'^  "([^"]*)": .*\bimport\("\./(\w+)\.js"\)', re.MULTILINE)
"""The path of a page below the root, and the module that makes it."""
_NAMED = re.compile(r":\w+")
_EVERY_FILE = {
    **FILE_HEADERS,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Vary": "Accept-Encoding",
}
_SHELL = {
    # Not stored either: whoever comes back by the browser's history finds no page with values.
    **headers_of_sources(
        "script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), "
    "payment=(), usb=()",
}
_ASSET = {"Cache-Control": "public, max-age=31536000, immutable"}

_IMPORT = re.compile(r'^import (\{[^}]*\}|\* as \w+) from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)
_UNKNOWN = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


class File(msgspec.Struct, frozen=True):
    """A file, as it is and compressed."""

    media_type: str
    content: bytes
    compressed: bytes


class Files(msgspec.Struct, frozen=True):
    """The shells, and what they load, which stands below a segment that says which edition it is.

    Modules import each other by relative paths, and so all of a page come from one edition.
    `pages` are the shells of paths, in order, and `shell` is that of any other.
    """

    edition: str
    shell: File
    pages: Sequence[tuple[re.Pattern[str], File]]
    assets: Mapping[str, File]

    def shell_of(self, path: str) -> File:
        """The one that names the modules of the page at that path."""
        return next((shell for pattern, shell in self.pages if pattern.fullmatch(path)), self.shell)


def load(path: str, providers: Mapping[str, str] = _NONE) -> Files:
    """The files of the package; `path` is where they are served. Read and compressed once.

    Each shell names all that its page imports, so that a browser asks for all of it at once: else
    a file is asked for only when the one that imports it is there.

    `providers`: what those are called with which people sign in, by the addresses that lead there.
    """
    return _loaded(path, json.dumps(dict(providers)))


@cache
def _loaded(path: str, providers: str) -> Files:
    contents = {one.name: one.read_text("utf-8") for one in sorted(_FOLDER.iterdir())}
    template = Template(contents.pop(_SHELL_FILE))
    written = {
        name.removesuffix(".js"): _without_notes(contents.pop(name))
        for name in list(contents)
        if name.endswith(".js")
    }
    imports = {name: imports_of(source) for name, source in written.items()}
    files = _files(imports)
    contents |= {f"{name}.js": text for name, text in join(written, files).items()}
    digest = hashlib.sha256()
    for name, text in contents.items():
        digest.update(f"{name}\0{text}\0".encode())
    edition = digest.hexdigest()[:_DIGEST_CHARACTERS]
    base = f"{path}/{edition}"
    place = {name: file for file, names in files.items() for name in names}

    def shell(*starts: str) -> File:
        wanted = {place.get(name, name) for name in in_order((_START, *starts), imports)}
        links = "\n".join(
            f'<link rel="modulepreload" href="{base}/{name}.js">' for name in sorted(wanted)
        )
        return _file(
            "text/html", template.substitute(base=base, modules=links, providers=escape(providers))
        )

    pages = _PAGE.findall(written[_PAGES])
    shells = {module: shell(module) for module in {module for _, module in pages}}
    # A segment that is named so may be any.
    of_paths = [
        (re.compile(_NAMED.sub("[^/]+", path + below)), shells[module]) for below, module in pages
    ]
    assets = {name: _file(_TYPES[Path(name).suffix], text) for name, text in contents.items()}
    return Files(edition, shell(), of_paths, assets)


def _files(imports: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The modules of each file that has several, each in the first that has it."""
    files: dict[str, list[str]] = {}
    elsewhere = [_FIRST]
    for name, starts in _JOINED.items():
        files[name] = in_order(starts, imports, elsewhere)
        elsewhere += files[name]
    return files


def _without_notes(source: str) -> str:
    """What a browser needs of a module; each line keeps its number."""
    return _NOTE.sub(lambda note: "\n" * note[0].count("\n"), source)


def routes(sign_ins: SignInPages | None = None) -> list[Route]:
    """One for each depth of a page's path. All are public: what is shown is asked of the API.

    `sign_ins`: where people sign in with a provider, as well.
    """
    console = _Console(sign_ins)
    pages = [
        Route("GET", template, console.respond, {200: None}, public=True)
        for template in accumulate(_SEGMENTS, initial=PATH)
    ]
    if sign_ins is None:
        return pages
    return [
        *pages,
        Route("POST", PATH + _SEGMENTS[0], console.post, {200: None}, public=True),
        Route(
            "POST",
            PATH + "".join(_SEGMENTS[:3]),
            sign_ins.sign_out,
            {200: None},
            takes=RequestBody(LogoutForm, {}, is_form=True, max_bytes=MAX_FORM_BYTES),
            errors=OwnErrors(TokenError, refused),
            media_type=JSON,
            public=True,
            proves=sign_ins.prove_sign_out,
        ),
    ]


class _Console:
    def __init__(self, sign_ins: SignInPages | None) -> None:
        self._files = load(PATH, _NONE if sign_ins is None else sign_ins.titles)
        self._posts = {} if sign_ins is None else sign_ins.posts()
        self._others = {} if sign_ins is None else sign_ins.handlers()

    async def post(self, request: Request) -> Response:
        """See `SignInPages.posts`. Refuses on other paths: not found."""
        ask = self._posts.get(request.parameters["first"])
        if ask is None:
            raise not_found()
        return await ask(request)

    async def respond(self, request: Request) -> Response:
        """A file where the last segment has a dot, which no name of an organization has; else the
        shell of the page there, whose modules find out which page it is.

        Where people sign in, nothing of that. Refuses a file that is not there: not found.
        """
        path = request.full_path.removesuffix("/")
        other = self._others.get(path)
        if other is not None and request.method == "GET":
            return await other(request)
        segments = request.parameters
        edition, name = segments.get("first"), segments.get("second", "")
        if len(segments) != 2 or "." not in name:
            return _response(request, self._files.shell_of(path), _SHELL)
        asset = self._files.assets.get(name)
        if asset is None:
            raise not_found()
        # While nodes are upgraded one by one, a page of one may ask another: better than nothing.
        is_ours = edition == self._files.edition
        return _response(request, asset, _ASSET if is_ours else FRESH)


def _response(request: Request, file: File, headers: Mapping[str, str]) -> Response:
    sent = {"Content-Type": file.media_type, **_EVERY_FILE, **headers}
    if not takes_gzip(request.header("accept-encoding")):
        return Response(200, file.content, sent)
    return Response(200, file.compressed, {**sent, "Content-Encoding": "gzip"})


def _file(media_type: str, text: str) -> File:
    content = text.encode()
    # Without a time, so that all workers and nodes send the same bytes.
    return File(f"{media_type}; charset=utf-8", content, gzip.compress(content, mtime=0))


def join(sources: Mapping[str, str], files: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The modules as they are served: those of a file are in it alone, and others ask it for them.

    A browser takes milliseconds for each file that it asks for, even of those that it has kept.
    Each module is a function there, whose exports are an object in which all others find them. So
    this knows how our modules are written: imports are whole lines, of names or of everything,
    exports stand where functions, classes and constants are declared, and no module imports one
    that imports it.

    All by their names, without `.js`; the modules of a file are in order. It is called as the last
    of them, whose exports it has. Raises `ValueError` for a module of a file that is written
    otherwise.
    """
    place = {module: file for file, modules in files.items() for module in modules}
    served = {
        name: _IMPORT.sub(lambda found: _asked(found, place), text)
        for name, text in sources.items()
        if name not in place
    }
    return served | {file: _together(sources, place, modules) for file, modules in files.items()}


def in_order(
    starts: Sequence[str], imports: Mapping[str, Sequence[str]], but: Sequence[str] = ()
) -> list[str]:
    """These and what they cannot be without, each behind what it imports itself; `but` some.

    `imports`: those of each module.
    """
    found: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in found and name not in but:
            for imported in imports[name]:
                visit(imported)
            found[name] = None

    for start in starts:
        visit(start)
    return list(found)


def imports_of(source: str) -> list[str]:
    """What a module imports, by name; not what it asks for when that is wanted."""
    return [name for _, name in _IMPORT.findall(source)]


def _asked(found: re.Match[str], place: Mapping[str, str]) -> str:
    names, module = found.groups()
    if module not in place:
        return found[0]
    return f'import {{ ${module} }} from "./{place[module]}.js"; {_taken(names, module)}'


def _taken(names: str, module: str) -> str:
    if names.startswith("{"):
        return f"const {names.replace(' as ', ': ')} = ${module};"
    return f"const {names.removeprefix('* as ')} = ${module};"


def _together(sources: Mapping[str, str], place: Mapping[str, str], modules: Sequence[str]) -> str:
    others = {
        one: None for name in modules for one in imports_of(sources[name]) if one not in modules
    }
    heads = [
        f'import {{ ${one} }} from "./{place[one]}.js";'
        if one in place
        else f'import * as ${one} from "./{one}.js";'
        for one in others
    ]
    bodies = [_function(name, sources[name]) for name in modules]
    own = ", ".join(_EXPORT.findall(sources[modules[-1]]))
    ends = [f"export {{ {', '.join(f'${one}' for one in modules)} }};"]
    if own:
        ends.append(f"export const {{ {own} }} = ${modules[-1]};")
    return "\n".join([*heads, *bodies, *ends, ""])


def _function(name: str, source: str) -> str:
    exports = ", ".join(_EXPORT.findall(source))
    body = _EXPORT.sub("", _IMPORT.sub(lambda found: _taken(*found.groups()), source))
    unknown = _UNKNOWN.search(body)
    if unknown:
        raise ValueError(f"{name}.js cannot be joined with others: {unknown[0]}")
    return f"const ${name} = (() => {{ // {name}.js\n{body}return {{ {exports} }};\n}})();"
