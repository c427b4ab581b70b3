"""`directory apply` reconciles users, organizations, workspaces and teams with a file.

One transaction in three steps: the actual state is locked and read (`actual`), the difference is
determined in memory (`people`, `contents`), and the change set is written with a few statements for
each kind of change (`changeset`).
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from teamvars.changes.storing import store
from teamvars.decisions import Found
from teamvars.domain.access import Caller
from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.directory import Applied, Directory, Exported, OrganizationEntry
from teamvars.domain.errors import Refusal, refuse_all
from teamvars.domain.former_names import FormerNames
from teamvars.domain.ids import new_id
from teamvars.domain.names import fold
from teamvars.domain.organizations import Organization
from teamvars.domain.teams import OWNERS, owners_of
from teamvars.domain.users import User
from teamvars.services.directory_files import actual, exporting, renaming
from teamvars.services.directory_files.actual import Lock, OrganizationState
from teamvars.services.directory_files.changeset import Changeset, Overtaken
from teamvars.services.directory_files.contents import Contents
from teamvars.services.directory_files.people import People, fault
from teamvars.services.house import UseCases
from teamvars.storage import former_names, streams, users, workspaces
from teamvars.storage.database import MissingReference, Taken, Transaction


class Options(msgspec.Struct, frozen=True):
    """How to apply. `prune` removes what the named organizations have besides the file;
    `delete_variables` lets it remove workspaces that hold some."""

    dry_run: bool = False
    prune: bool = False
    delete_variables: bool = False


class DirectoryFiles(UseCases):
    """What an operator does with a directory file."""

    async def apply(self, caller: Caller, directory: Directory, options: Options) -> Applied:
        """Applies the file atomically and idempotently.

        A dry run only reads, and holds up nobody. Refuses with every fault at once: an unknown
        user, member or workspace, a name that something had before and has not been given to
        anything since, a taken e-mail address, an organization that would lose its last
        active owner, with `prune` a workspace that has variables.
        """
        if options.dry_run:
            return await self._database.read(lambda tx: self._try(tx, directory, options))
        # A concurrent invitation may take a name that the file gives to another user. The retries
        # lock the system's stream first, which invitations need.
        for early in ((), (SYSTEM_STREAM,), (SYSTEM_STREAM,)):
            with suppress(Overtaken):
                return await self._apply(caller, directory, options, early)
        detail = "Others keep changing what the file names. Nothing was changed; try again."
        raise Refusal(fault(detail))

    async def export(self, names: Sequence[str]) -> Exported:
        """The file whose application would change nothing: of all, or of these organizations.

        Refuses: not found.
        """
        return await self._database.read(lambda tx: exporting.export(tx, names))

    async def _apply(
        self, caller: Caller, directory: Directory, options: Options, early: Sequence[str]
    ) -> Applied:
        """Applies the file once; streams `early` are locked with the first. Raises Overtaken."""
        began = 0.0

        async def body(tx: Transaction) -> Applied:
            nonlocal began
            began = time.monotonic()
            found = Found(caller, self._clock())

            async def lock(stream_ids: Iterable[str]) -> None:
                found.streams |= await streams.lock(tx, [*stream_ids, *early])

            plan = await _plan(tx, directory, options, found.now, lock)
            await self._store(tx, found, plan)
            return plan.applied

        applied = await self._database.write(body)
        return replace(applied, held=time.monotonic() - began)

    async def _store(self, tx: Transaction, found: Found, plan: "_Plan") -> None:
        """Stores all that is planned. Raises Overtaken."""
        changeset, people = plan.changeset, plan.people
        before: dict[str, User] = {}
        for user, _ in people.changed:
            before.setdefault(user.id, user)
        if before and await users.lock_all(tx, before) != before:
            raise Overtaken
        renamed = [space.id for space, _ in changeset.workspaces_renamed]
        details = await workspaces.find_details(tx, renamed)
        new_key = self._house.tools.sealer.new_data_key
        keys = {one.id: new_key(one.id, 1) for one in changeset.organizations}
        try:
            decision = changeset.decided(found, people, keys, details)
            await store(tx, self._house.tools, found, replace(decision, taken=None))
        except (Taken, MissingReference):  # such as a user who was only invited, and is gone
            raise Overtaken from None

    async def _try(self, tx: Transaction, directory: Directory, options: Options) -> Applied:
        plan = await _plan(tx, directory, options, self._clock(), actual.no_lock)
        return plan.applied


class _Plan(msgspec.Struct, frozen=True):
    """What there is to write, and the report of it."""

    people: People
    changeset: Changeset
    applied: Applied


async def _plan(
    tx: Transaction, directory: Directory, options: Options, now: int, lock: Lock
) -> _Plan:
    """The difference between file and actual state. Refuses with every fault at once."""
    people, existing = await actual.find(tx, directory, lock, prune=options.prune)
    changeset = Changeset(now=now, told=people.changes)
    faults = list(people.faults)
    contents = {}
    former = await _former_names(tx, directory, existing)
    renaming.rename_organizations(directory.organizations, existing, former, changeset)
    faults += renaming.objections(directory.organizations, existing, former)
    for entry in directory.organizations:
        state = existing.get(fold(entry.name)) or _create(entry, changeset)
        content = contents[entry.name] = Contents(entry, state, people, changeset)
        content.apply()
        if options.prune:
            content.prune(delete_variables=options.delete_variables)
        content.require_owner()
        faults += content.faults
    refuse_all(faults)
    ids = {name: content.ids() for name, content in contents.items()}
    named = ((user.username, people.named(user.username)) for user in directory.users)
    user_ids = {name: user.id for name, user in named if user}
    applied = Applied(ids, user_ids, tuple(changeset.told), people.disabled())
    return _Plan(people, changeset, applied)


async def _former_names(
    tx: Transaction, directory: Directory, existing: Mapping[str, OrganizationState]
) -> FormerNames:
    """Those of organizations, unless the file names none but those that are there."""
    if all(
        fold(entry.name) in existing and entry.origin.former_name is None
        for entry in directory.organizations
    ):
        return FormerNames()
    return await former_names.every(tx)


def _create(entry: OrganizationEntry, changeset: Changeset) -> OrganizationState:
    organization = Organization(new_id("org"), entry.name, None, changeset.now)
    owners = owners_of(organization.id, new_id("team"))
    changeset.organizations.append(organization)
    changeset.teams.append(owners)
    changeset.told.append(f"create organization {entry.name}")
    return OrganizationState(organization, teams={OWNERS: owners})
