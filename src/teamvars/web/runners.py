"""Runners: who may be handed values, as owners propose it and as readers of a workspace see it."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from teamvars.decisions.runners import RunnerView
from teamvars.domain.errors import invalid
from teamvars.domain.runners import (
    DEFAULT_TTL_SECONDS,
    MAX_DESCRIPTION_CHARACTERS,
    MAX_PATTERNS,
    MAX_TTL_SECONDS,
    MAX_WORKSPACES,
    MIN_TTL_SECONDS,
    ApprovalDraft,
    Change,
    RunnerDraft,
    RunnerStatus,
    WorkspacesDraft,
)
from teamvars.domain.times import timestamp as time_said
from teamvars.services.runners import Runners
from teamvars.web.examples import IDS, NEW_NAME
from teamvars.web.http.reader import Reader
from teamvars.web.http.resource_objects import (
    REQUIRED,
    Attribute,
    Group,
    Identifier,
    SelfLink,
    Time,
    WorkspaceIdentifier,
    several,
    timestamp,
    to_many,
)
from teamvars.web.http.resources import Operations, Relations, Resource
from teamvars.web.http.routes import RequestBody, Route
from teamvars.web.http.sending import Response
from teamvars.web.organizations import OrganizationLinkage, owner

_ALL, _ONE = "/api/v2/organizations/{organization}/runners", "/api/v2/runners/{runner_id}"
_OF_WORKSPACE = "/api/v2/workspaces/{workspace_id}/runners"
_LINKAGE = f"{_ONE}/relationships/workspaces"
_WORKSPACES = "workspaces"
_DIGEST = re.compile("[0-9a-fA-F]{64}")
_DESCRIPTION = Meta(max_length=MAX_DESCRIPTION_CHARACTERS)
_ISSUER = Meta(description="The exact `iss`, one that the operator accepts; with `conditions`.")
_CONDITIONS = Meta(description="What claims have to be, by name, as exact texts.")
_PUBLIC_KEY = Meta(description="Of a machine: Ed25519, 32 bytes in base64url; no `issuer` then.")
_PATTERNS = Meta(max_length=MAX_PATTERNS, description="Of names of workspaces, with `*`.")
_TTL = Meta(ge=MIN_TTL_SECONDS, le=MAX_TTL_SECONDS, description="Of a job's token, in seconds.")
_EXPIRY = Meta(description="When it ends (RFC 3339), at most 90 days ahead.")


RunnerWorkspacesDocument: Any = several(
    "RunnerWorkspacesDocument",
    "Workspaces for a runner to name, or to name no longer, all or none.",
    WorkspaceIdentifier,
    MAX_WORKSPACES,
)


class ApprovalAttributes(msgspec.Struct):
    """Which version is approved: the one that was looked at."""

    digest: Annotated[str, Meta(pattern=f"^{_DIGEST.pattern}$")]


class ApprovalResource(msgspec.Struct):
    """A runner by its version; `id`, where it is given, is the path's."""

    type: Literal["runners"]
    attributes: ApprovalAttributes
    id: str | UnsetType = UNSET


class ApprovalDocument(msgspec.Struct):
    """Approves a version of a runner."""

    data: ApprovalResource


class GivenRelationships(msgspec.Struct):
    """The workspaces that a runner is to name; its organization can be no other than it is."""

    organization: OrganizationLinkage | UnsetType = UNSET
    workspaces: RunnerWorkspacesDocument | UnsetType = UNSET


class RunnerLinkageDocument(msgspec.Struct):
    """The workspaces that a runner names, besides those that its patterns match."""

    data: list[Identifier]


def _draft(
    expires_at: str | None,
    conditions: Mapping[str, str] | None,
    workspace_patterns: list[str] | None,
    workspace_ids: tuple[str | None, ...] | None,
    **said: Any,
) -> RunnerDraft:
    return RunnerDraft(
        expires_at=None if expires_at is None else _as_shown(time_said(expires_at) or 0),
        conditions=conditions,
        workspace_patterns=None if workspace_patterns is None else tuple(workspace_patterns),
        workspace_ids=workspace_ids,
        **said,
    )


def _as_shown(at: int) -> int:
    """In whole milliseconds: what is shown can be sent back, and is the same."""
    return at // 1000 * 1000


