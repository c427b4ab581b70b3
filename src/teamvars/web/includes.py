"""The query parameters `include` and `filter[…]`."""

from collections.abc import Collection

from teamvars.domain.errors import Code, Fault, Refusal
from teamvars.domain.teams import Status
from teamvars.web.exchange import Exchange

INCLUDE = "include"
STATUS = "filter[status]"


def requested_includes(exchange: Exchange, known: Collection[str]) -> frozenset[str]:
    """What the answer should have beside its data. Refuses whatever is not known."""
    words = words_of(exchange, INCLUDE) or ()
    if unknown := [word for word in words if word not in known]:
        listed = ", ".join(sorted(known))
        detail = f"The include parameter knows {listed}, and not '{unknown[0][:100]}'."
        raise Refusal(Fault(Code.INVALID_PARAMETER, detail, parameter=INCLUDE))
    return frozenset(words)


def requested_status(exchange: Exchange) -> Status | None:
    """The status that memberships should have. Refuses one that there is not."""
    text = exchange.query.get(STATUS, "")
    if not text:
        return None
    try:
        return Status(text)
    except ValueError:
        detail = f"{STATUS} is one of {', '.join(status.value for status in Status)}."
        raise Refusal(Fault(Code.INVALID_PARAMETER, detail, parameter=STATUS)) from None


def text_of(exchange: Exchange, name: str) -> str | None:
    """What a parameter says; None when it is absent or empty. Refuses a NUL, which nothing has."""
    return _without_nul(name, exchange.query.get(name, "")) or None


def words_of(exchange: Exchange, name: str) -> tuple[str, ...] | None:
    """The words of a list with commas, or of a parameter that is repeated; None when it is empty.

    Refuses a NUL.
    """
    text = _without_nul(name, ",".join(exchange.values(name)))
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    return words or None


def _without_nul(name: str, text: str) -> str:
    if "\0" in text:
        detail = f"{name} has no NUL character."
        raise Refusal(Fault(Code.INVALID_PARAMETER, detail, parameter=name))
    return text
