"""The installed script, from its first moment on."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import SCRIPT
from tests.support.patience import HANGS

# Python runs this before the script: Ctrl-C comes when a module of the command is looked for.
AT_LOADING = """
import os, signal, sys

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "teamvars.cli.exits":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder)
"""


@pytest.mark.parametrize("command", [[SCRIPT], [sys.executable, "-m", "teamvars"]])
@pytest.mark.parametrize(
    ("handler", "code"), [(signal.default_int_handler, 130), (signal.SIG_IGN, 0)]
)
def test_ctrl_c_while_the_command_is_loaded_ends_it_without_a_word_unless_it_is_ignored(
    command: list[str], handler: object, code: int, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(AT_LOADING)
    before = signal.signal(signal.SIGINT, handler)  # type: ignore[arg-type]
    try:  # a program inherits what is ignored, and nothing else
        done = subprocess.run(
            [*command, "--version"],
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=HANGS,
            check=False,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    assert (done.returncode, done.stderr) == (code, "")
