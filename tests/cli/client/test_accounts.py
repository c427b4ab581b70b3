"""Accounts side by side: each is used where it is named, and nowhere else."""

import json

from tests.cli.client.conftest import Service
from tests.support.desk import Desk


def name_of(desk: Desk, *words: str) -> str:
    """Whom the service takes a command for."""
    told: str = desk.succeed("whoami", "--json", *words).json["name"]
    return told


def add(desk: Desk, service: Service, name: str, who: str) -> None:
    """Logs in beside the others."""
    words = ("login", "--name", name, "--address", service.url)
    done = desk.succeed(*words, given=service.tokens[who])
    assert f"--account {name}" in done.err


def test_a_named_account_is_used_where_it_is_named_alone(desk: Desk, service: Service) -> None:
    add(desk, service, "ci", "bob")
    add(desk, service, "audit", "erin")
    assert name_of(desk) == "alice"
    assert name_of(desk, "--account", "ci") == "bob"
    assert name_of(desk, "--account", "audit") == "erin"
    told = desk.succeed("whoami", "--json", "--account", "ci").json
    assert told["token"]["origin"] == told["address"]["origin"] == "--account"
    # A flag wins over the environment.
    other = desk.having(address=service.url, token=service.tokens["dave"])
    assert name_of(other) == "dave"
    assert name_of(other, "--account", "ci") == "bob"


def test_the_link_still_says_where_and_an_account_as_whom(
    desk: Desk, service: Service, office: str
) -> None:
    desk.succeed("link", "--organization", office, "--workspace", "network")
    add(desk, service, "ci", "bob")
    done = desk.succeed("vars", "set", "REGION=eu", "--account", "ci", "--json")
    assert done.code == 0
    history = desk.succeed("vars", "history", "REGION", "--json").out
    assert "bob" in history


def test_an_account_that_there_is_not_is_told_with_those_there_are(
    desk: Desk, service: Service
) -> None:
    add(desk, service, "ci", "bob")
    done = desk.run("whoami", "--account", "cd")
    assert (done.code, done.out) == (4, "")
    assert "You have no account cd. Yours: ci." in done.err
    elsewhere = desk.run("whoami", "--account", "ci", "--address", "http://localhost:1")
    assert elsewhere.code == 2
    assert f"The account ci is one of {service.url}" in elsewhere.err
    assert desk.run("login", "--name", "a b", given="x").code == 2


def test_who_logs_out_of_one_account_keeps_the_others(desk: Desk, service: Service) -> None:
    add(desk, service, "ci", "bob")
    add(desk, service, "audit", "erin")
    desk.succeed("logout", "--account", "ci")
    assert desk.run("whoami", "--account", "ci").code == 4
    assert name_of(desk, "--account", "audit") == "erin"
    desk.succeed("logout")
    assert desk.run("whoami").code == 2, "the named account does not step in"
    assert name_of(desk, "--account", "audit") == "erin"
    desk.succeed("logout", "--all")
    assert json.loads((desk.files / "tokens.json").read_text()) == {"by_address": {}}
    assert desk.run("logout", "--all", "--account", "ci").code == 2


def test_what_was_killed_in_the_middle_leaves_no_token_for_longer_than_the_login(
    desk: Desk, service: Service
) -> None:
    left = desk.files / ".tokens.json.0123456789abcdef"
    left.write_text("a token")
    desk.succeed("logout")
    assert not left.exists()


def test_what_is_no_name_of_an_account_is_refused_as_such(desk: Desk) -> None:
    done = desk.run("whoami", "--account", "../x")
    assert (done.code, done.out) == (2, "")
    assert done.err == "teamvars: --account is 1 to 90 letters, digits, '-' or '_'.\n"
