"""The query parameters `include` and `filter[…]`, and the limits of every parameter."""

from collections.abc import Collection

from teamvars.domain.errors import Code, Fault, Refusal, refuse_all
from teamvars.domain.teams import Status
from teamvars.web.exchange import NAME_SHOWN, Exchange

MAX_CHARACTERS = 256
MAX_WORDS = 100
INCLUDE = "include"
STATUS = "filter[status]"
_NARROWING = frozenset({"filter", "q", "search", "since"})


def refuse_unknown_searches(exchange: Exchange, known: Collection[str]) -> None:
    """Refuses each parameter that would narrow what is shown, and that the route does not know.

    Whoever looks for less than everything must not be given everything. Empty ones look for
    nothing.
    """
    unknown = dict.fromkeys(
        name[:NAME_SHOWN]
        for name, text in exchange.query
        if text and name not in known and name.partition("[")[0] in _NARROWING
    )
    refuse_all(
        Fault(Code.INVALID_PARAMETER, f"Nothing is looked for by {name} here.", parameter=name)
        for name in unknown
    )


def requested_includes(
    exchange: Exchange, known: Collection[str], *, others: bool = False
) -> frozenset[str]:
    """What the answer should have beside its data. Refuses others, unless they are let be."""
    words = words_of(exchange, INCLUDE) or ()
    if not others and (unknown := [word for word in words if word not in known]):
        listed = ", ".join(sorted(known))
        detail = f"The include parameter knows {listed}, and not '{unknown[0][:100]}'."
        raise invalid(INCLUDE, detail)
    return frozenset(words).intersection(known)


def requested_status(exchange: Exchange) -> Status | None:
    """The status that memberships should have. Refuses one that there is not."""
    text = text_of(exchange, STATUS)
    if text is None:
        return None
    try:
        return Status(text)
    except ValueError:
        listed = ", ".join(status.value for status in Status)
        raise invalid(STATUS, f"{STATUS} is one of {listed}.") from None


def requested_flag(exchange: Exchange, name: str) -> bool:
    """Whether a parameter says true; an absent one does not. Refuses what is neither."""
    text = text_of(exchange, name) or "false"
    if text not in ("true", "false"):
        raise invalid(name, f"{name} is true or false.")
    return text == "true"


def text_of(exchange: Exchange, name: str) -> str | None:
    """What a parameter says; None when it is absent or empty.

    Refuses a long text, a NUL, which nothing has, and two texts: one of them would be ignored.
    """
    texts = set(filter(None, exchange.values(name)))
    if len(texts) > 1:
        raise invalid(name, f"{name} stands here more than once.")
    return _checked(name, texts.pop()) if texts else None


def words_of(exchange: Exchange, name: str) -> tuple[str, ...] | None:
    """The words of a list with commas, or of a parameter that is repeated; None when it is empty.

    Refuses too many words, and a word as `text_of` does a text.
    """
    items = ",".join(exchange.values(name)).split(",")
    words = tuple(_checked(name, word) for item in items if (word := item.strip()))
    if len(words) > MAX_WORDS:
        raise invalid(name, f"{name} has at most {MAX_WORDS} words.")
    return words or None


def invalid(name: str, detail: str) -> Refusal:
    """A query parameter says what it may not."""
    return Refusal(Fault(Code.INVALID_PARAMETER, detail, parameter=name))


def _checked(name: str, text: str) -> str:
    if len(text) > MAX_CHARACTERS:
        raise invalid(name, f"What {name} looks for has at most {MAX_CHARACTERS} characters.")
    if "\0" in text:
        raise invalid(name, f"{name} has no NUL character.")
    return text
