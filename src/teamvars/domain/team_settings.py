"""What describes a team to its clients: the rights that have no subject here, and an id."""

from teamvars.domain.client_settings import Setting, Settings

ACCESS = "organization-access/"
"""What the names of rights in a document begin with."""

SETTINGS = Settings(
    Setting("sso-team-id", "", "Kept; it puts nobody into the team."),
    *(
        Setting(f"{ACCESS}{name}", False, text)
        for name, text in {
            "manage-policies": "Policies; there are none.",
            "manage-policy-overrides": "Exceptions to policies; there are none.",
            "delegate-policy-overrides": "Exceptions to policies; there are none.",
            "manage-vcs-settings": "Connections to repositories; there are none.",
            "manage-providers": "Providers; there are none.",
            "manage-modules": "Modules; there are none.",
            "manage-run-tasks": "Tasks of runs; there are none.",
            "manage-agent-pools": "Agent pools; there are none.",
        }.items()
    ),
)


def is_right(name: str) -> bool:
    """Whether the setting with that name is a right, which has no subject here."""
    return name.startswith(ACCESS)
