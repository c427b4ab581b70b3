"""`run`: the command has the variables, and is what was started: nothing of ours is between."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.client.conftest import Service
from tests.support import processes
from tests.support.commands import SCRIPT
from tests.support.desk import Desk, Homeless
from tests.support.patience import HANGS


def seen(desk: Desk, *words: str) -> dict[str, str]:
    """The environment of a command that is run so."""
    done = desk.succeed("run", *words, "--", "env", "-0")
    return dict(entry.split("=", 1) for entry in done.out.split("\0")[:-1])


def started(desk: Desk, *words: str) -> subprocess.Popen[str]:
    """A command under `run`, which has said that it runs."""
    process = subprocess.Popen(
        [SCRIPT, "run", "--", *words],
        cwd=desk.folder,
        env=desk.environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "runs\n"
    return process


def test_the_command_has_the_variables_over_the_callers_own(network: Desk) -> None:
    network.succeed("vars", "set", "KEY=from the workspace", "EMPTY=", "LINES=a\nb")
    network.succeed("vars", "set", "region=eu", "--category", "tool")
    network.succeed("vars", "set", "ports=[80, 443]", "--hcl")
    environment = seen(network)
    assert environment["KEY"] == "from the workspace"
    assert (environment["EMPTY"], environment["LINES"]) == ("", "a\nb")
    assert (environment["TF_VAR_region"], environment["TF_VAR_ports"]) == ("eu", "[80, 443]")
    assert environment["HOME"] == str(network.home)
    assert "KEY" not in seen(network, "--only", "p*")
    assert "KEY" in seen(network, "--only", "p*", "--only", "K?Y")


def test_the_words_of_the_command_are_its_own_the_empty_ones_too(network: Desk) -> None:
    done = network.succeed("run", "--", "printf", "[%s]", "", "--only", "")
    assert done.out == "[][--only][]"


def test_the_token_is_not_handed_on(network: Desk, service: object, office: str) -> None:
    url, token = network.succeed("whoami", "--json").json["address"], "not-a-token"
    refused = network.having(address=url, token=token).run("run", "--", "true")
    assert refused.code == 125
    environment = seen(network.having(organization=office))
    assert "TEAMVARS_TOKEN" not in environment
    assert environment["TEAMVARS_ORGANIZATION"] == office


@pytest.mark.parametrize("config", ["", "/dev/null", "another's"])
@pytest.mark.parametrize("is_job", [False, True])
def test_whoever_says_all_four_needs_no_home(
    network: Desk,
    service: Service,
    office: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    config: str,
    is_job: bool,
) -> None:
    if config == "another's":
        if os.geteuid() != 0:
            pytest.skip("only root makes folders that are another's")
        (tmp_path / config / "teamvars").mkdir(parents=True)
        os.chown(tmp_path / config / "teamvars", 12345, 12345)
        config = str(tmp_path / config)
    if is_job:  # nothing says with which key the service signs, so it is a person's
        monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_URL", "http://127.0.0.1:1/")
        monkeypatch.setenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "of-the-runner")
    network.succeed("vars", "set", "KEY=value")
    homeless = Homeless(network.folder, network.settings, network.home, config)
    whole = {"address": service.url, "token": service.tokens["alice"], "organization": office}
    done = homeless.having(**whole).succeed("run", "--", "sh", "-c", "echo $KEY")
    assert done.out == "value\n"
    network.succeed("vars", "set", "PAGER=less")
    refused = homeless.having(**whole).run("run", "--", "true")
    assert (refused.code, "--allow-env PAGER" in refused.err) == (125, True)
    lacking = homeless.having(**{**whole, "token": ""}).run("run", "--", "true")
    assert lacking.code == 125
    assert (config or "HOME is not a folder") in lacking.err


def test_a_sensitive_value_comes_from_the_caller_or_the_command_is_not_started(
    network: Desk,
) -> None:
    network.succeed("vars", "set", "SECRET", "--sensitive", given="unreadable")
    network.succeed("vars", "set", "pass", "--sensitive", "--category=tool", given="unreadable")
    refused = network.run("run", "--", "touch", "started")
    assert refused.code == 125
    assert "SECRET is sensitive" in refused.err
    assert "TF_VAR_pass is sensitive" in refused.err
    assert not (network.folder / "started").exists()
    assert "SECRET" not in seen(network, "--allow-missing")
    (network.folder / "own.env").write_text("SECRET='from the file'\nTF_VAR_pass=x\nOTHER=1\n")
    environment = seen(network, "--with", "own.env")
    assert (environment["SECRET"], environment["TF_VAR_pass"]) == ("from the file", "x")
    assert "OTHER" not in environment
    said = "SECRET=mine TF_VAR_pass=y teamvars run -- sh -c 'echo \"$SECRET $TF_VAR_pass\"'"
    assert network.bash(said).stdout == "mine y\n"


def test_names_that_run_something_else_are_taken_only_when_they_are_named(network: Desk) -> None:
    names = ["PATH", "npm_config_script_shell", "LESSOPEN", "https_proxy", "TF_CLI_CONFIG_FILE"]
    network.succeed("vars", "set", *(f"{name}=/nowhere" for name in names), "OF_PATH=1")
    refused = network.run("run", "--", "touch", "started")
    assert refused.code == 125
    for name in names:
        assert f"--allow-env {name}\n" in refused.err
    assert "OF_PATH" not in refused.err
    flags = [word for name in names if name != "PATH" for word in ("--allow-env", name)]
    again = network.run("run", *flags, "--", "touch", "started")
    assert (again.code, again.err.count("--allow-env")) == (125, 1)
    assert not (network.folder / "started").exists()
    assert seen(network, "--only", "https*", "--allow-env", "https_proxy")["https_proxy"]


def test_a_sensitive_name_that_runs_something_else_is_no_other(network: Desk) -> None:
    network.succeed("vars", "set", "LESSOPEN", "--sensitive", given="unreadable")
    (network.folder / "own.env").write_text("LESSOPEN='|id'\n")
    refused = network.run("run", "--with", "own.env", "--", "true")
    assert refused.code == 125
    assert "--allow-env LESSOPEN" in refused.err
    words = ("--with", "own.env", "--allow-env", "LESSOPEN")
    assert seen(network, *words)["LESSOPEN"] == "|id"


def test_a_person_is_asked_once_for_each_name_and_workspace(network: Desk) -> None:
    for name in ("network", "payments"):
        network.succeed("vars", "set", "PAGER=cat", "EDITOR=ed", "-w", name)
    with network.terminal("run", "--", "touch", "refused") as terminal:
        terminal.expect(r"EDITOR of network.*\[y/N\] ")
        terminal.type("y")
        terminal.expect(r"PAGER of network.*\[y/N\] ")
        terminal.type("n")
        terminal.expect("--allow-env PAGER")
        assert terminal.wait() == 125
    assert not (network.folder / "refused").exists()
    assert network.run("run", "--", "true").err.count("--allow-env") == 1
    with network.terminal("run", "--", "sh", "-c", "echo $PAGER-$EDITOR") as terminal:
        assert "EDITOR" not in terminal.expect(r"PAGER of network.*\[y/N\] ")
        terminal.type("y")
        terminal.expect("cat-ed")
        assert terminal.wait() == 0
    assert seen(network)["PAGER"] == "cat"
    assert network.run("run", "-w", "payments", "--", "true").err.count("--allow-env") == 2
    network.succeed("logout")
    assert "agreed" not in (network.files / "settings.json").read_text()


def test_keys_that_are_no_names_are_refused_by_name(network: Desk) -> None:
    network.succeed("vars", "set", "$(id)=1", "\u202eb=2", "GOOD=3")
    refused = network.run("run", "--", "env")
    assert refused.code == 125
    assert "$(id): " in refused.err
    assert "\\u202eb: " in refused.err
    assert seen(network, "--skip-invalid-keys")["GOOD"] == "3"


def test_its_exit_code_is_the_commands(network: Desk) -> None:
    (network.folder / "file").write_text("no program")
    commands = {"exit 7": 7, "kill -TERM $$": -signal.SIGTERM, "kill -PIPE $$": -signal.SIGPIPE}
    for script, code in commands.items():
        assert network.run("run", "--", "sh", "-c", script).code == code
    for command, code in {"./none": 127, "none": 127, "": 127, ".": 126, "./file": 126}.items():
        assert network.run("run", "--", command).code == code
    assert network.run("run", "-w", "nowhere", "--", "true").code == 125
    told = network.bash("teamvars run -- sh -c 'kill -KILL $$'; echo $?")
    assert told.stdout == f"{128 + signal.SIGKILL}\n"


def test_a_script_that_does_not_say_what_reads_it_is_read_by_the_shell(
    network: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    network.succeed("vars", "set", "KEY=value")
    script = network.folder / "own script"
    script.write_text('echo "$KEY $1-$2"; exit 9\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{network.folder}:{os.environ['PATH']}")
    for command in ("./own script", "own script"):
        done = network.run("run", "--", command, "a b", "--c")
        assert (done.code, done.out) == (9, "value a b---c\n")


def test_the_first_program_of_that_name_that_can_be_run_is_it(
    network: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = {"none": None, "closed": "", "mute": "echo first", "told": "#!/bin/sh\necho second"}
    for name, content in contents.items():
        folder = network.folder / name
        if content is not None:
            folder.mkdir()
            (folder / "tool").write_text(content)
            (folder / "tool").chmod(0o644 if name == "closed" else 0o755)
    circle = network.folder / "circle"
    circle.symlink_to(circle)
    folders = [circle, network.folder / ("x" * 300), *(network.folder / name for name in contents)]
    monkeypatch.setenv("PATH", ":".join(map(str, folders)))
    assert network.succeed("run", "--", "tool").out == "first\n"
    monkeypatch.setenv("PATH", ":".join(str(network.folder / name) for name in ("closed", "none")))
    assert network.run("run", "--", "tool").code == 126


def test_a_signal_is_the_commands_since_it_is_the_same_process(network: Desk) -> None:
    script = "trap 'exit 9' TERM; echo $$ > pid; echo runs; while :; do sleep 0.05; done"
    process = started(network, "sh", "-c", script)
    assert int((network.folder / "pid").read_text()) == process.pid
    process.send_signal(signal.SIGTERM)
    assert process.wait(HANGS) == 9
    assert process.stdout is not None
    process.stdout.close()


def test_ctrl_c_at_the_terminal_and_a_resize_are_the_commands(network: Desk) -> None:
    script = "trap 'echo interrupted; exit 9' INT; echo runs; while :; do sleep 0.05; done"
    with network.terminal("run", "--", "sh", "-c", script) as terminal:
        terminal.expect("runs")
        terminal.press(b"\x03")
        terminal.expect("interrupted")
        assert terminal.wait() == 9


def test_nothing_of_it_stays_in_memory_on_disk_or_in_the_list_of_processes(network: Desk) -> None:
    network.succeed("vars", "set", "KEY=canary-of-the-workspace")
    process = started(network, "sh", "-c", "echo runs; exec sleep 3000")
    try:
        deadline = time.monotonic() + HANGS
        while processes.command(process.pid) != "sleep 3000 ":
            assert time.monotonic() < deadline
        assert "canary-of-the-workspace" in processes.environment(process.pid)  # the control
        found = [path for path in network.folder.parent.rglob("*") if path.is_file()]
        assert not any(b"canary-of-the-workspace" in path.read_bytes() for path in found)
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_what_no_environment_can_hold_is_said(network: Desk) -> None:
    (network.folder / "large").write_text("x" * 200_000)
    network.succeed("vars", "set", "LARGE", "--file", "large")
    refused = network.run("run", "--", "true")
    assert refused.code == 125
    assert "LARGE" in refused.err
    network.succeed("vars", "set", "SMALL=1")
    assert "LARGE" not in seen(network, "--only", "S*")


def test_what_is_to_be_taken_alone_has_to_be_there(network: Desk) -> None:
    network.succeed("vars", "set", "KEY=1")
    refused = network.run("run", "--only", "KEY", "--only", "NONE_*", "--", "touch", "started")
    assert refused.code == 125
    assert "--only NONE_*: there is no variable like this" in refused.err
    assert not (network.folder / "started").exists()


@pytest.mark.parametrize("words", ["", "--", "--none env", "-l", "--with", "--timeout x -- env"])
def test_wrong_usage_is_a_fault_of_its_own_too(network: Desk, words: str) -> None:
    refused = network.run("run", *words.split())
    assert (refused.code, refused.out) == (125, "")
    assert "teamvars run " in refused.err or "--timeout" in refused.err


def test_options_behind_the_command_are_the_commands(network: Desk) -> None:
    echo = ("sh", "-c", 'echo "$@"', "sh", "-w", "none", "--", "--only", "x")
    assert network.succeed("run", *echo).out == "-w none -- --only x\n"
    assert network.succeed("run", "--", *echo).out == "-w none -- --only x\n"


def test_two_variables_of_one_name_are_refused_by_it(network: Desk) -> None:
    network.succeed("vars", "set", "region=of the tool", "--category", "tool")
    network.succeed("vars", "set", "TF_VAR_region=of the environment")
    refused = network.run("run", "--", "env")
    assert refused.code == 125
    assert "TF_VAR_region: two variables have this name there" in refused.err
    assert seen(network, "--only", "region")["TF_VAR_region"] == "of the tool"
