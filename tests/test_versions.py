"""Which version this is: the number of a release, and before it is one also the commit."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from teamvars import __version__, versions

ROOT = Path(__file__).parent.parent
COMMIT = "1a2b3c4d5e6f" + "0" * 28
NEXT = "9.1.0.dev0"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one commit, whose package is asked."""
    folder = tmp_path / "checkout"
    git(tmp_path, "init", "--quiet", "--initial-branch", "main", str(folder))
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "One.")
    monkeypatch.setattr(versions, "RELEASE", NEXT)
    monkeypatch.setattr(versions, "_PACKAGE", folder / "src" / "teamvars")
    return folder


def git(folder: Path, *words: str) -> str:
    """What a git command says that knows no setting of whoever runs the tests."""
    who = ("-c", "user.name=Tester", "-c", "user.email=tester@example.com")
    done = subprocess.run(
        ["/usr/bin/env", "git", "-C", folder, *who, *words],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_a_checkout_says_the_commit_it_is_at(checkout: Path) -> None:
    for _ in range(2):
        commit = git(checkout, "rev-parse", "HEAD")
        shown = commit if commit[:12].isdigit() else commit[:12]  # one in 280 is a number
        assert versions.version() == f"{NEXT}+{shown}"
        git(checkout, "commit", "--quiet", "--allow-empty", "--message", "Another.")


@pytest.mark.parametrize("words", ["checkout --detach", "pack-refs --all", "gc --quiet"])
def test_so_it_does_however_git_keeps_it(checkout: Path, words: str) -> None:
    git(checkout, *words.split())
    assert versions.known_commit() == git(checkout, "rev-parse", "HEAD")


@pytest.mark.parametrize("is_packed", [False, True])
def test_so_does_another_worktree_of_the_repository(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, is_packed: bool
) -> None:
    other = checkout.parent / "other"
    git(checkout, "worktree", "add", "--quiet", "-b", "topic/one", str(other))
    git(other, "commit", "--quiet", "--allow-empty", "--message", "Another.")
    if is_packed:
        git(checkout, "pack-refs", "--all")
    monkeypatch.setattr(versions, "_PACKAGE", other / "src" / "teamvars")
    assert versions.known_commit() == git(other, "rev-parse", "HEAD")
    assert versions.known_commit() != git(checkout, "rev-parse", "HEAD")


def test_a_release_says_its_number_alone(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "RELEASE", "9.1.0")
    assert versions.version() == "9.1.0"


@pytest.mark.parametrize("head", [None, "", "ref: refs/heads/gone", "../../etc/passwd", "abc"])
def test_without_a_commit_it_is_the_number_alone(checkout: Path, head: str | None) -> None:
    if head is None:
        shutil.rmtree(checkout / ".git")
    else:
        (checkout / ".git" / "HEAD").write_text(head)
    assert versions.version() == NEXT


def test_what_was_built_says_what_it_was_built_from(checkout: Path) -> None:
    package = checkout / "src" / "teamvars"
    package.mkdir(parents=True)
    (package / versions.COMMIT_FILE).write_text(f"{COMMIT}\n")
    assert versions.version() == f"{NEXT}+{COMMIT[:12]}"


def test_a_commit_that_begins_as_a_number_is_shown_whole(
    checkout: Path,
) -> None:  # 007… would be 7… in what installers show
    number = "0" * 20 + "a" * 20
    (checkout / ".git" / "HEAD").write_text(number)
    assert versions.version() == f"{NEXT}+{number}"


def test_the_changelog_has_something_unreleased_just_while_there_is_no_release() -> None:
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    first = "Unreleased" if ".dev" in versions.RELEASE else versions.RELEASE
    assert headings[0] == first, "CONTRIBUTING.md says how a release begins."
    assert __version__.partition("+")[0] == versions.RELEASE
