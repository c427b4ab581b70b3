"""`runner`: who may be handed the values of workspaces."""

from collections.abc import Mapping, Sequence
from typing import Any

from teamvars.cli import asking, named
from teamvars.cli.client.api import RUNNER, Api, Resource, accounts, at, told
from teamvars.cli.client.api.accounts import Settings
from teamvars.cli.client.api.targets import Where, located
from teamvars.cli.client.options import (
    connected,
    ending_after,
    offered,
    placed,
    require_said,
    yes_option,
)
from teamvars.cli.commands import ADDRESS
from teamvars.cli.exits import Misuse
from teamvars.cli.options import (
    Decorator,
    argument,
    command,
    json_option,
    lifetime,
    option,
    together,
)
from teamvars.cli.output import note, show

_TYPE = "runners"
_SHOWN = {
    "name": "name",
    "id": "id",
    "status": "status",
    "version": "version",
    "approved-version": "approved-version",
    "digest": "digest",
    "expires": "expired-at",
}
_USUAL = "89d"
"""A day less than a runner may live: the service's clock judges, and may be behind."""

runner_argument = argument(
    "runner", "A runner's name or id.", metavar="RUNNER", shell_complete=offered("runner")
)


@command
@option("--server-key", "What 'teamvars server-key show' prints on the service's host.")
@json_option
@placed(account=False)
def init(where: Where, server_key: str | None) -> None:
    """Make a key for this machine, and show its public part.

    The private part stays in your configuration folder, in a file that only you can read. With
    --server-key, what the service delivers is checked against that key from now on. To repeat it is
    safe: there is one key for each machine and user.

    Example: teamvars runner init --address https://teamvars.example.com --server-key KEY
    """
    require_said({"server-key": server_key})
    service = located(where)
    if service is None:
        raise Misuse(f"Nothing says where the service is. Give --address, or set {ADDRESS}.")
    pins = server_key or accounts.read(Settings).server_keys.get(str(service))
    if pins is None:
        raise Misuse(
            "Give --server-key: the operator is told it by 'teamvars server-key show'. Without it, "
            "nobody could tell what the service delivers from what others do."
        )
    # Only here: what makes keys takes a while to load.
    named("teamvars.cli.client.deliveries:pinned_keys")(pins)
    public = named("teamvars.cli.client.machines:enrolled")(service)
    accounts.pin(service, pins)
    show({"public-key": public, "address": str(service)}, [(public,)])
    note(f"The private key is in {accounts.path_of(accounts.Machine)}.")
    note(f"Next, an owner: teamvars runner create NAME --public-key {public} --workspace WORKSPACE")


@command
@json_option
@connected("organization")
def list_(api: Api) -> None:
    """List the runners: who may be handed values.

    Example: teamvars runner list
    """
    found = [told(one, _SHOWN) for one in RUNNER.seen(api)]
    rows = (
        (one["name"], one["id"], one["status"], f"version {one['version']}", one["expires"])
        for one in found
    )
    show(found, rows, empty="There are no runners.")


@command
@runner_argument
@json_option
@connected("organization")
def show_(api: Api, runner: str) -> None:
    """Show all that a runner says.

    Example: teamvars runner show laptop
    """
    _tell(RUNNER.named(api, runner))


def _drafted(new: bool) -> Decorator:
    """Gives a command the options of what a runner says, as its `said`."""
    days = _USUAL if new else None
    return together(
        "said",
        dict,
        description=option("--description", "What it is for."),
        issuer=option("--issuer", "Who signs the tokens of its jobs: their exact iss."),
        conditions=option(
            "--condition",
            "What a claim of its jobs has to be.",
            "conditions",
            multiple=True,
            metavar="CLAIM=VALUE",
        ),
        public_key=option("--public-key", "Of a machine: what 'runner init' shows there."),
        workspaces=option(
            "--workspace",
            "A workspace whose values it is handed.",
            "-w",
            "workspaces",
            multiple=True,
            shell_complete=offered("workspace"),
        ),
        patterns=option(
            "--pattern", "The same for names like this.", "patterns", multiple=True, metavar="GLOB"
        ),
        expires=option("--expires", "Lifetime: 90d at most, 12h, 30m or 45s.", default=days),
        max_ttl=option("--max-ttl", "Of a job's token: 60m at most; 15m unless given."),
        include_sensitive=option(
            "--sensitive/--no-sensitive",
            "Whether sensitive values are handed out.",
            "include_sensitive",
            default=None,
        ),
        allow_unbound=option(
            "--allow-unbound/--bound",
            "Whether tokens may name no key of the job.",
            "allow_unbound",
            default=None,
        ),
    )


@command
@argument("name", "Its name.", metavar="NAME")
@_drafted(new=True)
@json_option
@connected("organization")
def create(api: Api, name: str, said: Mapping[str, Any]) -> None:
    """Propose a runner. It is handed values once it is approved.

    Its jobs prove what they are: by --issuer and each --condition, or by --public-key.

    Example: teamvars runner create laptop --public-key KEY --workspace network --expires 30d
    """
    document = _document(api, said, {"name": name})
    path = at("organizations", api.organization, _TYPE)
    made: Resource = api.post(path, {"data": document}).document["data"]
    _tell(made)
    _say_next(made)


