"""The actions that audit entries record: what each is about, and what its details say."""

from collections.abc import Iterable, Mapping

import msgspec


class Action(msgspec.Struct, frozen=True):
    """The type of an action's subjects, and the names its details always or sometimes have.

    `opens` and `closes` name streams that begin and end with the subject; `changed` names what of
    it is another than before; `from` is its former name or key. A variable is `copy-of` the one
    that it was copied from, and is copied `to` a workspace.
    """

    subject_type: str
    always: frozenset[str]
    sometimes: frozenset[str] = frozenset()

    def admits(self, details: Iterable[str]) -> bool:
        """Whether details with these names are complete, and have nothing beside."""
        names = frozenset(details)
        return self.always <= names <= self.always | self.sometimes


def _about(subject_type: str, always: str, sometimes: str = "") -> Action:
    return Action(subject_type, frozenset(always.split()), frozenset(sometimes.split()))


_USER = "username email site-admin"
_MEMBERSHIP = "user status"
_INVITATION = "user email expires-at"
_TEAM = "name visibility manage-membership allow-member-token-management"
_WORKSPACE = "name execution-mode terraform-version"
_TOKEN = "owner expires-at"
_VARIABLE = "key category sensitive version-id"

ACTIONS: Mapping[str, Action] = {
    "user.create": _about("users", _USER),
    "user.update": _about("users", f"{_USER} changed", "from"),
    "user.claim": _about("users", f"{_USER} changed", "from"),
    "user.disable": _about("users", "username", "without-owner"),
    "user.enable": _about("users", "username"),
    "user.delete": _about("users", ""),
    "organization.create": _about("organizations", "name opens"),
    "organization.update": _about("organizations", "name email changed", "from"),
    "organization.empty": _about("organizations", "name variables closes"),
    "organization.delete": _about("organizations", "name variables closes"),
    "membership.create": _about("organization-memberships", _MEMBERSHIP),
    "membership.update": _about("organization-memberships", f"{_MEMBERSHIP} changed"),
    "membership.delete": _about("organization-memberships", _MEMBERSHIP),
    "invitation.create": _about("organization-memberships", _INVITATION),
    "invitation.resend": _about("organization-memberships", _INVITATION),
    "invitation.send": _about("organization-memberships", "user"),
    "invitation.fail": _about("organization-memberships", "user reply"),
    "invitation.revoke": _about("organization-memberships", "user"),
    "invitation.accept": _about("organization-memberships", "user"),
    "invitation.expire": _about("organization-memberships", "user"),
    "team.create": _about("teams", f"{_TEAM} opens"),
    "team.update": _about("teams", f"{_TEAM} changed"),
    "team.rename": _about("teams", "name from"),
    "team.delete": _about("teams", "name closes"),
    "member.add": _about("teams", "organization-memberships"),
    "member.remove": _about("teams", "organization-memberships"),
    "grant.put": _about("teams", "workspace access variables", "changed"),
    "grant.remove": _about("teams", "workspaces"),
    "token.create": _about("authentication-tokens", _TOKEN),
    "token.revoke": _about("authentication-tokens", _TOKEN),
    "workspace.create": _about("workspaces", "name opens"),
    "workspace.update": _about("workspaces", f"{_WORKSPACE} changed"),
    "workspace.rename": _about("workspaces", "name from"),
    "workspace.lock": _about("workspaces", "name"),
    "workspace.unlock": _about("workspaces", "name"),
    "workspace.delete": _about("workspaces", "name closes"),
    "variable.create": _about("vars", _VARIABLE, "copy-of"),
    "variable.update": _about("vars", f"{_VARIABLE} changed", "from copy-of"),
    "variable.delete": _about("vars", _VARIABLE),
    "variable.copy": _about("vars", f"{_VARIABLE} to"),
}
