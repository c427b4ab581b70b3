"""`dev.py advisories`: what is pinned, compared with a list of advisories that is given."""

import json
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from tests.support.environments import ROOT
from tools import advisories
from tools.advisories import Unusable, compare

PINS = "click==8.5.1 \\\n    --hash=sha256:00\nTyping_Extensions==4.16.0 ; python_version < '4'\n"


@pytest.fixture
def pinned(tmp_path: Path) -> Path:
    (path := tmp_path / "list.txt").write_text(PINS)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (path := tmp_path / "advisories").mkdir()
    return path


def said(folder: Path, name: str = "click", **affected: Any) -> None:
    """Adds an advisory about a package."""
    number = len(list(folder.iterdir()))
    advisory = {
        "id": f"PYSEC-{number}",
        "modified": f"2026-11-{number + 1:02}T00:00:00Z",
        "summary": "it is bad\nand worse",
        "affected": [{"package": {"name": name, "ecosystem": "PyPI"}, **affected}],
    }
    (folder / f"{number}.json").write_text(json.dumps(advisory))


def within(*events: tuple[str, str]) -> list[dict[str, Any]]:
    """A range of versions."""
    return [{"type": "ECOSYSTEM", "events": [{kind: at} for kind, at in events]}]


def test_a_pin_that_an_advisory_lists_is_told_by_name_version_and_advisory(
    pinned: Path, folder: Path
) -> None:
    said(folder, versions=["8.5.0", "8.5.1"])
    said(folder, "typing.extensions", versions=["4.16.0"])
    said(folder, "other", versions=["8.5.1"])
    found = compare([pinned], folder)
    assert found.faults == [
        "click 8.5.1: PYSEC-0, it is bad",
        "typing-extensions 4.16.0: PYSEC-1, it is bad",
    ]
    assert (found.advisories, found.newest) == (3, "2026-11-03")


@pytest.mark.parametrize(
    ("events", "is_told"),
    [
        ([("introduced", "0")], True),
        ([("introduced", "8.5.1")], True),
        ([("introduced", "8.5.2")], False),
        ([("introduced", "0"), ("fixed", "8.5.1")], False),
        ([("introduced", "0"), ("fixed", "8.5.2")], True),
        ([("introduced", "0"), ("fixed", "8.10")], True),
        ([("introduced", "0"), ("last_affected", "8.5.1")], True),
        ([("introduced", "0"), ("last_affected", "8.5.0")], False),
        ([("fixed", "8.4"), ("introduced", "0"), ("introduced", "8.5")], True),
        ([], False),
    ],
)
def test_a_pin_in_a_range_is_told(
    pinned: Path, folder: Path, events: list[tuple[str, str]], is_told: bool
) -> None:
    said(folder, ranges=within(*events))
    assert bool(compare([pinned], folder).faults) is is_told


def test_what_was_withdrawn_or_is_of_another_ecosystem_is_not_told(
    pinned: Path, folder: Path
) -> None:
    said(folder, versions=["8.5.1"])
    whole = json.loads((folder / "0.json").read_text())
    for name, changed in (
        ("withdrawn", {**whole, "withdrawn": "2026-11-01T00:00:00Z"}),
        ("npm", {**whole, "affected": [{"package": {"name": "click", "ecosystem": "npm"}}]}),
        (
            "git",
            {
                **whole,
                "affected": [
                    whole["affected"][0]
                    | {"versions": [], "ranges": [{"type": "GIT", "events": [{"introduced": "0"}]}]}
                ],
            },
        ),
    ):
        (folder / f"{name}.json").write_text(json.dumps(changed))
    (folder / "0.json").unlink()
    assert compare([pinned], folder).faults == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"id": "x", "modified": 7}'])
def test_what_cannot_be_read_is_told_and_not_passed_over(
    pinned: Path, folder: Path, text: str
) -> None:
    (folder / "odd.json").write_text(text)
    assert compare([pinned], folder).faults == ["odd.json is no advisory that can be read"]
    (folder / "odd.json").unlink()
    said(folder, ranges=within(("introduced", "no version")))
    assert compare([pinned], folder).faults == ["0.json is no advisory that can be read"]


def test_no_list_is_no_clean_list(pinned: Path, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("text")
    for where in (folder, tmp_path / "none", tmp_path / "text"):
        with pytest.raises(Unusable):
            compare([pinned], where)


def test_a_zip_is_as_good_as_a_folder_and_the_command_says_what_it_found(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said(folder, "none-of-ours", versions=["1"])
    with ZipFile(folder / "all.zip", "w") as whole:
        whole.write(folder / "0.json", "0.json")
    monkeypatch.setattr(sys, "argv", ["advisories", str(folder / "all.zip")])
    assert advisories.main() == 0
    assert capsys.readouterr().out.endswith("with 1 advisories, the newest of 2026-11-01.\n")
    said(folder, "Granian", ranges=within(("introduced", "0")))
    monkeypatch.setattr(sys, "argv", ["advisories", str(folder)])
    assert advisories.main() == 1
    assert capsys.readouterr().out.startswith("granian ")


def test_the_lists_of_what_is_released_are_there() -> None:
    for name in advisories.RELEASED:
        assert (ROOT / "requirements" / f"{name}.txt").read_text().count("==") > 2
