"""What the builds add: the commit that they are made from, for `teamvars --version` to say, and
that the server needs the client of the same version.
"""

import runpy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_CLIENT = "teamvars-cli"
_PACKAGES = {"sdist": "src/teamvars", "wheel": "teamvars"}
"""Where the package is in what is built."""


class ClientHook(MetadataHookInterface):
    """Adds the client to what pyproject.toml says that the server needs."""

    def update(self, metadata: dict[str, Any]) -> None:
        """No other version: each has a half of one package."""
        client = f"{_CLIENT}=={metadata['version']}"
        metadata["dependencies"] = [client, *self.config["dependencies"]]


class CommitHook(BuildHookInterface[Any]):
    """Puts a file with the commit into the package, where there is a commit and not yet a file."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """An editable installation is the checkout itself, whose commit changes."""
        source = Path(self.root, "src", "teamvars")
        versions = runpy.run_path(str(source / "versions.py"))
        name, commit = versions["COMMIT_FILE"], versions["known_commit"]()
        is_other_half = self.target_name == "wheel" and self.metadata.name != _CLIENT
        if version == "editable" or commit is None or (source / name).exists() or is_other_half:
            return
        self._folder = TemporaryDirectory()
        file = Path(self._folder.name) / name
        file.write_text(f"{commit}\n", encoding="utf-8")
        build_data["force_include"][str(file)] = f"{_PACKAGES[self.target_name]}/{name}"
