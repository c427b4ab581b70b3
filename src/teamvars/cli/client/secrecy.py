"""Which variables a command makes sensitive: what it was told, what they are elsewhere, and what
their names say. And what programs are told of one that nobody may see."""

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from msgspec.structs import replace

from teamvars.cli.asking import agrees
from teamvars.cli.client.api import Resource
from teamvars.cli.client.changes import Wanted
from teamvars.cli.client.contents import Contents
from teamvars.cli.exits import Misuse
from teamvars.cli.options import flag, option, together
from teamvars.cli.output import note
from teamvars.domain.key_names import says_secret
from teamvars.domain.names import escaped
from teamvars.domain.variables import Variable

_WILDCARDS = frozenset("*?[")


class Secrecy(NamedTuple):
    """What a command was told: of all variables, of some, and whether names decide about new ones.

    `sensitive` is False where new ones are to be readable, whatever they are elsewhere. `skips`:
    what is sensitive already stays as it is.
    """

    sensitive: bool | None = None
    keys: Sequence[str] = ()
    takes_suggestions: bool = False
    skips: bool = False

    def says(self, key: str) -> bool:
        """Whether the variable was said to be sensitive."""
        return bool(self.sensitive) or any(fnmatchcase(key, pattern) for pattern in self.keys)

    def require_meant(self, wanted: Sequence[Wanted]) -> None:
        """Fails on a key that none of these has: what it was to hide would be readable. A pattern
        with wildcards may be for many files, so it is only said of it that it means nothing here.
        """
        for pattern in self.keys:
            if any(fnmatchcase(want.key, pattern) for want in wanted):
                continue
            told = f"--sensitive-keys {pattern}: the file has no variable like this."
            if not _WILDCARDS.intersection(pattern):
                raise Misuse(told)
            note(told)


secrecy_options = together(
    "told",
    Secrecy,
    sensitive=option(
        "--sensitive/--no-sensitive",
        "Make all of them sensitive; or new ones readable.",
        default=None,
    ),
    keys=option(
        "--sensitive-keys",
        "Make those that match sensitive.",
        "keys",
        multiple=True,
        metavar="GLOB",
    ),
    takes_suggestions=flag(
        "--take-suggestions", "Make new ones with a secret's name sensitive.", "takes_suggestions"
    ),
    skips=flag(
        "--skip-sensitive", "Leave variables that are sensitive there as they are.", "skips"
    ),
)


class Intent(NamedTuple):
    """What a workspace is to have."""

    there: Contents
    wanted: Sequence[Wanted]

    def before(self, want: Wanted) -> Variable | None:
        """The variable as it is there; None where it is new."""
        found = (one for one in self.there.called(want.key) if one.category is want.category)
        return next(found, None)


def settled(intents: Sequence[Intent], told: Secrecy) -> list[Intent]:
    """The same, with what is to be sensitive marked so.

    What is sensitive in one workspace is made so where it is new. Fails where it is readable in
    another, unless the command was told what it shall be.
    """
    if told.sensitive is None:
        _refuse_mixed(intents, told)
        intents = followed(intents)
    return _marked(intents, lambda _, want: told.says(want.key))


def followed(intents: Sequence[Intent]) -> list[Intent]:
    """The same, with what is sensitive in one workspace sensitive where it is new."""
    secret = secret_keys([each.there for each in intents])

    def is_to_be(intent: Intent, want: Wanted) -> bool:
        return want.key in secret and intent.before(want) is None

    return _marked(intents, is_to_be)


def secret_keys(there: Iterable[Contents]) -> frozenset[str]:
    """The keys that are sensitive in one of the workspaces: in no other is their value shown."""
    return frozenset(one.key for each in there for one in each.variables if one.sensitive)


def attributes(one: Variable | Wanted | None, *, is_hidden: bool) -> Resource | None:
    """What programs are told of a variable; None of none. A value that nobody may see is null, and
    `hidden` says so.
    """
    if one is None:
        return None
    hidden = bool(one.sensitive) or is_hidden
    return {
        "value": None if hidden else one.value,
        "hidden": hidden,
        "hcl": bool(one.hcl),
        "sensitive": bool(one.sensitive),
        "description": one.description or "",
    }


def suggested(intents: Sequence[Intent], told: Secrecy, *, asks: bool) -> list[Intent]:
    """The same, with new variables marked sensitive whose names say so, if that was told or is
    agreed to. Otherwise they are named: nobody else decides it, since there is no way back.
    """

    def is_meant(intent: Intent, want: Wanted) -> bool:
        is_new = not want.sensitive and intent.before(want) is None
        return is_new and says_secret(want.key)

    keys = dict.fromkeys(w.key for each in intents for w in each.wanted if is_meant(each, w))
    if not keys or told.sensitive is False:
        return list(intents)
    named = escaped(", ".join(keys))
    if told.takes_suggestions:
        return _marked(intents, is_meant)
    if asks:
        note(f"By their names, these new variables look like secrets: {named}")
        if agrees("Make them sensitive? Nobody can read them again. [y/N] "):
            return _marked(intents, is_meant)
        return list(intents)
    note(
        f"By their names, these new variables look like secrets: {named}. They will be "
        "readable; --take-suggestions makes them sensitive."
    )
    return list(intents)


def _refuse_mixed(intents: Sequence[Intent], told: Secrecy) -> None:
    """Fails where one variable is sensitive in one workspace and readable in another."""
    places: dict[str, tuple[list[str], list[str]]] = {}
    for intent in intents:
        for want in intent.wanted:
            before = intent.before(want)
            if before is not None and not told.says(want.key):
                places.setdefault(want.key, ([], []))[before.sensitive].append(intent.there.name)
    mixed = [
        f"{escaped(key)} is sensitive in {_few(secret)}, and readable in {_few(readable)}."
        for key, (readable, secret) in places.items()
        if secret and readable
    ]
    if mixed:
        raise Misuse(
            "\n".join(mixed)
            + "\nGive --sensitive, and nobody can read it anywhere; or --no-sensitive: new ones "
            "will be readable, and existing ones stay as they are."
        )


def _marked(intents: Sequence[Intent], is_to_be: Callable[[Intent, Wanted], bool]) -> list[Intent]:
    """The same, with each variable sensitive that is to be."""
    return [
        each._replace(
            wanted=[
                replace(want, sensitive=True) if is_to_be(each, want) else want
                for want in each.wanted
            ]
        )
        for each in intents
    ]


def _few(names: Sequence[str]) -> str:
    first, *others = names
    return f"{first} and {len(others)} more" if others else first
