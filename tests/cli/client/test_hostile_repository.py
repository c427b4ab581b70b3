"""A repository that somebody else has made: it gets no token, and decides nothing."""

import errno
import json
import os
import re
from pathlib import Path

import pytest

from teamvars.cli.client.api import links
from teamvars.cli.exits import Failure
from tests.cli.client.attacker import Attacker
from tests.cli.client.conftest import Service
from tests.support.desk import Desk, Homeless

NOT_ROOT = os.geteuid() != 0
REFUSED = 2
LINK = Path(".teamvars") / "link.toml"


def put(desk: Desk, text: str | bytes) -> Path:
    """A link that came with the repository."""
    path = desk.folder / LINK
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_a_link_that_came_with_a_repository_counts_for_nothing(desk: Desk) -> None:
    with Attacker() as attacker:
        put(desk, f'address = "{attacker.url}"\n')
        for words in ("whoami", "workspace list", "version", "team remove owners alice --yes"):
            done = desk.run(*words.split())
            assert (done.code, done.out) == (REFUSED, "")
            assert "was not made or approved by you" in done.err
            assert "teamvars link --trust" in done.err
    assert attacker.seen == []


def test_no_token_goes_to_an_address_from_a_link_even_an_approved_one(
    desk: Desk, service: Service
) -> None:
    with Attacker() as attacker:
        put(desk, f'address = "{attacker.url}"\norganization = "acme"\n')
        shown = desk.succeed("link", "--trust", "--yes")
        assert attacker.url in shown.out
        done = desk.having(token=service.tokens["alice"]).run("workspace", "list")
        assert done.code == REFUSED
        assert "TEAMVARS_TOKEN is set" in done.err
        # The stored token is of another port of the same host.
        done = desk.run("workspace", "list")
        assert done.code == 4
        assert f"You are not logged in to {attacker.url}" in done.err
        assert service.tokens["alice"] not in done.err
    assert attacker.seen == []


def test_a_token_of_the_environment_goes_where_the_environment_or_a_flag_says(
    stranger: Desk, service: Service
) -> None:
    equipped = stranger.having(token=service.tokens["alice"], organization="acme")
    assert equipped.run("workspace", "list").code == REFUSED
    assert "network" in equipped.succeed("workspace", "list", "--address", service.url).out
    assert "network" in equipped.having(address=service.url).succeed("workspace", "list").out
    login = ("login", "--address", service.url)
    stranger.succeed(*login, given=service.tokens["alice"])
    assert "TEAMVARS_TOKEN is set" in equipped.run("workspace", "list").err


def test_a_link_that_was_changed_after_it_was_approved_ends_every_command(desk: Desk) -> None:
    desk.succeed("link", "--workspace", "network")
    assert desk.succeed("whoami", "--json").json["workspace"]["value"] == "network"
    with Attacker() as attacker:
        put(desk, f'address = "{attacker.url}"\n')
        done = desk.run("whoami")
        assert done.code == REFUSED
        assert "has changed since you approved it" in done.err
        flags = ("--address", attacker.url, "--organization", "acme")
        assert desk.run("workspace", "list", *flags).code == REFUSED
    assert attacker.seen == []


def everything(desk: Desk, service: Service, left_out: str = "") -> Desk:
    """Whoever says all there is to say in the environment, but for one of them."""
    said = {
        "address": service.url,
        "organization": "acme",
        "workspace": "network",
        "token": service.tokens["alice"],
    }
    return desk.having(**{name: text for name, text in said.items() if name != left_out})


