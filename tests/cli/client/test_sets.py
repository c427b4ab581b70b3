"""`set`: variable sets are made, filled, attached, changed and deleted."""

from tests.support.desk import Desk


def test_a_set_is_made_filled_attached_and_shown(network: Desk) -> None:
    assert "You see no variable sets" in network.succeed("set", "list").err
    network.succeed("set", "create", "Cloud account", "--description", "for all")
    assert network.run("set", "create", "cloud ACCOUNT").code == 7
    network.succeed("set", "put", "Cloud account", "ACCOUNT=4711")
    network.succeed("set", "put", "Cloud account", "ACCOUNT=4712")
    network.succeed("set", "put", "cloud account", "KEY", "--sensitive", given="canary-of-a-set")
    network.succeed("set", "put", "cloud account", "zones=[1]", "--hcl")
    network.succeed("set", "attach", "Cloud account", "network")
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
    network.succeed("set", "put", "A", "KEY=1")
    network.succeed("set", "update", "A", "--name", "B", "--priority", "--no-global")
    (found,) = network.succeed("set", "list", "--json").json
    assert (found["name"], found["priority"], found["global"]) == ("B", True, False)
    network.succeed("set", "attach", "B", "network")
    detached = network.succeed("set", "detach", "B", "network", "--json").json
    assert detached == {"id": found["id"], "detached": ["network"]}
    assert network.run("vars", "why", "KEY").code == 5
    assert network.run("set", "unset", "B", "NONE", "--yes").code == 5
    network.succeed("set", "unset", "B", "KEY", "--yes")
    assert network.run("set", "delete", "B").code == 2
    network.succeed("set", "delete", "B", "--yes")
    assert network.run("set", "show", "B").code == 5


def test_a_dry_run_says_which_workspaces_would_get_what(network: Desk) -> None:
    network.succeed("set", "create", "A")
    network.succeed("set", "put", "A", "KEY=1")
    done = network.run("set", "attach", "A", "network", "--dry-run")
    assert (done.code, done.out.split()) == (3, ["network", "gains", "KEY"])
    assert "1 workspace would get a value more, 0 another value, and 0 would lose one" in done.err
    assert network.run("vars", "why", "KEY").code == 5
    network.succeed("set", "attach", "A", "network")
    assert "No workspace" in network.succeed("set", "attach", "A", "network", "--dry-run").err
    for asked in (["detach", "A", "network"], ["delete", "A"]):
        done = network.run("set", *asked, "--dry-run")
        assert (done.code, done.out.split()) == (3, ["network", "loses", "KEY"])
    network.succeed("vars", "set", "KEY=own")
    done = network.run("set", "update", "A", "--priority", "--dry-run")
    assert (done.code, done.out.split()) == (3, ["network", "changes", "KEY"])
    assert network.succeed("vars", "why", "KEY").out.split()[1] == "own"


def test_what_cannot_be_meant_is_refused(network: Desk) -> None:
    network.succeed("set", "create", "A")
    assert network.run("set", "update", "A").code == 2
    assert network.run("set", "put", "A", "KEY=secret", "--sensitive").code == 2
    assert network.run("set", "attach", "A", "nowhere").code == 5
