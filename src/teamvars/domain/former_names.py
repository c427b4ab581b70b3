"""What organizations, workspaces and teams were called before, and what a file may make of it.

A live name always wins, and a former name may be taken by anybody.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from teamvars.domain.names import fold


class FormerName(NamedTuple):
    """A name that something had, and what that is called now."""

    subject_id: str
    name: str
    present: str


class Origin(msgspec.Struct, frozen=True):
    """What a file says of how something came by its name: it had another one, or it is new although
    something else has had this one.
    """

    former_name: str | None = None
    new: bool = False


class Subject(Protocol):
    """Something with an id."""

    @property
    def id(self) -> str:
        """Its id."""
        ...


T = TypeVar("T", bound=Subject)


class FormerNames:
    """The former names of what is there, those of each in the order in which it had them."""

    def __init__(self, told: Iterable[FormerName] = ()) -> None:
        self._ids: dict[str, list[str]] = {}
        self._present: dict[str, str] = {}
        for one in told:
            self.add(one)

    def add(self, one: FormerName) -> None:
        """Notes the name as the last that its subject had before the present one."""
        self._ids.setdefault(fold(one.name), []).append(one.subject_id)
        self._present[one.subject_id] = one.present

    def present(self, name: str) -> str | None:
        """What the last that had the name is called now; None: nothing there had it."""
        id_ = self.id_of(name)
        return None if id_ is None else self._present[id_]

    def id_of(self, name: str) -> str | None:
        """Whose name it was last; None: nothing there had it."""
        ids = self._ids.get(fold(name))
        return None if ids is None else ids[-1]

    def had(self, subject_id: str, name: str) -> bool:
        """Whether the subject was once called so."""
        return subject_id in self._ids.get(fold(name), ())


def to_rename(name: str, origin: Origin, live: Mapping[str, T]) -> T | None:
    """What a file renames to `name`; None once something has the name. `live` by folded name."""
    if origin.former_name is None or fold(name) in live:
        return None
    return live.get(fold(origin.former_name))


def objection(name: str, origin: Origin, live: Mapping[str, T], former: FormerNames) -> str | None:
    """Why a file that names this means something else, perhaps; None: there is no doubt."""
    there, was = live.get(fold(name)), origin.former_name
    if there is not None:
        if was is not None and fold(was) in live and not former.had(there.id, was):
            return f"exists, and so does {was}, which cannot take its name"
        return None
    for asked in () if origin.new else (name, was):
        present = None if asked is None else former.present(asked)
        if present is not None:
            called = "is" if asked == name else f"was {asked}, which is"
            return (
                f"{called} called {present} now: write that name. To rename it, add "
                f"'former-name: {present}'; to make another one, add 'new: true'"
            )
    return None
