"""Who may do what: the table of contract §6, for every route there is, on both engines."""

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any
from uuid import uuid4

import httpx
import pytest

from teamvars import wiring
from teamvars.domain.directory import (
    Directory,
    OrganizationEntry,
    TeamEntry,
    UserEntry,
)
from teamvars.domain.team_access import AccessType
from teamvars.domain.teams import Right
from teamvars.domain.tokens import OwnerName
from teamvars.domain.workspaces import Quota
from teamvars.security import keyring
from teamvars.services.directory_files.files import Options
from teamvars.storage.engines import database_for
from teamvars.web.examples import IDS, NEW_NAME
from tests.support.deployment import Deployment, operator
from tests.support.ids import MISSING, Ids, filled, ids_at_hand, ids_of, set_of, tag_of
from tests.support.jobs import runner_document
from tests.support.tenant import ACTIVE, Tenant, build_tenant, linkage_document, variable_document

TOKENLESS = ("nobody", "a bad token")
NOBODY = (*TOKENLESS, "disabled")
OUTSIDE = ("outsider", "invited", "invited_writer", "admin", "other-organization-token")
OWNERS = ("owner", "owners-token", "organization-token")
WRITERS = ("writer", "writers-token")
PLAIN = ("plain", "hidden", "manager")
EVERYONE = (*NOBODY, *OUTSIDE, *PLAIN, "reader", *WRITERS, *OWNERS)
OWNERS_ELSEWHERE = ("outsider", "other-organization-token")

Statuses = Mapping[str, int]


def table(rows: Iterable[tuple[Iterable[str], int]]) -> Statuses:
    """The status for each caller."""
    return {who: status for group, status in rows for who in group}


PUBLIC = table([(EVERYONE, 200)])
READ_VARIABLES = table(
    [(NOBODY, 401), (OUTSIDE, 404), (PLAIN, 404), (["reader"], 200), (WRITERS, 200), (OWNERS, 200)]
)
CHANGE_VARIABLES = table(
    [(NOBODY, 401), (OUTSIDE, 404), (PLAIN, 404), (["reader"], 403), (WRITERS, 200), (OWNERS, 200)]
)
SEE_MEMBERS = table(
    [(NOBODY, 401), (OUTSIDE, 404), (PLAIN, 200), (["reader"], 200), (WRITERS, 200), (OWNERS, 200)]
)
CHANGE_MEMBERS = table(
    [
        (NOBODY, 401),
        (OUTSIDE, 404),
        (["plain", "hidden", "reader"], 403),
        (WRITERS, 403),
        (["manager"], 200),
        (OWNERS, 200),
    ]
)

OWN_ORGANIZATION = table(
    [(NOBODY, 401), (OUTSIDE, 404), ((*PLAIN, "reader", *WRITERS), 403), (OWNERS, 200)]
)
MANAGE_WORKSPACE = table(
    [(NOBODY, 401), ((*OUTSIDE, *PLAIN), 404), (("reader", *WRITERS), 403), (OWNERS, 200)]
)
NO_STATE = table([(EVERYONE, 404), (NOBODY, 401)])
REFUSE_STATE = table(
    [(NOBODY, 401), ((*OUTSIDE, *PLAIN), 404), (("reader", *WRITERS, *OWNERS), 422)]
)
FORBIDDEN = table([(EVERYONE, 403), (NOBODY, 401)])
WHATEVER_IS_VISIBLE = table([(EVERYONE, 200), (NOBODY, 401)])
MEMBERS_ALONE = (*PLAIN, "reader", *WRITERS)
OWN_INVITATION = table(
    [(NOBODY, 401), (OUTSIDE, 404), ((*MEMBERS_ALONE, *OWNERS), 403), (["plain"], 200)]
)
# Whoever holds a link needs no token; here nobody does.
NO_LINK = table([(EVERYONE, 422)])
OWN_TOKENS = table([(EVERYONE, 404), (NOBODY, 401), (["plain"], 200)])
OWNERS_ALONE = table([(EVERYONE, 404), (NOBODY, 401), (OWNERS, 200)])
# As `serve` comes; where owners approve, see tests/services/test_owner_approvals.py.
OPERATORS_ALONE = table([(EVERYONE, 404), (NOBODY, 401), (OWNERS, 403)])
# Here nobody has a token of a job, or a form to send.
JOBS_ALONE = table([(EVERYONE, 401)])
NO_FORM = table([(EVERYONE, 415)])
# Nothing waits with a code here; who is no user is told so before.
USERS_ALONE = table(
    [
        (EVERYONE, 422),
        (NOBODY, 401),
        (("owners-token", "writers-token", "organization-token", "other-organization-token"), 403),
    ]
)
TOKENS_OF_TEAMS = table([(EVERYONE, 404), (NOBODY, 401), (OWNERS, 200)])
SITE_ADMINS = table([(EVERYONE, 403), (NOBODY, 401), (["admin"], 200)])

