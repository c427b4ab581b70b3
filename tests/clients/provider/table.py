"""requests.jsonl: what the tfe provider asks a service, and what it reads of each answer.

A line for each request, in order, and none for a read that repeats an earlier one. An id that the
service made stands as `<ws-1>`, since it is another each time, and a token as `<token>`.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

PATH = Path(__file__).with_name("requests.jsonl")
READ: Mapping[str, frozenset[str]] = {
    type_: frozenset(names.split())
    for type_, names in {
        "authentication-tokens": "description token",
        "effective-tag-bindings": "key value",
        "organization-memberships": "status email",
        "organization-token-ttl-policies": "max-ttl-ms token-type",
        "organizations": """
            aggregated-commit-status-enabled allow-force-delete-workspaces assessments-enforced
            collaborator-auth-policy cost-estimation-enabled default-execution-mode email
            external-id max-ttl-enabled name owners-team-saml-role-id
            send-passing-statuses-for-untriggered-speculative-plans session-remember
            session-timeout speculative-plan-management-enabled user-tokens-enabled""",
        "projects": """
            auto-destroy-activity-duration default-execution-mode description name
            setting-overwrites""",
        "tag-bindings": "key value",
        "tags": "instance-count name",
        "team-projects": "access project-access workspace-access",
        "team-workspaces": """
            access policy-overrides run-tasks runs sentinel-mocks state-versions variables
            workspace-locking""",
        "teams": """
            allow-member-token-management name organization-access sso-team-id visibility""",
        "users": "email username",
        "varsets": "description global name priority",
        "vars": "category description hcl key sensitive value",
        "workspaces": """
            allow-destroy-plan assessments-enabled auto-apply auto-apply-run-trigger
            auto-destroy-activity-duration auto-destroy-at description execution-mode
            file-triggers-enabled global-remote-state locked name operations permissions
            queue-all-runs resource-count setting-overwrites source-name source-url
            speculative-enabled structured-run-output-enabled tag-names terraform-version
            trigger-patterns trigger-prefixes working-directory""",
    }.items()
}
"""Of each type the attributes that the provider has a place for."""
RELATED = frozenset(
    {
        *("configurable", "organization", "workspace", "team", "teams"),
        *("organization-memberships", "user", "users"),
        *("varset", "vars", "workspaces", "parent"),
        *("project", "projects", "default-project"),
    }
)
"""The relationships that it follows."""
_ID = re.compile(r"\b[a-z]{2,6}-[0-9A-Za-z]{16}\b")
_NAME = re.compile(r"<[a-z]+-\d+>")


class Line(NamedTuple):
    """A request, and of its answer what the provider reads."""

    method: str
    path: str
    body: Any
    status: int
    answer: Any


def lines() -> Iterator[Line]:
    """All of them, as they were written."""
    return (Line(*json.loads(text)) for text in PATH.read_text().splitlines())


def write(all_: Iterable[Line]) -> None:
    """Takes the place of what is there."""
    PATH.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in all_))


class Names:
    """What stands in the table for each id of a service: numbers, as they come up."""

    def __init__(self) -> None:
        self._by_id: dict[str, str] = {}

    def named(self, said: Any) -> Any:
        """A JSON value with names in the place of ids, new ones where there is none yet."""
        return json.loads(_ID.sub(lambda found: self._name(found[0]), json.dumps(said)))

    def filled(self, said: Any) -> Any:
        """A JSON value with ids in the place of names, of which all must have come up."""
        ids = {name: id_ for id_, name in self._by_id.items()}
        return json.loads(_NAME.sub(lambda found: ids[found[0]], json.dumps(said)))

    def _name(self, id_: str) -> str:
        prefix = f"<{id_.partition('-')[0]}-"
        alike = sum(name.startswith(prefix) for name in self._by_id.values())
        return self._by_id.setdefault(id_, f"{prefix}{alike + 1}>")


def read_of(document: Any) -> Any:
    """What the provider reads of a JSON:API document; None of any other."""
    if not isinstance(document, dict) or "data" not in document:
        return None
    read = {name: _read(document[name]) for name in ("data", "included") if name in document}
    pagination = document.get("meta", {}).get("pagination")
    return read if pagination is None else {**read, "meta": {"pagination": pagination}}


def _read(part: Any) -> Any:
    if isinstance(part, list):
        return [_read(one) for one in part]
    if not isinstance(part, dict):
        return part
    attributes = _among(part.get("attributes", {}), READ.get(part["type"], frozenset()))
    if attributes.get("token"):
        attributes["token"] = "<token>"
    related = {
        name: {"data": one["data"]}
        for name, one in _among(part.get("relationships", {}), RELATED).items()
        if "data" in one
    }
    members = {"attributes": attributes, "relationships": related}
    return {"id": part["id"], "type": part["type"], **{k: v for k, v in members.items() if v}}


def _among(members: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    return {name: members[name] for name in sorted(known & members.keys())}


def like(said: Any, got: Any) -> Any:
    """Of an answer the members that another has: one that is new is no fault."""
    if isinstance(said, dict) and isinstance(got, dict):
        return {name: like(value, got[name]) for name, value in said.items() if name in got}
    if isinstance(said, list) and isinstance(got, list) and len(said) == len(got):
        return [like(*pair) for pair in zip(said, got, strict=True)]
    return got
