"""The documents say what is so: links resolve, commands and codes exist, the tour works."""

import re
import subprocess
from pathlib import Path

import pytest

from teamvars import cli, settings
from teamvars.domain.errors import Code
from teamvars.web.errors import STATUS
from tests.cli.test_dev import Dev, dev

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
COMMAND = re.compile(r"(?:\S*/)?teamvars((?: [a-z]+)+)")
SETTING = re.compile(r"\bTEAMVARS_[A-Z_]+\b")
TOUR = re.compile(r"<!-- tour -->\n```sh\n(.*?)```", re.DOTALL)

__all__ = ["dev"]


def commands() -> set[tuple[str, ...]]:
    """Every command by its words, and every group."""
    found: set[tuple[str, ...]] = set()

    def walk(command: object, words: tuple[str, ...]) -> None:
        found.add(words)
        for name, below in getattr(command, "commands", {}).items():
            walk(below, (*words, name))

    walk(cli.app, ())
    return found


def named_commands(text: str) -> set[tuple[str, ...]]:
    """The commands in code: what stands between backticks, or on a line of a block of shell."""
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    inline = re.findall(r"`([^`\n]+)`", text)
    code = [line for block in blocks for line in block.splitlines()] + inline
    return {tuple(found[1].split()) for line in code if (found := COMMAND.match(line))}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(document: Path) -> None:
    for target in LINK.findall(document.read_text()):
        if not target.startswith(("http://", "https://", "#")):
            assert (document.parent / target.partition("#")[0]).exists(), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_that_is_named_exists(document: Path) -> None:
    known = commands()
    groups = {words[:1] for words in known if len(words) == 2}
    for words in named_commands(document.read_text()):
        # What follows is an argument, such as the name of a file.
        assert words[: 1 + (words[:1] in groups)] in known, words


def test_every_command_and_every_setting_is_in_the_operators_document() -> None:
    text = (ROOT / "docs" / "operating.md").read_text()
    groups = {words[:1] for words in commands() if len(words) == 2}
    for words in commands() - groups - {()}:
        assert f"`teamvars {' '.join(words)}`" in text
    assert settings.variables() == set(SETTING.findall(text))


def test_every_setting_that_is_named_exists() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    of_tests = {name for name in SETTING.findall(sources) if name.startswith("TEAMVARS_TEST_")}
    for document in DOCUMENTS:
        named = set(SETTING.findall(document.read_text()))
        assert named <= settings.variables() | of_tests, document.name


def test_the_table_of_errors_is_that_of_the_code() -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    rows = re.findall(r"^\| `([a-z_]+)` \| (\d{3}) \| (.+) \|$", text, re.MULTILINE)
    true = [(code.word, str(STATUS[code.kind]), code.title) for code in Code]
    assert sorted(rows) == sorted(true), "docs/api.md says otherwise than domain/errors.py"
    assert rows == sorted(rows, key=lambda row: row[1]), "the table is in the order of statuses"


def test_the_tour_shows_what_the_readme_says(dev: Dev) -> None:
    setup = dev.shell_lines.partition('echo "==')[0]
    steps = TOUR.findall((ROOT / "README.md").read_text())
    script = setup + "\n".join(steps)
    toured = subprocess.run(
        ["/usr/bin/env", "bash", "-euo", "pipefail", "-c", script],
        capture_output=True,
        text=True,
        check=True,
    )
    assert toured.stderr == ""
    seen = toured.stdout
    assert "HTTP/1.1 201 Created" in seen
    assert '"key":"instance_type","value":"m5.large"' in seen
    assert '"key":"DB_PASSWORD","value":null' in seen
    assert "topsecret" not in seen
    assert "sensitive_is_permanent" in seen
    for code in ("missing_member", "invalid_value", "unknown_attribute"):
        assert f'"code":"{code}"' in seen
    assert seen.count("HTTP/1.1 204 No Content") == 3
    assert seen.count("invitation_not_accepted") == 1


def test_a_shell_reads_the_environment_file_of_the_readme_whole(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text()
    (block,) = re.findall(r"```ini\n(# /etc/teamvars/environment.*?)```", text, re.DOTALL)
    (tmp_path / "environment").write_text(block)
    script = 'set -a; . ./environment; printf %s "$TEAMVARS_DATABASE_URL"'
    url = subprocess.check_output(["/usr/bin/env", "bash", "-c", script], cwd=tmp_path, text=True)
    assert "sslmode=verify-full&sslrootcert=/" in url
