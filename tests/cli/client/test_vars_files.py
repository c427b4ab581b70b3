"""`vars import`, `apply`, `diff`, `export`: files in, files out, and never half of one."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import dotenv
import pytest

from tests.cli.client.test_vars import values
from tests.support.commands import Host
from tests.support.desk import Desk
from tests.support.server import Server

TFVARS = 'region = "eu"\nports  = [80, 443]\n'
DIRECTORY = """\
users: [{username: alice, email: alice@example.com}]
organizations:
  - name: acme
    members: {alice: active}
    workspaces: [network]
    teams: [{name: owners, members: [alice]}]
"""


def file(desk: Desk, name: str, content: str) -> Path:
    """A file in the desk's folder."""
    path = desk.folder / name
    path.write_text(content)
    return path


def test_a_file_is_imported_once_its_difference_was_agreed_to(network: Desk) -> None:
    path = file(network, "prod.tfvars", TFVARS)
    network.succeed("vars", "set", "region=us", "--category", "tool")
    assert network.run("vars", "import", path).code == 2
    with network.terminal("vars", "import", path) as terminal:
        terminal.expect(
            r"~  region  tool  us -> eu\s+\+  ports   tool  \[80, 443\]\s+Make these 2 "
        )
        terminal.type("y")
        assert terminal.wait() == 0
    assert "network: 1 created, 1 updated." in terminal.seen
    assert values(network) == {"region": "eu", "ports": "[80, 443]"}
    assert "nothing to change" in network.succeed("vars", "import", path).err


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (".env", "a=x\nb='y z'\n"),
        ("prod.env", "a=x\nb='y z'\n"),
        ("prod.tfvars", 'a = "x"\nb = "y z"\n'),
        ("prod.tfvars.json", '{"a": "x", "b": "y z"}'),
        ("prod.yaml", "a: x\nb: y z\n"),
    ],
)
def test_a_file_is_read_by_its_name(network: Desk, name: str, content: str) -> None:
    network.succeed("vars", "import", file(network, name, content), "--yes")
    assert values(network) == {"a": "x", "b": "y z"}
    rows = network.succeed("vars", "list", "--json").json
    assert {row["category"] for row in rows} == {"env" if name.endswith(".env") else "tool"}


def test_a_file_of_one_category_can_be_meant_for_the_other(network: Desk) -> None:
    path = file(network, "env.yaml", "PORT: 80\nDEBUG: true\nNAME: x\n")
    network.succeed("vars", "import", path, "--category", "env", "--yes")
    assert values(network) == {"PORT": "80", "DEBUG": "true", "NAME": "x"}
    refused = network.run("vars", "import", file(network, "x.yaml", "A: [1]\n"), "--category=env")
    assert refused.code == 7
    assert "x.yaml:1:1" in refused.err
    assert network.run("vars", "import", file(network, "notes.txt", "A=1\n")).code == 2
    network.succeed("vars", "import", "notes.txt", "--format", "dotenv", "--yes")


def test_the_faults_of_a_file_are_told_with_their_places_and_without_its_text(
    network: Desk,
) -> None:
    refused = network.run("vars", "import", file(network, ".env", "A=$topsecret\nB=1\nA=x\n"))
    assert refused.code == 7
    assert "topsecret" not in refused.err
    for place in ("1:3", "3:1"):
        assert f"{network.folder}/.env:{place}: " in refused.err
    (network.folder / ".env").write_bytes(b"A=1\nB=\xff\n")
    assert ".env:2: This is not UTF-8." in network.run("vars", "import", ".env").err


