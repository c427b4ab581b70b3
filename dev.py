#!/usr/bin/env python3
"""The one way to work on teamvars: `python3 dev.py COMMAND [ARGUMENTS]`, from any directory.

Installs what a command needs into `.venv`, every file checked against the hashes in
`requirements/`, and then runs the command. When nothing has changed, installing is skipped.
"""

import argparse
import hashlib
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NoReturn

# Before anything that older versions would stumble over with a puzzling message.
if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit(f"teamvars needs Python 3.11 or newer; this is Python {sys.version.split()[0]}.")

if sys.platform != "win32":
    import fcntl

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN, SUFFIX = (VENV / "Scripts", ".exe") if sys.platform == "win32" else (VENV / "bin", "")
PYTHON = BIN / f"python{SUFFIX}"
STAMP = VENV / "installed"
# Of a virtual environment, the Python it was made with: that one has pip, and outlives `.venv`.
BASE_PYTHON: str = getattr(sys, "_base_executable", sys.executable)
TERMINAL = sys.stdout.isatty()

CHECKS = ("ruff check", "ruff format --check", "lint-imports --no-logo")
# Beside the tests: while these are collected, one processor has nothing to do.
TYPES = "mypy"
# More workers than most hosts have processors: many tests wait for servers of theirs.
TESTS = "pytest -n 6 --durations 10"
# Where nothing is started: no server, no browser, no command. Without PostgreSQL, and without the
# few tests that try thousands of documents or wait for linters.
QUICK = "decisions domain hcl mail openapi security services storage variable_files web"
# What depends on how PostgreSQL is reached, if anything does.
POOLED = {
    "storage": "access brief_batches contract effective in_turns kept_rows lookups migrations "
    "rights schemas",
    "services": "applies audit_organizations audit_pages freshness races races_of_deliveries waves",
    "web": "audit_keys organization_audit searches variable_search",
}
THROUGH_A_POOLER = f"{TESTS} -k 'postgres or pooler' " + " ".join(
    f"tests/{room}/test_{name}.py" for room, names in POOLED.items() for name in names.split()
)
EXTENTS = {
    "whole": [TESTS],
    "quick": [
        f"{TESTS} -k 'not (postgres or fuzz or linter or costs)' "
        + " ".join(f"tests/{room}" for room in QUICK.split())
    ],
    "long": [
        TESTS,
        "pytest -m long",
        *(f"{THROUGH_A_POOLER} --pooler {mode}" for mode in ("session", "transaction")),
    ],
}


def main() -> int:
    """Run the command named on the command line and return its exit code."""
    name, *arguments = sys.argv[1:] or ["help"]
    if name not in COMMANDS:
        print(__doc__, *(f"    {name:12}{text}" for name, (text, _) in COMMANDS.items()), sep="\n")
        return 0 if name in ("help", "-h", "--help") else 2
    os.chdir(ROOT)
    # uv trusts what this machine trusts, as pip does: networks may have authorities of their own.
    os.environ.setdefault("UV_SYSTEM_CERTS", "1")
    try:
        return COMMANDS[name][1](arguments)
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130


# Commands


def run(requirements: str, command: str, arguments: Sequence[str]) -> int:
    """Install `requirements`, then become `command`."""
    install(requirements)
    program, *options = words(command)
    whole = [program, *options, *arguments]
    if sys.platform != "win32":  # which cannot replace a process
        os.execv(program, whole)
    return call(whole)


def setup(arguments: Sequence[str]) -> int:
    """Install everything and run nothing."""
    install("dev")
    print(f"Ready: {BIN}")
    return 0


def check(arguments: Sequence[str]) -> int:
    """Run every check, also after one has failed; `arguments` go to pytest. Fails if any did.

    `--quick` runs what needs neither PostgreSQL nor a process of its own, `--long` the long fault
    runs as well, and some tests through each mode of a pooler.
    """
    parser = argparse.ArgumentParser(prog="dev.py check", add_help=False, allow_abbrev=False)
    extent = parser.add_mutually_exclusive_group()
    for name in ("quick", "long"):
        extent.add_argument(f"--{name}", action="store_const", const=name, dest="extent")
    options, others = parser.parse_known_args(arguments)
    install("dev")
    rows: list[str] = []
    tests = [[*words(command), *others] for command in EXTENTS[options.extent or "whole"]]
    failed = sum(not passes(words(command), rows) for command in CHECKS)
    with ThreadPoolExecutor() as beside:
        types = beside.submit(quietly, words(TYPES))
        failed += sum(not passes(command, rows) for command in tests)
    failed += not types.result()(rows)
    heading("summary")
    print(*rows, sep="\n")
    return min(failed, 1)


def passes(command: Sequence[str], rows: list[str]) -> bool:
    """Whether a check has passed; its row says so, and how long it took."""
    name = shlex.join([Path(command[0]).stem, *command[1:]])
    heading(name)
    started = time.monotonic()
    code = call(command)
    return row(name, code, time.monotonic() - started, rows)


