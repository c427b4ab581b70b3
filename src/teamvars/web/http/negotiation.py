"""Content negotiation (JSON:API 1.1, RFC 9110) and conditional requests."""

import re
from collections.abc import Callable, Iterator

from teamvars.domain.errors import Code, Fault, Refusal

MEDIA_TYPE = "application/vnd.api+json"
JSON = "application/json"
HTML = "text/html"
IF_MATCH = "If-Match"
IF_NONE_MATCH = "If-None-Match"
CODING = "content-encoding"

_MOST_CHARACTERS = 4096
# One that is not closed goes on to the end: else its every quote would be tried as a first one.
_QUOTED = r'"(?:[^"\\]|\\.?)*(?:"|\Z)'
_LIST_ITEM = re.compile(rf"(?:{_QUOTED}|[^,\"])+")
_PARAMETER = re.compile(rf";\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*({_QUOTED}|[^;\s]*)\s*")
_ENTITY_TAG = re.compile(r'\s*(W/)?"([^"]*)"\s*')
# Java's own client sends `q=.2` unless it is told what to send, up to version 18.
_QUALITY = re.compile(r"(?:0?\.\d{1,3}|0\.?|1(?:\.0{0,3})?)")

# The more precise a range, the more it counts.
_RANGES = {MEDIA_TYPE: 3, "application/json": 2, "application/*": 1, "*/*": 0}
ACCEPTED = frozenset((None, "", *_RANGES))
"""What almost every request has as `Accept`, if it has any."""


def require_acceptable(accept: str | None) -> None:
    """Refuses a request whose `Accept` does not admit JSON:API."""
    best = (-1, 0.0)
    for item in _items(accept or "*/*"):
        media_range, parameters = _media_type(item)
        quality = parameters.pop("q", "1")
        if media_range not in _RANGES or parameters.keys() - {"profile"}:
            continue
        if _QUALITY.fullmatch(quality) is None:
            continue
        if media_range == "application/json" and float(quality) == 0:
            continue  # says nothing of the media type we have
        best = max(best, (_RANGES[media_range], float(quality)))
    if best[1] == 0:
        detail = f"Answers are {MEDIA_TYPE}; Accept must admit it."
        raise Refusal(Fault(Code.NOT_ACCEPTABLE, detail, header="Accept"))


def prefers_html(accept: str | None) -> bool:
    """Whether `Accept` prefers HTML to JSON, as browsers do; without the header it does not."""
    qualities = dict(_qualities(accept or ""))

    def quality(*ranges: str) -> float:
        """That of the first of the ranges that is named: they go from precise to wide."""
        return next((qualities[one] for one in ranges if one in qualities), 0.0)

    wide = "*/*"
    page = quality(HTML, "text/*", wide)
    return page > max(quality(one, "application/*", wide) for one in (MEDIA_TYPE, JSON))


def takes_gzip(accept_encoding: str | None) -> bool:
    """Whether `Accept-Encoding` names gzip without forbidding it, as that of every browser does."""
    return dict(_qualities(accept_encoding or "")).get("gzip", 0.0) > 0


def _qualities(accept: str) -> Iterator[tuple[str, float]]:
    for item in _items(accept):
        media_range, parameters = _media_type(item)
        quality = parameters.get("q", "1")
        if _QUALITY.fullmatch(quality) is not None:
            yield media_range, float(quality)


def require_document_type(header: Callable[[str], str | None]) -> None:
    """Refuses a body that does not say it is JSON:API, asks for an extension we do not have, or is
    compressed. `header` is that of a request by its name.
    """
    media_type, parameters = _media_type(header("content-type") or "")
    if media_type != MEDIA_TYPE or parameters.keys() - {"profile"}:
        detail = f"Send the body as Content-Type: {MEDIA_TYPE}, without ext."
        raise Refusal(Fault(Code.UNSUPPORTED_MEDIA_TYPE, detail, header="Content-Type"))
    if (header(CODING) or "identity").lower() != "identity":
        detail = "Send the body as it is, without a content coding."
        raise Refusal(Fault(Code.UNSUPPORTED_MEDIA_TYPE, detail, header="Content-Encoding"))


def wanted_tags(if_match: str | None) -> frozenset[str] | None:
    """The entity tags `If-Match` admits, without quotes; None: any. Weak ones match nothing."""
    if if_match is None or if_match.strip() == "*":
        return None
    return frozenset(tag for weak, tag in _entity_tags(if_match) if not weak)


def is_known(if_none_match: str | None, entity_tag: str) -> bool:
    """Whether the client has the representation with that tag already (weak comparison)."""
    if if_none_match is None:
        return False
    if if_none_match.strip() == "*":
        return True
    return any(f'"{tag}"' == entity_tag for _, tag in _entity_tags(if_none_match))


def _entity_tags(header: str) -> Iterator[tuple[bool, str]]:
    for item in _items(header):
        if found := _ENTITY_TAG.fullmatch(item):
            yield bool(found[1]), found[2]


def _items(header: str) -> list[str]:
    # Beyond any honest header, so that a hostile one costs no time.
    items: list[str] = _LIST_ITEM.findall(header[:_MOST_CHARACTERS])
    return items


def _media_type(text: str) -> tuple[str, dict[str, str]]:
    """The lower-cased type and its parameters; an `ext` that names nothing is left out.

    What is no parameter stands for one without a name, which nobody knows.
    """
    media_type, separator, rest = text.partition(";")
    rest = (separator + rest)[:_MOST_CHARACTERS]
    parameters = {name.lower(): value.strip('"') for name, value in _PARAMETER.findall(rest)}
    if _PARAMETER.sub("", rest).strip("; \t"):
        parameters[""] = ""
    if parameters.get("ext") == "":
        del parameters["ext"]
    return media_type.strip().lower(), parameters
