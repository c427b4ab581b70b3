"""Variables and events to seal and to record."""

from teamvars.domain.access import Caller
from teamvars.domain.audit import Actor, Event
from teamvars.domain.variables import Category, Variable

VARIABLE = Variable(
    id="var-1",
    workspace_id="ws-1",
    key="region",
    value=None,
    description="",
    category=Category.TOOL,
    hcl=False,
    sensitive=False,
    version_id="1",
    created_at=1,
)


def event(number: int) -> Event:
    """One of several events that differ in everything."""
    actor = Actor("user", f"user-{number}", f"at-{number}" if number % 2 else None)
    caller = Caller(b"", f"req-{number}", actor)
    subject = ("vars", f"var-{number}")
    return caller.event(f"variable.{number}", subject, {"key": f"k{number}", "n": number}, number)
