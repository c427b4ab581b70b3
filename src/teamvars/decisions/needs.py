"""What decisions about the directory ask for. Nothing of it is locked by being asked for, but for
`Unclaimed`.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar

from teamvars.decisions import Found, Need
from teamvars.domain.access import (
    OrganizationAccess,
    ProjectAccess,
    TeamAccess,
    WorkspaceAccess,
    WrappedKey,
)
from teamvars.domain.audit import Actor
from teamvars.domain.errors import Kind, Refusal, not_found, there_is_no
from teamvars.domain.invitations import Invited
from teamvars.domain.logins import Login
from teamvars.domain.memberships import LeftBehind, LinkageType, Membership
from teamvars.domain.moves import Access
from teamvars.domain.organizations import Organization
from teamvars.domain.pages import Page, Paged
from teamvars.domain.project_grants import ProjectGrant
from teamvars.domain.projects import Project
from teamvars.domain.sign_ins import Identity, Session, Standing
from teamvars.domain.team_access import Grant
from teamvars.domain.teams import Team
from teamvars.domain.tokens import IssuedToken, TeamTokenSearch, Token, TokenLimit, TokenOwner
from teamvars.domain.users import User
from teamvars.domain.workspaces import Address, Workspace, WorkspaceDetails, WorkspaceRecord

T = TypeVar("T")


def as_owner(found: Found, name: str) -> Organization:
    """The organization of that name, to an owner of it. Refuses: not found, forbidden."""
    granted = found.of(ToOrganization(name))
    granted.require_owner()
    return granted.organization


def meant(found: Found, need: Need[T], what: str) -> T:
    """What an operator names by its id, who sees all there is: told is that there is no such thing.

    The id is not repeated: somebody may have pasted a secret in its place.
    """
    try:
        return found.of(need)
    except Refusal as refusal:
        if refusal.kind is Kind.NOT_FOUND:
            raise there_is_no(f"{what} with this id") from None
        raise


def owners_team(found: Found, organization_id: str) -> str:
    """The id of an organization's owners team. Refuses: not found, where it has gone meanwhile."""
    for team in found.of(TeamsOf(organization_id)):
        if team.is_owners:
            return team.id
    raise not_found()


class WhoCalls(Need[Actor], frozen=True):
    """Whose token the caller has.

    Who finds something by its id asks this first: a stranger is told 401, be it there or not.
    """


class ToOrganization(Need[OrganizationAccess], frozen=True):
    """What the caller may do with the organization they name. They must see it, and are told what
    it is called now.
    """

    name: str


class ToOrganizationWithId(Need[OrganizationAccess], frozen=True):
    """What the caller may do with the organization that something is in, be it nothing."""

    organization_id: str


class ToProject(Need[ProjectAccess], frozen=True):
    """What the caller may do with a project that they see."""

    project_id: str


class ProjectsSeen(Need[Sequence[Project]], frozen=True):
    """Those of some projects of an organization that the caller sees, by id."""

    organization_id: str
    project_ids: tuple[str, ...]


class ProjectWithId(Need[Project], frozen=True):
    """A project, whoever sees it."""

    project_id: str


class BindingsOf(Need[Mapping[str, Mapping[str, str]]], frozen=True):
    """The tags of those projects that have some, by the projects' ids."""

    project_ids: tuple[str, ...]


class AccessTo(Need[Access], frozen=True):
    """The teams of an organization, and what they have on these workspaces and projects."""

    organization_id: str
    workspace_ids: tuple[str, ...]
    project_ids: tuple[str, ...]


class WorkspacesIn(Need[int], frozen=True):
    """How many workspaces are in a project, whoever sees them."""

    project_id: str


class SetsIn(Need[int], frozen=True):
    """How many variable sets are of a project."""

    project_id: str


class ToTeam(Need[TeamAccess], frozen=True):
    """What the caller may do with a team. Where a change shares a transaction, whoever may change
    its members has its stream locked.
    """

    team_id: str


class ToWorkspaceAt(Need[WorkspaceAccess], frozen=True):
    """What the caller may do in a workspace."""

    address: Address


class OrganizationCalled(Need[Organization], frozen=True):
    """The organization an operator names."""

    name: str


class OrganizationWithId(Need[Organization], frozen=True):
    """An organization."""

    organization_id: str


class DataKeyOf(Need[WrappedKey], frozen=True):
    """The data key of an organization that is in use."""

    organization_id: str


class TeamCalled(Need[Team], frozen=True):
    """The team an operator names."""

    organization: str
    name: str


class TeamsOf(Need[Sequence[Team]], frozen=True):
    """All teams of an organization, by id."""

    organization_id: str


class TeamsWithIds(Need[Sequence[Team]], frozen=True):
    """Those of the teams that there are, by name."""

    team_ids: tuple[str, ...]


class LinkedTo(Need[Mapping[LinkageType, Sequence[str]]], frozen=True):
    """The ids by which linkage objects of each type name the members of a team, in order."""

    team_id: str


class MembersOf(Need[Sequence[Membership]], frozen=True):
    """The memberships in a team, by id, without their teams."""

    team_id: str


class GrantWithId(Need[Grant], frozen=True):
    """A grant."""

    grant_id: str


class ProjectGrantWithId(Need[ProjectGrant], frozen=True):
    """A grant on a project."""

    grant_id: str


class WorkspacesOf(Need[Sequence[tuple[Workspace, int]]], frozen=True):
    """The workspaces of an organization by id, and how many variables each has."""

    organization_id: str


class DetailsOf(Need[WorkspaceDetails], frozen=True):
    """What a workspace is besides its name."""

    workspace_id: str


