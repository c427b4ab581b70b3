"""What `doctor` asks of a store that is ready to be served."""

from functools import partial

from teamvars.domain.diagnosis import (
    CLOCK_TOLERANCE,
    Finding,
    Severity,
    address_findings,
    census_findings,
    engine_findings,
    mail_findings,
    token_findings,
)
from teamvars.services import Clock
from teamvars.storage import diagnosis, invitations, issued_tokens
from teamvars.storage.database import Database, Transaction

_NEWEST_CHANGES = 1000

MOST_NAMED = 20
"""How many tokens of a kind are named; of the others it is said how many they are."""


class Diagnosis:
    """Looks at everything and changes nothing."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def of_engine(self) -> list[Finding]:
        """The engine's version, settings and clock."""
        return engine_findings(await self._database.engine(), self._clock())

    async def of_data(self) -> list[Finding]:
        """The clock by which entries were made, and the directory."""
        findings = []
        ahead = await self._database.read(diagnosis.newest_entry_at) - self._clock()
        if ahead > CLOCK_TOLERANCE:
            text = f"The newest audit entry is {ahead // 1_000_000} s in the future. Set the clock."
            findings.append(Finding(Severity.PROBLEM, "clock", text))
        findings += census_findings(await self._database.read(diagnosis.census))
        return findings + await self._database.read(self._of_tokens)

    async def of_addresses(self) -> list[Finding]:
        """Whether a proxy that nobody trusts makes all callers one; for where none is trusted."""
        newest = partial(diagnosis.newest_callers, most=_NEWEST_CHANGES)
        return address_findings(await self._database.read(newest))

    async def of_mail(self, server: str | None) -> list[Finding]:
        """How mail goes out, which is not tried here, and the invitations that hang on it."""
        now = self._clock()
        counted = await self._database.read(lambda tx: invitations.count_by_delivery(tx, now))
        return mail_findings(server, counted)

    async def _of_tokens(self, tx: Transaction) -> list[Finding]:
        now = self._clock()
        return token_findings(
            await issued_tokens.unending(tx, now, MOST_NAMED),
            await issued_tokens.unattached(tx, now, MOST_NAMED),
            await issued_tokens.unused(tx, now, MOST_NAMED),
        )
