"""Firefox, driven in its own protocol: what selenium asks of a WebDriver server, it is told here.

Marionette has WebDriver's commands by other names, so nothing stands between that would have to be
built first.
"""

import json
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from selenium.webdriver.common.options import ArgOptions
from selenium.webdriver.remote.command import Command
from selenium.webdriver.remote.remote_connection import RemoteConnection
from selenium.webdriver.remote.webdriver import WebDriver

from tests.support.patience import HANGS, wait_until

NAMES = {
    Command.GET: "Navigate",
    Command.GO_BACK: "Back",
    Command.GET_CURRENT_URL: "GetCurrentURL",
    Command.W3C_EXECUTE_SCRIPT_ASYNC: "ExecuteAsyncScript",
    Command.W3C_ACTIONS: "PerformActions",
    Command.CLICK_ELEMENT: "ElementClick",
    Command.SEND_KEYS_TO_ELEMENT: "ElementSendKeys",
    Command.W3C_GET_CURRENT_WINDOW_HANDLE: "GetWindowHandle",
    Command.CLOSE: "CloseWindow",
    Command.QUIT: "DeleteSession",
}
"""What Marionette calls the commands that it does not call as selenium does."""
PREFERENCES: Mapping[str, object] = {
    "general.smoothScroll": False,
    "marionette.port": 0,  # any that is free
    # Else what turns while a tab loads turns on without an end, and takes a processor for itself.
    "ui.prefersReducedMotion": 1,
    "devtools.jsonview.enabled": False,  # what shows JSON keeps nothing for its origin
    # One process draws all pages, as in Chromium here: all are ours.
    "dom.ipc.processCount": 1,
    "dom.ipc.processCount.webIsolated": 1,
    "dom.ipc.processPrelaunch.enabled": False,
}


@contextmanager
def open_firefox(program: str) -> Iterator[WebDriver]:
    """A Firefox without a window, with a profile of its own."""
    options = ArgOptions()
    options.accept_insecure_certs = True  # of providers on this machine
    with (
        # What Firefox leaves behind may still write for a moment.
        TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        _running(program, Path(profile)) as port,
        socket.create_connection(("127.0.0.1", port), timeout=HANGS) as connection,
        WebDriver(Marionette(connection), options=options) as driver,
    ):
        yield driver


class Marionette(RemoteConnection):
    """The connection of a driver to its Firefox."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._received = connection.makefile("rb")
        self._numbers = count(1)
        self._read()  # who it is

    def execute(self, command: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """What Firefox answers, in the form of WebDriver's answers."""
        said = {name: one for name, one in (params or {}).items() if name != "sessionId"}
        if command == Command.NEW_SESSION:
            said = said["capabilities"]["alwaysMatch"]
        plain = command.removeprefix("w3c")
        name = NAMES.get(command, plain[0].upper() + plain[1:])
        number = next(self._numbers)
        self._send([0, number, f"WebDriver:{name}", said])
        _, answered, error, value = self._read()
        assert answered == number
        if error:
            return {"status": error["error"], "value": error}
        return value if isinstance(value, dict) and value.keys() == {"value"} else {"value": value}

    def close(self) -> None:
        """Nothing is asked any more."""
        self._received.close()

    def _send(self, message: object) -> None:
        text = json.dumps(message).encode()
        self._connection.sendall(b"%d:%b" % (len(text), text))

    def _read(self) -> Any:
        """A message, which follows its length."""
        length = b""
        while (read := self._received.read(1)) != b":":
            assert read, "Firefox has ended."
            length += read
        return json.loads(self._received.read(int(length)))


@contextmanager
def _running(program: str, profile: Path) -> Iterator[int]:
    """Runs it; returns where it listens."""
    said = (
        f"user_pref({json.dumps(name)}, {json.dumps(value)});\n"
        for name, value in PREFERENCES.items()
    )
    (profile / "user.js").write_text("".join(said))
    words = [program, "--marionette", "--headless", "--no-remote", "--profile", str(profile)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        port = profile / "MarionetteActivePort"

        def listens() -> bool:
            assert process.poll() is None, f"{program} ended with {process.returncode}."
            return port.exists() and bool(port.read_text())

        try:
            wait_until(listens)
            yield int(port.read_text())
        finally:
            process.terminate()
