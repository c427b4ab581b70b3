"""What an operator looks at before a runner is approved."""

from collections.abc import Mapping, Sequence

import msgspec

from teamvars.decisions import Found
from teamvars.decisions.needs import WorkspacesOf
from teamvars.decisions.runners import RunnerView, Trust, every


class Proposal(msgspec.Struct, frozen=True):
    """A runner with what its approval would hand out now.

    `reach` has the names of the workspaces, and `joins` of those among them that an approval which
    holds does not have. `keys` says where those of its issuer are from; None: it has no issuer that
    is accepted.
    """

    view: RunnerView
    reach: Sequence[str]
    joins: Sequence[str]
    keys: str | None


def proposals(found: Found, trust: Trust) -> Sequence[Proposal]:
    """All runners there are, by organization."""
    views = sorted(every(found, trust), key=lambda v: (v.organization_name, v.runner.spec.name))
    return [_proposal(found, view, trust) for view in views]


def _proposal(found: Found, view: RunnerView, trust: Trust) -> Proposal:
    runner = view.runner
    workspaces = found.of(WorkspacesOf(runner.organization_id))
    names = {workspace.id: workspace.name for workspace, _ in workspaces}
    approved = view.reach if runner.approval is None else runner.approval.reach
    keys = trust.issuers.get(runner.spec.issuer or "")
    return Proposal(view, _named(view.reach, names), _named(view.reach - approved, names), keys)


def _named(ids: frozenset[str], names: Mapping[str, str]) -> list[str]:
    return sorted(names[id_] for id_ in ids)
