"""The directory as a file would say it: what `apply` takes without a change."""

from collections.abc import Iterable, Mapping, Sequence

from teamvars.domain.directory import (
    Directory,
    Exported,
    Grant,
    OrganizationEntry,
    TeamEntry,
    UserEntry,
)
from teamvars.domain.errors import Refusal, there_is_no
from teamvars.domain.names import fold, is_email
from teamvars.services.applying import there
from teamvars.services.applying.people import People
from teamvars.services.applying.there import Inside
from teamvars.storage import organizations, users
from teamvars.storage.database import Transaction
from teamvars.storage.teams import TeamRow
from teamvars.storage.users import UserRow

_GRANTS = {grant.word: grant for grant in Grant}


async def export(tx: Transaction, names: Sequence[str]) -> Exported:
    """All users and organizations, or those named with the users in them, by name."""
    found = await (organizations.find_all(tx, names) if names else organizations.every(tx))
    missing = [there_is_no(f"organization {name}") for name in names if fold(name) not in found]
    if missing:
        raise Refusal(*(fault for refusal in missing for fault in refusal.faults))
    everybody = await users.every(tx)
    inside = await there.load(tx, found, People(everybody))
    entries, unsaid = [], []
    for _, organization in sorted(inside.items()):
        entry, more = _organization(organization)
        entries.append(entry)
        unsaid += more
    members = {fold(name) for entry in entries for name in entry.members}
    shown = [user for user in everybody if not names or fold(user.username) in members]
    unsaid += _unsaid_of(shown)
    known = tuple(
        UserEntry(user.username, _email(user), user.site_admin)
        for user in shown
        if not user.placeholder
    )
    return Exported(Directory(known, tuple(entries)), unsaid)


def _unsaid_of(shown: Iterable[UserRow]) -> list[str]:
    """A file knows nobody as disabled, and makes a placeholder somebody by naming them."""
    said = []
    for user in shown:
        if user.placeholder:
            said.append(
                f"User {user.username} was only invited so far, and so does not stand under "
                "users: name them there before you apply the file to another installation."
            )
        elif user.email is not None and _email(user) is None:
            said.append(f"The address of user {user.username} is none that a file may hold.")
        if user.disabled:
            said.append(f"User {user.username} is disabled, which the file cannot say.")
    return said


def _email(user: UserRow) -> str | None:
    """Older releases took addresses that are refused today, and they stay until changed."""
    return user.email if user.email is not None and is_email(user.email) else None


def _organization(inside: Inside) -> tuple[OrganizationEntry, list[str]]:
    members = {one.username: one.status for _, one in sorted(inside.members.items())}
    spaces = [space.name for _, space in sorted(inside.workspaces.items())]
    teams, unsaid = [], []
    for team in sorted(inside.teams.values(), key=lambda one: (not one.is_owners, fold(one.name))):
        entry, more = _team(inside, team)
        teams.append(entry)
        unsaid += more
    return OrganizationEntry(inside.name, members, tuple(spaces), tuple(teams)), unsaid


def _team(inside: Inside, team: TeamRow) -> tuple[TeamEntry, list[str]]:
    ids = inside.in_team[team.id]
    members = tuple(one.username for _, one in sorted(inside.members.items()) if one.id in ids)
    grants, unsaid = (None, []) if team.is_owners else _grants(inside, team)
    entry = TeamEntry(
        team.name,
        team.visibility,
        team.manage_membership,
        team.members_manage_token,
        members,
        grants,
    )
    return entry, unsaid


def _grants(inside: Inside, team: TeamRow) -> tuple[Mapping[str, Grant] | None, list[str]]:
    """A team's grants; None, and what they are, where a file has no words for one of them."""
    names = {space.id: space.name for space in inside.workspaces.values()}
    words = inside.grants[team.id]
    found = sorted((fold(names[id_]), names[id_], word) for id_, word in words.items())
    other = ", ".join(f"{name}: {word}" for _, name, word in found if word not in _GRANTS)
    if not other:
        return {name: _GRANTS[word] for _, name, word in found}, []
    unsaid = (
        f"Team {inside.name}/{team.name} has grants that a file has no word for ({other}): "
        "its workspaces are left out, and applying leaves them as they are."
    )
    return None, [unsaid]