@pytest.mark.parametrize("link", ['workspace = "payments"\n', "no link", b"\xff" * 5000])
def test_a_link_is_not_looked_at_where_everything_is_said(
    stranger: Desk, service: Service, link: str | bytes
) -> None:
    put(stranger, link)
    whoami = everything(stranger, service).succeed("whoami", "--json").json
    assert whoami["workspace"] == {"value": "network", "origin": "TEAMVARS_WORKSPACE"}
    for name in ("address", "organization", "workspace"):
        desk = everything(stranger, service, name)
        said = everything(stranger, service).settings[name.upper()]
        assert desk.succeed("whoami", f"--{name}", said, "--json").json["workspace"]
        assert desk.run("whoami").code == REFUSED
    assert everything(stranger, service, "token").run("whoami").code == REFUSED
    assert everything(stranger, service).having(token=" ").run("whoami").code == REFUSED
    assert "client" in stranger.succeed("version", "--address", service.url).out


def test_a_link_has_nothing_to_add_to_all_that_a_command_is_about(
    stranger: Desk, service: Service
) -> None:
    put(stranger, 'workspace = "payments"\n')
    of_acme = everything(stranger, service, "workspace")
    homeless = Homeless(of_acme.folder, of_acme.settings, of_acme.home)
    for desk in (of_acme, homeless):
        assert "platform" in desk.succeed("team", "list").out
    of_none = of_acme.having(organization="")
    of_none.succeed("login", "tokens", "list")
    for desk, words in ((of_none, "team list"), (of_acme, "vars list"), (of_acme, "whoami")):
        assert desk.run(*words.split()).code == REFUSED


def test_no_link_that_is_a_pipe_or_leads_elsewhere_is_in_the_way_of_who_says_everything(
    stranger: Desk, service: Service
) -> None:
    (stranger.folder / ".teamvars").symlink_to("/nonexistent")
    everything(stranger, service).succeed("vars", "list")
    (stranger.folder / ".teamvars").unlink()
    (stranger.folder / ".teamvars").mkdir()
    os.mkfifo(stranger.folder / LINK)
    everything(stranger, service).succeed("vars", "list")


def test_an_approved_link_that_was_moved_to_another_folder_counts_for_nothing(
    desk: Desk, tmp_path: Path
) -> None:
    desk.succeed("link", "--workspace", "network")
    elsewhere = desk.at(tmp_path / "elsewhere")
    put(elsewhere, (desk.folder / LINK).read_bytes())
    assert elsewhere.run("whoami").code == REFUSED


@pytest.mark.parametrize("what", ["folder", "file"])
def test_no_link_is_read_through_a_symbolic_link(desk: Desk, tmp_path: Path, what: str) -> None:
    desk.succeed("link", "--workspace", "network")
    real = desk.folder / LINK
    if what == "file":
        real.rename(tmp_path / "link.toml")
        real.symlink_to(tmp_path / "link.toml")
    else:
        real.parent.rename(tmp_path / "moved")
        real.parent.symlink_to(tmp_path / "moved")
    for words in ("whoami", "link --show", "link --trust --yes", "link --workspace payments"):
        done = desk.run(*words.split())
        assert done.code == REFUSED
        assert "is a symbolic link" in done.err


@pytest.mark.skipif(NOT_ROOT, reason="only root gives files away")
def test_no_link_is_looked_for_in_folders_of_other_owners(desk: Desk, tmp_path: Path) -> None:
    outer = desk.at(tmp_path / "shared")
    put(outer, 'workspace = "evil"\n')
    os.chown(outer.folder, 12345, -1)
    below = desk.at(outer.folder / "mine")
    assert below.succeed("whoami", "--json").json["workspace"] is None
    assert outer.succeed("whoami", "--json").json["workspace"] is None
    os.chown(outer.folder, 0, -1)
    assert below.run("whoami").code == REFUSED
    os.chown(outer.folder / ".teamvars", 12345, -1)
    assert below.succeed("whoami", "--json").json["workspace"] is None


