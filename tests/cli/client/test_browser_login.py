"""Logging in by what somebody approves in a browser, here or elsewhere."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from teamvars.cli.client import login, logins
from teamvars.cli.client.api.addresses import Address
from teamvars.cli.client.api.targets import Where
from teamvars.cli.client.api.transport import Connection, NoAnswerError, Reply, Request, Travel
from teamvars.cli.exits import Failure
from tests.cli.client.conftest import Service
from tests.cli.client.stubs import Answer, answering
from tests.support.commands import SCRIPT, Host
from tests.support.desk import Desk, Homeless
from tests.support.patience import HANGS
from tests.support.served_deployment import ServedDeployment, serve_deployment

BROWSER = """\
import json, os, sys
from urllib.parse import parse_qsl, urlsplit
import httpx

opened = httpx.get(sys.argv[1])
assert opened.status_code == 302, opened.text
said = {{k.replace("_", "-"): v for k, v in parse_qsl(urlsplit(opened.headers["location"]).query)}}
if "expires-in" in said:
    said["expires-in"] = int(said["expires-in"])
place = urlsplit(sys.argv[1])
action = "show" if "{does}" == "refuse" else "approve"
answer = httpx.post(
    f"{{place.scheme}}://{{place.netloc}}/api/v2/logins/actions/{{action}}",
    content=json.dumps({{"data": {{"type": "logins", "attributes": said}}}}),
    headers={{"authorization": "Bearer {token}", "content-type": "application/vnd.api+json"}},
)
assert answer.status_code == 200, answer.text
back = answer.json()["data"]["attributes"]["redirect-uri"]
if "{does}" == "approve":
    # Whatever else knocks there is nobody.
    for other in (back.replace("state=", "state=x"), back.replace("/callback", "/elsewhere")):
        assert httpx.get(other).status_code == 404
if "{does}" == "mix up":
    back = back.split("&iss=")[0] + "&iss=https%3A%2F%2Felsewhere.test"
shown = httpx.get(back)
assert (shown.status_code, "terminal" in shown.text) == (200, True)
"""


@dataclass(frozen=True)
class Public:
    """A service that knows its public address, and the token of somebody who is signed in there."""

    served: ServedDeployment
    token: str

    @property
    def url(self) -> str:
        """Its address."""
        return self.served.server.url

    def act(self, action: str, attributes: dict[str, object]) -> httpx.Response:
        """What the console is told that asks for them."""
        document = {"data": {"type": "logins", "attributes": attributes}}
        return httpx.post(
            f"{self.url}/api/v2/logins/actions/{action}",
            json=document,
            headers={
                "authorization": f"Bearer {self.token}",
                "content-type": "application/vnd.api+json",
            },
            timeout=HANGS,
        )

    def tokens(self) -> list[dict[str, Any]]:
        """Those of theirs, as they are listed."""
        asked = {"authorization": f"Bearer {self.token}"}
        me = httpx.get(f"{self.url}/api/v2/account/details", headers=asked, timeout=HANGS)
        path = f"/api/v2/users/{me.json()['data']['id']}/authentication-tokens"
        found = httpx.get(f"{self.url}{path}", headers=asked, timeout=HANGS).json()["data"]
        return [one["attributes"] for one in found]


@pytest.fixture(scope="module")
async def public(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Public]:
    """Alice's, and she is in no organization."""
    host = Host(tmp_path_factory.mktemp("public"))
    async with serve_deployment(host, is_public=True) as served:
        path = host.folder / "people.yaml"
        path.write_text("users: [{username: alice, email: alice@example.com}]\n")
        host.succeed("directory", "apply", path)
        made = host.succeed("token", "create", "--user", "alice")
        yield Public(served, made.out.strip())


