"""Terminal sessions, recorded: `python3 dev.py session` writes docs/session.svg and docs/run.svg.

Real commands on a pseudo-terminal against a real service; what is typed is typed. Only the address,
the folders and the service's key are shown as others: those of a run are of that run alone.
"""

import io
import re
import shlex
import tempfile
from pathlib import Path
from typing import NamedTuple

from rich import _export_format
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from bench.client import installed
from tests.support.commands import Host
from tests.support.desk import Desk
from tests.support.server import Server

DOCS = Path(__file__).parents[1] / "docs"
SHOWN_ADDRESS = "https://teamvars.example.com"
SHOWN_KEY = "SERVER-KEY"
WIDTH = 96
DIRECTORY = """\
users: [{username: alice, email: alice@example.com}]
organizations:
  - name: acme
    members: {alice: active}
    workspaces: [prod-eu, prod-us, prod-ap]
    teams: [{name: owners, members: [alice]}]
"""
SECRET = ("vars", "set", "DB_PASSWORD", "--sensitive", "--workspace", "prod-*")
RUN_SECRET = "vars set DB_PASSWORD --sensitive -w prod-eu"
MIGRATE = """\
#!/bin/sh
echo "migrating with a password of ${#DB_PASSWORD} characters"
"""
DEPLOY = """\
#!/bin/sh
echo "deploying to $REGION with $(env | grep -c '^SETTING_') settings, subnets $TF_VAR_subnets"
"""


class Step(NamedTuple):
    """A line that is typed, what is answered to each prompt (how it ends, and the text), and who
    types it.
    """

    line: str
    answers: tuple[tuple[str, str], ...] = ()
    who: str = ""


def main() -> None:
    """Records the sessions."""
    with tempfile.TemporaryDirectory(prefix="teamvars-session-") as text:
        folder = Path(text)
        (host_folder := folder / "host").mkdir()
        host = installed(host_folder, DIRECTORY)
        token = host.succeed("token", "create", "--user", "alice").out.strip()
        server = Server(host)
        server.host = host.having(public_url=server.url)
        with server:
            alice = Desk(folder, home=folder / "before").having(
                address=server.url, token=token, organization="acme"
            )
            alice.succeed(*SECRET, "--yes", given="the-first-one")
            _record("session", _of_alice(folder / "alice", server.url, token), server.url)
            _record("run", _of_a_job(folder / "job", alice, server.host, server.url), server.url)


def _of_alice(folder: Path, url: str, token: str) -> str:
    """What somebody does in a day."""
    (home := folder / "home").mkdir(parents=True)
    (work := folder / "network").mkdir()
    settings = "".join(f"SETTING_{number:02}=value {number}\n" for number in range(29))
    (work / "prod.env").write_text(f"REGION=eu-central-1\n{settings}")
    (work / "deploy").write_text(DEPLOY)
    (work / "deploy").chmod(0o755)
    (work / "own.env").write_text("DB_PASSWORD=of-this-desk\n")
    desk = Desk(work, home=home)
    seen = "".join(_carried_out(desk, step) for step in _steps(url, token))
    return seen.replace(f"{home}/config", "~/.config").replace(str(work), "~/network")


def _of_a_job(folder: Path, alice: Desk, host: Host, url: str) -> str:
    """How a machine comes to be handed a secret: each line by whoever has to say it."""
    (home := folder / "home").mkdir(parents=True)
    (work := folder / "shop").mkdir()
    (work / "migrate").write_text(MIGRATE)
    (work / "migrate").chmod(0o755)
    machine = Desk(work, home=home)
    operator = Desk(host.folder, host.settings, home)
    key = host.succeed("server-key", "show").out.strip()
    seen = []

    def at(desk: Desk, who: str, line: str, *answers: tuple[str, str]) -> str:
        seen.append(_carried_out(desk, Step(line, answers, who)))
        return seen[-1]

    at(alice, "alice", f"teamvars {RUN_SECRET}", ("DB_PASSWORD: ", "correct-horse"))
    said = at(machine, "build", f"teamvars runner init --address {url} --server-key {key}")
    create = f"teamvars runner create build --public-key {said.splitlines()[1]} -w prod-eu"
    told = at(alice, "alice", f"{create} --expires 60d")
    approve = re.search(r"teamvars approvals approve \S+", told)
    run = re.search(r"teamvars run --workspace ws-\w+", told)
    assert approve
    assert run
    at(operator, "host", approve[0])
    at(machine, "build", f"{run[0]} -- ./migrate")
    at(alice, "alice", "teamvars deliveries list")
    shown = "".join(seen).replace(key, SHOWN_KEY).replace(f"{home}/config", "~/.config")
    return shown.replace(str(host.folder), "/srv/teamvars")


def _record(name: str, shown: str, url: str) -> None:
    output = DOCS / f"{name}.svg"
    output.write_text(_drawn(shown.replace(url, SHOWN_ADDRESS), name))
    print(f"Written: {output.name}")


def _steps(url: str, token: str) -> list[Step]:
    yes = (r"\[y/N\] ", "y")
    return [
        Step(f"teamvars login --address {url}", (("Token for .*: ", token),)),
        Step("teamvars link --workspace prod-eu"),
        Step("teamvars vars import prod.env", (yes,)),
        Step("""teamvars vars set 'subnets={ a = "10.0.0.0/24", b = }' --hcl"""),
        Step("""teamvars vars set 'subnets={ a = "10.0.0.0/24", b = null }' --hcl"""),
        Step("teamvars vars get subnets --evaluated"),
        Step(
            f"teamvars {shlex.join(SECRET)}",
            (("DB_PASSWORD: ", "a-new-one"), yes),
        ),
        Step("teamvars run -- ./deploy"),
        Step("teamvars run --with own.env -- ./deploy"),
        Step("teamvars vars history DB_PASSWORD"),
    ]


def _carried_out(desk: Desk, step: Step) -> str:
    """What the terminal shows of a step, the line that is typed included."""
    with desk.terminal(*shlex.split(step.line)[1:]) as terminal:
        for prompt, answer in step.answers:
            terminal.expect(prompt)
            terminal.type(answer)
        terminal.wait()
    return f"{step.who}$ {step.line}\n{terminal.seen}\n"


def _drawn(shown: str, name: str) -> str:
    """The session as an image that fetches nothing."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    for line in shown.replace("\r\n", "\n").split("\n"):
        style = "bold green" if re.match(r"\w*\$ ", line) else ""
        console.print(Text.from_ansi(line, style=style))
    form = re.sub(
        r"@font-face \{\{.*?\}\}\n", "", _export_format.CONSOLE_SVG_FORMAT, flags=re.DOTALL
    )
    return console.export_svg(title="teamvars", theme=MONOKAI, code_format=form, unique_id=name)


if __name__ == "__main__":
    main()