# The statuses of §6; 200 stands for whichever success the route has.
VARS = "/api/v2/workspaces/{workspace_id}/vars"
MANY_VARS = "/api/v2/workspaces/{workspace_id}/relationships/vars"
NAMED_VARS = "/api/v2/vars"
NAMED_VARIABLE = NAMED_VARS + "/{variable_id}"
VARIABLE = VARS + "/{variable_id}"
MEMBERS = "/api/v2/teams/{team_id}/relationships/"
ORGANIZATIONS = "/api/v2/organizations"
ORGANIZATION = ORGANIZATIONS + "/{organization}"
WORKSPACES = ORGANIZATION + "/workspaces"
WORKSPACE_BY_NAME = WORKSPACES + "/{workspace}"
WORKSPACE = "/api/v2/workspaces/{workspace_id}"
TEAMS = ORGANIZATION + "/teams"
TEAM = "/api/v2/teams/{team_id}"
MEMBERSHIPS = ORGANIZATION + "/organization-memberships"
MEMBERSHIP = "/api/v2/organization-memberships/{membership_id}"
ACCESSES = "/api/v2/team-workspaces"
ACCESS = ACCESSES + "/{team_workspace_id}"
INVITATIONS = "/api/v2/invitations"
USER = "/api/v2/users/{user_id}"
TOKEN_OF = "/authentication-token"
TEAM_TOKENS = ORGANIZATION + "/team-tokens"
TOKEN_LIMITS = ORGANIZATION + "/token-ttl-policies"
TOKEN = "/api/v2/authentication-tokens/{token_id}"
LOGINS = "/api/v2/logins/actions"
LEFT_BEHIND = "/api/v2/organizations/{organization}/users/{user_id}/left-behind"
TAGS = ORGANIZATION + "/tags"
TAG = "/api/v2/tags/{tag_id}"
WORKSPACE_TAGS = WORKSPACE + "/relationships/tags"
BINDINGS = "/tag-bindings"
CONSUMERS = WORKSPACE + "/relationships/remote-state-consumers"
LINKED_BINDINGS = WORKSPACE + "/relationships" + BINDINGS
VARSETS = ORGANIZATION + "/varsets"
VARSET = "/api/v2/varsets/{varset_id}"
SET_VARS = VARSET + "/relationships/vars"
SET_VARIABLE = SET_VARS + "/{set_variable_id}"
INHERITED = WORKSPACE + "/varsets/{varset_id}/relationships/vars"
SET_WORKSPACES = VARSET + "/relationships/workspaces"
SET_PROJECTS = VARSET + "/relationships/projects"
PROJECTS = ORGANIZATION + "/projects"
PROJECT = "/api/v2/projects/{project_id}"
PROJECT_ACCESSES = "/api/v2/team-projects"
PROJECT_ACCESS = PROJECT_ACCESSES + "/{team_project_id}"
RUNNERS = ORGANIZATION + "/runners"
RUNNER = "/api/v2/runners/{runner_id}"
MATRIX: dict[tuple[str, str], Statuses] = {
    ("GET", VARS): READ_VARIABLES,
    ("POST", VARS): CHANGE_VARIABLES,
    ("GET", VARIABLE): READ_VARIABLES,
    ("PATCH", VARIABLE): CHANGE_VARIABLES,
    ("DELETE", VARIABLE): CHANGE_VARIABLES,
    ("GET", ORGANIZATION + "/vars"): SEE_MEMBERS,
    ("GET", MEMBERS + "users"): SEE_MEMBERS,
    ("POST", MEMBERS + "users"): CHANGE_MEMBERS,
    ("DELETE", MEMBERS + "users"): CHANGE_MEMBERS,
    ("GET", MEMBERS + "organization-memberships"): SEE_MEMBERS,
    ("POST", MEMBERS + "organization-memberships"): CHANGE_MEMBERS,
    ("DELETE", MEMBERS + "organization-memberships"): CHANGE_MEMBERS,
    ("GET", "/api/v2/organizations/{organization}/workspaces/{workspace}"): READ_VARIABLES,
    ("GET", "/api/v2/workspaces/{workspace_id}/audit-events"): READ_VARIABLES,
    ("GET", "/api/v2/varsets/{varset_id}/audit-events"): READ_VARIABLES,
    ("GET", TEAM + "/audit-events"): CHANGE_MEMBERS,
    ("GET", "/api/v2/organizations/{organization}/audit-events"): OWN_ORGANIZATION,
    ("GET", WORKSPACE + "/access"): MANAGE_WORKSPACE,
    ("POST", "/api/v2/workspaces/{workspace_id}/actions/check-value"): CHANGE_VARIABLES,
    ("POST", "/api/v2/workspaces/{workspace_id}/actions/apply"): CHANGE_VARIABLES,
    ("POST", "/api/v2/workspaces/{workspace_id}/actions/copy"): CHANGE_VARIABLES,
    ("PATCH", MANY_VARS): CHANGE_VARIABLES,
    ("POST", "/api/v2/workspaces/{workspace_id}/actions/parse"): CHANGE_VARIABLES,
    ("GET", "/"): PUBLIC,
    ("GET", "/healthz"): PUBLIC,
    ("GET", "/metrics"): SITE_ADMINS,
    ("GET", "/readyz"): PUBLIC,
    ("GET", "/openapi.json"): PUBLIC,
    ("GET", "/docs/deprecations"): PUBLIC,
    ("GET", "/api/v2/ping"): PUBLIC,
    ("GET", "/.well-known/terraform.json"): PUBLIC,
    ("GET", ORGANIZATIONS): WHATEVER_IS_VISIBLE,
    ("POST", ORGANIZATIONS): SITE_ADMINS,
    ("GET", ORGANIZATION): SEE_MEMBERS,
    ("PATCH", ORGANIZATION): OWN_ORGANIZATION,
    ("DELETE", ORGANIZATION): OWN_ORGANIZATION,
    ("GET", ORGANIZATION + "/entitlement-set"): SEE_MEMBERS,
    ("GET", WORKSPACES): SEE_MEMBERS,
    ("POST", WORKSPACES): OWN_ORGANIZATION,
    ("PATCH", WORKSPACE_BY_NAME): MANAGE_WORKSPACE,
    ("DELETE", WORKSPACE_BY_NAME): MANAGE_WORKSPACE,
    ("POST", WORKSPACE_BY_NAME + "/actions/safe-delete"): MANAGE_WORKSPACE,
    ("GET", WORKSPACE): READ_VARIABLES,
    ("PATCH", WORKSPACE): MANAGE_WORKSPACE,
    ("DELETE", WORKSPACE): MANAGE_WORKSPACE,
    ("POST", WORKSPACE + "/actions/safe-delete"): MANAGE_WORKSPACE,
    ("POST", WORKSPACE + "/actions/lock"): CHANGE_VARIABLES,
    ("POST", WORKSPACE + "/actions/unlock"): CHANGE_VARIABLES,
    ("POST", WORKSPACE + "/actions/force-unlock"): MANAGE_WORKSPACE,
    ("GET", WORKSPACE + "/all-vars"): READ_VARIABLES,
    ("GET", WORKSPACE + "/effective-vars"): READ_VARIABLES,
    ("GET", WORKSPACE + "/varsets"): READ_VARIABLES,
    ("GET", WORKSPACE + "/applicable-varsets"): READ_VARIABLES,
    ("GET", INHERITED): READ_VARIABLES,
    ("GET", INHERITED + "/{set_variable_id}"): READ_VARIABLES,
    ("GET", VARSETS): SEE_MEMBERS,
    ("POST", VARSETS): OWN_ORGANIZATION,
    ("GET", VARSET): READ_VARIABLES,
    ("PATCH", VARSET): MANAGE_WORKSPACE,
    ("PUT", VARSET): MANAGE_WORKSPACE,
    ("POST", VARSET): MANAGE_WORKSPACE,
    ("POST", VARSET + "/actions/preview"): MANAGE_WORKSPACE,
    ("POST", VARSET + "/actions/apply"): MANAGE_WORKSPACE,
    ("POST", VARSET + "/actions/copy"): MANAGE_WORKSPACE,
    ("POST", VARSET + "/actions/parse"): MANAGE_WORKSPACE,
    ("POST", VARSET + "/actions/check-value"): MANAGE_WORKSPACE,
    ("DELETE", VARSET): MANAGE_WORKSPACE,
    ("GET", SET_VARS): READ_VARIABLES,
    ("POST", SET_VARS): MANAGE_WORKSPACE,
    ("GET", SET_VARIABLE): READ_VARIABLES,
    ("PATCH", SET_VARIABLE): MANAGE_WORKSPACE,
    ("DELETE", SET_VARIABLE): MANAGE_WORKSPACE,
    ("POST", SET_WORKSPACES): MANAGE_WORKSPACE,
    ("DELETE", SET_WORKSPACES): MANAGE_WORKSPACE,
    ("POST", SET_PROJECTS): MANAGE_WORKSPACE,
    ("DELETE", SET_PROJECTS): MANAGE_WORKSPACE,
    ("GET", CONSUMERS): READ_VARIABLES,
    ("POST", CONSUMERS): REFUSE_STATE,
    ("PATCH", CONSUMERS): REFUSE_STATE,
    ("DELETE", CONSUMERS): REFUSE_STATE,
    ("GET", NAMED_VARS): READ_VARIABLES,
    ("POST", NAMED_VARS): CHANGE_VARIABLES,
    ("PATCH", NAMED_VARIABLE): CHANGE_VARIABLES,
    ("DELETE", NAMED_VARIABLE): CHANGE_VARIABLES,
    ("GET", WORKSPACE + "/current-state-version"): NO_STATE,
    ("GET", WORKSPACE + "/current-state-version-outputs"): REFUSE_STATE,
    ("POST", WORKSPACE + "/state-versions"): REFUSE_STATE,
    ("POST", WORKSPACE + "/configuration-versions"): REFUSE_STATE,
    ("GET", PROJECTS): SEE_MEMBERS,
    ("POST", PROJECTS): OWN_ORGANIZATION,
    ("GET", PROJECT): READ_VARIABLES,
    ("GET", PROJECT + "/varsets"): READ_VARIABLES,
    ("PATCH", PROJECT): MANAGE_WORKSPACE,
    ("DELETE", PROJECT): OWNERS_ALONE,
    ("POST", PROJECT + "/relationships/workspaces"): MANAGE_WORKSPACE,
    ("GET", PROJECT + BINDINGS): READ_VARIABLES,
    ("PATCH", PROJECT + BINDINGS): MANAGE_WORKSPACE,
    ("GET", PROJECT + "/effective-tag-bindings"): READ_VARIABLES,
    ("GET", PROJECT + "/relationships" + BINDINGS): READ_VARIABLES,
    ("POST", PROJECT + "/relationships" + BINDINGS): MANAGE_WORKSPACE,
    ("PATCH", PROJECT + "/relationships" + BINDINGS): MANAGE_WORKSPACE,
    ("GET", PROJECT_ACCESSES): READ_VARIABLES,
    ("POST", PROJECT_ACCESSES): OWN_ORGANIZATION,
    ("GET", PROJECT_ACCESS): READ_VARIABLES,
    ("PATCH", PROJECT_ACCESS): MANAGE_WORKSPACE,
    ("DELETE", PROJECT_ACCESS): MANAGE_WORKSPACE,
    ("GET", TAGS): SEE_MEMBERS,
    ("DELETE", TAGS): OWN_ORGANIZATION,
    ("POST", TAG + "/relationships/workspaces"): OWNERS_ALONE,
    ("GET", WORKSPACE_TAGS): READ_VARIABLES,
    ("POST", WORKSPACE_TAGS): MANAGE_WORKSPACE,
    ("DELETE", WORKSPACE_TAGS): MANAGE_WORKSPACE,
    ("GET", WORKSPACE + BINDINGS): READ_VARIABLES,
    ("PATCH", WORKSPACE + BINDINGS): MANAGE_WORKSPACE,
    ("GET", WORKSPACE + "/effective-tag-bindings"): READ_VARIABLES,
    ("GET", LINKED_BINDINGS): READ_VARIABLES,
    ("POST", LINKED_BINDINGS): MANAGE_WORKSPACE,
    ("PATCH", LINKED_BINDINGS): MANAGE_WORKSPACE,
    ("GET", "/api/v2/account/details"): WHATEVER_IS_VISIBLE,
    ("PATCH", "/api/v2/account/update"): FORBIDDEN,
    ("GET", USER): SEE_MEMBERS,
    ("GET", TEAMS): SEE_MEMBERS,
    ("POST", TEAMS): OWN_ORGANIZATION,
    ("GET", TEAM): SEE_MEMBERS,
    ("PATCH", TEAM): OWN_ORGANIZATION,
    ("DELETE", TEAM): OWN_ORGANIZATION,
    ("GET", MEMBERSHIPS): SEE_MEMBERS,
    ("POST", MEMBERSHIPS): OWN_ORGANIZATION,
    ("GET", "/api/v2/organization-memberships"): WHATEVER_IS_VISIBLE,
    ("GET", MEMBERSHIP): SEE_MEMBERS,
    ("DELETE", MEMBERSHIP): OWN_ORGANIZATION,
    ("POST", MEMBERSHIP + "/actions/accept"): OWN_INVITATION,
    ("GET", ACCESSES): READ_VARIABLES,
    ("GET", TEAM + "/team-workspaces"): SEE_MEMBERS,
    ("POST", ACCESSES): OWN_ORGANIZATION,
    ("GET", ACCESS): READ_VARIABLES,
    ("PATCH", ACCESS): MANAGE_WORKSPACE,
    ("DELETE", ACCESS): MANAGE_WORKSPACE,
    ("POST", MEMBERSHIP + "/actions/resend"): OWN_ORGANIZATION,
    ("POST", MEMBERSHIP + "/actions/revoke"): OWN_ORGANIZATION,
    ("GET", "/invitations"): PUBLIC,
    ("POST", INVITATIONS + "/actions/show"): NO_LINK,
    ("POST", INVITATIONS + "/actions/accept"): NO_LINK,
    ("GET", ORGANIZATION + TOKEN_OF): OWN_ORGANIZATION,
    ("POST", ORGANIZATION + TOKEN_OF): OWN_ORGANIZATION,
    ("DELETE", ORGANIZATION + TOKEN_OF): OWN_ORGANIZATION,
    ("GET", TEAM + TOKEN_OF): OWN_ORGANIZATION,
    ("POST", TEAM + TOKEN_OF): OWN_ORGANIZATION,
    ("DELETE", TEAM + TOKEN_OF): OWN_ORGANIZATION,
    ("GET", TEAM + TOKEN_OF + "s"): OWN_ORGANIZATION,
    ("POST", TEAM + TOKEN_OF + "s"): OWN_ORGANIZATION,
    ("GET", TEAM_TOKENS): OWN_ORGANIZATION,
    ("DELETE", TEAM_TOKENS): OWN_ORGANIZATION,
    ("GET", TOKEN_LIMITS): OWN_ORGANIZATION,
    ("PATCH", TOKEN_LIMITS): OWN_ORGANIZATION,
    ("GET", USER + "/authentication-tokens"): OWN_TOKENS,
    ("POST", USER + "/authentication-tokens"): OWN_TOKENS,
    ("POST", USER + "/actions/end-sessions"): OWN_TOKENS,
    ("GET", LEFT_BEHIND): OWN_ORGANIZATION,
    ("DELETE", LEFT_BEHIND): OWN_ORGANIZATION,
    ("GET", TOKEN): TOKENS_OF_TEAMS,
    ("DELETE", TOKEN): TOKENS_OF_TEAMS,
    ("POST", "/oauth/token"): NO_FORM,
    ("POST", "/oauth/device_authorization"): NO_FORM,
    ("POST", "/oauth/revoke"): NO_FORM,
    ("POST", LOGINS + "/show"): USERS_ALONE,
    ("POST", LOGINS + "/approve"): USERS_ALONE,
    ("POST", LOGINS + "/deny"): USERS_ALONE,
    ("POST", WORKSPACE + "/actions/deliver"): JOBS_ALONE,
    ("GET", WORKSPACE + "/actions/deliver"): JOBS_ALONE,
    ("GET", ORGANIZATION + "/deliveries"): OWN_ORGANIZATION,
    ("GET", WORKSPACE + "/deliveries"): READ_VARIABLES,
    ("GET", RUNNER + "/audit-events"): OWNERS_ALONE,
    ("GET", RUNNERS): OWN_ORGANIZATION,
    ("POST", RUNNERS): OWN_ORGANIZATION,
    ("GET", WORKSPACE + "/runners"): READ_VARIABLES,
    ("GET", RUNNER): OWNERS_ALONE,
    ("PATCH", RUNNER): OWNERS_ALONE,
    ("DELETE", RUNNER): OWNERS_ALONE,
    ("POST", RUNNER + "/actions/approve"): OPERATORS_ALONE,
    ("POST", RUNNER + "/actions/revoke"): OWNERS_ALONE,
    ("GET", RUNNER + "/relationships/workspaces"): OWNERS_ALONE,
    ("POST", RUNNER + "/relationships/workspaces"): OWNERS_ALONE,
    ("PATCH", RUNNER + "/relationships/workspaces"): OWNERS_ALONE,
    ("DELETE", RUNNER + "/relationships/workspaces"): OWNERS_ALONE,
}
# What not every tenant has, and `ids_of` makes.
MADE = re.compile("{(variable|varset|team_workspace|team_project)_id}")
# What is done to an invitation, of which `own` makes a new one each time.
RENEWAL = re.compile("/actions/(resend|revoke)$")
# Whoever may do this leaves nothing behind for the next one who asks.
DESTRUCTIVE = {
    ("DELETE", TEAM),
    ("DELETE", MEMBERSHIP),
    ("POST", ACCESSES),
    ("DELETE", ACCESS),
    ("POST", PROJECT_ACCESSES),
    ("DELETE", PROJECT_ACCESS),
    ("POST", ORGANIZATION + TOKEN_OF),
    ("DELETE", ORGANIZATION + TOKEN_OF),
    ("DELETE", TOKEN),
    ("DELETE", RUNNER),
    ("DELETE", VARSET),
    ("DELETE", SET_VARIABLE),
    ("DELETE", TAGS),
} | {
    (method, template)
    for method, template in MATRIX
    if (method, template.removesuffix("/actions/safe-delete"))
    in {(m, t) for m in ("DELETE", "POST") for t in (ORGANIZATION, WORKSPACE_BY_NAME, WORKSPACE)}
}


