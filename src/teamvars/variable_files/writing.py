"""Variables, written as files that other programs read."""

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial

import msgspec

from teamvars.hcl import HclError, Work, definitions, parse
from teamvars.hcl.tokens import name_length
from teamvars.kernel import Discreet
from teamvars.kernel.variables import (
    Category,
    InvalidKey,
    Unfit,
    Variable,
    name_in_environment,
    text_of,
)
from teamvars.variable_files.tfvars import quoted


class Writing(StrEnum):
    """How a file is to be written."""

    TFVARS = "tfvars"
    DOTENV = "dotenv"
    JSON = "json"
    SHELL = "shell"

    @property
    def category(self) -> Category:
        """Of the variables that such a file is for."""
        is_tool = self in (Writing.TFVARS, Writing.JSON)
        return Category.TOOL if is_tool else Category.ENV


class Unwritten(Discreet, frozen=True):
    """A variable that the file cannot have, and why: of its value, at most what it refers to."""

    key: str
    detail: str
    by_key: bool
    """Whether it is for its key alone."""


class Written(Discreet, frozen=True):
    """A file, and the variables that are not in it."""

    text: str
    unwritten: tuple[Unwritten, ...]


def write(
    form: Writing,
    variables: Sequence[Variable],
    *,
    interpolate: bool = True,
    missing: Sequence[str] = (),
) -> Written:
    """The file with all of the variables that it can have, in their order.

    `interpolate`: readers of a dotenv file replace what follows a `$`, as most programs do, and
    need not know each escape. A comment has the keys that are `missing` since nobody can read
    their values.
    """
    work = Work(sum(len(one.value or "") for one in variables))
    entry = _entry_of(form, interpolate=interpolate, work=work)
    entries, unwritten = [], []
    for variable in variables:
        try:
            entries.append(entry(variable))
        except Unfit as why:
            unwritten.append(Unwritten(variable.key, str(why), isinstance(why, InvalidKey)))
    return Written(_joined(form, entries, missing), tuple(unwritten))


def _joined(form: Writing, entries: list[str], missing: Sequence[str]) -> str:
    if form is Writing.JSON:
        # As a member that the tool ignores: there is no other comment in such a file.
        said = f"{_MISSING}: {', '.join(missing)}"
        comments = [f'"{_COMMENT}": {_JSON.encode(said).decode()}'] if missing else []
        return "{" + ",".join(f"\n  {entry}" for entry in (*comments, *entries)) + "\n}\n"
    return "".join(f"{line}\n" for line in (*entries, *(f"# {_MISSING}: {key}" for key in missing)))


_MISSING = "Sensitive, so that nobody can read it"


def _is_code(variable: Variable) -> bool:
    return variable.hcl and variable.category is Category.TOOL


# For programs that read environment files

_BARE = re.compile(r"[A-Za-z0-9_./:@,+-]*")
_UNFIT_FOR_SINGLE = re.compile(r"'|\r|\\\\|\\\Z")
"""What keeps a value from single quotation marks; some programs read `\\\\` as one there."""

_UNFIT_FOR_DOUBLE = re.compile(r'[$`"\\\r]')
"""What programs replace between double quotation marks, and what some of them read no escape of."""


def _dotenv(interpolate: bool, variable: Variable) -> str:
    """One form that all programs read alike, or none: they differ in many things."""
    name, text = name_in_environment(variable), text_of(variable)
    if interpolate and "${" in text:
        raise Unfit(
            "its value has '${', which programs replace: --no-interpolate if yours does not"
        )
    if _BARE.fullmatch(text):
        return f"{name}={text}"
    if not _UNFIT_FOR_SINGLE.search(text):
        return f"{name}='{text}'"
    if interpolate and _UNFIT_FOR_DOUBLE.search(text):
        raise Unfit(
            "its value needs double quotation marks, in which programs differ about '$', '`', "
            "'\"', a backslash and a carriage return: --no-interpolate if yours replaces nothing "
            "and reads escapes"
        )
    escaped = text.replace("\\", r"\\").replace('"', r"\"").replace("\r", r"\r")
    return f'{name}="{escaped}"'


# For the tool