def _named(read: Reader, relationships: Mapping[str, Any] | None) -> dict[str, Any]:
    ids = read.related_ids(relationships, _WORKSPACES, _WORKSPACES, MAX_WORKSPACES)
    at = "/data/relationships/organization"
    item = read.member(read.relation(relationships, "organization"), "data", dict, at)
    organization = None if item is None else read.identifier(item, "organizations", f"{at}/data")
    return {"workspace_ids": ids, "organization": organization}


def _is_owner(one: RunnerView) -> bool:
    return one.seen_in is None


def _approved_version(one: RunnerView) -> int | None:
    return None if one.runner.approval is None else one.runner.approval.version


def _workspace_ids(one: RunnerView) -> tuple[str, ...]:
    """Those that it names; of others than the one that they look from readers learn nothing."""
    ids = one.runner.spec.workspace_ids
    return ids if one.seen_in is None else tuple(id_ for id_ in ids if id_ == one.seen_in)


_RELATIONSHIPS = Group[RunnerView](
    "RunnerRelationships",
    "Whose a runner is, and which workspaces it names.",
    owner(lambda one: one.organization_name),
    to_many(
        _WORKSPACES,
        "WorkspacesOfRunner",
        "The workspaces that a runner names; its patterns may match more.",
        _WORKSPACES,
        _workspace_ids,
    ),
)
RUNNER: Resource[RunnerView] = Resource(
    type="runners",
    name="Runner",
    noun="a runner",
    tag="Runners",
    id=lambda one: one.runner.id,
    draft=_draft,
    relations=Relations(GivenRelationships, _named, required=False, changeable=True),
    strict=True,
    attributes=(
        Attribute("name", str, lambda one: one.runner.spec.name, given=str, new=REQUIRED),
        Attribute(
            "description",
            str,
            lambda one: one.runner.spec.description,
            given=Annotated[str, _DESCRIPTION],
            new="",
        ),
        Attribute(
            "issuer",
            str | None,
            lambda one: one.runner.spec.issuer,
            given=Annotated[str, _ISSUER] | None,
            null="",
        ),
        Attribute(
            "conditions",
            dict[str, str],
            lambda one: one.runner.spec.conditions,
            given=Annotated[dict[str, str], _CONDITIONS],
        ),
        Attribute(
            "public-key",
            str | None,
            lambda one: one.runner.spec.public_key,
            given=Annotated[str, _PUBLIC_KEY] | None,
            null="",
        ),
        Attribute(
            "workspace-patterns",
            list[str],
            lambda one: one.runner.spec.workspace_patterns,
            given=Annotated[list[str], _PATTERNS],
            when=_is_owner,
        ),
        Attribute(
            "include-sensitive",
            bool,
            lambda one: one.runner.spec.include_sensitive,
            given=bool,
            new=True,
        ),
        Attribute(
            "allow-unbound",
            bool,
            lambda one: one.runner.spec.allow_unbound,
            given=bool,
            new=False,
        ),
        Attribute(
            "max-ttl",
            int,
            lambda one: one.runner.spec.max_ttl,
            given=Annotated[int, _TTL],
            new=DEFAULT_TTL_SECONDS,
        ),
        Attribute(
            "expired-at",
            Time,
            lambda one: timestamp(one.runner.spec.expires_at, one.runner.id),
            given=Annotated[Time, _EXPIRY],
            new=REQUIRED,
            to="expires_at",
        ),
        Attribute("version", int, lambda one: one.runner.version),
        Attribute("digest", str, lambda one: one.digest, when=_is_owner),
        Attribute("approved-version", int | None, _approved_version),
        Attribute("status", RunnerStatus, lambda one: one.status),
        Attribute("may-approve", bool, lambda one: one.may_approve, when=_is_owner),
    ),
    members=(
        Attribute("relationships", _RELATIONSHIPS),
        Attribute("links", SelfLink, lambda one: SelfLink(RUNNER.path_of(one)), when=_is_owner),
    ),
    texts={
        "RunnerAttributes": (
            "Who may be handed values. `version` is what was proposed last, `digest` names it for "
            "an approval, and `approved-version` is the one that was approved; nothing is handed "
            "out but what both versions allow. `may-approve`: it waits for an approval, and the "
            "caller may give it, unless they or whoever proposed it have not been owners for long "
            "enough, or the caller has proposed a part of it.\n\n"
            "Readers of a workspace are told none of `digest`, `workspace-patterns` and "
            "`may-approve`."
        ),
        "RunnerListDocument": "One page of the runners of an organization, or of a workspace.",
    },
)
_LINKED = {"data": [{"type": "workspaces", "id": IDS["workspace_id"]}]}
_NEW = RUNNER.new_body(
    attributes={
        "name": NEW_NAME,
        "public-key": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        "expired-at": IDS["expired_at"],
    },
    relationships={"workspaces": _LINKED},
)
_CHANGED = RUNNER.changed_body(attributes={"include-sensitive": False})
_APPROVED = {"data": {"type": RUNNER.type, "attributes": {"digest": 64 * "0"}}}
_CHANGES = {
    "POST": (Change.ADD, "addRunnerWorkspaces", "Have a runner name more workspaces, all or none."),
    "PATCH": (
        Change.REPLACE,
        "replaceRunnerWorkspaces",
        "Have a runner name these workspaces and no others.",
    ),
    "DELETE": (
        Change.REMOVE,
        "removeRunnerWorkspaces",
        "Take workspaces from those that a runner names, all or none.",
    ),
}


