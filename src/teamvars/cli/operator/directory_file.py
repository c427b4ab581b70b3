"""The directory file: from YAML to `Directory`, with file and line for every fault."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import ReaderError

from teamvars.domain.directory import (
    FILE_ACCESS,
    Directory,
    OrganizationEntry,
    TeamEntry,
    UserEntry,
)
from teamvars.domain.former_names import Origin
from teamvars.domain.memberships import Status
from teamvars.domain.names import (
    EMAIL_RULE,
    NAME_RULE,
    TEAM_NAME_RULE,
    USERNAME_RULE,
    fold,
    is_email,
    is_name,
    is_team_name,
    is_username,
)
from teamvars.domain.teams import OWNERS, Visibility

T = TypeVar("T")
_ACCESS = {access.value: access for access in FILE_ACCESS}
_STATUS = {status.value: status for status in Status}
_VISIBILITY = {visibility.value: visibility for visibility in Visibility}
_BOOLEANS = {"true": True, "false": False}
_ORIGIN_KEYS = {"former-name", "new"}
_TEAM_KEYS = {
    *_ORIGIN_KEYS,
    "name",
    "visibility",
    "manage-membership",
    "members-manage-token",
    "members",
    "workspaces",
}


class _Workspace(NamedTuple):
    """A workspace that the file names, how it came by its name, and where that stands."""

    name: str
    origin: Origin
    at: str


class FileFaults(Exception):
    """Everything that is wrong with the file, a line each."""


def read(path: Path) -> Directory:
    """The directory a file describes; `-` is standard input. Raises FileFaults."""
    root = _compose(path)
    reader = _Reader(path)
    directory = Directory() if root is None else reader.directory(root)
    if reader.faults:
        raise FileFaults("\n".join(reader.faults))
    return directory


def _compose(path: Path) -> Node | None:
    try:
        content = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise FileFaults(f"{path}: {error.strerror}") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileFaults(f"{path}:{line}: this is not UTF-8") from None
    try:
        root: Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise FileFaults(f"{path}:{line}: this character has no place in YAML") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 1 if mark is None else mark.line + 1
        raise FileFaults(f"{path}:{line}: this is not YAML: {error.problem}") from None
    except RecursionError:
        raise FileFaults(f"{path}:1: this is nested too deep") from None
    return root


class _Reader:
    """Walks the nodes of one file; a faulty one is noted and left out."""

    def __init__(self, path: Path) -> None:
        self.faults: list[str] = []
        self._path = path

    def directory(self, node: Node) -> Directory:
        """The whole file."""
        members = self._mapping(node, {"users", "organizations"})
        return Directory(
            tuple(self._named_items(members.get("users"), self._user, "username")),
            tuple(self._named_items(members.get("organizations"), self._organization, "name")),
        )

    def _user(self, node: Node) -> UserEntry | None:
        members = self._mapping(node, {"username", "email", "site-admin"})
        username = self._required(node, members, "username", self._username)
        email = self._optional(members, "email", self._email)
        site_admin = self._optional(members, "site-admin", self._one_of(_BOOLEANS))
        return None if username is None else UserEntry(username, email, site_admin, self._at(node))

    def _organization(self, node: Node) -> OrganizationEntry | None:
        members = self._mapping(node, {"name", "members", "workspaces", "teams", *_ORIGIN_KEYS})
        name = self._required(node, members, "name", self._name)
        origin = self._origin(members, self._name)
        people = self._pairs(members.get("members"), self._username, self._one_of(_STATUS))
        items = map(self._workspace, self._items(members.get("workspaces")) or ())
        spaces = {fold(space.name): space for space in items if space is not None}.values()
        teams = self._named_items(members.get("teams"), self._team, "name")
        if name is None:
            return None
        return OrganizationEntry(
            name,
            people or {},
            tuple(space.name for space in spaces),
            tuple(teams),
            at=self._at(node),
            member_at=self._places(members.get("members")),
            workspace_at={space.name: space.at for space in spaces},
            origin=origin,
            origins={space.name: space.origin for space in spaces},
        )

    def _workspace(self, node: Node) -> _Workspace | None:
        """A name, or a mapping that says where it comes from."""
        if isinstance(node, ScalarNode):
            named = self._name(node)
            return None if named is None else _Workspace(named, Origin(), self._at(node))
        members = self._mapping(node, {"name", *_ORIGIN_KEYS})
        name = self._required(node, members, "name", self._name)
        origin = self._origin(members, self._name)
        return None if name is None else _Workspace(name, origin, self._at(node))

    def _origin(
        self, members: Mapping[str, Node], read_name: Callable[[Node], str | None]
    ) -> Origin:
        former = self._optional(members, "former-name", read_name)
        new = self._optional(members, "new", self._one_of(_BOOLEANS))
        if former is not None and new:
            self._fault(members["new"], "something with a 'former-name' cannot be 'new'")
        return Origin(former, bool(new))

    def _team(self, node: Node) -> TeamEntry | None:
        members = self._mapping(node, _TEAM_KEYS)
        name = self._required(node, members, "name", self._team_name)
        if name is not None and fold(name) == OWNERS and "workspaces" in members:
            self._fault(members["workspaces"], "owners may do everything; they take no grants")
        origin = self._origin(members, self._team_name)
        if origin.former_name is not None and OWNERS in map(fold, (name or "", origin.former_name)):
            self._fault(members["former-name"], "owners keeps its name, and nothing else gets it")
        visibility = self._optional(members, "visibility", self._one_of(_VISIBILITY))
        manages = self._optional(members, "manage-membership", self._one_of(_BOOLEANS))
        tokens = self._optional(members, "members-manage-token", self._one_of(_BOOLEANS))
        people = self._distinct(members.get("members"), self._username)
        grants = self._pairs(members.get("workspaces"), self._name, self._one_of(_ACCESS))
        if name is None:
            return None
        return TeamEntry(
            name,
            visibility,
            manages,
            tokens,
            people,
            grants,
            at=self._at(node),
            member_at=self._places(members.get("members")),
            workspace_at=self._places(members.get("workspaces")),
            origin=origin,
        )

    def _named_items(
        self, node: Node | None, read: Callable[[Node], T | None], key: str
    ) -> list[T]:
        """The items of a list; two may not have the same name."""
        items: dict[str, T] = {}
        for item in self._items(node) or ():
            entry = read(item)
            if entry is None:
                continue
            name = getattr(entry, key)
            if fold(name) in items:
                self._fault(item, f"{name} is given twice")
            items[fold(name)] = entry
        return list(items.values())

    def _distinct(
        self, node: Node | None, read: Callable[[Node], str | None]
    ) -> tuple[str, ...] | None:
        """A list of names, each once; None where there is no list."""
        items = self._items(node)
        if items is None:
            return None
        names = {fold(name): name for item in items if (name := read(item)) is not None}
        return tuple(names.values())

    def _pairs(
        self,
        node: Node | None,
        read_key: Callable[[Node], str | None],
        read_value: Callable[[Node], T | None],
    ) -> Mapping[str, T] | None:
        """A mapping of names; None where there is none."""
        if node is None:
            return None
        if not isinstance(node, MappingNode):
            self._fault(node, "this must be a mapping")
            return None
        pairs: dict[str, T] = {}
        folded = set()
        for key_node, value_node in node.value:
            key, value = read_key(key_node), read_value(value_node)
            if key is None or value is None:
                continue
            if fold(key) in folded:
                self._fault(key_node, f"{key} is given twice")
            folded.add(fold(key))
            pairs[key] = value
        return pairs

    def _places(self, node: Node | None) -> Mapping[str, str]:
        """Where each name of a list or mapping stands."""
        names = [pair[0] for pair in node.value] if isinstance(node, MappingNode) else []
        names += node.value if isinstance(node, SequenceNode) else []
        return {name.value: self._at(name) for name in names if isinstance(name, ScalarNode)}

    def _mapping(self, node: Node, known: set[str]) -> dict[str, Node]:
        """The members of a mapping; unknown ones are faults."""
        if not isinstance(node, MappingNode):
            self._fault(node, "this must be a mapping")
            return {}
        members: dict[str, Node] = {}
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, ScalarNode) else ""
            if key not in known:
                self._fault(key_node, f"unknown key '{key}'; known: {', '.join(sorted(known))}")
            elif key in members:
                self._fault(key_node, f"'{key}' is given twice")
            members[key] = value_node
        return members

    def _items(self, node: Node | None) -> list[Node] | None:
        if node is None:
            return None
        if not isinstance(node, SequenceNode):
            self._fault(node, "this must be a list")
            return None
        items: list[Node] = node.value
        return items

    def _required(
        self,
        parent: Node,
        members: Mapping[str, Node],
        key: str,
        read: Callable[[Node], T | None],
    ) -> T | None:
        if key in members:
            return read(members[key])
        if isinstance(parent, MappingNode):
            self._fault(parent, f"'{key}' is missing")
        return None

    def _optional(
        self, members: Mapping[str, Node], key: str, read: Callable[[Node], T | None]
    ) -> T | None:
        return read(members[key]) if key in members else None

    def _one_of(self, words: Mapping[str, T]) -> Callable[[Node], T | None]:
        def read(node: Node) -> T | None:
            text: str = node.value if isinstance(node, ScalarNode) else ""
            if text not in words:
                self._fault(node, f"this must be {' or '.join(words)}")
                return None
            return words[text]

        return read

    def _name(self, node: Node) -> str | None:
        return self._text(node, is_name, f"a name has {NAME_RULE}")

    def _team_name(self, node: Node) -> str | None:
        return self._text(node, is_team_name, f"the name of a team has {TEAM_NAME_RULE}")

    def _username(self, node: Node) -> str | None:
        return self._text(node, is_username, f"a user name has {USERNAME_RULE}")

    def _email(self, node: Node) -> str | None:
        return self._text(node, is_email, f"this must be {EMAIL_RULE}")

    def _text(self, node: Node, holds: Callable[[str], bool], rule: str) -> str | None:
        if not isinstance(node, ScalarNode) or not holds(node.value):
            self._fault(node, rule)
            return None
        text: str = node.value
        return text

    def _fault(self, node: Node, text: str) -> None:
        self.faults.append(f"{self._at(node)}: {text}")

    def _at(self, node: Node) -> str:
        return f"{self._path}:{node.start_mark.line + 1}"
