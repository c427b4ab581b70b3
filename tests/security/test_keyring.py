"""The keyring file: whole and private, or refused; and never overwritten."""

import base64
import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.domain.keys import AUDIT, MASTER, SERVER
from teamvars.security import files, keyring
from teamvars.security.keyring import Keyring, KeyringError

# The system ends it once the file has ten bytes.
KILLED_WHILE_WRITING = """
import resource, signal, sys
from pathlib import Path
from teamvars.security import keyring
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
keyring.save_new(keyring.generate(), Path(sys.argv[1]))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keyring.json"


def adding(keys: Keyring) -> Keyring:
    return keys.holding(SERVER, keyring.new_key(SERVER))


def write(path: Path, content: str | bytes) -> None:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(0o600)


def altered(path: Path, change: Any) -> str:
    """The content of a good file after a change."""
    keyring.save_new(keyring.generate(), path)
    document = json.loads(path.read_text())
    change(document)
    return json.dumps(document)


def test_what_was_saved_is_loaded(path: Path) -> None:
    keys = keyring.generate()
    keyring.save_new(keys, path)
    assert keyring.load(path) == keys


def test_a_keyring_of_an_older_release_has_no_server_key(path: Path) -> None:
    keys = replace(keyring.generate(), server=None)
    keyring.save_new(keys, path)
    assert "server" not in json.loads(path.read_text())
    assert keyring.load(path) == keys


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_what_root_adds_a_key_to_stays_that_of_its_owner(path: Path) -> None:
    keyring.save_new(keyring.generate(), path)
    os.chown(path, 12_345, 54_321)
    keyring.change(path, adding)
    assert (path.stat().st_uid, path.stat().st_gid) == (12_345, 54_321)


def test_who_adds_a_key_has_others_wait_that_would_write_the_file_meanwhile(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyring.save_new(keyring.generate(), path)
    replace_file = files.replace

    def is_free() -> bool:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(folder)
        return True

    found = []

    def meanwhile(path: Path, text: str) -> None:
        found.append(is_free())
        replace_file(path, text)

    monkeypatch.setattr(files, "replace", meanwhile)
    keyring.change(path, adding)
    assert (found, is_free()) == ([False], True)


def test_a_new_file_is_its_owners_alone_whatever_the_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        keyring.save_new(keyring.generate(), path)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_is_never_overwritten(path: Path) -> None:
    write(path, "precious")
    with pytest.raises(KeyringError, match="never overwritten"):
        keyring.save_new(keyring.generate(), path)
    assert path.read_text() == "precious"


def test_a_file_that_could_not_be_written_whole_is_not_left_behind(path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            keyring.save_new(keyring.generate(), path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not path.exists()
    keyring.save_new(keyring.generate(), path)


def test_who_is_killed_while_it_is_written_leaves_no_part_of_it(path: Path) -> None:
    """Else `init` would find a damaged keyring for ever, of which there is no copy."""
    killed = subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, str(path)], check=False)
    assert killed.returncode == -signal.SIGXFSZ
    assert not path.exists()
    keyring.save_new(keyring.generate(), path)
    keyring.load(path)


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o604, 0o660, 0o666, 0o644])
def test_a_file_that_others_can_read_or_anybody_else_can_write_is_refused(
    path: Path, mode: int
) -> None:
    keyring.save_new(keyring.generate(), path)
    path.chmod(mode)
    with pytest.raises(KeyringError, match="chmod 600"):
        keyring.load(path)


@pytest.mark.parametrize("mode", [0o400, 0o440, 0o600, 0o640])
def test_a_file_that_its_group_can_read_is_taken(path: Path, mode: int) -> None:
    """So are secrets mounted for an account that does not own them."""
    keyring.save_new(keyring.generate(), path)
    path.chmod(mode)
    keyring.load(path)


def test_a_missing_file_is_refused_with_what_to_do(path: Path) -> None:
    with pytest.raises(KeyringError, match="Restore it"):
        keyring.load(path)


def test_a_folder_in_its_place_is_refused(path: Path) -> None:
    path.mkdir()
    with pytest.raises(KeyringError, match="cannot be read"):
        keyring.load(path)


def test_a_file_of_a_newer_release_is_refused_as_that(path: Path) -> None:
    content = altered(path, lambda document: document.update(format=3))
    write(path, content)
    with pytest.raises(KeyringError, match="was written by a newer teamvars"):
        keyring.load(path)


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", "7", '"text"', "{}", b"\xff\xfe", '{"format": 1}', "[" * 100_000],
    ids=lambda content: repr(content)[:20],
)
def test_a_file_of_something_else_is_refused_as_damaged(path: Path, content: str | bytes) -> None:
    write(path, content)
    with pytest.raises(KeyringError, match="damaged"):
        keyring.load(path)


@pytest.mark.parametrize("purpose", ["master", "audit"])
@pytest.mark.parametrize(
    "key", [base64.b64encode(b"k" * length).decode() for length in (0, 31, 33)] + ["no!", 7, None]
)
def test_a_key_of_a_wrong_size_or_form_is_refused_as_damage(
    path: Path, purpose: str, key: object
) -> None:
    def change(document: Any) -> None:
        document[purpose]["keys"] = dict.fromkeys(document[purpose]["keys"], key)

    write(path, altered(path, change))
    with pytest.raises(KeyringError, match="damaged"):
        keyring.load(path)


@pytest.mark.parametrize(
    "master",
    [{"active": "mk-unknown"}, {"active": None}, {"active": ["a"]}, {"keys": []}, {"keys": None}],
    ids=repr,
)
def test_a_set_of_keys_without_its_active_one_is_refused_as_damage(
    path: Path, master: dict[str, object]
) -> None:
    write(path, altered(path, lambda document: document["master"].update(master)))
    with pytest.raises(KeyringError, match="damaged"):
        keyring.load(path)


@pytest.mark.parametrize("purpose", ["master", "audit"])
def test_a_file_without_keys_of_a_purpose_is_refused_as_damaged(path: Path, purpose: str) -> None:
    write(path, altered(path, lambda document: document.pop(purpose)))
    with pytest.raises(KeyringError, match="damaged"):
        keyring.load(path)


def test_a_damaged_file_is_not_quoted(path: Path) -> None:
    keys = keyring.generate()
    keyring.save_new(keys, path)
    whole = path.read_text()
    secret = json.loads(whole)["master"]["keys"][keys.master.active]
    assert secret in whole
    write(path, whole[:-20])
    with pytest.raises(KeyringError) as raised:
        keyring.load(path)
    assert secret not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__


def test_two_keyrings_share_neither_keys_nor_ids_nor_check_values() -> None:
    one, other = keyring.generate(), keyring.generate()
    assert not one.checks().keys() & other.checks().keys()
    assert not set(one.checks().values()) & set(other.checks().values())
    keys = [*one.master.keys.values(), *one.audit.keys.values(), *other.master.keys.values()]
    assert len(set(keys)) == 3


def test_a_check_value_says_nothing_of_its_key() -> None:
    keys = keyring.generate()
    for purpose, check in keys.checks().values():
        assert check not in keys.key_sets[purpose].keys.values()


def test_a_key_that_is_added_is_not_in_use_before_it_is_said_to_be(path: Path) -> None:
    keyring.save_new(keys := keyring.generate(), path)
    for purpose in (MASTER, AUDIT, SERVER):
        former, added = keys.key_sets[purpose], keyring.new_key(purpose)
        keys = keyring.change(path, partial(Keyring.holding, purpose=purpose, added=added))
        assert keys.key_sets[purpose].active == former.active
        assert keys.purpose_of(added.active) == purpose
        keys = keyring.change(path, partial(Keyring.using, purpose=purpose, key_id=added.active))
        assert keys.key_sets[purpose].active == added.active
        assert keys.key_sets[purpose].keys == {**former.keys, **added.keys}
    assert keyring.load(path) == keys
    assert keys.purpose_of("mk-unknown") is None


def test_a_keyring_without_a_key_has_all_others() -> None:
    keys, added = keyring.generate(), keyring.new_key(MASTER)
    both = keys.holding(MASTER, added)
    assert both.without(MASTER, added.active) == keys


def test_a_closed_key_stays_and_is_none_that_is_used(path: Path) -> None:
    keyring.save_new(keys := keyring.generate(), path)
    former, added = keys.audit.active, keyring.new_key(AUDIT)
    used = keys.holding(AUDIT, added).using(AUDIT, added.active)
    assert list(used.audit.usable) == [added.active, former]
    assert '"closed"' not in path.read_text()
    keyring.change(path, lambda _: used.closing(AUDIT, former, 7))
    closed = keyring.load(path).audit
    assert (closed.closed, set(closed.keys)) == ({former: 7}, {former, added.active})
    assert closed.usable == added.keys


@pytest.mark.parametrize("closed", [[], {"mk-1": "now"}, {"active": 7}], ids=repr)
def test_keys_that_are_closed_in_no_form_there_is_are_damage(path: Path, closed: object) -> None:
    def change(document: Any) -> None:
        its = document["master"]
        is_active = isinstance(closed, dict) and "active" in closed
        its["closed"] = {its["active"]: 7} if is_active else closed

    write(path, altered(path, change))
    with pytest.raises(KeyringError, match="damaged"):
        keyring.load(path)
