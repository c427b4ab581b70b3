"""Workspaces, as far as variables need them."""

from dataclasses import dataclass

from teamvars.domain.errors import Code, Fault


@dataclass(frozen=True, slots=True)
class Workspace:
    """A workspace and the organization that owns it."""

    id: str
    name: str
    organization_id: str
    organization_name: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What a workspace holds: how many variables, and how many bytes of values."""

    variables: int = 0
    value_bytes: int = 0

    def plus(self, variables: int, value_bytes: int) -> "Usage":
        """The usage after a change; both numbers may be negative."""
        return Usage(self.variables + variables, self.value_bytes + value_bytes)


@dataclass(frozen=True, slots=True)
class Quota:
    """The most a workspace may hold; None is no limit (`TEAMVARS_MAX_VARIABLES=0` lifts both)."""

    variables: int | None
    value_bytes: int | None

    def faults(self, before: Usage, after: Usage) -> list[Fault]:
        """A fault when the change makes a workspace fuller than it may be.

        One that is too full already, because the limit was lowered, may still shrink.
        """
        limits = (
            (self.variables, before.variables, after.variables, "variables"),
            (self.value_bytes, before.value_bytes, after.value_bytes, "bytes of values"),
        )
        return [
            Fault(Code.WORKSPACE_FULL, f"A workspace holds at most {most} {what}.", pointer="/data")
            for most, was, will_be, what in limits
            if most is not None and will_be > most and will_be > was
        ]
