"""Query parameters: which of them no route may ignore, `include`, and the limits of each."""

import re
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from teamvars.domain.errors import Code, Fault, Refusal, refuse_all
from teamvars.domain.times import timestamp
from teamvars.web.http.request import NAME_SHOWN, Request

MAX_CHARACTERS = 256
MAX_WORDS = 100
_INDEX = re.compile(r"\[(0|[1-9][0-9]{0,2})\]")
_TEXT = {"type": "string", "maxLength": MAX_CHARACTERS}
# JSON:API 1.1 has a server refuse the first three where it does not support them. Whoever narrows a
# list and is given all of it would act on things that were never meant.
_NOT_TO_BE_IGNORED = frozenset({"include", "sort", "fields", "filter", "q", "search", "since"})


class Parameter(msgspec.Struct, frozen=True):
    """A query parameter that a route reads: its name, and what `/openapi.json` says of it.

    `schema` is that of its value, or of each word where it `is_list`, with commas between them. One
    that `is_indexed` may have any number in the place of the 0 in its name.
    """

    name: str
    description: str = ""
    schema: Mapping[str, Any] = msgspec.field(default_factory=lambda: _TEXT)
    is_list: bool = False
    is_indexed: bool = False
    required: bool = False


FLAG = {"type": "string", "enum": ["true", "false"]}
"""The schema of what `requested_flag` reads."""
INCLUDE = Parameter(
    "include",
    "Related resources that the answer should have as well, with commas.",
    is_list=True,
)


def including(known: Collection[str]) -> Parameter:
    """`include` of a route that knows these related resources."""
    return msgspec.structs.replace(INCLUDE, schema={"type": "string", "enum": sorted(known)})


def require_read(request: Request, reads: Collection[Parameter]) -> None:
    """Refuses each parameter that asks for another response and that the route does not read.

    An empty one asks for nothing, and an `include` may be one that clients always send.
    """
    if not request.query_string:
        return
    known = {parameter.name for parameter in reads}
    indexed = {parameter.name for parameter in reads if parameter.is_indexed}
    unread = dict.fromkeys(
        name[:NAME_SHOWN]
        for name, text in request.query
        if text
        and name not in known
        and _INDEX.sub("[0]", name) not in indexed
        and name.partition("[")[0] in _NOT_TO_BE_IGNORED
    )
    if INCLUDE.name in unread and request.ignored_includes.issuperset(
        words_of(request, INCLUDE) or ()
    ):
        del unread[INCLUDE.name]
    refuse_all(
        Fault(Code.INVALID_PARAMETER, f"There is no {name} parameter here.", parameter=name)
        for name in unread
    )


def requested_includes(request: Request, known: Collection[str]) -> frozenset[str]:
    """The related resources that the response should include.

    Refuses whatever is neither known nor ignored in the dialect that is spoken.
    """
    words = words_of(request, INCLUDE) or ()
    if unknown := [word for word in words if word not in {*known, *request.ignored_includes}]:
        listed = ", ".join(sorted(known)) or "nothing here"
        detail = f"The include parameter supports {listed}, not '{unknown[0][:100]}'."
        raise invalid(INCLUDE.name, detail)
    return frozenset(words).intersection(known)


def requested_fields(
    request: Request, parameter: Parameter, known: Collection[str]
) -> frozenset[str] | None:
    """The members that resources of a type should have alone; None: the parameter does not say.

    Refuses the name of a member that they never have.
    """
    words = words_of(request, parameter)
    if unknown := [word for word in words or () if word not in known]:
        listed = ", ".join(sorted(known))
        raise invalid(parameter.name, f"{parameter.name} knows {listed}, not '{unknown[0][:100]}'.")
    return None if words is None else frozenset(words)


def requested_flag(request: Request, parameter: Parameter) -> bool | None:
    """Whether a parameter says true; None when it is absent or empty. Refuses what is neither."""
    text = text_of(request, parameter)
    if text not in (None, "true", "false"):
        raise invalid(parameter.name, f"{parameter.name} is true or false.")
    return None if text is None else text == "true"


def time_of(request: Request, parameter: Parameter) -> int | None:
    """The time that a parameter says, in µs UTC; None when it is absent or empty.

    Refuses what is no timestamp of RFC 3339.
    """
    text = text_of(request, parameter)
    at = None if text is None else timestamp(text)
    if at is None and text is not None:
        detail = f"{parameter.name} is a time as RFC 3339 has it, such as 2030-12-31T23:00:00Z."
        raise invalid(parameter.name, detail)
    return at


def text_of(request: Request, parameter: Parameter) -> str | None:
    """What a parameter looks for; None when it is absent or empty.

    Refuses a long text, a NUL, which nothing has, and two texts.
    """
    text = only_text_of(request, parameter)
    return None if text is None else _checked(parameter.name, text)


def only_text_of(request: Request, parameter: Parameter) -> str | None:
    """What a parameter says; None when it is absent or empty.

    Refuses two texts: one of them would be ignored.
    """
    texts = set(filter(None, request.values(parameter.name)))
    if len(texts) > 1:
        raise invalid(parameter.name, f"{parameter.name} is given more than once.")
    return texts.pop() if texts else None


def indexed_texts(request: Request, parameter: Parameter) -> dict[str, str]:
    """What a parameter says that `is_indexed`, by number. Refuses as `text_of`."""
    numbered = {
        name: found[1]
        for name, _ in request.query
        if _INDEX.sub("[0]", name) == parameter.name and (found := _INDEX.search(name))
    }
    texts = {number: text_of(request, Parameter(name)) for name, number in numbered.items()}
    return {number: text for number, text in texts.items() if text is not None}


def choice_of(request: Request, parameter: Parameter) -> str | None:
    """Which of the words of its schema a parameter says; None when it is absent or empty.

    Refuses any other.
    """
    text, words = text_of(request, parameter), parameter.schema["enum"]
    if text is not None and text not in words:
        raise invalid(parameter.name, f"{parameter.name} is {' or '.join(words)}, or absent.")
    return text


def choices_of(request: Request, parameter: Parameter) -> tuple[str, ...]:
    """Which of the words of its schema a parameter says that is a list. Refuses any other."""
    said, words = words_of(request, parameter) or (), parameter.schema["enum"]
    if any(word not in words for word in said):
        raise invalid(parameter.name, f"{parameter.name} has some of {', '.join(words)}.")
    return said


def words_of(request: Request, parameter: Parameter) -> tuple[str, ...] | None:
    """The words of a list with commas, or of a parameter that is repeated; None when it is empty.

    Refuses too many words, and a word as `text_of` does a text.
    """
    items = ",".join(request.values(parameter.name)).split(",")
    words = tuple(_checked(parameter.name, word) for item in items if (word := item.strip()))
    if len(words) > MAX_WORDS:
        raise invalid(parameter.name, f"{parameter.name} has at most {MAX_WORDS} words.")
    return words or None


def invalid(name: str, detail: str) -> Refusal:
    """A query parameter says what it may not."""
    return Refusal(Fault(Code.INVALID_PARAMETER, detail, parameter=name))


def _checked(name: str, text: str) -> str:
    if len(text) > MAX_CHARACTERS:
        raise invalid(name, f"A text for {name} has at most {MAX_CHARACTERS} characters.")
    if "\0" in text:
        raise invalid(name, f"{name} has no NUL character.")
    return text
