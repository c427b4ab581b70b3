"""Python environments that hold what is locked and nothing else of ours, without fetching it."""

import re
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parents[2]


def locked_environment(folder: Path, name: str = "runtime") -> Path:
    """A new environment with what requirements/`name`.txt names, and its Python."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    return environment_with(folder, re.findall(r"^([\w.-]+)==", text, re.MULTILINE))


def environment_with(folder: Path, names: Iterable[str]) -> Path:
    """A new environment with these packages and nothing that they need, and its Python."""
    made = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", made], check=True)
    (packages,) = made.glob("lib/python3*/site-packages")
    for name in names:
        with suppress(PackageNotFoundError):  # of another system
            _lend(distribution(name), packages)
    return made / "bin" / "python"


def _lend(there: Distribution, packages: Path) -> None:
    """Links one package into an environment."""
    for top in {Path(str(file)).parts[0] for file in there.files or ()} - {".."}:
        if not (link := packages / top).exists():
            link.symlink_to(str(there.locate_file(top)))
