"""What somebody asks the audit trail for: names become ids."""

from teamvars.domain.access import OrganizationAccess
from teamvars.domain.audit import SYSTEM_STREAM, AuditFilter, AuditQuery, OrganizationAuditQuery
from teamvars.domain.audit_names import OPERATOR, AuditNames
from teamvars.domain.errors import Code, Fault, refuse_all
from teamvars.services import audit_pages
from teamvars.storage import audit_entries, streams, workspaces
from teamvars.storage.database import Transaction

_ACTORS = ("users", "teams", "organizations")
_OWN_ACTORS = ("teams", "organizations")
_NAMED = (*_ACTORS, "workspaces")


async def resolved(tx: Transaction, names: AuditNames, query: AuditQuery) -> AuditFilter:
    """The filter with ids where the query has names, also of what is gone or was renamed.

    Refuses, all at once, what nothing is or was called and what no entry has.
    """
    resolver = _Resolver(tx, names)
    kind, actors = await resolver.actors(query.actor)
    stream, action, request = query.stream, query.action, query.request
    if stream not in (None, SYSTEM_STREAM) and stream not in names:
        await resolver.require(AuditFilter(stream_id=stream), f"There is no stream {stream}.")
    if action is not None:
        await resolver.require(AuditFilter(action=action), f"No entry has the action {action}.")
    if request is not None:
        nothing = f"No entry belongs to the request {request}. Refused requests have none."
        await resolver.require(AuditFilter(request_id=request), nothing)
    found = AuditFilter(
        stream_id=stream,
        action=action,
        request_id=request,
        actor_kind=kind,
        actor_ids=actors,
        subject_ids=await resolver.subjects(query.subject),
        within=[
            *resolver.whole("workspaces", query.workspace, "ORG/WORKSPACE"),
            *resolver.whole("teams", query.team, "ORG/TEAM"),
            *resolver.whole("organizations", query.organization, "its name"),
        ],
        since=query.since,
        until=query.until,
        before=query.before,
    )
    refuse_all(resolver.faults)
    return found


async def resolved_within(
    tx: Transaction, granted: OrganizationAccess, query: OrganizationAuditQuery
) -> AuditFilter:
    """The filter of an organization's entries, with ids where the query has names.

    Names are those of today, users' as the organization is told them, and of teams, workspaces and
    the organization also those that the newest changes in its own stream tell of.
    """
    organization, actors, within = granted.organization, None, []
    if query.actor is not None:
        actors = await audit_entries.called(tx, organization.id, query.actor)
        actors |= await audit_pages.once_called(tx, granted.stream, query.actor, _OWN_ACTORS)
        actors.add(query.actor)
    if query.workspace is not None:
        one = await workspaces.find_named(tx, organization.name, query.workspace)
        ids = await audit_pages.once_called(tx, granted.stream, query.workspace, ("workspaces",))
        within.append(ids if one is None else {*ids, one.id})
    return AuditFilter(
        organization_id=organization.id,
        actor_ids=actors,
        within=within,
        key=query.key,
        since=query.since,
    )


class _Resolver:
    """Finds ids, and notes what cannot be found."""

    def __init__(self, tx: Transaction, names: AuditNames) -> None:
        self.faults: list[Fault] = []
        self._tx = tx
        self._names = names

    async def require(self, wanted: AuditFilter, otherwise: str) -> None:
        """Notes a fault where there is no such entry."""
        if not await streams.has_entry(self._tx, wanted):
            self.faults.append(Fault(Code.NOT_FOUND, otherwise))

    async def actors(self, actor: str | None) -> tuple[str | None, set[str] | None]:
        """The kind, where that is said, and the ids."""
        if actor is None:
            return None, None
        kind, colon, account = actor.partition(":")
        if colon and kind == OPERATOR:
            wanted = AuditFilter(actor_kind=OPERATOR, actor_ids=[account])
            await self.require(wanted, f"No entry is by an operator whose account is {account}.")
            return OPERATOR, {account}
        ids = self._called(_ACTORS, actor)
        if not ids:
            nobody = f"Nobody is or was called {actor}, and no entry is by an actor with that id."
            await self.require(AuditFilter(actor_ids=[actor]), nobody)
        return None, {*ids, actor}

    async def subjects(self, subject: str | None) -> set[str] | None:
        if subject is None:
            return None
        ids = self._called(_NAMED, subject) | await streams.variables_called(self._tx, subject)
        if not ids:
            nothing = (
                f"Nothing is or was called {subject}, and no entry is about anything with that id."
            )
            await self.require(AuditFilter(subject_ids=[subject]), nothing)
        return {*ids, subject}

    def whole(self, type_: str, said: str | None, form: str) -> list[set[str]]:
        """The ids of what is meant and, of an organization, of all that it has or had.

        A team or workspace is named with its organization: else it may be another's.
        """
        if said is None:
            return []
        ids = {said} if self._names.is_a(type_, said) else set()
        if not ids and ("/" in said) is (type_ != "organizations"):
            ids = self._names.called(type_, said)
        if not ids:
            detail = f"There is and was no {type_[:-1]} {said}; say {form} or its id."
            self.faults.append(Fault(Code.NOT_FOUND, detail))
        return [ids.union(*map(self._names.inside, ids))]

    def _called(self, types: tuple[str, ...], name: str) -> set[str]:
        return set().union(*(self._names.called(type_, name) for type_ in types))
