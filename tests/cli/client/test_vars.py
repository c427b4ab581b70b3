"""`vars`: what a workspace holds is listed, shown, set, taken away, copied and accounted for."""

import sys
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pytest

from teamvars.cli.asking import secret
from teamvars.cli.exits import Misuse
from tests.cli.client.conftest import Service
from tests.cli.store import execute
from tests.support.desk import Desk
from tests.variable_files.hostile import HOSTILE_VALUES


def values(desk: Desk, workspace: str = "network") -> dict[str, str | None]:
    """What the workspace holds."""
    rows = desk.succeed("vars", "list", "--workspace", workspace, "--json").json
    return {row["key"]: row["value"] for row in rows}


def test_what_to_do_next_is_about_the_workspace_or_the_set_that_was_asked_about(
    network: Desk,
) -> None:
    network.succeed("set", "create", "Of all")
    network.succeed("vars", "set", "PORT=1", "-w", "payments")
    for asked, named in (
        (("-w", "payments", "--category", "tool"), "--workspace payments --category tool"),
        (("--set", "Of all"), "--set 'Of all'"),
    ):
        told = network.succeed("vars", "list", *asked).err
        assert told.endswith(f" Make one: teamvars vars set KEY=VALUE {named}\n")
    assert (
        "no tool variables in payments yet"
        in network.succeed("vars", "list", "-w", "payments", "--category", "tool").err
    )
    network.succeed("vars", "set", "$(id)", "--sensitive", "-w", "payments", given="x")
    hidden = network.run("vars", "get", "$(id)", "--plain", "-w", "payments")
    assert hidden.err.endswith(" Set another: teamvars vars set '$(id)' --workspace payments\n")
    absent = network.run("vars", "get", "NONE", "-w", "payments")
    assert absent.err.endswith(": teamvars vars list --workspace payments\n")


def test_what_is_set_is_listed_and_shown(network: Desk) -> None:
    done = network.succeed("vars", "set", "REGION=eu", "--description", "Where it runs")
    assert "/network on http" in done.err.splitlines()[0]
    network.succeed("vars", "set", "ports=[80, 2 * 4]", "--hcl")
    listed = network.succeed("vars", "list").out.splitlines()
    assert [line.split() for line in listed] == [
        ["REGION", "env", "eu", "Where", "it", "runs"],
        ["ports", "tool", "hcl", "[80,", "2", "*", "4]"],
    ]
    assert network.succeed("vars", "get", "ports", "--evaluated").out == "[80,8]\n"
    assert network.succeed("vars", "get", "REGION", "--evaluated").out == '"eu"\n'
    assert network.succeed("vars", "get", "REGION", "--plain").out == "eu"
    assert network.succeed("vars", "get", "REGION", "--json").json["description"] == "Where it runs"
    assert network.run("vars", "get", "NONE").code == 5
    assert network.run("vars", "get", "REGION", "--plain", "--json").code == 2


def test_a_value_from_a_file_is_kept_and_shown_byte_for_byte(network: Desk, tmp_path: Path) -> None:
    for value in (HOSTILE_VALUES[4], HOSTILE_VALUES[5], HOSTILE_VALUES[-1]):
        (tmp_path / "value").write_bytes(value.encode())
        network.succeed("vars", "set", "V", "--file", tmp_path / "value", "--yes")
        network.succeed("vars", "get", "V", "--plain")
        assert (network.folder / ".out").read_bytes() == value.encode()
    assert network.run("vars", "set", "V", "--file", tmp_path / "none").code == 1


def test_standard_input_is_a_value_and_one_line_end_is_none_of_it(network: Desk) -> None:
    network.succeed("vars", "set", "V", given="two\nlines\n\n")
    assert values(network) == {"V": "two\nlines\n"}
    network.succeed("vars", "set", "OF_DOS", given="two\r\nlines\r\n")
    network.succeed("vars", "set", "NO_END", given="one\r")
    assert values(network) == {"V": "two\nlines\n", "OF_DOS": "two\r\nlines", "NO_END": "one\r"}
    network.succeed("vars", "unset", "OF_DOS", "NO_END", "--yes")
    refused = network.run("vars", "set", "V", given="")
    assert (refused.code, values(network)) == (2, {"V": "two\nlines\n"})
    assert "--file /dev/null" in refused.err


@pytest.mark.parametrize(
    "given", [b"abcd", b"abcd\n", b"abcd\r\n", b"abcde", b"abcde\r\n", b"ab\r\n\n"]
)
@pytest.mark.parametrize("more", [b"", b"more"])
def test_what_is_too_long_for_standard_input_is_never_cut_short(
    monkeypatch: pytest.MonkeyPatch, given: bytes, more: bytes
) -> None:
    stream = SimpleNamespace(isatty=lambda: False, buffer=BytesIO(given + more))
    monkeypatch.setattr(sys, "stdin", stream)
    if more or given.startswith(b"abcde"):
        with pytest.raises(Misuse, match="more than 4 bytes"):
            secret("", 4)
    else:
        assert secret("", 4).encode() in (b"abcd", b"ab\r\n")


