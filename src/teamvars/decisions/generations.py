"""What becomes of a request to add, activate or retire a generation of data keys, and what a job
that has everything under the keys in use records of itself.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from teamvars.decisions import Decision, Delete, Found, Insert, Need, Update
from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.keys import DATA, Generation, KeyRefused, Rewrap, active_of, generation_id


class Generations(Need[Sequence[Generation]], frozen=True):
    """All generations of data keys that there ever were, in order."""


def next_generation(found: Sequence[Generation]) -> Generation:
    """The one to be added, at no time yet. Refuses before the newest was activated."""
    newest = found[-1]
    if newest.activated_at is None:
        raise KeyRefused(
            f"{newest.id} was added before, and is not in use yet. Run: teamvars keys activate "
            f"{newest.id}"
        )
    return Generation(newest.version + 1, 0)


def add(found: Found, version: int) -> Decision[None]:
    """A generation of which every organization has a data key by now. Refuses another number than
    the next one.
    """
    added = next_generation(found.of(Generations()))
    if added.version != version:
        raise KeyRefused(f"Somebody else has added {generation_id(version)} meanwhile.")
    note = found.note(SYSTEM_STREAM, "key.add", added.id, {"purpose": DATA})
    return Decision(None, (Insert(replace(added, created_at=found.now)),), (note,))


def activate(found: Found, key_id: str) -> Decision[Generation]:
    """The newest generation is in use from now on; of one that is already, the answer alone.

    Refuses what is no generation, or an older one.
    """
    generations = found.of(Generations())
    wanted, active = named(generations, key_id), active_of(generations)
    if wanted.version < active.version:
        raise KeyRefused(f"{active.id} is in use, which is newer than {key_id}.")
    if wanted == active:
        return Decision(wanted)
    after = replace(wanted, activated_at=found.now)
    note = found.note(SYSTEM_STREAM, "key.activate", key_id, {"purpose": DATA, "former": active.id})
    return Decision(after, (Update(wanted, after),), (note,))


def retire(found: Found, key_id: str, *, leaked: bool) -> Decision[None]:
    """A generation that no organization has a data key of any more is gone for good.

    Refuses what is no generation, or is in use, or not yet.
    """
    wanted = retired(found.of(Generations()), key_id)
    details = {"purpose": DATA, **({"leaked": True} if leaked else {})}
    note = found.note(SYSTEM_STREAM, "key.retire", key_id, details)
    return Decision(None, (Update(wanted, replace(wanted, retired_at=found.now)),), (note,))


def retired(generations: Sequence[Generation], key_id: str) -> Generation:
    """The generation that may be retired. Refuses what is none, or is in use, or not yet."""
    wanted, active = named(generations, key_id), active_of(generations)
    if wanted.version >= active.version:
        raise KeyRefused(f"{key_id} is in use or will be. Activate another first.")
    return wanted


def named(generations: Sequence[Generation], key_id: str) -> Generation:
    """The generation that an operator names. Refuses what is none, and one that was retired."""
    found = next((one for one in generations if one.id == key_id), None)
    if found is None:
        raise KeyRefused(f"There is no {key_id}: 'teamvars keys status' lists the keys.")
    if found.retired_at is not None:
        raise KeyRefused(f"{key_id} was retired, and is gone for good.")
    return found


def begin_rewrap(found: Found, job: Rewrap) -> Decision[Rewrap]:
    """A job begins, which is the only one as long as its row is there."""
    note = found.note(SYSTEM_STREAM, "rewrap.begin", generation_id(job.generation), {})
    return Decision(job, (Insert(job),), (note,))


def end_rewrap(found: Found, job: Rewrap, broken: int) -> Decision[None]:
    """The job has ended, unless another run has taken it over; what is `broken` did not open, and
    is as it was.
    """
    details = {"sealed": job.done, "broken": broken}
    note = found.note(SYSTEM_STREAM, "rewrap.end", generation_id(job.generation), details)
    return Decision(None, (Delete(Rewrap, (job.holder,)),), (note,))
