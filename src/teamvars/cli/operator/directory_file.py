"""The directory file: YAML, with file and line for every fault."""

import re
import sys
from collections.abc import Callable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import ReaderError

from teamvars.cli.exits import INVALID, Failure
from teamvars.domain import tags, variable_sets
from teamvars.domain.access import Level
from teamvars.domain.directory import (
    FILE_ACCESS,
    Directory,
    OrganizationEntry,
    ProjectAccess,
    ProjectEntry,
    RunnerEntry,
    SetEntry,
    TagsEntry,
    TeamEntry,
    UserEntry,
)
from teamvars.domain.memberships import Status
from teamvars.domain.names import (
    EMAIL_RULE,
    NAME_RULE,
    PROJECT_NAME_RULE,
    TEAM_NAME_RULE,
    USERNAME_RULE,
    Origin,
    escaped,
    fold,
    is_email,
    is_name,
    is_project_name,
    is_safe,
    is_team_name,
    is_username,
)
from teamvars.domain.project_grants import (
    IN_PROJECT,
    IN_WORKSPACES,
    PERMISSIONS,
    PERMISSIONS_OF,
    VARIABLES,
    ProjectAccessType,
    ProjectGrant,
    ProjectGrantDraft,
)
from teamvars.domain.teams import OWNERS, Right, Visibility
from teamvars.domain.times import moment, timestamp

_TEAM_KEYS = (
    "name",
    "visibility",
    *(right.value for right in Right),
    "members-manage-token",
    "members",
    "workspaces",
)
_TAG_KEYS = "tag-names", "tag-bindings"
_SET_KEYS = "project", "description", "global", "priority", "workspaces", "projects"
_FLAGS = {"global": "is_global", "priority": "is_priority"}
_MOST_DIGITS = 9
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_RUNNER_KEYS = (
    "name",
    "description",
    "issuer",
    "conditions",
    "public-key",
    "workspaces",
    "patterns",
    "include-sensitive",
    "allow-unbound",
    "max-ttl",
)


_NOTHING = ProjectGrant("", "", "", "", ProjectAccessType.CUSTOM, Level.NONE)
"""Access to a project that permits nothing."""


def document(directory: Directory) -> dict[str, Any]:
    """What the file says, in its order."""
    return {
        "users": [
            {**_said(entry, "username", "email"), "site-admin": bool(entry.site_admin)}
            for entry in directory.users
        ],
        "organizations": [
            {
                **_said(entry, "name", "members"),
                **({"projects": [*map(_project, entry.projects)]} if entry.projects else {}),
                "workspaces": [_workspace(name, entry) for name in entry.workspaces],
                "teams": [_team(team) for team in entry.teams],
                **({"runners": [*map(_runner, entry.runners)]} if entry.runners else {}),
                **_sets(entry),
            }
            for entry in directory.organizations
        ],
    }


def _project(entry: ProjectEntry) -> str | dict[str, Any]:
    """Its name alone, unless more is to be said."""
    more = _said(entry.origin, "former-name") | _said(entry, "tag-bindings")
    return {"name": entry.name, **more} if more else entry.name


def _workspace(name: str, entry: OrganizationEntry) -> str | dict[str, Any]:
    """Its name alone, unless more is to be said."""
    project = {"project": entry.placed[name]} if name in entry.placed else {}
    more = project | _said(entry.tags.get(name, TagsEntry()), *_TAG_KEYS)
    return {"name": name, **more} if more else name


def _team(entry: TeamEntry) -> dict[str, Any]:
    granted = entry.projects
    projects = {} if granted is None else {"projects": {n: _access(granted[n]) for n in granted}}
    return {**_said(entry, *_TEAM_KEYS), **projects}


def _access(said: ProjectAccess) -> str | dict[str, Any]:
    """Its name or, where it is custom, what is not as it is unless said."""
    if said.access is not ProjectAccessType.CUSTOM:
        return said.access.value
    members = {**said.custom, VARIABLES: said.level.word}
    groups: dict[str, dict[str, Any]] = {}
    for name in sorted(members):
        group, _, key = name.partition("/")
        groups.setdefault(group, {})[key] = members[name]
    return groups


