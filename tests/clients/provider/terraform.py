"""The terraform command line in a folder with main.tf, with a provider that somebody built."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.patience import HANGS
from tests.support.terminating_proxy import TerminatingProxy

CONFIGURATION = Path(__file__).with_name("main.tf")
# One thing after the other, so that what was recorded is the same each time.
OPTIONS = ("-no-color", "-parallelism=1")


class Failed(Exception):
    """A command did not end as it must; says what it printed."""


class Terraform:
    """Commands in a folder of their own, for the service behind a proxy."""

    def __init__(
        self, folder: Path, program: str, binary: Path, proxy: TerminatingProxy, token: str
    ) -> None:
        plugins, settings, self._folder = (folder / name for name in ("plugins", "rc", "work"))
        plugins.mkdir()
        (plugins / "terraform-provider-tfe").symlink_to(binary.resolve(strict=True))
        overrides = f'dev_overrides {{\n"hashicorp/tfe" = {json.dumps(str(plugins))}\n}}'
        settings.write_text(f"provider_installation {{\n{overrides}\n}}\n")
        self._folder.mkdir()
        shutil.copy(CONFIGURATION, self._folder)
        self._program = program
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "CHECKPOINT_DISABLE": "1",
            "SSL_CERT_FILE": str(proxy.authority),
            "TF_CLI_CONFIG_FILE": str(settings),
            "TF_IN_AUTOMATION": "1",
            "TF_INPUT": "0",
            "TFE_HOSTNAME": proxy.url.removeprefix("https://"),
            "TFE_TOKEN": token,
        }

    def run(self, *words: str) -> str:
        """A command that must end with 0; what it printed."""
        done = subprocess.run(
            [self._program, *words],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=HANGS,
            check=False,
        )
        if done.returncode != 0:
            said = f"{done.stdout}{done.stderr}"
            raise Failed(f"{said}terraform {' '.join(words)} ended with {done.returncode}.")
        return done.stdout

    def apply(self, *, changed: bool, imports: Mapping[str, str] | None = None) -> str:
        """Makes things as main.tf has them, after importing some; what it printed.

        Afterwards there must be nothing to do: the plan would end with 2 otherwise.
        """
        imported = (imports or {}).items()
        blocks = (f'import {{\n  to = {to}\n  id = "{id_}"\n}}\n' for to, id_ in imported)
        (self._folder / "imports.tf").write_text("".join(blocks))
        options = (*OPTIONS, f"-var=changed={json.dumps(changed)}")
        said = self.run("apply", "-auto-approve", *options)
        self.run("plan", "-detailed-exitcode", *options)
        return said

    def destroy(self) -> str:
        """Destroys everything; what it printed."""
        return self.run("destroy", "-auto-approve", *OPTIONS, "-var=changed=true")

    def resources(self) -> list[Mapping[str, Any]]:
        """What it has made, and knows of."""
        state = json.loads(self.run("show", "-json"))
        listed: list[Mapping[str, Any]] = state["values"]["root_module"]["resources"]
        return [one for one in listed if one["mode"] == "managed"]


def told(printed: str) -> str:
    """How many things a command says that it has made, changed and destroyed."""
    found = re.findall(r"^\w+ complete! Resources: (.*)$", printed, re.MULTILINE)
    return str(found[-1])
