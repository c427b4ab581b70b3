"""The actions that audit entries record: what each is about, and what its details say."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, TypeGuard

import msgspec

ACCEPT = "trail.accept"
"""An operator accepts what was found of a stream that does not hold."""


class Action(msgspec.Struct, frozen=True):
    """The type of an action's subjects, and the names its details always or sometimes have.

    `opens` and `closes` name streams that begin and end with the subject; `changed` names what of
    it is another than before; `from` is its former name or key. A variable is `copy-of` the one
    that it was copied from, and is copied `to` a workspace.

    `takes_away` is what of the subject may be another, and nothing else, for the action to do no
    more than take rights away; where it is empty it never does more. None: it gives or moves
    something.
    """

    subject_type: str
    always: frozenset[str]
    sometimes: frozenset[str] = frozenset()
    takes_away: frozenset[str] | None = None

    def admits(self, details: Iterable[str]) -> bool:
        """Whether details with these names are complete, and have nothing beside."""
        names = frozenset(details)
        return self.always <= names <= self.always | self.sometimes

    def only_takes_away(self, details: Mapping[str, Any]) -> bool:
        """Whether an event with these details takes rights away, and has no other effect."""
        return self.takes_away == frozenset(details.get("changed", ()))


def _about(
    subject_type: str, always: str, sometimes: str = "", *, takes_away: str | None = None
) -> Action:
    taken = None if takes_away is None else frozenset(takes_away.split())
    return Action(subject_type, frozenset(always.split()), frozenset(sometimes.split()), taken)


_USER = "username email site-admin"
_MEMBERSHIP = "user status"
_INVITATION = "user email expires-at"
_TEAM = "name visibility manage-membership allow-member-token-management"
_WORKSPACE = "name execution-mode terraform-version"
_TOKEN = "owner expires-at"
_VARIABLE = "key category sensitive version-id"

ACTIONS: Mapping[str, Action] = {
    ACCEPT: _about("streams", "stream sequence digest row reason"),
    "user.create": _about("users", _USER),
    "user.update": _about("users", f"{_USER} changed", "from"),
    "user.claim": _about("users", f"{_USER} changed", "from"),
    "user.disable": _about("users", "username", "without-owner", takes_away=""),
    "user.enable": _about("users", "username"),
    "user.delete": _about("users", "", takes_away=""),
    "organization.create": _about("organizations", "name opens"),
    "organization.update": _about("organizations", "name email changed", "from"),
    "organization.empty": _about("organizations", "name variables closes"),
    "organization.delete": _about("organizations", "name variables closes"),
    "membership.create": _about("organization-memberships", _MEMBERSHIP),
    "membership.update": _about("organization-memberships", f"{_MEMBERSHIP} changed"),
    "membership.delete": _about("organization-memberships", _MEMBERSHIP, takes_away=""),
    "invitation.create": _about("organization-memberships", _INVITATION),
    "invitation.resend": _about("organization-memberships", _INVITATION),
    "invitation.send": _about("organization-memberships", "user"),
    "invitation.fail": _about("organization-memberships", "user reply", takes_away=""),
    "invitation.revoke": _about("organization-memberships", "user", takes_away=""),
    "invitation.accept": _about("organization-memberships", "user"),
    "invitation.expire": _about("organization-memberships", "user", takes_away=""),
    "team.create": _about("teams", f"{_TEAM} opens"),
    "team.update": _about("teams", f"{_TEAM} changed"),
    "team.rename": _about("teams", "name from"),
    "team.delete": _about("teams", "name closes"),
    "member.add": _about("teams", "organization-memberships"),
    "member.remove": _about("teams", "organization-memberships", takes_away=""),
    "grant.put": _about("teams", "workspace access variables", "changed"),
    "grant.remove": _about("teams", "workspaces", takes_away=""),
    "token.create": _about("authentication-tokens", _TOKEN),
    "token.revoke": _about("authentication-tokens", _TOKEN, takes_away=""),
    "workspace.create": _about("workspaces", "name opens"),
    "workspace.update": _about("workspaces", f"{_WORKSPACE} changed"),
    "workspace.rename": _about("workspaces", "name from"),
    "workspace.lock": _about("workspaces", "name"),
    "workspace.unlock": _about("workspaces", "name"),
    "workspace.delete": _about("workspaces", "name closes"),
    "variable.create": _about("vars", _VARIABLE, "copy-of"),
    "variable.update": _about(
        "vars", f"{_VARIABLE} changed", "from copy-of", takes_away="sensitive"
    ),
    "variable.delete": _about("vars", _VARIABLE),
    "variable.copy": _about("vars", f"{_VARIABLE} to"),
}

_WORKSPACES = ("to", "workspace", "workspaces")
"""The names under which details have ids of workspaces other than that of the stream."""


def workspaces_in(details: Mapping[str, object]) -> Iterator[str]:
    """The ids of the workspaces that details name."""
    for name in _WORKSPACES:
        said = details.get(name)
        yield from (id_ for id_ in (said if isinstance(said, list) else [said]) if _is_id(id_))


def shown_details(details: Mapping[str, object], seen: Collection[str]) -> dict[str, object]:
    """Details for a reader who sees these workspaces: any other that they name is None."""

    def shown(said: object) -> object:
        if isinstance(said, list):
            return [shown(each) for each in said]
        return said if _is_id(said) and said in seen else None

    return {name: shown(said) if name in _WORKSPACES else said for name, said in details.items()}


def _is_id(said: object) -> TypeGuard[str]:
    return isinstance(said, str)  # it may be anything once somebody has touched the row
