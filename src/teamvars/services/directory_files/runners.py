"""What a directory file makes of an organization's runners: it proposes, and never approves."""

from collections.abc import Sequence

from msgspec.structs import replace

from teamvars.decisions import runners as decisions
from teamvars.decisions.runners import Trust
from teamvars.domain.directory import OrganizationEntry, RunnerEntry
from teamvars.domain.errors import Code, Fault
from teamvars.domain.ids import new_id
from teamvars.domain.names import fold
from teamvars.domain.runners import MAX_RUNNERS, Runner, RunnerDraft, RunnerSpec, spec_faults
from teamvars.services.directory_files.actual import OrganizationState, Part, unnamed
from teamvars.services.directory_files.changeset import Changeset, Step

_KEYS = {"workspace-patterns": "patterns"}
"""What a file calls a member of a document, where it is another name."""


class Proposals(Part):
    """Compares the runners of one organization's entry with its `state`, whose workspaces are those
    that there are once the file is applied.
    """

    def __init__(
        self, entry: OrganizationEntry, state: OrganizationState, changeset: Changeset, trust: Trust
    ) -> None:
        super().__init__(entry, state, changeset)
        self._trust = trust
        self._names = {space.id: space.name for space in state.workspaces.values()}

    def apply(self, *, prune: bool) -> None:
        """Proposes what the file names, and with `prune` removes all others."""
        state, entries = self._state, self._entry.runners
        if prune:
            for runner in unnamed(state.runners, (entry.name for entry in entries)):
                told = f"delete runner {state.name}/{runner.spec.name}"
                self._changeset.add(
                    Step.DELETE_RUNNER, [told], decisions.deleted, runner, state.name
                )
                del state.runners[fold(runner.spec.name)]
        for entry in entries:
            self._apply(entry)
        if entries and len(state.runners) > MAX_RUNNERS:
            detail = f"An organization has at most {MAX_RUNNERS} runners."
            self._changeset.refuse(detail, self._entry.at, Code.TOO_MANY_ITEMS)

    def _apply(self, entry: RunnerEntry) -> None:
        state, changeset = self._state, self._changeset
        before = state.runners.get(fold(entry.name))
        spec = self._spec(entry, before)
        if before is not None and spec == before.spec:
            return
        told = f"runner {state.name}/{entry.name}"
        for fault in spec_faults(spec, self._trust.issuers, changeset.now):
            place = entry.key_at.get(_key(fault), entry.at)
            changeset.refuse(f"Runner {state.name}/{entry.name}: {fault.detail}", place, fault.code)
        if before is None:
            after = Runner(new_id("run"), state.id, 1, spec, changeset.now)
            changeset.add(
                Step.CREATE_RUNNER, [f"propose {told}"], decisions.created, after, state.name
            )
        else:
            version = before.version + 1
            after = replace(before, version=version, spec=spec, proposed_by=None)
            lines = [f"propose version {version} of {told}"]
            changed = before, after, state.name, self._trust
            changeset.add(Step.CHANGE_RUNNER, lines, decisions.changed, *changed)
            changeset.changed_runners.append(before)
        changeset.proposed.append(f"{state.name}/{entry.name}")
        state.runners[fold(entry.name)] = after

    def _spec(self, entry: RunnerEntry, before: Runner | None) -> RunnerSpec:
        draft = RunnerDraft(
            description=entry.description,
            issuer=entry.issuer,
            conditions=entry.conditions,
            public_key=entry.public_key,
            workspace_ids=self._ids(entry, () if before is None else before.spec.workspace_ids),
            workspace_patterns=entry.patterns,
            include_sensitive=entry.include_sensitive,
            allow_unbound=entry.allow_unbound,
            max_ttl=entry.max_ttl,
            expires_at=entry.expired_at,
        )
        return draft.applied_to(RunnerSpec(entry.name, 0) if before is None else before.spec)

    def _ids(self, entry: RunnerEntry, former: Sequence[str]) -> tuple[str, ...] | None:
        """The ids of the workspaces that the file names; those that are gone stay where they were.

        None where the file says nothing else than what is there.
        """
        if entry.workspaces is None:
            return None
        state = self._state

        def refuse(name: str, hint: str) -> None:
            detail = f"Runner {state.name}/{entry.name}: there is no workspace {name}.{hint}"
            self._changeset.refuse(detail, entry.workspace_at.get(name, entry.at))

        meant = state.meant("workspace", state.workspaces, entry.workspaces, refuse)
        found = tuple(one.id for _, one in meant)
        present = {id_ for id_ in former if id_ in self._names}
        return None if set(found) == present else found


def _key(fault: Fault) -> str:
    """The key of the file that stands for what a fault points at."""
    key = (fault.pointer or "").split("/")[3]
    return _KEYS.get(key, key)
