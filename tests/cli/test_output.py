"""What commands print: JSON on demand, and not a word where nobody reads any more."""

import json
import re
from collections.abc import Iterator
from typing import Any

import apsw
import pytest

from teamvars.cli import output
from teamvars.cli.output import aligned
from tests.cli.conftest import ServedHost
from tests.support.commands import Host, full, unread
from tests.support.engines import HOST_ON_SQLITE
from tests.support.patience import HANGS


@pytest.mark.parametrize("words", ["audit list", "audit export", "audit list 2>&1"])
def test_a_pipe_that_is_closed_ends_a_command_in_silence(
    served_host: ServedHost, words: str
) -> None:
    done = served_host.host.bash(f"teamvars {words} | true; exit ${{PIPESTATUS[0]}}")
    assert re.fullmatch(r"(Store: .*\n)?", done.stderr)
    assert done.returncode == 141  # as of a program that SIGPIPE ends


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Host:
    """A host of this test's own: what is made stays."""
    host = Host(tmp_path_factory.mktemp("acme"))
    host.succeed("init")
    (host.folder / "acme.yaml").write_text(
        "users: [{username: root, email: root@example.com}]\n"
        "organizations: [{name: acme, members: {root: active}, teams: [{name: owners}]}]\n"
    )
    host.succeed("directory", "apply", "acme.yaml")
    return host


MADE = {
    "token create --user root": r"Token (at-\S+) was made.*: teamvars (token revoke \1)",
    "token create --user root --json": r"Token (at-\S+) was made.*: teamvars (token revoke \1)",
    "keys add data": r"Key (\S+) was added.*: teamvars (keys activate \1)",
    "invite create a@example.com --organization acme": (
        r"Invitation (ou-\S+) was made.*: teamvars (invite resend \1)"
    ),
    "invite create b@example.com --organization acme --json": (
        r"Invitation (ou-\S+) was made.*: teamvars (invite resend \1)"
    ),
    "server-key rotate": r"Server key \S+ was added.*: teamvars (server-key show)",
}


@pytest.mark.parametrize("is_full", [True, False])
@pytest.mark.parametrize("words", MADE)
def test_what_was_made_and_cannot_be_shown_is_named_with_what_to_do(
    acme: Host, words: str, is_full: bool
) -> None:
    with full() if is_full else unread() as out:
        done = acme.print_to(out, *words.replace("@", f"{is_full}@").split())
    assert done.code == (1 if is_full else 141)
    _, told, *rest = done.err.splitlines()
    found = re.fullmatch(f"teamvars: {MADE[words]}", told)
    assert found, done.err
    acme.succeed(*found[found.re.groups].split())
    no_room = ["teamvars: The output cannot be written: No space left on device."]
    assert rest == (no_room if is_full else [])


def test_a_table_is_aligned_whatever_letters_it_has() -> None:
    rows = [("チーム", "1"), ("e\u0301quipe", "2"), ("teams", "3"), ("a\u202eb", "4")]
    assert [*aligned(rows)] == [
        "チーム    1",
        "e\u0301quipe    2",
        "teams     3",
        "a\\u202eb  4",
    ]


def test_a_long_cell_of_a_table_makes_no_other_row_longer() -> None:
    rows = [("KEY", "x" * 10_000, "described"), *[("OTHER", "value", "described")] * 2]
    long, *others = aligned(rows)
    assert long == f"KEY    {'x' * 10_000}  described"
    assert others == ["OTHER  value  described"] * 2


def test_only_the_form_that_is_shown_is_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of fifty thousand tokens the other one takes as much memory again."""
    made: list[str] = []

    def told(what: str) -> Iterator[str]:
        made.append(what)
        yield f"{what}, a\u2028b"

    for is_json in (False, True):
        monkeypatch.setattr(output, "wants_json", lambda is_json=is_json: is_json)
        output.show({"holders": told("fields")}, ((cell,) for cell in told("cells")))
    assert made == ["cells", "fields"]
    table, document = capsys.readouterr().out.split("\n", 1)
    assert table == "cells, a\\u2028b"
    assert json.loads(document) == {"holders": ["fields, a\u2028b"]}


def test_keys_and_migrations_are_listed_in_json(served_host: ServedHost) -> None:
    rows: list[dict[str, Any]] = served_host.host.succeed("keys", "status", "--json").json
    purposes = ("master", "audit", "server", "data")
    assert [(row["purpose"], row["active"]) for row in rows] == [(one, True) for one in purposes]
    in_words = served_host.host.succeed("keys", "status").out.splitlines()
    assert [line.split()[:2] for line in in_words] == [[row["purpose"], row["id"]] for row in rows]
    assert served_host.host.succeed("migrate", "status", "--json").json == []
    assert served_host.host.succeed("migrate", "up", "--json").json == []


@HOST_ON_SQLITE
def test_whoever_waits_in_vain_for_other_changes_is_told_that_the_store_is_well(
    served_host: ServedHost,
) -> None:
    host = served_host.host
    other = apsw.Connection(str(host.data / "teamvars.db"))
    other.set_busy_timeout(int(HANGS * 1000))  # the server may be at a chore
    other.execute("BEGIN IMMEDIATE")
    refused = host.run("token", "create", "--user", "alice")
    other.close()
    assert refused.code == 1
    assert "Other changes had what this one needs for too long" in refused.said
    assert "Storage" not in refused.said


NOT_UTF8 = "\udcff"  # what Python makes of the byte 0xff


@HOST_ON_SQLITE
@pytest.mark.parametrize(
    "words",
    [
        ("user", "show", NOT_UTF8),
        ("user", "rename", "bob", NOT_UTF8),
        ("access", f"acme/{NOT_UTF8}"),
        ("token", "revoke", NOT_UTF8),
        ("directory", "export", NOT_UTF8),
        ("audit", "list", "--stream", NOT_UTF8),
        ("audit", "list", "--before", f"1/{NOT_UTF8}/1"),
        ("--data-dir", NOT_UTF8, "init"),
    ],
)
def test_an_argument_that_is_not_utf8_is_refused(
    served_host: ServedHost, words: tuple[str, ...]
) -> None:
    done = served_host.host.run(*words)
    assert (done.code, done.out, done.err) == (2, "", "teamvars: An argument is not UTF-8.\n")


def test_whoever_opens_a_store_says_which_without_a_password(served_host: ServedHost) -> None:
    for words in (
        "token list",
        "user list",
        "audit head",
        "access acme/network",
        "migrate up",
        "migrate status",
        "migrate check",
    ):
        done = served_host.host.succeed(*words.split())
        line, _, rest = done.err.partition("\n")
        assert re.fullmatch(r"Store: (SQLite, /.*/teamvars\.db|PostgreSQL on .*)", line)
        assert "Store" not in done.out + rest
    assert served_host.host.succeed("directory", "export").err.startswith("Store: ")
