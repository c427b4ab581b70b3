"""`vars`: what is typed, piped or has a secret's name is shown by no command that changes it."""

import pytest

from tests.cli.client.test_vars import values
from tests.cli.client.test_vars_files import file
from tests.support.desk import Desk

BOTH = ("-w", "net*,pay*")


def test_a_value_that_came_by_another_way_than_an_argument_is_never_shown(desk: Desk) -> None:
    dry = desk.run("vars", "set", "DB_URL", *BOTH, "--dry-run", given="topsecret")
    assert dry.code == 3
    assert dry.err.count("+  DB_URL  env  (hidden)") == 2
    path = file(desk, "value", "topsecret")
    done = desk.succeed("vars", "set", "DB_URL", *BOTH, "--yes", "--file", path)
    again = desk.succeed("vars", "set", "DB_URL", *BOTH, "--yes", "--json", given="topsecret-2")
    assert "(hidden) -> (hidden)" in again.err
    with desk.terminal("vars", "set", "DB_URL", *BOTH) as terminal:
        terminal.expect("DB_URL: ")
        terminal.type("topsecret-3")
        terminal.expect(r"\[y/N\] ")
        terminal.type("y")
        assert terminal.wait() == 0
    for said in (dry.err, done.err, again.err, again.out, terminal.seen):
        assert "topsecret" not in said
    assert values(desk)["DB_URL"] == "topsecret-3"
    shown = desk.succeed("vars", "set", "DB_URL=plain", *BOTH, "--yes")
    assert "topsecret-3 -> plain" in shown.err  # the control


def test_code_that_came_by_another_way_is_not_shown_where_it_breaks(network: Desk) -> None:
    piped = network.run("vars", "set", "k", "--hcl", given="[topsecret")
    named = network.run("vars", "set", "api_key=[topsecret", "--hcl")
    assert (piped.code, named.code) == (7, 7)
    assert "topsecret" not in piped.err + named.err


def test_what_is_sensitive_in_one_workspace_is_stored_readable_in_none(desk: Desk) -> None:
    desk.succeed("vars", "set", "DB_URL", "-w", "network", "--sensitive", given="first")
    done = desk.succeed("vars", "set", "DB_URL", *BOTH, "--yes", given="topsecret")
    assert "topsecret" not in done.err
    assert values(desk, "network") == values(desk, "payments") == {"DB_URL": None}


def test_what_is_sensitive_here_and_readable_there_takes_a_word(desk: Desk) -> None:
    desk.succeed("vars", "set", "DB_URL", "-w", "network", "--sensitive", given="first")
    desk.succeed("vars", "set", "DB_URL=readable", "-w", "payments")
    path = file(desk, "prod.env", "DB_URL=topsecret\n")
    for words in (("set", "DB_URL"), ("import", path), ("apply", path)):
        refused = desk.run("vars", *words, *BOTH, "--yes", given="topsecret")
        assert refused.code == 2
        assert "--no-sensitive" in refused.err
        assert "topsecret" not in refused.err
    assert values(desk, "payments") == {"DB_URL": "readable"}
    different = desk.run("vars", "diff", path, *BOTH)
    assert different.code == 3
    assert "topsecret" not in different.out
    stays = desk.succeed(
        "vars", "set", "DB_URL", *BOTH, "--yes", "--no-sensitive", given="topsecret"
    )
    assert "topsecret" not in stays.err
    assert (values(desk, "network"), values(desk, "payments")) == (
        {"DB_URL": None},
        {"DB_URL": "topsecret"},
    )
    desk.succeed("vars", "set", "DB_URL", *BOTH, "--yes", "--sensitive", given="topsecret")
    assert values(desk, "payments") == {"DB_URL": None}


