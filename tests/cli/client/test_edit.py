"""`vars edit`: a value in an editor, in a file that is nobody else's and soon nobody's."""

import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.client.conftest import Service
from tests.cli.client.test_vars import values
from tests.cli.store import execute
from tests.support.commands import SCRIPT
from tests.support.desk import Desk
from tests.support.patience import HANGS, wait_until


def editor(desk: Desk, script: str) -> Desk:
    """The desk with an editor: a shell script that has the file as `$1`."""
    path = desk.folder / "editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return Edited(desk.folder, desk.settings, desk.home)


class Edited(Desk):
    """A desk whose editor is in its folder."""

    @property
    def environment(self) -> dict[str, str]:
        """Also without a runtime directory of its own."""
        inherited = {k: v for k, v in super().environment.items() if k != "XDG_RUNTIME_DIR"}
        return {**inherited, "EDITOR": str(self.folder / "editor"), "VISUAL": ""}


def test_what_the_editor_leaves_is_the_value(network: Desk) -> None:
    network.succeed("vars", "set", "KEY=old\nlines")
    desk = editor(network, 'sed -i s/old/new/ "$1"; echo >> "$1"; ls -l "$1" > seen; touch "$1~"')
    assert "KEY: updated." in desk.succeed("vars", "edit", "KEY").err
    assert values(network) == {"KEY": "new\nlines"}
    mode, *_, path = (network.folder / "seen").read_text().split()
    assert mode.startswith(stat.filemode(0o100600))
    assert path.startswith("/dev/shm/")  # noqa: S108 - the file system in memory
    assert not Path(path).parent.exists()
    assert "nothing was changed" in editor(network, ":").succeed("vars", "edit", "KEY").err


def test_a_value_is_edited_where_another_is_damaged(network: Desk, service: Service) -> None:
    network.succeed("vars", "set", "LOST=a", "KEY=old")
    cut = "UPDATE variables SET sealed_value = substr(sealed_value, 2) WHERE key = 'LOST'"
    execute(service.host, cut)
    desk = editor(network, 'sed -i s/old/new/ "$1"')
    said = desk.succeed("vars", "edit", "KEY").err
    assert "LOST is damaged" in said
    assert desk.succeed("vars", "get", "KEY", "--plain").out == "new"
    assert "LOST is damaged" in editor(network, "touch opened").run("vars", "edit", "LOST").err
    assert not (network.folder / "opened").exists()


def test_an_editor_that_fails_changes_nothing(network: Desk) -> None:
    network.succeed("vars", "set", "KEY=old")
    for script in ('echo new > "$1"; exit 3', 'rm "$1"', 'printf "\\377" > "$1"'):
        assert editor(network, script).run("vars", "edit", "KEY").code == 1
    assert values(network) == {"KEY": "old"}


def test_a_sensitive_value_begins_empty_and_is_not_shown_when_it_is_refused(network: Desk) -> None:
    network.succeed("vars", "set", "k", "--sensitive", "--hcl", given='"x"')
    desk = editor(network, 'test ! -s "$1" && echo "[topsecret" > "$1"')
    refused = desk.run("vars", "edit", "k")
    assert refused.code == 7
    assert "topsecret" not in refused.err


def test_what_is_refused_is_shown_and_edited_again(network: Desk) -> None:
    network.succeed("vars", "set", "subnets={ a = 1 }", "--hcl")
    desk = editor(network, 'test -e twice && echo "{ a = 2 }" > "$1" || echo "{ a = " > "$1"')
    with desk.terminal("vars", "edit", "subnets") as terminal:
        terminal.expect(r"\^\s+Edit it again")
        (network.folder / "twice").touch()
        network.succeed("vars", "set", "subnets={ a = 3 }")
        terminal.type("y")
        assert terminal.wait() == 0
    assert values(network) == {"subnets": "{ a = 2 }"}


def test_a_value_that_somebody_else_changed_meanwhile_is_not_overwritten(network: Desk) -> None:
    network.succeed("vars", "set", "KEY=old")
    script = f'{SCRIPT} vars set KEY=theirs; echo mine > "$1"'
    refused = editor(network, script).run("vars", "edit", "KEY")
    assert (refused.code, values(network)) == (6, {"KEY": "theirs"})


