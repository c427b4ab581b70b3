"""What `doctor` finds: facts about an installation, and what to do about each."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, ip_address

import msgspec
from msgspec.structs import replace

from teamvars.domain.invitations import Delivery
from teamvars.domain.tokens import Suspects
from teamvars.domain.workspaces import Usage

CLOCK_TOLERANCE = 5_000_000
"""How far two clocks may be apart, in µs, before tokens expire at surprising times."""

_LEAST_FREE = 64 * 1024 * 1024
"""In bytes: a change of 16 MiB of values is written to the log and to the file, and others wait."""
_SQLITE_SAFE_SINCE = (3, 51, 3)
_POSTGRES_SUPPORTED_SINCE = 15
_MANY_CALLERS = 3
_WHOLE = "every row that a stream counts is there, and every data key opens"


SEALS = 2**32
"""How many values one data key may seal before a nonce may come twice (NIST SP 800-38D, 8.3)."""
MOST_SEALS = SEALS // 4
"""After so many another is due: a job that seals anew leaves no entries."""


class Severity(StrEnum):
    """`problem`: mend it; `advice`: know it; `ok`: nothing to do."""

    OK = "ok"
    ADVICE = "advice"
    PROBLEM = "problem"


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at; `text` says what to do unless all is well."""

    severity: Severity
    subject: str
    text: str


def _problem(subject: str, text: str) -> Finding:
    return Finding(Severity.PROBLEM, subject, text)


def _advice(subject: str, text: str) -> Finding:
    return Finding(Severity.ADVICE, subject, text)


def _ok(subject: str, text: str) -> Finding:
    return Finding(Severity.OK, subject, text)


class Pooler(StrEnum):
    """What is between a node and PostgreSQL: `none`, or a pooler that gives a session of the server
    to each connection (`session`), or to each transaction (`transaction`).
    """

    NONE = "none"
    SESSION = "session"
    TRANSACTION = "transaction"


class Engine(msgspec.Struct, frozen=True):
    """The engine behind the store: its version, settings that risk acknowledged writes, its clock.

    `clock` is in µs UTC; None where the engine runs on this host. `missing_standbys` are those that
    every commit waits for and that are not connected. `unset` is what statements through the
    pooler should run with and do not.
    """

    name: str
    version: tuple[int, ...]
    unsafe_settings: tuple[str, ...] = ()
    clock: int | None = None
    missing_standbys: int = 0
    pooler: Pooler = Pooler.NONE
    unset: tuple[str, ...] = ()


class Census(msgspec.Struct, frozen=True):
    """What the directory looks like: teams by what their members may, organizations by owners."""

    managing_teams: tuple[str, ...]
    making_teams: tuple[str, ...]
    token_teams: tuple[str, ...]
    secret_sets: tuple[str, ...]
    single_owner: tuple[str, ...]
    without_owner: tuple[str, ...]


def engine_findings(engine: Engine, now: int) -> list[Finding]:
    """What the engine's version, settings and clock are worth."""
    findings = [_version(engine, ".".join(map(str, engine.version)))]
    findings += [
        _problem(
            "durability",
            f"{engine.name} runs with {setting}: acknowledged changes may get lost. Turn it on.",
        )
        for setting in engine.unsafe_settings
    ]
    if engine.missing_standbys:
        text = (
            f"Synchronous standbys of {engine.name} that are not connected: "
            f"{engine.missing_standbys}. No change can be committed meanwhile. Start them, or "
            "change synchronous_standby_names."
        )
        findings.append(_problem("standby", text))
    if engine.clock is not None and abs(engine.clock - now) > CLOCK_TOLERANCE:
        seconds = abs(engine.clock - now) // 1_000_000
        text = f"The database's clock and this host's are {seconds} s apart. Synchronise both."
        findings.append(_problem("clock", text))
    if engine.pooler is not Pooler.NONE:
        findings.append(_passage(engine))
    return findings


def disk_finding(free: int) -> Finding:
    """What so many free bytes are worth, on the disk of a database that is a file."""
    if free >= _LEAST_FREE:
        return _ok("disk", "the database's disk has room")
    text = (
        f"Only {free // (1024 * 1024)} MiB are free on the database's disk, and changes fail once "
        "it is full. Make room."
    )
    return _problem("disk", text)


