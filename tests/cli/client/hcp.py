"""Answers of HCP Terraform's API to what `migrate-from` asks, as its documentation has them.

The pages of developer.hashicorp.com/terraform/cloud-docs/api-docs of November 2026: projects,
workspaces, tags, variables, variable sets, teams, team access and project team access.
"""

from collections.abc import Mapping
from typing import Any

from tests.cli.client.stubs import Answer

ORGANIZATION = ("organizations", "there")
UNPAGED = ("/vars", "/tag-bindings", "team-workspaces")
"""Paths of lists that are whole, without a word of pages."""


def resource(kind: str, id_: str, attributes: Any, **links: Any) -> dict[str, Any]:
    """A resource; each link is a pair of type and id, a list of these, None, or a path."""

    def linked(link: Any) -> Any:
        if isinstance(link, str):
            return {"links": {"related": f"/api/v2/{link}"}}
        return {"data": data(link)}

    def data(link: Any) -> Any:
        if isinstance(link, list):
            return [data(each) for each in link]
        return link and {"type": link[0], "id": link[1]}

    relationships = {name.replace("_", "-"): linked(link) for name, link in links.items()}
    links_ = {"self": f"/api/v2/{kind}/{id_}"}
    return {
        "id": id_,
        "type": kind,
        "attributes": attributes,
        "relationships": relationships,
        "links": links_,
    }


def project(id_: str, name: str, **said: Any) -> dict[str, Any]:
    """A project; its tags are at a path of their own."""
    its = {
        "name": name,
        "description": None,
        "workspace-count": 2,
        "team-count": 1,
        "default-execution-mode": "remote",
        "stacks-default-execution-mode": "remote",
        "setting-overwrites": {"execution-mode": False, "stacks-execution-mode": False},
        "permissions": {"can-update": True, "can-destroy": True, "can-create-workspace": True},
    }
    return resource(
        "projects",
        id_,
        {**its, **said},
        organization=ORGANIZATION,
        default_agent_pool=None,
        tag_bindings=f"projects/{id_}/tag-bindings",
        effective_tag_bindings=f"projects/{id_}/effective-tag-bindings",
    )


def workspace(id_: str, name: str, **said: Any) -> dict[str, Any]:
    """A workspace of the project `prj-1`."""
    its = {
        "name": name,
        "actions": {"is-destroyable": True},
        "auto-apply": False,
        "auto-destroy-at": None,
        "created-at": "2026-08-16T21:22:49.566Z",
        "description": None,
        "environment": "default",
        "execution-mode": "agent",
        "global-remote-state": False,
        "latest-change-at": "2026-08-16T21:22:49.566Z",
        "locked": True,
        "locked-reason": None,
        "operations": True,
        "permissions": {"can-update": True, "can-read-variable": True, "can-manage-tags": True},
        "resource-count": 10,
        "setting-overwrites": {"execution-mode": True, "agent-pool": True},
        "source": "tfe-api",
        "tag-names": [],
        "terraform-version": "1.14.0",
        "trigger-prefixes": [],
        "vcs-repo": None,
        "working-directory": None,
    }
    return resource(
        "workspaces",
        id_,
        {**its, **said},
        organization=ORGANIZATION,
        project=("projects", "prj-1"),
        agent_pool=("agent-pools", "apool-1"),
        current_run=None,
        locked_by=("users", "user-1"),
        outputs=[("workspace-outputs", "wsout-1")],
        readme=None,
        remote_state_consumers=f"workspaces/{id_}/relationships/remote-state-consumers",
        vars=[("vars", "var-1")],
    )


def variable(id_: str, key: str, **said: Any) -> dict[str, Any]:
    """A variable of a workspace or set."""
    its = {
        "key": key,
        "value": "",
        "sensitive": False,
        "category": "terraform",
        "hcl": False,
        "created-at": "2026-08-16T21:22:49.566Z",
        "description": None,
        "version-id": "1aa07d63ea8ff4df941c94ca9ddfd5d2bd04",
    }
    return resource("vars", id_, {**its, **said}, configurable=("workspaces", "ws-1"))


def variable_set(id_: str, name: str, **links: Any) -> dict[str, Any]:
    """A set of the organization; stacks are nothing that there is here."""
    its = {
        "name": name,
        "description": None,
        "global": False,
        "priority": True,
        "updated-at": "2026-08-16T21:22:49.566Z",
        "var-count": 3,
        "workspace-count": 1,
        "project-count": 0,
    }
    linked = {
        "organization": ORGANIZATION,
        "parent": ORGANIZATION,
        "vars": [("vars", "var-90")],
        "workspaces": [("workspaces", "ws-2")],
        "projects": [],
        "stacks": [("stacks", "st-1")],
    }
    return resource("varsets", id_, its, **{**linked, **links})


