"""One store and the nodes in front of it, spoken to in the model's words.

The service's ids differ from store to store and from run to run. Here they have names: what the
test made by the names it gave, what the service assigned by the order in which it was first seen.
"""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Self

import httpx

from teamvars.decisions.users import Disabling
from teamvars.domain.audit import AuditFilter
from teamvars.domain.directory import (
    FILE_ACCESS,
    Directory,
    OrganizationEntry,
    TeamEntry,
)
from teamvars.domain.errors import Refusal
from teamvars.domain.memberships import Status
from teamvars.domain.tokens import OwnerName
from teamvars.domain.workspaces import Quota
from teamvars.services.directory_files.files import Options
from teamvars.web.http.errors import STATUS
from tests.faults.model.model import Model
from tests.faults.model.organization import Team
from tests.faults.model.refusals import FaultTriple
from tests.support.deployment import Deployment, open_deployment, operator
from tests.support.tenant import Tenant, build_tenant

PEOPLE = {
    **dict.fromkeys(("owner", "writer", "reader", "manager", "hidden", "plain"), "active"),
    "disabled": "active",
    **dict.fromkeys(("invited", "invited_writer"), "invited"),
}
NOBODY = "var-1111111111111111"
NO_WORKSPACE = "ws-1111111111111111"

_ASSIGNED = re.compile(r"\b(?:(var)-[1-9A-HJ-NP-Za-km-z]{16}|[0-9a-f]{36}|[0-9a-f]{64})\b")
_NAMES_IN_TAG = re.compile(r"\.[0-9a-f]{8}\"")
_LIST_TAG = re.compile(r'"(head#\d+)\.names"')


def model_of_tenant() -> Model:
    """The model of what `tests.support.tenant` builds."""
    return Model(
        PEOPLE,
        {
            "owners": Team({"owner", "disabled"}),
            "writers": Team({"writer", "invited_writer"}, {"network": 2}),
            "readers": Team({"reader"}, {"network": 1}),
            "managers": Team({"manager"}, manages=True),
            "secret": Team({"hidden"}, secret=True),
            "crew": Team(),
        },
        disabled={"disabled"},
    )


@asynccontextmanager
async def open_nodes(
    url: str, count: int = 1, quota: Quota | None = None
) -> AsyncIterator[list[Deployment]]:
    """That many nodes on one store, each with connections of its own."""
    async with open_deployment(url, quota=quota) as first:
        if count == 1:
            yield [first]
            return
        async with open_deployment(url, quota=quota, keys=first.keys) as second:
            yield [first, second]


@dataclass(frozen=True)
class Reply:
    """What was answered: `seen` is all of it with names for ids, the rest what a model knows."""

    status: int
    faults: list[FaultTriple]
    data: Any
    seen: str


