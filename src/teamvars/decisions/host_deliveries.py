"""What a command on the service's own host is handed: as with jobs, the receipt comes first."""

import msgspec

from teamvars.decisions import Decision, Found, Need
from teamvars.decisions.deliveries import ValuesOf, told
from teamvars.decisions.needs import DataKeyOf
from teamvars.domain.access import WrappedKey
from teamvars.domain.deliveries import DeliveryDraft
from teamvars.domain.errors import Code, Fault, Refusal
from teamvars.domain.variables import StoredVariable
from teamvars.domain.workspaces import Workspace
from teamvars.kernel import Discreet


class WorkspaceCalled(Need[Workspace], frozen=True):
    """The workspace an operator names."""

    organization: str
    name: str


class HostDraft(msgspec.Struct, frozen=True):
    """Which workspace an operator means, for what `reason`, and what of it; no globs: all."""

    organization: str
    workspace: str
    reason: str
    only: tuple[str, ...] = ()


class HostBundle(Discreet, frozen=True):
    """What is to be handed out, once the receipt is committed: values are sealed still."""

    key: WrappedKey
    variables: tuple[StoredVariable, ...]


def hand_out(found: Found, draft: HostDraft) -> Decision[HostBundle]:
    """All that a run in the workspace gets, or what the globs name.

    The receipt goes to the organization's stream: its owners find it, and no workspace's head
    moves. Refuses: not found, a glob that names nothing.
    """
    workspace = found.of(WorkspaceCalled(draft.organization, draft.workspace))
    owner_id = workspace.organization_id
    found.require_locked([owner_id])
    key = found.of(DataKeyOf(owner_id))
    has = found.of(ValuesOf(workspace.id)).variables
    for glob in draft.only:
        if not DeliveryDraft(only=(glob,)).wanted(has):
            detail = f"--only {glob}: there is no variable like this."
            raise Refusal(Fault(Code.INVALID_VALUE, detail))
    wanted = DeliveryDraft(only=draft.only)
    variables = tuple(wanted.wanted(has))
    details: dict[str, object] = {
        "workspace": workspace.id,
        "reason": draft.reason,
        "variables": [told(each.variable, workspace.id) for each in variables],
    }
    note = found.note(owner_id, "variable.deliver", workspace.id, details)
    return Decision(HostBundle(key, variables), (), (note,))
