"""Which modes and owners let somebody else at the files of an installation."""

import os
from pathlib import Path

import pytest

from teamvars.security.files import Purpose, by_mode, by_owner, look

PATH = Path("here")
REFUSED = {
    Purpose.DATA_DIR: 0o022,
    Purpose.DATABASE: 0o022,
    Purpose.DATABASE_DIR: 0o022,
    Purpose.KEYRING: 0o026,
    Purpose.KEYRING_DIR: 0o022,
}


@pytest.mark.parametrize("purpose", Purpose)
def test_a_mode_is_refused_for_what_others_may_not_do_and_for_nothing_else(
    purpose: Purpose,
) -> None:
    for mode in range(0o1000):
        refused = any(exposure.is_refused for exposure in by_mode(purpose, PATH, mode))
        assert refused == bool(mode & REFUSED[purpose]), oct(mode)


@pytest.mark.parametrize("purpose", [Purpose.DATA_DIR, Purpose.DATABASE, Purpose.KEYRING])
def test_what_init_makes_has_nothing_to_be_said_of(purpose: Purpose) -> None:
    assert by_mode(purpose, PATH, 0o700 if purpose is Purpose.DATA_DIR else 0o600) == []


def test_a_sticky_directory_is_good_for_a_keyring_and_for_nothing_that_sqlite_makes() -> None:
    assert by_mode(Purpose.KEYRING_DIR, PATH, 0o1777) == []
    assert by_mode(Purpose.DATABASE_DIR, PATH, 0o1777)
    assert by_mode(Purpose.DATA_DIR, PATH, 0o1777)


def test_a_database_that_others_can_read_is_told_and_not_refused() -> None:
    (exposure,) = by_mode(Purpose.DATABASE, PATH, 0o644)
    assert exposure.text == (
        "The database here has mode 0644: its group can read, others can read it. "
        "Run: chmod 600 here"
    )
    assert not exposure.is_refused


def test_a_keyring_is_the_accounts_or_roots() -> None:
    assert by_owner(PATH, owner=0, account=1000) == []
    assert by_owner(PATH, owner=1000, account=1000) == []
    (exposure,) = by_owner(Path("a b"), owner=1001, account=1000)
    assert exposure.is_refused
    assert exposure.text.endswith("Run: chown 1000 'a b'")


def test_nothing_is_said_of_what_is_not_there(tmp_path: Path) -> None:
    assert look(Purpose.KEYRING, tmp_path / "none") == []
    (tmp_path / "file").touch()
    assert look(Purpose.KEYRING, tmp_path / "file" / "none") == []


@pytest.mark.parametrize("purpose", [Purpose.KEYRING, Purpose.DATABASE])
def test_nobody_is_told_to_close_a_folder_that_stands_where_a_file_should(
    purpose: Purpose, tmp_path: Path
) -> None:
    tmp_path.chmod(0o1777)
    assert look(purpose, tmp_path) == []
    assert look(Purpose.DATA_DIR, tmp_path)  # the control


@pytest.mark.parametrize("purpose", [Purpose.KEYRING, Purpose.DATABASE])
def test_nobody_is_told_to_close_a_device_of_the_host(purpose: Purpose) -> None:
    assert look(purpose, Path(os.devnull)) == []


@pytest.mark.parametrize(("purpose", "told"), [(Purpose.KEYRING, 2), (Purpose.DATABASE, 1)])
def test_of_a_file_its_mode_is_looked_at_and_of_a_keyring_its_owner_too(
    purpose: Purpose, told: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.touch()
    path.chmod(0o602)
    found = path.stat()
    somebody = os.stat_result((*found[:4], 1001, *found[5:]))
    monkeypatch.setattr(Path, "stat", lambda _: somebody)
    assert len(look(purpose, path)) == told
