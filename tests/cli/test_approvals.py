"""`approvals`, `server-key` and `exec` as an operator types them."""

import base64
import hashlib
import json
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from joserfc.jwk import ECKey

from teamvars.protocol import decoded, encoded
from teamvars.security import keyring
from tests.cli.conftest import DIRECTORY
from tests.cli.store import execute
from tests.support.commands import Host
from tests.support.patience import HANGS

ENDS = (datetime.now(UTC) + timedelta(days=30)).strftime("%Y-%m-%dT00:00:00Z")
RUNNERS = f"""\
    runners:
      - name: deploy
        issuer: https://ci.example.org
        conditions: {{sub: job, ref: refs/heads/main}}
        patterns: [net*]
        expired-at: {ENDS}
      - {{name: host, public-key: {"A" * 43}, workspaces: [payments], expired-at: "{ENDS}"}}
"""


@pytest.fixture
def proposed(migrated_host: Host) -> Host:
    """A host with two runners that nobody has approved."""
    host = migrated_host.having(issuers="https://ci.example.org", public_url="https://vars.example")
    host.succeed("init")
    (host.folder / "directory.yaml").write_text(DIRECTORY + RUNNERS)
    done = host.succeed("directory", "apply", "directory.yaml")
    assert "wait for approval: acme/deploy, acme/host" in done.err
    return host


def listed(host: Host) -> dict[str, dict[str, object]]:
    """The runners by name, as programs are told of them."""
    return {one["name"]: one for one in host.succeed("approvals", "list", "--json").json}


def named(host: Host, name: str = "deploy") -> str:
    """What a version of a runner is called where it is approved."""
    one = listed(host)[name]
    return f"{one['id']}@{one['digest']}"


def apply_with(host: Host, before: str, after: str) -> None:
    """Applies the file with something else in the place of what is there."""
    file = host.folder / "directory.yaml"
    file.write_text(file.read_text().replace(before, after))
    host.succeed("directory", "apply", "directory.yaml")


def test_a_version_is_listed_whole_and_approved_by_what_was_read(proposed: Host) -> None:
    one = listed(proposed)["deploy"]
    assert list(one) == ["id", "organization", "name", "version", "digest", "status"]
    assert [one[key] for key in ("organization", "version", "status")] == ["acme", 1, "proposed"]
    shown = proposed.succeed("approvals", "list")
    for text in ("https://ci.example.org", "sub = job", "net*", "network", ENDS[:10], "A" * 43):
        assert text in shown.out
    assert f"teamvars approvals approve {named(proposed)}" in shown.out
    assert "copy or put into" in shown.err
    proposed.succeed("approvals", "approve", named(proposed))
    assert listed(proposed)["deploy"]["status"] == "approved"
    assert listed(proposed)["host"]["status"] == "proposed"
    proposed.succeed("approvals", "revoke", one["id"])
    assert listed(proposed)["deploy"]["status"] == "proposed"
    assert proposed.succeed("audit", "verify").code == 0


def test_what_has_changed_since_it_was_read_is_not_approved(proposed: Host) -> None:
    before = named(proposed)
    apply_with(proposed, "sub: job", "sub: other")
    refused = proposed.run("approvals", "approve", before)
    assert refused.code == 6
    assert "Look again" in refused.err
    assert proposed.run("approvals", "approve", "deploy").code == 2
    digest = before.partition("@")[2]
    for words in (["approve", f"run-1111111111111111@{digest}"], ["revoke", "run-nowhere"]):
        done = proposed.run("approvals", *words)
        assert (done.code, done.said) == (5, "teamvars: There is no runner with this id.\n")


def test_what_was_altered_is_listed_as_that_and_not_with_how_it_would_be_approved(
    proposed: Host,
) -> None:
    execute(proposed, "UPDATE runners SET body = replace(body, 'job', 'theirs')")
    deploy, host = proposed.succeed("approvals", "list").out.split("acme/host")
    assert "  altered      this is not what was proposed" in deploy
    assert "to approve" not in deploy
    assert f"teamvars approvals approve {named(proposed, 'host')}" in host
    assert "altered" not in host


def test_what_would_join_by_a_pattern_is_shown_until_it_is_approved(proposed: Host) -> None:
    proposed.succeed("approvals", "approve", named(proposed))
    apply_with(proposed, "[network, payments]", "[network, payments, net-2]")
    assert "would join   net-2" in proposed.succeed("approvals", "list").out
    proposed.succeed("approvals", "approve", named(proposed))
    assert "would join" not in proposed.succeed("approvals", "list").out