def test_a_damaged_value_is_written_over_or_deleted(network: Desk, service: Service) -> None:
    network.succeed("vars", "set", "LOST=a", "GONE=b", "SOUND=c")
    for one in network.succeed("vars", "search", "*", "--json").json:
        if one["key"] != "SOUND":
            cut = "UPDATE variables SET sealed_value = substr(sealed_value, 2) WHERE id ="
            execute(service.host, f"{cut} '{one['id']}'")
    assert network.run("vars", "list").code == 10
    assert network.run("vars", "get", "LOST").err.count("damaged") == 1
    assert network.succeed("vars", "get", "SOUND", "--plain").out == "c"
    assert network.succeed("vars", "get", "SOUND", "-w", "net*").out.split()[2:] == ["env", "c"]
    assert network.run("vars", "get", "LOST", "-w", "net*").code == 10
    said = network.succeed("vars", "set", "SOUND=d", "NEW=e").err
    assert "LOST is damaged" in said
    network.succeed("vars", "unset", "GONE", "--yes")
    network.succeed("vars", "set", "LOST=", "-w", "net*", "--yes")
    assert values(network) == {"LOST": "", "NEW": "e", "SOUND": "d"}


def test_several_are_set_together_or_not_at_all(network: Desk) -> None:
    network.succeed("vars", "set", "A=1", "B=", "C=a=b")
    assert values(network) == {"A": "1", "B": "", "C": "a=b"}
    refused = network.run("vars", "set", "A=2", "bad key=2")
    assert refused.code == 7
    assert "bad key: " in refused.err
    assert values(network)["A"] == "1"
    assert network.run("vars", "set", "A=1", "A=2").code == 2
    assert network.run("vars", "set", "A", "B").code == 2


def test_a_sensitive_value_is_never_an_argument(network: Desk) -> None:
    refused = network.run("vars", "set", "PASSWORD=topsecret", "--sensitive")
    assert refused.code == 2
    assert "topsecret" not in refused.err
    network.succeed("vars", "set", "PASSWORD", "--sensitive", given="topsecret")
    assert values(network) == {"PASSWORD": None}
    again = network.run("vars", "set", "PASSWORD=topsecret")
    assert again.code == 2
    assert "topsecret" not in again.err
    assert network.run("vars", "get", "PASSWORD", "--plain").code == 7
    assert "(sensitive)" in network.succeed("vars", "get", "PASSWORD").out


def test_a_value_is_typed_without_being_shown(network: Desk) -> None:
    with network.terminal("vars", "set", "PASSWORD", "--sensitive") as terminal:
        terminal.expect("/network on http.*PASSWORD: ")  # first what it is for
        terminal.type("topsecret")
        assert terminal.wait() == 0
    assert "topsecret" not in terminal.seen
    with network.terminal("vars", "set", "PLAIN") as terminal:
        terminal.expect("PLAIN: ")
        terminal.type("typed")
        assert terminal.wait() == 0
    assert values(network) == {"PASSWORD": None, "PLAIN": "typed"}


def test_what_a_value_is_stays_unless_it_is_said(network: Desk) -> None:
    network.succeed("vars", "set", "v=[1]", "--hcl", "--description", "said")
    network.succeed("vars", "set", "v=[2]")
    shown = network.succeed("vars", "get", "v", "--json").json
    assert (shown["value"], shown["hcl"], shown["category"]) == ("[2]", True, "tool")
    assert shown["description"] == "said"
    assert "nothing to change" in network.succeed("vars", "set", "v=[2]").err


def test_code_that_is_broken_is_shown_where_it_breaks(network: Desk) -> None:
    refused = network.run("vars", "set", "v={\n a = 1\n b = ]\n}", "--hcl")
    assert refused.code == 7
    text, caret = refused.err.splitlines()[-2:]
    assert (text.strip(), text[caret.index("^")]) == ("b = ]", "]")


def test_one_key_in_both_categories_has_to_be_told_apart(network: Desk) -> None:
    network.succeed("vars", "set", "v=1", "--category", "env")
    network.succeed("vars", "set", "v=2", "--category", "tool")
    for words in (("get", "v"), ("set", "v=3"), ("unset", "v", "--yes")):
        refused = network.run("vars", *words)
        assert refused.code == 2
        assert "--category" in refused.err
    assert network.succeed("vars", "get", "v", "--category", "tool", "--plain").out == "2"
    assert network.run("vars", "get", "v", "--category", "shell").code == 2


def test_what_is_deleted_is_shown_and_asked_about(network: Desk) -> None:
    network.succeed("vars", "set", "A=1", "B=2", "C=3")
    refused = network.run("vars", "unset", "A")
    assert refused.code == 2
    assert "--yes" in refused.err
    with network.terminal("vars", "unset", "A", "B") as terminal:
        terminal.expect(r"-  A  env  1\s+-  B  env  2\s+Make these 2 changes in network\? \[y/N\] ")
        terminal.type("no")
        assert terminal.wait() == 1
    assert len(values(network)) == 3
    assert network.run("vars", "unset", "A", "NONE", "--yes").code == 5
    network.succeed("vars", "unset", "A", "B", "--yes")
    assert values(network) == {"C": "3"}


