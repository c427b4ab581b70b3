"""`invite` and `directory apply --invite`, where no mail is set up: links are printed, once."""

import re
from pathlib import Path

import pytest

from tests.cli.store import execute
from tests.support.commands import Host

DIRECTORY = """\
users:
  - {username: alice, email: alice@example.com}
  - {username: bob, email: bob@example.com}
  - {username: mute}
organizations:
  - name: acme
    members: {alice: active, bob: invited, mute: invited}
    teams:
      - {name: owners, members: [alice]}
      - {name: platform}
"""
LINK = re.compile(r"http://127\.0\.0\.1:8080/invitations#tvi_\w{49}")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    host = Host(tmp_path_factory.mktemp("inviting"))
    Path(host.folder / "directory.yaml").write_text(DIRECTORY)
    host.succeed("init")
    return host


def pending(host: Host) -> dict[str, dict[str, str]]:
    """The invitations by address."""
    listed = host.succeed("invite", "list", "--json").json
    return {one["email"]: one for one in listed if one["email"]}


def test_a_list_of_nothing_says_so(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.succeed("init")
    for words in (("invite", "list"), ("token", "list")):
        done = host.succeed(*words)
        assert (done.out, done.said != "") == ("", True)


def test_applying_a_file_invites_nobody_unless_it_is_said(host: Host) -> None:
    assert "invitations#" not in host.succeed("directory", "apply", "directory.yaml").out
    assert pending(host)["bob@example.com"]["delivery"] is None
    first = host.succeed("directory", "apply", "directory.yaml", "--prune", "--invite")
    assert first.err.count("Store: ") == 1
    assert LINK.fullmatch(first.out.strip())
    assert "bob@example.com to acme" in first.err
    again = host.succeed("directory", "apply", "directory.yaml", "--invite", "--json")
    assert again.json["invited"] == []
    assert pending(host)["bob@example.com"]["delivery"] == "shown"


def test_links_that_were_made_are_shown_although_not_all_can_be(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.succeed("init")
    more = """\
  - name: brittle
    members: {alice: active, carol: invited}
    teams:
      - {name: owners, members: [alice]}
"""
    carol = "  - {username: carol, email: carol@example.com}\n"
    text = DIRECTORY.replace("organizations:", f"{carol}organizations:")
    Path(host.folder / "two.yaml").write_text(text + more)
    host.succeed("directory", "apply", "two.yaml")
    execute(
        host,
        "UPDATE streams SET sequence = sequence + 1 "
        "WHERE id = (SELECT id FROM organizations WHERE name = 'brittle')",
    )
    done = host.run("directory", "apply", "two.yaml", "--invite")
    assert done.code != 0
    assert LINK.fullmatch(done.out.strip())
    assert "bob@example.com to acme" in done.err
    assert "The rest was refused. The audit trail of org-" in done.err
    assert "The file is applied. The same command invites whoever has no link yet." in done.err


def test_an_invitation_is_made_renewed_and_taken_back(host: Host) -> None:
    host.succeed("directory", "apply", "directory.yaml")
    words = ("invite", "create", "carol@example.com", "--organization", "acme")
    made = host.succeed(*words, "--team", "platform", "--json").json
    assert LINK.fullmatch(made["link"])
    renewed = host.succeed("invite", "resend", made["id"]).out.strip()
    assert LINK.fullmatch(renewed)
    assert renewed != made["link"]
    listed = host.succeed("invite", "list", "--organization", "acme")
    assert f"{made['id']}  acme  carol@example.com" in listed.out
    assert "invitations#" not in listed.out
    assert host.run(*words).code == 7  # already invited
    revoked = host.succeed("invite", "revoke", made["id"])
    assert "carol@example.com" in revoked.err
    assert "carol@example.com" not in pending(host)
    for verb in ("revoke", "resend"):
        gone = host.run("invite", verb, made["id"])
        assert (gone.code, gone.said) == (5, "teamvars: There is no membership with this id.\n")
    shown = host.succeed("audit", "list", "--subject", "carol@example.com").out
    assert "user.create" in shown
    host.succeed("audit", "verify")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("create", "nobody", "--organization", "acme"), 7, "e-mail address"),
        (("create", "x@example.com", "--organization", "none"), 5, "no organization none"),
        (
            ("create", "x@example.com", "--organization", "acme", "--team", "none"),
            5,
            "no team acme/none",
        ),
        (("list", "--organization", "none"), 5, "no organization none"),
        (("resend", "ou-none"), 5, "There is no membership with this id"),
    ],
)
def test_what_cannot_be_is_refused(
    host: Host, words: tuple[str, ...], code: int, said: str
) -> None:
    host.succeed("directory", "apply", "directory.yaml")
    done = host.run("invite", *words)
    assert (done.code, done.out) == (code, "")
    assert said in done.err


def test_doctor_says_how_mail_goes_and_who_has_no_link(host: Host) -> None:
    host.succeed("directory", "apply", "directory.yaml")
    assert "mail: not set up; 'teamvars invite' shows links instead" in host.run("doctor").out
    host.succeed("invite", "create", "dora@example.com", "--organization", "acme")
    execute(host, "UPDATE invitations SET delivery = 'failed' WHERE delivery = 'shown'")
    execute(
        host,
        "INSERT INTO memos (id, address, subject, text, due_at) "
        "VALUES ('owners', 'alice@example.com', 'New owners', 'There is one.', 1)",
    )
    told = host.having(
        smtp_url="smtps://postman:hunter2@mail.example.com:465",
        mail_from="vars@example.com",
        public_url="https://vars.example.com",
    ).run("doctor")
    assert "mail: by mail.example.com; messages that wait: 1" in told.out
    assert "Invitations whose link nobody has: " in told.out
    assert "hunter2" not in told.out + told.err
