"""Reading a file of variables, as people keep them, into what a workspace would hold."""

from teamvars.domain.access import Caller
from teamvars.domain.errors import TOO_COMPLEX, Code, Fault, Refusal, refuse_all
from teamvars.kernel.discreet import Discreet
from teamvars.services import Clock
from teamvars.services.admission import admit_writer
from teamvars.services.code.checker import CodeChecker
from teamvars.services.code.examination import TooComplex, has_at_most
from teamvars.storage.database import Database
from teamvars.variable_files import MAX_NAMES, Format, ParsedFile

MAX_CONTENT_BYTES = 512 * 1024

_CONTENT = "/data/attributes/content"


class FileDraft(Discreet, frozen=True):
    """A file that somebody wants to have read; None where the document is at fault."""

    format: Format | None = None
    content: str | None = None
    faults: tuple[Fault, ...] = ()

    def all_faults(self) -> list[Fault]:
        """Those of the document, and a file that is too long."""
        if self.content is None or has_at_most(MAX_CONTENT_BYTES, self.content):
            return [*self.faults]
        detail = f"A file has at most {MAX_CONTENT_BYTES} bytes of UTF-8."
        return [*self.faults, Fault(Code.INVALID_VALUE, detail, pointer=_CONTENT)]


class ParsedFiles:
    """What callers have read. Nothing is stored."""

    def __init__(self, database: Database, clock: Clock, code: CodeChecker) -> None:
        self._database = database
        self._clock = clock
        self._code = code

    async def parse(self, caller: Caller, workspace_id: str, draft: FileDraft) -> ParsedFile:
        """Reads a file, for whoever may write variables in the workspace.

        Refuses: unauthenticated, not found, forbidden, every fault of the draft, a file that is too
        complex or has too many names, too many requests, busy.
        """
        await admit_writer(self._database, caller, self._clock(), workspace_id)
        refuse_all(draft.all_faults())
        assert draft.format is not None and draft.content is not None  # decoding requires both
        assert caller.actor is not None  # known since the access check
        try:
            found = await self._code.parse_file(caller.actor.id, draft.format, draft.content)
        except TooComplex:
            raise Refusal(TOO_COMPLEX.at(_CONTENT)) from None
        if found.too_many:
            detail = f"A file has at most {MAX_NAMES} names."
            raise Refusal(Fault(Code.TOO_MANY_ITEMS, detail, pointer=_CONTENT))
        return found
