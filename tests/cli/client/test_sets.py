"""`set`: variable sets are made, filled, attached, changed and deleted."""

from pathlib import Path

from tests.cli.client.test_edit import editor
from tests.support.desk import Desk


def test_a_set_is_made_filled_attached_and_shown(network: Desk) -> None:
    assert "You see no variable sets" in network.succeed("set", "list").err
    network.succeed("set", "create", "Cloud account", "--description", "for all")
    assert network.run("set", "create", "cloud ACCOUNT").code == 7
    to = "vars", "set", "--set", "Cloud account"
    network.succeed(*to, "ACCOUNT=4711")
    network.succeed(*to, "ACCOUNT=4712")
    network.succeed(*to, "KEY", "--sensitive", given="canary-of-a-set")
    network.succeed(*to, "zones=[1]", "--hcl")
    network.succeed("set", "attach", "Cloud account", "network", "--yes")
    shown = network.succeed("set", "show", "Cloud account")
    assert [line.split() for line in shown.out.splitlines()] == [
        ["variable", "ACCOUNT", "env", "4712"],
        ["variable", "KEY", "env", "(sensitive)"],
        ["variable", "zones", "tool", "[1]"],
        ["workspace", "network"],
    ]
    assert "canary" not in shown.out
    assert "4712" in network.succeed("vars", "why", "ACCOUNT").out
    (found,) = network.succeed("set", "list", "--json").json
    assert (found["variables"], found["workspaces"], found["global"]) == (3, 1, False)


def test_a_set_is_changed_and_deleted(network: Desk) -> None:
    network.succeed("set", "create", "A", "--global")
    network.succeed("vars", "set", "--set", "A", "KEY=1", "--yes")
    network.succeed("set", "update", "A", "--name", "B", "--priority", "--no-global", "--yes")
    (found,) = network.succeed("set", "list", "--json").json
    assert (found["name"], found["priority"], found["global"]) == ("B", True, False)
    network.succeed("set", "attach", "B", "network", "--yes")
    detached = network.succeed("set", "detach", "B", "network", "--yes", "--json").json
    assert detached == {"id": found["id"], "detached": ["network"]}
    assert network.run("vars", "why", "KEY").code == 5
    assert network.run("vars", "unset", "--set", "B", "NONE", "--yes").code == 5
    network.succeed("vars", "unset", "--set", "B", "KEY", "--yes")
    assert network.run("set", "delete", "B").code == 2
    network.succeed("set", "delete", "B", "--yes")
    assert network.run("set", "show", "B").code == 5


def test_an_id_is_not_taken_for_the_name_of_another(desk: Desk) -> None:
    meant = desk.succeed("set", "create", "Z", "--json").json["id"]
    assert desk.succeed("set", "create", meant, "--json").json["id"] != meant
    assert desk.succeed("set", "show", meant, "--json").json["name"] == "Z"


def test_a_dry_run_says_which_workspaces_would_get_what(network: Desk) -> None:
    network.succeed("set", "create", "A")
    network.succeed("vars", "set", "--set", "A", "KEY=1")
    done = network.run("set", "attach", "A", "network", "--dry-run")
    assert (done.code, done.out.split()) == (3, ["network", "gains", "KEY"])
    assert "1 workspace would get a value more, 0 another value, and 0 would lose one" in done.err
    assert network.run("vars", "why", "KEY").code == 5
    network.succeed("set", "attach", "A", "network", "--yes")
    assert "No workspace" in network.succeed("set", "attach", "A", "network", "--dry-run").err
    for asked in (["detach", "A", "network"], ["delete", "A"]):
        done = network.run("set", *asked, "--dry-run")
        assert (done.code, done.out.split()) == (3, ["network", "loses", "KEY"])
    network.succeed("vars", "set", "KEY=own")
    done = network.run("set", "update", "A", "--priority", "--dry-run")
    assert (done.code, done.out.split()) == (3, ["network", "changes", "KEY"])
    assert network.succeed("vars", "why", "KEY").out.split()[1] == "own"


def test_what_gives_workspaces_other_values_is_shown_first_and_asked_about(network: Desk) -> None:
    network.succeed("set", "create", "A")
    network.succeed("vars", "set", "--set", "A", "KEY=1")
    network.succeed("vars", "set", "KEY=own")
    network.succeed("set", "update", "A", "--name", "B")
    network.succeed("set", "attach", "B", "network")
    done = network.run("set", "update", "B", "--priority")
    assert (done.code, "--yes" in done.err) == (2, True)
    assert "network  changes  KEY" in done.err
    assert "0 workspaces would get a value more, 1 another value, and 0 would lose one" in done.err
    network.succeed("set", "update", "B", "--priority", "--yes")
    assert "network  changes  KEY" in network.run("set", "delete", "B").err
    assert network.succeed("vars", "why", "KEY").out.split()[1] == "1"
    assert network.run("set", "detach", "B", "network").code == 2
    network.succeed("set", "detach", "B", "network", "--yes")
    assert network.run("set", "attach", "B", "network").code == 2
    assert network.succeed("vars", "why", "KEY").out.split()[1] == "own"


