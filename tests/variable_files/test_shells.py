"""What is written for shells is read by five of them alike, and none of it is carried out."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from teamvars.variable_files.writing import Writing, write
from tests.support import packages
from tests.variable_files.hostile import HOSTILE_VALUES, variable

ALWAYS, WHERE_THEY_ARE = ("bash", "dash"), ("zsh", "ksh", "fish")
VALUES = [
    *HOSTILE_VALUES,
    *("\\ ; touch carried-out #", "' ; touch carried-out #", "\\' ; touch carried-out ; '"),
    *("(touch carried-out)", "x[$(touch carried-out)]", "'''", "'\\'\\''", "\\\n", "%self {a,b}"),
    # What fish and dash use themselves for what they read.
    *("\ufdd0\ufdd9", "\ue000\uf600\uf6ff\uf8ff", "\x80\x81\x88\x9f", "\U0010ffff"),
    "".join(chr(number) for number in range(1, 256)),
]
SOURCES = {"fish": ["source {}", "cat {} | source", "eval (cat {} | string collect)"]}
NUMBERS = ("RANDOM", "SRANDOM", "OPTIND", "HISTCMD", "SECONDS", "COLUMNS", "LINES", "SHLVL", "UID")


@pytest.fixture(params=[*ALWAYS, *WHERE_THEY_ARE])
def shell(request: pytest.FixtureRequest) -> str:
    """A shell of this host; the test is skipped where an optional one cannot be had."""
    name: str = request.param
    if shutil.which(name) is None:
        packages.install(name)
    if shutil.which(name) is None and name in WHERE_THEY_ARE:
        pytest.skip(f"{name} is not installed")
    return name


def carry_out(shell: str, folder: Path, script: str, language: str = "C.UTF-8") -> list[str]:
    """What a shell prints, parted by NUL; it may complain of nothing."""
    done = subprocess.run(
        [shell, "-c", script],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": language},
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    return done.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize("language", ["C.UTF-8", "C"])
def test_every_shell_reads_every_value_byte_for_byte_and_carries_nothing_out(
    shell: str, language: str, tmp_path: Path
) -> None:
    written = write(Writing.SHELL, [variable(f"V{n}", value) for n, value in enumerate(VALUES)])
    assert written.unwritten == ()
    (folder := tmp_path / "folder").mkdir()
    file = tmp_path / "written"
    file.write_bytes(written.text.encode())
    prints = "".join(f"printf '%s\\0' \"$V{number}\"\n" for number in range(len(VALUES)))
    for source in SOURCES.get(shell, [". {}", 'eval "$(cat {})"']):
        script = f"{source.format(file)}\n{prints}"
        assert carry_out(shell, folder, script, language) == VALUES
    # fish notes what it was told below its home.
    assert [path for path in folder.iterdir() if not path.name.startswith(".")] == []


@pytest.mark.parametrize("key", NUMBERS)
def test_what_a_shell_would_evaluate_is_refused_by_its_key(key: str) -> None:
    hostile = variable(key, "psvar[$(touch carried-out)0]")
    (refused,) = write(Writing.SHELL, [hostile]).unwritten
    assert (refused.key, refused.by_key) == (key, True)
    assert "touch" not in refused.detail
    assert write(Writing.SHELL, [variable(key, "80")]).text == f"export {key}='80'\n"


def test_no_shell_evaluates_a_name_of_its_own_that_is_written(shell: str, tmp_path: Path) -> None:
    listing = {"zsh": "print -l ${(k)parameters}", "fish": "set -n", "bash": "compgen -v"}
    script = listing.get(shell, "set | sed 's/=.*//'")
    names = subprocess.check_output([shell, "-c", script], text=True).split()
    for value in ("psvar[$(touch carried-out)0]", "x[$(touch carried-out)]"):
        own = [variable(name, value) for name in names if name.isidentifier()]
        for line in write(Writing.SHELL, own).text.splitlines():
            # Each by itself: many of them cannot be assigned to, or change how the rest is read.
            subprocess.run([shell, "-c", line], cwd=tmp_path, capture_output=True, check=False)
    assert not (tmp_path / "carried-out").exists()
