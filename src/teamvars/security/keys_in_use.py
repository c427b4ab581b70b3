"""The keyring of this process, which may be another from one moment to the next."""

from typing import Protocol

from teamvars.security.keyring import Keyring


class User(Protocol):
    """What does its work with keys. It may be asked at any moment between two steps of the loop."""

    def take(self, keyring: Keyring) -> None:
        """Goes on with these keys: what was sealed or signed by others that it has still holds."""


class KeysInUse:
    """The keyring, for all who use it; `refused` says why another was not taken, until one is."""

    def __init__(self, keyring: Keyring, *users: User) -> None:
        self.keyring = keyring
        self.refused: str | None = None
        self._users = users

    def take(self, keyring: Keyring) -> None:
        """From now on everybody uses these keys."""
        self.keyring, self.refused = keyring, None
        for user in self._users:
            user.take(keyring)

    def refuse(self, reason: str) -> None:
        """Everybody goes on with the keys that there are."""
        self.refused = reason
