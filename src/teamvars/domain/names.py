"""Names of organizations, workspaces, teams and users: which are allowed, which are equal."""

import json
import re
import unicodedata

from teamvars.domain.errors import Code, Fault

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
# Letters and marks that are not seen (Unicode's Default_Ignorable_Code_Point).
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)

NAME_POINTER = "/data/attributes/name"
NAME_RULE = "1 to 90 letters, digits, '-' or '_'"
MAX_TEAM_NAME_CHARACTERS = 90
TEAM_NAME_RULE = (
    f"1 to {MAX_TEAM_NAME_CHARACTERS} letters of any script, digits, spaces, '-', '_' or '.', in "
    "Unicode's form NFC, and no space at either end"
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


def is_safe(text: str) -> bool:
    """Whether it has no character that does something instead of being seen."""
    if text.isascii():
        return text.isprintable()
    return not any(unicodedata.category(char) in _UNSAFE for char in text)


def escaped(text: str) -> str:
    r"""The text on one line, each character that is not safe in JSON's form, such as `\u202e`.

    Where the text is a line of JSON, its meaning stays.
    """
    if is_safe(text):
        return text
    return "".join(
        json.dumps(char)[1:-1] if unicodedata.category(char) in _UNSAFE else char for char in text
    )


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
            char in " -_." or kind in _LETTERS_AND_DIGITS or (kind in _MARKS and before in _MARKED)
            for char, kind, before in zip(text, kinds, ["", *kinds], strict=False)
        )
        and _INVISIBLE.search(text) is None
        and unicodedata.is_normalized("NFC", text)
    )


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
    if name is None or is_name(name):
        return []
    return [Fault(Code.INVALID_VALUE, f"A name is {NAME_RULE}.", pointer=NAME_POINTER)]


def team_name_faults(name: str | None) -> list[Fault]:
    """What is wrong with the name of a team as a request gives it; nothing when it gives none."""
    if name is None or is_team_name(name):
        return []
    detail = f"The name of a team is {TEAM_NAME_RULE}."
    return [Fault(Code.INVALID_VALUE, detail, pointer=NAME_POINTER)]


def email_faults(email: str | None) -> list[Fault]:
    """What is wrong with an e-mail address as a request gives it."""
    if email is None or is_email(email):
        return []
    detail = f"This must be {EMAIL_RULE}."
    return [Fault(Code.INVALID_VALUE, detail, pointer="/data/attributes/email")]
