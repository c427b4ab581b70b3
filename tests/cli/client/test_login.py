"""Who and where: tokens are tried, kept for one address alone, and shown to nobody."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.client.attacker import Attacker
from tests.cli.client.conftest import Service
from tests.support.desk import Desk, Homeless, LoadingDesk

BACKEND = """
from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError
from pathlib import Path
import json, os

class Keys(KeyringBackend):
    priority = {priority}
    path = Path(os.environ["HOME"]) / "keyring.json"

    def _all(self):
        return json.loads(self.path.read_text()) if self.path.exists() else {{}}

    def get_password(self, service, name):
        return self._all().get(service + " " + name)

    def set_password(self, service, name, password):
        self.path.write_text(json.dumps(self._all() | {{service + " " + name: password}}))

    def delete_password(self, service, name):
        if self.get_password(service, name) is None:
            raise PasswordDeleteError("No such password!")
        self.path.write_text(json.dumps({{}}))
"""


def test_somebody_logs_in_on_a_terminal_links_a_folder_and_sees_what_says_so(
    stranger: Desk, service: Service, office: str
) -> None:
    token = service.tokens["dave"]
    with stranger.terminal("login") as terminal:
        terminal.expect("Address of the service: ")
        terminal.type(service.url)
        terminal.expect(f"Token for {service.url}, or Enter to log in with your browser: ")
        terminal.type(token)
        terminal.expect(f"Logged in to {service.url} as dave")
        assert terminal.wait() == 0
        assert token not in terminal.seen
    with stranger.terminal("link", "--organization", office) as terminal:
        assert terminal.wait() == 1  # dave sees no workspace
        assert "You see no workspace" in terminal.seen

    stranger.succeed("login", "--address", service.url, given=service.tokens["bob"])
    with stranger.terminal("link", "--organization", office) as terminal:
        terminal.expect(r"1  network\s+2  payments\s+Which workspace, by name or number\? ")
        terminal.type("2")
        terminal.expect("payments")
        assert terminal.wait() == 0
    below = stranger.at(stranger.folder / "deep" / "down")
    told = below.succeed("whoami", "--json").json
    assert told["name"] == "bob"
    assert told["token"] == {"value": "user", "origin": "teamvars login"}
    link = f"the link {stranger.folder}/.teamvars/link.toml"
    assert told["address"] == {"value": service.url, "origin": link}
    assert told["organization"] == {"value": office, "origin": link}
    assert told["workspace"] == {"value": "payments", "origin": link}
    flags = below.having(workspace="network").succeed("whoami", "--json", "-o", "other").json
    assert flags["workspace"] == {"value": "network", "origin": "TEAMVARS_WORKSPACE"}
    assert flags["organization"] == {"value": "other", "origin": "--organization"}


def test_flags_win_over_the_environment_that_over_the_link_and_that_over_settings(
    desk: Desk, office: str
) -> None:
    def organization(desk: Desk, *flags: str) -> str:
        told: str = desk.succeed("whoami", "--json", *flags).json["organization"]["value"]
        return told

    assert organization(desk) == office
    desk.succeed("link", "--organization", "acme", "--workspace", "network")
    assert organization(desk) == "acme"
    assert organization(desk.having(organization="by-variable")) == "by-variable"
    assert organization(desk.having(organization="by-variable"), "-o", "by-flag") == "by-flag"
    desk.succeed("link", "--remove", "--yes")
    assert organization(desk) == office
    assert not (desk.folder / ".teamvars").exists()


def test_a_token_that_is_none_is_not_kept(stranger: Desk, service: Service) -> None:
    words = ("login", "--address", service.url)
    for given, code in (("tvu_wrong-secret", 4), ("two words-secret", 2), ("", 2), ("ü", 2)):
        done = stranger.run(*words, given=given)
        assert (done.code, done.out) == (code, "")
        assert "secret" not in done.err
    assert not stranger.files.exists()
    assert stranger.run("whoami").code == 2


def test_an_organization_that_one_is_not_in_is_told_before_anything_is_kept(
    stranger: Desk, service: Service
) -> None:
    words = ("login", "--address", service.url, "--organization")
    done = stranger.run(*words, "none", given=service.tokens["alice"])
    assert (done.code, "Yours: acme" in done.err) == (5, True)
    assert not stranger.files.exists()
    stranger.succeed(*words, "ACME", given=service.tokens["alice"])
    assert stranger.succeed("whoami", "--json").json["organization"]["value"] == "acme"


def test_without_a_terminal_nothing_is_asked(stranger: Desk) -> None:
    done = stranger.run("login")
    assert (done.code, "Give --address" in done.err) == (2, True)


@pytest.mark.parametrize("umask", [0o000, 0o777, 0o077])
def test_what_is_kept_is_for_the_user_alone_whatever_the_umask(
    stranger: Desk, service: Service, umask: int
) -> None:
    before = os.umask(umask)
    try:
        with stranger.terminal("login", "--address", service.url) as terminal:
            terminal.expect("Token")
            terminal.type(service.tokens["bob"])
            assert terminal.wait() == 0
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in stranger.files.iterdir()}
    assert modes == {"settings.json": 0o600, "tokens.json": 0o600}
    assert stat.S_IMODE(stranger.files.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("name", "mode"),
    [("tokens.json", 0o644), ("tokens.json", 0o620), ("settings.json", 0o606), (".", 0o770)],
)
def test_files_that_others_can_get_at_are_not_used(desk: Desk, name: str, mode: int) -> None:
    path = desk.files / name
    path.chmod(mode)
    done = desk.run("whoami")
    assert (done.code, done.out) == (1, "")
    assert f"chmod {'700' if name == '.' else '600'} '{path}'" in done.err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_files_of_somebody_else_are_not_used(desk: Desk) -> None:
    os.chown(desk.files / "settings.json", 12345, -1)
    done = desk.run("whoami")
    assert (done.code, "belongs to uid 12345" in done.err) == (1, True)


@pytest.mark.parametrize(
    "content",
    [b"{", b"[]", b'{"by_address": 1}', b"\x00", b'{"by_address": {"\xff": 1}}', b"[" * 10_000],
)
def test_files_that_are_damaged_are_named(desk: Desk, content: bytes) -> None:
    (desk.files / "tokens.json").write_bytes(content)
    done = desk.run("whoami")
    assert (done.code, done.out) == (1, "")
    assert "tokens.json is not what 'teamvars login' writes" in done.err


def test_several_services_each_have_a_token_of_their_own(
    desk: Desk, service: Service, office: str
) -> None:
    other = service.url.replace("127.0.0.1", "localhost")
    desk.succeed("login", "--address", other, given=service.tokens["bob"])
    assert desk.succeed("whoami", "--json").json["name"] == "bob"
    assert desk.succeed("whoami", "--json", "--address", service.url).json["name"] == "alice"
    desk.succeed("logout")
    assert desk.succeed("whoami", "--json").json["name"] == "alice"
    assert desk.run("whoami", "--address", other).code == 4
    desk.succeed("logout", "--all")
    assert desk.run("logout").code == 1
    assert json.loads((desk.files / "tokens.json").read_text()) == {"by_address": {}}


def test_own_tokens_are_made_listed_and_revoked(desk: Desk, service: Service) -> None:
    made = desk.succeed("login", "tokens", "create", "--description", "robot", "--json")
    assert made.err == f"Your tokens on {service.url}\n"
    id_, token = made.json["id"], made.json["token"]
    robot = desk.having(address=service.url, token=token)
    assert robot.succeed("whoami", "--json").json["name"] == "alice"
    listed = desk.succeed("login", "tokens", "list", "--json")
    (row,) = [row for row in listed.json if row["id"] == id_]
    assert row["description"] == "robot"
    assert row["expires"] is not None
    assert token not in listed.out
    assert desk.run("login", "tokens", "revoke", id_).code == 2
    done = desk.succeed("login", "tokens", "revoke", id_, "--yes")
    assert done.err == f"Your tokens on {service.url}\nRevoked: {id_}.\n"
    refused = robot.run("whoami")
    assert refused.code == 4
    assert "does not take the token from TEAMVARS_TOKEN" in refused.err
    assert f"teamvars login --address {service.url}" in refused.err
    for lifetime in ("0d", "soon", "-1d", "999999999d", "never"):
        assert desk.run("login", "tokens", "create", "--expires", lifetime).code in (2, 7)


def test_a_token_that_says_no_end_ends_with_the_one_that_made_it(
    desk: Desk, service: Service
) -> None:
    made = service.host.succeed("token", "create", "--user", "alice", "--expires", "7d", "--json")
    short = desk.having(address=service.url, token=made.json["token"])
    child = short.succeed("login", "tokens", "create", "--json").json["id"]
    ends = {
        row["id"]: row["expires"] for row in short.succeed("login", "tokens", "list", "--json").json
    }
    assert ends[child] == ends[made.json["id"]]
    refused = short.run("login", "tokens", "create", "--expires", "8d")
    assert refused.code == 7
    assert "tokens that you make with it expire no later" in refused.err


def test_a_teams_token_is_told_as_such(desk: Desk, service: Service, office: str) -> None:
    made = service.host.succeed("token", "create", "--team", f"{office}/platform")
    team = desk.having(address=service.url, token=made.out.strip())
    told = team.succeed("whoami", "--json").json
    assert told["token"] == {"value": "team", "origin": "TEAMVARS_TOKEN"}
    assert told["name"].startswith("api-team-")
    assert told["email"] is None


@pytest.mark.parametrize("priority", [5, 0.5])
def test_a_token_is_kept_in_the_keyring_where_there_is_one(
    stranger: Desk, service: Service, tmp_path: Path, priority: float
) -> None:
    (tmp_path / "own_keys.py").write_text(BACKEND.format(priority=priority))
    with_keys = KeyringDesk(stranger.folder, home=stranger.home)
    token = service.tokens["bob"]
    told = with_keys.login(service.url, token)
    keys = stranger.home / "keyring.json"
    assert keys.exists() == ("the system's keyring" in told) == (priority > 1)
    assert (token in (stranger.files / "tokens.json").read_text()) == (priority < 1)
    assert with_keys.terminal("whoami").wait() == 0
    assert with_keys.terminal("logout").wait() == 0
    assert token not in (stranger.files / "tokens.json").read_text()
    assert not keys.exists() or token not in keys.read_text()


def test_whoever_has_no_token_in_the_keyring_any_more_logs_out_all_the_same(
    stranger: Desk, service: Service, tmp_path: Path
) -> None:
    """They have removed it there, or a logout was ended behind that."""
    (tmp_path / "own_keys.py").write_text(BACKEND.format(priority=5))
    with_keys = KeyringDesk(stranger.folder, home=stranger.home)
    with_keys.login(service.url, service.tokens["bob"])
    (stranger.home / "keyring.json").write_text("{}")
    with with_keys.terminal("logout") as terminal:
        terminal.expect(f"Logged out of {service.url}")
        assert terminal.wait() == 0
    with with_keys.terminal("logout") as terminal:
        terminal.expect("You are not logged in")


class KeyringDesk(LoadingDesk):
    """A desk whose system has a keyring."""

    @property
    def environment(self) -> dict[str, str]:
        """With the module `own_keys` beside its home."""
        keys = {"PYTHON_KEYRING_BACKEND": "own_keys.Keys", "PYTHONPATH": str(self.home.parent)}
        return {**super().environment, **keys}

    def login(self, url: str, token: str) -> str:
        """Logs in; returns what it said."""
        with self.terminal("login", "--address", url) as terminal:
            terminal.expect("Token")
            terminal.type(token)
            assert terminal.wait() == 0
        return terminal.seen


def test_versions_are_told_and_compared(stranger: Desk, service: Service) -> None:
    alone = stranger.succeed("version", "--json").json
    assert alone["server"] is None
    both = stranger.succeed("version", "--json", "--address", service.url)
    assert both.json == {
        "client": alone["client"],
        "server": alone["client"],
        "address": service.url,
    }
    assert both.err == ""
    body = json.dumps({"name": "teamvars", "version": "7.0.0"}).encode()
    with Attacker(200, body) as other:
        done = stranger.having(token="tvu_secret").succeed("version", "--address", other.url)
    assert other.seen == [("/", None)]
    assert "These versions do not fit" in done.err
    with Attacker(200, b"<html>") as other:
        done = stranger.run("version", "--address", other.url)
    assert (done.code, "is not teamvars" in done.err) == (1, True)


def test_ctrl_c_at_a_prompt_ends_it_and_keeps_nothing(stranger: Desk, service: Service) -> None:
    with stranger.terminal("login", "--address", service.url) as terminal:
        terminal.expect("Token")
        assert terminal.interrupt() in (1, 130)
        assert "Traceback" not in terminal.seen
    assert not stranger.files.exists()


DECIDES = """
import sys
from teamvars.cli.client.api.accounts import Settings, change
for number in range(25):
    change(Settings, lambda settings: settings.links.update({f"{sys.argv[1]}-{number}": "x"}))
