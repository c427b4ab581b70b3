"""Names that a user has agreed to take from a workspace, though programs do what they say.

An answer is for one name of one workspace of one service, and is kept beside approved links.
"""

from collections.abc import Sequence

from teamvars.cli.asking import agrees, is_terminal
from teamvars.cli.client import user_files
from teamvars.cli.client.addresses import Address
from teamvars.cli.client.held import Place
from teamvars.cli.client.user_files import Settings


def agreed(address: Address, workspace: Place, names: Sequence[str]) -> list[str]:
    """Those of the names that may be taken. Asks about what was not agreed to before, on a
    terminal; a yes is kept."""
    if not names:
        return []
    known = user_files.read(Settings).agreed_names.get(_key(address, workspace), [])
    return [name for name in names if name in known or _asked(address, workspace, name)]


def _asked(address: Address, workspace: Place, name: str) -> bool:
    question = (
        f"{name} of {workspace.name} can make programs run or trust something else. Take it, now "
        "and whenever this workspace has it? [y/N] "
    )
    if not is_terminal() or not agrees(question):
        return False
    key = _key(address, workspace)
    user_files.change(
        Settings, lambda settings: settings.agreed_names.setdefault(key, []).append(name)
    )
    return True


def _key(address: Address, workspace: Place) -> str:
    return f"{address} {workspace.id}"
