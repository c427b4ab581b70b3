"""Query parameters: which of them no route may ignore, what each may say, and what was said; and
the parameters of forms, as OAuth has them (`application/x-www-form-urlencoded`, each once).
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from teamvars.domain.errors import Code, Fault, Refusal, refuse_all
from teamvars.domain.times import timestamp
from teamvars.web.http.request import NAME_SHOWN, Request

MAX_CHARACTERS = 256
MAX_WORDS = 100
_INDEX = re.compile(r"\[(0|[1-9][0-9]{0,2})\]")
_TEXT = {"type": "string", "maxLength": MAX_CHARACTERS}
_MOST_DIGITS = 15  # more than any number has that is allowed
# JSON:API 1.1 has a server refuse the first three where it does not support them. Whoever narrows a
# list and is given all of it would act on things that were never meant.
_NOT_TO_BE_IGNORED = frozenset(
    {"include", "sort", "fields", "filter", "q", "search", "since", "scope"}
)

_PAGES = frozenset({*_NOT_TO_BE_IGNORED, "page"})
"""Those of a list with pages: whoever went through them would get the first one for ever."""

FORM = "application/x-www-form-urlencoded"
MAX_FORM_BYTES = 24 * 1024
"""A token of 16 KiB, and what is said with it."""
_MAX_PARAMETERS = 32


class Parameter(msgspec.Struct, frozen=True):
    """A query parameter that a route reads: its name, and what `/openapi.json` says of it.

    `schema` is that of its value, or of each word where it `is_list`, with commas between them.
    What it does not allow is refused, but one that `is_capped` may be larger, and counts as the
    largest. One that `is_indexed` may have any number in the place of the 0 in its name; it says
    nothing unless what it is to be `beside` is there with the same number.
    """

    name: str
    description: str = ""
    schema: Mapping[str, Any] = msgspec.field(default_factory=lambda: _TEXT)
    is_list: bool = False
    is_capped: bool = False
    is_indexed: bool = False
    beside: str = ""
    required: bool = False


FLAG = {"type": "string", "enum": ["true", "false"]}
"""The schema of what `requested_flag` reads."""
PART = Parameter("q", "A part of the name.")
NAMES = Parameter("filter[names]", "Whole names, with commas.", is_list=True)
BY_NAME = Parameter(
    "sort", "By name unless given.", schema={"type": "string", "enum": ["name", "-name"]}
)
INCLUDE = Parameter(
    "include",
    "Related resources that the answer should have as well, with commas.",
    is_list=True,
)


def including(known: Collection[str]) -> Parameter:
    """`include` of a route that knows these related resources."""
    return msgspec.structs.replace(INCLUDE, schema={"type": "string", "enum": sorted(known)})


def read_query(request: Request, reads: Collection[Parameter]) -> None:
    """Reads the parameters of a route: what the functions below are asked for, and nothing else.

    Refuses, all at once, each parameter that asks for another response and that the route does not
    read, each that says what it may not, and each that is missing. An empty one asks for nothing.
    """
    known = {parameter.name: parameter for parameter in reads}
    texts = _texts(request, known.get(INCLUDE.name, INCLUDE))
    has_pages = any(name.startswith("page[") for name in known)
    refused = _PAGES if has_pages else _NOT_TO_BE_IGNORED
    said: dict[str, Sequence[str]] = {}
    wrong: dict[str, str] = {}
    for name in texts:
        parameter, shown = known.get(name) or known.get(_INDEX.sub("[0]", name)), name[:NAME_SHOWN]
        if parameter is not None:
            said[name] = _words(texts[name]) if parameter.is_list else texts[name]
            if (detail := _wrong(parameter, name, said[name], texts)) is not None:
                wrong[shown] = detail
        elif name.partition("[")[0] in refused:
            wrong[shown] = f"There is no {shown} parameter here."
    for name, parameter in known.items():
        if parameter.required and name not in texts:
            wrong[name] = f"The {name} parameter is required."
    refuse_all(
        Fault(Code.INVALID_PARAMETER, detail, parameter=name) for name, detail in wrong.items()
    )
    request.said = said


def requested_includes(request: Request) -> frozenset[str]:
    """The related resources that the response should include."""
    return frozenset(words_of(request, INCLUDE) or ())


def requested_flag(request: Request, parameter: Parameter) -> bool | None:
    """Whether a parameter says true; None when it is absent or empty."""
    text = text_of(request, parameter)
    return None if text is None else text == "true"


def time_of(request: Request, parameter: Parameter) -> int | None:
    """The time that a parameter says, in µs UTC; None when it is absent or empty."""
    text = text_of(request, parameter)
    return None if text is None else timestamp(text)


def number_of(request: Request, parameter: Parameter, default: int) -> int:
    """The number that a parameter says, at most the largest."""
    text = text_of(request, parameter)
    return default if text is None else min(_whole(text), parameter.schema["maximum"])


def text_of(request: Request, parameter: Parameter) -> str | None:
    """What a parameter says; None when it is absent or empty."""
    said = request.said.get(parameter.name)
    return said[0] if said else None


def indexed_texts(request: Request, parameter: Parameter) -> dict[str, str]:
    """What a parameter says that `is_indexed`, by number."""
    return {
        found[1]: said[0]
        for name, said in request.said.items()
        if _INDEX.sub("[0]", name) == parameter.name and (found := _INDEX.search(name))
    }


def words_of(request: Request, parameter: Parameter) -> tuple[str, ...] | None:
    """The words of a list with commas, or of one that is repeated; None when it is empty."""
    return tuple(request.said.get(parameter.name, ())) or None


def _texts(request: Request, include: Parameter) -> dict[str, list[str]]:
    """What each parameter says, but for an `include` that clients always send, and is not read."""
    found: dict[str, list[str]] = {}
    for name, text in request.query:
        if text:
            found.setdefault(name, []).append(text)
    if words := _words(found.get(include.name, ())):
        ignored = request.ignored_includes.difference(include.schema.get("enum", ()))
        found[include.name] = [word for word in words if word not in ignored]
        if not found[include.name]:
            del found[include.name]
    return found


def _words(texts: Sequence[str]) -> list[str]:
    return [word for item in ",".join(texts).split(",") if (word := item.strip())]


def _wrong(
    parameter: Parameter, name: str, said: Sequence[str], there: Collection[str]
) -> str | None:
    """What is wrong with what a parameter says by that name, beside others, if anything is."""
    if parameter.is_list and not 1 <= len(said) <= MAX_WORDS:
        return f"{name} has 1 to {MAX_WORDS} words, with commas between them."
    if not parameter.is_list and len(set(said)) > 1:
        return f"{name} is given more than once."
    for word in said:
        if (detail := _not_allowed(parameter, name, word)) is not None:
            return detail
    if parameter.beside and (index := _INDEX.search(name)) is not None:
        other = parameter.beside.replace("[0]", index[0])
        return None if other in there else f"There is no {other} beside {name}."
    return None


def _not_allowed(parameter: Parameter, name: str, word: str) -> str | None:
    """What the schema says of a word that it does not allow."""
    schema = parameter.schema
    if schema["type"] == "integer":
        return _no_number(parameter, name, word)
    most, known = schema.get("maxLength", MAX_CHARACTERS), schema.get("enum")
    if len(word) > most:
        return f"A text for {name} has at most {most} characters."
    if "\0" in word:
        return f"{name} has no NUL character."
    if schema.get("format") == "date-time" and timestamp(word) is None:
        return f"{name} is a time as RFC 3339 has it, such as 2030-12-31T23:00:00Z."
    if known is not None and word not in known:
        listed = ", ".join(filter(None, known))
        said = f"The {name} parameter knows {listed}, not '{word[:100]}'."
        return said if listed else parameter.description
    return None


def _no_number(parameter: Parameter, name: str, text: str) -> str | None:
    least, most = parameter.schema["minimum"], parameter.schema["maximum"]
    if not (text.isascii() and text.isdigit()):
        return f"{name} is a whole number."
    if _whole(text) < least:
        return f"{name} is at least {least}."
    return f"{name} is at most {most}." if _whole(text) > most and not parameter.is_capped else None


def _whole(text: str) -> int:
    """A whole number, of any number of digits; one of very many counts as a very large one."""
    return int(text.lstrip("0")[:_MOST_DIGITS] or "0")


def parse_form(body: bytes) -> Mapping[str, str]:
    """The parameters of a form, without those that are empty (RFC 6749, 3.2).

    Refuses what is no form in UTF-8, and a parameter that is sent more than once.
    """
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(body),
            errors="strict",
            max_num_fields=_MAX_PARAMETERS,
        )
    except ValueError:  # UnicodeError is one
        raise _refused(f"Send a form of at most {_MAX_PARAMETERS} parameters in UTF-8.") from None
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _refused("A parameter is sent more than once.")
    if any("\0" in name or "\0" in text for name, text in pairs):
        raise _refused("A parameter has no NUL character.")
    return {name: text for name, text in pairs if text}


def require_form_type(content_type: str | None) -> None:
    """Refuses a body that does not say that it is a form, or says another charset than UTF-8."""
    media_type, _, parameters = (content_type or "").partition(";")
    charset = parameters.strip().lower().replace('"', "")
    if media_type.strip().lower() != FORM or charset not in ("", "charset=utf-8"):
        detail = f"Send the body as Content-Type: {FORM}."
        raise Refusal(Fault(Code.UNSUPPORTED_MEDIA_TYPE, detail, header="Content-Type"))


def _refused(detail: str) -> Refusal:
    return Refusal(Fault(Code.INVALID_REQUEST, detail))