@command
@runner_argument
@option("--name", "Another name.")
@_drafted(new=False)
@json_option
@connected("organization")
def update(api: Api, runner: str, name: str | None, said: Mapping[str, Any]) -> None:
    """Propose another version of a runner.

    What it takes away stops at once; what it adds waits for approval. The conditions and workspaces
    that are given replace all there are.

    Example: teamvars runner update laptop --expires 60d
    """
    require_said({"name": name})
    id_ = RUNNER.named(api, runner)["id"]
    document = _document(api, said, {"name": name} if name else {})
    made = api.patch(at(_TYPE, id_), {"data": {"id": id_, **document}}).document["data"]
    _tell(made)
    _say_next(made)


@command
@runner_argument
@yes_option
@connected("organization")
def delete(api: Api, runner: str, yes: bool) -> None:
    """Delete a runner: nothing is handed to it any more, at once.

    Example: teamvars runner delete laptop --yes
    """
    found, name = _agreed(api, runner, "Delete the runner {}?", yes=yes)
    api.delete(at(_TYPE, found["id"]))
    note(f"Deleted: {name}.")


@command
@argument("named", "The version that you have read, as 'runner show' has it.", metavar="ID@DIGEST")
@connected("organization")
def approve(api: Api, named: str) -> None:
    """Approve a version of a runner as an owner, where the operator lets owners approve.

    The digest names all that is approved: the jobs, the workspaces that they reach, the flags and
    the end. Where one of these has changed since you looked, nothing is approved.

    Example: teamvars runner approve run-8mTqW3xY5kLcN2pR@DIGEST
    """
    id_, at_sign, digest = named.partition("@")
    if not at_sign:
        raise Misuse("Say what you approve as ID@DIGEST: 'teamvars runner show RUNNER' has both.")
    document = {"data": {"type": _TYPE, "id": id_, "attributes": {"digest": digest}}}
    made = api.post(at(_TYPE, id_, "actions", "approve"), document).document["data"]
    said = made["attributes"]
    note(f"Approved: version {said['approved-version']} of {said['name']}.")


@command
@runner_argument
@yes_option
@connected("organization")
def revoke(api: Api, runner: str, yes: bool) -> None:
    """Take the approval of a runner back: nothing is handed to it any more, at once.

    Example: teamvars runner revoke laptop --yes
    """
    found, name = _agreed(api, runner, "Take the approval of the runner {} back?", yes=yes)
    api.post(at(_TYPE, found["id"], "actions", "revoke"), None)
    note(
        f"{name} is not approved. What it was handed before, it has: rotate that where you do not "
        "trust it."
    )


def _agreed(api: Api, word: str, question: str, *, yes: bool) -> tuple[Resource, str]:
    """The runner of which something is to be done, once whoever is asked agrees, and its name."""
    found = RUNNER.named(api, word)
    name = found["attributes"]["name"]
    api.announce(f"Runner {name}")
    asking.confirm(question.format(name), yes=yes)
    return found, name


def _document(api: Api, said: Mapping[str, Any], more: Mapping[str, Any]) -> Resource:
    """The resource that says it; what was not given is not in it."""
    ttl, lives = lifetime(said["max_ttl"], None, "--max-ttl"), lifetime(said["expires"], None)
    attributes = {
        "description": said["description"],
        "issuer": said["issuer"],
        "conditions": _conditions(said["conditions"]) or None,
        "public-key": said["public_key"],
        "workspace-patterns": [*said["patterns"]] or None,
        "expired-at": None if lives is None else ending_after(lives),
        "max-ttl": None if ttl is None else ttl // 1_000_000,
        "include-sensitive": said["include_sensitive"],
        "allow-unbound": said["allow_unbound"],
        **more,
    }
    document: Resource = {
        "type": _TYPE,
        "attributes": {name: value for name, value in attributes.items() if value is not None},
    }
    if said["workspaces"]:
        ids = [api.workspace(name)["id"] for name in said["workspaces"]]
        linkage = [{"type": "workspaces", "id": id_} for id_ in ids]
        document["relationships"] = {"workspaces": {"data": linkage}}
    return document


def _conditions(words: Sequence[str]) -> dict[str, str]:
    found = {}
    for word in words:
        claim, equals, wanted = word.partition("=")
        if not equals or not claim:
            raise Misuse("--condition is a claim, = and what it has to be: ref=refs/heads/main")
        found[claim] = wanted
    return found


def _workspaces(resource: Any) -> list[str]:
    related = resource.get("relationships", {}).get("workspaces", {}).get("data", [])
    return [one["id"] for one in related]


def _tell(resource: Any) -> None:
    attributes = resource["attributes"]
    found = {"id": resource["id"], **attributes, "workspaces": _workspaces(resource)}
    show(found, ((name, _cell(value)) for name, value in found.items()))


def _cell(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={one}" for name, one in value.items()) or "-"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value in (None, "") else str(value)


def _say_next(resource: Any) -> None:
    said = f"{resource['id']}@{resource['attributes']['digest']}"
    if resource["attributes"]["may-approve"]:
        note(f"Next: teamvars runner approve {said}")
    else:
        note(
            f"Next, on the service's host: teamvars approvals approve {said}\n"
            f"Or another owner, if the operator lets owners approve: teamvars runner approve {said}"
        )
    for workspace in _workspaces(resource)[:1]:  # a job may not look for its name
        note(f"Then, in a job: teamvars run --workspace {workspace} -- CMD")
