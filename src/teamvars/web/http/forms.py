"""Forms, as OAuth has them: `application/x-www-form-urlencoded`, each parameter once."""

from collections.abc import Mapping
from urllib.parse import parse_qsl

from teamvars.domain.errors import Code, Fault, Refusal

FORM = "application/x-www-form-urlencoded"
MAX_FORM_BYTES = 24 * 1024
"""A token of 16 KiB, and what is said with it."""
_MAX_PARAMETERS = 32


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