"""


def test_what_several_commands_decide_at_once_is_all_kept(stranger: Desk) -> None:
    words = [[sys.executable, "-c", DECIDES, str(number)] for number in range(4)]
    started = [subprocess.Popen(one, env=stranger.environment) for one in words]
    assert [process.wait() for process in started] == [0] * len(words)
    settings = json.loads((stranger.files / "settings.json").read_text())
    assert len(settings["links"]) == 100


EMPTY = "Is a variable of your shell not set?"


@pytest.mark.parametrize("option", ["--workspace", "--organization", "--address", "--account"])
def test_an_option_that_is_empty_is_refused_and_nothing_else_takes_its_place(
    network: Desk, option: str
) -> None:
    done = network.run("vars", "set", "KEY=value", option, "")
    assert done.code == 2
    assert done.err == f"teamvars: {option} is empty. {EMPTY}\n"
    assert network.succeed("vars", "list").out == ""


@pytest.mark.parametrize("option", ["--address", "--account"])
def test_who_logs_out_of_an_empty_name_stays_logged_in(desk: Desk, option: str) -> None:
    done = desk.run("logout", option, "")
    assert (done.code, done.err) == (2, f"teamvars: {option} is empty. {EMPTY}\n")
    desk.succeed("whoami")


def test_no_token_on_standard_input_is_told_as_such(stranger: Desk, service: Service) -> None:
    for given in ("", "\n"):
        done = stranger.run("login", "--address", service.url, given=given)
        assert (done.code, done.err) == (2, "teamvars: There is no token on standard input.\n")


def test_who_is_logged_in_nowhere_is_told_so(stranger: Desk) -> None:
    done = stranger.run("logout")
    assert (done.code, done.err) == (1, "teamvars: You are not logged in.\n")


def test_a_home_without_a_name_takes_no_token(stranger: Desk, service: Service) -> None:
    homeless = Homeless(stranger.folder, stranger.settings, stranger.home)
    done = homeless.run("login", "--address", service.url, given=service.tokens["alice"])
    assert done.code == 2
    assert "HOME is not a folder." in done.err


def test_a_token_that_is_refused_is_told_by_where_it_came_from(
    stranger: Desk, service: Service
) -> None:
    done = stranger.run("login", "--address", service.url, given="tvu_other")
    assert done.code == 4
    assert f"{service.url} does not take the token that you gave." in done.err
