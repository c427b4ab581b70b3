"""Names of organizations, projects, workspaces, teams and users: which are allowed, which are
equal, and what a file may make of one that something had before.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from teamvars.domain.errors import Fault, invalid

NAME = re.compile(r"[A-Za-z0-9_-]{1,90}")
"""Of an organization or workspace (contract §7)."""

_USERNAME = re.compile(r"[A-Za-z0-9_.@+-]{1,90}")
_EMAIL = re.compile(r"[^\s@]{1,64}@[^\s@]{1,255}")
_ASCII_LOWER = {capital: capital + 32 for capital in range(ord("A"), ord("Z") + 1)}
# Control characters (C0, DEL, C1), format characters (those that turn the direction of text, and
# those nobody sees), halves of surrogate pairs, private use, line and paragraph separators.
_UNSAFE = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))
_LETTERS_AND_DIGITS = frozenset(("Lu", "Ll", "Lt", "Lm", "Lo", "Nd"))
_MARKS = frozenset(("Mn", "Mc"))
_MARKED = _LETTERS_AND_DIGITS | _MARKS
_JOINER = "\u200d"
_JOINERS = "\u200c" + _JOINER
_OF_EMOJI = "\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
"""What may follow one: how it is drawn."""
_VIRAMA = 9
"""Class of the marks after which letters of India's scripts join, or with a joiner do not."""
# Letters and marks that are not seen (Unicode's Default_Ignorable_Code_Point).
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)

PROJECT_NAME = re.compile(r"[A-Za-z0-9_-]([A-Za-z0-9 _-]{0,88}[A-Za-z0-9_-])?")

NAME_POINTER = "/data/attributes/name"
NAME_RULE = "1 to 90 letters, digits, '-' or '_'"
PROJECT_NAME_RULE = "1 to 90 letters, digits, spaces, '-' or '_', and no space at either end"
MAX_TEAM_NAME_CHARACTERS = 90
TEAM_NAME_RULE = (
    f"1 to {MAX_TEAM_NAME_CHARACTERS} letters of any script, digits, spaces, '-', '_', '.' or '/', "
    "in Unicode's form NFC, and no space at either end"
)
USERNAME_RULE = "1 to 90 letters, digits or any of '-_.@+'"
EMAIL_RULE = (
    "an e-mail address such as alice@example.com, in Unicode's form NFC, without control, format "
    "or private-use characters"
)


def fold(name: str) -> str:
    """The form in which names and e-mail addresses are compared; never SQL's `lower`.

    Two are the same when they are the same characters, but for the case of the letters A to Z.
    Nothing else is alike: `ß` and `SS`, `É` and `é` are different people, and different teams. Of
    an address or a team's name that can be written in two ways, one is refused (`is_email`,
    `is_team_name`); other names have no other letters.
    """
    return name.lower() if name.isascii() else name.translate(_ASCII_LOWER)


def is_part(part: str, key: str) -> bool:
    """Whether a variable's key has that in it, in any case: both in Unicode's full case folding.

    So `ß` is found by `SS`, and `É` by `é`. Nothing else is alike: neither `é` and `e`, nor an `é`
    of one character and one of two, which are different keys. No order depends on it, nor whether a
    key is taken.
    """
    return part.casefold() in key.casefold()


def is_safe(text: str) -> bool:
    """Whether it has no character that does something instead of being seen."""
    if text.isascii():
        return text.isprintable()
    return not any(unicodedata.category(char) in _UNSAFE for char in text)


def escaped(text: str) -> str:
    r"""The text on one line, each character that is not safe in JSON's form, such as `\u202e`.
    Joiners stay that words of Persian and the like, or emoji of several parts, are written with.

    Where the text is a line of JSON, its meaning stays.
    """
    if is_safe(text):
        return text
    return "".join(
        json.dumps(char)[1:-1]
        if unicodedata.category(char) in _UNSAFE and not _is_joining(text, at)
        else char
        for at, char in enumerate(text)
    )


def _is_joining(text: str, at: int) -> bool:
    """Whether a joiner stands there that is seen by what becomes of the characters around it
    (compare RFC 5892, A.1 and A.2).
    """
    before, char, after = text[at - 1 : at] or " ", text[at], text[at + 1 : at + 2] or " "
    if char not in _JOINERS:
        return False
    if unicodedata.combining(before) == _VIRAMA:
        return True
    if unicodedata.bidirectional(after) == "AL":
        return unicodedata.bidirectional(before) in ("AL", "NSM")
    is_emoji = unicodedata.category(before) == "So" or before in _OF_EMOJI
    is_symbol = unicodedata.category(after) in ("So", "Sm") and not after.isascii()
    return char == _JOINER and is_emoji and is_symbol


def is_name(text: str) -> bool:
    """Whether it can name an organization or workspace (contract §7)."""
    return NAME.fullmatch(text) is not None


def is_team_name(text: str) -> bool:
    """Whether it can name a team. Many scripts write with marks; one follows what it marks."""
    kinds = [unicodedata.category(char) for char in text]
    return (
        1 <= len(text) <= MAX_TEAM_NAME_CHARACTERS
        and text == text.strip(" ")
        and all(
            char in " -_./" or kind in _LETTERS_AND_DIGITS or (kind in _MARKS and before in _MARKED)
            for char, kind, before in zip(text, kinds, ["", *kinds], strict=False)
        )
        and _INVISIBLE.search(text) is None
        and unicodedata.is_normalized("NFC", text)
    )


def is_project_name(text: str) -> bool:
    """Whether it can name a project."""
    return PROJECT_NAME.fullmatch(text) is not None


def is_username(text: str) -> bool:
    """Whether it can name a user."""
    return _USERNAME.fullmatch(text) is not None


def is_email(text: str) -> bool:
    """Whether it looks like an e-mail address; whether mail arrives there is not known here."""
    return (
        _EMAIL.fullmatch(text) is not None
        and is_safe(text)
        and unicodedata.is_normalized("NFC", text)
    )


def name_faults(name: str | None) -> list[Fault]:
    """What is wrong with a name as a request gives it; nothing when it gives none."""
    return _unless(is_name, "name", name, f"A name is {NAME_RULE}.")


def project_name_faults(name: str | None) -> list[Fault]:
    """What is wrong with the name of a project as a request gives it, if it gives one."""
    return _unless(is_project_name, "name", name, f"The name of a project is {PROJECT_NAME_RULE}.")


def team_name_faults(name: str | None) -> list[Fault]:
    """What is wrong with the name of a team as a request gives it; nothing when it gives none."""
    return _unless(is_team_name, "name", name, f"The name of a team is {TEAM_NAME_RULE}.")


def email_faults(email: str | None) -> list[Fault]:
    """What is wrong with an e-mail address as a request gives it."""
    return _unless(is_email, "email", email, f"This must be {EMAIL_RULE}.")


def _unless(
    is_good: Callable[[str], bool], attribute: str, text: str | None, rule: str
) -> list[Fault]:
    return [] if text is None or is_good(text) else [invalid(attribute, rule)]


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

    def hint(self, name: str) -> str:
        """What to add where nothing has the name; empty where nothing there had it."""
        now = self.present(name)
        return f" It is called {now} now." if now else ""

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
