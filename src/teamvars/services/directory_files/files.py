"""`directory apply` reconciles users, organizations and what is in these with a file.

The actual state is read (`actual`), and the difference is determined in memory (`changeset`,
`contents` with `projects`, `runners`, `sets`): on a snapshot first. If that is none, this is all.
Otherwise the same is done in one transaction that locks what it reads, and the change set is
written with a few statements for each kind of change (`changeset`).
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import msgspec
from msgspec.structs import replace

from teamvars.changes.making import Storing
from teamvars.decisions import Found, organizations, teams
from teamvars.decisions.generations import Generations
from teamvars.decisions.needs import DetailsOf
from teamvars.decisions.runners import require_proposed
from teamvars.domain.access import Caller
from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.directory import Applied, Directory, Exported, OrganizationEntry
from teamvars.domain.errors import Code, Fault, Refusal, refuse_all
from teamvars.domain.ids import new_id
from teamvars.domain.names import FormerNames, fold
from teamvars.domain.organizations import Organization
from teamvars.domain.projects import default_project
from teamvars.domain.runners import Runner
from teamvars.domain.set_effects import Comparison, Effect, Layout, affected
from teamvars.domain.teams import OWNERS, owners_of
from teamvars.services.directory_files import actual, exporting
from teamvars.services.directory_files.actual import Lock, OrganizationState
from teamvars.services.directory_files.changeset import Changeset, Overtaken, Step
from teamvars.services.directory_files.contents import Contents, rename_organizations
from teamvars.services.directory_files.runners import Proposals
from teamvars.services.directory_files.sets import Sets
from teamvars.services.house import UseCases
from teamvars.storage import data_keys, former_names, streams, users, variable_sets, workspaces
from teamvars.storage.database import MissingReference, Taken, Transaction
from teamvars.storage.engines.outages import is_held

_ATTEMPTS = 3
_KEEPS_CHANGING = Fault(
    Code.INVALID_VALUE,
    "Others keep changing what the file names. Nothing was changed; try again.",
)


class Options(msgspec.Struct, frozen=True):
    """How to apply. `prune` removes what the named organizations have besides the file;
    `delete_variables` lets it remove workspaces and variable sets that hold some."""

    dry_run: bool = False
    prune: bool = False
    delete_variables: bool = False


class DirectoryFiles(UseCases):
    """What an operator does with a directory file."""

    async def apply(self, caller: Caller, directory: Directory, options: Options) -> Applied:
        """Applies the file atomically and idempotently.

        What it changes is foreseen on a snapshot: only a file that changes something locks
        anything, and is compared again under the lock. Refuses with every fault at once: an unknown
        user, member or workspace, a name that something had before and has not been given to
        anything since, a taken e-mail address, an organization that would lose its last
        active owner, with `prune` a workspace or variable set that has variables.
        """
        early: Sequence[str] = ()
        refusal = Refusal(_KEEPS_CHANGING)
        for _ in range(_ATTEMPTS):
            foreseen = await self._foreseen(caller, directory, options)
            if options.dry_run or not foreseen.changes:
                return foreseen
            try:
                return await self._apply(caller, directory, options, early)
            except Overtaken:
                # Perhaps by an invitation, which took a name that the file gives to another user.
                # All of these need the system's stream.
                early = (SYSTEM_STREAM,)
            except Refusal as error:
                if not is_held(error.__cause__):
                    raise
                refusal = error  # whoever holds it may be doing what the file says
        raise refusal

    async def export(self, names: Sequence[str]) -> Exported:
        """The file whose application would change nothing: of all, or of these organizations.

        Refuses: not found.
        """
        return await self._database.read(lambda tx: exporting.export(tx, names))

    async def _foreseen(self, caller: Caller, directory: Directory, options: Options) -> Applied:
        """What would be changed now, by a snapshot, which holds up nobody."""

        async def body(tx: Transaction) -> Applied:
            found = Found(caller, self._clock())
            changeset = Changeset(found.now)
            applied = await self._planned(tx, changeset, directory, options, actual.no_lock)
            await self._require_proposed(tx, found, changeset)
            return applied

        return await self._database.read(body)

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
                wanted = {*stream_ids, *early}
                found.streams |= await streams.lock_existing(tx, wanted)
                if not wanted <= found.streams.keys():  # an organization is gone
                    raise Overtaken
                found.now = changeset.now = self._clock()  # others may have been waited for

            changeset = Changeset(found.now)
            applied = await self._planned(tx, changeset, directory, options, lock)
            await self._require_proposed(tx, found, changeset)
            await self._store(tx, found, changeset)
            return applied

        applied = await self._database.write(body)
        return replace(applied, held=time.monotonic() - began)

    async def _planned(
        self,
        tx: Transaction,
        changeset: Changeset,
        directory: Directory,
        options: Options,
        lock: Lock,
    ) -> Applied:
        """Adds the difference between file and actual state, and returns the report of it. Refuses
        with every fault at once.
        """
        people, existing = await actual.find(tx, directory, changeset, lock, prune=options.prune)
        # Former names matter unless the file names none but those that are there.
        is_known = all(
            fold(entry.name) in existing and entry.origin.former_name is None
            for entry in directory.organizations
        )
        former = FormerNames() if is_known else await former_names.every(tx)
        rename_organizations(directory.organizations, existing, former, changeset)
        contents = {}
        standing = []
        for entry in directory.organizations:
            state = existing.get(fold(entry.name)) or _created(entry, changeset)
            standing.append((layout_of(state), state))
            content = Contents(entry, state, people, changeset)
            content.apply()
            if options.prune:
                content.prune(delete_variables=options.delete_variables)
            content.look_at_owners()
            Proposals(entry, state, changeset, self._trust).apply(prune=options.prune)
            sets = Sets(entry, state, changeset, self._house.limits)
            sets.apply(prune=options.prune, delete_variables=options.delete_variables)
            await sets.require_own_keys(tx)
            contents[entry.name] = content
        refuse_all(changeset.faults)
        effects = await effects_of(tx, standing, self._hands_out) if options.dry_run else {}
        named = ((user.username, people.named(user.username)) for user in directory.users)
        return Applied(
            {name: content.ids() for name, content in contents.items()},
            {name: user.id for name, user in named if user},
            tuple(changeset.told),
            people.disabled(),
            tuple(changeset.proposed),
            effects=effects,
        )

    def _hands_out(self, runner: Runner, workspace_id: str) -> bool:
        return self._trust.holds(runner) and runner.may_admit(workspace_id, self._clock())

    async def _require_proposed(self, tx: Transaction, found: Found, changeset: Changeset) -> None:
        """Refuses what is made of a version of a runner that is not as proposed."""
        for runner in changeset.changed_runners:
            check = partial(require_proposed, runner=runner)
            await self._house.changes.seen(tx, found, check)

    async def _store(self, tx: Transaction, found: Found, changeset: Changeset) -> None:
        """Stores all that is planned. Raises Overtaken."""
        before = changeset.changed_users
        if before:
            # Before the rows of users, as whoever begins a session does.
            found.streams |= await streams.lock(tx, {SYSTEM_STREAM})
            if await users.lock_all(tx, before) != before:
                raise Overtaken
        details = await workspaces.find_details(tx, changeset.changed_workspaces)
        found.answers |= {DetailsOf(id_): known for id_, known in details.items()}
        found.answers[Generations()] = await data_keys.generations(tx)
        if changeset.changed_sets:
            found.streams |= await streams.lock(tx, changeset.changed_sets)
        try:
            decision = replace(changeset.decided(found), taken=None)
            await Storing(tx, self._tools, found).store(decision)
        except (Taken, MissingReference):  # such as a user who was only invited, and is gone
            raise Overtaken from None


def _created(entry: OrganizationEntry, changeset: Changeset) -> OrganizationState:
    organization = Organization(new_id("org"), entry.name, None, changeset.now)
    owners = owners_of(organization.id, new_id("team"))
    told = [f"create organization {entry.name}"]
    changeset.add(Step.CREATE_ORGANIZATION, told, organizations.created, organization)
    changeset.add(Step.CREATE_TEAM, (), teams.created, owners)
    project = default_project(organization.id, changeset.now)
    return OrganizationState(
        organization, teams={OWNERS: owners}, projects={fold(project.name): project}
    )


def layout_of(state: OrganizationState) -> Layout:
    """How the sets of an organization stand now."""
    return Layout(
        {one.id: one for one in state.sets.values()},
        dict(state.attached),
        {space.id: state.project_of(space.id) for space in state.workspaces.values()},
    )


async def effects_of(
    tx: Transaction,
    changes: Sequence[tuple[Layout, OrganizationState]],
    hands_out: Callable[[Runner, str], bool],
) -> Mapping[str, Sequence[Effect]]:
    """What becomes of workspaces, by the organization's name and in the order of theirs: of each
    organization how its sets stood, and the state that they come to. `hands_out` says whether a
    runner is handed a workspace with that id.
    """
    pairs = [(before, layout_of(state), state) for before, state in changes]
    differing = [
        id_
        for before, after, state in pairs
        for id_ in before.differing(after)
        if state.set_variables.get(id_)
    ]
    if not differing:
        return {}
    keys = await variable_sets.keys_of(tx, differing)
    of_sets, own = await variable_sets.held(tx, [state.id for _, state in changes], keys)
    found = {}
    for before, after, state in pairs:
        was, is_ = (replace(side, held=of_sets) for side in (before, after))
        comparison = Comparison(was, is_, own, {})
        spaces = (space for _, space in sorted(state.workspaces.items()))
        found[state.name] = [
            replace(one, runners=_runners(state, one, hands_out))
            for one in affected(map(comparison.of, spaces))
        ]
    return found


def _runners(
    state: OrganizationState, effect: Effect, hands_out: Callable[[Runner, str], bool]
) -> Sequence[str]:
    """The names of the runners that are handed what a workspace gets."""
    if not (effect.gained or effect.changed):
        return ()
    runners = (one for _, one in sorted(state.runners.items()))
    return tuple(one.spec.name for one in runners if hands_out(one, effect.workspace.id))
