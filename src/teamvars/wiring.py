"""Builds everything by hand, on one page."""

import asyncio
import gc
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import starmap

import msgspec
import structlog
from msgspec.structs import replace

from teamvars import console, logs, metrics, settings
from teamvars.changes import Tools
from teamvars.changes.making import Changes
from teamvars.domain.errors import Refusal, tells_of_outage
from teamvars.domain.invitations import MAX_A_DAY
from teamvars.domain.runners import ApprovalMode
from teamvars.domain.sign_ins import Provider
from teamvars.domain.times import DAY
from teamvars.domain.variable_sets import Quotas, SetLimits, VariableSet
from teamvars.domain.workspaces import Quota, Workspace
from teamvars.fair_slots import Turns
from teamvars.mail import Mailer, Server
from teamvars.metrics import Gauge, Look, Memory
from teamvars.metrics.exposition import Exposition
from teamvars.security import keyring
from teamvars.security.assertions import Unproven
from teamvars.security.chain import Chain
from teamvars.security.cursors import Cursors
from teamvars.security.idempotency import RecordKeys
from teamvars.security.keyring import Keyring, KeyringError, KeyringUnavailable, KeysInUse
from teamvars.security.sealing import Sealer
from teamvars.security.wrapping import Once, Wrapping, adapter
from teamvars.services import rendered
from teamvars.services.applies import Applies, Copies
from teamvars.services.audit import Audit
from teamvars.services.code.checker import CodeChecker
from teamvars.services.data_keys import DataKeys, Rewraps
from teamvars.services.deliveries import Deliveries, HostDeliveries
from teamvars.services.directory_files.files import DirectoryFiles
from teamvars.services.effective import EffectiveVariables
from teamvars.services.gauges import Gauges
from teamvars.services.house import House
from teamvars.services.idempotency import OnceDatabase, Repeats
from teamvars.services.installation import Installation, Readiness
from teamvars.services.invitations import (
    InvitationLinks,
    Invitations,
    Inviting,
    OperatorInvitations,
)
from teamvars.services.issuers import Issuer, KeyFiles, Trust, given
from teamvars.services.keys import Keys
from teamvars.services.logins import Logins
from teamvars.services.memberships import Memberships, OperatorLeavers
from teamvars.services.nodes import Admission, ServingNode
from teamvars.services.organizations import Organizations
from teamvars.services.outbox import Outbox
from teamvars.services.parsed_files import ParsedFiles, ValueChecks
from teamvars.services.projects import Projects
from teamvars.services.rendered import RenderedLists
from teamvars.services.runners import Approvals, Runners
from teamvars.services.sign_ins import Client, SignIns
from teamvars.services.tags import Tags
from teamvars.services.team_access import Grants, ProjectGrants
from teamvars.services.teams import TeamMembers, Teams
from teamvars.services.tokens import IssuedTokens, Sessions, TokenLimits, Tokens
from teamvars.services.users import Accounts, Users
from teamvars.services.variable_search import Searches
from teamvars.services.variable_sets import VariableSets
from teamvars.services.variables import Variables
from teamvars.services.workspaces import Accesses, Workspaces
from teamvars.settings import CACHE_MIB, NamedIssuer, NamedProvider, Settings, SettingsError
from teamvars.storage.database import Database
from teamvars.storage.engines import database_for
from teamvars.storage.engines.outages import WatchedDatabase
from teamvars.storage.engines.sqlite import host_time
from teamvars.web import (
    audit,
    copies,
    deliveries,
    invitations,
    logins,
    memberships,
    oauth,
    organizations,
    parsed_files,
    projects,
    runners,
    service,
    sign_ins,
    tags,
    team_access,
    teams,
    tokens,
    users,
    variable_sets,
    workspaces,
)
from teamvars.web.applies import ApplyRoutes
from teamvars.web.dialects import DIALECTS, STANDARD, Dialect
from teamvars.web.examples import IDS, TAGS
from teamvars.web.http import openapi
from teamvars.web.http.addresses import ClientAddresses
from teamvars.web.http.app import Application, ASGIApp, with_lifespan
from teamvars.web.http.routes import Route
from teamvars.web.variables.effective import EffectiveRoutes
from teamvars.web.variables.owners import OF_SETS, OF_WORKSPACES
from teamvars.web.variables.routes import VariableRoutes, inherited_variable_routes, named_routes
from teamvars.web.variables.search import VariableSearchRoutes