def all_routes() -> dict[tuple[str, str], object]:
    """Every route of the service, as it is put together, with the example of what it takes."""
    keys = keyring.generate()
    services = wiring.services(database_for("sqlite:////nowhere"), keys, Quota(None, None))
    return {
        (route.method, route.template): route.takes and route.takes.example
        for route in wiring.routes(services)
    }


EXAMPLES = all_routes()
ROUTES = list(EXAMPLES)
WITH_ROWS = [route for route in ROUTES if route in MATRIX]
TARGETED = [route for route in WITH_ROWS if "{" in route[1] and MATRIX[route] is not JOBS_ALONE]
# What somebody's own is: owners have no say in it.
BEYOND_OWNERS = [route for route in TARGETED if MATRIX[route] is OWN_TOKENS]


@pytest.fixture(scope="module")
async def shared(deployment: Deployment) -> Tenant:
    """A tenant for tests that leave who may do what as it was."""
    return await build_tenant(deployment)


async def own(tenant: Tenant, template: str = VARIABLE, there: Ids | None = None) -> Ids:
    """What a path stands for in the tenant's own organization; `there` is what `ids_of` has found
    in it, if somebody has asked.
    """
    ids = ids_at_hand(tenant)
    if MADE.search(template):
        ids = dict(there or await ids_of(tenant))
    if "copy" in template:
        ids["source_id"] = await source_of_writers(tenant)
    if RENEWAL.search(template):
        ids["membership_id"] = await pending_of(tenant)
    await add_made(tenant, "owner", template, ids)
    lacking = [name for name in re.findall(r"{(\w+)}", template) if ids[name] == MISSING[name]]
    assert not lacking, f"ids_of in tests/support/ids.py has no {', '.join(lacking)} of the tenant"
    return ids


