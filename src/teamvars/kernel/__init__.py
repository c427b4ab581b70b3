"""What is true of a variable wherever it stands: in the service, a file or an environment."""

from typing import Any

import msgspec


class Discreet(msgspec.Struct, frozen=True):
    """A record whose `repr`, and so no log line or error message, shows nothing it holds."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return []