def test_differences_are_shown_and_exit_with_3(network: Desk) -> None:
    path = file(network, "prod.tfvars", TFVARS)
    network.succeed("vars", "set", "old=1", "--category", "tool")
    network.succeed("vars", "set", "region", "--category=tool", "--sensitive", given="topsecret")
    done = network.run("vars", "diff", path)
    assert done.code == 3
    assert [line.split() for line in done.out.splitlines()] == [
        ["?", "region", "tool", "sensitive,", "cannot", "be", "compared"],
        ["+", "ports", "tool", "[80,", "443]"],
    ]
    assert "has 1 more" in done.err
    unknown, created, deleted = network.run("vars", "diff", path, "--prune", "--json").json
    assert (unknown["outcome"], unknown["changed"]) == ("unknown", ["value"])
    assert unknown["before"]["value"] is unknown["after"]["value"] is None
    assert unknown["before"]["hidden"] is unknown["after"]["hidden"] is True
    assert (created["before"], created["after"]["value"]) == (None, "[80, 443]")
    assert deleted == {
        "workspace": "network",
        "key": "old",
        "category": "tool",
        "outcome": "deleted",
        "changed": [],
        "before": {
            "value": "1",
            "hidden": False,
            "hcl": False,
            "sensitive": False,
            "description": "",
        },
        "after": None,
    }
    same = file(network, "same.tfvars", 'old = "1"\n')
    assert network.succeed("vars", "diff", same).out == ""


def test_a_file_without_variables_prunes_nothing(network: Desk) -> None:
    network.succeed("vars", "set", "KEPT=1")
    words = ("vars", "apply", "-", "--format", "dotenv", "--prune", "--yes")
    refused = network.run(*words, given="# nothing\n")
    assert (refused.code, "has no variables" in refused.err) == (2, True)
    assert "KEPT" in values(network)


def test_prune_takes_what_the_file_has_not_and_nothing_of_another_category(network: Desk) -> None:
    path = file(network, "prod.tfvars", TFVARS)
    network.succeed("vars", "set", "old=1", "--category", "tool")
    network.succeed("vars", "set", "SHELL_ONE=1", "region=env")
    network.succeed("vars", "apply", path, "--yes")
    assert "old" in values(network)
    dry = network.run("vars", "apply", path, "--prune", "--dry-run")
    assert (dry.code, "old" in values(network)) == (3, True)
    network.succeed("vars", "apply", path, "--prune", "--yes")
    rows = network.succeed("vars", "list", "--json").json
    assert [(row["key"], row["category"]) for row in rows] == [
        ("SHELL_ONE", "env"),
        ("ports", "tool"),
        ("region", "env"),
        ("region", "tool"),
    ]


def test_what_is_done_is_what_was_shown(network: Desk) -> None:
    path = file(network, "prod.tfvars", TFVARS)
    with network.terminal("vars", "import", path) as terminal:
        terminal.expect(r"\[y/N\] ")
        network.succeed("vars", "set", "meanwhile=1")
        terminal.type("y")
        assert terminal.wait() == 6
    assert values(network) == {"meanwhile": "1"}


def test_values_that_become_sensitive_are_not_shown(network: Desk) -> None:
    path = file(network, ".env", "A=topsecret\n")
    network.succeed("vars", "set", "A=readable")
    done = network.succeed("vars", "import", path, "--sensitive", "--yes")
    assert "topsecret" not in done.err + done.out
    assert values(network) == {"A": None}


def test_what_is_exported_as_shell_is_evaluated_by_bash(network: Desk) -> None:
    network.succeed("vars", "set", "A=it's $(id) `id`\n", "B=\\")
    network.succeed("vars", "set", "region=eu", "--category", "tool")
    done = network.bash('eval "$(teamvars vars export --format shell)"; printf "%s" "$A$B"')
    assert done.stdout == "it's $(id) `id`\n\\"
    assert "1 of another category than env" in done.stderr