def census_findings(census: Census) -> list[Finding]:
    """Who can gain more than their grants say, and which organizations hang on one person."""
    told = (
        (
            census.managing_teams,
            _advice(
                "manage-membership",
                "Members of team {} can add themselves to any visible team but owners, and "
                "so gain its grants. Keep that team small.",
            ),
        ),
        (
            census.making_teams,
            _advice(
                "manage-teams",
                "Members of team {} can make tokens of visible teams that may do nothing they may "
                "not, and such a token outlives their membership. Keep that team small.",
            ),
        ),
        (
            census.token_teams,
            _advice(
                "members-manage-token",
                "Members of team {} can make and copy its token, which outlives their "
                "membership. Replace it when one of them leaves.",
            ),
        ),
        (
            census.secret_sets,
            _advice(
                "variable sets",
                "Set {} is global and has secrets: with any workspace, a runner that is handed "
                "secrets is handed these too. Attach the set to the workspaces that need them.",
            ),
        ),
        (
            census.single_owner,
            _advice(
                "owners",
                "Organization {} has one active owner. Add another before they leave.",
            ),
        ),
        (
            census.without_owner,
            _problem(
                "owners",
                "Organization {} has no active owner. Name one with 'directory apply'.",
            ),
        ),
    )
    return [
        replace(finding, text=finding.text.format(name))
        for names, finding in told
        for name in names
    ]


def mail_findings(server: str | None, counted: Mapping[Delivery, int], memos: int) -> list[Finding]:
    """Whether messages go out, by which server, how many wait besides so many memos, and which
    invitations nobody has a link to.
    """
    waiting, failed = counted.get(Delivery.WAITING, 0), counted.get(Delivery.FAILED, 0)
    if server is None:
        text = "not set up; 'teamvars invite' shows links instead"
        findings = [_ok("mail", text)]
    else:
        findings = [_ok("mail", f"by {server}; messages that wait: {waiting + memos}")]
    without = failed + counted.get(Delivery.NONE, 0) + (waiting if server is None else 0)
    if without:
        text = (
            f"Invitations whose link nobody has: {without}, refused by a mail server: "
            f"{failed}. See 'teamvars invite list', and resend or revoke them."
        )
        findings.append(_advice("mail", text))
    return findings


def token_findings(unending: Suspects, unattached: Suspects, unused: Suspects) -> list[Finding]:
    """Tokens that somebody should look at, each kind in one finding."""
    told = (
        (unending, "never expire", "Give their users tokens that expire, and revoke these"),
        (unattached, "belong to users without a membership", "Revoke them, or disable the users"),
        (unused, "were not used for 90 days", "Revoke those that nobody needs"),
    )
    return [
        _advice("tokens", f"Tokens that {what} ({some.total}): {_named(some)}. {mend}.")
        for some, what, mend in told
        if some.total
    ]


def entry_findings(newest: int, now: int) -> list[Finding]:
    """Whether the newest audit entry was made by a clock that is right, both in µs UTC."""
    ahead = newest - now
    if ahead <= CLOCK_TOLERANCE:
        return []
    text = (
        f"The newest audit entry is {ahead // 1_000_000} s in the future. Set the clock, unless it "
        "is right by now and was ahead then."
    )
    return [_problem("clock", text)]


def trail_findings(altered: Sequence[str], most: int) -> list[Finding]:
    """The streams whose heads do not hold, of which so many are named."""
    if not altered:
        return [_ok("trail", "the head of every stream verifies")]
    text = (
        f"Streams that were altered outside of the service ({len(altered)}): "
        f"{some_of(altered[:most], len(altered))}. Changes to them are refused. Run 'teamvars "
        "audit verify', find out who did it, and then restore a backup or run 'teamvars audit "
        "accept'."
    )
    return [_problem("trail", text)]


def address_findings(callers: Mapping[str, int]) -> list[Finding]:
    """What the addresses of changes, each with its number of callers, say of a proxy in between."""
    addresses = [_parsed(address) for address in callers]
    are_here = all(address is not None and address.is_loopback for address in addresses)
    is_one_inside = [address is not None and address.is_private for address in addresses] == [True]
    if sum(callers.values()) < _MANY_CALLERS or not (are_here or is_one_inside):
        return []
    text = (
        f"All recent changes came from {', '.join(sorted(callers))}. If it is a proxy, name it in "
        "TEAMVARS_TRUSTED_PROXIES: until then failures and limits of all callers count together."
    )
    return [_advice("addresses", text)]