def test_an_approval_that_was_written_behind_the_services_back_is_none(proposed: Host) -> None:
    proposed.succeed("approvals", "approve", named(proposed))
    assert listed(proposed)["deploy"]["status"] == "approved"
    execute(proposed, "UPDATE runners SET approved_version = approved_version + 1")
    assert listed(proposed)["deploy"]["status"] == "proposed"


def test_runners_are_exported_as_they_are_applied(proposed: Host) -> None:
    exported = proposed.succeed("directory", "export").out
    (proposed.folder / "again.yaml").write_text(exported)
    proposed.succeed("directory", "apply", "again.yaml", "--dry-run", "--prune")


def test_faults_of_runners_are_told_with_their_lines(proposed: Host) -> None:
    text = (proposed.folder / "directory.yaml").read_text()
    faulty = text.replace("sub: job, ", "").replace("[net*]", "['*']").replace("deploy", "other")
    (proposed.folder / "faulty.yaml").write_text(faulty)
    refused = proposed.run("directory", "apply", "faulty.yaml")
    assert refused.code == 7
    lines = set(re.findall(r"faulty\.yaml:(\d+): ", refused.err))
    wanted = [n for n, line in enumerate(faulty.splitlines(), 1) if "'*'" in line or "ref:" in line]
    assert sorted(lines) == [f"{n}" for n in wanted]
    (proposed.folder / "unread.yaml").write_text(text.replace("patterns: [net*]", "max-ttl: soon"))
    assert "a number of seconds" in proposed.run("directory", "apply", "unread.yaml").err


def seeds(host: Host) -> list[bytes]:
    """The server keys of the keyring."""
    document = json.loads((host.data / "keyring.json").read_text())
    return [base64.b64decode(seed) for seed in document["server"]["keys"].values()]


def test_the_server_key_is_shown_and_rotated_and_the_former_ones_stay(host: Host) -> None:
    host.succeed("init")
    before = host.succeed("server-key", "show").out.strip()
    rotated = host.succeed("server-key", "rotate")
    shown = host.succeed("server-key", "show").out.strip()
    assert rotated.out == f"{shown},{before}\n"
    assert shown != before
    assert "Copy " in rotated.err
    assert "keys activate" not in rotated.err
    assert len(seeds(host)) == 2
    assert (host.data / "keyring.json").stat().st_mode & 0o777 == 0o600
    secret = [base64.b64encode(seed).decode() for seed in seeds(host)]
    assert not any(one in rotated.out + rotated.err + shown for one in secret)
    trail = host.succeed("audit", "list").out
    assert not any(one in trail for one in secret)
    entries = [json.loads(line) for line in trail.splitlines()]
    made = [one for one in entries if one["action"].startswith("server-key.")]
    ids = list(json.loads((host.data / "keyring.json").read_text())["server"]["keys"])
    told = {one["action"]: (one["subject"]["id"], one["details"]) for one in made}
    prints = [encoded(hashlib.sha256(decoded(text)).digest()) for text in (before, shown)]
    assert told == {
        "server-key.create": (ids[0], {"thumbprint": prints[0]}),
        "server-key.rotate": (ids[1], {"thumbprint": prints[1], "former": ids[0]}),
    }
    assert {one["stream"] for one in made} == {"system"}
    host.succeed("audit", "verify")
    kept = host.succeed("keys", "status", "--json").json
    assert [one["active"] for one in kept if one["purpose"] == "server"] == [False, True]


def test_a_keyring_of_an_older_release_gets_a_server_key_when_it_is_asked_for(host: Host) -> None:
    host.succeed("init")
    path = host.data / "keyring.json"
    document = json.loads(path.read_text())
    del document["server"]
    path.write_text(json.dumps(document))
    execute(host, "DELETE FROM server_keys")
    refused = host.run("server-key", "show")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.endswith(" To make one: teamvars server-key rotate\n")  # nodes go on
    rotated = host.succeed("server-key", "rotate").out
    assert host.succeed("server-key", "show").out == rotated
    assert '"server-key.rotate"' in host.succeed("audit", "list").out
    assert keyring.load(path).audit.active == document["audit"]["active"]


