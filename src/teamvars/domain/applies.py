"""What an apply or a copy makes of the variables of a workspace or a set."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec
from msgspec import UNSET, UnsetType

from teamvars.domain.errors import Fault
from teamvars.domain.variables import (
    ANY_VERSION,
    Expected,
    VariableDraft,
    Versions,
    staleness,
)
from teamvars.kernel import Discreet
from teamvars.kernel.variables import Category

MAX_ITEMS = 5_000
"""Of one apply or copy."""
MAX_CODE_BYTES = 1024 * 1024
"""Of all values of an apply together that are to be parsed as code."""

Name = tuple[str, Category]
"""What no other variable of a workspace or a set has: its key and its category."""
VariableId = str | UnsetType | None
"""The id by which an item names its variable. UNSET: its name does so. None: it is at fault."""


class Outcome(StrEnum):
    """What became of a variable, or in a dry run would become of it."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    DELETED = "deleted"


class ItemDraft(Discreet, frozen=True, gc=False):
    """What a variable should be or, where it `goes`, what should not be there.

    `at` points to the item, and `named_at` to what names the variable where no item does. By its
    `variable_id` a variable may get another key or category.
    """

    draft: VariableDraft
    expected: Expected = UNSET
    goes: bool = False
    at: str = ""
    variable_id: VariableId = UNSET
    named_at: str | None = None

    @property
    def name(self) -> tuple[str | None, Category | None]:
        """The key and the category, None where they are at fault."""
        return self.draft.key, self.draft.category

    @property
    def subject(self) -> Name | str | None:
        """The name or id by which the variable is found; None where that is at fault."""
        if self.variable_id is not UNSET:
            return self.variable_id
        key, category = self.name
        return None if key is None or category is None else (key, category)

    @property
    def subject_at(self) -> str:
        """Where the request says that."""
        if self.named_at is not None:
            return self.named_at
        return f"{self.draft.at}/key" if self.variable_id is UNSET else f"{self.at}/id"

    def staleness(self, version_id: str | None) -> list[Fault]:
        """A fault, unless what is there is as expected; None where nothing is."""
        return staleness(self.expected, version_id, f"{self.at}/meta/version-id")


class ApplyDraft(Discreet, frozen=True):
    """What a workspace or a set should become: each of `items`, and with `prune` nothing else.

    Each item has the faults of its own; `faults` are those of the rest of the document.
    """

    items: Sequence[ItemDraft] = ()
    prune: bool = False
    dry_run: bool = False
    faults: tuple[Fault, ...] = ()

    @property
    def may_move_all(self) -> bool:
        """Whether it may delete or move all that is there, however little it says."""
        by_id = (item for item in self.items if item.variable_id is not UNSET)
        return self.prune or any(item.name != (None, None) for item in by_id)


class OnConflict(StrEnum):
    """What a copy does with a variable that the target has already."""

    REFUSE = "refuse"
    SKIP = "skip"
    REPLACE = "replace"


class Original(msgspec.Struct, frozen=True, gc=False):
    """A variable of the source, and what is expected there and in the target.

    `at` points to it.
    """

    name: Name
    at: str
    expected: Expected = UNSET
    target_expected: Expected = UNSET

    def staleness(self, there: str | None, here: str | None) -> list[Fault]:
        """A fault for each of the two that is not as expected: the versions there and here."""
        return [
            *staleness(self.expected, there, f"{self.at}/version-id"),
            *staleness(self.target_expected, here, f"{self.at}/target-version-id"),
        ]


class CopyDraft(msgspec.Struct, frozen=True):
    """Which variables of which workspace, or of which set, are copied; None in the place of
    originals: all of them.

    Those are missing whose items have faults of their own, or the name of an earlier one. Without
    `on_conflict`, which is at fault then, nothing is said of a variable that the target has, whose
    list is to be at one of the `versions`.
    """

    source_id: str | None = None
    is_from_set: bool = False
    originals: Sequence[Original] | None = None
    on_conflict: OnConflict | None = OnConflict.REFUSE
    dry_run: bool = False
    faults: tuple[Fault, ...] = ()
    versions: Versions = ANY_VERSION


class Result(msgspec.Struct, frozen=True, gc=False):
    """What became of one variable, and the names of the attributes that are others now.

    `id` and `version_id` are None where a dry run would create it.
    """

    name: Name
    outcome: Outcome
    changed: Sequence[str]
    id: str | None
    version_id: str | None
