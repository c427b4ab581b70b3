"""What commands do with streams that are full, closed, or of few letters."""

import json
import re

import pytest

from tests.support.desk import Desk


@pytest.mark.parametrize("words", ["list", "list --json", "get KEY --plain"])
def test_an_output_that_cannot_be_written_is_told_as_such(network: Desk, words: str) -> None:
    network.succeed("vars", "set", "KEY=value")
    done = network.bash(f"teamvars vars {words} > /dev/full")
    assert done.returncode == 1
    assert done.stderr == "teamvars: The output cannot be written: No space left on device.\n"


def test_a_token_that_was_made_and_cannot_be_shown_is_named_with_what_revokes_it(
    desk: Desk,
) -> None:
    done = desk.bash("teamvars login tokens create > /dev/full")
    assert done.returncode == 1
    found = re.search(r"Token at-\S+ was made.*: teamvars (.*)\n", done.stderr)
    assert found, done.stderr
    assert "Revoked: at-" in desk.succeed(*found[1].split(), "--yes").err


def test_a_stream_that_is_closed_is_an_empty_one(network: Desk) -> None:
    refused = network.bash("teamvars vars set KEY <&-")
    assert refused.returncode == 2
    assert "There is no value on standard input. For an empty one: --file /dev/null" in (
        refused.stderr
    )
    network.succeed("vars", "set", "EMPTY", "--sensitive", "--file", "/dev/null", "-w", "payments")
    network.succeed("vars", "set", "KEY=value")
    done = network.bash("teamvars vars get KEY --plain >&-")
    assert (done.returncode, done.stderr) == (0, "")
    # What was closed stays so for the command that is run.
    done = network.bash("teamvars run -- sh -c 'echo value 2>/dev/null || exit 9' >&-")
    assert done.returncode == 9


def test_a_standard_input_that_cannot_be_read_is_told_as_such(network: Desk) -> None:
    done = network.bash("teamvars vars set KEY 0> /dev/null")
    assert done.returncode == 1
    assert "teamvars: Standard input cannot be read: Bad file descriptor.\n" in done.stderr


def test_letters_that_an_output_does_not_have_are_escaped_and_json_stays_json(
    network: Desk,
) -> None:
    network.succeed("vars", "set", "KEY=gr\u00fcn\U0001f600")
    listed = network.bash("PYTHONIOENCODING=ascii teamvars vars list")
    assert "gr\\u00fcn\\ud83d\\ude00" in listed.stdout
    told = network.bash("PYTHONIOENCODING=ascii teamvars vars list --json")
    assert json.loads(told.stdout)[0]["value"] == "gr\u00fcn\U0001f600"


def test_a_link_that_cannot_be_written_leaves_the_former_one_alone(desk: Desk) -> None:
    desk.succeed("link", "--workspace", "network")
    folder = desk.folder / ".teamvars"
    before = (folder / "link.toml").read_bytes()
    done = desk.bash("ulimit -f 0; teamvars link --workspace payments")
    assert done.returncode == 1
    assert "link.toml cannot be written: File too large." in done.stderr
    assert [path.name for path in folder.iterdir()] == ["link.toml"]
    assert (folder / "link.toml").read_bytes() == before
    desk.succeed("link", "--show")


def test_no_link_is_made_in_a_folder_that_has_gone(desk: Desk) -> None:
    done = desk.bash("mkdir gone; cd gone; rmdir ../gone; teamvars link --workspace network")
    assert done.returncode == 1
    told = "teamvars: The current folder cannot be found: No such file or directory.\n"
    assert done.stderr == told
