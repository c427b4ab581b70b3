"""What applying a directory file changes, gathered before any of it is written; and the names that
the file gives, to what is there and to what it would make.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from operator import itemgetter
from typing import Concatenate, Generic, ParamSpec, TypeVar

import msgspec
from msgspec.structs import replace

from teamvars.decisions import (
    Decision,
    Delete,
    Found,
    Insert,
    Update,
    Write,
    memberships,
    together,
)
from teamvars.decisions.projects import KeepDefault
from teamvars.domain.errors import Code, Fault
from teamvars.domain.memberships import Membership
from teamvars.domain.names import FormerName, FormerNames, Origin, fold, objection, to_rename
from teamvars.domain.organizations import Organization
from teamvars.domain.projects import Project
from teamvars.domain.runners import Runner
from teamvars.domain.tags import ProjectTagRow, TagRow
from teamvars.domain.teams import Team
from teamvars.domain.users import User
from teamvars.domain.variable_sets import Target, VariableSet
from teamvars.domain.workspaces import Workspace

P = ParamSpec("P")
Step = IntEnum(
    "Step",
    [
        "TELL_OWNERS",
        "RENAME_ORGANIZATION",
        "RENAME_TEAM",
        "RENAME_WORKSPACE",
        "TAG_WORKSPACE",
        "CREATE_ORGANIZATION",
        "RENAME_PROJECT",
        "CREATE_PROJECT",
        "TAG_PROJECT",
        "LEAVE_TEAM",
        "END_INVITATION",
        "CHANGE_USER",
        "CREATE_USER",
        "CREATE_MEMBER",
        "CHANGE_MEMBERS",
        "CREATE_WORKSPACE",
        "MOVE_WORKSPACE",
        "CREATE_TEAM",
        "CREATE_RUNNER",
        "CHANGE_RUNNER",
        "DELETE_RUNNER",
        "CHANGE_TEAM",
        "JOIN_TEAM",
        "CREATE_GRANT",
        "CHANGE_GRANT",
        "DELETE_GRANTS",
        "CREATE_PROJECT_GRANT",
        "CHANGE_PROJECT_GRANT",
        "DELETE_PROJECT_GRANTS",
        "RENAME_SET",
        "DELETE_SET",
        "CHANGE_SET",
        "WIDEN_SET",
        "CREATE_SET",
        "ATTACH_SET",
        "DELETE_WORKSPACE",
        "DELETE_PROJECT",
        "DELETE_TEAM",
        "DELETE_MEMBER",
    ],
)
"""In the order in which changes are written: what is referred to before what refers to it, and what
gives up a name, or with a set the keys in it, before what takes it.
"""

Named = TypeVar("Named", Organization, Project, Team, VariableSet, Workspace)


class Overtaken(Exception):
    """A concurrent change took a name or address, or changed a user: the decisions are void."""


class Changeset:
    """What is to be changed, the report of it, a line each, and what is wrong with the file.

    `now` in µs UTC. `changed_members` are pairs of what a membership was and becomes, and
    `changed_users` users as they were, by id. `changed_workspaces` are ids, and `changed_sets`
    those of sets that change although the file may not name them. `changed_runners` are as they
    were. `proposed` are runners of which a version waits for approval then, as ORG/NAME.
    """

    def __init__(self, now: int) -> None:
        self.now = now
        self.told: list[str] = []
        self.faults: list[Fault] = []
        self.changed_members: list[tuple[Membership, Membership]] = []
        self.changed_users: dict[str, User] = {}
        self.changed_workspaces: set[str] = set()
        self.changed_sets: set[str] = set()
        self.changed_runners: list[Runner] = []
        self.proposed: list[str] = []
        self._changes: list[tuple[Step, Callable[[Found], Decision[None]]]] = []
        # All at once: one by one they would take more statements.
        self.add(Step.CHANGE_MEMBERS, (), memberships.changed, self.changed_members)

    def add(
        self,
        step: Step,
        told: Sequence[str],
        decide: Callable[Concatenate[Found, P], Decision[None]],
        *what: P.args,
        **more: P.kwargs,
    ) -> None:
        """Something is changed as will be decided, and told of in these lines."""
        self.told += told
        self._changes.append((step, lambda found: decide(found, *what, **more)))

    def end_invitation(self, before: Membership) -> None:
        """The membership is removed or made active, and with that a link to it is void."""
        if before.invitation is not None:
            self.add(Step.END_INVITATION, (), memberships.invitation, before, "revoke")

    def refuse(self, detail: str, at: str, code: Code = Code.INVALID_VALUE) -> None:
        """The file is at fault, there."""
        self.faults.append(Fault(code, f"{at}: {detail}" if at else detail))

    def decided(self, found: Found) -> Decision[None]:
        """All of it, step by step. The rows of tags and of what sets are attached to come last,
        those alike together, and a default project is kept once: so these take a few statements,
        and not some for each workspace.
        """
        in_order = sorted(self._changes, key=itemgetter(0))
        whole = together(None, *(decide(found) for _, decide in in_order))
        return replace(whole, writes=tuple(sorted(_once(whole.writes), key=_place)))


def _once(writes: Iterable[Write]) -> Iterator[Write]:
    kept = set()
    for write in writes:
        if isinstance(write, KeepDefault):
            if write in kept:
                continue
            kept.add(write)
        yield write


def _place(write: Write) -> int:
    match write:
        case Delete(kind=kind) if kind in (TagRow, ProjectTagRow, Target):
            return 1
        case Insert(row=TagRow() | ProjectTagRow() | Target()):
            return 2
        case Update(after=TagRow() | ProjectTagRow()):
            return 3
    return 0


class Names(msgspec.Struct, Generic[Named], frozen=True):
    """What a file says of the names of one kind of things: each with its origin, and where it
    stands.

    `place` is said before the names. `live` has what there is by folded name, and what is called
    `fixed` stays so.
    """

    kind: str
    place: str
    said: Sequence[tuple[str, Origin, str]]
    live: dict[str, Named]
    former: FormerNames
    fixed: str | None = None

    def rename(
        self,
        changeset: Changeset,
        step: Step,
        decide: Callable[[Found, Named, Named], Decision[None]],
    ) -> Sequence[tuple[Named, Named]]:
        """Renames in `live` what the names say; returns what each was, and what it is.

        In an order in which each name is free, if there is one.
        """
        live = self.live
        pairs: list[tuple[Named, Named]] = []
        left = [
            (name, origin)
            for name, origin, _ in self.said
            if self.fixed not in (fold(name), fold(origin.former_name or ""))
        ]
        while True:
            ready = ((one, there) for one in left if (there := to_rename(*one, live)) is not None)
            found = next(ready, None)
            if found is None:
                return pairs
            wish, before = found
            left.remove(wish)
            after = replace(before, name=wish[0])
            del live[fold(before.name)]
            live[fold(after.name)] = after
            self.former.add(FormerName(before.id, before.name, after.name))
            told = f"rename {self.kind} {self.place}{before.name} to {after.name}"
            changeset.add(step, [told], decide, before, after)
            pairs.append((before, after))

    def object_to(self, changeset: Changeset) -> None:
        """Refuses the names of what would be made, and is called otherwise by now."""
        for name, origin, at in self.said:
            doubt = objection(name, origin, self.live, self.former)
            if doubt is not None:
                changeset.refuse(f"{self.kind.capitalize()} {self.place}{name} {doubt}.", at)
