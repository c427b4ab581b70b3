"""`project`: made, renamed and deleted; workspaces moved once it is said who gains and loses."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from teamvars.protocol import encoded
from tests.cli.client.conftest import Service
from tests.support.desk import Desk


def test_a_project_is_made_renamed_and_deleted(network: Desk) -> None:
    assert network.succeed("project", "list").out.split("  ")[0] == "Default Project"
    network.succeed("project", "create", "Web shop", "--description", "What is sold")
    assert network.run("project", "create", "WEB SHOP").code == 7
    network.succeed("project", "rename", "web shop", "Store")
    names = [one["name"] for one in network.succeed("project", "list", "--json").json]
    assert names == ["Default Project", "Store"]
    assert network.run("project", "delete", "Store").code == 2
    network.succeed("project", "delete", "Store", "--yes")
    assert network.run("project", "rename", "Store", "Shop").code == 5
    assert network.run("project", "delete", "Default Project", "--yes").code == 7


def test_what_is_changed_is_said_first_without_a_workspace_that_has_no_part_in_it(
    desk: Desk, service: Service, office: str
) -> None:
    key = encoded(Ed25519PrivateKey.generate().public_key().public_bytes_raw())
    desk.succeed("link", "--organization", office, "--workspace", "network")
    for place in (desk, desk.having(workspace="payments")):
        for words in (
            ("project", "create", "Shop"),
            ("project", "rename", "Shop", "Store"),
            ("set", "create", "Cloud"),
            ("set", "attach", "Cloud", "network", "--yes"),
            ("set", "detach", "Cloud", "network", "--yes"),
            ("set", "update", "Cloud", "--global", "--yes"),
            ("set", "delete", "Cloud", "--yes"),
            ("runner", "create", "ci", "--public-key", key, "-w", "network"),
            ("runner", "update", "ci", "--description", "other"),
        ):
            said = place.succeed(*words).err.splitlines()
            assert said[0] == f"{office} on {service.url}", words
        told = place.succeed("runner", "show", "ci", "--json").json
        done = place.succeed("runner", "approve", f"{told['id']}@{told['digest']}")
        assert done.err.splitlines()[0] == f"{office} on {service.url}"
        place.succeed("runner", "delete", "ci", "--yes")
        with place.terminal("project", "delete", "Store") as terminal:
            terminal.expect(f"Project Store of {office} on {service.url}.*access to it.*y/N")
            terminal.type("y")
            assert terminal.wait() == 0
    assert f"{office}/network on " in desk.succeed("vars", "set", "KEY=1").err


def test_a_workspace_is_moved_once_it_is_said_what_comes_of_it(network: Desk) -> None:
    network.succeed("project", "create", "Shop")
    dry = network.run("project", "move", "Shop", "network", "--dry-run", "--json")
    assert (dry.code, dry.json["moved"], dry.json["workspaces"]) == (3, 0, 1)
    said = network.run("project", "move", "Shop", "network", "--dry-run").err
    assert "Would move 1 workspace." in said
    assert network.run("project", "move", "Shop", "network").code == 2
    assert "Moved: 1." in network.succeed("project", "move", "Shop", "network", "--yes").err
    assert network.run("project", "move", "Shop", "network", "--dry-run").code == 0
    assert "Moved: 0." in network.succeed("project", "move", "Shop", "network").err
    counts = [one["workspaces"] for one in network.succeed("project", "list", "--json").json]
    assert counts[-1] == 1
    network.succeed("set", "create", "Of the shop")
    network.succeed("set", "attach", "Of the shop", "--project", "Shop")
    back = network.run("project", "move", "Default Project", "network", "--dry-run", "--json")
    assert (back.json["gained-varsets"], back.json["lost-varsets"]) == ([], ["Of the shop"])
    assert "Variable sets that go: Of the shop." in back.err
    assert network.run("project", "delete", "Shop", "--yes").code == 6
    assert network.run("project", "move", "Shop", "nowhere", "--yes").code == 5
