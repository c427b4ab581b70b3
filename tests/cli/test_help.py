"""Help costs what click costs: no command is loaded to list them all."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from teamvars.cli.commands import CLIENT, OPERATOR
from teamvars.cli.program import LazyCommand, app
from tests.support.commands import SCRIPT

# Of the same shape: options before the command, and commands in a group.
EMPTY = """
import click

@click.group()
@click.option("--data-dir")
def app(data_dir: str | None) -> None: ...

@app.group()
def token() -> None: ...

@token.command()
def create() -> None: ...

@token.command()
def revoke() -> None: ...

app()
"""


def loaded(*words: str) -> set[str]:
    """The modules that a command loads."""
    command = [sys.executable, "-X", "importtime", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in told}


@pytest.mark.parametrize("words", [("--help",), ("token", "--help")])
def test_help_loads_hardly_more_than_that_of_an_empty_program(words: tuple[str, ...]) -> None:
    more = loaded(SCRIPT, *words) - loaded("-c", EMPTY, *words)
    ours = {name for name in more if name.partition(".")[0] == "teamvars"}
    assert {"teamvars.cli", "teamvars.cli.commands"} <= ours
    assert {name.partition(".")[0] for name in more - ours} <= sys.stdlib_module_names
    assert len(more) < 25, sorted(more)


def test_the_version_is_told_without_loading_any_command() -> None:
    words = [sys.executable, "-X", "importtime", SCRIPT, "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("teamvars ")
    assert "teamvars.cli" in done.stderr
    for heavy in ("teamvars.wiring", "teamvars.cli.operator.", "granian", "asyncpg"):
        assert heavy not in done.stderr


def lazy_commands() -> list[LazyCommand]:
    """Every command, the groups' included."""
    found = []
    waiting = list(app.commands.values())
    for command in waiting:  # grows while it is walked
        waiting += getattr(command, "commands", {}).values()
        found += [command] if isinstance(command, LazyCommand) else []
    return found


def test_the_summary_of_a_command_is_how_its_own_help_begins() -> None:
    for command in lazy_commands():
        summary, help_ = command.short_help, command.load().help
        assert summary
        assert inspect.cleandoc(help_ or "").startswith(summary.removesuffix("."))


def test_an_option_says_whether_it_may_be_given_again() -> None:
    """Any other that has a value ends the command when it is."""
    options = [
        option
        for command in lazy_commands()
        for option in command.load().params
        if isinstance(option, click.Option)
    ]
    assert any(option.multiple for option in options)
    for option in options:
        assert (option.help or "").endswith("; repeatable.") is option.multiple, option.opts


def test_no_noun_is_both_a_clients_and_an_operators() -> None:
    client, operator = ({words.split()[0] for words, _, _ in tree} for tree in (CLIENT, OPERATOR))
    assert client & operator == set()


def test_the_clients_commands_load_nothing_of_the_service(tmp_path: Path) -> None:
    words = [sys.executable, "-X", "importtime", SCRIPT, "whoami", "--address", "nowhere"]
    env = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "TEAMVARS_TOKEN": ""}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 4, done.stderr[-300:]
    assert "teamvars.cli.client.api" in done.stderr
    for heavy in ("teamvars.services", "teamvars.storage", "httpx", "asyncio", "pydantic"):
        assert heavy not in done.stderr


def test_help_tells_apart_what_a_command_is_about() -> None:
    words = [sys.executable, SCRIPT, "--help"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    client, _, operator = shown.partition("With a service")[2].partition("On the service's host")
    for tree, panel in ((CLIENT, client), (OPERATOR, operator)):
        for noun in {words.split()[0] for words, _, _ in tree}:
            assert f" {noun} " in panel


@pytest.mark.parametrize("words", [(), ("vars",)])
def test_a_group_alone_shows_its_help(words: tuple[str, ...]) -> None:
    told = subprocess.run([SCRIPT, *words], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (2, "")
    assert " ".join(("Usage: teamvars", *words)) in told.stdout


PRINTED = ["--version", "--help", "vars --help", "login --help", "vars list --help", "vars"]


@pytest.mark.parametrize("words", [*PRINTED, "completion bash"])
def test_help_that_cannot_be_written_is_told_as_such(words: str) -> None:
    with Path("/dev/full").open("w") as full:
        told = subprocess.run(
            [SCRIPT, *words.split()], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert told.returncode == 1
    assert told.stderr == "teamvars: The output cannot be written: No space left on device.\n"


@pytest.mark.parametrize("words", [*PRINTED, "completion bash"])
def test_help_that_nobody_reads_ends_in_silence(words: str) -> None:
    nobody, out = os.pipe()
    os.close(nobody)
    told = subprocess.run(
        [SCRIPT, *words.split()], stdout=out, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(out)
    assert (told.returncode, told.stderr) == (141, "")


def test_wrong_usage_is_that_where_there_is_no_place_to_say_it() -> None:
    with Path("/dev/full").open("w") as full:
        told = subprocess.run([SCRIPT, "vars", "set"], stderr=full, check=False)
    assert told.returncode == 2


def test_letters_of_help_that_an_output_does_not_have_are_escaped() -> None:
    env = {**os.environ, "PYTHONIOENCODING": "iso8859-9"}
    words = [SCRIPT, "vars", "set", "--help"]
    told = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "")
    assert "KEY=VALUE\\u2026" in told.stdout


def test_flags_are_shown_as_such() -> None:
    told = subprocess.run(
        [SCRIPT, "vars", "list", "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert "--json" in told
    assert "<bool>" not in told


@pytest.mark.parametrize("command", ["set", "unset", "import", "apply"])
def test_help_tells_how_to_name_several_workspaces(command: str) -> None:
    told = subprocess.run(
        [SCRIPT, "vars", command, "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert "-w 'prod-*'" in told
    assert "<list" not in told