async def add_made(tenant: Tenant, owner: str, template: str, ids: dict[str, str]) -> None:
    """Adds what a path stands for that an owner has to make in either organization."""
    if "{token_id}" in template or template in (TEAM + TOKEN_OF, TEAM_TOKENS):
        ids["token_id"] = await token_of(tenant, owner, ids["team_id"])
    if "{runner_id}" in template:
        ids["runner_id"] = await runner_of(tenant, owner, ids["workspace_id"])
    if template.startswith((TAG, TAGS)):
        ids["tag_id"] = await tag_of(tenant, owner, ids["workspace_id"])


async def runner_of(tenant: Tenant, owner: str, workspace_id: str) -> str:
    """A runner of the workspace's organization, which may only have so many."""
    organization = tenant.organization if owner == "owner" else tenant.other_organization
    path = f"/organizations/{organization}/runners"
    there = (await tenant.call(owner, "GET", path)).json()["data"]
    if not there:
        made = await tenant.call(owner, "POST", path, runner_document(workspace_id))
        there = [made.json()["data"]]
    id_: str = there[0]["id"]
    return id_


async def pending_of(tenant: Tenant) -> str:
    """A new invitation."""
    path = f"/organizations/{tenant.organization}/organization-memberships"
    id_: str = (await tenant.call("owner", "POST", path, invitation())).json()["data"]["id"]
    return id_


