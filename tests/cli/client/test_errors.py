"""A refusal is told with the line at fault and a caret below it, and never with a secret."""

from typing import Any

import pytest

from teamvars import __version__
from teamvars.cli.client import options
from teamvars.cli.client.api.addresses import Address
from teamvars.cli.client.api.errors import ApiError, faults_of
from teamvars.cli.client.api.targets import Target, Token
from teamvars.cli.client.api.transport import Travel
from teamvars.cli.exits import Failure
from tests.cli.client.attacker import Attacker
from tests.cli.client.conftest import Service
from tests.cli.client.stubs import Answer, answering
from tests.support.desk import Desk

TARGET = Target(Address("https", "example.com", 443), "--address", Token("tvu_secret", "you"))
PATH = "POST /api/v2/workspaces/ws-1/vars"


def told(document: Any, pointer: str, line: int, column: int) -> list[str]:
    """What is said of a value that does not parse there."""
    error = {
        "detail": "A ']' is missing.",
        "source": {"pointer": pointer},
        "meta": {"line": line, "column": column},
    }
    refusal = ApiError(TARGET, PATH, 422, faults_of({"errors": [error]}), document)
    assert refusal.code == 7
    return str(refusal).split("\n")


def one(**attributes: object) -> dict[str, Any]:
    """A document that creates a variable."""
    return {"data": {"type": "vars", "attributes": attributes}}


def test_the_line_of_the_value_is_shown_with_a_caret() -> None:
    document = one(value="[\n  1, 2\n  3,\n]")
    assert told(document, "/data/attributes/value", 3, 3) == [
        "A ']' is missing.",
        "    3,",
        "    ^",
    ]


def test_of_a_long_line_the_part_around_the_place_is_shown() -> None:
    _, line, caret = told(
        one(value="x" * 1000 + "!" + "y" * 1000), "/data/attributes/value", 1, 1001
    )
    assert len(line) < 100
    assert line[caret.index("^")] == "!"


def test_what_a_terminal_obeys_is_escaped_and_the_caret_stands_where_it_should() -> None:
    _, line, caret = told(one(value="\t\x1b[2J!"), "/data/attributes/value", 1, 6)
    assert "\x1b" not in line
    assert line[caret.index("^")] == "!"


def test_the_caret_stands_below_the_place_whatever_letters_are_before_it() -> None:
    _, line, caret = told(one(value='"サーバ" !'), "/data/attributes/value", 1, 7)
    assert line == '  "サーバ" !'
    assert caret == f"  {' ' * 9}^"


def test_an_item_of_many_is_found() -> None:
    document = {"data": [one()["data"], one(value="[1")["data"]]}
    assert told(document, "/data/1/attributes/value", 1, 3)[1:] == ["  [1", "    ^"]


@pytest.mark.parametrize(
    ("document", "pointer", "line"),
    [
        (one(value="hunter2 [", sensitive=True), "/data/attributes/value", 1),
        (None, "/data/attributes/value", 1),
        (one(value="hunter2 ["), "/data/attributes/none/value", 1),
        (one(value="hunter2 ["), "/data/attributes/value", 9),
        (one(value="hunter2 ["), "/data/7/value", 1),
        (one(value=None), "/data/attributes/value", 1),
        (one(value="hunter2 ["), "", 1),
    ],
)
def test_nothing_is_shown_of_a_secret_or_where_there_is_nothing(
    document: Any, pointer: str, line: int
) -> None:
    assert told(document, pointer, line, 3) == ["A ']' is missing."]


def test_what_is_not_there_is_told_with_where_to_look_for_it(desk: Desk) -> None:
    token = desk.run("login", "tokens", "revoke", "at-none", "--yes")
    assert token.err.endswith("\nThose you see: teamvars login tokens list\n")
    runner = desk.run("runner", "approve", "run-none@digest")
    assert runner.err.endswith("\nThose you see: teamvars runner list\n")


def test_an_owner_who_may_not_approve_is_not_sent_to_the_owners() -> None:
    refused = faults_of({"errors": [{"detail": "Runners are approved on the service's host."}]})
    approving = ApiError(TARGET, "POST /api/v2/runners/run-1/actions/approve", 403, refused)
    assert str(approving) == "Runners are approved on the service's host."


def test_a_token_that_is_typed_as_an_argument_is_not_shown_again(stranger: Desk) -> None:
    for words in (("login", "tvu_canary"), ("login", "--token=tvu_canary")):
        refused = stranger.run(*words)
        assert refused.code == 2
        assert "canary" not in refused.out + refused.err
    assert "A token is no argument" in stranger.run("login", "tvu_canary").err


class Homeless(Desk):
    """A desk of somebody whose home is nowhere."""

    @property
    def environment(self) -> dict[str, str]:
        """A folder would be another wherever they are, such as in a repository."""
        return {**super().environment, "HOME": "home", "XDG_CONFIG_HOME": "config"}


def test_no_token_is_kept_in_whatever_folder_one_is_in(stranger: Desk, service: Service) -> None:
    homeless = Homeless(stranger.folder, stranger.settings, stranger.home)
    refused = homeless.run("login", "--address", service.url, given=service.tokens["alice"])
    assert refused.code == 2
    assert "HOME" in refused.err
    assert not (stranger.folder / "home").exists()