def test_no_key_is_added_that_the_trail_cannot_tell_of(host: Host) -> None:
    host.succeed("init")
    (host.data / "teamvars.db").rename(host.data / "elsewhere.db")
    refused = host.run("server-key", "rotate")
    assert (refused.code, refused.out) == (1, "")
    assert len(seeds(host)) == 1


def test_a_rotation_keeps_a_link_to_the_keyring(host: Host, tmp_path: Path) -> None:
    host.succeed("init")
    (elsewhere := tmp_path / "kept").mkdir(mode=0o700)
    path, kept = host.data / "keyring.json", elsewhere / "keyring.json"
    path.rename(kept)
    path.symlink_to(kept)
    host.succeed("server-key", "rotate")
    assert path.is_symlink()
    assert len(seeds(host)) == 2


def found_of_runners(host: Host) -> dict[str, str]:
    """What `doctor` says, by how bad it is, with the runners it is said of."""
    told = host.run("doctor", "--json").json
    return {one["text"]: one["severity"] for one in told if one["subject"] == "runners"}


def test_doctor_says_of_each_runner_where_it_stands_and_what_to_run(proposed: Host) -> None:
    def says(severity: str, *parts: str, host: Host = proposed) -> bool:
        found = found_of_runners(host).items()
        return any(s == severity and all(part in text for part in parts) for text, s in found)

    waiting = "acme/deploy, acme/host) wait for approval", "teamvars approvals list"
    assert says("advice", *waiting)
    execute(proposed, "UPDATE runners SET body = replace(body, 'job', 'theirs')")
    assert says("problem", "1: acme/deploy) are not what was proposed")
    refused = proposed.run("approvals", "approve", named(proposed))
    assert (refused.code, "is not what was proposed" in refused.err) == (6, True)
    execute(proposed, "UPDATE runners SET body = replace(body, 'theirs', 'job')")
    proposed.succeed("approvals", "approve", named(proposed))
    proposed.succeed("approvals", "approve", named(proposed, "host"))
    assert found_of_runners(proposed) == {}
    execute(proposed, "UPDATE runners SET version = version - 1")
    assert says("problem", "acme/deploy, acme/host) are not what was proposed")
    execute(proposed, "UPDATE runners SET version = version + 1")
    apply_with(proposed, "[network, payments]", "[network, payments, net-2]")
    assert says("advice", "1: acme/deploy) match workspaces")
    elsewhere = proposed.having(issuers="github")
    assert says("problem", "1: acme/deploy) name an issuer", "TEAMVARS_ISSUERS", host=elsewhere)
    execute(proposed, "UPDATE runners SET approved_version = approved_version + 1")
    assert says("problem", "acme/deploy, acme/host) have an approval that does not hold")
    execute(proposed, "UPDATE runners SET approved_reach = '{'")
    assert says("problem", "acme/deploy, acme/host) have an approval that does not hold")
    execute(proposed, "UPDATE runners SET body = '{'")
    assert says("problem", "acme/deploy, acme/host) are not what was proposed")


def test_a_runner_that_was_given_to_no_organization_is_named_and_keeps_back_no_other(
    proposed: Host,
) -> None:
    lost = listed(proposed)["host"]["id"]
    statement = f"UPDATE runners SET organization_id = 'gone' WHERE id = '{lost}'"  # noqa: S608
    of_postgres = "DATABASE_URL" in proposed.settings
    execute(proposed, "SET session_replication_role = replica; " * of_postgres + statement)
    assert list(listed(proposed)) == ["deploy"]
    proposed.succeed("approvals", "approve", named(proposed))
    told = proposed.run("doctor", "--json").json
    (found,) = [one for one in told if lost in one["text"]]
    assert (found["severity"], found["subject"]) == ("problem", "places")
    assert f"(1): {lost} in gone." in found["text"]


def bad_keys() -> dict[str, bytes | None]:
    """Files of keys that do not serve, by what is said of them; None: there is none."""
    key = ECKey.generate_key("P-256")
    secret = key.as_dict(private=True)
    small = {"kty": "RSA", "n": "w" * 171, "e": "AQAB"}  # 1024 bits
    return {
        "No such file": None,
        "cannot be read": b"keys",
        "of the issuer that cannot": b'{"keys": 7}',
        "private or secret": json.dumps({"keys": [secret]}).encode(),
        "secret keys": b'{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}',
        "no key to use": b'{"keys": []}',
        "from 2048 bits": json.dumps({"keys": [small]}).encode(),
    }


