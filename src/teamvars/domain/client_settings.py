"""What describes things to their clients: what a setting is, what it may be, and what is stored.

No rule of this module acts on settings. What only describes is kept and shown. What would promise
something that does not happen here is offered with its default alone.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from teamvars.domain.errors import Fault, invalid, not_offered, unknown_word
from teamvars.domain.names import is_safe

Value = bool | str | tuple[str, ...] | None
"""None: a number that nobody has set."""
Values = Mapping[str, Value]
"""By name, of the settings that have another value than their default."""

MAX_CHARACTERS = 1024
MAX_ITEMS = 100
NO_AGENTS = "An agent needs an agent pool, of which there are none here."

URL = re.compile(r"https?://[^\s/][^\s]*")


class Setting(msgspec.Struct, frozen=True):
    """A setting by its name on the wire; in an object it stands after that one's name and a slash.

    A thing about which nothing was said has the `default`, and one that a request makes has `new`
    where that is another. `not_offered`: why there is no other value than the default. `words` are
    all that a text may be, each with the reason why it is not offered, which is empty where it is.
    A default of None is that of a number. Where what is stored cannot be read, a setting that
    protects has the value `unread`.
    """

    name: str
    default: Value
    text: str
    new: Value = None
    not_offered: str = ""
    words: Mapping[str, str] = {}
    has_lines: bool = False
    is_url: bool = False
    is_object: bool = False
    unread: Value = None

    @property
    def of_new(self) -> Value:
        """What a create means that does not name it."""
        return self.default if self.new is None else self.new

    def may_be(self, value: object) -> bool:
        """Whether that is of the setting's type, and one of its words where it has some."""
        return type(value) is type(self.default) and (not self.words or value in self.words)

    def faults(self, value: Any) -> list[Fault]:
        """What is wrong with a value of the setting's type."""
        if self.not_offered:
            is_default = value == self.default or (self.is_object and not value)
            return [] if is_default else [not_offered(self.name, self.not_offered)]
        if isinstance(value, bool):
            return []
        if isinstance(value, str):
            return self._word_faults(value) if self.words else self._text_faults(self.name, value)
        if len(value) > MAX_ITEMS:
            return [invalid(self.name, f"There are at most {MAX_ITEMS} of them.")]
        named = ((f"{self.name}/{at}", text) for at, text in enumerate(value))
        return [fault for name, text in named for fault in self._text_faults(name, text)]

    def _word_faults(self, word: str) -> list[Fault]:
        if reason := self.words.get(word):
            return [not_offered(self.name, reason)]
        return unknown_word(self.name, word, self.words, f"'{self.name}'")

    def _text_faults(self, name: str, text: str) -> list[Fault]:
        if len(text) > MAX_CHARACTERS:
            return [invalid(name, f"This has at most {MAX_CHARACTERS} characters.")]
        if not (self.has_lines or is_safe(text)):
            return [invalid(name, "This is one line, without control or format characters.")]
        if self.is_url and text and URL.fullmatch(text) is None:
            return [invalid(name, "This must be a URL that begins with http:// or https://.")]
        return []


class Settings:
    """All settings of one noun, by name."""

    def __init__(self, *settings: Setting) -> None:
        self.by_name: Mapping[str, Setting] = {one.name: one for one in settings}

    def faults(self, said: Values) -> list[Fault]:
        """What is wrong with the settings that a request names."""
        return [fault for name, value in said.items() for fault in self.by_name[name].faults(value)]

    def of_new(self) -> Values:
        """Those of a thing that a request makes without naming any."""
        return self.changed({}, {name: one.of_new for name, one in self.by_name.items()})

    def changed(self, values: Values, said: Values) -> Values:
        """The values after a request without faults, those of them that are no defaults."""
        merged = {**values, **said}
        return {
            name: merged[name]
            for name in sorted(merged)
            if merged[name] != self.by_name[name].default
        }

    def value(self, values: Values, name: str) -> Value:
        """What one of them is."""
        return values.get(name, self.by_name[name].default)

    def differing(self, before: Values, after: Values) -> list[str]:
        """The names of those that are not as they were, in order."""
        names = sorted({*before, *after})
        return [name for name in names if self.value(before, name) != self.value(after, name)]

    def known(self, members: Mapping[str, Any]) -> Values:
        """Those members of a JSON object that are values of settings."""
        values = ((name, one) for name, one in members.items() if name in self.by_name)
        read = {name: tuple(one) if isinstance(one, list) else one for name, one in values}
        known = {name: value for name, value in read.items() if self.by_name[name].may_be(value)}
        lost = self.unread(read.keys() - known.keys())
        return {**lost, **known}

    def unread(self, names: Collection[str]) -> Values:
        """What is taken for these where it cannot be read: of what protects, that it does."""
        lost = ((name, self.by_name[name].unread) for name in sorted(names))
        return {name: value for name, value in lost if value is not None}
