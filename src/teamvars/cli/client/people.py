"""Members of an organization, found by what people call them."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from teamvars.cli.client import inputs
from teamvars.cli.client.api import Api
from teamvars.cli.exits import NOT_FOUND, USAGE
from teamvars.cli.failures import Failure
from teamvars.domain.names import fold


class Person(NamedTuple):
    """A membership of an organization, and whose it is."""

    membership_id: str
    user_id: str
    username: str
    email: str | None
    status: str

    @property
    def names(self) -> set[str]:
        """What the person can be called, in the form in which it is compared."""
        ids = {self.membership_id, self.user_id}
        return ids | {fold(name) for name in (self.username, self.email) if name}


def members(api: Api, path: str) -> list[Person]:
    """The people of a list of memberships; `path` includes their users."""
    found = []
    for document in api.documents(path):
        users = {one["id"]: one["attributes"] for one in document.get("included", [])}
        found += [_person(one, users) for one in document["data"]]
    return found


def _person(membership: dict[str, Any], users: dict[str, Any]) -> Person:
    user_id = membership["relationships"]["user"]["data"]["id"]
    user, attributes = users[user_id], membership["attributes"]
    return Person(
        membership["id"], user_id, user["username"], attributes["email"], attributes["status"]
    )


def named(words: Iterable[str], among: Sequence[Person]) -> list[Person]:
    """Those whom the words name, each once. Fails with every word that names nobody or several."""
    by_name: dict[str, set[Person]] = {}
    for person in among:
        for name in person.names:
            by_name.setdefault(name, set()).add(person)
    found: dict[Person, None] = {}
    nobody: list[str] = []
    several: list[str] = []
    for word in words:
        those = by_name.get(word, set()) | by_name.get(fold(word), set())
        if len(those) == 1:
            found.update(dict.fromkeys(those))
        else:
            (several if those else nobody).append(word)
    if several:
        raise Failure(f"These name more than one: {', '.join(several)}. Give their ids.", USAGE)
    if nobody:
        raise Failure(
            f"Nobody in the organization is called {', '.join(nobody)}. Nothing was changed. "
            "A member is named by username, e-mail address or id.",
            NOT_FOUND,
        )
    return list(found)


def from_file(path: str) -> list[str]:
    """The names in a file, one a line; `-` is standard input; after # comes a comment."""
    text = inputs.text_of(path).removeprefix("\ufeff")
    words = (line.partition("#")[0].strip() for line in text.splitlines())
    return [word for word in words if word]
