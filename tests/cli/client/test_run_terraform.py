"""`teamvars run -- terraform plan`: a plan on this host, with the variables of a workspace.

Runs where `terraform` is found, as tests/clients/test_terraform.py does.
"""

import json

from tests.clients.test_terraform import terraform
from tests.support.desk import Desk
from tests.support.handing import WORKSPACE, Handing, variable

__all__ = ["terraform"]

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


def test_a_plan_has_the_variables_of_the_workspace(terraform: str, network: Desk) -> None:
    (network.folder / "main.tf").write_text(CONFIGURATION)
    (network.folder / "region").write_text(REGION)
    network.succeed("vars", "set", "region", "--category", "tool", "--file", "region")
    network.succeed("vars", "set", 'subnets={ a = { cidr = "10.0.0.0/24", hosts = 2 } }', "--hcl")
    network.succeed("vars", "set", "password", "--category=tool", "--sensitive", given="topsecret")
    network.succeed("vars", "set", "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1")
    plan = ("terraform", "plan", "-input=false", "-no-color", "-out=planned")
    assert network.run("run", "--", *plan).code == 125  # nothing says what the password is
    (network.folder / "own.env").write_text("TF_VAR_password=12345\n")
    network.succeed("run", "--with", "own.env", "--", *plan)
    shown = network.succeed("run", "--allow-missing", "--", "terraform", "show", "-json", "planned")
    value = json.loads(shown.out)["planned_values"]["outputs"]["seen"]["value"]
    assert json.loads(value) == [REGION, {"a": {"cidr": "10.0.0.0/24", "hosts": 2}}, 5]


def test_a_job_plans_with_a_key_that_is_a_name_to_terraform_alone(
    terraform: str, stranger: Desk
) -> None:
    (stranger.folder / "main.tf").write_text(
        'variable "my-subnet" { type = string }\noutput "seen" { value = var.my-subnet }\n'
    )
    subnet = variable("my-subnet", "10.0.0.0/24", "tool", sensitive=False)
    plan = ("terraform", "plan", "-input=false", "-no-color")
    with Handing(subnet, variable("CHECKPOINT_DISABLE", "1")) as handing:
        job = stranger.having(
            address=handing.url, workspace=WORKSPACE, server_key=handing.pinned, id_token="given"
        )
        assert '+ seen = "10.0.0.0/24"' in job.succeed("run", "--", *plan).out
