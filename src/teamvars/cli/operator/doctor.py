"""`doctor`: looks at an installation and says what to do."""

import os
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from functools import partial

from teamvars import settings, wiring
from teamvars.cli.commands import CLIENT_VARIABLES
from teamvars.cli.exits import ERROR
from teamvars.cli.operator.context import opened
from teamvars.cli.operator.host import (
    PROBLEMS,
    database_file,
    explanation,
    exposures,
    finish,
    load_settings,
)
from teamvars.cli.options import command, flag, json_option
from teamvars.cli.output import show
from teamvars.domain.diagnosis import Finding, Severity, disk_finding
from teamvars.domain.errors import Refusal
from teamvars.domain.findings import Ways
from teamvars.origins import origin
from teamvars.security.chain import Chain
from teamvars.security.keyring import Keyring
from teamvars.security.sealing import Sealer
from teamvars.services.diagnosis import Diagnosis, tried
from teamvars.services.installation import Installation, Outstanding
from teamvars.services.issuers import Trust
from teamvars.settings import Settings, SettingsError
from teamvars.storage.engines import database_for, described, is_sqlite, says_no_tls

_OK, _PROBLEM = Severity.OK, Severity.PROBLEM
_PARTS = (
    "the engine",
    "the keyring and the schema",
    "lost rows",
    "the audit trail",
    "values",
    "the directory",
    "mail",
    "runners",
    "signing in",
    "addresses",
)
"""Of the store, in the order in which they are looked at."""


@command
@flag("--all", "Open every value, not only one of each data key.", "every_value")
@json_option
def doctor(every_value: bool) -> None:
    """Check everything, change nothing; exit with 1 if there is a problem."""
    findings = finish(_collect(load_settings(), every_value))
    lines = (f"{one.severity:8} {one.subject}: {one.text}" for one in findings)
    show(findings, ((line,) for line in lines))
    if any(finding.severity is _PROBLEM for finding in findings):
        sys.exit(ERROR)


async def _collect(config: Settings, every_value: bool) -> list[Finding]:
    findings, unseen = [*_before_the_store(config), *await _providers(config)], list(_PARTS)
    try:
        async for some in _store(config, every_value):
            findings += some
            del unseen[0]
    except Refusal as refusal:
        text = " ".join(explanation(refusal).splitlines()).removesuffix(".")
        findings.append(Finding(_PROBLEM, "database", f"{text}. Check TEAMVARS_DATABASE_URL."))
    except PROBLEMS as problem:
        if all(finding.text != str(problem) for finding in findings):  # the keyring's mode is known
            findings.append(Finding(_PROBLEM, "installation", str(problem)))
    except Exception as error:
        if unseen:
            findings.append(_unforeseen(unseen.pop(0), error))
        else:
            text = f"All of it was looked at, but it could not be closed: {origin(error)}."
            findings.append(Finding(_PROBLEM, "database", text))
    if unseen:
        text = f"Not looked at because of that: {', '.join(unseen)}."
        findings.append(Finding(Severity.ADVICE, "unseen", text))
    return findings


