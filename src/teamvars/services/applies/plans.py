"""Plans: what becomes of each variable of a workspace, and what is told of it."""

from collections.abc import Sequence
from typing import Self

import msgspec

from teamvars.domain.applies import Name, Outcome, Result
from teamvars.domain.variables import StoredVariable
from teamvars.domain.workspaces import Usage, Workspace
from teamvars.kernel.discreet import Discreet


class Step(Discreet, frozen=True, gc=False):
    """What becomes of one variable.

    `stored` is its row afterwards, or the last one of a variable that goes; its `sealed` is None
    where the value stays. `growth` is by how many bytes its value grows.
    """

    outcome: Outcome
    stored: StoredVariable
    changed: Sequence[str] = ()
    growth: int = 0

    @classmethod
    def deleted(cls, stored: StoredVariable) -> Self:
        """The variable goes."""
        return cls(Outcome.DELETED, stored, growth=-stored.value_bytes)

    def result(self, *, dry_run: bool) -> Result:
        """What is told of it; ids that a dry run would have made are not."""
        variable = self.stored.variable
        has_id = not dry_run or self.outcome is not Outcome.CREATED
        has_version = has_id and (not dry_run or self.outcome is not Outcome.UPDATED)
        return Result(
            (variable.key, variable.category),
            self.outcome,
            self.changed,
            variable.id if has_id else None,
            variable.version_id if has_version else None,
        )


class Absence(msgspec.Struct, frozen=True, gc=False):
    """Nothing becomes of a variable that is to go and is not there."""

    name: Name
    growth = 0
    outcome = Outcome.UNCHANGED

    def result(self, *, dry_run: bool) -> Result:
        """What is told of it."""
        del dry_run  # it is the same
        return Result(self.name, self.outcome, (), None, None)


class Plan(Discreet, frozen=True):
    """All steps, in the order of the answer, and what the workspace holds after them."""

    steps: Sequence[Step | Absence]
    usage: Usage

    @property
    def changes(self) -> list[Step]:
        """The steps that change something."""
        steps = (step for step in self.steps if isinstance(step, Step))
        return [step for step in steps if step.outcome is not Outcome.UNCHANGED]


class Applied(msgspec.Struct, frozen=True):
    """What an apply or a copy has done, or in a dry run would do, and the list's version then."""

    workspace: Workspace
    version: str
    results: Sequence[Result]
    dry_run: bool

    @classmethod
    def of(cls, plan: Plan, workspace: Workspace, version: str, *, dry_run: bool = False) -> Self:
        """What is told of a plan."""
        results = [step.result(dry_run=dry_run) for step in plan.steps]
        return cls(workspace, version, results, dry_run)
