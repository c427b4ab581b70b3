"""What a workspace gets: of its own variables and those of all sets that reach it, the ones that
count, and why the others do not.

The order is that of HCP Terraform's page "Variables overview" as of 16 March 2026. Two levels are
not the service's: what somebody says on the command line, and in the environment of a command.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from hashlib import sha256
from heapq import merge
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Generic, Literal, TypeVar

import msgspec

from teamvars.domain.variable_sets import Parent
from teamvars.domain.variables import StoredVariable
from teamvars.domain.workspaces import Usage
from teamvars.kernel import Discreet

T = TypeVar("T")


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

    @property
    def rank(self) -> int:
        """Of the highest the lowest."""
        return _RANK[self]


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
        return cls(id_, name, _highest(is_priority, parent, frozenset(reach)))

    @classmethod
    def of_workspace(cls, id_: str) -> "Source":
        """The workspace itself."""
        return cls(id_, "", Level.WORKSPACE)

    @property
    def rank(self) -> tuple[int, str]:
        """The lowest comes first; of one level the name that does, by code points."""
        return _RANK[self.level], self.name


@cache
def _highest(is_priority: bool, parent: Parent, reach: frozenset[Reach]) -> Level:
    ways = ("global" if way == "global" else f"{parent}-by-{way}" for way in reach)
    levels = (Level(f"priority-{way}" if is_priority else way) for way in ways)
    return min(levels, key=_RANK.__getitem__)


class Rule(StrEnum):
    """Why a variable does not count: another's level is above its own, or at the same level the
    other set's name comes first.
    """

    LEVEL = "level"
    NAME = "name"

    @classmethod
    def between(cls, winner: Source, loser: Source) -> "Rule":
        """By what a variable of one source comes before that of another."""
        return cls.LEVEL if loser.level is not winner.level else cls.NAME


class Supply(msgspec.Struct, frozen=True):
    """A source of a workspace, where its stream stands, and how much it has."""

    source: Source
    head: bytes
    usage: Usage


Name = tuple[str, str]
"""A key and a category, of which two variables are in conflict."""


class Run(msgspec.Struct, Generic[T], frozen=True):
    """What a source has by key, then category: these two, and whatever there is of each."""

    source: Source
    held: Mapping[Name, T]


class Holdings(Discreet, frozen=True):
    """What counts in a workspace, by key, then category, and where the streams were of all that
    reaches it: one head for all, and the place of each. Not `is_whole`: without the variables,
    whose values are too large to come along. `keys`: the wrapped data keys that have opened all
    values, of what was kept since then.
    """

    head: bytes
    places: tuple[str, ...]
    variables: tuple[StoredVariable, ...]
    is_whole: bool = True
    keys: bytes | None = None

    @classmethod
    def at(
        cls,
        heads: Mapping[str, bytes],
        variables: Iterable[StoredVariable],
        *,
        is_whole: bool = True,
    ) -> "Holdings":
        """With the streams where they were: the head of each by id."""
        places = sorted(f"{id_}:{head.hex()}" for id_, head in heads.items())
        return cls(head_of_all(heads), tuple(places), tuple(variables), is_whole)


def head_of(own: bytes, of_sets: bytes) -> bytes:
    """One for the head of a workspace and those of the sets that reach it, in the order of their
    ids: another whenever one of them has moved, or there is another set. Each is of one stream
    alone. Of a workspace that no set reaches it is its own.
    """
    return sha256(of_sets + own).digest() if of_sets else own


def head_of_all(heads: Mapping[str, bytes]) -> bytes:
    """The same by the ids of all, of the workspace too."""
    *of_sets, own = (heads[id_] for id_ in sorted(heads))  # prefixes have the workspace last
    return head_of(own, b"".join(of_sets))


def winning(runs: Iterable[Run[T]]) -> Iterator[Run[T]]:
    """The runs without what does not count, the highest first."""
    taken: frozenset[Name] = frozenset()
    for run in sorted(runs, key=attrgetter("source.rank")):
        with_its = taken.union(run.held)
        new = len(with_its) - len(taken)
        if new == len(run.held):
            yield run
        else:  # most sets have nothing else, or nothing more
            some = run.held.items() if new else ()
            yield Run(run.source, {name: one for name, one in some if name not in taken})
        taken = with_its


def effective(runs: Iterable[Run[T]]) -> Iterator[Sequence[tuple[Source, T]]]:
    """What a run in a workspace gets, by key, then category: of each what counts, and behind it
    what does not, in their order. Only as much is looked at as is asked for.
    """
    ranked = sorted(runs, key=attrgetter("source.rank"))
    every = merge(*(_numbered(n, run) for n, run in enumerate(ranked)))
    for _, rivals in groupby(every, key=itemgetter(0)):
        yield [(ranked[n].source, one) for _, n, one in rivals]


def _numbered(number: int, run: Run[T]) -> Iterator[tuple[Name, int, T]]:
    return ((name, number, one) for name, one in run.held.items())
