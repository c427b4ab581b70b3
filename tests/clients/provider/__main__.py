"""`python3 dev.py provider --binary PATH`: a real tfe provider makes here all that main.tf says.

The provider is one that somebody built from its repository, since no package has it. terraform
makes everything, changes it, imports it and destroys it, and after each step has nothing to do.
What the provider said on the way becomes requests.jsonl, which the tests replay.
"""

import argparse
import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.clients.conftest import DIRECTORY
from tests.clients.provider import table
from tests.clients.provider.table import Line, Names
from tests.clients.provider.terraform import Failed, Terraform, told
from tests.support.commands import Host
from tests.support.server import Server
from tests.support.terminating_proxy import Answered, Asked, TerminatingProxy

IMPORTED = {
    "tfe_org_max_token_ttl_policy": "{organization}",
    "tfe_organization": "{name}",
    "tfe_organization_default_settings": "{organization}",
    "tfe_organization_membership": "{id}",
    "tfe_project": "{id}",
    "tfe_project_settings": "{id}",
    "tfe_team": "{organization}/{id}",
    "tfe_team_access": "acme/net/{id}",
    "tfe_team_member": "{team_id}/{username}",
    "tfe_team_members": "{team_id}",
    "tfe_team_organization_member": "{team_id}/{organization_membership_id}",
    "tfe_team_organization_members": "{team_id}",
    "tfe_team_project_access": "{id}",
    "tfe_variable": "acme/net/{id}",
    "tfe_variable_set": "{id}",
    "tfe_workspace": "{id}",
    "tfe_workspace_settings": "{id}",
    "tfe_workspace_variable_set": "acme/net/common",
}
"""How the provider finds each kind of resource, from what the state has of it. A token is not among
them: nobody can read it again."""


class Recorder:
    """Hears what the provider says, and has it as lines of the table."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._names = Names()
        self._reads: set[str] = set()

    def hear(self, asked: Asked, answered: Answered) -> Answered:
        """One request with its answer, which goes on as it is."""
        body = json.loads(asked.body) if asked.body else None
        is_json = "json" in answered.headers.get("content-type", "")
        answer = table.read_of(json.loads(answered.body)) if is_json else None
        path, body, answer = self._names.named([asked.path, body, answer])
        line = Line(asked.method, path, body, answered.status, answer)
        said = json.dumps(line)
        if said not in self._reads:
            self.lines.append(line)
        if asked.method == "GET":
            self._reads.add(said)
        return answered


def main() -> None:
    """Carries it all out. Ends with what terraform said where something is not as it should be."""
    parser = argparse.ArgumentParser(prog="dev.py provider", description=__doc__)
    parser.add_argument("--binary", type=Path, required=True, help="the provider, as it was built")
    parser.add_argument("--terraform", default=shutil.which("terraform"), help="the command line")
    options = parser.parse_args()
    if options.terraform is None:
        parser.error("There is no terraform in the PATH: say --terraform.")
    recorder = Recorder()
    with tempfile.TemporaryDirectory(prefix="teamvars-provider-") as text:
        folder = Path(text)
        host = Host(folder).having(log_format="json", dialect="terraform")
        host.succeed("init")
        (folder / "directory.yaml").write_text(DIRECTORY)
        host.succeed("directory", "apply", "directory.yaml")
        token = host.succeed("token", "create", "--user", "root").out.strip()
        with Server(host) as server, TerminatingProxy(folder) as proxy:
            proxy.target, proxy.back = server.url, recorder.hear
            walk(Terraform(folder, options.terraform, options.binary, proxy, token))
            with server.client(token) as client:
                if client.get("/api/v2/organizations").json()["data"]:
                    parser.exit(1, "Destroyed, and yet there is an organization.\n")
    table.write(recorder.lines)
    print(f"{table.PATH.name} has {len(recorder.lines)} requests.")


def walk(terraform: Terraform) -> None:
    """Makes, changes, imports and destroys everything."""
    try:
        print(f"Made: {told(terraform.apply(changed=False))}", flush=True)
        print(f"Changed: {told(terraform.apply(changed=True))}", flush=True)
        print(f"Imported: {told(reimported(terraform))}", flush=True)
        print(f"Destroyed: {told(terraform.destroy())}", flush=True)
    except Failed as why:
        raise SystemExit(str(why)) from None


def reimported(terraform: Terraform) -> str:
    """Forgets what there is, and imports it. Nothing may have to be changed then."""
    forgotten = [
        one
        for one in terraform.resources()
        if one["type"] in IMPORTED and not one["values"].get("sensitive")
    ]
    terraform.run("state", "rm", *(one["address"] for one in forgotten))
    said = terraform.apply(
        changed=True,
        imports={one["address"]: import_id(one) for one in forgotten},
    )
    if f"{len(forgotten)} imported, 0 added, 0 changed, 0 destroyed" not in told(said):
        raise Failed(f"{said}What was imported is not as it was made.")
    return said


def import_id(one: Mapping[str, Any]) -> str:
    """How the provider finds a resource; a variable of a set by the id of that."""
    values: Mapping[str, Any] = one["values"]
    if values.get("variable_set_id") and one["type"] == "tfe_variable":
        return f"acme/{values['variable_set_id']}/{values['id']}"
    return IMPORTED[one["type"]].format_map(values)


if __name__ == "__main__":
    main()
