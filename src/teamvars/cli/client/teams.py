"""`team list`, `members`, `add`, `remove`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import typer

from teamvars.cli import asking
from teamvars.cli.client import people
from teamvars.cli.client.api import Api, at, connect
from teamvars.cli.client.options import AsJson, Yes, offered, placed
from teamvars.cli.client.people import Person
from teamvars.cli.client.place import Where
from teamvars.cli.client.tables import number
from teamvars.cli.exits import NOT_FOUND, USAGE
from teamvars.cli.failures import Failure
from teamvars.cli.output import note, print_json, say_rows
from teamvars.domain.names import fold

_MEMBERSHIPS = "organization-memberships"
_WITH_USERS = {"include": "user"}

_Team = Annotated[
    str,
    typer.Argument(metavar="TEAM", help="A team's name or id.", autocompletion=offered("team")),
]
_People = Annotated[
    list[str] | None,
    typer.Argument(metavar="PERSON…", help="Usernames, e-mail addresses or ids."),
]
_File = Annotated[
    str | None, typer.Option("--from", help="A file with one of them a line; - is stdin.")
]


@placed("organization")
def list_(where: Where, as_json: AsJson = False) -> None:
    """List the teams you see.

    Example: teamvars team list
    """
    rows = [_row(one) for one in _teams(connect(where))]
    if as_json:
        print_json(rows)
        return
    if not rows:
        note("You see no teams there.")
    say_rows([(row["name"], row["id"], number(row["members"], "member")) for row in rows])


@placed("organization")
def members(where: Where, team: _Team, as_json: AsJson = False) -> None:
    """List the members of a team.

    Example: teamvars team members platform
    """
    api = connect(where)
    found = _members(api, _team(api, team))
    if as_json:
        print_json([_told(one) for one in found])
        return
    if not found:
        note(f"Nobody is in {team} yet. Add somebody: teamvars team add {team} PERSON")
    say_rows([(one.username, one.email or "-", one.status, one.user_id) for one in found])


@placed("organization")
def add(
    where: Where,
    team: _Team,
    who: _People = None,
    file: _File = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Remove whoever is in the team and not named.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Add people to a team, all or none.

    Members of the organization, whether they have accepted the invitation or not. With --exact the
    others are removed, after the additions, in a request of its own.

    Example: teamvars team add platform dave erin@example.com
    """
    work = _begun(where, team, who, file)
    leaving = _without(work.present, work.named) if exact else []
    _carry_out(work, _without(work.named, work.present), leaving, yes=yes, as_json=as_json)


@placed("organization")
def remove(
    where: Where,
    team: _Team,
    who: _People = None,
    file: _File = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Remove people from a team, all or none.

    They stay members of the organization and of other teams.

    Example: teamvars team remove platform dave --yes
    """
    work = _begun(where, team, who, file)
    present = set(work.present)
    leaving = [one for one in work.named if one in present]
    _carry_out(work, [], leaving, yes=yes, as_json=as_json)


class _Work(NamedTuple):
    """A team as it was called, whom a command names, and who is in it."""

    api: Api
    called: str
    team: dict[str, Any]
    named: Sequence[Person]
    present: Sequence[Person]


def _begun(where: Where, team: str, who: list[str] | None, file: str | None) -> _Work:
    """Looks up what the command and its file name."""
    words = [*(who or []), *(people.from_file(file) if file else [])]
    if not words and file is None:
        raise Failure("Say whom: usernames, e-mail addresses or ids, or --from FILE.", USAGE)
    api = connect(where)
    organization = api.target.organization_name
    api.announce(f"Team {team} of {organization}")
    found = _team(api, team)
    path = at("organizations", organization, _MEMBERSHIPS, query=_WITH_USERS)
    named = people.named(words, people.members(api, path))
    return _Work(api, team, found, named, _members(api, found))


def _without(those: Sequence[Person], others: Sequence[Person]) -> list[Person]:
    gone = set(others)
    return [one for one in those if one not in gone]


def _carry_out(
    work: _Work, joining: Sequence[Person], leaving: Sequence[Person], *, yes: bool, as_json: bool
) -> None:
    """Changes who is in the team, and tells of it; whoever leaves is shown and asked about."""
    path = _relation(work.team)
    if leaving:
        for sign, those in (("+", joining), ("-", leaving)):
            for one in those:
                note(f"{sign} {one.username}")
        question = f"Remove {len(leaving)} of {len(work.present)} from {work.called}?"
        asking.confirm(question, yes=yes)
    if joining:
        work.api.post(path, _linkage(joining))
    if leaving:
        work.api.delete(path, _linkage(leaving))
    if as_json:
        changed = {"added": joining, "removed": leaving}
        print_json({word: [_told(one) for one in those] for word, those in changed.items()})
        return
    note(f"Added: {len(joining)}. Removed: {len(leaving)}.")


def _team(api: Api, word: str) -> dict[str, Any]:
    for one in _teams(api):
        if word == one["id"] or fold(word) == fold(one["attributes"]["name"]):
            return one
    text = f"You see no team {word}. Those you see: teamvars team list"
    raise Failure(text, NOT_FOUND)


def _teams(api: Api) -> list[dict[str, Any]]:
    return list(api.pages(at("organizations", api.target.organization_name, "teams")))


def _members(api: Api, team: dict[str, Any]) -> list[Person]:
    return people.members(api, _relation(team, _WITH_USERS))


def _relation(team: dict[str, Any], query: Mapping[str, str] | None = None) -> str:
    return at("teams", team["id"], "relationships", _MEMBERSHIPS, query=query)


def _linkage(those: Sequence[Person]) -> dict[str, Any]:
    return {"data": [{"type": _MEMBERSHIPS, "id": one.membership_id} for one in those]}


def _row(team: dict[str, Any]) -> dict[str, Any]:
    attributes = team["attributes"]
    return {
        "name": attributes["name"],
        "id": team["id"],
        "members": attributes["users-count"],
        "visibility": attributes["visibility"],
    }


def _told(one: Person) -> dict[str, Any]:
    return {
        "username": one.username,
        "email": one.email,
        "status": one.status,
        "user": one.user_id,
        "membership": one.membership_id,
    }
