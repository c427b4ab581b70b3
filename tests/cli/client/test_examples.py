"""Whoever has never seen the command: help has an example for each, and each works as it stands."""

import inspect
import re
import shlex

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from teamvars.cli import named
from teamvars.cli.commands import CLIENT
from teamvars.protocol import encoded
from tests.cli.client.conftest import Service
from tests.support.desk import Desk
from tests.test_documents import ROOT
from tests.test_first_start import blocks

EXAMPLE = re.compile(r"^Example: (.*\bteamvars .+)\Z", re.MULTILINE)
PUBLIC_KEY = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
PLACES = {words: f"teamvars.cli.client.{place}" for words, place, _ in CLIENT}
ADDRESSES = "https://teamvars.example.com", "https://vars.example.com", "app.terraform.io"
RUNNERS = blocks(ROOT / "docs/runners.md", "runners")
COMPLETE = """
source <(teamvars completion bash)
offered() { COMP_LINE=$1; COMP_POINT=${#1}; _teamvars_completion teamvars
  echo "${COMPREPLY[@]}"; }
offered 'teamvars wo'
offered 'teamvars login tokens '
offered 'teamvars workspace access --workspace '
"""


def example_of(words: str) -> str:
    """The last line of a command's help."""
    text = inspect.cleandoc(named(PLACES[words]).help)
    found = EXAMPLE.search(text)
    assert found, f"the help of '{words}' ends with no example"
    return found[1]


def test_every_example_of_the_help_works(
    desk: Desk, service: Service, acme: str, subtests: pytest.Subtests
) -> None:
    desk.succeed("login", "--address", service.url, given=service.tokens["alice"])
    equipped = desk.having(organization=acme, workspace="network")
    (desk.folder / "prod.tfvars").write_text('instance_type = "m5.large"\n')
    equipped.succeed("vars", "import", "prod.tfvars", "--yes")
    equipped.succeed("vars", "set", "LOG_LEVEL=info", "OLD_FLAG=1")
    for words in sorted(PLACES, key=lambda words: words == "logout"):
        with subtests.test(words=words):
            code, said = run(equipped, service, example_of(words))
            assert code == 0, said


def run(desk: Desk, service: Service, example: str) -> tuple[int, str]:
    """Types an example, with the address and the id that are real here."""
    token = service.tokens["alice"]
    if "at-2TeBwD7yRZ4pQ1nC" in example:
        made = desk.succeed("login", "tokens", "create", "--json").json["id"]
        example = example.replace("at-2TeBwD7yRZ4pQ1nC", made)
    if "run-8mTqW3xY5kLcN2pR@DIGEST" in example:
        words = ("--public-key", encoded(PUBLIC_KEY), "--workspace", "network", "--json")
        made = desk.succeed("runner", "create", "to-approve", *words).json
        example = example.replace("run-8mTqW3xY5kLcN2pR@DIGEST", f"{made['id']}@{made['digest']}")
    line = example
    for address in ADDRESSES:
        line = line.replace(address, service.url)
    for option in ("server", "public"):  # both are keys of Ed25519
        line = line.replace(f"--{option}-key KEY", f"--{option}-key {encoded(PUBLIC_KEY)}")
    if line.startswith("teamvars "):
        done = desk.run(*shlex.split(line)[1:], given=token)
        return done.code, done.err
    typed = desk.bash(line, given=token)
    return typed.returncode, typed.stderr


@pytest.mark.parametrize("shell", RUNNERS, ids=lambda shell: " ".join(shell.split()[1:6]))
def test_each_kind_of_job_is_proposed_as_the_document_says(
    desk: Desk, service: Service, shell: str
) -> None:
    code, said = run(desk, service, shell.replace("\\\n", " ").strip())
    assert code == 0, said


def test_bash_completes_commands_and_workspaces(desk: Desk) -> None:
    done = desk.bash(COMPLETE)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["workspace", "list create revoke", "network payments"]
    for shell in ("zsh", "fish"):
        assert "_TEAMVARS_COMPLETE=complete_" in desk.succeed("completion", shell).out
    assert desk.run("completion", "cmd").code == 2
    # Nobody to ask is no reason to say anything while somebody types.
    alone = Desk(desk.folder, home=desk.home / "none").bash(COMPLETE)
    assert (alone.stderr, alone.stdout.splitlines()[-1]) == ("", "")


@pytest.mark.usefixtures("acme")
def test_the_lines_of_the_document_do_what_it_says(stranger: Desk, service: Service) -> None:
    (stranger.folder / "token").write_text(service.tokens["alice"])
    shell = "".join(blocks(ROOT / "docs/cli.md", "cli"))
    shell = shell.replace("https://teamvars.example.com", service.url)
    done = stranger.bash(f"set -euo pipefail\n{shell}")
    assert done.returncode == 0, done.stderr
    assert "workspace     network" in done.stdout
    assert {line.split()[0] for line in done.stdout.splitlines()[-2:]} == {"bob", "dave"}
    assert f"Team platform of acme on {service.url}" in done.stderr
