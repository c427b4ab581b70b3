"""Query parameters: which of them no route may pass over, `include`, and the limits of each."""

from collections.abc import Collection

from teamvars.domain.errors import Code, Fault, Refusal, refuse_all
from teamvars.domain.memberships import Status
from teamvars.web.exchange import NAME_SHOWN, Exchange

MAX_CHARACTERS = 256
MAX_WORDS = 100
INCLUDE = "include"
STATUS = "filter[status]"
NAMES = "filter[names]"
EMAILS = "filter[email]"
LISTS = (INCLUDE, NAMES, EMAILS)
# JSON:API 1.1 has a server refuse the first three where it does not support them. Whoever narrows a
# list and is given all of it would act on things that were never meant.
_NOT_TO_BE_IGNORED = frozenset({"include", "sort", "fields", "filter", "q", "search", "since"})


def require_read(exchange: Exchange, reads: Collection[str]) -> None:
    """Refuses each parameter that asks for another answer and that the route does not read.

    An empty one asks for nothing, and an `include` may be one that clients always send.
    """
    unread = dict.fromkeys(
        name[:NAME_SHOWN]
        for name, text in exchange.query
        if text and name not in reads and name.partition("[")[0] in _NOT_TO_BE_IGNORED
    )
    if INCLUDE in unread and exchange.ignored_includes.issuperset(
        words_of(exchange, INCLUDE) or ()
    ):
        del unread[INCLUDE]
    refuse_all(
        Fault(Code.INVALID_PARAMETER, f"There is no {name} parameter here.", parameter=name)
        for name in unread
    )


def requested_includes(exchange: Exchange, known: Collection[str]) -> frozenset[str]:
    """What the answer should have beside its data.

    Refuses whatever is neither known nor ignored in the dialect that is spoken.
    """
    words = words_of(exchange, INCLUDE) or ()
    if unknown := [word for word in words if word not in {*known, *exchange.ignored_includes}]:
        listed = ", ".join(sorted(known)) or "nothing here"
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
    """What a parameter looks for; None when it is absent or empty.

    Refuses a long text, a NUL, which nothing has, and two texts.
    """
    text = only_text_of(exchange, name)
    return None if text is None else _checked(name, text)


def only_text_of(exchange: Exchange, name: str) -> str | None:
    """What a parameter says; None when it is absent or empty.

    Refuses two texts: one of them would be ignored.
    """
    texts = set(filter(None, exchange.values(name)))
    if len(texts) > 1:
        raise invalid(name, f"{name} stands here more than once.")
    return texts.pop() if texts else None


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