def team(id_: str, name: str, *rights: str, **said: Any) -> dict[str, Any]:
    """A team with these rights in the organization, of all that there are."""
    all_ = (
        *("manage-policies", "manage-policy-overrides", "manage-run-tasks", "manage-workspaces"),
        *("manage-vcs-settings", "manage-agent-pools", "manage-providers", "manage-modules"),
        *("manage-projects", "read-projects", "read-workspaces", "manage-membership"),
        *("manage-teams", "manage-organization-access", "access-secret-teams"),
    )
    its = {
        "name": name,
        "sso-team-id": None,
        "users-count": 0,
        "visibility": "secret",
        "allow-member-token-management": True,
        "permissions": {"can-update-membership": True, "can-destroy": True},
        "organization-access": {right: right in rights for right in all_},
    }
    return resource("teams", id_, {**its, **said}, users=[])


def team_workspace(id_: str, access: str, **said: Any) -> dict[str, Any]:
    """What the team `team-2` may do in the workspace `ws-1`."""
    its = {
        "access": access,
        "runs": "apply",
        "variables": "none",
        "state-versions": "none",
        "sentinel-mocks": "none",
        "workspace-locking": False,
        "run-tasks": False,
    }
    links = {"team": ("teams", "team-2"), "workspace": ("workspaces", "ws-1")}
    return resource("team-workspaces", id_, {**its, **said}, **links)


def team_project(id_: str, access: str, **said: Any) -> dict[str, Any]:
    """What the team `team-2` may do in the project `prj-1`."""
    its = {
        "access": access,
        "project-access": {"settings": "delete", "teams": "manage", "variable-sets": "read"},
        "workspace-access": {
            "create": True,
            "move": False,
            "locking": True,
            "delete": False,
            "runs": "apply",
            "variables": "write",
            "state-versions": "write",
            "sentinel-mocks": "read",
            "run-tasks": False,
        },
    }
    links = {"team": ("teams", "team-2"), "project": ("projects", "prj-1")}
    return resource("team-projects", id_, {**its, **said}, **links)


def binding(key: str, value: str) -> dict[str, Any]:
    """A tag that has a value, as it is listed: without an id."""
    said = {"key": key, "value": value, "created-at": "2026-08-16T21:22:49.566Z"}
    return {"type": "tag-bindings", "attributes": said}


class Hcp:
    """A small organization, by path: a list, one resource, or a status and a document."""

    def __init__(self) -> None:
        cloud = variable_set("varset-1", "Cloud")
        of_vpc = [
            variable("var-1", "cidr", value="10.0.0.0/8"),
            variable("var-2", "zones", value='["a"]', hcl=True),
            variable("var-3", "TOKEN", value=None, sensitive=True, category="env"),
        ]
        organization = "organizations/there"
        self.answers: dict[str, Any] = {
            f"{organization}/projects": [project("prj-1", "Default Project")],
            f"{organization}/workspaces": [
                workspace("ws-1", "vpc", **{"description": "Of all", "tag-names": ["a"]}),
                workspace("ws-2", "dns"),
            ],
            f"{organization}/teams": [
                team("team-1", "owners"),
                team("team-2", "ops", "manage-workspaces", "manage-vcs-settings"),
            ],
            f"{organization}/varsets": [cloud],
            "varsets/varset-1": cloud,
            "team-projects": [team_project("tprj-1", "custom")],
            "team-workspaces": [],
            "projects/prj-1/tag-bindings": [binding("dept", "r+d")],
            "workspaces/ws-1/tag-bindings": [binding("costcenter", "123")],
            "workspaces/ws-1/vars": of_vpc,
            "workspaces/ws-2/vars": [],
            "varsets/varset-1/relationships/vars": [
                variable(f"var-9{number}", f"KEY_{number}", value=str(number))
                for number in range(3)
            ],
        }
        self.size = 2
        self.busy = 0
        """How often it still says that it was asked too often."""

    def tell(self, path: str, sent: bytes) -> Answer:
        """What it says to a request."""
        assert not sent, "it is only read"
        if self.busy:
            self.busy -= 1
            return 429, {"errors": [{"status": "429", "title": "too many requests"}]}
        where, _, query = path.removeprefix("/api/v2/").partition("?")
        found = self.answers.get(where)
        if found is None:
            return 404, {"errors": [{"status": "404", "title": "not found"}]}
        if isinstance(found, tuple):
            return found
        if isinstance(found, dict) or where.endswith(UNPAGED):
            return 200, {"data": found}
        return 200, self._page(where, found, int(query.rpartition("=")[2]))

    def _page(self, where: str, found: list[Any], number: int) -> Mapping[str, Any]:
        count = -(-len(found) // self.size) or 1
        before, after = max(number - 1, 0) or None, number + 1 if number < count else None

        def link(page: int | None) -> str | None:
            at = f"https://app.terraform.io/api/v2/{where}?page%5Bnumber%5D={page}"
            return f"{at}&page%5Bsize%5D={self.size}" if page else None

        said = {
            "current-page": number,
            "page-size": self.size,
            "prev-page": before,
            "next-page": after,
            "total-pages": count,
            "total-count": len(found),
        }
        links = {"self": number, "first": 1, "prev": before, "next": after, "last": count}
        return {
            "data": found[(number - 1) * self.size : number * self.size],
            "links": {name: link(page) for name, page in links.items()},
            "meta": {"pagination": said},
        }
