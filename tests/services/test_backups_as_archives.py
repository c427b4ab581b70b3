"""The file of a backup: nothing in it changes unnoticed, and others' tools read it."""

import errno
import io
import json
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pyrage
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from teamvars.services import backups
from teamvars.services.backups import BadBackup, BadKey, Content

STORE = bytes(range(256)) * 3
TEXTS = b'{"stream": "system"}\n', b'{"release":"1"}\n'


def archive(*to: object, store: bytes = STORE) -> bytes:
    backups.write(out := io.BytesIO(), content(store), TEXTS, to)
    return out.getvalue()


def content(store: bytes = STORE) -> Content:
    half = len(store) // 2
    return Content(len(store), [store[:half], store[half:]])


def archive_of(texts: tuple[bytes, bytes]) -> bytes:
    backups.write(out := io.BytesIO(), content(), texts, ())
    return out.getvalue()


def unpacked(whole: bytes, folder: Path, *by: object) -> list[bytes]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    backups.unpack(io.BytesIO(whole), folder, by)
    return [(folder / name).read_bytes() for name in ("store.db", "heads.jsonl", "manifest.json")]


def test_what_was_written_is_read_and_the_same_content_is_the_same_file(tmp_path: Path) -> None:
    whole = archive()
    assert unpacked(whole, tmp_path / "out") == [STORE, *TEXTS]
    assert archive() == whole


@pytest.mark.parametrize("is_encrypted", [False, True])
def test_an_archive_is_read_from_a_pipe(tmp_path: Path, is_encrypted: bool) -> None:
    identity = pyrage.x25519.Identity.generate()
    whole = archive(*([identity.to_public()] if is_encrypted else []))
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as cat:
        assert cat.stdin is not None
        assert cat.stdout is not None
        cat.stdin.write(whole)  # which has room in it
        cat.stdin.close()
        backups.unpack(cat.stdout, tmp_path, [identity])  # type: ignore[arg-type]
    names = ("store.db", "heads.jsonl", "manifest.json")
    assert [(tmp_path / name).read_bytes() for name in names] == [STORE, *TEXTS]


def test_a_bit_that_changed_anywhere_is_found(tmp_path: Path) -> None:
    whole = archive()
    for place in range(len(whole)):
        altered = bytearray(whole)
        altered[place] ^= 1 << place % 8
        with pytest.raises(BadBackup):
            unpacked(bytes(altered), tmp_path / "out")


def test_what_was_cut_short_or_goes_on_behind_its_end_is_found(tmp_path: Path) -> None:
    whole = archive()
    for length in range(0, len(whole), 100):
        with pytest.raises(BadBackup):
            unpacked(whole[:length], tmp_path / "out")
    with pytest.raises(BadBackup):
        unpacked(whole + b"\0", tmp_path / "out")


def test_members_that_changed_places_with_their_digests_are_found(tmp_path: Path) -> None:
    other, whole, head = archive(store=STORE[::-1]), archive(), 512 + len(STORE)
    with pytest.raises(BadBackup, match="digests differ"):
        unpacked(whole[:512] + other[512:head] + whole[head:], tmp_path / "out")


def test_an_encrypted_one_is_read_by_its_recipients_alone(tmp_path: Path) -> None:
    first, second, stranger = (pyrage.x25519.Identity.generate() for _ in range(3))
    to = [backups.recipient(str(one.to_public())) for one in (first, second)]
    whole = archive(*to)
    assert TEXTS[1] not in whole
    for one in (first, second):
        file = f"# created: today\n# public key: {one.to_public()}\n\n {one}\n\n"
        assert unpacked(whole, tmp_path / "out", *backups.identities(file)) == [STORE, *TEXTS]
    with pytest.raises(BadKey, match="not to this identity"):
        unpacked(whole, tmp_path / "out", stranger)
    with pytest.raises(BadKey, match="--identity"):
        unpacked(whole, tmp_path / "out")