def test_an_empty_option_does_not_ask_for_everything(desk: Desk) -> None:
    for words in (
        ("vars", "search", "--part", ""),
        ("deliveries", "list", "--runner", ""),
        ("vars", "set", "KEY", "--file", ""),
        ("runner", "init", "--server-key", ""),
        ("runner", "update", "laptop", "--name", ""),
    ):
        refused = desk.run(*words)
        assert (refused.code, "is empty" in refused.err) == (2, True)
    refused = desk.run("run", "--with", "", "--", "true")
    assert (refused.code, "--with is empty" in refused.err) == (125, True)


@pytest.mark.parametrize(
    "words",
    [
        "vars search",
        "vars history",
        "vars get",
        "vars unset KEY --yes",
        "team members",
        "team add owners dave",
        "login tokens revoke at-1 --yes",
    ],
)
def test_an_empty_argument_does_not_ask_for_everything(network: Desk, words: str) -> None:
    network.succeed("vars", "set", "KEY=value")
    refused = network.run(*words.split(), "")
    assert (refused.code, refused.out) == (2, "")
    assert "It is empty. Is a variable of your shell not set?" in refused.err
    assert network.succeed("vars", "get", "KEY", "--plain").out == "value"


def test_a_workspace_that_is_not_there_is_named(desk: Desk, office: str) -> None:
    refused = desk.run("vars", "list", "-w", "ntwork")
    assert refused.code == 5
    assert f"no workspace {office}/ntwork" in refused.err
    assert "teamvars workspace list" in refused.err
    assert "teamvars link --workspace" in desk.succeed("link").err


@pytest.mark.parametrize("words", ["workspace list", "team list", "vars search A", "set create A"])
def test_an_organization_that_is_not_there_is_told_with_where_it_comes_from(
    desk: Desk, words: str
) -> None:
    refused = desk.having(organization="nowhere").run(*words.split())
    assert refused.code == 5
    assert "Check the organization: it is nowhere, from TEAMVARS_ORGANIZATION." in refused.err


def test_no_workspace_is_said_to_be_missing_by_what_is_no_service(stranger: Desk) -> None:
    with Attacker(404, b"<html>", {"Content-Type": "text/html"}) as other:
        desk = stranger.having(address=other.url, token="tvu_any", organization="acme")
        refused = desk.run("vars", "list", "-w", "network")
    assert refused.code == 5
    assert f"{other.url} answered 404, and not as teamvars would." in refused.err
    assert "There is no workspace" not in refused.err


@pytest.mark.parametrize("raised", [Failure("It is not teamvars."), KeyboardInterrupt()])
def test_a_refusal_is_told_whatever_comes_of_asking_for_the_release(
    monkeypatch: pytest.MonkeyPatch, raised: BaseException
) -> None:
    waited: list[float] = []

    def asked(_: Address, travel: Travel) -> str:
        waited.append(travel.seconds)
        raise raised

    monkeypatch.setattr(options, "release_of", asked)
    refused = ApiError(TARGET, "GET /api/v2/any", 404, [])
    told = str(refused)
    assert str(options._with_misfit(refused)) == told
    assert waited == [5.0]


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        ("set list", 404, 5),
        ("vars search --part log", 400, 7),
        ("set create any", 405, 1),
        ("run --explain", 404, 125),
    ],
)
@pytest.mark.parametrize(("release", "is_told"), [("0.0.9", True), (__version__, False)])
def test_whoever_asks_what_an_older_service_does_not_know_is_told_its_release(
    stranger: Desk, words: str, status: int, code: int, release: str, is_told: bool
) -> None:
    def tell(path: str, _: bytes) -> Answer:
        if path == "/":
            return 200, {"name": "teamvars", "version": release}
        if path.endswith("/workspaces/network"):
            return 200, {"data": {"id": "ws-1", "attributes": {"name": "network"}}}
        return status, {"errors": [{"code": "any", "detail": "It is refused."}]}

    with answering(tell) as url:
        named = {"organization": "acme", "workspace": "network", "token": "tvu_any"}
        refused = stranger.having(address=url, **named).run(*words.split())
    assert refused.code == code
    assert "It is refused." in refused.err
    assert (f"{url} is release 0.0.9, and this command" in refused.err) == is_told


@pytest.mark.parametrize(
    ("words", "option", "code"),
    [
        (("vars", "set", "A=1", "-w", "eu", "--workspace=us"), "--workspace", 2),
        (("login", "--name", "a", "--name", "b"), "--name", 2),
        (("--data-dir", "a", "--data-dir", "b", "migrate", "status"), "--data-dir", 2),
        (("run", "--with", "a", "--with", "b", "--", "true"), "--with", 125),
    ],
)
def test_of_an_option_that_is_given_twice_no_value_is_passed_over(
    stranger: Desk, words: tuple[str, ...], option: str, code: int
) -> None:
    done = stranger.run(*words)
    assert (done.code, f"{option} is given twice" in done.err) == (code, True), done.err