def test_a_name_that_says_a_secret_hides_the_value_in_every_difference(network: Desk) -> None:
    path = file(network, "prod.env", "REGION=eu\nAPI_KEY=topsecret\nTOKEN_TTL=3600\n")
    said = [network.run("vars", "diff", path), network.run("vars", "import", path, "--dry-run")]
    as_json = network.run("vars", "diff", path, "--json")
    assert [one["after"]["hidden"] for one in as_json.json] == [False, True, True]
    done = network.succeed("vars", "import", path, "--yes")
    assert "+  API_KEY    env  (hidden)" in done.err
    assert "look like secrets: API_KEY, TOKEN_TTL. They will be readable" in done.err
    assert values(network) == {"REGION": "eu", "API_KEY": "topsecret", "TOKEN_TTL": "3600"}
    file(network, "prod.env", "API_KEY=another\n")
    said += [as_json, done, network.succeed("vars", "apply", path, "--prune", "--yes")]
    said += [network.run("vars", "unset", "API_KEY", "--dry-run")]
    for one in said:
        assert "topsecret" not in one.out + one.err
        assert "another" not in one.out + one.err


@pytest.mark.parametrize(
    ("words", "sensitive"),
    [
        (("--take-suggestions",), {"API_KEY", "TOKEN_TTL"}),
        (("--sensitive-keys", "API_*", "--sensitive-keys", "REG*"), {"API_KEY", "REGION"}),
        (("--sensitive",), {"API_KEY", "TOKEN_TTL", "REGION", "DB_PASSWORD"}),
        (("--no-sensitive",), set()),
        ((), set()),
    ],
)
def test_new_variables_become_sensitive_by_what_is_said_and_never_by_yes(
    network: Desk, words: tuple[str, ...], sensitive: set[str]
) -> None:
    network.succeed("vars", "set", "DB_PASSWORD=readable")
    path = file(
        network, "prod.env", "REGION=eu\nAPI_KEY=topsecret\nTOKEN_TTL=3600\nDB_PASSWORD=new\n"
    )
    network.succeed("vars", "apply", path, *words, "--yes")
    assert {key for key, value in values(network).items() if value is None} == sensitive


def test_a_key_of_a_secret_that_the_file_does_not_have_ends_the_command(network: Desk) -> None:
    path = file(network, "prod.env", "DB_PASSWD=topsecret\n")
    for key in ("DB_PASSWORD", ""):
        refused = network.run("vars", "import", path, "--sensitive-keys", key, "--yes")
        assert (refused.code, f"--sensitive-keys {key}: the file" in refused.err) == (2, True)
    assert values(network) == {}


def test_of_a_pattern_of_secrets_that_means_none_it_is_only_said(network: Desk) -> None:
    path = file(network, "prod.env", "REGION=eu\nAPI_KEY=topsecret\n")
    patterns = ("--sensitive-keys", "API_*", "--sensitive-keys", "db_*")
    done = network.succeed("vars", "import", path, *patterns, "--yes")
    assert done.err.count("the file has no variable like this") == 1
    assert "--sensitive-keys db_*: the file" in done.err
    assert values(network) == {"REGION": "eu", "API_KEY": None}


def test_an_answer_at_a_terminal_makes_new_ones_sensitive(network: Desk) -> None:
    path = file(network, "prod.env", "REGION=eu\nAPI_KEY=topsecret\n")
    for answer, value in (("n", "topsecret"), ("y", None)):
        with network.terminal("vars", "import", path) as terminal:
            terminal.expect(r"look like secrets: API_KEY\s+Make them sensitive\?.* \[y/N\] ")
            terminal.type(answer)
            terminal.expect(r"Make these 2 changes in network\? \[y/N\] ")
            terminal.type("y")
            assert terminal.wait() == 0
        assert "topsecret" not in terminal.seen
        assert values(network)["API_KEY"] == value
        network.succeed("vars", "unset", "API_KEY", "REGION", "--yes")


def test_options_that_contradict_each_other_are_refused(network: Desk) -> None:
    path = file(network, "prod.env", "API_KEY=topsecret\n")
    words = ("--no-sensitive", "--take-suggestions", "--yes")
    assert network.run("vars", "import", path, *words).code == 2
    assert values(network) == {}
