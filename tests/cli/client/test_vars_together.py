"""`vars set`, `unset`, `edit` beside others: who changes other variables is in nobody's way."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.cli.client.conftest import Service
from tests.cli.client.stubs import Answer, answering
from tests.cli.client.test_edit import editor
from tests.cli.client.test_vars import values
from tests.support.commands import SCRIPT
from tests.support.desk import Desk
from tests.support.patience import HANGS, wait_until

BOTH = ("-w", "net*,pay*")
TOGETHER = 20


def test_twenty_that_set_different_variables_at_once_all_succeed(network: Desk) -> None:
    network.succeed("vars", "set", "THERE=1")
    with (network.folder / "said").open("w+") as said:
        under_way = [
            network.start("vars", "set", f"KEY_{number}={number}", out=said, err=said)
            for number in range(TOGETHER)
        ]
        codes = [command.wait(HANGS) for command in under_way]
        assert codes == [0] * TOGETHER, (network.folder / "said").read_text()
    assert values(network) == {"THERE": "1", **{f"KEY_{n}": f"{n}" for n in range(TOGETHER)}}


def test_what_others_make_and_change_while_one_decides_stays(desk: Desk) -> None:
    desk.succeed("vars", "set", "OLD=1", "OTHER=1", "KEY=1", *BOTH, "--yes")
    with (
        desk.terminal("vars", "unset", "OLD", *BOTH) as unset,
        desk.terminal("vars", "set", "KEY=2", *BOTH) as set_,
    ):
        for terminal in (unset, set_):
            terminal.expect(r"\[y/N\] ")
        desk.succeed("vars", "set", "NEW=1", "OTHER=2", "-w", "network")
        for terminal in (unset, set_):
            terminal.type("y")
            assert terminal.wait() == 0
    assert values(desk, "network") == {"NEW": "1", "OTHER": "2", "KEY": "2"}
    assert values(desk, "payments") == {"OTHER": "1", "KEY": "2"}


def test_of_two_who_were_shown_one_version_the_second_is_refused(desk: Desk) -> None:
    desk.succeed("vars", "set", "KEY=0", "GOES=0", *BOTH, "--yes")
    commands = [("set", "KEY=1"), ("set", "KEY=2"), ("set", "GOES=2"), ("unset", "GOES")]
    terminals = [desk.terminal("vars", *words, *BOTH) for words in commands]
    for terminal in terminals:
        terminal.expect(r"\[y/N\] ")
    codes = []
    for terminal in terminals:
        terminal.type("y")
        codes.append(terminal.wait())
    assert codes == [0, 6, 0, 6]
    assert "KEY: It has changed since that version" in terminals[1].seen
    assert values(desk) == {"KEY": "1", "GOES": "2"}


def test_an_edit_minds_its_own_variable_alone(network: Desk) -> None:
    network.succeed("vars", "set", "KEY=old")
    others = editor(network, f'{SCRIPT} vars set OTHER=theirs; echo mine > "$1"')
    assert "KEY: updated." in others.succeed("vars", "edit", "KEY").err
    assert values(network) == {"KEY": "mine", "OTHER": "theirs"}
    gone = editor(network, f'{SCRIPT} vars unset KEY --yes; echo again > "$1"')
    assert gone.run("vars", "edit", "KEY").code == 6
    assert values(network) == {"OTHER": "theirs"}


class Scripted:
    """A service of one workspace that answers applies as it is told."""

    def __init__(self) -> None:
        self.variables: list[dict[str, Any]] = []
        """What the workspace has; of one of them alone, the first."""
        self.answers: list[tuple[int, dict[str, Any]]] = []
        """Status and document of each apply that is still to come."""
        self.sent: list[Any] = []
        self.url = ""

    def tell(self, path: str, sent: bytes) -> Answer:
        """What it says to a request."""
        if sent:
            self.sent.append(json.loads(sent))
            return self.answers.pop(0)
        if path.endswith("/vars"):
            return 200, {"data": self.variables}
        if "/vars/" in path:
            return 200, {"data": self.variables[0]}
        one = {"type": "workspaces", "id": "ws-1", "attributes": {"name": "network"}}
        return 200, {"data": one}


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    """A service whose answers the test says."""
    found = Scripted()
    with answering(found.tell) as found.url:
        yield found


def refusal(code: str, status: int, pointer: str) -> tuple[int, dict[str, Any]]:
    """An answer that refuses one member."""
    fault = {"status": str(status), "code": code, "detail": code, "source": {"pointer": pointer}}
    return status, {"errors": [fault]}


STALE = refusal("precondition_failed", 412, "/data/0/meta/version-id")
DONE: tuple[int, dict[str, Any]] = (200, {"meta": {"results": []}})


@pytest.fixture
def visitor(network: Desk, service: Service, scripted: Scripted) -> Desk:
    """Alice, at that service."""
    token = service.tokens["alice"]
    return network.having(address=scripted.url, token=token, organization="acme")


def test_what_somebody_made_and_took_away_again_is_tried_again(
    visitor: Desk, scripted: Scripted
) -> None:
    scripted.answers = [STALE, STALE, DONE]
    visitor.succeed("vars", "set", "KEY=1")
    assert len(scripted.sent) == 3
    assert scripted.sent[0] == {
        "data": [
            {
                "type": "vars",
                "attributes": {"key": "KEY", "category": "env", "value": "1"},
                "meta": {"version-id": None},
            }
        ],
        "meta": {"versioned": True, "dry-run": False},
    }
    scripted.answers = [STALE] * 10
    assert visitor.run("vars", "set", "KEY=1").code == 6
    assert scripted.answers, "not for ever"


def test_a_service_that_knows_no_versions_is_told_of_in_plain_words(
    visitor: Desk, scripted: Scripted
) -> None:
    scripted.answers = [refusal("unknown_attribute", 422, "/meta/versioned")]
    refused = visitor.run("vars", "set", "KEY=1")
    assert refused.code == 1
    assert "is older than this command" in refused.err
    assert "nothing was changed" in refused.err


UNKNOWN = refusal("outcome_unknown", 503, "")
GONE = refusal("not_found", 404, "")


def at_version(number: str) -> dict[str, Any]:
    """The variable KEY at that version."""
    its = {"key": "KEY", "value": "old", "description": "", "category": "env", "hcl": False}
    more = {"sensitive": False, "version-id": number}
    return {"type": "vars", "id": "var-1", "attributes": {**its, **more}}


def test_what_may_have_happened_is_edited_again_and_overwrites_nothing_of_others(
    visitor: Desk, scripted: Scripted
) -> None:
    scripted.variables, scripted.answers = [at_version("1")], [UNKNOWN, GONE, STALE, DONE]
    desk = editor(visitor, 'test -e twice || echo mine > "$1"')
    with desk.terminal("vars", "edit", "KEY") as terminal:
        terminal.expect(r"Nobody knows whether .*Edit it again\? \[y/N\] ")
        (visitor.folder / "twice").touch()
        scripted.variables = [at_version("2")]
        terminal.type("y")
        terminal.expect(r"Edit it again, and overwrite what is there now\? \[y/N\] ")
        terminal.type("y")
        assert terminal.wait() == 0
    items = [document["data"][0] for document in scripted.sent]
    assert [item["meta"]["version-id"] for item in items] == ["1", "1", "1", "2"]
    assert {item["attributes"]["value"] for item in items} == {"mine"}


def test_who_does_not_go_on_has_the_exit_code_of_what_became_of_it(
    visitor: Desk, scripted: Scripted
) -> None:
    desk = editor(visitor, 'echo mine > "$1"')
    refused = refusal("invalid_value", 422, "/data/0/attributes/value")
    for answers, code in (([UNKNOWN, GONE], 12), ([refused], 7)):
        scripted.variables, scripted.answers = [at_version("1")], answers
        with desk.terminal("vars", "edit", "KEY") as terminal:
            terminal.expect("Edit it again")
            terminal.type("n")
            assert terminal.wait() == code


def test_what_was_typed_is_still_there_where_the_service_no_longer_answers(
    network: Desk, service: Service
) -> None:
    one = Scripted()
    one.variables = [at_version("1")]
    script = """\
cp "$1" "seen-$(ls seen-* 2>/dev/null | wc -l)"
echo mine > "$1"
until test -e away; do sleep 0.05; done"""
    with ExitStack() as serving:
        url = serving.enter_context(answering(one.tell))
        at_it = network.having(address=url, token=service.tokens["alice"], organization="acme")
        with editor(at_it, script).terminal("vars", "edit", "KEY") as terminal:
            wait_until((network.folder / "seen-0").exists)
            serving.close()
            (network.folder / "away").touch()
            for answer in "yyn":
                terminal.expect("Edit it again, and overwrite what is there now")
                terminal.type(answer)
            assert terminal.wait() == 11
    seen = [(network.folder / f"seen-{number}").read_text() for number in range(3)]
    assert seen == ["old", "mine", "mine"]
