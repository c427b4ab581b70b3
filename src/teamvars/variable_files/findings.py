"""What is found in a file while it is read: its variables and its faults, both bounded."""

from bisect import bisect_right

from teamvars.hcl import HclError, Work
from teamvars.kernel import Discreet
from teamvars.kernel.variables import Category, key_faults, value_faults

MAX_NAMES = 5_000
"""What a file may define; as many as a workspace holds."""

MAX_FAULTS = 100
"""After so many a file is read no further."""

MAX_DEPTH = 64
"""Objects and arrays inside each other; as deep as the configuration language goes here."""

_ROOM = 64 * 1024
_GROWTH = 2
"""Values may have, together, `_GROWTH` characters for each of the file, and `_ROOM` besides: a few
lines of code can evaluate to very long strings. Nothing that is merely written down grows so."""


class Item(Discreet, frozen=True, array_like=True, gc=False):
    """A variable that a file defines, and where its name stands, from 1, in characters.

    `hcl`: the value is an expression of the configuration language, else plain text.
    """

    key: str
    value: str
    hcl: bool
    line: int
    column: int


class FileFault(Discreet, frozen=True, array_like=True, gc=False):
    """What is wrong with a file, and where, from 1, in characters. `detail` never quotes it."""

    line: int
    column: int
    detail: str


class ParsedFile(Discreet, frozen=True, array_like=True):
    """The variables of a file in its order, and its faults in the order they were found.

    Beside faults, the variables are those that could be read. `too_many`: it defines more than
    `MAX_NAMES`; that is its one fault, and no variable is given.
    """

    category: Category
    items: tuple[Item, ...]
    faults: tuple[FileFault, ...]
    too_many: bool = False


class Enough(Exception):
    """The file is not to be read any further; its findings say why."""


class Findings:
    """Collects what one text defines and what is wrong with it; places in it are offsets."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._items: list[Item] = []
        self._faults: list[FileFault] = []
        self._names: dict[str, int] = {}
        self._room = _ROOM + _GROWTH * len(text)
        self.work = Work(len(text))
        """What is left for all values together."""
        self._too_many = False
        self._lines: list[int] = []

    def name(self, name: str, at: int) -> None:
        """Notes that the file defines this name, whatever becomes of its value."""
        if name in self._names:
            self.fault(at, "This name is defined before.")
        self._names.setdefault(name, at)
        if len(self._names) > MAX_NAMES:
            place = self._place(at)
            self._items = []
            self._faults = [FileFault(*place, f"A file has at most {MAX_NAMES} names.")]
            self._too_many = True
            raise Enough

    def item(self, name: str, at: int, value: str, *, hcl: bool = False) -> None:
        """Notes a variable, or why there can be none like it. Its name has been noted before;
        of those with one name the first is meant.
        """
        details = [*key_faults(name), *value_faults(value)]
        if "\0" in value:
            details.append("A value has no NUL character.")
        for detail in details:
            self.fault(at, detail)
        if details or self._names[name] != at:
            return
        self._room -= len(value)
        if self._room < 0:
            raise self.ended(at, "The values grow far larger than the file.")
        self._items.append(Item(name, value, hcl, *self._place(at)))

    def fault(self, at: int, detail: str) -> None:
        """Notes a fault. Raises Enough when there are too many."""
        self._note(FileFault(*self._place(at), detail))

    def ended(self, at: int, detail: str) -> Enough:
        """Notes why the file is not read any further."""
        self.fault(at, f"{detail} It was read up to here.")
        return Enough()

    def error(self, error: HclError) -> None:
        """Notes an error of the configuration language."""
        self._note(FileFault(error.line, error.column, sentence(error.message)))

    def parsed(self, category: Category) -> ParsedFile:
        """All of it; the variables are of that category."""
        return ParsedFile(category, tuple(self._items), tuple(self._faults), self._too_many)

    def _note(self, fault: FileFault) -> None:
        if len(self._faults) == MAX_FAULTS:
            last = f"There are more than {MAX_FAULTS} faults. The file was read up to here."
            self._faults.append(FileFault(fault.line, fault.column, last))
            raise Enough
        self._faults.append(fault)

    def _place(self, at: int) -> tuple[int, int]:
        """The line and column of an offset."""
        if not self._lines:
            self._lines = _line_starts(self.text)
        line = bisect_right(self._lines, at)
        return line, at - self._lines[line - 1] + 1


def sentence(message: str) -> str:
    """The message of another package, as the details of faults are written."""
    return f"{message[0].upper()}{message[1:]}."


def _line_starts(text: str) -> list[int]:
    starts = [0]
    while (found := text.find("\n", starts[-1])) >= 0:
        starts.append(found + 1)
    return starts
