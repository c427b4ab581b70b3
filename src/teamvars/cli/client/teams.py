"""`team list`, `members`, `add`, `remove`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from shlex import quote
from typing import NamedTuple

from teamvars.cli import asking
from teamvars.cli.client.api import TEAM, Api, Resource, at, told
from teamvars.cli.client.changes import number
from teamvars.cli.client.options import connected, offered, require_said, yes_option
from teamvars.cli.exits import NOT_FOUND, Failure, Misuse
from teamvars.cli.options import argument, command, flag, json_option, option
from teamvars.cli.output import note, show, telling
from teamvars.domain.names import fold

_MEMBERSHIPS = "organization-memberships"
_SHOWN = {"name": "name", "id": "id", "members": "users-count", "visibility": "visibility"}
_WITH_USERS = {"include": "user"}

team_argument = argument(
    "team", "A team's name or id.", metavar="TEAM", shell_complete=offered("team")
)
people_argument = argument(
    "who", "Usernames, e-mail addresses or ids.", nargs=-1, metavar="[PERSON…]"
)
people_option = option("--from", "A file with one of them per line; - is stdin.", "file")


class Person(NamedTuple):
    """A membership of an organization, and whose it is."""

    username: str
    email: str | None
    status: str
    user: str
    membership: str

    @property
    def names(self) -> set[str]:
        """What the person can be called, in the form in which it is compared."""
        ids = {self.membership, self.user}
        return ids | {fold(name) for name in (self.username, self.email) if name}


People = list[Person]


def people_of(api: Api, path: str) -> People:
    """The people of a list of memberships; `path` includes their users."""
    found = []
    for document in api.documents(path):
        names = {one["id"]: one["attributes"]["username"] for one in document.get("included", [])}
        for one in document["data"]:
            user, said = one["relationships"]["user"]["data"]["id"], one["attributes"]
            name = names[user] or said["email"]  # whoever is invited goes by the address
            found.append(Person(name, said["email"], said["status"], user, one["id"]))
    return found


def people_called(words: Iterable[str], among: People) -> People:
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
        raise Misuse(f"These name more than one: {', '.join(several)}. Give their ids.")
    if nobody:
        raise Failure(
            f"Nobody in the organization is called {', '.join(nobody)}. Nothing was changed. "
            "A member is named by username, e-mail address or id.",
            NOT_FOUND,
        )
    return list(found)


def from_file(path: str) -> list[str]:
    """The names in a file, one a line; `-` is standard input; after # comes a comment."""
    text = asking.text_of(path).removeprefix("\ufeff")
    words = (line.partition("#")[0].strip() for line in text.splitlines())
    return [word for word in words if word]


@command
@json_option
@connected("organization")
def list_(api: Api) -> None:
    """List the teams you see.

    Example: teamvars team list
    """
    rows = [told(one, _SHOWN) for one in TEAM.seen(api)]
    cells = ((row["name"], row["id"], number(row["members"], "member")) for row in rows)
    show(rows, cells, empty="You see no teams there.")


@command
@team_argument
@json_option
@connected("organization")
def members(api: Api, team: str) -> None:
    """List the members of a team.

    Example: teamvars team members platform
    """
    found = _members(api, TEAM.named(api, team))
    cells = ((one.username, one.email or "-", one.status, one.user) for one in found)
    nobody = f"Nobody is in {team} yet. Add somebody: teamvars team add {quote(team)} PERSON"
    show([one._asdict() for one in found], cells, empty=nobody)


@command
@team_argument
@people_argument
@people_option
@flag("--exact", "Remove everybody else from the team.")
@yes_option
@json_option
@connected("organization")
def add(
    api: Api,
    team: str,
    who: Sequence[str],
    file: str | None,
    exact: bool,
    yes: bool,
) -> None:
    """Add people to a team, all or none.

    Members of the organization, whether they have accepted the invitation or not. With --exact the
    others are removed, after the additions, in a request of its own: if that is refused, the
    additions stay.

    Example: teamvars team add platform dave erin@example.com
    """

    def decide(named: People, present: People) -> tuple[People, People]:
        return _without(named, present), _without(present, named) if exact else []

    _change(api, team, who, file, decide, yes=yes)


@command
@team_argument
@people_argument
@people_option
@yes_option
@json_option
@connected("organization")
def remove(api: Api, team: str, who: Sequence[str], file: str | None, yes: bool) -> None:
    """Remove people from a team, all or none.

    They stay members of the organization and of other teams.

    Example: teamvars team remove platform dave --yes
    """

    def decide(named: People, present: People) -> tuple[People, People]:
        return [], _without(named, _without(named, present))

    _change(api, team, who, file, decide, yes=yes)


def _without(those: People, others: People) -> People:
    gone = set(others)
    return [one for one in those if one not in gone]


def _change(
    api: Api,
    team: str,
    who: Sequence[str],
    file: str | None,
    decide: Callable[[People, People], tuple[People, People]],
    *,
    yes: bool,
) -> None:
    """Changes who is in a team, and says so; it shows who leaves, and asks.

    `decide` says who joins and who leaves: of the people named, and of those who are there.
    """
    require_said({"from": file})
    words = [*who, *([] if file is None else from_file(file))]
    if not words:
        raise Misuse(
            "Nobody is named. Give usernames, e-mail addresses or ids, or --from FILE with some."
        )
    organization = api.organization
    api.announce(f"Team {team} of {organization}")
    found = TEAM.named(api, team)
    everybody = at("organizations", organization, _MEMBERSHIPS, query=_WITH_USERS)
    named, present = people_called(words, people_of(api, everybody)), _members(api, found)
    joining, leaving = decide(named, present)
    if leaving:
        for sign, those in (("+", joining), ("-", leaving)):
            for one in those:
                note(f"{sign} {one.username}")
        asking.confirm(f"Remove {len(leaving)} of {len(present)} from {team}?", yes=yes)
    path = _relation(found)
    if joining:
        api.post(path, _linkage(joining))
    if leaving:
        with telling(*([f"Added: {len(joining)}. They stay in {team}."] if joining else [])):
            api.delete(path, _linkage(leaving))
    changed = {"added": joining, "removed": leaving}
    shown = {what: [one._asdict() for one in those] for what, those in changed.items()}
    said = f"Added: {len(joining)}. Removed: {len(leaving)}."
    show(shown, (), said=said)


def _members(api: Api, team: Resource) -> People:
    return people_of(api, _relation(team, _WITH_USERS))


def _relation(team: Resource, query: Mapping[str, str] | None = None) -> str:
    return at("teams", team["id"], "relationships", _MEMBERSHIPS, query=query)


def _linkage(those: People) -> Resource:
    return {"data": [{"type": _MEMBERSHIPS, "id": one.membership} for one in those]}
