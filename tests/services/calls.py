"""Calls to the services of a node as the people of a tenant."""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from teamvars.changes import Tools
from teamvars.decisions.teams import Direction
from teamvars.decisions.variables import ToWorkspace
from teamvars.domain.access import Caller
from teamvars.domain.directory import Directory, OrganizationEntry, TeamEntry
from teamvars.domain.errors import Code, Fault, Refusal
from teamvars.domain.ids import new_id
from teamvars.domain.memberships import LinkageType, MembersDraft
from teamvars.domain.variables import Variable, VariableDraft
from teamvars.kernel.variables import Category
from teamvars.security.chain import Chain
from teamvars.security.sealing import Sealer
from teamvars.security.tokens import hash_token
from teamvars.services.directory_files.files import Options
from teamvars.storage import migrations
from teamvars.storage.database import Database, Transaction
from teamvars.storage.engines import postgres
from tests.storage.stores import words
from tests.support.deployment import Deployment, operator
from tests.support.tenant import Tenant

AS_WRITTEN = Options()
TABLES = re.findall(r"CREATE TABLE (\w+)", "".join(m.sql for m in migrations.known()))


def caller_with(secret: str) -> Caller:
    """The sender of one request with that token."""
    return Caller(hash_token(secret), new_id("req"))


def caller(tenant: Tenant, who: str) -> Caller:
    """The sender of one request: a fresh one for each, as over HTTP."""
    return caller_with(tenant.tokens[who])


def draft(key: str = "region", value: str = "eu", **attributes: Any) -> VariableDraft:
    """A variable to be made."""
    defaults: dict[str, Any] = {"description": "where", "category": Category.TOOL}
    return VariableDraft(key=key, value=value, **{**defaults, **attributes})


class Calls:
    """One node, called in one tenant."""

    def __init__(self, tenant: Tenant, node: Deployment | None = None) -> None:
        self.tenant = tenant
        self.node = node or tenant.deployment
        self.services = self.node.services

    @property
    def tools(self) -> Tools:
        """What changes of the node are made with."""
        clock = self.services.database.now
        return Tools(Sealer(self.node.keys), Chain(self.node.keys), clock)

    async def create(
        self, who: str = "owner", workspace: str = "network", **attributes: Any
    ) -> Variable:
        """Makes a variable."""
        place = caller(self.tenant, who), ToWorkspace(self.tenant.workspaces[workspace])
        made = await self.services.variables.create(*place, draft(**attributes))
        return made.variable

    async def list(self, who: str = "owner", workspace: str = "network") -> dict[str, str | None]:
        """The values by key."""
        return await self.list_with(self.tenant.tokens[who], workspace)

    async def list_with(self, secret: str, workspace: str = "network") -> dict[str, str | None]:
        """The same for whoever has the token; over HTTP, so that what is kept for it is asked."""
        headers = {"Authorization": f"Bearer {secret}"}
        answer = await self.node.client.get(self.tenant.vars_path(workspace), headers=headers)
        document = answer.json()
        if answer.status_code != 200:
            said = [error["code"] for error in document["errors"]]
            raise Refusal(*(Fault(code, "") for code in Code if code.word in said))
        shown = [resource["attributes"] for resource in document["data"]]
        return {attributes["key"]: attributes["value"] for attributes in shown}

    async def variable_ids(self, workspace: str = "network") -> Sequence[str]:
        """The ids of a workspace's variables."""

        async def body(tx: Transaction) -> list[str]:
            rows = await tx.fetch(
                "SELECT id FROM variables WHERE workspace_id = $1 ORDER BY key, category",
                self.tenant.workspaces[workspace],
            )
            return [row[0] for row in rows]

        return await self.services.database.read(body)

    async def change(
        self, change: Direction, *people: str, team: str = "crew", who: str = "owner"
    ) -> None:
        """Adds or removes members, by membership."""
        await self.services.team_members.change(
            caller(self.tenant, who),
            self.tenant.teams[team],
            LinkageType.ORGANIZATION_MEMBERSHIPS,
            change,
            MembersDraft([self.tenant.memberships[person] for person in people]),
        )

    async def apply(
        self, *teams: TeamEntry, options: Options = AS_WRITTEN, **entry: Any
    ) -> tuple[str, ...]:
        """Applies a file that names this tenant's organization; returns the changes."""
        organization = OrganizationEntry(self.tenant.organization, teams=teams, **entry)
        directory = Directory(organizations=(organization,))
        applied = await self.services.directory.apply(operator(), directory, options)
        return applied.changes

    def named(self, *people: str) -> tuple[str, ...]:
        """Their usernames."""
        mark = self.tenant.organization.removeprefix("org-")
        return tuple(f"{person}-{mark}" for person in people)


@contextmanager
def once_it_is_looked_up(
    monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], Awaitable[object]]
) -> Iterator[None]:
    """Has something happen after the look-up of the next change that is alone on PostgreSQL."""
    look_up = postgres._Brief.lock_each

    async def and_then(self: Any, *asked: Any) -> Any:
        found = await look_up(self, *asked)
        with monkeypatch.context() as as_ever:
            as_ever.setattr(postgres._Brief, "lock_each", look_up)
            await meanwhile()
        return found

    with monkeypatch.context() as watched:
        watched.setattr(postgres._Brief, "lock_each", and_then)
        yield


async def dump(database: Database) -> Mapping[str, list[tuple[Any, ...]]]:
    """Every row of every table."""

    async def body(tx: Transaction) -> dict[str, list[tuple[Any, ...]]]:
        return {
            table: sorted((tuple(row) for row in await tx.fetch(f"SELECT * FROM {table}")), key=str)  # noqa: S608
            for table in TABLES
        }

    return await database.read(body)


async def count(database: Database, question: str, *args: object) -> int:
    """The one number that a statement answers."""

    async def body(tx: Transaction) -> int:
        row = await tx.fetch_one(question, *args)
        assert row is not None
        number: int = row[0]
        return number

    return await database.read(body)


async def refusal_of(asked: Awaitable[object]) -> str:
    """The code of the refusal."""
    with pytest.raises(Refusal) as refusal:
        await asked
    (word,) = words(refusal.value)
    return word