def test_what_is_to_overwrite_another_value_is_sent_though_it_is_not_edited_again(
    network: Desk,
) -> None:
    network.succeed("vars", "set", "KEY=old")
    script = f'test -e twice || {{ {SCRIPT} vars set KEY=theirs; echo mine > "$1"; }}; touch twice'
    with editor(network, script).terminal("vars", "edit", "KEY") as terminal:
        terminal.expect(r"overwrite what is there now\? \[y/N\] ")
        terminal.type("y")
        assert terminal.wait() == 0
    assert "KEY: updated." in terminal.seen
    assert values(network) == {"KEY": "mine"}


def test_what_was_typed_is_still_there_where_the_variable_is_not(network: Desk) -> None:
    network.succeed("vars", "set", "KEY=old")
    script = f'cp "$1" seen; {SCRIPT} vars unset KEY --yes; echo mine > "$1"'
    with editor(network, script).terminal("vars", "edit", "KEY") as terminal:
        for answer in "yn":
            terminal.expect(r"overwrite what is there now\? \[y/N\] ")
            terminal.type(answer)
        assert terminal.wait() == 6
    assert (network.folder / "seen").read_text() == "mine"
    assert values(network) == {}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_the_file_goes_with_the_command_that_is_told_to_end(
    network: Desk, number: signal.Signals
) -> None:
    network.succeed("vars", "set", "KEY=old")
    desk = editor(network, 'echo "$1" > seen.part; mv seen.part seen; exec sleep 3000')
    process = subprocess.Popen(
        [SCRIPT, "vars", "edit", "KEY"],
        cwd=desk.folder,
        env=desk.environment,
        stderr=subprocess.DEVNULL,
    )
    wait_until((seen := network.folder / "seen").exists)
    assert Path(seen.read_text().strip()).exists()  # the control
    process.send_signal(number)
    assert process.wait(HANGS) == 128 + number
    assert not Path(seen.read_text().strip()).parent.exists()


AT_ONCE = """
import os, pathlib, signal, subprocess, time

class AtOnce(subprocess.Popen):
    def __init__(self, words, *more, **options):
        super().__init__(words, *more, **options)
        while "editor" in words[0] and not pathlib.Path("seen").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

subprocess.Popen = AtOnce
from teamvars.__main__ import main
main()
"""
"""The command line, told to end before it has got hold of what it has started."""


@pytest.mark.parametrize("at_once", [False, True], ids=["", "at once"])
def test_an_editor_is_told_to_end_as_the_command_is(network: Desk, at_once: bool) -> None:
    network.succeed("vars", "set", "KEY=old")
    script = "trap 'kill $!; touch told; exit 1' TERM; sleep 3000 & touch seen; wait"
    process = subprocess.Popen(
        [*([sys.executable, "-c", AT_ONCE] if at_once else [SCRIPT]), "vars", "edit", "KEY"],
        cwd=network.folder,
        env=editor(network, script).environment,
        stderr=subprocess.DEVNULL,
    )
    wait_until((network.folder / "seen").exists)
    if not at_once:  # it tells itself: whoever is told while it ends, ends at once
        process.send_signal(signal.SIGTERM)
    assert process.wait(HANGS) == 128 + signal.SIGTERM
    assert (network.folder / "told").exists()


class Misspelt(Desk):
    """A desk whose editor is no command."""

    @property
    def environment(self) -> dict[str, str]:
        """As of somebody who forgot a quotation mark."""
        return {**super().environment, "EDITOR": "'vi", "VISUAL": " "}


def test_an_editor_that_is_no_command_is_told_as_such(network: Desk) -> None:
    network.succeed("vars", "set", "KEY=old")
    refused = Misspelt(network.folder, network.settings, network.home).run("vars", "edit", "KEY")
    assert refused.code == 2
    assert "VISUAL or EDITOR" in refused.err


def test_a_file_in_memory_that_has_no_room_is_told_as_such(network: Desk) -> None:
    network.succeed("vars", "set", f"KEY={'x' * 2000}")
    desk = editor(network, "touch opened")
    refused = desk.bash("ulimit -f 1; teamvars vars edit KEY")
    assert refused.returncode == 1
    assert "There is no file to edit: File too large." in refused.stderr
    assert not (network.folder / "opened").exists()
