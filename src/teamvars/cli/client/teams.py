"""`team list`, `members`, `add`, `remove`."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from teamvars.cli import asking
from teamvars.cli.client import people
from teamvars.cli.client.api import Api, at, connect
from teamvars.cli.client.options import AsJson, Yes, placed
from teamvars.cli.client.people import Person
from teamvars.cli.client.place import Where
from teamvars.cli.client.tables import number
from teamvars.cli.failures import Failure
from teamvars.cli.output import NOT_FOUND, USAGE, note, print_json, say_rows
from teamvars.domain.names import fold

_MEMBERSHIPS = "organization-memberships"
_WITH_USERS = {"include": "user"}

_Team = Annotated[str, typer.Argument(metavar="TEAM", help="A team's name or id.")]
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
    api, found, wanted = _begun(where, team, who, file)
    present = _members(api, found)
    joining = [one for one in wanted if one not in present]
    leaving = [one for one in present if one not in wanted] if exact else []
    if leaving:
        _list(joining, leaving)
        asking.confirm(f"Remove {len(leaving)} of {len(present)} from {team}?", yes=yes)
    if joining:
        api.post(_relation(found), _linkage(joining))
    if leaving:
        api.delete(_relation(found), _linkage(leaving))
    _done(joining, leaving, as_json=as_json)


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
    api, found, wanted = _begun(where, team, who, file)
    present = _members(api, found)
    leaving = [one for one in wanted if one in present]
    if leaving:
        _list([], leaving)
        asking.confirm(f"Remove {len(leaving)} of {len(present)} from {team}?", yes=yes)
        api.delete(_relation(found), _linkage(leaving))
    _done([], leaving, as_json=as_json)


def _begun(
    where: Where, team: str, who: list[str] | None, file: str | None
) -> tuple[Api, dict[str, Any], list[Person]]:
    """The service, the team, and the people that the command and its file name."""
    words = [*(who or []), *(people.from_file(file) if file else [])]
    if not words and file is None:
        raise Failure("Say whom: usernames, e-mail addresses or ids, or --from FILE.", USAGE)
    api = connect(where)
    organization = api.target.organization_name
    api.announce(f"Team {team} of {organization}")
    found = _team(api, team)
    path = at("organizations", organization, _MEMBERSHIPS, query=_WITH_USERS)
    return api, found, people.named(words, people.members(api, path))


def _team(api: Api, word: str) -> dict[str, Any]:
    for one in _teams(api):
        if word == one["id"] or fold(word) == fold(one["attributes"]["name"]):
            return one
    text = f"You see no team {word}. Those you see: teamvars team list"
    raise Failure(text, NOT_FOUND)


def _teams(api: Api) -> list[dict[str, Any]]:
    return list(api.pages(at("organizations", api.target.organization_name, "teams")))


def _members(api: Api, team: dict[str, Any]) -> list[Person]:
    path = at("teams", team["id"], "relationships", _MEMBERSHIPS, query=_WITH_USERS)
    return people.members(api, path)


def _relation(team: dict[str, Any]) -> str:
    return at("teams", team["id"], "relationships", _MEMBERSHIPS)


def _linkage(those: Sequence[Person]) -> dict[str, Any]:
    return {"data": [{"type": _MEMBERSHIPS, "id": one.membership_id} for one in those]}


def _list(joining: Sequence[Person], leaving: Sequence[Person]) -> None:
    for sign, those in (("+", joining), ("-", leaving)):
        for one in those:
            note(f"{sign} {one.username}")


def _done(joining: Sequence[Person], leaving: Sequence[Person], *, as_json: bool) -> None:
    if as_json:
        changed = {"added": joining, "removed": leaving}
        print_json({word: [_told(one) for one in those] for word, those in changed.items()})
        return
    note(f"Added: {len(joining)}. Removed: {len(leaving)}.")


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
