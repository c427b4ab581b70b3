"""What documents name is there: files, folders, modules, members of classes, words of code.

Whoever moves or renames one of these mends the documents that name it; the message says where.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.test_documents import ROOT

DOCUMENTS = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("packages/*/README.md"),
    ]
)
DESIGN = ROOT / "docs" / "design.md"
NOUNS = re.compile(r"^\| noun \|(.*)\|\n\|[-|]*\n((?:\|.*\n)*)", re.MULTILINE)
FOLDERS = ("src", "packages", "tests", "bench", "tools", "docs", "requirements")
ROOMS = "domain storage services decisions changes web http cli security mail variable_files hcl"
OTHERS = """
    teamvars.db teamvars.env teamvars.toml
    enable_seqscan force_generic_plan mmap_size pg_dump pg_restore plan_cache_mode random_page_cost
    process_cpu_seconds_total ru_inblock synchronous_commit
    AddressAllow AddressDeny ProtectKernel ReadWritePaths non_idempotent
    ErrWorkspaceLocked ErrWorkspaceLockedByUser assessments_enabled collaborator_auth_policy
    audit_trail_token_max_ttl max_ttl_enabled remote_state_consumer_ids tfe_team_token
    user_token_max_ttl
    npm_config teamvars_example_com
    terraform_version expiring_in workspace_locking
"""
"""What is named in our style and is not ours: files of a host; names of databases and the kernel,
of systemd and nginx, of Prometheus and other clients."""

CODE = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"(?<![\w./*~$:{-])((?:[\w-]+/)*[\w-]+\.(?:py|js|sql))\b(?![\w./])")
ROOM = re.compile(
    rf"(?<![\w./*~$:-])((?:src|tests|bench|tools|{ROOMS.replace(' ', '|')})/[\w/]*)(?![\w.:{{*-])"
)
MODULE = re.compile(r"(?<![\w./@-])((?:teamvars|tests|bench|tools)(?:\.\w+)+)")
MEMBER = re.compile(r"(?<![\w.@])([A-Z][a-z]\w*)\.([a-z_]\w*)")
WORD = re.compile(r"(?<![A-Za-z…])(?:[a-z]+(?:_[a-z]+)+|(?:[A-Z][a-z]+){2,})")


def code(document: Path) -> Iterator[tuple[int, str]]:
    """What stands between backticks or in an indented drawing, and in which line."""
    is_fenced = is_drawn = False
    was_empty = True
    for number, line in enumerate(document.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_fenced = not is_fenced
        elif not is_fenced:
            is_drawn = line.startswith("    ") and (was_empty or is_drawn)
            for found in [line] if is_drawn else CODE.findall(line):
                yield number, found
        was_empty = not line.strip()


def fenced(document: Path) -> str:
    """The blocks of shell, settings and data of a document."""
    return "".join(re.findall(r"^```.*?^```", document.read_text(), re.DOTALL | re.MULTILINE))


@cache
def paths() -> frozenset[str]:
    """Every end of a path to a file or folder of ours; that of a module also without `.py`."""
    found: set[str] = set()
    for folder in FOLDERS:
        for path in [ROOT / folder, *(ROOT / folder).rglob("*")]:
            if "__pycache__" not in path.parts:
                parts = path.relative_to(ROOT).parts
                for start in range(len(parts)):
                    end = "/".join(parts[start:])
                    found |= {end, end.removesuffix(".py")}
    return frozenset(found | {path.name for path in ROOT.glob("*")})


@cache
def sources() -> tuple[Path, ...]:
    """Every module of ours."""
    return (ROOT / "dev.py", *(path for one in FOLDERS for path in (ROOT / one).rglob("*.py")))


@cache
def words() -> frozenset[str]:
    """Every word in a file that is code."""
    scripts = [path for end in ("js", "sql") for path in (ROOT / "src").rglob(f"*.{end}")]
    text = "\n".join(path.read_text() for path in (*sources(), *scripts))
    return frozenset(re.findall(r"\w+", text)) | {path.stem for path in sources()}


@cache
def members() -> dict[str, set[str]]:
    """The members that each class of ours defines or inherits, of all classes of that name."""
    own: dict[str, set[str]] = {}
    bases: dict[str, set[str]] = {}
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                own.setdefault(node.name, set()).update(_defined(node))
                above = {base.id for base in node.bases if isinstance(base, ast.Name)}
                bases.setdefault(node.name, set()).update(above)
    return {
        name: defined.union(*(own.get(base, set()) for base in bases[name]))
        for name, defined in own.items()
    }


def _defined(node: ast.ClassDef) -> Iterator[str]:
    for below in ast.walk(node):
        match below:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def faults(document: Path) -> Iterator[str]:
    """What the document names that is not there, by line."""
    own_words = words() | frozenset(re.findall(r"\w+", fenced(document))) | {*OTHERS.split()}
    for number, text in code(document):
        named = [*FILE.findall(text), *ROOM.findall(text)]
        named += [
            one.replace(".", "/") for one in MODULE.findall(text) if one not in OTHERS.split()
        ]
        lacking = [one for one in named if one.rstrip("/") not in paths()]
        lacking += [
            f"{name}.{member}"
            for name, member in MEMBER.findall(text)
            if member not in members().get(name, ())
        ]
        lacking += [one for one in WORD.findall(text) if one not in own_words]
        for one in lacking:
            yield f"{document.relative_to(ROOT)}:{number} names {one}, which is not there"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_document_names_is_there(document: Path) -> None:
    found = list(dict.fromkeys(faults(document)))
    assert not found, "\n" + "\n".join(found)


def modules_of_nouns() -> Iterator[tuple[str, str]]:
    """Each noun of the design, with the modules that its row names."""
    found = NOUNS.search(DESIGN.read_text())
    assert found is not None
    rooms = [cell.strip() for cell in found[1].split("|")]
    for row in found[2].splitlines():
        noun, *cells = [cell.strip() for cell in row.strip("|").split("|")]
        for room, cell in zip(rooms, cells, strict=True):
            for name in CODE.findall(cell):
                yield noun, f"{room}/{name.rstrip('/')}"


def test_each_noun_of_the_design_has_its_modules() -> None:
    for noun, path in modules_of_nouns():
        assert path in paths(), f"docs/design.md says that {noun} is in {path}: it is not"


def test_each_module_of_decisions_is_of_a_noun_of_the_design() -> None:
    named = {path for _, path in modules_of_nouns()} | {"decisions/needs", "decisions/__init__"}
    there = {path.stem for path in (ROOT / "src" / "teamvars" / "decisions").glob("*.py")}
    lacking = {f"decisions/{name}" for name in there} - named
    assert not lacking, f"the nouns of docs/design.md have no row with {', '.join(lacking)}"