@pytest.fixture
def browser(public: Public, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Has a browser do something with what it is sent to."""

    def does(what: str) -> None:
        script = tmp_path / "browser.py"
        script.write_text(BROWSER.format(does=what, token=public.token))
        monkeypatch.setenv("BROWSER", f"{sys.executable} {script} %s")

    return does


def test_what_somebody_approves_in_their_browser_logs_this_machine_in(
    stranger: Desk, public: Public, browser: Any
) -> None:
    browser("approve")
    before = len(public.tokens())
    words = ("login", "--address", public.url, "--browser", "--expires", "1h")
    done = stranger.succeed(*words)
    assert f"Logged in to {public.url} as alice" in done.err
    assert stranger.succeed("whoami", "--json").json["name"] == "alice"
    *_, made = public.tokens()
    assert len(public.tokens()) == before + 1
    assert re.fullmatch(r"teamvars login on [\w.-]+ from 127\.0\.0\.1", made["description"])
    stored = next(iter((stranger.files / "tokens.json").read_text().split('"tvu_')[1:]))
    assert stored.split('"')[0] not in done.err + done.out
    assert public.token not in (stranger.files / "tokens.json").read_text()


def test_logging_out_revokes_the_token_and_logging_in_again_the_former_one(
    stranger: Desk, public: Public, browser: Any
) -> None:
    browser("approve")
    words = ("login", "--address", public.url, "--browser")
    before = len(public.tokens())
    stranger.succeed(*words)
    stranger.succeed(*words)
    assert len(public.tokens()) == before + 1
    stored = json.loads((stranger.files / "tokens.json").read_text())["by_address"][public.url]
    stranger.succeed("login", "--address", public.url, given=stored)  # it is still in use
    assert stranger.succeed("whoami", "--json").json["name"] == "alice"
    stranger.succeed(*words)  # and a pasted one is nobody's to end
    assert len(public.tokens()) == before + 2
    before += 1
    done = stranger.succeed("logout", "--debug", "--timeout", "20")
    assert "POST /oauth/revoke: 200" in done.err
    assert "is revoked" in done.err
    assert len(public.tokens()) == before
    assert stranger.run("whoami").code == 2


def test_a_token_that_was_pasted_is_forgotten_alone(stranger: Desk, public: Public) -> None:
    stranger.succeed("login", "--address", public.url, given=public.token)
    assert "revoked" not in stranger.succeed("logout").err
    assert len(public.tokens()) > 0  # it still is good


def test_a_token_that_cannot_be_revoked_stays_unless_it_is_to_be_forgotten(
    stranger: Desk, public: Public, browser: Any
) -> None:
    browser("approve")
    stranger.succeed("login", "--address", public.url, "--browser")
    stranger.succeed("login", "--address", public.url, "--browser", "--name", "ci")
    before = len(public.tokens())
    public.served.server.kill()
    try:
        told = stranger.run("logout", "--all").err
        assert "--local --account ci" in told
        assert f"--local --address {public.url}" in told
        for words in (("--account", "ci"), ()):
            done = stranger.run("logout", *words)
            assert done.code == 11
            _, _, hint = done.err.partition("To only forget it here: teamvars ")
            stranger.succeed(*hint.split())
            assert stranger.run("logout", *words).code == 1  # no other was forgotten before
    finally:
        public.served.server.start()
    assert len(public.tokens()) == before
    assert stranger.run("whoami").code == 2


def test_a_token_that_is_not_kept_is_revoked(stranger: Desk, public: Public, browser: Any) -> None:
    browser("approve")
    before = len(public.tokens())
    words = ("login", "--address", public.url, "--browser")
    assert stranger.run(*words, "--organization", "none").code == 5
    assert len(public.tokens()) == before


TOLD_TO_END = """
import os, signal
from teamvars.cli.client.api import accounts

accounts.keep = lambda *_, **__: os.kill(os.getpid(), signal.{number})
from teamvars.__main__ import main
main()
"""
"""The command line, which is told to end when it is about to keep a token."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_token_is_revoked_where_a_signal_comes_before_it_is_kept(
    stranger: Desk, public: Public, browser: Any, number: signal.Signals
) -> None:
    """As of a terminal that is closed while the system's keyring asks to be unlocked."""
    browser("approve")
    before = len(public.tokens())
    script = TOLD_TO_END.format(number=number.name)
    done = subprocess.run(
        [sys.executable, "-c", script, "login", "--address", public.url, "--browser"],
        cwd=stranger.folder,
        env=stranger.environment,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=HANGS,
    )
    assert done.returncode == 128 + number
    assert len(public.tokens()) == before


