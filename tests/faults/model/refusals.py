"""What the model answers when it says no."""

FaultTriple = tuple[str, str, str | None]
"""Status, code and pointer."""


class Refused(Exception):
    """The answer is a refusal with these faults."""

    def __init__(self, *faults: FaultTriple) -> None:
        self.faults = list(faults)
        statuses = {status for status, _, _ in faults}
        self.status = int(statuses.pop()) if len(statuses) == 1 else 422
