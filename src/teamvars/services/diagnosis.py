"""What `doctor` asks of a store that is ready to be served, and of providers that people sign in
with: what they publish, what becomes of a browser in which nobody is signed in, and of a code that
nobody was given.
"""

import asyncio
import secrets
import ssl
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import partial
from itertools import groupby
from operator import attrgetter
from urllib.parse import parse_qs

from msgspec.structs import replace

from teamvars.decisions.runners import PROPOSED, Trust, proposes
from teamvars.domain.diagnosis import (
    Finding,
    Losses,
    address_findings,
    census_findings,
    damage_findings,
    engine_findings,
    entry_findings,
    loss_findings,
    mail_findings,
    misfit_findings,
    seal_findings,
    text_findings,
    token_findings,
    trail_findings,
)
from teamvars.domain.findings import (
    Examined,
    ProviderTrial,
    Ways,
    provider_findings,
    runner_findings,
    sign_in_findings,
)
from teamvars.domain.keys import active_of
from teamvars.domain.runners import Runner
from teamvars.domain.sign_ins import Provider
from teamvars.domain.times import SECOND, Clock
from teamvars.security.answers import Answer
from teamvars.security.assertions import Unproven
from teamvars.security.chain import Chain
from teamvars.security.sealing import Opener, SealBroken, Sealer
from teamvars.security.sign_ins import Attempt
from teamvars.services import https
from teamvars.services.issuers import published
from teamvars.services.sign_ins import Client, departure, redeemed, word
from teamvars.storage import (
    data_keys,
    diagnosis,
    installation,
    invitations,
    organizations,
    queues,
    runners,
    streams,
    tokens,
    workspaces,
)
from teamvars.storage.database import Database, Transaction

_NEWEST_CHANGES = 1000

MOST_NAMED = 20
"""How many tokens, or losses, of a kind are named; of the others it is said how many they are."""

TRIAL_SECONDS = 10.0
"""For each provider; all are asked at once."""


class Diagnosis:
    """Looks at everything and changes nothing."""

    def __init__(self, database: Database, clock: Clock) -> None:
        """`clock` is this host's."""
        self._database = database
        self._clock = clock

    async def of_engine(self) -> list[Finding]:
        """The engine's version, settings and clock."""
        return engine_findings(await self._database.engine(), self._clock())

    async def of_data(self) -> list[Finding]:
        """The clock by which entries were made, and the directory."""
        newest = await self._database.read(streams.last_time)
        findings = entry_findings(newest, self._database.now())
        findings += census_findings(await self._database.read(diagnosis.census))
        findings += await self._database.read(_of_seals)
        return findings + await self._database.read(self._of_tokens)

    async def of_losses(self, sealer: Sealer) -> list[Finding]:
        """Whether every row is there that a stream counts, on one snapshot, and every data key
        opens.
        """

        async def body(tx: Transaction) -> list[Finding]:
            return loss_findings(
                usages=await diagnosis.lost_usages(tx, MOST_NAMED),
                entries=await diagnosis.lost_entries(tx, MOST_NAMED),
                streams=await diagnosis.lost_streams(tx, MOST_NAMED),
                places=await diagnosis.lost_places(tx, MOST_NAMED),
                data_keys=await _unopened(tx, sealer),
            )

        return await self._database.read(body)

    async def of_columns(self) -> list[Finding]:
        """Whether every text is one, and every row what the engine would take from us."""
        damaged, misfits = await self._database.damaged_texts(), await self._database.misfits()
        return [
            *text_findings(Losses(damaged[:MOST_NAMED], len(damaged))),
            *misfit_findings(Losses(misfits[:MOST_NAMED], len(misfits))),
        ]

    async def of_values(self, sealer: Sealer, *, every: bool) -> list[Finding]:
        """Whether values open: all there are, or one of each data key that opens."""
        tried = _Tried(sealer)
        if every:
            after = ""
            while values := await self._database.read(
                partial(installation.sealed_page, after=after)
            ):
                tried.add(values)
                after = values[-1].variable_id
        else:
            tried.add(await self._database.read(installation.one_value_of_each_key))
        return damage_findings(tried.damaged, tried.opened, every=every)

    async def of_trail(self, chain: Chain) -> list[Finding]:
        """Whether the head of every stream verifies; `audit verify` also looks at the entries."""
        heads = await self._database.read(streams.every)
        return trail_findings([one.id for one in heads if not chain.head_holds(one)], MOST_NAMED)

    async def of_runners(self, trust: Trust, chain: Chain, ways: Ways) -> list[Finding]:
        """Whether what is approved was approved with the keyring, and can be handed out."""

        async def is_altered(tx: Transaction, one: Runner) -> bool:
            where = one.organization_id, one.id
            entry = await streams.newest_about(tx, where, PROPOSED, None, ())
            return entry is None or not chain.attests(entry) or not proposes(entry, one)

        async def body(tx: Transaction) -> list[Examined]:
            owners = {one.id: one.name for one in (await organizations.every(tx)).values()}
            found = await runners.every(tx)
            of: defaultdict[str, dict[str, str]] = defaultdict(dict)
            for space, _ in await workspaces.of_organizations(
                tx, {one.organization_id for one in found}
            ):
                of[space.organization_id][space.id] = space.name
            return [
                Examined(
                    f"{owners.get(one.organization_id, one.organization_id)}/{one.spec.name}",
                    one,
                    trust.holds(one),
                    of[one.organization_id],
                    await is_altered(tx, one),
                )
                for one in found
            ]

        examined = await self._database.read(body)
        return runner_findings(examined, ways, self._database.now())

    async def of_sign_ins(self, providers: Sequence[Provider]) -> list[Finding]:
        """Whether one of these signs people in to each organization whose members have to."""
        there = await self._database.read(organizations.every)
        return sign_in_findings(there.values(), providers)

    async def of_addresses(self) -> list[Finding]:
        """Whether a proxy that nobody trusts makes all callers one; for where none is trusted."""
        newest = partial(diagnosis.newest_callers, most=_NEWEST_CHANGES)
        return address_findings(await self._database.read(newest))

    async def of_mail(self, server: str | None) -> list[Finding]:
        """How mail goes out, which is not tried here, and what hangs on it."""
        now = self._database.now()
        counted = await self._database.read(lambda tx: invitations.count_by_delivery(tx, now))
        memos, _ = await self._database.read(queues.MEMOS.waiting)
        return mail_findings(server, counted, memos)

    async def _of_tokens(self, tx: Transaction) -> list[Finding]:
        now = self._database.now()
        return token_findings(
            await tokens.unending(tx, now, MOST_NAMED),
            await tokens.unattached(tx, now, MOST_NAMED),
            await tokens.unused(tx, now, MOST_NAMED),
        )