HOUSEKEEPING_SECONDS = 60
_UNWRAP_SECONDS = 1.0
_OBJECTS_BETWEEN_COLLECTIONS = 5000
"""A batch of requests makes more than the interpreter's 700, and hardly ever a cycle among them."""

CLOCK = Gauge(
    "teamvars_clock_offset_seconds",
    "How many seconds this host's clock is ahead of the store's, or behind it if negative.",
)

log = structlog.get_logger("teamvars")


class Services(msgspec.Struct, frozen=True):
    """All use cases over one store and one keyring."""

    database: Database
    changes: Changes
    repeats: Repeats
    installation: Installation
    readiness: Readiness
    sessions: Sessions
    sign_ins: SignIns
    lists: RenderedLists
    logins: Logins
    variables: Variables
    effective: EffectiveVariables
    variable_sets: VariableSets
    searches: Searches
    applies: Applies
    copies: Copies
    team_members: TeamMembers
    memberships: Memberships
    operator_leavers: OperatorLeavers
    invitations: Invitations
    invitation_links: InvitationLinks
    operator_invitations: OperatorInvitations
    outbox: Outbox
    teams: Teams
    grants: Grants
    project_grants: ProjectGrants
    accesses: Accesses
    tags: Tags
    users: Users
    organizations: Organizations
    projects: Projects
    workspaces: Workspaces
    value_checks: ValueChecks
    parsed_files: ParsedFiles
    code: CodeChecker
    tokens: Tokens
    token_limits: TokenLimits
    issued_tokens: IssuedTokens
    accounts: Accounts
    directory: DirectoryFiles
    audit: Audit
    runners: Runners
    approvals: Approvals
    deliveries: Deliveries
    gauges: Gauges
    host_deliveries: HostDeliveries
    keys: Keys
    keys_in_use: KeysInUse
    data_keys: DataKeys
    rewraps: Rewraps


clock = host_time
"""For what is no node's and nobody's: commands that only look."""


class Setup(msgspec.Struct, frozen=True):
    """What an operator sets besides store and keyring: the memory for lists, the mail server if
    there is one, how many links an organization has a day, where links lead, and who may say what
    a job is; `service` is what the audiences of jobs' tokens begin with, and `approval` says who
    approves runners, and `limits` how many variable sets there may be; `clients` are what providers
    know us as with which people sign in, and `approving` is the address at which they approve
    programs, if there is one.
    """

    cache_mib: int = CACHE_MIB
    mail_server: Server | None = None
    invitations_a_day: int = MAX_A_DAY
    own_url: str = "http://127.0.0.1:8080"
    issuers: tuple[Issuer, ...] = ()
    service: str | None = None
    approval: ApprovalMode = ApprovalMode.OPERATOR
    limits: SetLimits = SetLimits.of()
    clients: tuple[Client, ...] = ()
    approving: str | None = None


