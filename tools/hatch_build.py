"""What the builds add: the commit that they are made from, for `teamvars --version` to say, and
that each part of the package needs those below it in the same version.
"""

import runpy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_LOWEST = "teamvars-hcl"
"""The part that the others need: its wheel says what version all are."""
_PACKAGES = {"sdist": "src/teamvars", "wheel": "teamvars"}
"""Where the package is in what is built."""


class PartsHook(MetadataHookInterface):
    """Adds the other `parts` that a part needs to its `dependencies`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """No other version: they are parts of one package."""
        parts = [f"{part}=={metadata['version']}" for part in self.config["parts"]]
        metadata["dependencies"] = [*parts, *self.config["dependencies"]]


class CommitHook(BuildHookInterface[Any]):
    """Puts a file with the commit into the package, where there is a commit and not yet a file."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """An editable installation is the checkout itself, whose commit changes."""
        source = Path(self.root, "src", "teamvars")
        versions = runpy.run_path(str(source / "versions.py"))
        name, commit = versions["COMMIT_FILE"], versions["known_commit"]()
        is_elsewhere = self.target_name == "wheel" and self.metadata.name != _LOWEST
        if version == "editable" or commit is None or (source / name).exists() or is_elsewhere:
            return
        self._folder = TemporaryDirectory()
        file = Path(self._folder.name) / name
        file.write_text(f"{commit}\n", encoding="utf-8")
        build_data["force_include"][str(file)] = f"{_PACKAGES[self.target_name]}/{name}"
