"""The console's modules as others read them: a compiler that checks types, and a linter.

Nothing is built of them. What the API answers has the types that `/openapi.json` says. Both
programs run on node, which the service does not need. Their versions are in
tests/console/workshop/package-lock.json.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from teamvars.web.dialects import STANDARD
from tests.console import api_types
from tests.console.accessibility import WORKSHOP
from tests.support import node_tools
from tests.web.test_openapi import document_in

ROOT = Path(__file__).parents[2]
MODULES = ROOT / "src" / "teamvars" / "console" / "static"
COMMANDS = {
    "tsc": ["tsc", "--project", "."],
    "eslint": ["eslint", "static"],
}
BROKEN = {
    "tsc": [
        "export function f() { return (/** @type {string} */ ('x')).missing; }",
        "export function f(untyped) { return untyped; }",
        "/** @param {Api.TeamResource} a */ export function f(a) { return a.attribute; }",
    ],
    "eslint": ["export function f(element) { element.innerHTML = ''; }"],
}
SAYS_NOTHING = re.compile(r"[{(<|:,] *(?:any\b|Function\b|\*[}>|])")
"""A type that anything is."""


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """A folder with the programs, and what tells them how to read the modules in `static`."""
    programs = node_tools.install(WORKSHOP, "The compiler and the linter of the console's modules")
    for name in ("tsconfig.json", "eslint.config.mjs"):
        shutil.copy(WORKSHOP / name, tmp_path)
    (tmp_path / "api.d.ts").write_text(api_types.declared(document_in(STANDARD)))
    (tmp_path / "node_modules").symlink_to(programs)
    return tmp_path


def run(name: str, bench: Path) -> subprocess.CompletedProcess[str]:
    """One of the programs, over all modules."""
    program, *options = COMMANDS[name]
    return subprocess.run(
        [bench / "node_modules" / ".bin" / program, *options],
        cwd=bench,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_the_modules_have_no_fault(name: str, bench: Path) -> None:
    shutil.copytree(MODULES, bench / "static", ignore=shutil.ignore_patterns("*.html", "*.svg"))
    done = run(name, bench)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_type_says_nothing() -> None:
    """Where `any` stands, the compiler looks at nothing."""
    modules = sorted(MODULES.glob("*.js"))
    assert [one.name for one in modules if SAYS_NOTHING.search(one.read_text())] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_fault_that_is_there_is_found(name: str, bench: Path) -> None:
    """The control."""
    (bench / "static").mkdir()
    for number, broken in enumerate(BROKEN[name]):
        (bench / "static" / f"broken{number}.js").write_text(broken + "\n")
    done = run(name, bench)
    assert done.returncode != 0
    found = set(re.findall(r"broken(\d)\.js", done.stdout))
    assert found == {str(number) for number, _ in enumerate(BROKEN[name])}