async def source_of_writers(tenant: Tenant) -> str:
    """A workspace that those may write who may write `network`."""
    id_ = await another_workspace(tenant, "owner", tenant.organization)
    document = access_document(tenant.teams["writers"], id_)
    await tenant.call("owner", "POST", "/team-workspaces", document)
    return id_


@dataclass
class Targets:
    """What paths stand for in a tenant's own organization, as long as nobody changes it."""

    tenant: Tenant
    there: Ids | None = None

    async def of(self, template: str) -> Ids:
        """As `own`."""
        if MADE.search(template):
            self.there = self.there or await ids_of(self.tenant)
        return await own(self.tenant, template, self.there)


async def token_of(tenant: Tenant, owner: str, team_id: str) -> str:
    """A new token of the team."""
    made = await tenant.call(owner, "POST", f"/teams/{team_id}/authentication-token")
    id_: str = made.json()["data"]["id"]
    return id_


async def elsewhere(tenant: Tenant, template: str = VARIABLE) -> Ids:
    """The same in the other organization."""
    if "vars" not in template and template.startswith(
        (TEAM, MEMBERSHIP, ACCESS, PROJECT_ACCESS, TOKEN, USER)
    ):
        return await elsewhere_in_the_directory(tenant, template)
    ids = ids_elsewhere(tenant)
    if template in (VARIABLE, NAMED_VARIABLE):
        path = f"/workspaces/{tenant.other_workspace}/vars"
        made = await tenant.call("outsider", "POST", path, variable_document(key=uuid4().hex))
        ids["variable_id"] = made.json()["data"]["id"]
    if "copy" in template:
        ids["source_id"] = await another_workspace(tenant, "outsider", ids["organization"])
    if "{varset_id}" in template:
        ids |= await set_of(tenant, "outsider", ids["organization"], ids["workspace_id"])
    await add_made(tenant, "outsider", template, ids)
    return ids


def ids_elsewhere(tenant: Tenant) -> dict[str, str]:
    """Those of what the other organization has at first."""
    return {
        **MISSING,
        "organization": tenant.other_organization,
        "workspace": "elsewhere",
        "workspace_id": tenant.other_workspace,
        "project_id": tenant.other_project,
        "team_id": tenant.other_team,
        "user_id": tenant.users["outsider"],
    }


async def another_workspace(tenant: Tenant, owner: str, organization: str) -> str:
    """A new workspace of an organization."""
    path = f"/organizations/{organization}/workspaces"
    document = {"data": {"type": "workspaces", "attributes": {"name": uuid4().hex}}}
    id_: str = (await tenant.call(owner, "POST", path, document)).json()["data"]["id"]
    return id_


async def elsewhere_in_the_directory(tenant: Tenant, template: str) -> Ids:
    """What the path names is made anew, since somebody may take it away."""

    async def make(path: str, document: object) -> str:
        made = await tenant.call("outsider", "POST", path, document)
        id_: str = made.json()["data"]["id"]
        return id_

    organization = f"/organizations/{tenant.other_organization}"
    ids = ids_elsewhere(tenant)
    if template.startswith(USER):
        return ids
    if template.startswith(MEMBERSHIP):
        memberships = f"{organization}/organization-memberships"
        return {**ids, "membership_id": await make(memberships, invitation())}
    attributes = {"name": uuid4().hex, "visibility": "organization"}
    new_team = {"data": {"type": "teams", "attributes": attributes}}
    ids["team_id"] = team_id = await make(f"{organization}/teams", new_team)
    if template.startswith(ACCESS):
        access = access_document(team_id, tenant.other_workspace)
        ids["team_workspace_id"] = await make("/team-workspaces", access)
    if template.startswith(PROJECT_ACCESS):
        access = access_document(team_id, tenant.other_project, "project")
        ids["team_project_id"] = await make("/team-projects", access)
    await add_made(tenant, "outsider", template, ids)
    return ids


def invitation() -> object:
    attributes = {"email": f"{uuid4().hex}@example.com"}
    return {"data": {"type": "organization-memberships", "attributes": attributes}}


def access_document(team_id: str, place_id: str, noun: str = "workspace") -> object:
    relationships = {
        "team": {"data": {"type": "teams", "id": team_id}},
        noun: {"data": {"type": f"{noun}s", "id": place_id}},
    }
    attributes = {"access": "read"}
    data = {"type": f"team-{noun}s", "attributes": attributes, "relationships": relationships}
    return {"data": data}


