"""How people sign in: with which provider, as whom, and for how long."""

import msgspec

from teamvars.domain.names import fold
from teamvars.domain.times import MINUTE
from teamvars.kernel import Discreet

SESSION = 12 * 60 * MINUTE
"""How long a session lasts at most, in µs."""
IDLE = 30 * MINUTE
"""How long one lasts that nobody uses, in µs."""
MAX_SESSIONS = 100
"""Of one user. Whoever signs in once more is let in, and the oldest ends."""
_SUBJECT_CHARACTERS = 255
_ENTRA = (
    "https://login.microsoftonline.com/",
    "https://login.microsoftonline.us/",
    "https://login.partner.microsoftonline.cn/",
    "https://sts.windows.net/",
)


def is_subject(text: str) -> bool:
    """Whether a provider may call somebody so (OpenID Connect Core 1.0, 2)."""
    return text.isascii() and text.isprintable() and 0 < len(text) <= _SUBJECT_CHARACTERS


def is_entra(issuer: str) -> bool:
    """Whether it is Entra, in any of its clouds: its `sub` is another for each client, and `oid`,
    which it says to whoever asks for a profile, is not.
    """
    return issuer.startswith(_ENTRA)


class Provider(msgspec.Struct, frozen=True):
    """Who says who somebody is, for the organizations of these names.

    `domains` are those of the addresses that it alone speaks for, in lower case. A token that is
    made in a session lives for `longest` µs at most.
    """

    name: str
    title: str
    issuer: str
    client_id: str
    organizations: tuple[str, ...]
    domains: tuple[str, ...]
    longest: int

    def speaks_for(self, email: str) -> bool:
        """Whether the address is of its domains. One with letters that look alike is of none."""
        return email.isascii() and fold(email.rpartition("@")[2]) in self.domains


class Person(Discreet, frozen=True):
    """Whom a provider means, by its name for them. `email` is the address that it has verified, and
    `sid` its name for the session that they have there, if it has told.
    """

    issuer: str
    subject: str
    email: str | None = None
    sid: str | None = None


class SignOut(Discreet, frozen=True):
    """Whom a provider has signed out: the session there that it calls `sid`, or else all that
    somebody has, or both where it says both. `once` names what said so: it is good once, until
    `expires_at` in µs UTC.
    """

    subject: str | None
    sid: str | None
    once: bytes
    expires_at: int


class Identity(msgspec.Struct, frozen=True):
    """By what name a provider means a user."""

    id: str
    issuer: str
    subject: str
    user_id: str
    created_at: int


class Session(Discreet, frozen=True):
    """What a token has beside it that is a session's: see the columns."""

    token_id: str
    cookie_hash: bytes
    provider: str
    ends_at: int
    longest: int


class Standing(msgspec.Struct, frozen=True):
    """What a user is, as far as it matters for signing in: the organizations they are active in, by
    id, those they may accept an invitation to, whether they own one of any, and whether a provider
    knows them.
    """

    active: frozenset[str]
    invited: frozenset[str]
    is_owner: bool
    is_known: bool


class OpenSession(msgspec.Struct, frozen=True):
    """A session that somebody is in, by the id of its token."""

    token_id: str
    provider: str


def device_of(user_agent: str) -> str:
    """A browser and a system, in words, by what the browser says; nothing of that is believed."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), "a browser")
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), None)
    return browser if system is None else f"{browser} on {system}"


# Each says that it is those below as well.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iPadOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
