"""Names that say what they hold: nobody shows the values of such variables by the way."""

from fnmatch import fnmatchcase

SECRET_NAMES = (
    "*SECRET*",
    "*PASSWORD*",
    "*PASSWD*",
    "*TOKEN*",
    "*PRIVATE_KEY*",
    "*CREDENTIAL*",
    "*API_KEY*",
)
"""In any case. Some have names like these and are no secrets, such as `TOKEN_TTL`."""


def says_secret(key: str) -> bool:
    """Whether a key says that its value is a secret."""
    name = key.upper()
    return any(fnmatchcase(name, pattern) for pattern in SECRET_NAMES)
