"""What describes an organization to its clients: which settings there are, and their defaults."""

from teamvars.domain.client_settings import NO_AGENTS, Setting, Settings

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