def name_in_tfvars(variable: Variable) -> str:
    """Its name there. Refuses: a key that is no identifier."""
    if name_length(variable.key) != len(variable.key):
        raise InvalidKey("its key is no identifier")
    return variable.key


def _tfvars(variable: Variable) -> str:
    """Strings as such, code as it is."""
    name, text = name_in_tfvars(variable), text_of(variable)
    if not _is_code(variable):
        return f"{name} = {quoted(text)}"
    # As a value, code may go on behind a line break that would end the definition.
    code = text.strip(" \t\r\n")
    for form in (code, f"(\n{code}\n)"):
        if _is_definition(line := f"{name} = {form}"):
            return line
    raise Unfit("its value is no expression")


def _is_definition(line: str) -> bool:
    """Whether it is one definition, and not the beginning of another."""
    found = list(definitions(line + "\n"))
    return len(found) == 1 and not isinstance(found[0], HclError)


_COMMENT = "//"
_JSON = msgspec.json.Encoder(decimal_format="number")


def _json(work: Work, variable: Variable) -> str:
    """Strings as such, and what code comes to."""
    if variable.key == _COMMENT:
        raise InvalidKey("its key is that of a comment")
    text = text_of(variable)
    value = _evaluated(text, work) if _is_code(variable) else text
    return f"{_JSON.encode(variable.key).decode()}: {_JSON.encode(value).decode()}"


def _evaluated(code: str, work: Work) -> object:
    try:
        expression = parse(code)
        unknown = [*expression.references, *(f"{name}()" for name in expression.functions)]
        if unknown:
            # Also of a branch that is never chosen: whoever adds to it should not be surprised.
            raise Unfit(f"its value refers to {', '.join(unknown)}")
        return expression.evaluate(work=work)
    except HclError as error:
        raise Unfit(f"its value has none: {error.message}") from None


# For POSIX shells (bash, dash, ksh, zsh) and fish, which read these lines alike

_PART = re.compile(r"([^'\\]+)|(['\\])")
_DIGITS = re.compile(r"[0-9]{1,9}")
_NUMBERS_OF_SHELLS = frozenset(
    """
    BASHPID BAUD COLUMNS COMP_CWORD COMP_KEY COMP_POINT COMP_TYPE CURRENT CURSOR EGID
    EPOCHREALTIME EPOCHSECONDS ERRNO EUID FUNCNEST GID HISTCMD HISTNO HISTSIZE KEYS_QUEUED_COUNT
    KEYTIMEOUT LINENO LINES LISTMAX LOGCHECK MAILCHECK MARK OPTIND PENDING PERIOD PPID RANDOM
    REGION_ACTIVE SAVEHIST SECONDS SHLVL SRANDOM TMOUT TRY_BLOCK_ERROR TRY_BLOCK_INTERRUPT TTYIDLE
    UID
    """.split()  # noqa: SIM905 - as their manuals list them
)
"""Numbers of bash(1), ksh(1) and zshparam(1): what is assigned to them is evaluated as an
expression, in which `x[$(id)]` is carried out."""


def _shell(variable: Variable) -> str:
    """A line that exports the variable. Refuses: what shells would evaluate."""
    name, text = name_in_environment(variable), text_of(variable)
    if name in _NUMBERS_OF_SHELLS and not _DIGITS.fullmatch(text):
        raise InvalidKey("its key is that of a number in shells, which would evaluate its value")
    return f"export {name}={_word(text)}"


def _word(text: str) -> str:
    """A word that is this text. Between quotation marks a backslash is an escape to fish and a
    character to the others, so it stands outside, as the mark itself does."""
    parts = (f"'{found[1]}'" if found[1] else f"\\{found[2]}" for found in _PART.finditer(text))
    return "".join(parts) or "''"


def _entry_of(form: Writing, *, interpolate: bool, work: Work) -> Callable[[Variable], str]:
    """What makes the entry of a variable; `work` is for the values of all."""
    match form:
        case Writing.TFVARS:
            return _tfvars
        case Writing.DOTENV:
            return partial(_dotenv, interpolate)
        case Writing.JSON:
            return partial(_json, work)
        case Writing.SHELL:
            return _shell