def test_an_encrypted_one_is_read_by_a_key_of_ssh(tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    whole = archive(backups.recipient(public))
    assert unpacked(whole, tmp_path / "out", *backups.identities(private)) == [STORE, *TEXTS]


def test_a_text_may_be_empty_and_not_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert unpacked(archive_of((b"", b"{}")), tmp_path / "out") == [STORE, b"", b"{}"]
    monkeypatch.setattr(backups, "_MOST_TEXT", 10)
    assert unpacked(archive_of((b"x" * 10, b"{}")), tmp_path / "out")[1] == b"x" * 10
    with pytest.raises(BadBackup, match="backup is too long"):
        unpacked(archive_of((b"x" * 11, b"{}")), tmp_path / "out")


@pytest.mark.parametrize("what", [{"size": -1}, {"mode": 0o644}, {"mtime": 1}, {"name": "other"}])
def test_a_member_that_is_not_as_we_write_it_is_none(tmp_path: Path, what: dict[str, int]) -> None:
    info = tarfile.TarInfo("store.db")
    info.size, info.mode = len(STORE), 0o600
    for name, value in what.items():
        setattr(info, name, value)
    whole = archive()
    with pytest.raises(BadBackup, match=r"it has no store\.db"):
        unpacked(info.tobuf(tarfile.GNU_FORMAT) + whole[512:], tmp_path / "out")


def test_a_bit_that_changed_in_an_encrypted_one_is_found(tmp_path: Path) -> None:
    identity = pyrage.x25519.Identity.generate()
    whole = archive(identity.to_public())
    for place in range(0, len(whole), 7):
        altered = bytearray(whole)
        altered[place] ^= 1 << place % 8
        with pytest.raises((BadBackup, BadKey)):
            unpacked(bytes(altered), tmp_path / "out", identity)
    for length in range(0, len(whole), 100):
        with pytest.raises((BadBackup, BadKey)):
            unpacked(whole[:length], tmp_path / "out", identity)


@pytest.mark.parametrize("text", ["age1nobody", "AGE-SECRET-KEY-1", "ssh-rsa", "ssh-ed25519 AAAA"])
def test_what_is_no_key_is_said_without_it(text: str) -> None:
    with pytest.raises(BadKey) as refused:
        backups.recipient(text)
    assert text not in str(refused.value)
    for file in (text, f"# nothing but {text}", f"-----BEGIN OPENSSH PRIVATE KEY-----{text}"):
        with pytest.raises(BadKey) as refused:
            backups.identities(file)
        assert text not in str(refused.value)


@pytest.mark.parametrize("times", [1, 2000])
def test_a_disk_that_is_full_says_so(times: int) -> None:
    identity = pyrage.x25519.Identity.generate()
    for to in ([], [identity.to_public()]):
        with (
            Path("/dev/full").open("wb", buffering=0) as full,
            pytest.raises(OSError, match="space") as refused,
        ):
            backups.write(full, content(STORE * times), TEXTS, to)
        assert refused.value.errno == errno.ENOSPC


def test_what_reading_the_store_has_raised_is_said() -> None:
    def pieces() -> Iterator[bytes]:
        yield STORE
        raise OSError(errno.EIO, "it cannot be read")

    identity = pyrage.x25519.Identity.generate()
    for to in ([], [identity.to_public()]):
        with pytest.raises(OSError, match="it cannot be read") as refused:
            backups.write(io.BytesIO(), Content(2 * len(STORE), pieces()), TEXTS, to)
        assert refused.value.errno == errno.EIO


def test_ctrl_c_ends_what_is_being_encrypted() -> None:
    def interrupted() -> Iterator[bytes]:
        yield b"some"
        raise KeyboardInterrupt

    to = pyrage.x25519.Identity.generate().to_public()
    with pytest.raises(KeyboardInterrupt):
        backups.write(io.BytesIO(), Content(2**20, interrupted()), (b"", b""), [to])


def test_whatever_keeps_one_from_being_encrypted_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise pyrage.EncryptError("it is the full moon")

    monkeypatch.setattr(pyrage, "encrypt_io", refuse)
    with pytest.raises(OSError, match="full moon"):
        archive(pyrage.x25519.Identity.generate().to_public())


def test_tar_and_sha256sum_read_it(tmp_path: Path) -> None:
    (tmp_path / "backup.tar").write_bytes(archive())
    (folder := tmp_path / "out").mkdir()
    subprocess.run(["/bin/tar", "xf", tmp_path / "backup.tar", "-C", folder], check=True)
    subprocess.run(
        ["/usr/bin/sha256sum", "--check", "--strict", "SHA256SUMS"], check=True, cwd=folder
    )
    assert json.loads((folder / "manifest.json").read_text()) == {"release": "1"}
    assert (folder / "store.db").stat().st_mode & 0o777 == 0o600
