"""Names of organizations, workspaces, teams and users: which are allowed, which are equal."""

import re

from teamvars.domain.errors import Code, Fault

_NAME = re.compile(r"[A-Za-z0-9_-]{1,90}")
_USERNAME = re.compile(r"[A-Za-z0-9_.@+-]{1,90}")
_EMAIL = re.compile(r"[^\s@\x00-\x1f]{1,64}@[^\s@\x00-\x1f]{1,255}")

NAME_POINTER = "/data/attributes/name"
NAME_RULE = "1 to 90 letters, digits, '-' or '_'"
USERNAME_RULE = "1 to 90 letters, digits or any of '-_.@+'"
EMAIL_RULE = "an e-mail address such as alice@example.com"


def fold(name: str) -> str:
    """The form in which names and e-mail addresses are compared; never SQL's `lower`."""
    return name.casefold()


def is_name(text: str) -> bool:
    """Whether it can name an organization, workspace or team (contract §7)."""
    return _NAME.fullmatch(text) is not None


def is_username(text: str) -> bool:
    """Whether it can name a user."""
    return _USERNAME.fullmatch(text) is not None


def is_email(text: str) -> bool:
    """Whether it looks like an e-mail address; whether mail arrives there is not known here."""
    return _EMAIL.fullmatch(text) is not None


def name_faults(name: str | None) -> list[Fault]:
    """What is wrong with a name as a request gives it; nothing when it gives none."""
    if name is None or is_name(name):
        return []
    return [Fault(Code.INVALID_VALUE, f"A name is {NAME_RULE}.", pointer=NAME_POINTER)]


def email_faults(email: str | None) -> list[Fault]:
    """What is wrong with an e-mail address as a request gives it."""
    if email is None or is_email(email):
        return []
    detail = f"This must be {EMAIL_RULE}."
    return [Fault(Code.INVALID_VALUE, detail, pointer="/data/attributes/email")]


def name_taken(what: str) -> Fault:
    """Something of that kind has the name already, however it is capitalised."""
    return Fault(Code.NAME_TAKEN, f"There is {what} with this name.", pointer=NAME_POINTER)