def quietly(command: Sequence[str]) -> Callable[[list[str]], bool]:
    """Runs a check without a word; what it returns tells all of it, as `passes` does."""
    started = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - started

    def told(rows: list[str]) -> bool:
        name = Path(command[0]).stem
        heading(name)
        print(done.stdout, done.stderr, sep="", end="")
        return row(name, done.returncode, seconds, rows)

    return told


def row(name: str, code: int, seconds: float, rows: list[str]) -> bool:
    """Whether a check has passed, which its new row says as well."""
    verdict = bold("FAILED", 31) if code else bold("ok    ", 32)
    rows.append(f"{verdict}  {seconds:6.1f} s  {name}")
    print(rows[-1], flush=True)
    return code == 0


def faults(arguments: Sequence[str]) -> int:
    """The long fault runs; `--only NAME` those of one file. Other arguments go to pytest."""
    parser = argparse.ArgumentParser(prog="dev.py faults", add_help=False, allow_abbrev=False)
    parser.add_argument("--only", metavar="NAME")
    options, others = parser.parse_known_args(arguments)
    where = "" if options.only is None else f"/test_{options.only}.py"
    return run("dev", f"pytest -m long tests/faults{where}", others)


def lock(arguments: Sequence[str]) -> int:
    """Write requirements/*.txt anew; `--upgrade` moves what they name to the latest versions."""
    bootstrap()
    # Fixed: the default heading repeats the command line, and with it this machine's paths.
    options = "--quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url"
    for part in ("teamvars-hcl", "teamvars-cli"):  # of these sources
        options += f" --no-emit-package {part}"
    heading_line = ["--custom-compile-command", "python3 dev.py lock"]
    for name, sources in SOURCES.items():
        target = f"requirements/{name}.txt"
        compile_ = [*words(f"uv pip compile {options}"), *heading_line, *arguments]
        work(f"Locking {target}", [*compile_, "--output-file", target, *sources])
    return 0


# In order: the later ones are built on the earlier.
SOURCES = {
    "uv": ["requirements/uv.in"],
    "client": ["packages/teamvars-cli/pyproject.toml", "requirements/client.in"],
    "runtime": ["pyproject.toml", "requirements/runtime.in"],
    # What the service runs with counts, whatever a tool would rather have.
    "dev": ["requirements/dev.in", "--override", "requirements/runtime.txt"],
    "bench": ["requirements/bench.in"],
}

COMMANDS: dict[str, tuple[str, Callable[[Sequence[str]], int]]] = {
    "demo": ("start a throw-away server with sample data", partial(run, "runtime", "teamvars dev")),
    "check": (
        "all that a change must pass; --quick: in two minutes, --long: and all fault runs",
        check,
    ),
    "test": ("the tests alone; arguments go to pytest", partial(run, "dev", "pytest")),
    "faults": (
        "kill servers and databases 200 times, and other long fault runs; --only NAME",
        faults,
    ),
    "setup": ("install everything, run nothing", setup),
    "bench": (
        "measure speed against references; --quick, --scale, --only NAME…",
        partial(run, "bench", "python -m bench"),
    ),
    "fuzz": (
        "generated requests against a real server, for minutes; arguments go to pytest",
        partial(run, "dev", "pytest -m long tests/web/test_fuzz.py"),
    ),
    "provider": (
        "let a tfe provider make all it can here, and record it; --binary PATH",
        partial(run, "dev", "python -m tests.clients.provider"),
    ),
    "mutants": (
        "take guards out of the code and list what no test notices; PATH…, --since REV",
        partial(run, "dev", "python -m tests.mutants"),
    ),
    "figures": ("measure what the core promises", partial(run, "dev", "python -m bench.core")),
    "hcl": ("measure what parsing values costs", partial(run, "runtime", "python -m bench.hcl")),
    "screenshots": (
        "pictures of the console for the README, in both themes",
        partial(run, "dev", "python -m tests.console.screenshots"),
    ),
    "client": (
        "measure what commands of the client cost",
        partial(run, "dev", "python -m bench.client"),
    ),
    "console": (
        "measure what one waits for in the console, in both browsers",
        partial(run, "dev", "python -m bench.console"),
    ),
    "deliveries": (
        "measure what it costs to hand a job its values",
        partial(run, "bench", "python -m bench.deliveries"),
    ),
    "jobs": (
        "count keystrokes and requests of five jobs, by command, by curl and by pytfe",
        partial(run, "dev", "python -m bench.jobs"),
    ),
    "size": ("how much source there is, room by room", partial(run, "dev", "python -m tools.size")),
    "trace": (
        "count the files and functions that requests pass; --show lists them",
        partial(run, "dev", "python -m tools.trace"),
    ),
    "session": (
        "record docs/session.svg and docs/run.svg: commands on a terminal, against a service",
        partial(run, "dev", "python -m bench.session"),
    ),
    "release": (
        "make this checkout a release: X [--checked] [--advisories PATH]; see CONTRIBUTING.md",
        partial(run, "dev", "python -m tools.release"),
    ),
    "advisories": (
        "compare what is pinned with a list of advisories: a folder or zip of OSV's",
        partial(run, "dev", "python -m tools.advisories"),
    ),
    "lock": ("write requirements/*.txt anew; --upgrade for the latest versions", lock),
}