def test_each_form_has_its_category_unless_another_is_said(network: Desk) -> None:
    network.succeed("vars", "import", file(network, "prod.tfvars", TFVARS), "--yes")
    network.succeed("vars", "set", "A=x y")
    out = network.succeed("vars", "export", "--format", "dotenv").out
    assert dotenv.dotenv_values(stream=io.StringIO(out)) == {"A": "x y"}
    assert network.succeed("vars", "export", "--format", "tfvars").out == (
        'ports = [80, 443]\nregion = "eu"\n'
    )
    as_json = network.succeed("vars", "export", "--format", "json").out
    assert json.loads(as_json) == {"region": "eu", "ports": [80, 443]}
    shell = network.succeed("vars", "export", "--format", "shell", "--category", "tool").out
    assert "export TF_VAR_region='eu'" in shell


def test_what_cannot_be_exported_is_named(network: Desk) -> None:
    network.succeed("vars", "set", "SECRET", "--sensitive", given="topsecret")
    network.succeed("vars", "set", "$(id)=1", "a;b=2", "GOOD=3", "REPLACED=${HOME}")
    refused = network.run("vars", "export", "--format", "dotenv")
    assert (refused.code, refused.out) == (7, "")
    for name in ("SECRET", "$(id)", "a;b", "REPLACED"):
        assert name in refused.err
    assert "HOME" not in refused.err
    words = ("--allow-missing", "--skip-invalid-keys", "--no-interpolate")
    done = network.succeed("vars", "export", "--format", "dotenv", *words)
    said = "# Sensitive, so that nobody can read it: SECRET\n"
    assert done.out == f"GOOD=3\nREPLACED='${{HOME}}'\n{said}"
    for name in ("SECRET", "$(id)", "a;b"):
        assert f"{name} is left out" in done.err


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """The desk of alice, where the service speaks as HCP Terraform does."""
    host = Host(tmp_path_factory.mktemp("terraform")).having(dialect="terraform")
    host.succeed("init")
    (host.folder / "directory.yaml").write_text(DIRECTORY)
    host.succeed("directory", "apply", "directory.yaml")
    token = host.succeed("token", "create", "--user", "alice").out.strip()
    with Server(host) as server:
        desk = Desk(tmp_path_factory.mktemp("desk"), home=tmp_path_factory.mktemp("home"))
        yield desk.having(address=server.url, token=token, organization="acme", workspace="network")


def test_the_words_of_a_dialect_are_the_commands_own_affair(elsewhere: Desk) -> None:
    elsewhere.succeed("vars", "import", file(elsewhere, "prod.tfvars", TFVARS), "--yes")
    elsewhere.succeed("vars", "set", "ports=[1]", "A=1")
    elsewhere.succeed("vars", "apply", "prod.tfvars", "--prune", "--yes")
    assert values(elsewhere) == {"A": "1", "ports": "[80, 443]", "region": "eu"}
    listed = elsewhere.succeed("vars", "list", "--category", "tool", "--json").json
    assert {row["category"] for row in listed} == {"terraform"}


def test_a_new_variable_of_the_tool_is_called_as_hcp_terraform_calls_it(elsewhere: Desk) -> None:
    """Nothing that was read before tells how."""
    new = ("vars", "set", "nowhere_yet=1", "--category", "tool")
    elsewhere.succeed(*new, "-w", "net*", "--yes")
    (found,) = elsewhere.succeed("vars", "search", "nowhere_yet", "--json").json
    assert found["category"] == "terraform"
    for word in ("tool", "terraform"):
        words = ("vars", "search", "nowhere_yet", "--category", word, "--json")
        assert elsewhere.succeed(*words).json == [found]
    elsewhere.succeed(*new, "-w", "net*", "--yes", "--hcl")


def test_a_file_of_an_unknown_format_is_refused_with_those_there_are(network: Desk) -> None:
    for path in ("-", file(network, "variables.txt", "A=1\n")):
        done = network.run("vars", "import", path, "--yes", given="A=1\n")
        told = f"teamvars: The format of {path} is unknown. Give --format, one of dotenv, "
        assert (done.code, done.err) == (2, f"{told}tfvars, json, yaml.\n")
