"""YAML: one mapping, a name for each variable.

There are two versions of YAML in use. What both read alike is read so: a text is the text itself,
and whatever else becomes an expression of the configuration language, as in `tfvars_json`. Where
they differ (`no`, `0755`, `12:30`), it is a fault that says how to write it. Aliases, which let a
few lines grow without end, and tags are faults.
"""

import re
from typing import Any

import yaml

from teamvars.hcl.numbers import NumberError, read_number
from teamvars.variable_files.findings import MAX_DEPTH, Enough, Findings, sentence
from teamvars.variable_files.tfvars import quoted

_NULL = re.compile(r"~|null|Null|NULL|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?")
_NUMBER_OF_1_2 = re.compile(
    r"[-+]?(?:\.[0-9]++|[0-9]++(?:\.[0-9]*+)?)(?:[eE][-+]?[0-9]++)?|0o[0-7]++|0x[0-9a-fA-F]++"
)
_DISPUTED = "Programs differ in what this is. Put it into quotation marks, or write it otherwise."
_TEXT_1_1 = "tag:yaml.org,2002:str"
_RESOLVER_1_1: Any = yaml.resolver.Resolver()


def read(findings: Findings) -> None:
    """Reads all of the text. Raises Enough, also where the text is no YAML."""
    loader = yaml.CSafeLoader(findings.text)
    try:
        _Reader(findings, loader).file()
    except yaml.reader.ReaderError as error:
        before = findings.text.encode()[: error.position].decode(errors="ignore")
        findings.fault(len(before), "A character that no YAML has.")
        raise Enough from None
    except yaml.MarkedYAMLError as error:
        # These messages are libyaml's own, and constant: none has a piece of the file in it.
        at = error.problem_mark.index if error.problem_mark else 0
        findings.fault(at, sentence(error.problem or "this is no YAML"))
        raise Enough from None


class _Reader:
    """Reads event by event, so that nothing is made of what is refused."""

    def __init__(self, findings: Findings, loader: yaml.CSafeLoader) -> None:
        self._findings = findings
        self._loader = loader
        self._is_good = True

    def file(self) -> None:
        """The one mapping, a variable for each of its members."""
        self._next()  # the stream's start
        if isinstance(self._next(), yaml.StreamEndEvent):
            return
        begin = self._next()
        if not isinstance(begin, yaml.MappingStartEvent):
            raise self._broken(begin, "The file must be one mapping, of names to values.")
        self._require_plain(begin)
        while not isinstance(name := self._next(), yaml.MappingEndEvent):
            self._variable(name)
        self._next()  # the document's end
        if not isinstance(more := self._next(), yaml.StreamEndEvent):
            raise self._broken(more, "The file is one document, and another follows it.")

    def _variable(self, event: yaml.Event) -> None:
        name, at = self._name(event), _place(event)
        self._is_good = True
        self._findings.name(name, at)
        value = self._next()
        text = value.value if isinstance(value, yaml.ScalarEvent) and _is_text(value) else None
        code = self._code(value, 1)
        if self._is_good:
            self._findings.item(name, at, code if text is None else text, hcl=text is None)

    def _name(self, event: yaml.Event) -> str:
        """The name of a member, as it is written."""
        if not isinstance(event, yaml.ScalarEvent):
            raise self._broken(event, "A name is expected, no list, mapping or alias.")
        self._require_plain(event)
        name: str = event.value
        if name == "<<" and not event.style:
            raise self._broken(event, "Nothing is merged in from elsewhere.")
        return name

    def _code(self, event: yaml.Event, depth: int) -> str:
        """The value that begins with the event, as an expression."""
        if isinstance(event, yaml.ScalarEvent):
            self._require_plain(event)
            return quoted(event.value) if _is_text(event) else self._word(event)
        if not isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            raise self._broken(event, "Aliases are not followed. Write the value out.")
        self._require_plain(event)
        if depth > MAX_DEPTH:
            raise self._broken(event, f"The nesting is deeper than {MAX_DEPTH} levels.")
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        return self._mapping(depth) if is_mapping else self._sequence(depth)

    def _mapping(self, depth: int) -> str:
        parts: dict[str, str] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            name = self._name(event)
            if name in parts:
                self._fault(event, "A mapping has the same member twice.")
            parts[name] = f"{quoted(name)} = {self._code(self._next(), depth + 1)}"
        return "{" + ", ".join(parts.values()) + "}"

    def _sequence(self, depth: int) -> str:
        items = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            items.append(self._code(event, depth + 1))
        return "[" + ", ".join(items) + "]"

    def _word(self, event: yaml.ScalarEvent) -> str:
        """A null, a bool or a number, as code."""
        written: str = event.value
        if _NULL.fullmatch(written):
            return "null"
        if _BOOL.fullmatch(written):
            return written.lower()
        if not _NUMBER.fullmatch(written):
            self._fault(event, _DISPUTED)
            return ""
        try:
            read_number(written)
        except NumberError as error:
            self._fault(event, sentence(str(error)))
        return written

    def _require_plain(self, event: yaml.NodeEvent) -> None:
        """Notes tags and anchors: neither says anything here."""
        if getattr(event, "tag", None) is not None:
            self._fault(event, "Tags are not read. Put a text into quotation marks.")
        if event.anchor is not None:
            self._fault(event, "Anchors are not read. Write the value out where it is used.")

    def _next(self) -> yaml.Event:
        event = self._loader.get_event()
        assert event is not None  # behind the stream's end nothing is asked for
        return event

    def _fault(self, event: yaml.Event, detail: str) -> None:
        self._is_good = False
        self._findings.fault(_place(event), detail)

    def _broken(self, event: yaml.Event, detail: str) -> Enough:
        """Notes why nothing behind this place is read."""
        self._findings.fault(_place(event), detail)
        return Enough()


def _is_text(event: yaml.ScalarEvent) -> bool:
    """Whether both versions of YAML take it for a text."""
    if event.style:  # quoted, or a block
        return True
    if _NUMBER_OF_1_2.fullmatch(event.value):
        return False
    tag = _RESOLVER_1_1.resolve(yaml.ScalarNode, event.value, (True, False))
    return tag == _TEXT_1_1 and not _NULL.fullmatch(event.value)


def _place(event: yaml.Event) -> int:
    """The offset of an event, in characters."""
    return event.start_mark.index if event.start_mark else 0
