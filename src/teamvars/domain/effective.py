"""What a workspace gets: of its own variables and those of all sets that reach it, the ones that
count, and why the others do not.

The order is that of HCP Terraform's page "Variables overview" as of 16 March 2026. Two levels are
not the service's: what somebody says on the command line, and in the environment of a command.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from operator import attrgetter
from typing import Literal

import msgspec

from teamvars.domain.applies import Name
from teamvars.domain.variable_sets import Parent
from teamvars.domain.variables import StoredVariable


class Level(StrEnum):
    """Where variables come from, the highest first."""

    PRIORITY_GLOBAL = "priority-global"
    PRIORITY_ORGANIZATION_BY_PROJECT = "priority-organization-by-project"
    PRIORITY_ORGANIZATION_BY_WORKSPACE = "priority-organization-by-workspace"
    PRIORITY_PROJECT_BY_PROJECT = "priority-project-by-project"
    PRIORITY_PROJECT_BY_WORKSPACE = "priority-project-by-workspace"
    COMMAND_LINE = "command-line"
    ENVIRONMENT = "environment"
    WORKSPACE = "workspace"
    PROJECT_BY_WORKSPACE = "project-by-workspace"
    PROJECT_BY_PROJECT = "project-by-project"
    ORGANIZATION_BY_WORKSPACE = "organization-by-workspace"
    ORGANIZATION_BY_PROJECT = "organization-by-project"
    GLOBAL = "global"


_RANK: Mapping[Level, int] = {level: rank for rank, level in enumerate(Level)}

Reach = Literal["global", "project", "workspace"]
"""How a set comes to a workspace: with all of the organization, with all of a project, or alone."""


class Source(msgspec.Struct, frozen=True):
    """What has variables for a workspace: itself, or a set that reaches it."""

    id: str
    name: str
    level: Level

    @classmethod
    def of_set(
        cls, id_: str, name: str, *, is_priority: bool, parent: Parent, reach: Iterable[Reach]
    ) -> "Source":
        """A set, at the highest level of all ways in which it reaches the workspace."""
        levels = (_level(is_priority, parent, way) for way in reach)
        return cls(id_, name, min(levels, key=_RANK.__getitem__))

    @property
    def rank(self) -> tuple[int, str]:
        """The lowest comes first; of one level the name that does, by code points."""
        return _RANK[self.level], self.name


def _level(is_priority: bool, parent: Parent, way: Reach) -> Level:
    where = "global" if way == "global" else f"{parent}-by-{way}"
    return Level(f"priority-{where}" if is_priority else where)


class Rule(StrEnum):
    """Why a variable does not count: another's level is above its own, or at the same level the
    other set's name comes first.
    """

    LEVEL = "level"
    NAME = "name"


class Candidate(msgspec.Struct, frozen=True):
    """A variable that reaches a workspace, and where it is from."""

    stored: StoredVariable
    source: Source

    @property
    def name(self) -> Name:
        """What it is in conflict by with others."""
        return self.stored.variable.key, self.stored.variable.category


class Chosen(msgspec.Struct, frozen=True):
    """The variable that counts of a key and category, and those that do not, in their order."""

    winner: Candidate
    losers: Sequence[Candidate] = ()

    def rule(self, loser: Candidate) -> Rule:
        """By what the winner comes before one of the others."""
        is_level = loser.source.level is not self.winner.source.level
        return Rule.LEVEL if is_level else Rule.NAME


class Holdings(msgspec.Struct, frozen=True):
    """All variables that reach a workspace, or those alone that count, each with its source, and
    the heads of the streams of the workspace and of all sets that reach it, by id. `places` are
    these with their numbers.
    """

    heads: Mapping[str, bytes]
    candidates: Sequence[Candidate]
    places: tuple[str, ...] = ()

    @property
    def head(self) -> bytes:
        """What is another whenever one of the streams has moved, or another set reaches it."""
        return head_of(self.heads)


def head_of(heads: Mapping[str, bytes]) -> bytes:
    """One for the heads of several streams; that of one alone is its own."""
    if len(heads) == 1:
        return next(iter(heads.values()))
    each = (id_.encode() + b"\0" + heads[id_] for id_ in sorted(heads))
    return sha256(b"\0".join(each)).digest()


def effective(candidates: Iterable[Candidate]) -> list[Chosen]:
    """What a run in a workspace gets, by key, then category."""
    rivals: dict[Name, list[Candidate]] = {}
    for one in candidates:
        rivals.setdefault(one.name, []).append(one)
    chosen = []
    for name in sorted(rivals):
        winner, *losers = sorted(rivals[name], key=attrgetter("source.rank"))
        chosen.append(Chosen(winner, losers))
    return chosen
