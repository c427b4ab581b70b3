"""The names that a directory file gives: to what is there, and to what it would make."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import msgspec
from msgspec.structs import replace

from teamvars.decisions import Decision, Found
from teamvars.domain.names import FormerName, FormerNames, Origin, fold, objection, to_rename
from teamvars.domain.organizations import Organization
from teamvars.domain.projects import Project
from teamvars.domain.teams import Team
from teamvars.domain.variable_sets import VariableSet
from teamvars.domain.workspaces import Workspace
from teamvars.services.directory_files.changeset import Changeset, Step

Named = TypeVar("Named", Organization, Project, Team, VariableSet, Workspace)


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