def services(
    database: Database,
    keys: Keyring,
    quota: Quota,
    dialect: Dialect = STANDARD,
    setup: Setup = Setup(),  # noqa: B008 - frozen
) -> Services:
    """The services, each with what it needs."""
    code = CodeChecker()
    tools = Tools(Sealer(keys), Chain(keys), database.now)
    records, cursors = RecordKeys(keys), Cursors(keys)
    changes = Changes(OnceDatabase(database, records), tools, code.verdicts)
    quotas: Quotas = {Workspace: quota, VariableSet: setup.limits.of_set}
    trust = Trust(keys, setup.issuers, setup.approval)
    house = House(database, tools, changes, cursors, code, quotas, setup.limits, trust)
    lists = RenderedLists(setup.cache_mib * 1024 * 1024)
    own_house = replace(house, changes=Changes(database, tools, code.verdicts))
    inviting = Inviting(setup.mail_server is not None, setup.invitations_a_day, setup.own_url)
    mailer = None if setup.mail_server is None else Mailer(setup.mail_server)
    outbox = Outbox(own_house, mailer)
    deliveries = Deliveries(house, keys, setup.service)
    admission = Admission(database, keys)
    users = tools.sealer, tools.chain, records, cursors, trust, deliveries, admission
    in_use = KeysInUse(keys, *users)
    data_keys = DataKeys(own_house, database)
    all_keys = Keys(own_house, in_use, data_keys)
    installation = Installation(database)
    return Services(
        database=database,
        changes=changes,
        repeats=Repeats(own_house),
        installation=installation,
        readiness=Readiness(installation, in_use),
        sessions=Sessions(house),
        sign_ins=SignIns(own_house, setup.clients),
        lists=lists,
        logins=Logins(own_house, setup.approving),
        variables=Variables(house, lists),
        effective=EffectiveVariables(house, lists),
        variable_sets=VariableSets(house),
        searches=Searches(house),
        applies=Applies(house),
        copies=Copies(house),
        team_members=TeamMembers(house, usernames=dialect.usernames),
        memberships=Memberships(house),
        operator_leavers=OperatorLeavers(own_house),
        invitations=Invitations(house, inviting, outbox.wake),
        invitation_links=InvitationLinks(house),
        operator_invitations=OperatorInvitations(own_house, inviting),
        outbox=outbox,
        teams=Teams(house),
        grants=Grants(house),
        project_grants=ProjectGrants(house),
        accesses=Accesses(house),
        tags=Tags(house),
        users=Users(house),
        organizations=Organizations(house),
        projects=Projects(house),
        workspaces=Workspaces(house),
        value_checks=ValueChecks(house),
        parsed_files=ParsedFiles(house),
        code=code,
        tokens=Tokens(house),
        token_limits=TokenLimits(house),
        issued_tokens=IssuedTokens(house),
        accounts=Accounts(house),
        directory=DirectoryFiles(house),
        audit=Audit(house),
        runners=Runners(house),
        approvals=Approvals(own_house),
        deliveries=deliveries,
        gauges=Gauges(house),
        host_deliveries=HostDeliveries(own_house),
        keys=all_keys,
        keys_in_use=in_use,
        data_keys=data_keys,
        rewraps=Rewraps(own_house, data_keys, all_keys.sign_anew),
    )


def routes(
    all_services: Services,
    dialect: Dialect = STANDARD,
    *,
    directory_api: bool = True,
    has_console: bool = False,
    memories: Sequence[Memory] = (),
) -> list[Route]:
    """Every route of the API; where there is a console as well, `/` leads browsers to it.
    `memories` are where the processes of the server count.
    """
    applies = ApplyRoutes(all_services.applies, dialect)
    searching = Turns.of_searches()
    listed = [
        *VariableRoutes(all_services.variables, dialect, OF_WORKSPACES).routes(),
        *EffectiveRoutes(all_services.effective, dialect).routes(),
        *VariableSearchRoutes(all_services.searches, searching, dialect).routes(),
        *teams.member_routes(all_services.team_members),
        *memberships.routes(all_services.memberships),
        *workspaces.routes(all_services.workspaces),
        *applies.routes(),
        *copies.routes(all_services.copies, applies, dialect),
        *applies.update_routes(),
        *parsed_files.routes(all_services.parsed_files, all_services.value_checks, dialect),
        *audit.routes(all_services.audit, searching),
        *oauth.routes(all_services.deliveries, all_services.logins),
        *logins.routes(all_services.logins),
        *deliveries.routes(all_services.deliveries),
        *service.metrics_routes(all_services.users, Exposition(memories)),
        *(directory_routes(all_services, dialect) if directory_api else ()),
        *service.routes(
            all_services.readiness,
            dialect,
            console.PATH if has_console else None,
        ),
    ]
    return [*listed, openapi.route(listed, IDS, TAGS, dialect.amend)]


