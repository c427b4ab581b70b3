"""The file that a backup is: a tar archive, of which no bit can change unnoticed, or that archive
encrypted to recipients of age; what a SQLite store has at one moment, and what is known of that.

`tar`, `sha256sum -c SHA256SUMS` and `age` read it without this program.
"""

import hashlib
import io
import os
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyrage

from teamvars.domain.audit import Head
from teamvars.domain.backups import Manifest
from teamvars.storage import installation, streams
from teamvars.storage.database import Database, NotReady
from teamvars.storage.engines import schemas, sqlite_files

STORE, HEADS, MANIFEST, SUMS = "store.db", "heads.jsonl", "manifest.json", "SHA256SUMS"
"""The members, in their order."""

_ENCRYPTED = b"age-encryption.org/"
_BLOCK = tarfile.BLOCKSIZE
_PIECE = 1024 * 1024
_END = bytes(2 * _BLOCK)
_MOST_TEXT = 1024 * 1024 * 1024
"""Of bytes of a member that is not the store."""

Known = tuple[Manifest, list[Head]]
"""What a backup says of itself, and where each of its streams stands."""


class BadBackup(Exception):
    """A file is no backup, or not a whole one; the text says which."""


class BadKey(Exception):
    """What a backup should be encrypted to, or opened with, does not serve; the text says why."""


class Content(NamedTuple):
    """What a member has: so many bytes, piece by piece."""

    size: int
    pieces: Iterable[bytes]


def recipient(text: str) -> object:
    """A recipient of age, `age1…` or a public key of SSH. Raises BadKey."""
    kind = pyrage.ssh if text.startswith("ssh-") else pyrage.x25519
    try:
        return kind.Recipient.from_str(text)
    except pyrage.RecipientError:
        raise BadKey("A recipient of age is age1… or ssh-…, and one of these is not.") from None


def identities(text: str) -> list[object]:
    """The identities of a file as age-keygen makes it, or of a private key of SSH. Raises BadKey,
    without what the file has; for a key with a passphrase too, which nobody is asked for.
    """
    lines = [line.strip() for line in text.splitlines()]
    try:
        if any(line.startswith("-----BEGIN ") for line in lines):
            return [pyrage.ssh.Identity.from_buffer(text.encode())]
        secrets = [line for line in lines if line and not line.startswith("#")]
        found: list[object] = [pyrage.x25519.Identity.from_str(line) for line in secrets]
    except pyrage.IdentityError:
        found = []
    if not found:
        raise BadKey("The file of --identity has no identity of age, or one with a passphrase.")
    return found


def write(out: BinaryIO, store: Content, texts: Iterable[bytes], to: Sequence[object]) -> None:
    """Writes the archive of a store with its heads and manifest, which are asked for once the store
    is written, encrypted if it is `to` anybody.

    Raises OSError where it cannot be written, and whatever the store and texts raise.
    """
    pieces = _archived(store, texts)
    if not to:
        out.writelines(pieces)
        return
    source, sink = _Pieces(pieces), _Sink(out)
    try:
        pyrage.encrypt_io(source, sink, to)
    except pyrage.EncryptError as error:
        if str(error).startswith(KeyboardInterrupt.__name__):  # the library asks us for each piece
            raise KeyboardInterrupt from None
        raise source.failure or sink.failure or OSError(None, str(error)) from None
    if sink.failure is not None:
        raise sink.failure


def unpack(source: BinaryIO, folder: Path, by: Sequence[object]) -> None:
    """Puts the members of an archive into a folder, which it checks bit by bit.

    Raises BadBackup, BadKey, OSError where they cannot be written.
    """
    begins = source.read(len(_ENCRYPTED))
    # Not to the start again: it may be a pipe.
    whole = _Pieces(chain([begins], iter(partial(source.read, _PIECE), b"")))
    if begins != _ENCRYPTED:
        _unpack(whole.read, folder)
        return
    if not by:
        raise BadKey("The backup is encrypted with age: say --identity FILE.")
    reading, writing = os.pipe()
    with ThreadPoolExecutor(1) as thread, os.fdopen(reading, "rb") as plain:
        decrypted = thread.submit(_decrypt, whole, writing, by)
        try:
            _unpack(plain.read, folder)
        except BadBackup:
            plain.close()  # so that nobody goes on writing
            decrypted.result()  # knows better
            raise
        decrypted.result()


def _decrypt(source: "_Pieces", writing: int, by: Sequence[object]) -> None:
    with os.fdopen(writing, "wb") as out:
        try:
            pyrage.decrypt_io(source, out, by)
        except pyrage.DecryptError:
            text = (
                "The backup is encrypted, and not to this identity, or its beginning was altered."
            )
            raise BadKey(text) from None
        except BrokenPipeError:
            pass  # what was written so far is no archive, which is said
        except OSError:
            raise BadBackup("The backup was altered or cut short.") from None


