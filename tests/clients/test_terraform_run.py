"""`teamvars run -- terraform plan`: a plan on this host, with the variables of a workspace.

Runs where `terraform` is found, as test_terraform.py does.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.test_terraform import terraform
from tests.support.commands import Host
from tests.support.desk import Desk
from tests.support.server import Server

__all__ = ["terraform"]

DIRECTORY = """\
users: [{username: alice, email: alice@example.com}]
organizations:
  - name: acme
    members: {alice: active}
    workspaces: [network]
    teams: [{name: owners, members: [alice]}]
"""
CONFIGURATION = """\
variable "region" { type = string }
variable "subnets" { type = map(object({ cidr = string, hosts = number })) }
variable "password" {
  type = string
  sensitive = true
}
output "seen" {
  value = jsonencode([var.region, var.subnets, nonsensitive(length(var.password))])
}
"""
REGION = 'it\'s "${x}" $(id) `id`\n'


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """Alice's desk, for the workspace `network`."""
    (place := tmp_path / "host").mkdir()
    host = Host(place)
    host.succeed("init")
    (place / "directory.yaml").write_text(DIRECTORY)
    host.succeed("directory", "apply", "directory.yaml")
    token = host.succeed("token", "create", "--user", "alice").out.strip()
    (folder := tmp_path / "configuration").mkdir()
    (folder / "main.tf").write_text(CONFIGURATION)
    with Server(host) as server:
        alice = Desk(folder, home=tmp_path / "home")
        yield alice.having(
            address=server.url, token=token, organization="acme", workspace="network"
        )


def test_a_plan_has_the_variables_of_the_workspace(terraform: str, desk: Desk) -> None:
    (desk.folder / "region").write_text(REGION)
    desk.succeed("vars", "set", "region", "--category", "tool", "--file", "region")
    desk.succeed("vars", "set", 'subnets={ a = { cidr = "10.0.0.0/24", hosts = 2 } }', "--hcl")
    desk.succeed("vars", "set", "password", "--category=tool", "--sensitive", given="topsecret")
    desk.succeed("vars", "set", "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1")
    plan = ("terraform", "plan", "-input=false", "-no-color", "-out=planned")
    assert desk.run("run", "--", *plan).code == 125  # nothing says what the password is
    (desk.folder / "own.env").write_text("TF_VAR_password=12345\n")
    desk.succeed("run", "--with", "own.env", "--", *plan)
    shown = desk.succeed("run", "--allow-missing", "--", "terraform", "show", "-json", "planned")
    value = json.loads(shown.out)["planned_values"]["outputs"]["seen"]["value"]
    assert json.loads(value) == [REGION, {"a": {"cidr": "10.0.0.0/24", "hosts": 2}}, 5]
