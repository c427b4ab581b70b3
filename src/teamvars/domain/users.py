"""Users: who has tokens, and is in organizations."""

import re
import secrets

import msgspec

from teamvars.domain.names import is_username

_NOT_IN_USERNAMES = re.compile(r"[^A-Za-z0-9_.@+-]+")
_MAX_DERIVED_CHARACTERS = 80


class User(msgspec.Struct, frozen=True):
    """A user of the installation.

    A placeholder was made by an invitation: it never had a token, was active in no organization,
    and stood in no directory file. The tokens of disabled users authenticate nobody.
    """

    id: str
    username: str
    email: str | None
    site_admin: bool
    placeholder: bool = False
    disabled: bool = False


def username_for(email: str) -> str:
    """The name of a user who was invited by that address: the address, if it may be one."""
    if is_username(email):
        return email
    return _NOT_IN_USERNAMES.sub("-", email)[:_MAX_DERIVED_CHARACTERS]


def other_username_for(email: str) -> str:
    """Such a name, with a random end, for when that one is taken."""
    return f"{username_for(email)[:_MAX_DERIVED_CHARACTERS]}-{secrets.token_hex(4)}"
