"""The console and the command line write the same files, and whoever reads these reads them alike.

One table of hostile values goes through both writers and every reader of this host: what shells
read is in test_shells.py, and what python reads in test_writing.py.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from teamvars.hcl import evaluate
from teamvars.hcl.tokens import nfc
from teamvars.kernel.variables import Category
from teamvars.variable_files import Format, parse
from teamvars.variable_files.writing import Writing, Written, write
from tests.support import packages
from tests.variable_files.hostile import HOSTILE_KEYS, HOSTILE_VALUES, variable
from tests.variable_files.test_shells import carry_out

FORMS = [Writing.DOTENV, Writing.TFVARS, Writing.JSON]
CONSOLE = Path(__file__).parents[2] / "src" / "teamvars" / "console" / "static" / "writing.js"
NUL = "topsecret\0"
CODE = [
    "[80, 443]",
    '{ a = "b" }',
    "\n\n{ a = 1\n b = 2 }\n",
    "[1,\n 2] # said",
    "<<A\nx\nA\n",
    "1\n+ 1",
    "12345678901234567890",
    '{"a": ["b", null, true]}',
    '"${1}"',
]
NODE = """
import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";
const { write } = await import(process.argv[1]);
const { form, variables, read } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(read === undefined ? write(form, variables) : parseEnv(read)));
"""


@pytest.fixture(scope="module")
def node() -> str:
    """node; the test is skipped where there is none."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("there is no node, which reads what the console's module writes")
    return found


def asked(node: str, tmp_path: Path, question: object) -> Any:
    """What node says, with the console's module as a browser has it."""
    module = tmp_path / "writing.mjs"
    shutil.copy(CONSOLE, module)
    done = subprocess.run(
        [node, "--input-type=module", "--eval", NODE, str(module)],
        input=json.dumps(question).encode(),
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)


def table(form: Writing) -> list[Any]:
    """Each value, each key and what is sensitive, of the category that the form is for."""
    category = form.category
    return [
        *(variable(f"V{number}", value, category) for number, value in enumerate(HOSTILE_VALUES)),
        *(variable(key, "x", category) for key in (*HOSTILE_KEYS, "_x", "//", "größe", "a\u2e2f")),
        variable("NUL", NUL, category),
        *(variable(key, None, category) for key in ("SECRET", "$(touch carried-out)", "`id`")),
    ]


def by_command(form: Writing, variables: list[Any]) -> Written:
    """As `vars export --allow-missing` writes it."""
    readable = [one for one in variables if one.value is not None]
    missing = [one.key for one in variables if one.value is None]
    return write(form, readable, missing=missing)


@pytest.mark.parametrize("form", FORMS)
def test_the_console_writes_what_the_command_writes(
    form: Writing, node: str, tmp_path: Path
) -> None:
    variables = table(form)
    said = [
        {"key": one.key, "value": one.value, "category": one.category.value, "hcl": one.hcl,
         "sensitive": one.sensitive}
        for one in variables
    ]  # fmt: skip
    console = asked(node, tmp_path, {"form": form.value, "variables": said})
    command = by_command(form, variables)
    assert [one["key"] for one in console["unwritten"]] == [one.key for one in command.unwritten]
    assert "topsecret" not in json.dumps(console)
    assert console["text"] == command.text
    for key in ("SECRET", "$(touch carried-out)", "`id`"):
        assert f"nobody can read it: {key}" in command.text or key in json.loads(command.text)["//"]


@pytest.mark.parametrize("form", [Writing.TFVARS, Writing.JSON])
def test_code_in_the_consoles_files_is_read_as_what_it_comes_to(
    form: Writing, node: str, tmp_path: Path
) -> None:
    said = [
        {"key": f"c{at}", "value": code, "category": "tool", "hcl": True, "sensitive": False}
        for at, code in enumerate(CODE)
    ]
    console = asked(node, tmp_path, {"form": form.value, "variables": said})
    found = parse(Format(form.value), console["text"])
    assert found.faults == ()
    values = {one.key: evaluate(one.value) if one.hcl else one.value for one in found.items}
    left = {one["key"] for one in console["unwritten"]}
    # What is no JSON has to be evaluated, which a browser cannot.
    assert left == (set() if form is Writing.TFVARS else {"c1", "c2", "c3", "c4", "c5", "c8"})
    assert values == {
        f"c{at}": evaluate(code) for at, code in enumerate(CODE) if f"c{at}" not in left
    }


def test_node_and_shells_read_an_environment_file_alike(node: str, tmp_path: Path) -> None:
    written = by_command(Writing.DOTENV, table(Writing.DOTENV))
    left = {one.key for one in written.unwritten}
    expected = {
        one.key: one.value
        for one in table(Writing.DOTENV)
        if one.value is not None and one.key not in left
    }
    assert len(expected) > len(HOSTILE_VALUES) // 2
    assert asked(node, tmp_path, {"read": written.text}) == expected
    (folder := tmp_path / "folder").mkdir()
    (file := tmp_path / "written.env").write_bytes(written.text.encode())
    prints = "".join(f"printf '%s\\0' \"${key}\"\n" for key in expected)
    for shell in ("bash", "dash", "zsh", "ksh"):
        if shutil.which(shell) is None:
            packages.install(shell)
        if shutil.which(shell) is not None:
            assert carry_out(shell, folder, f". {file}\n{prints}") == list(expected.values())
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["read.tfvars", "read.tfvars.json"])
def test_terraform_reads_what_was_written(name: str, tmp_path: Path) -> None:
    if shutil.which("terraform") is None:
        pytest.skip("there is no terraform")
    form = Writing.JSON if name.endswith(".json") else Writing.TFVARS
    values = {f"v{at}": value for at, value in enumerate(HOSTILE_VALUES) if len(value) < 100_000}
    variables = [variable(key, value, Category.TOOL) for key, value in values.items()]
    written = write(form, variables, missing=["$(id)", "SECRET"])
    assert written.unwritten == ()
    (tmp_path / name).write_bytes(written.text.encode())
    blocks = (f'variable "{key}" {{}}\noutput "{key}" {{ value = var.{key} }}\n' for key in values)
    (tmp_path / "main.tf").write_text("".join(blocks))
    apply = ("terraform", "apply", "-auto-approve", "-input=false", "-no-color")
    environment = {**os.environ, "TF_CLI_CONFIG_FILE": os.devnull}
    subprocess.run(
        [*apply, f"-var-file={name}"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        check=True,
    )
    state = json.loads((tmp_path / "terraform.tfstate").read_text())
    read = {key: one["value"] for key, one in state["outputs"].items()}
    assert read == {key: nfc(value) for key, value in values.items()}