def _runner(entry: RunnerEntry) -> dict[str, Any]:
    ends = moment(entry.expired_at)
    written = None if ends is None else ends.replace(tzinfo=None).isoformat() + "Z"
    return {**_said(entry, *_RUNNER_KEYS), **({"expired-at": written} if written else {})}


def _sets(entry: OrganizationEntry) -> dict[str, Any]:
    sets = [_said(one, "name", *_SET_KEYS) for one in entry.variable_sets]
    return {"variable-sets": sets} if sets else {}


def _said(entry: msgspec.Struct, *keys: str) -> dict[str, Any]:
    """What an entry says under these keys; those of which it does not speak are left out."""
    plain = msgspec.json.decode(msgspec.json.encode(entry))
    return {key: found for key in keys if (found := plain[_field(key)]) is not None}


def _field(key: str) -> str:
    """The field of an entry that a key of the file stands for."""
    return _FLAGS.get(key) or key.replace("-", "_")


def read(path: Path) -> Directory:
    """The directory a file describes; `-` is standard input. Fails with a line for every fault."""
    root = _compose(path)
    reader = _Reader(path)
    directory = Directory() if root is None else reader.directory(root)
    if reader.faults:
        raise Failure("\n".join(reader.faults), INVALID)
    return directory


def _compose(path: Path) -> Node | None:
    try:
        content = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}", INVALID) from None
    line, text = 1, ""
    try:
        text = content.decode("utf-8-sig")
        root: Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except UnicodeDecodeError as error:
        line += content.count(b"\n", 0, error.start)
        fault = "this is not UTF-8"
    except ReaderError as error:
        line += text.count("\n", 0, error.position)
        fault = "this character has no place in YAML"
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line += mark.line if mark else 0
        fault = f"this is not YAML: {error.problem}"
    except RecursionError:
        fault = "this is nested too deep"
    else:
        return root
    raise Failure(f"{path}:{line}: {fault}", INVALID)


Read = Callable[[Node], Any]
"""Reads a node. Of one at fault it returns None, once that is noted."""


class _Workspace(NamedTuple):
    """A workspace that the file names, how it came by its name, its tags, in which project it is,
    and where it stands.
    """

    name: str
    origin: Origin
    tags: TagsEntry
    project: str | None
    at: str


