"""What a shell offers for a word that somebody is typing."""

import re
import shlex
import shutil
from threading import Event

import pytest

from teamvars.cli.client.offers import in_time
from teamvars.cli.exits import Failure
from teamvars.domain.federation import GITHUB
from tests.cli.client.attacker import Attacker
from tests.cli.client.conftest import Service
from tests.cli.client.test_runners import PROVEN
from tests.support import packages
from tests.support.desk import Desk
from tests.support.patience import HANGS

ASK = """
eval "$(teamvars completion bash)"
enable -n mapfile readarray  # which bash 3.2 of macOS has not
COMP_LINE={line} COMP_POINT={point} COMP_WORDBREAKS=$' \\t\\n"\\'@><=;|&(:'
_teamvars_completion teamvars
[ ${{#COMPREPLY[@]}} = 0 ] || printf '%s\\n' "${{COMPREPLY[@]}}"
"""

SHOWN = ["search", "Find variables in all workspaces and variable sets you may read."]
OTHER_SHELLS = {
    "fish": """
teamvars completion fish | source
complete -C 'teamvars vars sea'
complete -C 'teamvars vars get LOG'
complete -C 'teamvars vars import pro'
complete -C 'teamvars vars get -w "network" --category=en'
complete -C 'teamvars set show Of'
""",
    # zsh completes at a terminal alone: what stands for its part prints what it is given.
    "zsh": """
compdef() { :; }
_describe() { print -l -- "${(P@)2}"; }
_files() { print -l -- ${words[-1]}*; }
source <(teamvars completion zsh)
words=(teamvars vars sea); CURRENT=3; _teamvars_completion
words=(teamvars vars get LOG); CURRENT=4; _teamvars_completion
words=(teamvars vars import pro); CURRENT=4; _teamvars_completion
words=(teamvars vars get -w '"network"' --category=en LOG); CURRENT=6; _teamvars_completion
words=(teamvars set show Of); CURRENT=4; _teamvars_completion
""",
}


def offered(desk: Desk, typed: str, behind: str = "") -> list[str]:
    """What bash offers for what is typed, before what stands behind that."""
    done = desk.bash(ASK.format(line=shlex.quote(typed + behind), point=len(typed)))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("teamvars vars get LOG", ["LOG_LEVEL"]),
        ("teamvars vars unset OLD_FLAG L", ["LOG_LEVEL"]),
        ("teamvars vars set ", ["LOG_LEVEL", "OLD_FLAG"]),
        ("teamvars vars copy pay", ["payments"]),
        ("teamvars vars copy payments ", ["ONLY_THERE"]),
        ("teamvars vars list --category ", ["env", "tool"]),
        ("teamvars vars list -w network,pa", ["network,payments"]),
        ("teamvars vars list -w payments ", []),
        ("teamvars vars get -w network,payments ", ["LOG_LEVEL", "OLD_FLAG", "ONLY_THERE"]),
        ("teamvars vars list --workspace=pay", ["payments"]),
        ("teamvars vars get --workspace=payments ", ["ONLY_THERE"]),
        ("teamvars vars get -w 'payments' ONLY", ["ONLY_THERE"]),
        ("teamvars vars get --set 'Of all' ", ["ONLY_IN_SET"]),
        ("teamvars vars copy --from-set 'Of all' ", ["ONLY_IN_SET"]),
        ("teamvars vars copy --from-set sh", ["shared"]),
        ("teamvars team members own", ["owners"]),
        ("teamvars team list --account ", ["robot"]),
        ("teamvars vars list --set ", [r"Of\ all", "shared"]),
        (r"teamvars set show Of\ a", [r"Of\ all"]),
        ("teamvars set show 'Of a", ["Of all"]),
        ('teamvars vars list --set="Of a', ["Of all"]),
        ("teamvars set show sh", ["shared"]),
        ("teamvars set attach shared --project ", [r"Default\ Project", "web"]),
        ("teamvars set create more --of-project w", ["web"]),
        ("teamvars project rename w", ["web"]),
        ("teamvars runner show ", ["ci"]),
        ("teamvars deliveries list --runner ", ["ci"]),
        ("teamvars runner create more --workspace pay", ["payments"]),
        ("teamvars run -- teamvar", ["teamvars"]),
    ],
)
def test_names_are_offered_for_the_words_that_take_them(
    words: str, expected: list[str], completing: Desk
) -> None:
    assert offered(completing, words) == expected


def test_organizations_are_offered(completing: Desk, office: str) -> None:
    assert office in offered(completing, "teamvars vars list --organization ")


def test_an_address_that_a_shell_takes_for_several_words_is_one(
    completing: Desk, service: Service
) -> None:
    typed = f"teamvars vars get --address {service.url} LOG"
    assert offered(completing, typed, behind=" --json") == ["LOG_LEVEL"]


def test_a_key_that_a_shell_could_evaluate_is_not_offered(network: Desk) -> None:
    network.succeed("vars", "set", "$(id)=1", "`id`=1", "PLAIN=1")
    assert offered(network, "teamvars vars get ") == ["PLAIN"]


def test_a_key_that_would_be_an_option_is_not_offered(network: Desk) -> None:
    network.succeed("vars", "set", "PLAIN=1", "--", "--yes=1", "-y=1")
    assert offered(network, "teamvars vars unset ") == ["PLAIN"]


def test_a_service_that_is_busy_writes_nothing_into_the_line_that_is_typed(network: Desk) -> None:
    with Attacker(503) as busy:
        busy_desk = network.having(address=busy.url, token="tvu_any")
        assert offered(busy_desk, "teamvars vars get ") == []


@pytest.mark.parametrize("shell", OTHER_SHELLS)
def test_other_shells_show_words_with_what_they_stand_for_and_files_where_there_are_none(
    shell: str, completing: Desk
) -> None:
    if shutil.which(shell) is None:
        packages.install(shell)
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (completing.folder / "prod.tfvars").touch()
    script = completing.folder / "script"
    script.write_text(OTHER_SHELLS[shell])
    done = completing.bash(f"{shell} {script}")
    assert (done.returncode, done.stderr) == (0, "")
    command, key, file, category, shared = done.stdout.splitlines()
    assert re.split("[:\t]", command, maxsplit=1) == SHOWN
    assert (key, file, category) == ("LOG_LEVEL", "prod.tfvars", "--category=env")
    assert shared == "Of all"  # which they quote by themselves


def test_all_that_is_looked_up_for_a_word_has_one_limit() -> None:
    with pytest.raises(Failure), in_time(0.05):
        Event().wait(HANGS)


@pytest.fixture
def completing(network: Desk, service: Service) -> Desk:
    """Somebody with variables in two workspaces and a set, and a second account."""
    network.succeed("vars", "set", "LOG_LEVEL=info", "OLD_FLAG=1")
    network.succeed("vars", "set", "ONLY_THERE=1", "-w", "payments")
    network.succeed("set", "create", "Of all")
    network.succeed("vars", "set", "ONLY_IN_SET=1", "--set", "Of all")
    network.succeed("set", "create", "shared")
    network.succeed("project", "create", "web")
    network.succeed("runner", "create", "ci", "--issuer", GITHUB, *PROVEN, "-w", "network")
    named = ("login", "--name", "robot", "--address", service.url)
    network.succeed(*named, given=service.tokens["bob"])
    return network
