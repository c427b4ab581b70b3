"""`.teamvars/link.toml`: what a folder says of the service, organization and workspace it is for.

A folder may be anybody's: a repository that was cloned, an archive that was unpacked. So a link
counts only while it is, byte for byte, one that this user made or approved.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from teamvars.cli import named
from teamvars.cli.client.api import accounts
from teamvars.cli.client.api.accounts import Settings
from teamvars.cli.client.api.addresses import address
from teamvars.cli.exits import Failure, Misuse
from teamvars.domain.names import NAME_RULE, is_name

FOLDER, FILE = ".teamvars", "link.toml"
_MOST_BYTES = 4096
_NO_LINKS = (errno.ELOOP, errno.ENOTDIR)


class Link(msgspec.Struct, frozen=True):
    """A link file and what it says; `content` is what its approval is about."""

    path: Path
    content: bytes
    address: str | None = None
    organization: str | None = None
    workspace: str | None = None

    @property
    def is_trusted(self) -> bool:
        """Whether this user made or approved exactly this."""
        return accounts.read(Settings).links.get(str(self.path)) == _digest(self.content)

    @property
    def words(self) -> dict[str, str]:
        """What it says, by name."""
        told = {name: getattr(self, name) for name in _NAMES}
        return {name: value for name, value in told.items() if value is not None}


_NAMES = ("address", "organization", "workspace")


def find() -> Link | None:
    """The nearest link of the current folder and those above it, trusted or not.

    It is not looked for above the root of a repository, nor in folders of other owners. Fails where
    it is no link, such as one that is huge, is reached through a symbolic link or has other names.
    """
    for folder in _folders():
        path = folder / FOLDER / FILE
        content = _read(path)
        if content is not None:
            return _parsed(path, content)
    return None


def find_trusted() -> Link | None:
    """The same; fails unless the user made or approved it."""
    link = find()
    if link is None or link.is_trusted:
        return link
    known = str(link.path) in accounts.read(Settings).links
    reason = "has changed since you approved it" if known else "was not made or approved by you"
    raise Misuse(
        f"The link {link.path} {reason}, so nothing was done. "
        "To see and approve it: teamvars link --trust"
    )


def trust(link: Link) -> None:
    """Approves the link as it was read, so that nothing counts that the user was not shown."""
    accounts.change(
        Settings, lambda settings: settings.links.update({str(link.path): _digest(link.content)})
    )


def write(folder: Path, words: dict[str, str]) -> Link:
    """Makes the link of a folder, or another in its place, and approves it."""
    path = folder / FOLDER / FILE
    if not _is_own(folder):
        raise Misuse(f"{folder} is another user's, and no link is looked for there.")
    # What a value may be in TOML it may be in JSON, as long as it is a name or an address.
    lines = [f"{name} = {msgspec.json.encode(value).decode()}\n" for name, value in words.items()]
    link = _parsed(path, "".join(lines).encode())
    try:
        path.parent.mkdir(exist_ok=True)
        _read(path)  # fails where a symbolic link leads elsewhere
        new = path.with_name(f".{FILE}.{os.getpid()}")
        new.unlink(missing_ok=True)
        try:
            with new.open("xb") as file:
                file.write(link.content)
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error.strerror}.") from None
    trust(link)
    return link


def remove(link: Link) -> None:
    """Removes a link and its approval."""
    try:
        link.path.unlink(missing_ok=True)
        if not any(link.path.parent.iterdir()):
            link.path.parent.rmdir()
    except OSError as error:
        raise Failure(f"{link.path} cannot be removed: {error.strerror}.") from None
    accounts.change(Settings, lambda settings: settings.links.pop(str(link.path), None))


def _folders() -> Iterator[Path]:
    try:
        current = Path.cwd()  # without symbolic links
    except OSError:
        return
    for folder in (current, *current.parents):
        if not _is_own(folder):
            return
        yield folder
        if os.path.lexists(folder / ".git"):  # a file in worktrees and submodules
            return


def _is_own(folder: Path) -> bool:
    try:
        return folder.stat().st_uid == os.geteuid()
    except OSError:
        return False


def _read(path: Path) -> bytes | None:
    """A link's bytes; None where there is none, or where it is another owner's."""
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        _require_absent(path.parent, error)
        return None
    try:
        # Without waiting: a pipe in its place would never end.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(path.name, flags, dir_fd=folder)
        owner = os.fstat(folder).st_uid
    except OSError as error:
        _require_absent(path, error)
        return None
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _is_none(path, "is no regular file")
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_MOST_BYTES + 1) if owner == os.geteuid() else None


def _require_absent(path: Path, error: OSError) -> None:
    if error.errno in _NO_LINKS and path.is_symlink():
        raise _is_none(path, "is a symbolic link, which is not followed")
    if error.errno not in (errno.ENOENT, errno.ENOTDIR):
        raise _is_none(path, f"cannot be read ({error.strerror})")


def _parsed(path: Path, content: bytes) -> Link:
    if len(content) > _MOST_BYTES:
        raise _is_none(path, f"has more than {_MOST_BYTES} bytes")
    try:
        # Only here: what reads TOML takes a while to load.
        words = named("tomllib:loads")(content.decode())
    except (ValueError, RecursionError):
        raise _is_none(path, "is not TOML") from None
    return Link(path, content, **_checked(path, words))


def _checked(path: Path, words: dict[str, Any]) -> dict[str, str]:
    if not words or not words.keys() <= set(_NAMES):
        raise _is_none(path, f"has other names than {', '.join(_NAMES)}, or none of these")
    for name, value in words.items():
        if not isinstance(value, str):
            raise _is_none(path, f"has an {name} that is no text")
        if name == "address":
            words[name] = str(address(value, f"the link {path}"))
        elif not is_name(value):
            raise _is_none(path, f"has an {name} that is none ({NAME_RULE})")
    return words


def _is_none(path: Path, reason: str) -> Failure:
    return Misuse(f"{path} {reason}. Look at it and remove it, or make another: teamvars link")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