async def _store(config: Settings, every_value: bool) -> AsyncIterator[list[Finding]]:
    """What is found of each of `_PARTS`. Raises at the first thing without which the rest cannot be
    looked at; a row that nobody foresaw hides only its own part.
    """
    database = database_for(config.url)
    async with opened(config, database) as marking:
        diagnosis = Diagnosis(database, wiring.clock)
        installation = Installation(database)
        engine = await diagnosis.of_engine()
        if is_sqlite(config.url):  # a database that is a file may have no room to grow
            engine.append(disk_finding(shutil.disk_usage(database_file(config).parent).free))
        yield engine
        keys = wiring.keys_of(config)
        await installation.require_ready(keys)
        sealer = Sealer(keys)
        yield [
            Finding(_OK, "keyring", _wholeness(config)),
            _schema(await installation.outstanding()),
            marking.finding,
        ]
        providers = [one.provider for one in wiring.setup_of(config).clients]
        looks: Sequence[Callable[[], Awaitable[list[Finding]]]] = (
            partial(_losses, diagnosis, sealer),
            partial(diagnosis.of_trail, Chain(keys)),
            partial(diagnosis.of_values, sealer, every=every_value),
            diagnosis.of_data,
            partial(diagnosis.of_mail, config.mail_host),
            partial(_runners, config, diagnosis, keys),
            partial(diagnosis.of_sign_ins, providers),
            partial(_addresses, config, diagnosis),
        )
        for part, look in zip(_PARTS[-len(looks) :], looks, strict=True):
            try:
                yield await look()
            except (Refusal, *PROBLEMS):
                raise
            except Exception as error:
                yield [_unforeseen(part, error)]


def _unforeseen(part: str, error: Exception) -> Finding:
    """What is stored is nothing that the service has ever written."""
    text = f"Rows that nobody foresaw keep {part} from being looked at: {origin(error)}."
    return Finding(_PROBLEM, "rows", text)


async def _losses(diagnosis: Diagnosis, sealer: Sealer) -> list[Finding]:
    return [*await diagnosis.of_losses(sealer), *await diagnosis.of_columns()]


async def _addresses(config: Settings, diagnosis: Diagnosis) -> list[Finding]:
    return [] if config.trusted_proxies else await diagnosis.of_addresses()


async def _providers(config: Settings) -> list[Finding]:
    try:
        clients = wiring.setup_of(config).clients
    except SettingsError:  # is told
        return []
    return await tried(clients, wiring.clock)


async def _runners(config: Settings, diagnosis: Diagnosis, keys: Keyring) -> list[Finding]:
    issuers = wiring.setup_of(config).issuers
    urls = [issuer.url for issuer in issuers]
    ways = Ways(urls, config.service is not None, keys.server is not None)
    trust = Trust(keys, issuers, config.runner_approval)
    return await diagnosis.of_runners(trust, Chain(keys), ways)


def _wholeness(config: Settings) -> str:
    by = wiring.wrapping_of(config)
    return f"{config.keyring_path} is whole" + ("" if by is None else f", and wrapped by {by.id}")


def _schema(left: Outstanding) -> Finding:
    """How far the migrations are, of a store that can be served."""
    if left.unfinished:
        text = "a migration is not finished. Run: teamvars migrate up"
    elif left.contracts:
        text = "once no node of an older release runs: teamvars migrate up --contract"
    else:
        return Finding(_OK, "schema", "migrated, and the keyring is this database's")
    return Finding(Severity.ADVICE, "schema", text)


def _before_the_store(config: Settings) -> Iterator[Finding]:
    """What can be seen without the store."""
    known = settings.variables() | CLIENT_VARIABLES
    for name in sorted(os.environ):
        if name.startswith("TEAMVARS_") and name not in known:  # is silently without effect
            text = f"{name} is not a setting of teamvars. Correct or unset it."
            yield Finding(_PROBLEM, "configuration", text)
    try:
        wiring.setup_of(config)
    except SettingsError as error:  # no server starts, and a worker that has to ends
        yield Finding(_PROBLEM, "issuers", str(error))
    found = exposures(config)
    for exposure in found:  # also what keeps no server from starting
        yield Finding(_PROBLEM, "permissions", exposure.text)
    if not found:
        yield Finding(_OK, "permissions", "nobody else can read or change the files")
    yield Finding(_OK, "store", described(config.url))
    if says_no_tls(config.url):  # then the driver decides, and takes what it gets
        text = (
            "TEAMVARS_DATABASE_URL has no sslmode: passwords and rows may cross the network "
            "unencrypted, to any server. Add sslmode=verify-full, and sslrootcert."
        )
        yield Finding(Severity.ADVICE, "encryption", text)
