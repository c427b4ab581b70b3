"""`dev.py release X`: makes these sources release X, as one commit with a tag, and its files.

All that could be wrong is found before anything is written, and a release whose files do not
install, or that fails the check, leaves the checkout as it was.
"""

import argparse
import hashlib
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.advisories import RELEASED, Unusable, compare

ROOT = Path(__file__).parents[1]
DISTRIBUTIONS = ("packages/teamvars-hcl", "packages/teamvars-cli", ".")
"""The folder of each project that is built from these sources; all have the same version."""

UNRELEASED = "## Unreleased\n"
_NUMBERS = re.compile(r"\d+\.\d+\.\d+")


class NotReleased(Exception):
    """Nothing was released, and the checkout is as it was; the text says why."""


class Checkout:
    """A clone of the repository that a release is made in."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.versions = root / "src" / "teamvars" / "versions.py"
        self.changelog = root / "CHANGELOG.md"

    @property
    def release(self) -> str:
        """What these sources are, or are to become."""
        named: str = runpy.run_path(str(self.versions))["RELEASE"]
        return named

    def faults(self, release: str) -> Iterator[str]:
        """Everything that keeps it from becoming this release."""
        current = self.release
        planned, dev, _ = current.partition(".dev")
        if not _NUMBERS.fullmatch(release):
            yield f"{release} is no release: say three numbers, such as {planned}."
        elif _ordered(release) < _ordered(planned):
            yield f"{release} is lower than {planned}, which these sources are to become."
        if not dev:
            yield f"These sources are {current} already. Begin the next one: see CONTRIBUTING.md."
        if (branch := self.git("branch", "--show-current")) != "main":
            yield f"A release is made on main, and this is {branch or 'no branch'}."
        if self.git("status", "--porcelain"):
            yield "There are changes that are not committed."
        if self.git("tag", "--list", f"v{release}"):
            yield f"There is a tag v{release}."
        if not self._told():
            yield "CHANGELOG.md says nothing under Unreleased."

    def become(self, release: str, day: str) -> None:
        """Writes the version, and of which day its changes are."""
        text = self.versions.read_text()
        self.versions.write_text(text.replace(f'"{self.release}"', f'"{release}"', 1))
        text = self.changelog.read_text()
        self.changelog.write_text(text.replace(UNRELEASED, f"## {release} ({day})\n", 1))

    def restore(self) -> None:
        """Takes back what `become` has written."""
        self.git("checkout", "--quiet", "--", self.versions, self.changelog)

    def commit(self, release: str) -> None:
        """Makes the commit and its tag."""
        written = (self.versions, self.changelog)
        self.git("commit", "--quiet", "--message", f"teamvars {release}", "--", *written)
        self.git("tag", "--annotate", "--message", f"teamvars {release}", f"v{release}")

    def build(self, folder: Path) -> None:
        """Makes the source archive and the wheel of each distribution."""
        for project in DISTRIBUTIONS:
            build = (sys.executable, "-m", "build", "--no-isolation", "--outdir", folder)
            run(*build, self.root / project)

    def git(self, *words: object) -> str:
        """What a git command says."""
        return run("git", "-C", self.root, *words)

    def _told(self) -> str:
        """What the changelog says of what is not released yet."""
        _, _, rest = self.changelog.read_text().partition(UNRELEASED)
        return rest.partition("\n## ")[0].strip()


def release(checkout: Checkout, number: str, *, is_checked: bool) -> list[Path]:
    """Makes the release and returns its files. Raises NotReleased."""
    if faults := list(checkout.faults(number)):
        raise NotReleased("\n".join(faults))
    checkout.become(number, datetime.now(UTC).date().isoformat())
    try:
        if not is_checked and subprocess.call([sys.executable, checkout.root / "dev.py", "check"]):
            raise NotReleased("The check fails: see above.")
        with TemporaryDirectory() as folder:
            built = Path(folder) / "dist"
            checkout.build(built)
            checkout.build(again := Path(folder) / "again")
            require_same(built, again)
            python = environment(Path(folder), checkout.root)
            verify(sorted(built.glob("*.whl")), number, python)
            describe(python, built / f"teamvars-{number}.cdx.json")
            (built / "SHA256SUMS").write_text(sums(built))
            kept = shutil.copytree(built, checkout.root / "dist", dirs_exist_ok=True)
            files = [kept / file.name for file in sorted(built.iterdir())]
        checkout.commit(number)
    except BaseException:
        checkout.restore()
        raise
    return files


def require_no_advisory(root: Path, advisories: Path) -> str:
    """Says how much was compared with what a release runs with. Raises NotReleased where some of it
    is known to be vulnerable.
    """
    try:
        found = compare((root / "requirements" / f"{name}.txt" for name in RELEASED), advisories)
    except Unusable as reason:
        raise NotReleased(str(reason)) from None
    if found.faults:
        raise NotReleased("\n".join(found.faults))
    return f"Compared with {found.advisories:,} advisories, the newest of {found.newest}."


def environment(folder: Path, root: Path) -> Path:
    """A new environment with what the service runs with, and its Python."""
    made = folder / "environment"
    run(sys.executable, "-m", "venv", made)
    python = made / "bin" / "python"
    pip = (python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    run(*pip, "--require-hashes", "--requirement", root / "requirements" / "runtime.txt")
    return python


def verify(wheels: Sequence[Path], number: str, python: Path) -> None:
    """Installs the wheels and asks what they are. Raises NotReleased."""
    uv = Path(sys.executable).with_name("uv")
    run(uv, "pip", "install", "--offline", "--no-deps", "--python", python, *wheels)
    said = run(python.with_name("teamvars"), "--version")
    if said != f"teamvars {number}":
        raise NotReleased(f"What was built calls itself {said}.")
    if odd := [wheel.name for wheel in wheels if wheel.name.split("-")[1] != number]:
        raise NotReleased(f"This is not {number}: {', '.join(odd)}.")


def require_same(built: Path, again: Path) -> None:
    """Refuses what nobody else could build from the same sources, byte for byte."""
    if sums(built) != sums(again):
        raise NotReleased(f"Built twice, these differ:\n{sums(built)}\n{sums(again)}")


def describe(python: Path, file: Path) -> None:
    """Writes what an installation consists of (CycloneDX), as it is in an environment."""
    tool = Path(sys.executable).with_name("cyclonedx-py")
    run(tool, "environment", python, "--output-reproducible", "--output-file", file)


def sums(folder: Path) -> str:
    """The SHA-256 of each file, as `sha256sum --check` reads it."""
    digests = {file.name: hashlib.sha256(file.read_bytes()) for file in folder.iterdir()}
    return "".join(f"{digest.hexdigest()}  {name}\n" for name, digest in sorted(digests.items()))


def run(*command: object) -> str:
    """What a command says that ends well. Raises NotReleased with what it says otherwise."""
    words = [*map(str, command)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        said = f"{done.stdout}{done.stderr}".strip()
        raise NotReleased(f"{' '.join(words)} fails:\n{said}")
    return done.stdout.strip()


def _ordered(number: str) -> list[int]:
    return [int(part) for part in number.split(".")]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="dev.py release", description=__doc__)
    parser.add_argument("release", help="what it is called, such as 0.2.0")
    checked = "this very commit has passed the whole check: do not run it again"
    parser.add_argument("--checked", action="store_true", help=checked)
    known = "a folder or zip of OSV's advisories, with which to compare what it runs with"
    parser.add_argument("--advisories", type=Path, metavar="PATH", help=known)
    options = parser.parse_args()
    try:
        if options.advisories is not None:
            print(require_no_advisory(ROOT, options.advisories))
        files = release(Checkout(ROOT), options.release, is_checked=options.checked)
    except NotReleased as reason:
        sys.exit(f"Nothing was released.\n{reason}")
    tag = f"v{options.release}"
    print(f"Made the commit, the tag {tag}, and", *files, sep="\n  ")
    print(f"To hand it out: git push origin main {tag}, then upload these files.")


if __name__ == "__main__":
    main()