def routes(runners: Runners) -> list[Route]:
    """One row an operation."""
    do = Operations(RUNNER)
    return [
        do.lists(
            _ALL,
            "List the runners of an organization, by name.",
            runners.list,
            may_forbid=True,
        ),
        do.lists(
            _OF_WORKSPACE,
            "List the runners that may be handed a workspace's values, or might once approved.",
            runners.of_workspace,
            name="listWorkspaceRunners",
        ),
        do.creates(
            _ALL, "Propose a runner; it works once its version is approved.", runners.create, _NEW
        ),
        do.reads(_ONE, "Read a runner.", runners.read),
        do.updates(
            _ONE,
            "Propose a new version; what it takes away stops at once, the rest needs approval.",
            runners.update,
            _CHANGED,
            may_forbid=False,
        ),
        do.deletes(
            _ONE, "Delete a runner with the tokens of its jobs.", runners.delete, may_forbid=False
        ),
        do.acts(
            f"{_ONE}/actions/approve",
            "Approve the version that was looked at, where owners approve: 409 for any other.",
            runners.approve,
            takes=RequestBody(ApprovalDocument, _APPROVED),
            draft=_approval,
            name="approveRunner",
        ),
        do.acts(
            f"{_ONE}/actions/revoke",
            "Revoke the approval: nothing is handed to the runner until it is approved again.",
            runners.revoke,
            may_forbid=False,
            name="revokeRunner",
        ),
        do.reads(
            _LINKAGE,
            "List the workspaces that a runner names.",
            runners.read,
            renders=_linkage,
            responses={200: RunnerLinkageDocument},
            name="listRunnerWorkspaces",
        ),
        *(_change(runners, method) for method in _CHANGES),
    ]


def _approval(document: object) -> ApprovalDraft:
    """Which version a request approves."""
    read = Reader(document)
    _, id_, attributes = read.changed_resource(RUNNER.type)
    at = "/data/attributes"
    digest = read.member({} if attributes is None else attributes, "digest", str, at)
    if digest is not None and _DIGEST.fullmatch(digest) is None:
        read.add(invalid("digest", "A digest has 64 hexadecimal digits."))
    read.refuse_unknown(attributes, {"digest"})
    return ApprovalDraft(id_, digest, read.faults)


def _linkage(view: RunnerView) -> Response:
    ids = [Identifier(id_, _WORKSPACES) for id_ in view.runner.spec.workspace_ids]
    return Response.document(200, RunnerLinkageDocument(ids))


def _change(runners: Runners, method: str) -> Route:
    change, name, text = _CHANGES[method]
    return Operations(RUNNER).updates(
        _LINKAGE,
        text,
        partial(runners.name_workspaces, change=change),
        RequestBody(RunnerWorkspacesDocument, _LINKED),
        method=method,
        draft=_workspaces,
        status=204,
        keyed=method != "DELETE",
        may_forbid=False,
        name=name,
    )


def _workspaces(document: object) -> WorkspacesDraft:
    """The workspaces of a request."""
    read = Reader(document)
    ids = read.identifiers(read.data(list) or [], _WORKSPACES, MAX_WORKSPACES)
    return WorkspacesDraft(ids, read.faults)