class _Tried:
    """Which of some values do not open, and how many do. A key that does not is no news of them."""

    def __init__(self, sealer: Sealer) -> None:
        self._sealer = sealer
        self._damaged: list[str] = []
        self.opened = 0

    @property
    def damaged(self) -> Losses:
        return Losses(self._damaged[:MOST_NAMED], len(self._damaged))

    def add(self, values: Iterable[installation.SealedValue]) -> None:
        for place, alike in groupby(values, attrgetter("key", "owner_id", "sensitive")):
            key, *owner = place
            with suppress(SealBroken):
                self._sealer.generations(key)
                self._try(self._sealer.data_key(key).opener(*owner), alike)

    def _try(self, opener: Opener, values: Iterable[installation.SealedValue]) -> None:
        for value in values:
            try:
                opener(*value.sealed, value.variable_id)
            except SealBroken:
                self._damaged.append(value.title)
            else:
                self.opened += 1


async def _of_seals(tx: Transaction) -> list[Finding]:
    active = active_of(await data_keys.generations(tx))
    busiest = await data_keys.busiest(tx, active.activated_at or 0)
    return [] if busiest is None else seal_findings(busiest.organization_id, busiest.entries)


async def _unopened(tx: Transaction, sealer: Sealer) -> Losses:
    """The data keys that do not open, by organization."""
    broken = []
    for key in await installation.data_keys(tx):
        try:
            sealer.generations(key)
        except SealBroken:
            broken.append(f"the data key of {key.organization_id} does not open")
    return Losses(broken[:MOST_NAMED], len(broken))


async def tried(
    clients: Sequence[Client], clock: Clock, tls: ssl.SSLContext | None = None
) -> list[Finding]:
    """What is to be said of each. `clock` is this host's; `tls`: who vouches for their servers;
    None: whom this machine trusts.
    """
    found = await asyncio.gather(*(_asked(client, clock, tls) for client in clients))
    return [finding for one in found for finding in provider_findings(one)]


async def _asked(client: Client, clock: Clock, tls: ssl.SSLContext | None) -> ProviderTrial:
    provider = client.provider
    trial = ProviderTrial(provider.name, provider.issuer, provider.client_id, client.redirect)
    try:
        async with asyncio.timeout(TRIAL_SECONDS):
            has = await published(provider.issuer, tls)
            attempt = Attempt.new(provider.name, clock() // SECOND)
            # Nobody is signed in, so it has to send this back at once, to an address that it knows
            # (OpenID Connect Core 1.0, 3.1.2.6).
            asked = departure(client, has.about or {}, attempt, prompt="none")
            told = await https.ask(asked, tls)
            # Whose the client is, it finds out before it looks at the code (RFC 6749, 3.2.1).
            code, verifier = secrets.token_urlsafe(), secrets.token_urlsafe()
            post = partial(https.post, tls=tls)
            refused = await redeemed(client, has.about or {}, code, verifier, post)
    except (*https.FAILURES, Unproven) as error:
        reason = error.reason if isinstance(error, Unproven) else type(error).__name__
        return replace(trial, reason=reason)
    return replace(
        trial,
        keys=len(has.keys),
        seconds_apart=_seconds_apart(told, clock()),
        error=_sent_back_with(told, client.redirect),
        refusal=refused.error,
    )


def _seconds_apart(told: Answer, now: int) -> int:
    """How far a server's clock is from `now`, in µs UTC; 0: it does not say."""
    try:
        return abs(int(parsedate_to_datetime(told.headers["date"]).timestamp()) - now // SECOND)
    except (KeyError, ValueError, OverflowError):
        return 0


def _sent_back_with(told: Answer, redirect: str) -> str | None:
    """The error with which a browser is sent back, as `sign_ins.word`, and empty without one; None:
    it is not sent back.
    """
    place, _, query = told.headers.get("location", "").partition("?")
    if told.status not in (302, 303) or place != redirect:
        return None
    errors = parse_qs(query).get("error")
    return word(errors[0]) if errors else ""