# Installing


def install(name: str) -> None:
    """Bring `.venv` to what requirements/`name`.txt and pyproject.toml say."""
    # The benchmark needs the development tools beside its own; they include the runtime.
    lists = ["dev", "bench"] if name == "bench" else [name]
    if not has(lists):
        with alone():
            if not has(lists):
                bring_up(lists)


def has(lists: Sequence[str]) -> bool:
    """Whether `.venv` is whole, and of now."""
    return is_whole() and all(fingerprint(part) in STAMP.read_text() for part in lists)


@contextmanager
def alone() -> Iterator[None]:
    """Waits while another command installs here: two terminals may begin with one each."""
    with Path(__file__).open() as held:
        if sys.platform != "win32":
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


def bring_up(lists: Sequence[str]) -> None:
    """Install what the lists name, and teamvars."""
    bootstrap()
    STAMP.unlink(missing_ok=True)
    pip_install = [*words("uv pip install --python"), str(PYTHON)]
    for listed in (f"requirements/{part}.txt" for part in lists):
        # They are complete, so that nothing has to be found out again.
        work(f"Installing {listed}", [*pip_install, "--no-deps", "--require-hashes", "-r", listed])
    work("Installing teamvars", [*pip_install, "--no-build-isolation", "--no-deps", "-e", "."])
    # Last: a `.venv` without it was interrupted.
    names = {"runtime", *lists}
    STAMP.write_text("\n".join([identity(), *map(fingerprint, names)]))


def bootstrap() -> None:
    """Make a `.venv` that holds uv; an unfinished or a foreign one is made anew."""
    if not is_whole():
        work("Creating .venv", [BASE_PYTHON, "-m", "venv", "--clear", "--without-pip", str(VENV)])
    pip = [BASE_PYTHON, "-m", "pip", "--disable-pip-version-check", "--python", str(PYTHON)]
    install_uv = ["install", "--require-hashes", "-r", "requirements/uv.txt"]
    work("Installing uv", [*pip, *install_uv])


def is_whole() -> bool:
    """Whether `.venv` was finished, here, with this Python, and still has one to run."""
    return STAMP.exists() and PYTHON.exists() and identity() in STAMP.read_text()


def identity() -> str:
    """What cannot change under a `.venv`: its scripts name its place and its Python."""
    return f"{VENV} {sys.base_prefix} {sys.version}".replace("\n", " ")


def fingerprint(name: str) -> str:
    """A hash of every file that decides what an installation of `name` consists of."""
    ours = (ROOT / "pyproject.toml", ROOT / "src/teamvars/versions.py")
    files = [*ours, *(ROOT / f"requirements/{part}.txt" for part in ("uv", name))]
    return name + " " + hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


# Running


def words(command: str) -> list[str]:
    """The words of `command`, whose program is one of `.venv`."""
    program, *options = shlex.split(command)
    return [str(BIN / f"{program}{SUFFIX}"), *options]


def call(command: Sequence[str]) -> int:
    """Run a command in the foreground and return its exit code.

    After Ctrl-C, which the command receives as well, it has all the time it needs to end:
    `subprocess.run` would kill it, and tests would leave their database servers behind.
    """
    with subprocess.Popen(command) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.wait()
            raise


def work(text: str, command: Sequence[str]) -> None:
    """Run a command silently under a running clock; when it fails, show its output and exit."""
    started = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        output = None
        while output is None:
            try:
                output, _ = process.communicate(timeout=0.2)
            except subprocess.TimeoutExpired:
                if TERMINAL:
                    print(f"\r{text} … {int(time.monotonic() - started)} s", end="", flush=True)
            except KeyboardInterrupt:
                process.kill()  # it must not write to a `.venv` that the next run makes anew
                raise
    print("\r" * TERMINAL + f"{text} … {time.monotonic() - started:.1f} s", flush=True)
    if process.returncode:
        fail(text, output.decode(errors="replace"))


def fail(text: str, output: str) -> NoReturn:
    """Say what failed and, where the cause is a common one, what to do; then exit."""
    hint = ""
    if "No module named pip" in output:
        hint = f"{BASE_PYTHON} has no pip; on Debian: apt install python3-pip"
    elif "connection broken" in output or "error sending request" in output:  # pip's words, uv's
        hint = "The package registry cannot be reached. Connect this machine, then run it again."
    sys.exit(f"\n{output.strip()}\n\n{bold(text + ' failed.', 31)} {hint}")


def heading(text: str) -> None:
    """Begin a part of the output."""
    print(f"\n{bold('==> ' + text, 36)}", flush=True)


def bold(text: str, colour: int) -> str:
    """`text` in bold colour where there is a terminal that wants it."""
    wanted = TERMINAL and "NO_COLOR" not in os.environ
    return f"\033[1;{colour}m{text}\033[0m" if wanted else text


if __name__ == "__main__":
    sys.exit(main())
