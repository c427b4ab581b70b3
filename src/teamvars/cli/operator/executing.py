"""`exec`: on the service's own host, a command with all values of a workspace."""

from collections.abc import Collection, Sequence
from typing import Any

import click

from teamvars.cli.exits import NOT_STARTED, Failure
from teamvars.cli.operator.context import run
from teamvars.cli.operator.host import both_names, load_settings
from teamvars.cli.options import argument, option
from teamvars.cli.starting import Starter, Values, become, command_argument, own_environment
from teamvars.decisions.deliveries import HostDraft
from teamvars.domain.audit import MAX_REASON_CHARACTERS
from teamvars.domain.key_names import is_steering
from teamvars.domain.names import is_safe
from teamvars.domain.variables import Variable
from teamvars.kernel.variables import Unfit, name_in_environment, text_of
from teamvars.origins import origin

_OWN = "TEAMVARS_"
"""How the names begin that no command gets: among them the password of the store."""


class _PlacedStarter(Starter):
    """A command that starts another, of what its first word names: options come after that."""

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **more: Any) -> Any:
        """The context; wrong usage is a fault of this command's own, too."""
        end = args.index("--") if "--" in args else len(args)
        own, command = args[:end], args[end + 1 :]
        if own and not own[0].startswith("-"):
            own = [*own[1:], "--", own[0]]
        return super().make_context(info_name, [*own, *command], *rest, **more)


@click.command("exec", cls=_PlacedStarter)
@argument("place", "The workspace.", metavar="ORG/WORKSPACE")
@command_argument(required=True)
@option("--reason", "Why; the trail records it.", required=True, metavar="TEXT")
@option("--only", "Only variables like this.", multiple=True, metavar="GLOB")
@option("--allow-env", "Accept this name from the workspace.", multiple=True, metavar="NAME")
def exec_(
    place: str,
    command: Sequence[str],
    reason: str,
    only: tuple[str, ...],
    allow_env: Sequence[str],
) -> None:
    """Run a command with all values, after a receipt.

    Its environment has sensitive ones too. Off unless TEAMVARS_ALLOW_EXEC is true. The exit code is
    the command's; 125 means that it was not started.
    """
    try:
        found = _handed(_draft(place, reason, only))
        own = {name: text for name, text in own_environment().items() if not name.startswith(_OWN)}
        values = {**own, **_named(found, allow_env)}
    except Failure as failure:
        raise Failure(str(failure), NOT_STARTED) from None
    except Exception as error:
        raise Failure(f"unexpected {origin(error)}", NOT_STARTED) from None
    become(command, values)


def _draft(place: str, reason: str, only: tuple[str, ...]) -> HostDraft:
    organization, name = both_names(place, "Give the workspace as ORG/WORKSPACE.")
    if not (len(reason.strip()) > 0 and len(reason) <= MAX_REASON_CHARACTERS and is_safe(reason)):
        raise Failure(f"--reason is a line of at most {MAX_REASON_CHARACTERS} characters.")
    return HostDraft(organization, name, reason, only)


def _handed(draft: HostDraft) -> Sequence[Variable]:
    if not load_settings().allow_exec:
        raise Failure(
            "No command hands out values on this host, unless its operator allows it: "
            "TEAMVARS_ALLOW_EXEC=true"
        )
    return run(
        lambda services, caller: services.host_deliveries.hand_out(caller, draft),
        interrupted=None,
    )


def _named(variables: Sequence[Variable], allowed: Collection[str]) -> Values:
    """The values by their names in an environment. Fails with all that has none there."""
    values: dict[str, str] = {}
    faults = []
    for variable in variables:
        try:
            name = name_in_environment(variable)
            if name in values:
                faults.append(f"{name}: two variables have this name there (--only chooses one).")
            elif is_steering(name) and name not in allowed:
                faults.append(
                    f"{name} could make programs run or trust something else: --allow-env {name}"
                )
            values[name] = text_of(variable)
        except Unfit as why:
            faults.append(f"{variable.key}: {why}.")
    if faults:
        raise Failure("\n".join(faults))
    return values
