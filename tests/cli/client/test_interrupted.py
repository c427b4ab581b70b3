"""Whatever happens in the middle: all of it or nothing, and doing it again ends it."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.client.conftest import Service
from tests.cli.client.test_vars import values
from tests.cli.client.way import Way
from tests.support.desk import Desk
from tests.support.patience import HANGS

MANY = {f"KEY_{number}": f"{number}-" + "x" * 200 for number in range(400)}

Along = Callable[[Way], Desk]


@pytest.fixture
def path(network: Desk) -> Path:
    """A file of many variables."""
    path = network.folder / "many.env"
    path.write_text("".join(f"{key}={value}\n" for key, value in MANY.items()))
    return path


@pytest.fixture
def along(network: Desk, service: Service, office: str) -> Along:
    """Alice's desk, whose commands take a way of the test's own."""
    token = service.tokens["alice"]
    return lambda way: network.having(address=way.url, token=token, organization=office)


def ended(desk: Desk, way: Way, number: signal.Signals, *words: object) -> tuple[int, str]:
    """Starts a command, ends it where the way says; its exit code, and what it has said."""
    file = desk.folder / "said"
    with file.open("w") as said:
        command = desk.start(*words, out=said, err=said)
        assert way.met.wait(HANGS)
        command.send_signal(number)
        return command.wait(HANGS), file.read_text()


def test_an_answer_that_is_lost_is_asked_for_again_and_nothing_happens_twice(
    network: Desk, service: Service, along: Along, path: Path
) -> None:
    with Way(service.url, loses=2) as way:
        done = along(way).succeed("vars", "import", path, "--yes")
    assert way.applies == 3
    assert "Sending it again." in done.err
    assert "network: 400 created." in done.err
    assert values(network) == MANY
    events = network.succeed("vars", "history", "KEY_1", "--json").json
    assert [event["action"] for event in events] == ["variable.create"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize(
    ("way", "happens"),
    [({"passes": 0}, False), ({"passes": 15_000}, False), ({"holds": True}, True)],
    ids=["before it", "in the middle of it", "after it"],
)
def test_an_import_that_is_ended_is_whole_or_not_there_and_is_ended_by_another(
    network: Desk,
    service: Service,
    along: Along,
    path: Path,
    way: dict[str, int],
    happens: bool,
    number: signal.Signals,
) -> None:
    with Way(service.url, **way) as met:  # type: ignore[arg-type]
        code, said = ended(along(met), met, number, "vars", "import", path, "--yes")
    assert code == (12 if number is signal.SIGINT else -number)
    assert ("Nobody knows whether the change" in said) == (number is signal.SIGINT)
    assert "Traceback" not in said
    assert values(network) == (MANY if happens else {})
    network.succeed("vars", "import", path, "--yes")
    assert values(network) == MANY


def test_who_ends_changes_of_several_workspaces_is_told_that_some_may_have_happened(
    network: Desk, service: Service, along: Along
) -> None:
    several = ["vars", "set", "REGION=eu", "-w", "net*,pay*", "--yes"]
    with Way(service.url, passes=0) as way:
        code, said = ended(along(way), way, signal.SIGINT, *several)
    assert code == 12
    assert "Nobody knows whether the change" in said
    assert "Traceback" not in said
    network.succeed(*several)
    assert values(network) == values(network, "payments") == {"REGION": "eu"}


def test_a_service_that_has_gone_is_told_of_and_the_command_can_be_run_again(
    network: Desk, service: Service, along: Along, path: Path
) -> None:
    with Way(service.url) as way, along(way).terminal("vars", "import", path) as terminal:
        terminal.expect(r"\[y/N\] ")
        way.close()
        terminal.type("y")
        terminal.expect("Sending it again.")
        terminal.press(b"\x03")
        assert terminal.wait() == 12
    refused = along(way).run("vars", "import", path, "--yes")
    assert refused.code == 11
    assert "cannot be reached" in refused.err
    assert values(network) == {}
    network.succeed("vars", "import", path, "--yes")


@pytest.mark.parametrize(
    "words",
    [
        "vars list",
        "vars export --format shell",
        "vars get KEY_1",
        "team list",
        "workspace access -w none 2>&1",
    ],
)
def test_a_pipe_that_is_closed_ends_a_command_in_silence(
    network: Desk, path: Path, words: str
) -> None:
    network.succeed("vars", "import", path, "--yes")
    done = network.bash(f"teamvars {words} | true; exit ${{PIPESTATUS[0]}}")
    assert (done.stderr, done.returncode) == ("", 141)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_whoever_is_asked_for_a_secret_sees_again_what_is_typed_once_that_has_ended(
    network: Desk, number: signal.Signals
) -> None:
    with network.terminal("vars", "set", "KEY") as terminal:
        terminal.expect("KEY: ")
        assert not terminal.echoes
        terminal.end(number)
        assert terminal.echoes
        assert terminal.wait() == 128 + number