def test_a_token_that_is_kept_stays_good_where_nobody_reads_that_it_is(
    stranger: Desk, public: Public
) -> None:
    before = len(public.tokens())
    with subprocess.Popen(
        [SCRIPT, "login", "--address", public.url, "--device"],
        cwd=stranger.folder,
        env=stranger.environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as logging_in:
        assert logging_in.stderr is not None
        code = logging_in.stderr.readline().split()[-1]
        logging_in.stderr.close()
        assert public.act("approve", {"user-code": code}).status_code == 200
        assert logging_in.wait(HANGS) == 141
    assert len(public.tokens()) == before + 1
    assert stranger.succeed("whoami", "--json").json["name"] == "alice"


def test_what_somebody_refuses_in_their_browser_logs_nobody_in(
    stranger: Desk, public: Public, browser: Any
) -> None:
    browser("refuse")
    done = stranger.run("login", "--address", public.url, "--browser")
    assert (done.code, "refused in the browser" in done.err) == (8, True)
    assert not stranger.files.exists()


def test_an_answer_of_another_service_is_not_redeemed(
    stranger: Desk, public: Public, browser: Any
) -> None:
    browser("mix up")
    before = len(public.tokens())
    done = stranger.run("login", "--address", public.url, "--browser")
    assert (done.code, "https://elsewhere.test" in done.err) == (1, True)
    assert len(public.tokens()) == before
    assert not stranger.files.exists()


def test_where_there_is_no_browser_somebody_types_a_code_in_another(
    stranger: Desk, public: Public, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "192.0.2.7 1 192.0.2.8 22")
    with stranger.terminal("login", "--address", public.url) as terminal:
        terminal.expect(f"Token for {public.url}, or Enter to log in with your browser: ")
        terminal.type("")
        shown = terminal.expect(rf"Open {public.url}/app/settings/device in a browser, .*: \S+\r\n")
        code = shown.split()[-1]
        assert public.act("show", {"user-code": code}).status_code == 200
        assert public.act("approve", {"user-code": code}).status_code == 200
        terminal.expect(f"Logged in to {public.url} as alice")
        assert terminal.wait() == 0
    assert stranger.succeed("whoami", "--json").json["name"] == "alice"


def test_a_code_that_somebody_refuses_logs_nobody_in(stranger: Desk, public: Public) -> None:
    with stranger.terminal("login", "--address", public.url, "--device") as terminal:
        code = terminal.expect(r"type: \S+\r\n").split()[-1]
        assert public.act("deny", {"user-code": code}).status_code == 204
        assert terminal.wait() == 8
    assert not stranger.files.exists()


def test_a_service_without_a_public_address_says_so(stranger: Desk, service: Service) -> None:
    done = stranger.run("login", "--address", service.url, "--device")
    assert (done.code, "no public address" in done.err) == (7, True)


_BEGUN = {"device_code": "d", "user_code": "u", "expires_in": 600, "interval": 1}


@pytest.mark.parametrize(
    "begun",
    [
        {},
        {**_BEGUN, "verification_uri": 1},
        {**_BEGUN, "interval": "soon"},
        {**_BEGUN, "interval": -1},
        {**_BEGUN, "interval": 0.001},
    ],
    ids=json.dumps,
)
def test_what_answers_unlike_a_service_is_said_to_be_none(
    stranger: Desk, begun: dict[str, object]
) -> None:
    """As a page for guests of a network does, or another service; the last gives no token."""

    def tell(path: str, _: bytes) -> Answer:
        is_first = path == "/oauth/device_authorization"
        return 200, {"verification_uri": f"{url}/x", **begun} if is_first else {}

    with answering(tell) as url:
        done = stranger.run("login", "--address", url, "--device")
    assert (done.code, "knows no 'teamvars login'" in done.err) == (1, True), done.err


def test_nobody_waits_longer_than_a_code_is_good_for(stranger: Desk) -> None:
    begun = {**_BEGUN, "expires_in": 0.1, "interval": 1e300}

    def tell(path: str, _: bytes) -> Answer:
        if path == "/oauth/device_authorization":
            return 200, {**begun, "verification_uri": f"{url}/x"}
        return 400, {"error": "authorization_pending"}

    with answering(tell) as url:
        done = stranger.run("login", "--address", url, "--device")
    assert (done.code, "Nobody has approved it" in done.err) == (4, True), done.err


def test_how_to_log_in_is_said_once_and_what_never_ends_is_not_given(
    stranger: Desk, public: Public
) -> None:
    both = stranger.run("login", "--address", public.url, "--browser", "--device")
    assert (both.code, "one of --browser and --device" in both.err) == (2, True)
    never = stranger.run("login", "--address", public.url, "--device", "--expires", "never")
    assert (never.code, "--expires is a duration" in never.err) == (2, True)


def test_nobody_is_asked_to_approve_what_could_not_be_kept(stranger: Desk) -> None:
    asked: list[str] = []

    def tell(path: str, _: bytes) -> Answer:
        asked.append(path)
        return 404, {}

    with answering(tell) as url:
        refused = Homeless(stranger.folder).run("login", "--device", "--address", url)
    assert (refused.code, asked) == (2, [])
    assert "HOME is not a folder" in refused.err


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (400, "invalid_grant", 7),
        (400, "access_denied", 8),
        (503, "temporarily_unavailable", 9),
        (503, "outcome_unknown", 12),
    ],
)
def test_a_refusal_ends_it_by_its_status(status: int, error: str, code: int) -> None:
    service = logins.Service(Address("http", "localhost", 1), Travel(), None)
    said = {"error": error, "error_description": "It says why."}
    with pytest.raises(Failure, match="It says why") as failed:
        service.accepted(Reply(status, {}, json.dumps(said).encode()), logins.Issued)
    assert failed.value.code == code