class _Pieces(io.RawIOBase):
    """A file to read, of pieces, which knows what was raised: the library says something else."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        super().__init__()
        self._pieces = pieces
        self._left = memoryview(b"")
        self.failure: Exception | None = None

    def read(self, size: int = -1) -> bytes:
        """Some bytes, at most so many; none at the end."""
        while not self._left:
            try:
                piece = next(self._pieces, None)
            except Exception as error:
                self.failure = error
                raise
            if piece is None:
                return b""
            self._left = memoryview(piece)
        taken, self._left = self._left[:size], self._left[size:]
        return bytes(taken)


class _Sink(io.RawIOBase):
    """A file to write, which knows how that failed: the library ignores it of what comes last."""

    def __init__(self, out: BinaryIO) -> None:
        super().__init__()
        self._out = out
        self.failure: OSError | None = None

    def write(self, piece: Any) -> int:
        """Writes all of it."""
        try:
            self._out.write(piece)
        except OSError as error:
            self.failure = error
            raise
        return len(piece)


def _archived(store: Content, texts: Iterable[bytes]) -> Iterator[bytes]:
    sums = b""
    for name, content in _members(store, texts):
        digest = hashlib.sha256()
        yield _header(name, content.size)
        yield from _digested(content.pieces, digest.update)
        yield _padding(content.size)
        sums += _sum(name, digest.hexdigest())
    yield _header(SUMS, len(sums)) + sums + _padding(len(sums)) + _END


def _members(store: Content, texts: Iterable[bytes]) -> Iterator[tuple[str, Content]]:
    yield STORE, store
    for name, text in zip((HEADS, MANIFEST), texts, strict=True):
        yield name, Content(len(text), [text])


def _digested(pieces: Iterable[bytes], update: Callable[[bytes], None]) -> Iterator[bytes]:
    """The pieces, each of which a thread takes while it is used and the next one is read."""
    with ThreadPoolExecutor(1) as thread:
        before = thread.submit(update, b"")
        for piece in pieces:
            before.result()
            before = thread.submit(update, piece)
            yield piece


def _unpack(read: Callable[[int], bytes], folder: Path) -> None:
    sums = b""
    for name in (STORE, HEADS, MANIFEST):
        size = _size(_exactly(read, _BLOCK), name)
        sums += _sum(name, _member(read, size, folder / name))
    if _size(_exactly(read, _BLOCK), SUMS) != len(sums) or _exactly(read, len(sums)) != sums:
        raise BadBackup("The backup was altered: its digests differ.")
    if _exactly(read, len(_padding(len(sums)) + _END)).strip(b"\0") or read(1):
        raise BadBackup("The backup was altered behind its end.")


def _member(read: Callable[[int], bytes], size: int, path: Path) -> str:
    """Writes a member to its place; returns its digest."""
    if path.name != STORE and size > _MOST_TEXT:
        raise BadBackup(f"{path.name} of the backup is too long.")
    digest = hashlib.sha256()
    with path.open("xb") as out:
        pieces = (_exactly(read, min(_PIECE, size - at)) for at in range(0, size, _PIECE))
        out.writelines(_digested(pieces, digest.update))
    if _exactly(read, len(_padding(size))).strip(b"\0"):
        raise BadBackup(f"The backup was altered behind {path.name}.")
    return digest.hexdigest()


def _exactly(read: Callable[[int], bytes], size: int) -> bytes:
    found = b""
    while len(found) < size:
        piece = read(size - len(found))
        if not piece:
            raise BadBackup("The backup was cut short, or is none.")
        found += piece
    return found


def _header(name: str, size: int) -> bytes:
    """That of a file that only its owner reads, of no time: the same bytes for the same content."""
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o600
    return info.tobuf(tarfile.GNU_FORMAT)


def _size(header: bytes, name: str) -> int:
    """How long a member is by its header."""
    try:
        size = tarfile.TarInfo.frombuf(header, "ascii", "strict").size
    except (tarfile.HeaderError, UnicodeDecodeError):
        size = -1
    if size < 0 or header != _header(name, size):
        raise BadBackup(f"This is no backup: it has no {name} where one is expected.")
    return size


def _padding(size: int) -> bytes:
    return bytes(-size % _BLOCK)


def _sum(name: str, digest: str) -> bytes:
    return f"{digest}  {name}\n".encode()


@contextmanager
def taken(source: Path, release: str) -> Iterator[tuple[Content, Callable[[], Known]]]:
    """What a SQLite store has now, to be read once, while what is known of it is looked up; that is
    there once somebody asks. Raises NotReady where there is no store, OSError.
    """
    with sqlite_files.taken(source) as snapshot, ThreadPoolExecutor(1) as thread:
        made_at = datetime.now(UTC).isoformat(timespec="seconds")
        number = max(snapshot.read(schemas.schema), default=0)
        if not number:
            raise NotReady("There is no store yet, and nothing to back up.")

        def look() -> Known:
            lineage = snapshot.read(installation.find_lineage)
            manifest = Manifest(made_at, release, number, lineage, snapshot.rows())
            return manifest, snapshot.read(streams.heads)

        known = thread.submit(look)
        try:
            yield Content(snapshot.size, snapshot.pieces()), known.result
        finally:
            snapshot.interrupt()


async def heads(database: Database) -> list[Head]:
    """Where each stream of a store stands now."""
    return await database.read(streams.heads)


def lines(heads: Iterable[Head]) -> bytes:
    """Heads as `audit head` prints them."""
    return "".join(f"{one.line}\n" for one in heads).encode()
