"""A terminal session, recorded: `python3 dev.py session` writes docs/session.svg.

Real commands on a pseudo-terminal against a real service; what is typed is typed. Only the address
and the folders are shown as others: those of a run are of that run alone.
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
from tests.support.desk import Desk
from tests.support.server import Server

OUTPUT = Path(__file__).parents[1] / "docs" / "session.svg"
SHOWN_ADDRESS = "https://teamvars.example.com"
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
DEPLOY = """\
#!/bin/sh
echo "deploying to $REGION with $(env | grep -c '^SETTING_') settings, subnets $TF_VAR_subnets"
"""


class Step(NamedTuple):
    """A line that is typed, and what is answered to each prompt: how it ends, and the text."""

    line: str
    answers: tuple[tuple[str, str], ...] = ()


def main() -> None:
    """Records the session."""
    with tempfile.TemporaryDirectory(prefix="teamvars-session-") as text:
        folder = Path(text)
        (host_folder := folder / "host").mkdir()
        host = installed(host_folder, DIRECTORY)
        token = host.succeed("token", "create", "--user", "alice").out.strip()
        (home := folder / "home").mkdir()
        (work := folder / "network").mkdir()
        settings = "".join(f"SETTING_{number:02}=value {number}\n" for number in range(29))
        (work / "prod.env").write_text(f"REGION=eu-central-1\n{settings}")
        (work / "deploy").write_text(DEPLOY)
        (work / "deploy").chmod(0o755)
        (work / "own.env").write_text("DB_PASSWORD=of-this-desk\n")
        with Server(host) as server:
            alice = Desk(work, home=folder / "before").having(
                address=server.url, token=token, organization="acme"
            )
            alice.succeed(*SECRET, "--yes", given="the-first-one")
            seen = [_carried_out(Desk(work, home=home), step) for step in _steps(server.url, token)]
            shown = "".join(seen).replace(server.url, SHOWN_ADDRESS)
    shown = shown.replace(f"{home}/config", "~/.config").replace(str(work), "~/network")
    OUTPUT.write_text(_drawn(shown))
    print(f"Written: {OUTPUT.name}")


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
    return f"$ {step.line}\n{terminal.seen}\n"


def _drawn(shown: str) -> str:
    """The session as an image that fetches nothing."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    for line in shown.replace("\r\n", "\n").split("\n"):
        style = "bold green" if line.startswith("$ ") else ""
        console.print(Text.from_ansi(line, style=style))
    form = re.sub(
        r"@font-face \{\{.*?\}\}\n", "", _export_format.CONSOLE_SVG_FORMAT, flags=re.DOTALL
    )
    return console.export_svg(
        title="teamvars", theme=MONOKAI, code_format=form, unique_id="session"
    )


if __name__ == "__main__":
    main()