def directory_routes(all_services: Services, dialect: Dialect) -> list[Route]:
    """What `TEAMVARS_DIRECTORY_API=off` leaves out."""
    return [
        *service.discovery_routes(),
        *organizations.routes(all_services.organizations, dialect),
        *projects.routes(all_services.projects),
        *workspaces.directory_routes(all_services.workspaces),
        *named_routes(all_services.variables, all_services.workspaces, dialect),
        *VariableRoutes(all_services.variables, dialect, OF_SETS).routes(),
        *inherited_variable_routes(all_services.variables, dialect),
        *variable_sets.routes(all_services.variable_sets),
        *users.routes(all_services.users),
        *teams.routes(all_services.teams, dialect),
        *memberships.directory_routes(all_services.memberships, all_services.invitations),
        *invitations.routes(all_services.invitation_links),
        *team_access.routes(all_services.grants, dialect),
        *team_access.project_routes(all_services.project_grants, dialect),
        *workspaces.access_routes(all_services.accesses),
        *tags.routes(all_services.tags),
        *tokens.routes(all_services.tokens, all_services.sign_ins),
        *tokens.limit_routes(all_services.token_limits),
        *runners.routes(all_services.runners),
    ]


def console_routes(config: Settings, all_services: Services) -> list[Route]:
    """Those of the console, where people sign in with providers if there are any, and approve
    programs.
    """
    pages = logins.page_routes(all_services.logins)
    if config.service is None or not config.providers:
        return [*pages, *console.routes()]
    return [*pages, *console.routes(sign_ins.SignInPages(all_services.sign_ins, config.service))]


def asgi(
    config: Settings,
    keys: Keyring,
    by: Wrapping | None = None,
    memories: Sequence[Memory] = (),
) -> ASGIApp:
    """The application over a store of its own, opened when the server starts it. `by`: what wraps
    the file of the keyring, which may be another later; `memories`: where the processes of the
    server count.
    """
    database = WatchedDatabase(database_for(config.url, statement_seconds=config.statement_seconds))
    dialect = DIALECTS[config.dialect]
    setup = setup_of(config)
    all_services = services(database, keys, config.quota, dialect, setup)
    named = zip(setup.issuers, config.issuers, strict=True)
    key_files = KeyFiles([(issuer, one.keys) for issuer, one in named if one.keys is not None])
    node = ServingNode(
        all_services.installation,
        all_services.keys_in_use,
        config.keyring_path,
        partial(keyring.load, config.keyring_path, by),
    )
    listed = routes(
        all_services,
        dialect,
        directory_api=config.directory_api,
        memories=memories,
        has_console=config.has_console,
    )
    application = Application(
        [*listed, *(console_routes(config, all_services) if config.has_console else ())],
        all_services.sessions,
        ClientAddresses(config.trusted_proxies, are_audited=config.audit_addresses),
        dialect.ignored_includes,
        config.rate_limit,
    )

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        with suppress(Refusal):  # was there when the server started; each request asks again
            await database.open()
            await node.say()
        # What is there now stays. Going through all of it in search of garbage took 20 ms each
        # time, several times a second.
        gc.freeze()
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
        chores = [
            asyncio.create_task(node.follow()),
            asyncio.create_task(all_services.readiness.watch()),
            asyncio.create_task(_keep_house(all_services)),
            asyncio.create_task(all_services.outbox.run()),
            asyncio.create_task(key_files.watch()),
            asyncio.create_task(metrics.beat([*application.looks, *_looks(all_services)])),
        ]
        if [memory.process_id for memory in memories[1:2]] == [os.getpid()]:
            # One worker of a node is enough for what takes long.
            gauges = all_services.gauges
            chores += [
                asyncio.create_task(_each_minute(count))
                for count in (gauges.count_key_uses, gauges.count_seals)
            ]
        yield
        for chore in chores:
            chore.cancel()
        with suppress(Refusal):
            await node.leave()
            await all_services.sessions.store_uses()
        all_services.sign_ins.close()
        await all_services.logins.close()
        await all_services.changes.close()
        await all_services.code.close()
        await database.close()

    return with_lifespan(application, lifespan)


def wrapping_of(config: Settings) -> Wrapping | None:
    """What is to be asked for the keyring, if it is wrapped."""
    return None if config.keyring_wrap is None else Once(adapter(config.keyring_wrap))


def keys_of(config: Settings) -> Keyring:
    """The keyring. Raises KeyringError."""
    return keyring.load(config.keyring_path, wrapping_of(config))


