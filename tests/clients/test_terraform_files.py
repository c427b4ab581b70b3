"""Files of variables: what terraform, as HashiCorp built it, reads in them, we read too.

Runs where `terraform` is found, as test_terraform.py does.
"""

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from teamvars.hcl import evaluate
from teamvars.hcl.tokens import nfc
from teamvars.kernel.variables import Category
from teamvars.variable_files import Format, ParsedFile, parse
from teamvars.variable_files.writing import Writing, write
from tests.clients.test_terraform import terraform
from tests.support.patience import HANGS
from tests.variable_files.hostile import HOSTILE_VALUES, variable

__all__ = ["terraform"]

TFVARS = {
    "values": 'a = "x"\nb = [1,\n 2] # c\nc = {\n  k = 1 // c\n  "l" : "m${1}"\n}\nd = null\n',
    "heredocs": "a = <<-EOT\n  one\n   two\n  EOT\nb = <<A\nx\nA\n",
    "strings": 'a = "\\t\\"q\\" \\\\ \\u00e9 $${x} %%{y}"\nb = "e\u0301"\n',
    "templates": 'a = "${1}"\nb = "x${1}"\nc = "%{if true}y%{endif}"\n',
    "a byte order mark and CRLF": '\ufeffa = 1\r\nb = "x"\r\nc = <<A\r\n1\r\n2\r\nA\r\n',
    "comments": "a /* c */ = /* d */ 1 /* e */\n/* f\n g */ b = 2\n# h\n// i\nc = (\n1\n+ 1)\n",
    "expressions": 'a = true ? "x" : "y"\nb = [for x in [1, 2] : x * 2]\nc = "x" == <<A\nx\nA\n',
    "names": "a-b = 1\nä = 2\nif = 3\nnull = 4\n",
    "twice": "a = 1\na = 2\n",
    "two on a line": "a = 1 b = 2\n",
    "a comma": "a = 1, b = 2\n",
    "a semicolon": "a = 1;\n",
    "a value on the next line": "a =\n1\n",
    "no value": "a =\n",
    "a colon": "a : 1\n",
    "a quoted name": '"a" = 1\n',
    "a name with a step": "a.b = 1\n",
    "a block": 'a "b" {\n}\n',
    "a brace": "a = 1\n}\n",
    "a reference": "a = var.x\n",
    "a call": 'a = upper("x")\n',
}
JSON = {
    "values": '{"a": "${y} %{z}", "b": [1, 2.50, -3e2, true, null, "${q}", {"k": "%{v"}]}',
    "objects": '{"a": {"x${y}": {"//": 1}}, "b": null, "c": {}}',
    "characters": '{"a": "\\ud83d\\ude00 \\u0001\\/\\b", "b": ["\\f\\u0000"]}',
    "a long number": '{"a": 123456789012345678901234567890.123456789}',
    "a comment": '{"//": "c", "a": 1}',
    "twice": '{"a": 1, "a": 2}',
    "a member twice": '{"a": {"b": 1, "b": 2}}',
    "a trailing comma": '{"a": 1,}',
    "a leading zero": '{"a": 01}',
    "something after it": '{"a": 1} x',
    "a number alone": "1",
}


def read_by_terraform(program: str, file: Path, names: list[str]) -> Any:
    """The values of these variables; None when it refuses the file."""
    folder = file.parent
    declared = "".join(f'variable "{name}" {{\n  type = any\n}}\n' for name in names)
    (folder / "main.tf").write_text(declared, encoding="utf-8")
    # In base64, since the console shows strings in its own way.
    asked = "base64encode(jsonencode([" + ", ".join(f"var.{name}" for name in names) + "]))\n"
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "CHECKPOINT_DISABLE": "1"}
    done = subprocess.run(
        [program, "console", "-no-color", f"-var-file={file.name}"],
        input=asked,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )
    if done.returncode:
        return None
    return json.loads(base64.b64decode(done.stdout.strip().splitlines()[-1]))


def assert_same(found: ParsedFile, theirs: Any) -> None:
    """Both refuse the file, or both read the same values in it."""
    if theirs is None or found.faults:
        assert theirs is None
        assert found.faults
        return
    ours = [evaluate(item.value) if item.hcl else item.value for item in found.items]
    assert json.loads(json.dumps(ours, default=float)) == theirs


@pytest.mark.parametrize("kind", list(TFVARS))
def test_a_tfvars_file_is_read_as_terraform_reads_it(
    terraform: str, tmp_path: Path, kind: str
) -> None:
    file, found = tmp_path / "x.tfvars", parse(Format.TFVARS, TFVARS[kind])
    file.write_bytes(TFVARS[kind].encode())
    names = [item.key for item in found.items]
    assert_same(found, read_by_terraform(terraform, file, names or ["a"]))


@pytest.mark.parametrize("kind", list(JSON))
def test_a_tfvars_json_file_is_read_as_terraform_reads_it(
    terraform: str, tmp_path: Path, kind: str
) -> None:
    file, found = tmp_path / "x.tfvars.json", parse(Format.JSON, JSON[kind])
    file.write_bytes(JSON[kind].encode())
    names = [item.key for item in found.items]
    assert_same(found, read_by_terraform(terraform, file, names or ["a"]))


@pytest.mark.parametrize(("form", "name"), [("tfvars", "x.tfvars"), ("json", "x.tfvars.json")])
def test_what_is_written_is_read_by_terraform(
    terraform: str, tmp_path: Path, form: str, name: str
) -> None:
    codes = {
        "[1,\n 2] # said": [1, 2],
        "1\n+ 1": 2,
        "<<A\nx\nA\n": "x\n",
        "{ a = null }": {"a": None},
    }
    variables = [
        *(variable(f"v{n}", value, Category.TOOL) for n, value in enumerate(HOSTILE_VALUES)),
        *(variable(f"c{n}", code, Category.TOOL, hcl=True) for n, code in enumerate(codes)),
    ]
    written = write(Writing(form), variables)
    assert written.unwritten == ()
    (tmp_path / name).write_bytes(written.text.encode())
    read = read_by_terraform(terraform, tmp_path / name, [one.key for one in variables])
    # Whatever a string is written with, terraform has it in Unicode's form C.
    assert read == [*map(nfc, HOSTILE_VALUES), *codes.values()]
