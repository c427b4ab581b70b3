"""Runners: proposed and shown by owners, approved by whoever runs the service, or by owners too."""

from collections.abc import Callable, Sequence

from teamvars.decisions import Found, approvals
from teamvars.decisions import runners as decisions
from teamvars.decisions.approvals import Proposal
from teamvars.decisions.runners import RunnerView, Sight
from teamvars.domain.access import Caller
from teamvars.domain.ids import new_id
from teamvars.domain.pages import Page, Paged
from teamvars.domain.runners import ApprovalDraft, Change, Runner, RunnerDraft, WorkspacesDraft
from teamvars.pace import Pace
from teamvars.services.house import UseCases, makes


class Runners(UseCases):
    """What owners do with runners. All methods refuse unauthenticated and not found."""

    delete = makes(decisions.delete)

    async def list(self, caller: Caller, organization: str, page: Page) -> Paged[RunnerView]:
        """A page of an organization's runners, by name. Refuses: forbidden."""
        return await self._shown(
            caller, lambda found: decisions.page(found, organization, page, self._trust)
        )

    async def read(self, caller: Caller, runner_id: str) -> RunnerView:
        """One runner."""
        one = await self._shown(
            caller, lambda found: Paged([decisions.read(found, runner_id, self._trust)], 1)
        )
        return one.items[0]

    async def create(self, caller: Caller, organization: str, draft: RunnerDraft) -> RunnerView:
        """See `decisions.runners.create`."""
        id_ = new_id("run")
        return await self._make(caller, decisions.create, organization, draft, id_, self._trust)

    async def update(self, caller: Caller, runner_id: str, draft: RunnerDraft) -> RunnerView:
        """See `decisions.runners.update`."""
        return await self._make(caller, decisions.update, runner_id, draft, self._trust)

    async def name_workspaces(
        self, caller: Caller, runner_id: str, draft: WorkspacesDraft, change: Change
    ) -> RunnerView:
        """See `decisions.runners.name_workspaces`."""
        return await self._make(
            caller, decisions.name_workspaces, runner_id, change, draft, self._trust
        )

    async def approve(self, caller: Caller, runner_id: str, draft: ApprovalDraft) -> RunnerView:
        """See `decisions.approvals.approve_as_owner`."""
        return await self._make(caller, approvals.approve_as_owner, runner_id, draft, self._trust)

    async def revoke(self, caller: Caller, runner_id: str) -> RunnerView:
        """See `decisions.approvals.revoke_as_owner`."""
        return await self._make(caller, approvals.revoke_as_owner, runner_id, self._trust)

    async def of_workspace(
        self, caller: Caller, workspace_id: str, page: Page
    ) -> Paged[RunnerView]:
        """See `decisions.runners.of_workspace`."""
        return await self._shown(
            caller, lambda found: decisions.of_workspace(found, workspace_id, page, self._trust)
        )

    async def _shown(
        self, caller: Caller, see: Callable[[Found], Paged[Sight]]
    ) -> Paged[RunnerView]:
        """The runners of a page, one after another, between which others have the event loop."""
        changes = self._house.changes
        found, some = await changes.look(caller, lambda found: (found, see(found)))
        pace, views = Pace(), []
        for shown in some.items:
            views.append(await changes.look_on(found, shown))
            await pace.keep()
        return Paged(views, some.total)


class Approvals(UseCases):
    """What the operator does with runners."""

    revoke = makes(approvals.revoke)

    async def proposals(self, caller: Caller) -> Sequence[Proposal]:
        """All runners, with what an operator looks at before an approval."""
        return await self._house.changes.look(
            caller, lambda found: approvals.proposals(found, self._trust)
        )

    async def approve(self, caller: Caller, runner_id: str, digest: str) -> Runner:
        """See `decisions.approvals.approve`."""
        assert caller.actor is not None
        return await self._make(
            caller, approvals.approve, runner_id, digest, caller.actor.id, self._trust
        )