SOURCE = {"source": {"data": {"type": "workspaces", "id": IDS["source_id"]}}}
COPY = {"data": {"type": "copies", "relationships": SOURCE}}
# What a route is sent where it has no example, or one that names what is not there, or that would
# change who may do what.
INSTEAD: Mapping[tuple[str, str], object] = {
    **dict.fromkeys(
        (
            ("PATCH", MANY_VARS),
            ("POST", PROJECT + "/relationships/workspaces"),
            ("DELETE", RUNNER + "/relationships/workspaces"),
            *product(("POST", "DELETE"), (SET_WORKSPACES, SET_PROJECTS)),
            *product(("POST", "PATCH", "DELETE"), (CONSUMERS,)),
        ),
        linkage_document(),  # of nothing
    ),
    ("POST", WORKSPACE + "/actions/copy"): COPY,
    ("POST", VARSET + "/actions/copy"): COPY,
    ("PATCH", ACCESS): {"data": {"type": "team-workspaces"}},
    ("PATCH", PROJECT_ACCESS): {"data": {"type": "team-projects"}},
    ("POST", RUNNERS): runner_document(IDS["workspace_id"], name=NEW_NAME),
}
# What examples call what is to be new.
NEW = re.compile(f"{NEW_NAME}|some_key|OTHER_KEY|for a robot")


def document(route: tuple[str, str], target: Ids, member: str) -> Any:
    """A body that is good wherever the caller may send it: that of the example, of the target."""
    if route[0] != "GET" and route[1].startswith(MEMBERS):
        return linkage_document(*([member] if member else []), type_=route[1].rpartition("/")[2])
    said = json.dumps(INSTEAD.get(route, EXAMPLES.get(route)))
    for name, example in IDS.items():
        if name.endswith("_id"):
            said = said.replace(example, target[name])
    return json.loads(NEW.sub(uuid4().hex, said))


async def ask(
    tenant: Tenant, who: str, route: tuple[str, str], target: Ids, member: str = ""
) -> httpx.Response:
    method, template = route
    if route == ("DELETE", PROJECT) and target is not MISSING:
        target = {**target, "project_id": await empty_project(tenant, target["organization"])}
    path = filled(template, target)
    if route == ("GET", ACCESSES):
        path += f"?filter[workspace][id]={target['workspace_id']}"
    if route == ("GET", PROJECT_ACCESSES):
        path += f"?filter[project][id]={target['project_id']}"
    if route == ("GET", NAMED_VARS):
        path += f"?filter[organization][name]={target['organization']}"
        path += f"&filter[workspace][name]={target['workspace']}"
    if route == ("DELETE", ORGANIZATION):
        path += "?force=true"
    body = document(route, target, member)
    headers = {}
    if who == "a bad token":
        headers["Authorization"] = "Bearer tvu_nonsense"
    token = None if who in TOKENLESS else who
    return await tenant.call(token, method, f"http://teamvars.test{path}", body, headers)


async def empty_project(tenant: Tenant, organization: str) -> str:
    """A new project, which can be deleted."""
    owner = "owner" if organization == tenant.organization else "outsider"
    document = {"data": {"type": "projects", "attributes": {"name": uuid4().hex}}}
    path = f"/organizations/{organization}/projects"
    id_: str = (await tenant.call(owner, "POST", path, document)).json()["data"]["id"]
    return id_


async def locked_as_needed(tenant: Tenant, who: str, owner: str, route: tuple[str, str]) -> None:
    """Locks or unlocks the workspaces so that the action of the route has something to do."""
    if not route[1].endswith("lock"):
        return
    for workspace_id in (tenant.workspaces["network"], tenant.other_workspace):
        actions = f"/workspaces/{workspace_id}/actions"
        await tenant.call(owner, "POST", f"{actions}/force-unlock")
        if route[1].endswith("/unlock") and who not in NOBODY:
            await tenant.call(who, "POST", f"{actions}/lock")
        if route[1].endswith("/force-unlock"):
            await tenant.call(owner, "POST", f"{actions}/lock")


def outcome(answer: httpx.Response) -> int:
    """The status; 200 for every success."""
    return 200 if answer.is_success else answer.status_code


def test_every_route_has_its_row() -> None:
    missing = set(ROUTES) - MATRIX.keys()
    assert not missing, "Say in MATRIX who may do this, as contract §6 has it."


def test_every_row_speaks_of_every_caller() -> None:
    assert all(row.keys() == set(EVERYONE) for row in MATRIX.values())


@dataclass
class Trial:
    """Everybody tries a route on one target, until somebody changes what there was of it."""

    shared: Tenant
    route: tuple[str, str]
    owner: str
    target_of: Callable[[Tenant, str], Awaitable[Ids]]

    async def outcomes(self, expected: Statuses) -> Statuses:
        """What each caller is told; who leaves nothing behind has a tenant of their own."""
        found, target = {}, None
        for who in EVERYONE:
            if self.route in DESTRUCTIVE and expected[who] == 200:
                alone = await build_tenant(self.shared.deployment)
                found[who] = await self._told(alone, who, await self._target(alone))
                continue
            target = target or await self._target(self.shared)
            found[who] = await self._told(self.shared, who, target)
            if found[who] == 200 and self.route[0] != "GET":
                target = None
        return found

    async def _target(self, tenant: Tenant) -> Ids:
        return await self.target_of(tenant, self.route[1])

    async def _told(self, tenant: Tenant, who: str, target: Ids) -> int:
        await locked_as_needed(tenant, who, self.owner, self.route)
        return outcome(await ask(tenant, who, self.route, target, self._member(tenant)))

    def _member(self, tenant: Tenant) -> str:
        """Whom to add to a team or to take out of it; of another organization, nobody."""
        if self.owner != "owner":
            return ""
        by_membership = self.route[1].endswith("memberships")
        return (tenant.memberships if by_membership else tenant.users)["plain"]


@pytest.mark.parametrize("route", WITH_ROWS, ids=" ".join)
async def test_in_an_organization_each_caller_may_do_what_the_table_says(
    shared: Tenant, route: tuple[str, str]
) -> None:
    trial = Trial(shared, route, "owner", own)
    assert await trial.outcomes(MATRIX[route]) == MATRIX[route]