class _Reader:
    """Walks the nodes of one file; a faulty one is noted and left out."""

    def __init__(self, path: Path) -> None:
        self.faults: list[str] = []
        self._path = path
        self._name = self._text(is_name, f"a name has {NAME_RULE}")
        self._username = self._text(is_username, f"a user name has {USERNAME_RULE}")
        rule = f"the name of a team has {TEAM_NAME_RULE}"
        self._team_name = self._text(is_team_name, rule)
        rule = f"the name of a project has {PROJECT_NAME_RULE}"
        self._project_name = self._text(is_project_name, rule)
        self._boolean = self._one_of({"true": True, "false": False})
        status = self._one_of({one.value: one for one in Status})
        access = self._one_of({one.value: one for one in FILE_ACCESS})
        name = attrgetter("name")
        self._file = {
            "users": self._each(self._user, attrgetter("username"), once=True),
            "organizations": self._each(self._organization, name, once=True),
        }
        self._of_user = {
            "email": self._text(is_email, f"this must be {EMAIL_RULE}"),
            "site-admin": self._boolean,
        }
        self._of_organization = {
            "members": self._pairs(self._username, status),
            "projects": self._each(self._project, name, once=True),
            "workspaces": self._each(self._workspace, name, once=True),
            "teams": self._each(self._team, name, once=True),
            "runners": self._each(self._runner, name, once=True),
            "variable-sets": self._each(self._set, name, once=True),
        }
        tag_key = self._text(tags.KEY.fullmatch, tags.KEY_RULE)
        tag_value = self._text(tags.VALUE.fullmatch, tags.VALUE_RULE)
        self._of_project = {"tag-bindings": self._pairs(tag_key, tag_value, same=str)}
        self._of_workspace = {
            "project": self._project_name,
            "tag-names": self._each(self._text(tags.NAME.fullmatch, tags.NAME_RULE)),
            **self._of_project,
        }
        self._of_team = {
            "visibility": self._one_of({one.value: one for one in Visibility}),
            **{right.value: self._boolean for right in Right},
            "members-manage-token": self._boolean,
            "members": self._each(self._username),
            "workspaces": self._pairs(self._name, access),
            "projects": self._pairs(self._project_name, self._access),
        }
        self._access_type = self._one_of({one.value: one for one in PERMISSIONS_OF})
        word = self._text(str.isascii, "this must be a word")
        self._permissions: dict[str, Read] = {VARIABLES: word}
        for one in PERMISSIONS.by_name.values():
            self._permissions[one.name] = self._boolean if one.default is False else word
        rule = f"the name of a variable set has {variable_sets.NAME_RULE}"
        self._set_name = self._text(variable_sets.is_set_name, rule)
        length = f"at most {variable_sets.MAX_DESCRIPTION_CHARACTERS} characters"
        self._of_set = {
            "project": self._project_name,
            "description": self._text(_is_description, f"a description has {length}, and no NUL"),
            "global": self._boolean,
            "priority": self._boolean,
            "workspaces": self._each(self._name),
            "projects": self._each(self._project_name),
        }
        text = self._text(is_safe, "this must be a text on one line")
        self._of_runner = {
            "description": text,
            "issuer": text,
            "conditions": self._pairs(text, text),
            "public-key": text,
            "workspaces": self._each(self._name),
            "patterns": self._each(text),
            "include-sensitive": self._boolean,
            "allow-unbound": self._boolean,
            "max-ttl": self._said_as(_seconds, "this must be a number of seconds"),
            "expired-at": self._said_as(
                timestamp, "this must be a time with a zone, such as 2026-12-31T00:00:00Z"
            ),
        }

    def directory(self, node: Node) -> Directory:
        """The whole file."""
        return Directory(**self._values(self._mapping(node, *self._file), self._file))

    def _user(self, node: Node) -> UserEntry | None:
        members = self._mapping(node, "username", *self._of_user)
        username = self._required(node, members, "username", self._username)
        said = self._values(members, self._of_user)
        return None if username is None else UserEntry(username, **said, at=self._at(node))

    def _organization(self, node: Node) -> OrganizationEntry | None:
        members, name, said = self._named(node, self._name, self._of_organization)
        workspaces: tuple[_Workspace, ...] = said.pop("workspaces", None) or ()
        if name is None:
            return None
        return OrganizationEntry(
            name,
            **said,
            workspaces=tuple(one.name for one in workspaces),
            at=self._at(node),
            member_at=self._places(members.get("members")),
            workspace_at={one.name: one.at for one in workspaces},
            origins={one.name: one.origin for one in workspaces},
            tags={one.name: one.tags for one in workspaces if one.tags != TagsEntry()},
            placed={one.name: one.project for one in workspaces if one.project is not None},
        )

    def _project(self, node: Node) -> ProjectEntry | None:
        """A name, or a mapping that says where it comes from, and its tags."""
        name, said = self._named_alone(node, self._project_name, self._of_project)
        return None if name is None else ProjectEntry(name, **said, at=self._at(node))

    def _workspace(self, node: Node) -> _Workspace | None:
        """A name, or a mapping that says where it comes from, its tags and its project."""
        name, said = self._named_alone(node, self._name, self._of_workspace)
        origin, project = said.pop("origin", Origin()), said.pop("project", None)
        place = project, self._at(node)
        return None if name is None else _Workspace(name, origin, TagsEntry(**said), *place)

    def _team(self, node: Node) -> TeamEntry | None:
        members, name, said = self._named(node, self._team_name, self._of_team)
        folded, former = fold(name or ""), said["origin"].former_name
        for key in ("workspaces", "projects"):
            if folded == OWNERS and key in members:
                self._fault(members[key], "owners may do everything; they take no grants")
        if former is not None and OWNERS in (folded, fold(former)):
            self._fault(members["former-name"], "owners keeps its name, and nothing else gets it")
        if name is None:
            return None
        return TeamEntry(
            name,
            **said,
            at=self._at(node),
            member_at=self._places(members.get("members")),
            workspace_at=self._places(members.get("workspaces")),
            project_at=self._places(members.get("projects")),
        )

    def _access(self, node: Node) -> ProjectAccess | None:
        """The name of an access or, where that is custom, all that it permits."""
        if isinstance(node, ScalarNode):
            access = self._access_type(node)
            return None if access is None else ProjectAccess(access)
        nodes = self._permitted(node)
        read = {name: self._permissions[name](its) for name, its in nodes.items()}
        said = {name: value for name, value in read.items() if value is not None}
        draft = ProjectGrantDraft(variables=said.pop(VARIABLES, None), settings=said)
        # What cannot be read may be what the others go together with.
        against = [] if None in read.values() else draft.contradictions(_NOTHING)
        for fault in [*draft.all_faults(), *against]:
            name = (fault.pointer or "").removeprefix("/data/attributes/")
            self._fault(nodes.get(name, node), fault.detail)
        return None if self.faults else ProjectAccess.of(draft.applied_to(_NOTHING))

    def _permitted(self, node: Node) -> dict[str, Node]:
        """What stands for each permission that is named."""
        found: dict[str, Node] = {}
        groups = self._mapping(node, IN_PROJECT, IN_WORKSPACES)
        for group in (IN_PROJECT, IN_WORKSPACES):
            names = [name for name in self._permissions if name.startswith(f"{group}/")]
            keys = {name.removeprefix(f"{group}/"): name for name in names}
            members = self._mapping(groups[group], *keys) if group in groups else {}
            found |= {name: members[key] for key, name in keys.items() if key in members}
        return found

    def _set(self, node: Node) -> SetEntry | None:
        members, name, said = self._named(node, self._set_name, self._of_set)
        if name is None:
            return None
        return SetEntry(
            name,
            **said,
            at=self._at(node),
            workspace_at=self._places(members.get("workspaces")),
            project_at=self._places(members.get("projects")),
        )

    def _runner(self, node: Node) -> RunnerEntry | None:
        members = self._mapping(node, "name", *self._of_runner)
        name = self._required(node, members, "name", self._name)
        said = self._values(members, self._of_runner)
        if name is None:
            return None
        return RunnerEntry(
            name,
            **said,
            at=self._at(node),
            key_at={key: self._at(value) for key, value in members.items()},
            workspace_at=self._places(members.get("workspaces")),
        )

    def _named(
        self, node: Node, read_name: Read, shape: Mapping[str, Read]
    ) -> tuple[dict[str, Node], str | None, dict[str, Any]]:
        """The members of something that has a name, that name, and what they say as fields of an
        entry, with how it came by the name.
        """
        origins = {"former-name": read_name, "new": self._boolean}
        members = self._mapping(node, "name", *origins, *shape)
        name = self._required(node, members, "name", read_name)
        origin = Origin(**self._values(members, origins))
        if origin.former_name is not None and origin.new:
            self._fault(members["new"], "something with a 'former-name' cannot be 'new'")
        return members, name, {"origin": origin, **self._values(members, shape)}

    def _named_alone(
        self, node: Node, read_name: Read, shape: Mapping[str, Read]
    ) -> tuple[str | None, dict[str, Any]]:
        """The same of what may be a name alone."""
        if isinstance(node, ScalarNode):
            return read_name(node), {}
        _, name, said = self._named(node, read_name, shape)
        return name, said

    def _mapping(self, node: Node, *known: str) -> dict[str, Node]:
        """The members of a mapping; unknown ones are faults."""
        members: dict[str, Node] = {}
        if not isinstance(node, MappingNode):
            self._fault(node, "this must be a mapping")
            return members
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, ScalarNode) else ""
            if key not in known:
                self._fault(key_node, f"unknown key '{key}'; known: {', '.join(sorted(known))}")
            elif key in members:
                self._fault(key_node, f"'{key}' is given twice")
            members[key] = value_node
        return members

    def _required(
        self, parent: Node, members: Mapping[str, Node], key: str, read_name: Read
    ) -> Any:
        if key in members:
            return read_name(members[key])
        if isinstance(parent, MappingNode):
            self._fault(parent, f"'{key}' is missing")
        return None

    def _values(self, members: Mapping[str, Node], shape: Mapping[str, Read]) -> dict[str, Any]:
        """What the members say, as fields of an entry; those that are not there say nothing."""
        return {_field(key): take(members[key]) for key, take in shape.items() if key in members}

    def _each(self, take: Read, name_of: Callable[[Any], str] = str, *, once: bool = False) -> Read:
        """A list of what has a name; to give one twice is a fault where it may be there `once`."""

        def items(node: Node) -> tuple[Any, ...] | None:
            if not isinstance(node, SequenceNode):
                self._fault(node, "this must be a list")
                return None
            found: dict[str, Any] = {}
            for item in node.value:
                entry = take(item)
                if entry is None:
                    continue
                name = name_of(entry)
                if once and fold(name) in found:
                    self._fault(item, f"{name} is given twice")
                found[fold(name)] = entry
            return tuple(found.values())

        return items

    def _pairs(self, take_key: Read, take_value: Read, same: Callable[[str], str] = fold) -> Read:
        """A mapping of names, of which those are given twice that are the `same`."""

        def pairs(node: Node) -> dict[str, Any] | None:
            if not isinstance(node, MappingNode):
                self._fault(node, "this must be a mapping")
                return None
            found: dict[str, tuple[str, Any]] = {}
            for key_node, value_node in node.value:
                key, value = take_key(key_node), take_value(value_node)
                if key is None or value is None:
                    continue
                if same(key) in found:
                    self._fault(key_node, f"{key} is given twice")
                found[same(key)] = key, value
            return dict(found.values())

        return pairs

    def _places(self, node: Node | None) -> Mapping[str, str]:
        """Where each name of a list or mapping stands."""
        names = [pair[0] for pair in node.value] if isinstance(node, MappingNode) else []
        names += node.value if isinstance(node, SequenceNode) else []
        return {name.value: self._at(name) for name in names if isinstance(name, ScalarNode)}

    def _one_of(self, words: Mapping[str, object]) -> Read:
        word = self._text(words.__contains__, f"this must be {' or '.join(words)}")
        return lambda node: words.get(word(node))

    def _said_as(self, meant: Callable[[str], int | None], rule: str) -> Read:
        """A text that stands for a number."""
        text = self._text(lambda said: meant(said) is not None, rule)

        def number(node: Node) -> int | None:
            said = text(node)
            return None if said is None else meant(said)

        return number

    def _text(self, holds: Callable[[str], object], rule: str) -> Read:
        """A text that holds what the rule says."""

        def text(node: Node) -> Any:
            if isinstance(node, ScalarNode) and holds(node.value):
                return node.value
            self._fault(node, rule)
            return None

        return text

    def _fault(self, node: Node, text: str) -> None:
        self.faults.append(f"{self._at(node)}: {escaped(text)}")  # on one line

    def _at(self, node: Node) -> str:
        return f"{self._path}:{node.start_mark.line + 1}"


def _is_description(text: str) -> bool:
    """Whether it is one that both engines can store."""
    return len(text) <= variable_sets.MAX_DESCRIPTION_CHARACTERS and not _UNSTORABLE.search(text)


def _seconds(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None
