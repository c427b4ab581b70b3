"""What a shell offers for a word that somebody is typing."""

from threading import Event

import pytest

from teamvars.cli.client.offers import in_time
from teamvars.cli.failures import Failure
from tests.cli.client.attacker import Attacker
from tests.cli.client.conftest import Service
from tests.cli.client.test_examples import bash
from tests.support.desk import Desk
from tests.support.patience import HANGS

ASK = """
source <(teamvars completion bash)
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_teamvars_completion teamvars
echo "${{COMPREPLY[@]}}"
"""


def offered(desk: Desk, words: str) -> list[str]:
    """What bash offers for the last of the words."""
    done = bash(desk, ASK.format(words=words))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("teamvars vars get LOG", ["LOG_LEVEL"]),
        ("teamvars vars unset OLD_FLAG L", ["LOG_LEVEL"]),
        ("teamvars vars set ''", ["LOG_LEVEL", "OLD_FLAG"]),
        ("teamvars vars copy pay", ["payments"]),
        ("teamvars vars copy payments ''", ["ONLY_THERE"]),
        ("teamvars vars list --category ''", ["env", "tool"]),
        ("teamvars vars list -w network,pa", ["network,payments"]),
        ("teamvars vars list -w payments ''", []),
        ("teamvars vars get -w network,payments ''", ["LOG_LEVEL", "OLD_FLAG", "ONLY_THERE"]),
        ("teamvars team members own", ["owners"]),
        ("teamvars team list --account ''", ["robot"]),
        ("teamvars run -- teamvar", ["teamvars"]),
    ],
)
def test_names_are_offered_for_the_words_that_take_them(
    words: str, expected: list[str], completing: Desk
) -> None:
    assert offered(completing, words) == expected


def test_organizations_are_offered(completing: Desk, office: str) -> None:
    assert office in offered(completing, "teamvars vars list --organization ''")


def test_a_key_that_a_shell_could_evaluate_is_not_offered(network: Desk) -> None:
    network.succeed("vars", "set", "$(id)=1", "`id`=1", "PLAIN=1")
    assert offered(network, "teamvars vars get ''") == ["PLAIN"]


def test_a_key_that_would_be_an_option_is_not_offered(network: Desk) -> None:
    network.succeed("vars", "set", "PLAIN=1", "--", "--yes=1", "-y=1")
    assert offered(network, "teamvars vars unset ''") == ["PLAIN"]


def test_a_service_that_is_busy_writes_nothing_into_the_line_that_is_typed(network: Desk) -> None:
    with Attacker(503) as busy:
        busy_desk = network.having(address=busy.url, token="tvu_any")
        assert offered(busy_desk, "teamvars vars get ''") == []


def test_all_that_is_looked_up_for_a_word_has_one_limit() -> None:
    with pytest.raises(Failure), in_time(0.05):
        Event().wait(HANGS)


@pytest.fixture
def completing(network: Desk, service: Service) -> Desk:
    """Somebody with variables in two workspaces, and a second account."""
    network.succeed("vars", "set", "LOG_LEVEL=info", "OLD_FLAG=1")
    network.succeed("vars", "set", "ONLY_THERE=1", "-w", "payments")
    named = ("login", "--name", "robot", "--address", service.url)
    network.succeed(*named, given=service.tokens["bob"])
    return network
