"""Keystrokes and requests of five jobs, by command, by curl and by pytfe: `python3 dev.py jobs`.

Each is typed as it stands and carried out against a service, whose requests are counted on the way.
What is set up once is not counted: a login and a link, docs/api.md's `api` for curl, a client for
pytfe. Prints the table of docs/cli.md.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

from pytfe import TFEClient, TFEConfig, models

from bench.client import installed
from tests.cli.client.way import Way
from tests.support.commands import SCRIPT, Host
from tests.support.server import Server

PEOPLE = [f"person{number}" for number in range(25)]
SECRET = "rotated-secret"
DIRECTORY = f"""\
users:
  - {{username: alice, email: alice@example.com}}
{"".join(f"  - {{username: {who}, email: {who}@example.com}}{chr(10)}" for who in PEOPLE)}
organizations:
  - name: acme
    members: {{alice: active, {", ".join(f"{who}: active" for who in PEOPLE)}}}
    workspaces: [prod-a, prod-b, prod-c]
    teams: [{{name: owners, members: [alice]}}, {{name: platform}}]
"""
API = """\
api() { curl -sSf -g -H "Authorization: Bearer $TOKEN" \\
  -H "Content-Type: application/vnd.api+json" "$@"; }
"""


class Job(NamedTuple):
    """A job, and what is typed for it; None where there is no way."""

    title: str
    command: str
    curl: str
    pytfe: str | None


_ID = "id=$(api $API/organizations/acme/workspaces/prod-$w | jq -r .data.id)"
JOBS = (
    Job(
        "30 variables from a file into three workspaces",
        "teamvars vars import prod.env -w 'prod-*' --yes\n",
        f"""\
for w in a b c; do {_ID}
jq -n --rawfile content prod.env '{{data: {{type: "parsed-files",
attributes: {{format: "dotenv", $content}}}}}}' |
api $API/workspaces/$id/actions/parse -d @- |
jq '{{data: [.data.attributes.items[] | {{type: "vars", attributes: .}}]}}' |
api $API/workspaces/$id/actions/apply -d @-; done
""",
        """\
for w in client.workspaces.list("acme", WorkspaceListOptions(search="prod-")):
    ids = {v.key: v.id for v in client.variables.list(w.id)}
    for line in open("prod.env"):
        key, value = line.rstrip().split("=", 1)
        if key in ids:
            client.variables.update(w.id, ids[key], VariableUpdateOptions(value=value))
        else:
            client.variables.create(w.id, VariableCreateOptions(
                key=key, value=value, category=CategoryType.ENV))
""",
    ),
    Job(
        "rotate a secret in three workspaces",
        "teamvars vars set PASSWORD -w 'prod-*' --yes\n" + f"{SECRET}\n",
        f"""\
read -rs v
{SECRET}
for w in a b c; do {_ID}
jq -n --arg value "$v" '{{data: [{{type: "vars", attributes: {{key: "PASSWORD",
category: "env", $value}}}}]}}' | api $API/workspaces/$id/actions/apply -d @-; done
""",
        f"""\
value = getpass()
{SECRET}
for w in client.workspaces.list("acme", WorkspaceListOptions(search="prod-")):
    for v in client.variables.list(w.id):
        if v.key == "PASSWORD":
            client.variables.update(w.id, v.id, VariableUpdateOptions(value=value))
""",
    ),
    Job(
        "add 25 people to a team",
        "teamvars team add platform --from people.txt\n",
        """\
team=$(api $API/organizations/acme/teams |
jq -r '.data[] | select(.attributes.name == "platform").id')
jq -R '{type: "users", id: .}' people.txt | jq -s '{data: .}' |
api $API/teams/$team/relationships/users -d @-
""",
        None,
    ),
    Job(
        "who changed it",
        "teamvars vars history PASSWORD -w prod-a\n",
        f"""\
w=a; {_ID}
api "$API/workspaces/$id/audit-events?filter[key]=PASSWORD" | jq -r '.data[].attributes |
[."created-at", ."actor-name", .action, (.changed | join(","))] | @tsv'
""",
        None,
    ),
    Job(
        "copy a workspace, secrets included",
        "teamvars vars copy prod-a -w prod-b --on-conflict replace --yes\n",
        f"""\
w=a; {_ID}; source=$id; w=b; {_ID}
api $API/workspaces/$id/actions/copy -d @- <<JSON
{{"data": {{"type": "copies", "attributes": {{"on-conflict": "replace"}}, "relationships":
{{"source": {{"data": {{"type": "workspaces", "id": "$source"}}}}}}}}}}
JSON
""",
        None,
    ),
)


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory(prefix="teamvars-bench-") as text:
        folder = Path(text)
        host = installed(folder, DIRECTORY).having(dialect="terraform")
        token = host.succeed("token", "create", "--user", "alice").out.strip()
        lines = [f"KEY_{number}=value-{number}\n" for number in range(30)]
        (folder / "prod.env").write_text("".join(lines))
        (folder / "people.txt").write_text("".join(f"{who}\n" for who in PEOPLE))
        with Server(host) as server:
            secret = ("vars", "set", "PASSWORD", "--sensitive", "-w", "prod-*", "--yes")
            client = host.having(address=server.url, token=token, organization="acme")
            run = {**client.environment, "XDG_CONFIG_HOME": text}
            subprocess.run([SCRIPT, *secret], env=run, input=b"first", check=True)
            print("| job | by command | by curl | by pytfe |\n|---|---|---|---|")
            for job in JOBS:
                cells = [
                    _cell(way, server.url, host, token, job) for way in ("command", "curl", "pytfe")
                ]
                print(f"| {job.title} | {' | '.join(cells)} |")


def _cell(way: str, url: str, host: Host, token: str, job: Job) -> str:
    typed = getattr(job, way)
    if typed is None:
        return "no call for it"
    with Way(url) as counted:
        {"command": _by_command, "curl": _by_curl, "pytfe": _by_pytfe}[way](
            typed, counted.url, host, token
        )
    return f"{len(typed)}, {bytes(counted.heard).count(b' HTTP/1.1' + bytes((13, 10)))}"


def _by_command(typed: str, url: str, host: Host, token: str) -> None:
    line, *given = typed.splitlines()
    client = host.having(address=url, token=token, organization="acme")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**client.environment, "XDG_CONFIG_HOME": str(host.folder), "PATH": path}
    _shell(line, "".join(given), host.folder, environment)


def _by_curl(typed: str, url: str, host: Host, token: str) -> None:
    secret = f"{SECRET}\n"
    script = API + typed.replace(secret, "", 1)
    _shell(script, secret, host.folder, {**os.environ, "API": f"{url}/api/v2", "TOKEN": token})


def _shell(script: str, given: str, folder: Path, environment: dict[str, str]) -> None:
    subprocess.run(
        ["/usr/bin/env", "bash", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )


def _by_pytfe(typed: str, url: str, host: Host, token: str) -> None:
    names: dict[str, Any] = {
        **{name: getattr(models, name) for name in models.__all__},
        "client": TFEClient(TFEConfig(address=url, token=token)),
        "getpass": lambda: SECRET,
        "open": lambda name: (host.folder / name).open(),
    }
    exec(dedent(typed.replace(f"{SECRET}\n", "", 1)), names)  # noqa: S102 - the text above


if __name__ == "__main__":
    main()
