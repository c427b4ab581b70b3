"""The `teamvars` command."""

import gc
import importlib
import os
import sys
from contextlib import suppress
from typing import Any

from teamvars import __version__
from teamvars.cli.exits import INTERRUPTED, NOT_STARTED, USAGE, Failure, writing


def main() -> None:
    """The entry point."""
    _open_what_is_closed()
    try:
        sys.argv[1:] = [_text(word) for word in sys.argv[1:]]
    except UnicodeDecodeError:
        sys.stderr.write("teamvars: An argument is not UTF-8.\n")
        sys.exit(NOT_STARTED if sys.argv[1] in ("run", "exec") else USAGE)
    try:
        if sys.argv[1:] == ["--version"]:  # which needs nothing of what commands load
            with writing(sys.stdout):
                sys.stdout.write(f"teamvars {__version__}\n")
                sys.stdout.flush()
        else:
            named("teamvars.cli.program:run")()
    except Failure as failure:
        sys.exit(named("teamvars.cli.output:ended")(failure))
    except KeyboardInterrupt:
        with suppress(OSError):
            sys.stdout.flush()
        # At once: the interpreter would wait for threads, such as one that no resolver answers.
        os._exit(INTERRUPTED)
    except Exception as error:
        # Its text may hold what nobody may see, such as a part of the database's URL.
        sys.exit(f"teamvars: unexpected {named('teamvars.origins:origin')(error)}")


def named(place: str) -> Any:
    """What stands at `module:name`; the module is loaded now."""
    module, _, name = place.partition(":")
    gc.disable()  # what is loaded stays, and looking through it takes a twelfth of the time
    try:
        # By name, and only here: an import at the top would load everything for every command.
        return getattr(importlib.import_module(module), name)
    finally:
        gc.enable()


def _text(word: str) -> str:
    """An argument as UTF-8, where the locale knows no such letters. Raises UnicodeDecodeError."""
    try:
        word.encode()
    except UnicodeEncodeError:
        # Python lets what the locale does not know through as lone surrogates, which no store
        # takes and nothing can print.
        return os.fsencode(word).decode()
    return word


def _open_what_is_closed() -> None:
    """Gives standard streams that the caller has closed a place: their numbers would be taken by
    the next file or connection, and what is meant for the stream would go there."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            # The lowest number that is free is that of the stream.
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
