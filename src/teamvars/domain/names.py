"""Names of organizations, workspaces, teams and users: which are allowed, which are equal."""

import re

_NAME = re.compile(r"[A-Za-z0-9_-]{1,90}")
_USERNAME = re.compile(r"[A-Za-z0-9_.@+-]{1,90}")
_EMAIL = re.compile(r"[^\s@\x00-\x1f]{1,64}@[^\s@\x00-\x1f]{1,255}")

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
