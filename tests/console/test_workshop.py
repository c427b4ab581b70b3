"""The console's modules as others read them: a compiler that checks types, and a linter.

They are run as they are written: nothing is built of them. Both programs run on node, which the
service does not need. Their versions are in tests/console/workshop/package-lock.json.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.console.accessibility import WORKSHOP
from tests.support import node_tools

ROOT = Path(__file__).parents[2]
MODULES = ROOT / "src" / "teamvars" / "console" / "static"
COMMANDS = {
    "tsc": ["tsc", "--project", "."],
    "eslint": ["eslint", "static"],
}
BROKEN = {
    "tsc": "export function f() { return (/** @type {string} */ ('x')).missing; }",
    "eslint": "export function f(element) { element.innerHTML = ''; }",
}


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """A folder with the modules, the programs, and what tells them how to read."""
    programs = node_tools.install(WORKSHOP, "The compiler and the linter of the console's modules")
    shutil.copytree(MODULES, tmp_path / "static", ignore=shutil.ignore_patterns("*.html", "*.svg"))
    for name in ("tsconfig.json", "eslint.config.mjs"):
        shutil.copy(WORKSHOP / name, tmp_path)
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
    done = run(name, bench)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_a_fault_that_is_there_is_found(name: str, bench: Path) -> None:
    """The control."""
    (bench / "static" / "broken.js").write_text(BROKEN[name] + "\n")
    done = run(name, bench)
    assert done.returncode != 0
    assert "broken.js" in done.stdout
