"""What applying a directory file changes, gathered before any of it is written."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from operator import itemgetter
from typing import Concatenate, ParamSpec

from msgspec.structs import replace

from teamvars.decisions import Decision, Delete, Found, Insert, Update, Write, memberships, together
from teamvars.decisions.projects import KeepDefault
from teamvars.domain.errors import Code, Fault
from teamvars.domain.memberships import Membership
from teamvars.domain.tags import ProjectTagRow, TagRow
from teamvars.domain.users import User
from teamvars.domain.variable_sets import Target

P = ParamSpec("P")
Step = IntEnum(
    "Step",
    [
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


class Overtaken(Exception):
    """A concurrent change took a name or address, or changed a user: the decisions are void."""


class Changeset:
    """What is to be changed, the report of it, a line each, and what is wrong with the file.

    `now` in µs UTC. `changed_members` are pairs of what a membership was and becomes, and
    `changed_users` users as they were, by id. `changed_workspaces` are ids, and `changed_sets`
    those of sets that change although the file may not name them. `proposed` are runners of which
    a version waits for approval then, as ORG/NAME.
    """

    def __init__(self, now: int) -> None:
        self.now = now
        self.told: list[str] = []
        self.faults: list[Fault] = []
        self.changed_members: list[tuple[Membership, Membership]] = []
        self.changed_users: dict[str, User] = {}
        self.changed_workspaces: set[str] = set()
        self.changed_sets: set[str] = set()
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