def test_whoever_hears_nothing_of_a_token_is_told_that_nobody_knows_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lost(*_: object) -> Reply:
        raise NoAnswerError("it ended in the middle")

    monkeypatch.setattr(Connection, "exchange", lost)
    service = logins.Service(Address("http", "localhost", 1), Travel(), None)
    for ask in (lambda: service.token({}), lambda: service.revoke("tvu_any")):
        with pytest.raises(Failure, match="Nobody knows") as failed:
            ask()
        assert failed.value.code == 12
    with pytest.raises(Failure) as failed:
        logins.by_code(service)  # of which nothing has come yet
    assert failed.value.code == 11


def test_whoever_interrupts_what_makes_or_ends_a_token_is_told_that_nobody_knows_of_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(connection: Connection, *_: object) -> Reply:
        connection.is_sending = is_sent
        raise KeyboardInterrupt

    monkeypatch.setattr(Connection, "exchange", interrupted)
    service = logins.Service(Address("http", "localhost", 1), Travel(), None)
    is_sent = True
    for ask in (lambda: service.token({}), lambda: service.revoke("tvu_any")):
        with pytest.raises((SystemExit, KeyboardInterrupt)) as ended:
            ask()
        assert getattr(ended.value, "code", 130) == 12
        assert "Nobody knows" in capsys.readouterr().err
    with pytest.raises(KeyboardInterrupt):
        logins.by_code(service)  # of which nothing has come yet
    is_sent = False
    with pytest.raises(KeyboardInterrupt):
        service.token({})


def test_whoever_interrupts_the_end_of_a_former_token_is_told_that_the_new_one_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: Connection, request: Request, __: float) -> Reply:
        assert request.path == "/oauth/revoke"
        raise KeyboardInterrupt

    monkeypatch.setattr(login, "_typed", lambda _: "tvu_new")
    monkeypatch.setattr(login, "_own_token", lambda _: "tvu_former")
    monkeypatch.setattr(login, "_entered", lambda *_, **__: "Logged in.")
    monkeypatch.setattr(Connection, "exchange", interrupted)
    with pytest.raises(KeyboardInterrupt):
        login._log_in(Where(), Address("http", "localhost", 1), login.How(), None)
    assert capsys.readouterr().err == "Logged in.\n"