MANAGED_BY_RIGHT: Mapping[Right, Sequence[str]] = {
    Right.MANAGE_WORKSPACES: (WORKSPACES, WORKSPACE, TAGS, TAG),
    Right.MANAGE_PROJECTS: (PROJECTS, PROJECT),
    Right.MANAGE_TEAMS: (TEAMS, TEAM, TOKEN),
    Right.MANAGE_ORGANIZATION_ACCESS: (TEAMS, TEAM, TOKEN),
}
"""Paths under which a member who was given the right may do what owners do."""
LEFT_TO_OWNERS = {
    ("POST", PROJECT + "/relationships/workspaces"),  # or to whoever has two rights
    ("GET", WORKSPACE + "/access"),
    ("GET", TEAM + "/audit-events"),
}


def with_right(right: Right, route: tuple[str, str]) -> int:
    """What a member is answered who has no grant, and that right in the organization."""
    row = MATRIX[route]
    if row["plain"] == 200:
        return 200
    if row["owner"] == 200 and route not in LEFT_TO_OWNERS:
        managed = MANAGED_BY_RIGHT.get(right, ())
        if any(route[1] == path or route[1].startswith(f"{path}/") for path in managed):
            return 200
    if route[1].startswith((PROJECT, PROJECT_ACCESSES)) and right in (
        Right.READ_PROJECTS,
        Right.MANAGE_PROJECTS,
    ):
        return 200 if route[0] == "GET" else 403
    alike = {Right.READ_WORKSPACES: "reader", Right.MANAGE_WORKSPACES: "writer"}
    return row[alike.get(right, "plain")]


async def given(deployment: Deployment, right: Right) -> Tenant:
    """A tenant where `plain` is in a team with that right."""
    tenant = await build_tenant(deployment)
    attributes = {"name": "given", "organization-access": {right.value: True}}
    document = {"data": {"type": "teams", "attributes": attributes}}
    path = f"/organizations/{tenant.organization}/teams"
    made = (await tenant.call("owner", "POST", path, document)).json()["data"]["id"]
    member = linkage_document(tenant.users["plain"])
    await tenant.call("owner", "POST", f"/teams/{made}/relationships/users", member)
    return tenant


@pytest.mark.parametrize("right", [one for one in Right if one is not Right.MANAGE_MEMBERSHIP])
async def test_a_right_in_the_organization_gives_what_it_says_and_nothing_else(
    shared: Tenant, right: Right
) -> None:
    tenant = await given(shared.deployment, right)
    targets = Targets(tenant)
    found, expected = {}, {}
    for route in WITH_ROWS:
        expected[route] = with_right(right, route)
        one = targets
        if route in DESTRUCTIVE and expected[route] == 200:
            one = Targets(await given(shared.deployment, right))
        await locked_as_needed(one.tenant, "plain", "owner", route)
        by_membership = route[1].endswith("memberships")
        member = (one.tenant.memberships if by_membership else one.tenant.users)["reader"]
        answer = await ask(one.tenant, "plain", route, await one.of(route[1]), member)
        found[route] = outcome(answer)
        if answer.is_success and route[0] != "GET":
            targets = Targets(tenant)
    assert found == expected


@pytest.mark.parametrize("route", TARGETED, ids=" ".join)
async def test_in_another_organization_only_its_own_owners_may_do_anything(
    shared: Tenant, route: tuple[str, str]
) -> None:
    row = MATRIX[route]
    expected = {
        who: row["owner"] if who in OWNERS_ELSEWHERE else row[who] if who in NOBODY else 404
        for who in EVERYONE
    }
    found = await Trial(shared, route, "outsider", elsewhere).outcomes(expected)
    if route in BEYOND_OWNERS:
        expected["outsider"] = 200  # the one whose tokens they are
    assert found == expected


@pytest.mark.parametrize("route", TARGETED, ids=" ".join)
async def test_what_a_caller_may_not_see_looks_like_what_is_not_there(
    shared: Tenant, route: tuple[str, str]
) -> None:
    hidden = [
        await ask(shared, who, route, target)
        for target in (await own(shared, route[1]), await elsewhere(shared, route[1]))
        for who in ("invited", "admin")
    ]
    missing = [await ask(shared, who, route, MISSING) for who in ("invited", "admin", "owner")]
    looks = [look(answer) for answer in (*hidden, *missing)]
    assert all(one == looks[0] for one in looks)
    assert hidden[0].status_code == 404
    stranger = await ask(shared, "a bad token", route, MISSING)
    assert stranger.status_code == MATRIX[route]["a bad token"]


def look(answer: httpx.Response) -> object:
    """An answer but for the ids of the request and of the error."""
    headers = {name: value for name, value in answer.headers.items() if name != "x-request-id"}
    errors = [{**error, "id": None} for error in answer.json()["errors"]]
    return answer.status_code, headers, errors


async def test_a_variable_that_is_not_there_looks_the_same_to_reader_and_writer(
    shared: Tenant,
) -> None:
    target = await own(shared)
    foreign = (await elsewhere(shared))["variable_id"]
    answers = [
        await shared.call(who, method, f"{shared.vars_path()}/{id_}", body)
        for who in ("reader", "writer")
        for id_ in (MISSING["variable_id"], foreign)
        for method, body in (
            ("GET", None),
            ("DELETE", None),
            ("PATCH", {"data": {"type": "vars", "id": target["variable_id"], "attributes": {}}}),
        )
    ]
    looks = [look(answer) for answer in answers]
    assert all(one == looks[0] for one in looks)


def team(tenant: Tenant, name: str) -> Ids:
    return {**ids_at_hand(tenant), "team_id": tenant.teams[name]}


@pytest.mark.parametrize("by", ["users", "organization-memberships"])
async def test_a_secret_team_is_seen_by_its_members_and_owners_alone(
    shared: Tenant, by: str
) -> None:
    route = "GET", MEMBERS + by
    secret = team(shared, "secret")
    found = {who: outcome(await ask(shared, who, route, secret)) for who in EVERYONE}
    seen = dict.fromkeys(("hidden", *OWNERS), 200)
    assert found == dict.fromkeys(EVERYONE, 404) | dict.fromkeys(NOBODY, 401) | seen


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_a_secret_team_is_changed_by_owners_alone(shared: Tenant, method: str) -> None:
    route = method, MEMBERS + "users"
    secret = team(shared, "secret")
    found = {who: outcome(await ask(shared, who, route, secret)) for who in EVERYONE}
    seen = {"hidden": 403} | dict.fromkeys(OWNERS, 200)
    assert found == dict.fromkeys(EVERYONE, 404) | dict.fromkeys(NOBODY, 401) | seen