@pytest.mark.parametrize("git", ["folder", "file"])
def test_no_link_is_looked_for_above_the_root_of_a_repository(
    desk: Desk, tmp_path: Path, git: str
) -> None:
    above = desk.at(tmp_path / "above")
    above.succeed("link", "--workspace", "network")
    inside = desk.at(above.folder / "repository" / "src")
    assert inside.succeed("whoami", "--json").json["workspace"]["value"] == "network"
    mark = inside.folder.parent / ".git"
    if git == "folder":
        mark.mkdir()
    else:
        mark.write_text("gitdir: elsewhere\n")  # as in worktrees and submodules
    assert inside.succeed("whoami", "--json").json["workspace"] is None
    # The root itself is looked at.
    put(desk.at(inside.folder.parent), 'workspace = "evil"\n')
    assert inside.run("whoami").code == REFUSED


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_never_followed(stranger: Desk, status: int) -> None:
    with Attacker() as other, Attacker(status, b"", {"Location": f"{other.url}/api/v2/x"}) as first:
        equipped = stranger.having(address=first.url, token="tvu_secret")
        done = equipped.run("whoami")
        assert done.code == 1
        assert "redirect, which is never followed" in done.err
        assert len(first.seen) == 1
    assert other.seen == []


@pytest.mark.parametrize(
    "address",
    [
        "http://example.com",
        "http://127.0.0.1.example.com",
        "http://127.0.0.1@example.com",
        "http://[::ffff:127.0.0.1]",
        "http://0.0.0.0",
        "http://2130706433",
        "http://0x7f.1",
        "http://127.1",
        "https://2130706433",
        "https://127.0.0.0x1",
        "http://localhost.example.com",
        "https://user:secret-word@example.com",
        "https://example.com\\@127.0.0.1",
        "https://exam\tple.com",
        "https://example.com/elsewhere",
        "https://example.com?x=1",
        "https://example.com:0",
        "https://example.com:99999",
        "https://[fe80::1%25eth0]",
        "https://example.com[::1]",
        "https://example.com[v1.example.org]",
        "http://[::1]example.com",
        "ftp://127.0.0.1",
        "https://",
    ],
)
def test_an_address_that_is_none_or_not_safe_is_refused_before_anything_is_sent(
    stranger: Desk, address: str
) -> None:
    done = stranger.having(token="tvu_secret").run("whoami", "--address", address)
    assert (done.code, done.out) == (REFUSED, "")
    assert "secret" not in done.err


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://LOCALHOST.:{port}/", "http://localhost:{port}"),
        ("http://[0:0:0:0:0:0:0:1]:{port}", "http://[::1]:{port}"),
        ("HTTP://127.0.0.1:{port}", "http://127.0.0.1:{port}"),
    ],
)
def test_a_token_is_found_by_every_spelling_of_its_address(
    stranger: Desk, service: Service, one: str, other: str
) -> None:
    tokens = {"by_address": {other.format(port=9): "tvu_secret"}}
    stranger.files.mkdir(parents=True, mode=0o700)
    path = stranger.files / "tokens.json"
    path.write_text(json.dumps(tokens))
    path.chmod(0o600)
    done = stranger.run("whoami", "--address", one.format(port=9))
    assert done.code == 11
    assert f"{other.format(port=9)} cannot be reached" in done.err


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"a" * 5000, "more than 4096 bytes"),
        (b"\xff\xfe\x00", "is not TOML"),
        (b"x = " + b"[" * 4000, "is not TOML"),
        (b"x = 1\n", "other names"),
        (b"", "other names"),
        (b'token = "tvu_secret"\n', "other names"),
        (b"workspace = 1\n", "is no text"),
        (b'workspace = "../../x"\n', "is none"),
        (b'organization = "a\\u202eb"\n', "is none"),
        (b'address = "http://example.com"\n', "https://"),
    ],
)
def test_what_is_no_link_is_refused_and_cannot_be_approved(
    desk: Desk, content: bytes, word: str
) -> None:
    put(desk, content)
    for words in ("whoami", "link --show", "link --trust --yes"):
        done = desk.run(*words.split())
        assert (done.code, done.out) == (REFUSED, "")
        assert word in done.err
        assert "secret" not in done.err


