"""What users, organizations and all in these are called: by the audit trail, which knows what is
gone as well and every name that it ever had, and now, as far as an organization is told.
"""

from collections.abc import Container, Iterable, Mapping
from typing import Any

import msgspec

from teamvars.domain.audit import SYSTEM_STREAM, AuditEntry
from teamvars.domain.names import fold

OPERATOR = "operator"
"""The kind of actor whose id is the name of an account."""
INVITING = ("invitation.create", "invitation.resend")
"""The actions that say as what address a user was invited."""
_IN_NONE = ("users", "organizations")


class AuditNames:
    """The names that entries tell of; those of each stream come in order."""

    def __init__(
        self, entries: Iterable[AuditEntry] = (), *, of: Container[str] | None = None
    ) -> None:
        """`of`: what alone, beside organizations, is to have a name; None: all."""
        self._of = of
        self._names: dict[str, str] = {}
        self._types: dict[str, str] = {}
        self._organizations: dict[str, str] = {}
        self._called: dict[tuple[str, str], list[str]] = {}
        self.note(entries)

    def note(self, entries: Iterable[AuditEntry]) -> None:
        """Learns what further entries tell of."""
        for entry in entries:
            self._note(entry)

    def note_organization(self, id_: str, name: str) -> None:
        """Learns what one that is there is called, which its entries may no longer tell."""
        self._names[id_] = name
        self._learn("organizations", id_, name)

    def is_a(self, type_: str, id_: str) -> bool:
        """Whether something of that type has, or had, the id."""
        return self._types.get(id_) == type_

    def called(self, type_: str, name: str) -> set[str]:
        """The ids of all of that type that have the name or had it.

        What is in an organization is named alone or as ORG/NAME. Names of teams may have a slash.
        """
        organization, _, rest = name.partition("/")
        owners = self.named("organizations", organization)
        its = {id_ for id_ in self.named(type_, rest) if self._organizations.get(id_) in owners}
        return its | self.named(type_, name)

    def named(self, type_: str, name: str) -> set[str]:
        """As `called`, by the name alone."""
        return set(self._called.get((type_, fold(name)), ()))

    def of_type(self, type_: str) -> set[str]:
        """The ids of all that are or were of that type."""
        return {id_ for id_, its in self._types.items() if its == type_}

    def inside(self, organization_id: str) -> set[str]:
        """The ids of all that is or was in the organization and has a name there."""
        return {id_ for id_, owner in self._organizations.items() if owner == organization_id}

    def of(self, id_: str) -> str | None:
        """The last name, in an organization as ORG/NAME; None where there is none."""
        name, owner = self._names.get(id_), self._organizations.get(id_)
        return name if name is None or owner is None else f"{self._names.get(owner, owner)}/{name}"

    @staticmethod
    def ids_in(entries: Iterable[AuditEntry]) -> frozenset[str]:
        """The ids of all that is named where entries are shown."""
        ids = {id_ for one in entries for id_ in (one.actor_id, one.stream_id, one.subject_id)}
        users = {_text((one.read_details() or {}).get("user")) for one in entries}
        return frozenset(id_ for id_ in ids | users if isinstance(id_, str))

    def of_actor(self, entry: AuditEntry) -> str | None:
        """Who acted; an operator has no other name than the account."""
        return entry.actor_id if entry.actor_kind == OPERATOR else self.of(entry.actor_id)

    def of_stream(self, entry: AuditEntry) -> str | None:
        """Where the entry is."""
        return SYSTEM_STREAM if entry.stream_id == SYSTEM_STREAM else self.of(entry.stream_id)

    def of_subject(self, entry: AuditEntry) -> str | None:
        """What the entry is about: a variable's key then, a membership's user, the last name."""
        details = entry.read_details() or {}
        found = {"vars": "key", "organization-memberships": "user"}.get(entry.subject_type)
        if found is None:
            return self.of(entry.subject_id)
        said = details.get(found)
        return self.of(said) if found == "user" and isinstance(said, str) else _text(said)

    def _note(self, entry: AuditEntry) -> None:
        details = entry.read_details() or {}
        if entry.action in INVITING:
            self._note_invited(_text(details.get("user")), _text(details.get("email")))
            return
        name, id_ = _text(details.get("username", details.get("name"))), _text(entry.subject_id)
        if name is None or id_ is None or not isinstance(entry.subject_type, str):
            return  # the row was altered by hand
        if not (self._of is None or id_ in self._of or entry.subject_type == "organizations"):
            return
        if entry.action == "organization.create":  # later names of one are in another stream
            self._names.setdefault(id_, name)
        else:
            self._names[id_] = name
        if entry.subject_type not in _IN_NONE:
            self._organizations[id_] = entry.stream_id
        self._learn(entry.subject_type, id_, name, _text(details.get("from")))

    def _note_invited(self, id_: str | None, address: str | None) -> None:
        """Until somebody is known by a name of their own, they go by that of their invitation."""
        if id_ is not None and address is not None and (self._of is None or id_ in self._of):
            self._names.setdefault(id_, address)
            self._learn("users", id_, address)

    def _learn(self, type_: str, id_: str, *names: str | None) -> None:
        self._types[id_] = type_
        for name in names:
            if name is not None:
                self._called.setdefault((type_, fold(name)), []).append(id_)


class ActorNames(msgspec.Struct, frozen=True):
    """What is told of the actors of entries, of the tokens they used and of where they are, by id.

    Users have a name while they are members, as the organization is told it: whoever is invited
    goes by the address of the invitation. A token is described where its owner is a member, a team
    that the reader sees, or the organization.
    """

    names: Mapping[str, str]
    descriptions: Mapping[str, str]

    def of_actor(self, entry: AuditEntry) -> str | None:
        """Who acted; None for operators and for actors that are gone or may not be named."""
        return None if entry.actor_kind == OPERATOR else self.names.get(entry.actor_id)

    def of_stream(self, entry: AuditEntry) -> str | None:
        """What the team, workspace, set or organization is called that changed; None once gone."""
        return self.names.get(entry.stream_id)

    def of_token(self, entry: AuditEntry) -> str | None:
        """What the token is described as; None where it is not, and where it is gone."""
        return None if entry.token_id is None else self.descriptions.get(entry.token_id)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