def setup_of(config: Settings) -> Setup:
    """What the settings say of it."""
    server = None
    if config.smtp_url and config.mail_from and config.public_url:
        url = config.smtp_url.get_secret_value()
        server = Server(url, config.mail_from, config.public_url, config.smtp_insecure)
    return Setup(
        config.cache_mib,
        server,
        config.invitations_a_day,
        config.own_url,
        tuple(map(_issuer, config.issuers)),
        config.service,
        config.runner_approval,
        config.set_limits,
        tuple(starmap(partial(_client, config.public_url or ""), config.providers.items())),
        config.service if config.has_console else None,
    )


def _client(public_url: str, name: str, named: NamedProvider) -> Client:
    """What a provider knows us as. Raises SettingsError."""
    secret, file = None, named.client_secret_file
    try:
        if file is not None:
            secret = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        text = f"Wrong settings: providers.{name}.client_secret_file: {file} cannot be read."
        raise SettingsError(text) from None
    if secret == "":
        raise SettingsError(
            f"Wrong settings: providers.{name}.client_secret_file: {file} is empty."
        )
    provider = Provider(
        name,
        named.title,
        named.issuer,
        named.client_id,
        named.organizations,
        tuple(map(str.lower, named.domains)),
        named.token_days * DAY,
    )
    return Client(provider, secret, public_url + sign_ins.callback(name))


def _issuer(named: NamedIssuer) -> Issuer:
    """The issuer, with its keys if there is a file of them. Raises SettingsError."""
    if named.keys is None:
        return Issuer(named.url)
    try:
        return given(named.url, named.keys)
    except Unproven as unproven:
        text = f"Wrong settings: issuers: {named.keys} does not serve: {unproven.reason}."
        raise SettingsError(text) from None


def worker(by: Wrapping | None = None, memories: Sequence[Memory] = ()) -> ASGIApp:
    """What each worker process of the server runs; it reads the settings from the environment.

    `by`: what wraps the keyring; the server has asked it, if the file is as it was then.
    `memories`: where the processes of the server count, the one in front first.
    """
    config = settings.load()
    logs.configure(config.log_format, config.log_level, config.log_sample)
    try:
        return asgi(config, _awaited_keys(config, by), by, memories)
    except (KeyringError, SettingsError) as error:  # was there when the server started
        log.error("a worker cannot start", reason=str(error))
        raise SystemExit(1) from None


def _awaited_keys(config: Settings, by: Wrapping | None) -> Keyring:
    """The keyring, once it can be unwrapped: a worker that ended for that would end the server."""
    is_said = False
    while True:
        try:
            return keyring.load(config.keyring_path, by)
        except KeyringUnavailable as unavailable:
            if not is_said:
                log.warning("a worker waits for what unwraps the keyring", reason=str(unavailable))
            is_said = True
        time.sleep(_UNWRAP_SECONDS)


def _looks(all_services: Services) -> list[Look]:
    """What is to be seen of the services now and then."""
    return [
        Look(rendered.HELD, lambda: all_services.lists.bytes),
        Look(CLOCK, lambda: _seconds_ahead(all_services.readiness)),
        *all_services.database.looks,
    ]


def _seconds_ahead(readiness: Readiness) -> float:
    """How far this host's clock is ahead of the store's; 0 where that is not known."""
    try:
        return readiness.clock_ahead / 1_000_000
    except Refusal:
        return 0.0


async def _keep_house(all_services: Services) -> None:
    """What runs by the clock."""
    await _each_minute(
        all_services.sessions.store_uses,
        all_services.repeats.forget_expired,
        all_services.audit.fill_organizations,
        all_services.searches.place_older,
        all_services.operator_invitations.expire,
        all_services.deliveries.forget_expired,
        all_services.sign_ins.forget_ended,
        all_services.outbox.forget_stale,
        all_services.logins.forget_expired,
        all_services.gauges.count,
    )


async def _each_minute(*chores: Callable[[], Awaitable[object]]) -> None:
    """Does them one after another, until it is cancelled."""
    while True:
        await asyncio.sleep(HOUSEKEEPING_SECONDS)
        for chore in chores:
            try:
                await chore()
            except Exception as error:  # whatever it was, the next minute may be better
                if not tells_of_outage(error):
                    log.exception("housekeeping is put off")
