"""Values like no others, and the search for them in every form they could take."""

import base64
import json
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import quote
from uuid import uuid4


def canary() -> str:
    """A value like no other, that every way of writing it down writes differently."""
    return f'cänary "{uuid4().hex}" <&/+\\\n%>'


@cache
def forms(secret: str) -> frozenset[bytes]:
    """Every form in which a value could be lying around."""
    raw = secret.encode()
    # In a longer text, base64 begins at any of three places; what the neighbours share is cut off.
    shifted = {base64.b64encode(b"x" * n + raw)[4 * bool(n) : -4] for n in range(3)}
    found = {
        raw,
        raw.hex().encode(),
        raw.hex().upper().encode(),
        *shifted,
        *(form.translate(bytes.maketrans(b"+/", b"-_")) for form in shifted),
        quote(secret).encode(),
        quote(secret, safe="").encode(),
        json.dumps(secret)[1:-1].encode(),
        json.dumps(secret, ensure_ascii=False)[1:-1].encode(),
        json.dumps(json.dumps(secret))[3:-3].encode(),
        repr(secret)[1:-1].encode(),
        repr(raw)[2:-1].encode(),
    }
    return frozenset(found)


def finds(haystack: bytes, *secrets: str) -> set[str]:
    """Those of the secrets that are in there, in whatever form."""
    return {secret for secret in secrets if any(form in haystack for form in forms(secret))}


@dataclass
class Flock:
    """The canaries that were let out, by where they may be seen."""

    hidden: list[str] = field(default_factory=list)
    """Sensitive, or refused: in no answer."""
    shown: list[str] = field(default_factory=list)
    """In the answers to readers, and nowhere else."""
    known: list[str] = field(default_factory=list)
    """The control: descriptions, which are stored as they are."""

    def hide(self) -> str:
        self.hidden.append(canary())
        return self.hidden[-1]

    def show(self) -> str:
        self.shown.append(canary())
        return self.shown[-1]

    def know(self) -> str:
        self.known.append(canary())
        return self.known[-1]

    @property
    def values(self) -> list[str]:
        return self.hidden + self.shown
