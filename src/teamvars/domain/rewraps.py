"""The job that has everything under the keys in use."""

import msgspec

ONLY = "rewrap"
"""The id of the job: there is one at a time."""


class Rewrap(msgspec.Struct, frozen=True):
    """A job that is under way, and held until then, in µs, by a run whose own name `holder` is:
    what it seals under, behind which row of which part it goes on, and how many rows it has sealed.
    """

    holder: str
    held_until: int
    generation: int
    part: int = 0
    after: str = ""
    done: int = 0