class TagsWithIds(Need[Mapping[str, str]], frozen=True):
    """The names, by id, of those tags that workspaces of an organization have."""

    organization_id: str
    tag_ids: tuple[str, ...]


class TagCalled(Need[tuple[str, str]], frozen=True):
    """The organization and the name of a tag, by its id."""

    tag_id: str


class TaggedWorkspaces(Need[Sequence[WorkspaceRecord]], frozen=True):
    """The workspaces of an organization that have some of these tags, by id."""

    organization_id: str
    tag_ids: tuple[str, ...]


class WorkspacesWithIds(Need[Sequence[WorkspaceRecord]], frozen=True):
    """Those workspaces of an organization that there are, by id."""

    organization_id: str
    workspace_ids: tuple[str, ...]


class MembershipWithId(Need[Membership], frozen=True):
    """A membership, without its teams."""

    membership_id: str


class MembershipsWithIds(Need[Sequence[Membership]], frozen=True):
    """Those of the memberships that there are, by id, without their teams."""

    membership_ids: tuple[str, ...]


class MembershipOf(Need[Membership | None], frozen=True):
    """A user's membership of an organization, without its teams."""

    organization_id: str
    user_id: str


class TeamIdsOf(Need[Mapping[str, tuple[str, ...]]], frozen=True):
    """The teams that each of some memberships is in, by id, secret ones included."""

    membership_ids: tuple[str, ...]


class UserWithId(Need[User | None], frozen=True):
    """A user."""

    user_id: str


class UserMeant(Need[User], frozen=True):
    """The user an operator means: by name, e-mail address or id."""

    who: str


class UserCalled(Need[User | None], frozen=True):
    """The user with that name."""

    username: str


class UserAt(Need[User | None], frozen=True):
    """The user with that e-mail address."""

    email: str


class OwnedAlone(Need[Sequence[str]], frozen=True):
    """The names of the organizations that have no active owner but that user."""

    user_id: str


class WhereToSignIn(Need[Sequence[Organization]], frozen=True):
    """The organizations that a user is active in and where members have to sign in, by id."""

    user_id: str


class OwnerStreams(Need[frozenset[str]], frozen=True):
    """The streams in which a user can be made an owner, or another owner removed."""

    user_id: str


class Unclaimed(Need[Sequence[str]], frozen=True):
    """Some of the users that invitations made before then, whom nobody was ever known as and nobody
    invites any more. Their rows are locked.
    """

    before: int


class LeftBehindBy(Need[LeftBehind], frozen=True):
    """What somebody leaves behind in an organization."""

    organization_id: str
    user_id: str


class LinkOpens(Need[Invited | None], frozen=True):
    """What the link of an invitation opens, by its hash."""

    link_hash: bytes


class LinksOfDay(Need[tuple[int, int]], frozen=True):
    """How many links an organization, and an address from whomever, have had within a day."""

    organization_id: str
    email: str


class IdentityOf(Need[Identity | None], frozen=True):
    """Whom a provider means by that name."""

    issuer: str
    subject: str


class StandingOf(Need[Standing], frozen=True):
    """What a user is, as far as it matters for signing in."""

    user_id: str


class OrganizationsCalled(Need[Sequence[Organization]], frozen=True):
    """Those organizations of these names that there are."""

    names: tuple[str, ...]


class SessionOf(Need[Session | None], frozen=True):
    """The session that a token is of, if it is one's."""

    token_id: str


class LoginBy(Need[Login | None], frozen=True):
    """A program, however far it is: by its `id`, by the `code_hash` of what it shows, or by the
    `user_code` that somebody has typed.
    """

    by: Literal["id", "code_hash", "user_code"]
    value: str | bytes


class TokenWithId(Need[Token], frozen=True):
    """A token."""

    token_id: str


class TokensOf(Need[Sequence[Token]], frozen=True):
    """All tokens of one owner, expired ones included, oldest first."""

    owner: TokenOwner


class TokensPage(Need[Paged[Token]], frozen=True):
    """A page of the tokens of one owner, as `TokensOf`: all, or those of one reach."""

    owner: TokenOwner
    page: Page
    reach: frozenset[str] | None


class TeamTokensPage(Need[Paged[Token]], frozen=True):
    """A page of the tokens of an organization's teams."""

    organization_id: str
    wanted: TeamTokenSearch
    page: Page


class TeamTokensWithIds(Need[Sequence[Token]], frozen=True):
    """Those of an organization's teams' tokens that there are, oldest first."""

    organization_id: str
    token_ids: tuple[str, ...]


class TokenLimitsOf(Need[Sequence[TokenLimit]], frozen=True):
    """The limits that an organization has set, by kind."""

    organization_id: str


class TokensOfSignIn(Need[Sequence[Token]], frozen=True):
    """The tokens for which somebody has signed in with a provider, oldest first: those of the
    session that it calls `sid`, and those of the user of which nobody knows whose they are; without
    a `sid`, all of the user.
    """

    provider: str
    sid: str | None
    user_id: str | None


class WasUsed(Need[bool], frozen=True):
    """Whether what an issuer says was used before, by what names it."""

    once: bytes


class LiveTokensOf(Need[int], frozen=True):
    """How many tokens of one owner can be used, without those of sessions."""

    owner: TokenOwner


class TokensIssued(Need[Sequence[IssuedToken]], frozen=True):
    """The tokens that an operator means: by the `id` or the `hash` of one, by the id of their
    `user`, all, those that a `session` has or those that come of any `sign-in`, by the name of
    their `organization`, or by the id of the `maker` of others' tokens.
    """

    by: Literal["id", "hash", "user", "session", "sign-in", "organization", "maker"]
    value: str | bytes