@pytest.mark.parametrize("method", ["POST", "DELETE"])
@pytest.mark.parametrize("by", ["users", "organization-memberships"])
async def test_the_owners_team_is_changed_by_owners_alone(
    shared: Tenant, method: str, by: str
) -> None:
    """Who manages membership is refused as well."""
    route = method, MEMBERS + by
    owners = team(shared, "owners")
    found = {who: outcome(await ask(shared, who, route, owners)) for who in EVERYONE}
    outside = dict.fromkeys(OUTSIDE, 404) | dict.fromkeys(NOBODY, 401)
    assert found == dict.fromkeys(EVERYONE, 403) | outside | dict.fromkeys(OWNERS, 200)


async def apply(tenant: Tenant, *teams: TeamEntry, **more: Any) -> None:
    """Changes the organization as an operator does."""
    entry = OrganizationEntry(tenant.organization, teams=teams, **more)
    users = tuple(UserEntry(name) for name in more.get("members", {}))
    await tenant.deployment.services.directory.apply(
        operator(), Directory(users, (entry,)), Options()
    )


def username(tenant: Tenant, person: str) -> str:
    return f"{person}-{tenant.organization.removeprefix('org-')}"


async def listing(tenant: Tenant, who: str, workspace: str = "network") -> int:
    return (await tenant.call(who, "GET", tenant.vars_path(workspace))).status_code


async def test_whoever_accepts_an_invitation_has_the_rights_of_their_teams_at_once(
    tenant: Tenant,
) -> None:
    before = await listing(tenant, "invited_writer")
    await apply(tenant, members={username(tenant, "invited_writer"): ACTIVE})
    assert (before, await listing(tenant, "invited_writer")) == (404, 200)


async def test_whoever_leaves_a_team_has_lost_its_rights_by_the_next_request(
    tenant: Tenant,
) -> None:
    document = linkage_document(tenant.users["writer"])
    assert await listing(tenant, "writer") == 200
    answer = await tenant.call("owner", "DELETE", tenant.linkage_path("writers"), document)
    assert answer.status_code == 204
    assert await listing(tenant, "writer") == 404
    assert await listing(tenant, "writers-token") == 200


async def test_whoever_joins_a_team_has_its_rights_by_the_next_request(tenant: Tenant) -> None:
    """A holder of manage-membership may so gain what the team has: by design."""
    document = linkage_document(tenant.users["manager"])
    assert await listing(tenant, "manager") == 404
    answer = await tenant.call("manager", "POST", tenant.linkage_path("writers"), document)
    assert answer.status_code == 204
    assert await listing(tenant, "manager") == 200


async def test_a_user_has_what_any_of_their_teams_has(tenant: Tenant) -> None:
    document = linkage_document(tenant.users["reader"])
    await tenant.call("owner", "POST", tenant.linkage_path("writers"), document)
    answer = await tenant.call("reader", "POST", tenant.vars_path(), variable_document())
    assert answer.status_code == 201


async def test_a_new_owner_may_do_everything_and_a_former_one_nothing(tenant: Tenant) -> None:
    document = linkage_document(tenant.users["plain"])
    await tenant.call("owner", "POST", tenant.linkage_path("owners"), document)
    assert await listing(tenant, "plain", "payments") == 200
    mine = linkage_document(tenant.users["owner"])
    answer = await tenant.call("plain", "DELETE", tenant.linkage_path("owners"), mine)
    assert answer.status_code == 204
    assert await listing(tenant, "owner", "payments") == 404


async def test_a_grant_is_to_one_workspace(tenant: Tenant) -> None:
    statuses = [await listing(tenant, who, "payments") for who in ("reader", *WRITERS, *OWNERS)]
    assert statuses == [404, 404, 404, 200, 200, 200]


async def test_the_token_of_a_team_has_its_flags_and_sees_what_its_members_see(
    tenant: Tenant,
) -> None:
    tokens = tenant.deployment.services.tokens
    secrets = {}
    for team in ("managers", "secret", "crew"):
        owner = OwnerName(organization=tenant.organization, team=team)
        secrets[team] = (await tokens.create(operator(), owner, None)).secret

    async def status(team: str, method: str, of: str) -> int:
        headers = {"Authorization": f"Bearer {secrets[team]}"}
        body = linkage_document(tenant.users["plain"]) if method == "POST" else None
        path = tenant.linkage_path(of)
        return (await tenant.call(None, method, path, body, headers)).status_code

    assert await status("managers", "POST", "crew") == 204
    assert await status("managers", "POST", "owners") == 403
    assert await status("managers", "POST", "secret") == 404
    assert await status("secret", "GET", "secret") == 200
    assert await status("secret", "POST", "secret") == 403
    assert await status("crew", "GET", "secret") == 404
    assert await status("crew", "GET", "owners") == 200
    assert await status("crew", "POST", "crew") == 403


async def test_a_member_of_a_secret_team_may_manage_it_with_manage_membership(
    tenant: Tenant,
) -> None:
    hidden = linkage_document(tenant.users["hidden"])
    await tenant.call("owner", "POST", tenant.linkage_path("managers"), hidden)
    plain = linkage_document(tenant.users["plain"])
    answer = await tenant.call("hidden", "POST", tenant.linkage_path("secret"), plain)
    assert answer.status_code == 204


async def test_manage_membership_counts_only_in_its_own_organization(tenant: Tenant) -> None:
    await apply(
        tenant, TeamEntry("managers", members=()), TeamEntry("crew", manage_membership=True)
    )
    document = linkage_document(tenant.users["plain"])
    answer = await tenant.call("manager", "POST", tenant.linkage_path(), document)
    assert answer.status_code == 403
    path = f"/teams/{tenant.other_team}/relationships/users"
    assert (await tenant.call("manager", "POST", path, document)).status_code == 404


async def test_changed_settings_of_a_team_count_by_the_next_request(tenant: Tenant) -> None:
    await apply(tenant, TeamEntry("readers", workspaces={"payments": AccessType.WRITE}))
    assert await listing(tenant, "reader", "payments") == 200
    assert await listing(tenant, "reader", "network") == 404
    await apply(tenant, TeamEntry("managers", manage_membership=False))
    answer = await tenant.call("manager", "POST", tenant.linkage_path(), linkage_document())
    assert answer.status_code == 403