def test_a_pattern_changes_every_workspace_that_matches_and_says_how_it_went(
    desk: Desk, service: Service, office: str
) -> None:
    desk.succeed("vars", "set", "KEY=1", "-w", "*", "--yes")
    assert values(desk, "network") == values(desk, "payments") == {"KEY": "1"}
    assert desk.run("vars", "set", "KEY=2", "-w", "net*,payments").code == 2
    bob = desk.having(address=service.url, token=service.tokens["bob"], organization=office)
    done = bob.run("vars", "set", "KEY=3", "-w", "net*,payments", "--yes", "--json")
    assert done.code == 8
    assert [row["workspace"] for row in done.json] == ["network"]
    assert "payments: failed, and nothing was changed there." in done.err
    assert "1 of 2 workspaces failed" in done.err
    assert (values(desk, "network"), values(desk, "payments")) == ({"KEY": "3"}, {"KEY": "1"})
    assert desk.run("vars", "list", "-w", "prod-*").code == 5
    assert desk.run("vars", "set", "KEY=1", "-w", "prod-*", "--yes").code == 5
    pattern = desk.having(workspace="*").run("vars", "set", "KEY=4", "--yes")
    assert pattern.code == 2  # only the flag has patterns
    assert values(desk, "network") == {"KEY": "3"}


def test_variables_are_copied_once_they_were_shown(desk: Desk) -> None:
    desk.succeed("vars", "set", "A=1", "B=2", "-w", "network")
    desk.succeed("vars", "set", "SECRET", "--sensitive", "-w", "network", given="topsecret")
    target = ("-w", "payments")
    seen = desk.run("vars", "copy", "network", *target, "--dry-run")
    assert (seen.code, values(desk, "payments")) == (3, {})
    desk.succeed("vars", "copy", "network", "A", "SECRET", *target, "--yes")
    assert values(desk, "payments") == {"A": "1", "SECRET": None}
    refused = desk.run("vars", "copy", "network", *target, "--yes")
    assert refused.code == 7
    assert "--on-conflict skip" in refused.err
    desk.succeed("vars", "copy", "network", *target, "--on-conflict", "skip", "--yes")
    assert values(desk, "payments") == {"A": "1", "B": "2", "SECRET": None}
    assert desk.run("vars", "copy", "nowhere", *target, "--yes").code == 5


def test_history_says_who_changed_what_a_line_each(
    network: Desk, service: Service, office: str
) -> None:
    network.succeed("vars", "set", "KEY=1")
    bob = network.having(address=service.url, token=service.tokens["bob"], organization=office)
    bob.succeed("vars", "set", "KEY=2", "--description", "new")
    network.succeed("vars", "unset", "KEY", "--yes")
    lines = [
        line.split()[2:] for line in network.succeed("vars", "history", "KEY").out.splitlines()
    ]
    assert lines == [
        ["alice", "delete", "env"],
        ["bob", "update", "env", "value,", "description"],
        ["alice", "create", "env"],
    ]
    events = network.succeed("vars", "history", "KEY", "--limit", "2", "--json").json
    assert [event["actor-name"] for event in events] == ["alice", "bob"]
    assert "There are no changes" in network.succeed("vars", "history", "NONE").err


def test_what_somebody_else_has_written_commands_no_terminal(network: Desk) -> None:
    network.succeed("vars", "set", "\u202eK=\x1b[31mred", "--description", "\u009b2J")
    for words in (("list",), ("get", "\u202eK"), ("history", "\u202eK")):
        shown = network.succeed("vars", *words).out
        assert not any(char in shown for char in "\u202e\x1b\u009b")
    with network.terminal("vars", "get", "\u202eK", "--plain") as terminal:
        assert terminal.wait() == 0
    assert terminal.seen.strip() == "\\u001b[31mred"


def test_a_value_is_shown_whole_where_there_is_no_terminal(network: Desk) -> None:
    value = "v" * 200
    network.succeed("vars", "set", f"LONG={value}")
    assert value in network.succeed("vars", "list").out
    with network.terminal("vars", "list") as terminal:
        assert terminal.wait() == 0
    assert "vvv…" in terminal.seen
    assert value not in terminal.seen


def test_a_copy_is_made_of_what_was_shown_or_not_at_all(desk: Desk) -> None:
    desk.succeed("vars", "set", "A=1", "B=2", "-w", "network")
    for changed in (("A=other", "-w", "network"), ("A=theirs", "-w", "payments")):
        with desk.terminal(
            "vars", "copy", "network", "-w", "payments", "--on-conflict", "replace"
        ) as copying:
            copying.expect(r"Copy \d from network to payments\? \[y/N\]")
            desk.succeed("vars", "set", *changed)
            copying.type("y")
            assert copying.wait() == 6
    assert values(desk, "payments") == {"A": "theirs"}