def test_a_file_of_keys_that_does_not_serve_is_refused_and_doctor_says_the_same(
    host: Host,
) -> None:
    host.succeed("init")
    path = host.folder / "keys.json"
    named = host.having(issuers=f"https://ci.example.org={path}")
    for what, content in bad_keys().items():
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)
        refused = named.run("serve")
        assert (refused.code, refused.out) == (2, ""), what
        assert what in refused.err, refused.err
        assert f"issuers: {path}" in refused.err
        assert "Traceback" not in refused.err
        told = named.run("doctor", "--json")
        assert told.code == 1
        said = [one["text"] for one in told.json if one["subject"] == "issuers"]
        assert len(said) == 1, what
        assert said[0] in refused.err
    good = ECKey.generate_key("P-256").as_dict(private=False)
    path.write_text(json.dumps({"keys": [good, {"kty": "unknown"}]}))
    told = named.run("doctor", "--json")
    assert [one["severity"] for one in told.json if one["subject"] == "issuers"] == ["advice"]


WHY = ("--reason", "ticket 4711", "--")


def receipts(host: Host) -> list[dict[str, object]]:
    """What the trail says was handed out."""
    lines = host.succeed("audit", "list", "--limit", "100").out.splitlines()
    return [one for line in lines if (one := json.loads(line))["action"] == "variable.deliver"]


def test_a_command_with_values_is_off_unless_the_operator_says_so(proposed: Host) -> None:
    words = ("exec", "acme/network", *WHY, "touch", "started")
    refused = proposed.run(*words)
    assert refused.code == 125
    assert "TEAMVARS_ALLOW_EXEC=true" in refused.err
    assert not (proposed.folder / "started").exists()
    assert receipts(proposed) == []
    proposed.having(allow_exec="true").succeed(*words)
    assert (proposed.folder / "started").exists()


def test_a_command_gets_nothing_of_the_services_own_and_its_exit_code_is_kept(
    proposed: Host,
) -> None:
    allowed = proposed.having(allow_exec="true")
    assert "TEAMVARS_" not in allowed.succeed("exec", "acme/network", *WHY, "env").out
    assert allowed.run("exec", "acme/network", *WHY, "sh", "-c", "exit 7").code == 7
    assert len(receipts(allowed)) == 2
    assert "ticket 4711" in str(receipts(allowed)[0])


def test_every_fault_of_exec_is_125_and_leaves_no_receipt(proposed: Host) -> None:
    allowed = proposed.having(allow_exec="true")
    for words in (
        ("acme/network", "--", "true"),
        ("acme/network", "--reason", "", "--", "true"),
        ("acme/network", "--reason", "a\nb", "--", "true"),
        ("acme", *WHY, "true"),
        ("acme/nowhere", *WHY, "true"),
        ("acme/network", "--only", "X*", *WHY, "true"),
        ("acme/network", *WHY),
    ):
        assert allowed.run("exec", *words).code == 125, words
    unreasoned = allowed.run("exec", "acme/network", "--", "true")
    assert "\nUsage: teamvars exec [OPTIONS] ORG/WORKSPACE -- CMD" in unreasoned.said
    missing = allowed.run("exec", "acme/nowhere", *WHY, "true")
    assert missing.said == "teamvars: There is no workspace acme/nowhere.\n"
    assert receipts(allowed) == []


INTERRUPTED = """
import asyncio, signal
from teamvars.services.deliveries import HostDeliveries

whole = HostDeliveries.hand_out

async def interrupted(*asked):
    found = await whole(*asked)
    signal.raise_signal(signal.SIGINT)
    await asyncio.sleep(0)
    return found

HostDeliveries.hand_out = interrupted
from teamvars.__main__ import main
main()
"""
"""The command line, where Ctrl-C comes once the receipt is there."""


def test_a_command_that_is_interrupted_before_it_starts_ends_as_interrupted_ones_do(
    proposed: Host,
) -> None:
    """12 might be its own exit code, and nothing that it does may have happened."""
    allowed = proposed.having(allow_exec="true")
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, "exec", "acme/network", *WHY, "touch", "started"],
        cwd=allowed.folder,
        env=allowed.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS,
    )
    assert done.returncode == 130
    assert re.fullmatch("Store: .*\n", done.stderr)
    assert not (allowed.folder / "started").exists()
    assert len(receipts(allowed)) == 1
