"""`doctor`: looks at an installation and says what to do."""

import os
from collections.abc import AsyncIterator
from typing import Annotated

import typer

from teamvars import settings, wiring
from teamvars.cli.operator import files
from teamvars.cli.operator.context import PROBLEMS, explanation, finish, load_settings
from teamvars.cli.output import ERROR, print_json, say
from teamvars.cli.variables import CLIENT_VARIABLES
from teamvars.domain.diagnosis import Finding, Severity
from teamvars.domain.errors import Refusal
from teamvars.security import keyring
from teamvars.services.diagnosis import Diagnosis
from teamvars.services.installation import Installation
from teamvars.settings import Settings
from teamvars.storage.engines import database_for, described

_OK, _PROBLEM = Severity.OK, Severity.PROBLEM


def doctor(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Look at everything, change nothing; exit with 1 when there is a problem."""
    config = load_settings(context)
    findings = finish(_collect(config))
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            say(f"{finding.severity:8} {finding.subject}: {finding.text}")
    if any(finding.severity is _PROBLEM for finding in findings):
        raise typer.Exit(ERROR)


async def _collect(config: Settings) -> list[Finding]:
    store = Finding(_OK, "store", described(config.url))
    findings = [*_unknown_variables(), *_files(config), store]
    try:
        findings += [finding async for finding in _store(config)]
    except Refusal as refusal:
        text = " ".join(explanation(refusal).splitlines()).removesuffix(".")
        findings.append(Finding(_PROBLEM, "database", f"{text}. Check TEAMVARS_DATABASE_URL."))
    except PROBLEMS as problem:
        if all(finding.text != str(problem) for finding in findings):  # the keyring's mode is known
            findings.append(Finding(_PROBLEM, "installation", str(problem)))
    return findings


async def _store(config: Settings) -> AsyncIterator[Finding]:
    """Stops at the first thing without which the rest cannot be looked at."""
    async with database_for(config.url) as database:
        diagnosis = Diagnosis(database, wiring.clock)
        for finding in await diagnosis.of_engine():
            yield finding
        keys = keyring.load(config.keyring_path)
        yield Finding(_OK, "keyring", f"{config.keyring_path} is whole")
        await Installation(database, wiring.clock).require_ready(keys)
        yield Finding(_OK, "schema", "migrated, and the keyring is this database's")
        for finding in [*await diagnosis.of_data(), *await diagnosis.of_mail(config.mail_host)]:
            yield finding
        if not config.trusted_proxies:
            for finding in await diagnosis.of_addresses():
                yield finding


def _unknown_variables() -> list[Finding]:
    """A mistyped setting is otherwise silently without effect."""
    known = settings.variables() | CLIENT_VARIABLES
    return [
        Finding(
            _PROBLEM, "configuration", f"{name} is no setting of teamvars. Correct or unset it."
        )
        for name in sorted(os.environ)
        if name.startswith("TEAMVARS_") and name not in known
    ]


def _files(config: Settings) -> list[Finding]:
    """What others can do with the files, also what keeps no server from starting."""
    found = files.exposures(config)
    if not found:
        return [Finding(_OK, "permissions", "the files are closed to others")]
    return [Finding(_PROBLEM, "permissions", exposure.text) for exposure in found]