def test_a_set_is_attached_to_projects_and_projects_have_their_own(network: Desk) -> None:
    network.succeed("project", "create", "Web shop")
    network.succeed("project", "move", "Web shop", "network", "--yes")
    network.succeed("set", "create", "A")
    network.succeed("vars", "set", "--set", "A", "KEY=1")
    done = network.run("set", "attach", "A", "--project", "Web shop", "--dry-run")
    assert (done.code, done.out.split()) == (3, ["network", "gains", "KEY"])
    network.succeed("set", "attach", "A", "--project", "web SHOP", "--yes")
    shown = network.succeed("set", "show", "A")
    assert ["project", "Web", "shop"] in [line.split() for line in shown.out.splitlines()]
    (found,) = network.succeed("set", "list", "--json").json
    assert (found["projects"], found["workspaces"]) == (1, 0)
    assert network.succeed("vars", "why", "KEY").out.split()[1] == "1"
    network.succeed("set", "create", "B", "--of-project", "Web shop")
    assert network.run("set", "update", "B", "--global").code == 7
    assert network.run("set", "create", "C", "--of-project", "nowhere").code == 5
    words = "set", "detach", "A", "--project", "Web shop", "--yes", "--json"
    detached = network.succeed(*words).json
    assert detached["detached"] == ["Web shop"]
    assert network.run("vars", "why", "KEY").code == 5
    assert network.run("set", "attach", "A").code == 2
    assert network.run("set", "attach", "A", "network", "--project", "Web shop").code == 2


def test_what_cannot_be_meant_is_refused(network: Desk) -> None:
    network.succeed("set", "create", "A")
    assert network.run("set", "update", "A").code == 2
    assert network.run("vars", "set", "--set", "A", "KEY=secret", "--sensitive").code == 2
    assert network.run("vars", "list", "--set", "nowhere").code == 5
    both = network.run("vars", "list", "--set", "A", "--workspace", "network")
    assert (both.code, "--workspace and --set" in both.err) == (2, True)
    for words in (["list"], ["export", "--format", "shell"]):
        done = network.run("vars", *words, "--set", "A", "--effective")
        assert (done.code, "--effective" in done.err) == (2, True)
    assert network.run("set", "attach", "A", "nowhere").code == 5


def test_variables_of_a_set_are_handled_as_those_of_a_workspace(
    network: Desk, tmp_path: Path
) -> None:
    network.succeed("set", "create", "Cloud account")
    of_set = "--set", "cloud account"
    (tmp_path / "a.env").write_text("REGION=eu\nOLD=1\n")
    (tmp_path / "b.env").write_text("REGION=us\n")
    one, other = str(tmp_path / "a.env"), str(tmp_path / "b.env")
    network.succeed("vars", "import", one, *of_set, "--no-sensitive", "--yes")
    (made, _) = network.succeed("vars", "list", *of_set, "--json").json
    assert (made["set"], made["key"]) == ("Cloud account", "OLD")
    done = network.run("vars", "diff", other, *of_set, "--prune", "--json")
    assert (done.code, {each["outcome"] for each in done.json}) == (3, {"updated", "deleted"})
    applied = network.succeed("vars", "apply", other, *of_set, "--prune", "--yes", "--json").json
    assert {each["set"] for each in applied} == {"Cloud account"}
    assert network.succeed("vars", "get", "REGION", "--plain", *of_set).out == "us"
    exported = network.succeed("vars", "export", "--format", "dotenv", *of_set).out
    assert exported == "REGION=us\n"
    editor(network, 'sed -i s/us/ap/ "$1"').succeed("vars", "edit", "REGION", *of_set)
    told = network.succeed("vars", "history", "REGION", *of_set).out
    assert [line.split()[3] for line in told.splitlines()] == ["update", "update", "create"]
    network.succeed("vars", "copy", "cloud account", "--from-set", "--yes")
    assert network.succeed("vars", "get", "REGION", "--plain").out == "ap"
    network.succeed("vars", "set", "MORE=1")
    network.succeed("vars", "copy", "network", "MORE", *of_set, "--yes")
    assert network.succeed("vars", "get", "MORE", "--plain", *of_set).out == "1"


def test_a_change_that_workspaces_feel_is_shown_first_and_asked_for(network: Desk) -> None:
    network.succeed("set", "create", "A")
    of_set = "--set", "A"
    network.succeed("vars", "set", "KEY=1", *of_set)
    network.succeed("set", "attach", "A", "network", "--yes")
    refused = network.run("vars", "set", "KEY=2", *of_set)
    assert refused.code == 2
    assert "0 workspaces would get a value more, 1 another value" in refused.err
    assert network.succeed("vars", "get", "KEY", "--plain", *of_set).out == "1"
    tried = network.run("vars", "set", "KEY=2", "--dry-run", *of_set)
    assert (tried.code, "network  changes  KEY" in tried.err) == (3, True)
    assert network.succeed("vars", "set", "KEY=2", "--yes", *of_set).err.count("KEY") >= 1
    assert network.succeed("vars", "get", "KEY", "--plain", *of_set).out == "2"
    network.succeed("vars", "set", "KEY=own", "MORE=1")
    network.succeed("vars", "set", "KEY=3", *of_set)
    copied = network.run("vars", "copy", "network", "MORE", "--dry-run", *of_set)
    assert (copied.code, "would" in copied.err) == (3, False)
