"""Organizations: what owns workspaces, teams and memberships; and what describes them to their
clients.
"""

import msgspec
from msgspec.structs import replace

from teamvars.domain.client_settings import NO_AGENTS, Setting, Settings, Values
from teamvars.domain.errors import Code, Fault
from teamvars.domain.linked import ResourceDraft
from teamvars.domain.names import email_faults, fold, name_faults

_ALL_SESSIONS = (
    "Sessions are alike in all organizations: one ends 30 minutes after its last use, and 12 hours "
    "after the sign-in."
)
_NO_SECOND_FACTOR = "Nobody signs in with a password here, and so with no second factor either."
_NO_KEYS = "An organization has no key of its own here."

DEFAULT_MODE = "default-execution-mode"

SETTINGS = Settings(
    Setting(
        DEFAULT_MODE,
        "remote",
        "Where clients of workspaces run that have no mode of their own.",
        words={"remote": "", "local": "", "agent": NO_AGENTS},
    ),
    Setting(
        "collaborator-auth-policy",
        "password",
        "How members sign in; there is nothing to choose.",
        words={"password": "", "two_factor_mandatory": _NO_SECOND_FACTOR},
    ),
    Setting("cost-estimation-enabled", False, "Whether the costs of runs are estimated."),
    Setting(
        "send-passing-statuses-for-untriggered-speculative-plans",
        False,
        "Whether repositories are told of plans that nothing triggered.",
    ),
    Setting("aggregated-commit-status-enabled", True, "Whether they are told once for all."),
    Setting(
        "speculative-plan-management-enabled", True, "Whether plans of older commits are cancelled."
    ),
    Setting(
        "allow-force-delete-workspaces",
        False,
        "Whether workspaces with resources may be deleted; there are no resources.",
    ),
    Setting("owners-team-saml-role-id", "", "Kept; nobody signs in by SAML."),
    Setting("stacks-enabled", False, "Whether there may be stacks."),
    Setting("registry-monorepo-support-enabled", False, "Whether a repository may have modules."),
    Setting(
        "assessments-enforced",
        False,
        "There are no assessments.",
        not_offered="Nothing runs here, so nothing would be assessed.",
    ),
    Setting("session-timeout", None, "Sessions are alike.", not_offered=_ALL_SESSIONS),
    Setting("session-remember", None, "Sessions are alike.", not_offered=_ALL_SESSIONS),
    Setting(
        "user-tokens-enabled",
        True,
        "Tokens of users are good.",
        not_offered="Say 'sso-required': then only those of users who have signed in are good.",
    ),
    Setting("max-ttl-enabled", False, "Whether its limits of tokens' lives count.", unread=True),
    Setting("enforce-hyok", False, "It has no key of its own.", not_offered=_NO_KEYS),
    Setting(
        "recoverable-items-enabled",
        False,
        "What is deleted is gone.",
        not_offered="What is deleted here cannot be brought back.",
    ),
)


class Organization(msgspec.Struct, frozen=True):
    """An organization. On the wire its id is its name. Times in µs UTC.

    `settings` are those of `SETTINGS` that are no defaults, by name. `sso_required`: members have
    rights in it only with what they have signed in for, as `storage.access_statements` says.
    """

    id: str
    name: str
    email: str | None
    created_at: int
    settings: Values = {}
    sso_required: bool = False


class Founded(msgspec.Struct, frozen=True):
    """A new organization, and the generation of the data key that it begins with."""

    organization: Organization
    generation: int


class OrganizationSearch(msgspec.Struct, frozen=True):
    """Which organizations are wanted: by a part of the name or of the e-mail address, by one of the
    name, and by one of the address. Capitals do not count.
    """

    part: str = ""
    name: str = ""
    email: str = ""


class OrganizationDraft(ResourceDraft, frozen=True):
    """What a request says of an organization; None where it says nothing usable.

    An empty `email` is none. `settings` are those of `SETTINGS` that it names.
    """

    name: str | None = None
    email: str | None = None
    settings: Values = msgspec.field(default_factory=dict)
    sso_required: bool | None = None

    def all_faults(self) -> list[Fault]:
        """Those of the document, and every rule it breaks."""
        return [
            *self.faults,
            *name_faults(self.name),
            *email_faults(self.email or None),
            *SETTINGS.faults(self.settings),
        ]

    def conflicts(self, organization: Organization) -> list[Fault]:
        """A fault when the document is about another organization than the path."""
        if self.id is None or fold(self.id) == fold(organization.name):
            return []
        detail = "This is not the name of the organization in the path, which is its id."
        return [Fault(Code.ID_CONFLICT, detail, pointer="/data/id")]

    def applied_to(self, organization: Organization) -> Organization:
        """The organization as a draft without faults makes it."""
        return replace(
            organization,
            name=organization.name if self.name is None else self.name,
            email=organization.email if self.email is None else self.email or None,
            settings=SETTINGS.changed(organization.settings, self.settings),
            sso_required=(
                organization.sso_required if self.sso_required is None else self.sso_required
            ),
        )
