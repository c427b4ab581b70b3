"""`dev.py release`: makes a checkout a release whole, or leaves it as it was."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.environments import ROOT, locked_environment
from tools import release as releasing
from tools.release import Checkout, NotReleased, release, require_no_advisory, verify

SOURCES = ("src", "requirements", "pyproject.toml", "packages", "tools", "README.md", "LICENSE")
CHANGELOG = "# Changelog\n\n## Unreleased\n\n- One thing.\n\n## 0.1.0 (2026-11-21)\n\nThe first.\n"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """A repository with these sources, which are about to become 9.1.0."""
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "Tester")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "tester@example.com")
    monkeypatch.setattr(releasing, "environment", lambda folder, _: locked_environment(folder))
    root = tmp_path / "checkout"
    root.mkdir()
    for name in SOURCES:
        there = ROOT / name
        ignored = shutil.ignore_patterns("__pycache__")
        if there.is_dir():
            shutil.copytree(there, root / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy(there, root)
    made = Checkout(root)
    made.versions.write_text(made.versions.read_text().replace(made.release, "9.1.0.dev0"))
    made.changelog.write_text(CHANGELOG)
    (root / ".gitignore").write_text("/dist/\n__pycache__/\n")
    made.git("init", "--quiet", "--initial-branch", "main")
    made.git("add", "--all")
    made.git("commit", "--quiet", "--message", "All of it.")
    return made


def state(checkout: Checkout) -> tuple[str, ...]:
    """All that a release changes."""
    log, tags = checkout.git("log", "--format=%H"), checkout.git("tag")
    return log, tags, checkout.git("status", "--porcelain"), checkout.changelog.read_text()


def test_a_release_is_a_commit_with_a_tag_and_files_that_say_its_number(
    checkout: Checkout,
) -> None:
    files = release(checkout, "9.1.0", is_checked=True)
    assert {file.name for file in files} == {
        "teamvars-9.1.0.tar.gz",
        "teamvars-9.1.0-py3-none-any.whl",
        "teamvars_hcl-9.1.0.tar.gz",
        "teamvars_hcl-9.1.0-py3-none-any.whl",
        "teamvars_cli-9.1.0.tar.gz",
        "teamvars_cli-9.1.0-py3-none-any.whl",
        "teamvars-9.1.0.cdx.json",
        "SHA256SUMS",
    }
    assert all(file.is_file() for file in files)
    dist = checkout.root / "dist"
    checking = ["/usr/bin/sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    subprocess.run(checking, check=True, cwd=dist)
    described = json.loads((dist / "teamvars-9.1.0.cdx.json").read_text())
    parts = {part["name"]: part["version"] for part in described["components"]}
    assert parts["teamvars"] == parts["teamvars-cli"] == parts["teamvars-hcl"] == "9.1.0"
    assert {"granian", "asyncpg", "apsw", "cryptography"} <= parts.keys()
    assert checkout.git("status", "--porcelain") == ""
    assert checkout.git("log", "-1", "--format=%s") == "teamvars 9.1.0"
    assert checkout.git("rev-parse", "v9.1.0^{commit}") == checkout.git("rev-parse", "HEAD")
    assert checkout.git("diff", "--name-only", "HEAD~").split() == [
        "CHANGELOG.md",
        "src/teamvars/versions.py",
    ]
    day = checkout.git("log", "-1", "--format=%as")
    assert f"\n## 9.1.0 ({day})\n\n- One thing.\n" in checkout.changelog.read_text()
    with pytest.raises(NotReleased, match=r"These sources are 9\.1\.0 already") as again:
        release(checkout, "9.1.0", is_checked=True)
    assert "There is a tag v9.1.0." in str(again.value)


def test_what_nobody_else_could_build_is_not_released(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(_: Checkout, folder: Path) -> None:
        folder.mkdir()
        (folder / "teamvars-9.1.0.tar.gz").write_text(str(folder))

    before = state(checkout)
    monkeypatch.setattr(Checkout, "build", build)
    with pytest.raises(NotReleased, match="Built twice, these differ"):
        release(checkout, "9.1.0", is_checked=True)
    assert state(checkout) == before


Spoil = Callable[[Checkout], object]


@pytest.mark.parametrize(
    ("spoil", "number", "said"),
    [
        (lambda _: None, "9.1", "9.1 is no release"),
        (lambda _: None, "9.0.9", "9.0.9 is lower than 9.1.0"),
        (lambda c: c.git("checkout", "--quiet", "-b", "topic"), "9.1.0", "this is topic"),
        (lambda c: c.git("tag", "v9.1.0"), "9.1.0", "a tag v9.1.0"),
        (lambda c: (c.root / "new").touch(), "9.1.0", "not committed"),
        (lambda c: c.changelog.write_text("# Changelog\n"), "9.1.0", "nothing under Unreleased"),
    ],
)
def test_what_stands_in_the_way_is_told_before_anything_is_written(
    checkout: Checkout, spoil: Spoil, number: str, said: str
) -> None:
    spoil(checkout)
    before = state(checkout)
    with pytest.raises(NotReleased, match=said):
        release(checkout, number, is_checked=True)
    assert state(checkout) == before


def test_a_release_that_cannot_be_built_leaves_the_checkout_as_it_was(checkout: Checkout) -> None:
    (checkout.root / "README.md").unlink()
    checkout.git("commit", "--quiet", "--all", "--message", "A mistake.")
    before = state(checkout)
    with pytest.raises(NotReleased, match=r"README\.md"):
        release(checkout, "9.1.0", is_checked=True)
    assert state(checkout) == before


def test_files_that_call_themselves_otherwise_are_no_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releasing, "run", lambda *_: "teamvars 9.0.0")
    with pytest.raises(NotReleased, match=r"calls itself teamvars 9\.0\.0"):
        verify([tmp_path / "teamvars-9.1.0-py3-none-any.whl"], "9.1.0", tmp_path / "python")
    with pytest.raises(NotReleased, match=r"not 9\.0\.0: teamvars_more-9\.1\.0-"):
        verify([tmp_path / "teamvars_more-9.1.0-py3-none-any.whl"], "9.0.0", tmp_path / "python")


def test_so_does_one_that_fails_the_check(checkout: Checkout) -> None:
    (checkout.root / "dev.py").write_text("import sys\nsys.exit(sys.argv[1:] == ['check'])\n")
    checkout.git("add", "--all")
    checkout.git("commit", "--quiet", "--message", "A check that fails.")
    before = state(checkout)
    with pytest.raises(NotReleased, match="The check fails"):
        release(checkout, "9.1.0", is_checked=False)
    assert state(checkout) == before


def test_nothing_is_released_that_is_known_to_be_vulnerable(tmp_path: Path) -> None:
    (lists := tmp_path / "requirements").mkdir()
    for name in ("client", "runtime", "dev"):
        (lists / f"{name}.txt").write_text(f"{name}==1.0\n")
    (advisories := tmp_path / "advisories").mkdir()

    def said(package: str) -> None:
        affected = [{"package": {"name": package, "ecosystem": "PyPI"}, "versions": ["1.0"]}]
        advisory = {"id": "PYSEC-1", "modified": "2026-11-26T00:00:00Z", "affected": affected}
        (advisories / "one.json").write_text(json.dumps(advisory))

    with pytest.raises(NotReleased, match="has no advisories"):
        require_no_advisory(tmp_path, advisories)
    said("dev")  # which no installation has
    assert require_no_advisory(tmp_path, advisories).startswith("Compared with 1 advisories")
    for name in ("client", "runtime"):
        said(name)
        with pytest.raises(NotReleased, match=rf"{name} 1\.0: PYSEC-1, no summary"):
            require_no_advisory(tmp_path, advisories)
