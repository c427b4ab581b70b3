"""Which characters are white space and which make names, by the Unicode rules HCL follows."""

import unicodedata

WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Unicode's White_Space. `str.strip()` without arguments would also take U+001C to U+001F."""

_START_CATEGORIES = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nl"})
_CONTINUE_CATEGORIES = frozenset({"Mn", "Mc", "Nd", "Pc"})
"""Beside those that a name may start with."""
_OTHER_START = frozenset("\u1885\u1886\u2118\u212e\u309b\u309c")
_OTHER_CONTINUE = frozenset(
    "\u00b7\u0387\u1369\u136a\u136b\u136c\u136d\u136e\u136f\u1370\u1371\u19da"
)
_PATTERN_SYNTAX = "\u2e2f"
"""The one letter that Unicode keeps out of identifiers."""


MAX_MARKS = 30
"""Combining marks in a row before a joiner parts them."""

_GRAPHEME_JOINER = "\u034f"


def starts_name(character: str) -> bool:
    """Whether a name may begin so: Unicode ID_Start or an underscore."""
    if character == _PATTERN_SYNTAX:
        return False
    letter = unicodedata.category(character) in _START_CATEGORIES
    return letter or character == "_" or character in _OTHER_START


def continues_name(character: str) -> bool:
    """Whether a name may go on so: Unicode ID_Continue or a hyphen."""
    if starts_name(character) or character == "-" or character in _OTHER_CONTINUE:
        return True
    return unicodedata.category(character) in _CONTINUE_CATEGORIES


def name_length(text: str) -> int:
    """How many characters at the start of `text` make a name; 0 when none do."""
    if not text or not starts_name(text[0]):
        return 0
    for length, character in enumerate(text):
        if not continues_name(character):
            return length
    return len(text)


def normal(text: str) -> str:
    """`text` in Unicode normal form C, the form of every string of the language.

    Like terraform it parts long runs of combining marks, by the Stream-Safe Text Format (Unicode
    Annex 15). Without that, putting 100,000 marks into their order takes half a minute.
    """
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _stream_safe(text) if len(text) > MAX_MARKS else text)


def _stream_safe(text: str) -> str:
    safe, run = [], 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) else 0
        if run > MAX_MARKS:
            safe.append(_GRAPHEME_JOINER)
            run = 1
        safe.append(character)
    return "".join(safe)
