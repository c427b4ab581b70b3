"""Variables as lines that POSIX shells (bash, dash, ksh, zsh) and fish read alike."""

import re

from teamvars.kernel.variables import InvalidKey, Variable, name_in_environment, text_of

_PART = re.compile(r"([^'\\]+)|(['\\])")
_NUMBER = re.compile(r"[0-9]{1,9}")
_EVALUATED = frozenset(
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


def line(variable: Variable) -> str:
    """A line that exports the variable. Refuses: what shells would evaluate."""
    name, text = name_in_environment(variable), text_of(variable)
    if name in _EVALUATED and not _NUMBER.fullmatch(text):
        raise InvalidKey("its key is that of a number in shells, which would evaluate its value")
    return f"export {name}={_word(text)}"


def _word(text: str) -> str:
    """A word that is this text. Between quotation marks a backslash is an escape to fish and a
    character to the others, so it stands outside, as the mark itself does."""
    parts = (f"'{found[1]}'" if found[1] else f"\\{found[2]}" for found in _PART.finditer(text))
    return "".join(parts) or "''"
