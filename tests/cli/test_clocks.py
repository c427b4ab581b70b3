"""Two nodes on one PostgreSQL, of which one has a clock that is five minutes wrong."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, ClassVar

import pytest

from tests.cli.conftest import DIRECTORY
from tests.support.commands import Host
from tests.support.patience import HANGS
from tests.support.server import Server
from tests.support.tenant import JSON_API, variable_document

MINUTE = 60_000_000
WRONG = """
import os, sys, time
right = time.time_ns
time.time_ns = lambda: right() + {by} * 1000 * ({always} or os.path.exists("{folder}/wrong"))
from teamvars.cli import main
sys.argv = ["teamvars", *sys.argv[1:]]
main()
"""


class WrongHost(Host):
    """A host whose clock is five minutes ahead."""

    always: ClassVar[bool] = True

    @property
    def program(self) -> str:
        """The command with that clock."""
        return WRONG.format(by=5 * MINUTE, always=self.always, folder=self.folder)

    def start(self, *words: object, out: IO[str], err: IO[str]) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", self.program, *map(str, words)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            text=True,
            start_new_session=True,
        )


class SettableHost(WrongHost):
    """A host whose clock is so while there is a file `wrong` in its folder."""

    always = False


@pytest.fixture
def host(tmp_path: Path, migrated_postgres: str) -> Host:
    """A host with a store on PostgreSQL."""
    host = Host(tmp_path, {"DATABASE_URL": migrated_postgres})
    host.succeed("init")
    (tmp_path / "directory.yaml").write_text(DIRECTORY)
    return host


def test_a_node_whose_clock_is_wrong_says_so_and_goes_by_postgresqls(host: Host) -> None:
    applied = host.succeed("directory", "apply", "directory.yaml", "--json").json
    network = applied["organizations"]["acme"]["workspaces"]["network"]
    token = host.succeed("token", "create", "--user", "alice", "--expires", "3m").out.strip()
    with Server(WrongHost(host.folder, host.settings)) as wrong, wrong.client(token) as client:
        ready = client.get("/readyz")
        assert ready.status_code == 200
        assert ready.json()["clock"] in {f"{seconds} s ahead" for seconds in range(240, 361)}
        made = client.post(
            f"/api/v2/workspaces/{network}/vars",
            json=variable_document(key="made"),
            headers={"Content-Type": JSON_API},
        )
        assert made.status_code == 201  # by that clock the token has expired
    entry = host.succeed("audit", "list", "--action", "variable.create", "--json").json
    recorded = datetime.fromisoformat(entry["at"])
    assert abs(datetime.now(UTC) - recorded) < timedelta(minutes=2)


def printed_by_wrong_clock(host: Host, *words: str) -> str:
    """What a command prints on a host whose clock is five minutes ahead."""
    wrong, out = WrongHost(host.folder, host.settings), host.folder / "printed"
    with out.open("w") as to_out, (host.folder / "said").open("w") as to_err:
        assert wrong.start(*words, out=to_out, err=to_err).wait(HANGS) == 0
    return out.read_text()


def test_a_command_says_how_long_ago_a_change_was_by_postgresqls_clock(host: Host) -> None:
    host.succeed("directory", "apply", "directory.yaml")
    listed = printed_by_wrong_clock(host, "audit", "list", "--since", "2m", "--json")
    assert "organization.create" in listed


def test_a_command_says_whether_a_token_has_expired_by_postgresqls_clock(host: Host) -> None:
    host.succeed("directory", "apply", "directory.yaml")
    host.succeed("token", "create", "--user", "alice", "--expires", "4m")
    for words in (("token", "list"), ("user", "show", "alice")):
        for form in ((), ("--json",)):
            listed = printed_by_wrong_clock(host, *words, *form)
            assert "at-" in listed
            assert "expired" not in listed
