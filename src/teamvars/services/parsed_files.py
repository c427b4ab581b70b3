"""What somebody wants to have read before anything is stored: a value, or a file of variables, as
people keep them.
"""

import msgspec

from teamvars.decisions.variables import ToOwner
from teamvars.domain.access import Caller
from teamvars.domain.errors import TOO_COMPLEX, Code, Fault, Refusal, refuse_all
from teamvars.domain.variables import ValueDraft
from teamvars.kernel import Discreet
from teamvars.services.code.examination import Examination, TooComplex, has_at_most
from teamvars.services.house import UseCases, admit_writer
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


class ParsedFiles(UseCases):
    """What callers have read. Nothing is stored."""

    _admit = admit_writer

    async def parse(self, caller: Caller, to: ToOwner, draft: FileDraft) -> ParsedFile:
        """Reads a file, for whoever may write variables in the workspace or the set.

        Refuses: unauthenticated, not found, forbidden, every fault of the draft, a file that is too
        complex or has too many names, too many requests, busy.
        """
        await self._admit(caller, to)
        refuse_all(draft.all_faults())
        assert draft.format is not None and draft.content is not None  # decoding requires both
        assert caller.actor is not None  # known since the access check
        try:
            found = await self._house.code.parse_file(caller.actor.id, draft.format, draft.content)
        except TooComplex:
            raise Refusal(TOO_COMPLEX.at(_CONTENT)) from None
        if found.too_many:
            detail = f"A file has at most {MAX_NAMES} names."
            raise Refusal(Fault(Code.TOO_MANY_ITEMS, detail, pointer=_CONTENT))
        return found


class ValueChecks(UseCases):
    """What callers try. Nothing is stored."""

    _admit = admit_writer

    async def check(self, caller: Caller, to: ToOwner, draft: ValueDraft) -> Examination:
        """Tries a value, for whoever may write variables in the workspace or the set.

        Refuses: unauthenticated, not found, forbidden, every fault of the draft, code that is too
        complex, too many requests, busy.
        """
        await self._admit(caller, to)
        refuse_all(draft.all_faults())
        text = draft.value or ""
        if not draft.hcl:
            return Examination(valid=True, evaluated=True, value=msgspec.json.encode(text))
        assert caller.actor is not None  # known since the access check
        try:
            return await self._house.code.evaluate(caller.actor.id, text)
        except TooComplex:
            raise Refusal(TOO_COMPLEX.at("/data/attributes/value")) from None
