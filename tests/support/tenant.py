"""An organization of a test's own, and people of every kind of contract §6 to call as."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx

from teamvars.changes.waves import Change
from teamvars.decisions import Decision, Found, together
from teamvars.decisions.tokens import created
from teamvars.decisions.users import Disabling
from teamvars.domain.directory import (
    Directory,
    OrganizationEntry,
    TeamEntry,
    UserEntry,
)
from teamvars.domain.memberships import Status
from teamvars.domain.projects import default_project_of
from teamvars.domain.team_access import AccessType
from teamvars.domain.teams import Visibility
from teamvars.domain.times import DAY
from teamvars.domain.tokens import Token
from teamvars.services.directory_files.files import Options
from teamvars.services.tokens import fresh_token
from tests.support.deployment import Deployment, operator

JSON_API = "application/vnd.api+json"
_YEAR = 365 * DAY
ACTIVE, INVITED = Status.ACTIVE, Status.INVITED


@dataclass(frozen=True)
class Tenant:
    """Ids by plain names, and callers.

    Users: `owner`, `writer` (grant write on `network`), `reader` (grant read on it), `manager`
    (in a team with manage-membership), `hidden` (in the secret team), `plain` (a member without a
    team), `disabled` (an owner who is), `invited` and `invited_writer` (not accepted; the latter is
    in the writers' team),
    `outsider` (owner of the other organization), `admin` (site admin without a membership).
    Teams: `owners`, `writers`, `readers`, `managers`, `secret`, `crew` (empty).
    Workspaces: `network`, `payments` (nobody's but the owners'), both in the default project, which
    is `project`.
    """

    deployment: Deployment
    organization: str
    other_organization: str
    users: Mapping[str, str]
    memberships: Mapping[str, str]
    teams: Mapping[str, str]
    workspaces: Mapping[str, str]
    project: str
    other_workspace: str
    other_project: str
    other_team: str
    other_membership: str
    tokens: Mapping[str, str]

    async def call(
        self,
        who: str | None,
        method: str,
        path: str,
        document: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """One request as that caller (a user, `owners-token`, `writers-token`, `organization-token`
        or `other-organization-token`); None sends no token. `path` is below /api/v2."""
        sent = dict(headers or {})
        if who is not None:
            sent.setdefault("Authorization", f"Bearer {self.tokens[who]}")
        if document is None:
            return await self.deployment.client.request(method, path, headers=sent)
        sent.setdefault("Content-Type", JSON_API)
        return await self.deployment.client.request(method, path, headers=sent, json=document)

    def vars_path(self, workspace: str = "network") -> str:
        """The path of a workspace's variables."""
        return f"/workspaces/{self.workspaces[workspace]}/vars"

    def linkage_path(self, team: str = "crew", by: str = "users") -> str:
        """The path of a team's members."""
        return f"/teams/{self.teams[team]}/relationships/{by}"

    async def make_variable(self, key: str = "region", **attributes: Any) -> dict[str, Any]:
        """A variable of `network`, made by the owner; returns its resource object."""
        document = variable_document(key=key, **attributes)
        answer = await self.call("owner", "POST", self.vars_path(), document)
        assert answer.status_code == 201, answer.text
        data: dict[str, Any] = answer.json()["data"]
        return data

    async def variables(self, workspace: str = "network") -> list[dict[str, Any]]:
        """All variables of a workspace, as the owner sees them."""
        answer = await self.call("owner", "GET", self.vars_path(workspace))
        data: list[dict[str, Any]] = answer.json()["data"]
        return data

    async def members(self, team: str = "crew") -> set[str]:
        """The membership ids of a team."""
        path = self.linkage_path(team, "organization-memberships")
        answer = await self.call("owner", "GET", path)
        return {item["id"] for item in answer.json()["data"]}


def variable_document(**attributes: Any) -> dict[str, Any]:
    """A document that creates a variable; give attributes to change or add some."""
    defaults = {"key": "region", "value": "eu", "description": "where", "category": "tool"}
    return {"data": {"type": "vars", "attributes": {**defaults, **attributes}}}


def items_document(*items: object, **options: bool) -> dict[str, Any]:
    """A document of items about variables; options are named as in Python."""
    meta = {name.replace("_", "-"): value for name, value in options.items()}
    return {"data": list(items), "meta": meta}


def linkage_document(*ids: str, type_: str = "users") -> dict[str, Any]:
    """A document that adds or removes members."""
    return {"data": [{"type": type_, "id": id_} for id_ in ids]}


def faults(answer: httpx.Response) -> list[tuple[str, str, str | None]]:
    """Status, code and pointer of every error, in the answer's order."""
    return [
        (error["status"], error["code"], error.get("source", {}).get("pointer"))
        for error in answer.json()["errors"]
    ]


async def build_tenant(deployment: Deployment) -> Tenant:
    """Two fresh organizations in the installation."""
    mark = uuid4().hex[:12]
    name, other = f"org-{mark}", f"other-{mark}"
    active = ("owner", "writer", "reader", "manager", "hidden", "plain", "disabled")
    invited = ("invited", "invited_writer")
    inside = dict.fromkeys(active, ACTIVE) | dict.fromkeys(invited, INVITED)
    usernames = {person: f"{person}-{mark}" for person in (*inside, "outsider", "admin")}
    applied = await deployment.services.directory.apply(
        operator(), _directory(name, other, usernames, inside), Options()
    )
    mine, beside = applied.organizations[name], applied.organizations[other]
    owners = {
        **{person: ("user", applied.users[username]) for person, username in usernames.items()},
        "owners-token": ("team", mine.teams["owners"]),
        "writers-token": ("team", mine.teams["writers"]),
        "organization-token": ("organization", mine.id),
        "other-organization-token": ("organization", beside.id),
    }
    tokens = await _make_tokens(deployment, owners)
    await deployment.services.accounts.disable(operator(), usernames["disabled"], Disabling())
    return Tenant(
        deployment=deployment,
        organization=name,
        other_organization=other,
        users={person: applied.users[username] for person, username in usernames.items()},
        memberships={person: mine.memberships[usernames[person]] for person in inside},
        teams=mine.teams,
        workspaces=mine.workspaces,
        project=default_project_of(mine.id),
        other_project=default_project_of(beside.id),
        other_workspace=beside.workspaces["elsewhere"],
        other_team=beside.teams["owners"],
        other_membership=beside.memberships[usernames["outsider"]],
        tokens=tokens,
    )


async def _make_tokens(
    deployment: Deployment, owners: Mapping[str, tuple[str, str]]
) -> dict[str, str]:
    """A token of each, by whose they are: all in one transaction."""
    fresh = {who: fresh_token(kind) for who, (kind, _) in owners.items()}

    def decide(found: Found) -> Decision[None]:
        # One has an end: PostgreSQL is told the type of a column by a value in it.
        ends = {"disabled": found.now + _YEAR}
        tokens = [
            (Token(fresh[who].id, *owner, found.now, ends.get(who), None), fresh[who])
            for who, owner in owners.items()
        ]
        return together(None, *(created(found, *each) for each in tokens))

    await deployment.services.changes.make(Change(operator(), None, decide))
    return {who: one.secret for who, one in fresh.items()}


def _directory(
    name: str, other: str, usernames: Mapping[str, str], inside: Mapping[str, Status]
) -> Directory:
    def named(*people: str) -> tuple[str, ...]:
        return tuple(usernames[person] for person in people)

    writers = TeamEntry(
        "writers",
        members=named("writer", "invited_writer"),
        workspaces={"network": AccessType.WRITE},
    )
    return Directory(
        tuple(
            UserEntry(username, f"{username}@example.com", site_admin=person == "admin")
            for person, username in usernames.items()
        ),
        (
            OrganizationEntry(
                name,
                {usernames[person]: status for person, status in inside.items()},
                ("network", "payments"),
                (
                    TeamEntry("owners", members=named("owner", "disabled")),
                    writers,
                    TeamEntry(
                        "readers", members=named("reader"), workspaces={"network": AccessType.READ}
                    ),
                    TeamEntry("managers", manage_membership=True, members=named("manager")),
                    TeamEntry("secret", Visibility.SECRET, members=named("hidden")),
                    TeamEntry("crew", members=()),
                ),
            ),
            OrganizationEntry(
                other,
                {usernames["outsider"]: ACTIVE},
                ("elsewhere",),
                (TeamEntry("owners", members=named("outsider")),),
            ),
        ),
    )