def test_a_pipe_in_the_place_of_a_link_keeps_nobody_waiting(desk: Desk) -> None:
    (desk.folder / ".teamvars").mkdir()
    os.mkfifo(desk.folder / LINK)
    assert "is no regular file" in desk.run("whoami").err


def test_a_folder_in_the_place_of_a_link_is_none(desk: Desk) -> None:
    (desk.folder / LINK).mkdir(parents=True)
    for words in ("whoami", "link --show", "link --workspace network"):
        refused = desk.run(*words.split())
        assert refused.code == REFUSED
        assert "is no regular file" in refused.err


def test_names_from_a_server_command_no_terminal(stranger: Desk) -> None:
    evil = "\x1b]0;owned\x07\u202egnp.exe\r\n\x9b2J"
    account = {
        "data": {
            "id": evil,
            "attributes": {"username": evil, "email": evil, "is-service-account": False},
        }
    }
    with Attacker(200, json.dumps(account).encode()) as attacker:
        equipped = stranger.having(address=attacker.url, token="tvu_secret")
        shown = equipped.succeed("whoami")
        with equipped.terminal("whoami") as terminal:
            terminal.expect("tvu|user")
            assert terminal.wait() == 0
    for text in (shown.out, terminal.seen):
        assert "\\u001b]0;owned" in text
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(text)


@pytest.mark.parametrize("name", ["../../admin", "a/b", "a%2fb", "..", "a?x=1", "a#b", "a b"])
def test_a_name_leads_to_no_other_path(desk: Desk, name: str) -> None:
    done = desk.run("workspace", "access", "--workspace", name)
    assert done.code == REFUSED
    assert "The workspace from --workspace is not one" in done.err


def test_an_id_is_one_segment_of_a_path_whatever_is_in_it(stranger: Desk) -> None:
    with Attacker(404, b"") as attacker:
        equipped = stranger.having(address=attacker.url, token="tvu_secret")
        for given in ("../../x", "a/b?c#d", "%2e%2e", "ä"):
            assert equipped.run("login", "tokens", "revoke", given, "--yes").code == 5
        assert equipped.run("login", "tokens", "revoke", "..", "--yes").code == REFUSED
    asked = [path for path, _ in attacker.seen if path != "/"]  # there it asks for the release
    assert [path.removeprefix("/api/v2/authentication-tokens/") for path in asked] == [
        "..%2F..%2Fx",
        "a%2Fb%3Fc%23d",
        "%252e%252e",
        "%C3%A4",
    ]


@pytest.mark.skipif(NOT_ROOT, reason="only root gives files away")
def test_no_link_is_made_where_none_would_be_looked_for(desk: Desk) -> None:
    os.chown(desk.folder, 12345, -1)
    done = desk.run("link", "--workspace", "network")
    assert done.code == REFUSED
    assert "is another user's" in done.err
    assert not (desk.folder / LINK).exists()


@pytest.mark.parametrize(
    "body", [b"{}", b'{"data": null}', b'{"data": [1]}', b'{"data": {"id": 1}}', b'{"errors": 7}']
)
def test_an_answer_of_another_kind_is_told_with_what_to_do_next(
    stranger: Desk, body: bytes
) -> None:
    with Attacker(422 if b"errors" in body else 200, body) as attacker:
        equipped = stranger.having(address=attacker.url, token="tvu_secret", organization="acme")
        for words in ("whoami", "vars list -w network", "team list", "vars search KEY"):
            done = equipped.run(*words.split())
            assert done.code in (1, 7)
            assert re.search("Check the address|teamvars version|not as teamvars would", done.err)


def test_a_link_that_cannot_be_removed_is_told_and_stays_approved(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.succeed("link", "--workspace", "network")
    monkeypatch.chdir(desk.folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", desk.environment["XDG_CONFIG_HOME"])
    link = links.find()
    assert link is not None

    def refuse(path: Path, **_: bool) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(Failure, match=r"link\.toml cannot be removed: Permission denied\."):
        links.remove(link)
    assert link.is_trusted
