"""Whether values parse as configuration-language code."""

from collections.abc import Sequence

from teamvars.domain.errors import TOO_COMPLEX, Code, Fault
from teamvars.services.code.checker import CodeChecker
from teamvars.services.code.examination import CodeError, TooComplex


async def verdicts(
    code: CodeChecker, principal: str, texts: Sequence[str]
) -> Sequence[Fault | None]:
    """Why each text is refused as code, without a pointer. Refuses: busy, too many requests."""
    return [_fault(error) for error in await code.check(principal, texts)]


def _fault(error: CodeError | TooComplex | None) -> Fault | None:
    """Says the place and the rule, and never quotes the value."""
    if error is None:
        return None
    if isinstance(error, TooComplex):
        return TOO_COMPLEX
    return Fault(
        Code.HCL_SYNTAX,
        f"At line {error.line}, column {error.column}: {error.message}.",
        meta={"line": error.line, "column": error.column},
    )
