"""What nobody may see is seen nowhere: not in a list of processes, not in what a command says."""

import signal
import subprocess
from collections.abc import Iterator
from uuid import uuid4

import pytest

from tests.cli.client.conftest import Service
from tests.cli.client.stubs import answering
from tests.cli.client.test_interrupted import Along, along
from tests.cli.client.way import Way
from tests.faults.canaries import finds
from tests.support import processes
from tests.support.commands import SCRIPT
from tests.support.desk import Desk
from tests.support.patience import HANGS

__all__ = ["along"]


@pytest.fixture
def odd(secret: str) -> Iterator[str]:
    """The address of a service whose answers nobody expects; a secret is in each."""

    with answering(lambda *_: (200, {"data": {"id": [secret], "attributes": secret}})) as url:
        yield url


@pytest.fixture
def secret() -> str:
    """A value like no other; one that a shell and a command line can hold."""
    return f"canary-{uuid4().hex}"


@pytest.mark.parametrize("way_in", ["standard input", "file"])
def test_a_secret_that_is_set_is_in_the_request_alone(
    network: Desk, service: Service, along: Along, secret: str, way_in: str
) -> None:
    words = [SCRIPT, "vars", "set", "KEY", "--sensitive", "--debug"]
    if way_in == "file":
        (network.folder / "value").write_text(secret)
        words += ["--file", "value"]
    with Way(service.url, holds=True) as way:
        desk = along(way)
        process = subprocess.Popen(
            words,
            cwd=desk.folder,
            env=desk.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(secret.encode())
        process.stdin.close()
        assert way.met.wait(HANGS)
        shown = processes.command(process.pid) + processes.environment(process.pid)
        process.send_signal(signal.SIGINT)
        process.stdin = None
        out, err = process.communicate(timeout=HANGS)
    token = service.tokens["alice"]
    assert finds(bytes(way.heard), secret, token) == {secret, token}  # the control
    assert b"/vars" in err  # what --debug says of a request
    assert finds(out + err + shown.encode(), secret) == set()
    assert finds(out + err, token) == set()


def test_what_nobody_expected_ends_a_command_without_a_word_of_it(
    network: Desk, service: Service, odd: str, secret: str
) -> None:
    desk = network.having(address=odd, token=service.tokens["alice"], organization="acme")
    commands = {("vars", "list"): 1, ("vars", "set", "A=1"): 1, ("run", "--", "true"): 125}
    for words, code in commands.items():
        done = desk.run(*words)
        assert done.code == code
        assert "unexpected" in done.err
        assert "Traceback" not in done.err
        assert secret not in done.err
        assert service.tokens["alice"] not in done.err


def test_a_value_that_is_refused_is_not_repeated_when_it_is_sensitive(
    network: Desk, secret: str
) -> None:
    network.succeed("vars", "set", "k", "--sensitive", "--hcl", given="1")
    for words in (("--hcl",), ("--sensitive", "--hcl"), ()):
        refused = network.run("vars", "set", "k", *words, "--debug", given=f"[{secret}")
        assert refused.code == 7
        assert secret not in refused.err
    readable = network.run("vars", "set", f"r={secret} ]", "--hcl", "--debug")
    assert secret in readable.err  # the control: a line with a caret