@dataclass
class Nodes:
    """A fresh organization behind some nodes, which take turns."""

    deployments: Sequence[Deployment]
    tenant: Tenant
    ids: dict[str, str] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)
    _calls: int = 0
    _trail_before: dict[str, int] = field(default_factory=dict)

    @classmethod
    async def settle(cls, deployments: Sequence[Deployment]) -> Self:
        """Builds the organization."""
        tenant = await build_tenant(deployments[0])
        nodes = cls(deployments, replace(tenant, tokens=dict(tenant.tokens)))
        for group in (tenant.users, tenant.memberships, tenant.teams, tenant.workspaces):
            nodes._names |= {id_: name for name, id_ in group.items()}
        nodes._name("var#0", NOBODY)
        nodes._trail_before = {name: len(await nodes._actions(name)) for name in nodes._streams}
        return nodes

    async def call(
        self,
        who: str,
        method: str,
        path: str,
        document: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """One request to the next node."""
        tenant = replace(self.tenant, deployment=self._next())
        answer = await tenant.call(who, method, path, document, headers)
        return self._reply(answer)

    async def grant(self, team: str, grants: Mapping[str, int]) -> Reply:
        """Makes a team's grants exactly these, as a directory file does."""
        entry = TeamEntry(team, workspaces={name: FILE_ACCESS[n - 1] for name, n in grants.items()})
        return await self._apply(OrganizationEntry(self.tenant.organization, teams=(entry,)))

    async def set_status(self, person: str, status: str) -> Reply:
        """Makes a membership invited or active, as a directory file does."""
        members = {self._username(person): Status(status)}
        return await self._apply(OrganizationEntry(self.tenant.organization, members))

    async def disable(self, person: str) -> Reply:
        """Has the operator disable somebody, but no last owner."""
        accounts, who = self._next().services.accounts, self.tenant.users[person]
        return await self._operate(accounts.disable(operator(), who, Disabling()))

    async def enable(self, person: str) -> Reply:
        """The reverse."""
        accounts, who = self._next().services.accounts, self.tenant.users[person]
        return await self._operate(accounts.enable(operator(), who))

    async def revoke(self, who: str) -> None:
        """Ends the caller's token."""
        owner = self._owner_id(who)
        services = self._next().services
        for issued in await services.issued_tokens.list():
            if issued.token.owner_id == owner:
                await services.issued_tokens.revoke(operator(), issued.token.id)

    async def issue(self, who: str) -> None:
        """Gives the caller a new token."""
        if who.endswith("-token"):
            owner = OwnerName(organization=self.tenant.organization, team=who[: -len("-token")])
        else:
            owner = OwnerName(user=self._username(who))
        made = await self._next().services.tokens.create(operator(), owner, None)
        self.tenant.tokens[who] = made.secret  # type: ignore[index]  # our own copy

    async def trail(self) -> dict[str, list[str]]:
        """The actions of the audit since the organization was built, for each of its streams."""
        return {
            name: (await self._actions(name))[before:]
            for name, before in self._trail_before.items()
        }

    def _next(self) -> Deployment:
        self._calls += 1
        return self.deployments[self._calls % len(self.deployments)]

    def member_id(self, person: str, linkage: str) -> str:
        """What names a person in a linkage object of that type."""
        if person == "outsider" and linkage != "users":
            return self.tenant.other_membership
        ids = self.tenant.users if linkage == "users" else self.tenant.memberships
        return ids[person]

    def workspace_id(self, name: str) -> str:
        """The id of a workspace; of another organization's `elsewhere`, and of `nowhere`."""
        others = {"elsewhere": self.tenant.other_workspace, "nowhere": NO_WORKSPACE}
        return {**others, **self.tenant.workspaces}[name]

    @property
    def _streams(self) -> Mapping[str, str]:
        return {**self.tenant.teams, **self.tenant.workspaces}

    async def _actions(self, name: str) -> list[str]:
        wanted = AuditFilter(stream_id=self._streams[name])
        found = await self.deployments[0].services.audit.newest(10_000, wanted)
        # By their numbers: what nodes take for the time may differ by some ms on a busy host.
        entries = sorted(found, key=attrgetter("sequence"))
        return [entry.action for entry in entries if "token" not in entry.action]

    async def _apply(self, entry: OrganizationEntry) -> Reply:
        files = self._next().services.directory
        return await self._operate(files.apply(operator(), Directory((), (entry,)), Options()))

    async def _operate(self, work: Awaitable[object]) -> Reply:
        try:
            await work
        except Refusal as refusal:
            status = STATUS[refusal.kind]
            faults = [(str(status), fault.code.word, fault.pointer) for fault in refusal.faults]
            return Reply(status, faults, None, repr(faults))
        return Reply(204, [], None, "done")

    def _reply(self, answer: httpx.Response) -> Reply:
        text = self._named(answer.text)
        document = json.loads(text) if text else {}
        errors = document.get("errors", [])
        for error in errors:
            del error["id"]
        data = document.get("data")
        if isinstance(data, list) and data and data[0]["type"] != "vars":
            # In the order of ids, which is another in each store.
            ids = [item["id"] for item in json.loads(answer.text)["data"]]
            assert ids == sorted(ids)
            # Of members, the rest of the resource holds times and addresses of each store's own.
            data = [{"type": item["type"], "id": item["id"]} for item in data]
            document["data"] = sorted(data, key=lambda item: str(item["id"]))
        hidden = {"x-request-id", "content-length"}
        headers = {k: self._named(v) for k, v in answer.headers.items() if k not in hidden}
        faults = [(e["status"], e["code"], e.get("source", {}).get("pointer")) for e in errors]
        seen = f"{answer.status_code} {sorted(headers.items())} {json.dumps(document)}"
        return Reply(answer.status_code, faults, _known(document, headers), seen)

    def _named(self, text: str) -> str:
        text = _NAMES_IN_TAG.sub('.names"', text)
        text = text.replace(self.tenant.organization, "organization")
        text = re.sub(r"\b(?:ws|team|user|ou)-\w{16}\b", lambda m: self._names[m[0]], text)
        return _ASSIGNED.sub(self._name_of, text)

    def _name_of(self, found: re.Match[str]) -> str:
        id_ = found[0]
        kind = found[1] or ("head" if len(id_) == 64 else "version")
        if id_ not in self._names:
            number = sum(name.startswith(f"{kind}#") for name in self._names.values())
            self._name(f"{kind}#{number if kind == 'var' else number + 1}", id_)
        return self._names[id_]

    def _name(self, name: str, id_: str) -> None:
        self._names[id_] = name
        self.ids[name] = id_

    def _username(self, person: str) -> str:
        return f"{person}-{self.tenant.organization.removeprefix('org-')}"

    def _owner_id(self, who: str) -> str:
        if who.endswith("-token"):
            return self.tenant.teams[who.removesuffix("-token")]
        return self.tenant.users[who]


def _known(document: Any, headers: Mapping[str, str]) -> Any:
    """What a model has of an answer; what shows a list's head comes with that."""
    of_list = _LIST_TAG.fullmatch(headers.get("etag", ""))
    told = _flat(document["data"]) if "data" in document else document.get("meta")
    return told if of_list is None else (of_list[1], told)


def _flat(data: Any) -> Any:
    """Of a variable its id and attributes, of a linkage its id: what the model has of them."""
    if isinstance(data, list):
        return [_flat(item) for item in data]
    if isinstance(data, dict):
        return {"id": data["id"], **data["attributes"]} if "attributes" in data else data["id"]
    return None