def _parsed(address: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(address)
    except ValueError:
        return None


def some_of(named: Sequence[str], total: int) -> str:
    """Those that are named, and how many more there are."""
    more = total - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def _named(suspects: Suspects) -> str:
    named = [f"{issued.token.id} ({issued.title})" for issued in suspects.named]
    return some_of(named, suspects.total)


def _passage(engine: Engine) -> Finding:
    """How settings get through the pooler, as a statement through it reads them."""
    if engine.unset:
        text = (
            f"Statements through the pooler run without {', '.join(engine.unset)}. As the account "
            "that serves, run: teamvars migrate up. Then end the pooler's sessions, which keep "
            "what they began with: RECONNECT in PgBouncer's console."
        )
        return _problem("pooler", text)
    set_by = {
        Pooler.SESSION: "each connection sets what it needs",
        Pooler.TRANSACTION: "the account's sessions and each transaction set what is needed",
    }
    return _ok("pooler", f"in {engine.pooler} mode: {set_by[engine.pooler]}")


def _version(engine: Engine, version: str) -> Finding:
    if engine.name == "SQLite" and engine.version < _SQLITE_SAFE_SINCE:
        text = f"SQLite {version} can corrupt a database with two writers. Update apsw."
        return _problem("engine", text)
    if engine.name == "PostgreSQL" and (14, 0) <= engine.version < (14, 4):
        text = f"PostgreSQL {version} can corrupt indexes. Update to 14.4 or later, and reindex."
        return _problem("engine", text)
    if engine.name == "PostgreSQL" and engine.version[0] < _POSTGRES_SUPPORTED_SINCE:
        text = f"PostgreSQL {version} no longer gets fixes. Plan an upgrade."
        return _advice("engine", text)
    return _ok("engine", f"{engine.name} {version}")


# What a store has lost: rows that its streams count, and data keys that open


class Losses(msgspec.Struct, frozen=True):
    """Some losses of a kind, each in words, and how many there are."""

    named: Sequence[str]
    total: int


def usage_loss(stream_id: str, said: Usage, found: Usage) -> str:
    """A workspace that should hold what its stream says, and holds something else."""
    return f"{stream_id} has {_in_words(found)} instead of {_in_words(said)}"


def entries_loss(stream_id: str, sequence: int, found: int, newest: int) -> str:
    """A stream that should have every entry up to its number, and has others."""
    return f"{stream_id} has {found}, the last of them number {newest}, instead of {sequence}"


_ASTRAY = (
    "Workspaces in a project that their organization does not have, or runners of no organization"
)


def loss_findings(
    *, usages: Losses, entries: Losses, streams: Losses, places: Losses, data_keys: Losses
) -> list[Finding]:
    """A problem for each kind of loss; where there is none, that all is there."""
    told = (
        ("variables", usages, "Workspaces or sets with other variables than were counted"),
        ("audit", entries, "Streams with other audit entries than were counted"),
        ("streams", streams, "Streams without their subject, or subjects without their stream"),
        ("places", places, _ASTRAY),
        ("data keys", data_keys, "Organizations whose values cannot be read"),
    )
    found = [
        finding
        for subject, losses, what in told
        for finding in _lost(subject, what, losses, "Restore a complete backup.")
    ]
    return found or [_ok("rows", _WHOLE)]


def text_findings(damaged: Losses) -> list[Finding]:
    """A problem where rows have texts that are no UTF-8, each by its table, key and column."""
    what = "Texts that are no UTF-8, and were altered outside of the service"
    return _lost("texts", what, damaged, "Write them anew, or take them from a backup.")


def misfit_findings(misfits: Losses) -> list[Finding]:
    """A problem where rows are none that the service writes, in words."""
    what = "Rows that were altered outside of the service"
    return _lost("rows", what, misfits, "Take them from a backup.")


def _lost(subject: str, what: str, losses: Losses, remedy: str) -> list[Finding]:
    """A problem that names some of them, if there are any."""
    if not losses.total:
        return []
    return [_problem(subject, f"{what} ({losses.total}): {_some_named(losses)}. {remedy}")]


def seal_findings(organization_id: str, entries: int) -> list[Finding]:
    """Whether another generation of data keys is due: `entries` are what the organization has made
    since the one in use came into use, and each value that was sealed has left one.
    """
    if entries <= MOST_SEALS:
        return []
    text = (
        f"The data key of {organization_id} may have sealed {entries:,} values, and is for "
        f"{SEALS:,} at most. Run: teamvars keys add data"
    )
    return [Finding(Severity.ADVICE, "data keys", text)]


def damage_findings(damaged: Losses, opened: int, *, every: bool) -> list[Finding]:
    """Of the values that were tried, every one there is or one of each data key, those that are
    damaged; `opened` are not.
    """
    tried = (
        "every value whose data key opens"
        if every
        else "a value of each data key; 'doctor --all' opens every one"
    )
    if not damaged.total:
        return [_ok("values", f"{opened} open: {tried}")]
    text = (
        f"Values that cannot be decrypted ({damaged.total}, and {opened} open): "
        f"{_some_named(damaged)}. "
        "Write new ones over them, or delete the variables."
    )
    return [_problem("values", text)]


def _in_words(usage: Usage) -> str:
    return f"{usage.variables} variables of {usage.value_bytes} bytes"


def _some_named(losses: Losses) -> str:
    more = losses.total - len(losses.named)
    return "; ".join(losses.named) + (f"; and {more} more" if more else "")
