"""Tokens for jobs (RFC 8693), and values sealed to them."""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache, partial
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from teamvars import metrics
from teamvars.changes.making import KnownCallers
from teamvars.changes.waves import Change
from teamvars.decisions import deliveries as decisions
from teamvars.decisions.deliveries import (
    NO_TARGET,
    Asked,
    Bundle,
    HostDraft,
    NoTarget,
    Proof,
    Reaching,
    ToDelivery,
    ValuesForJob,
    job_of,
)
from teamvars.domain.access import Caller
from teamvars.domain.deliveries import DeliveryDraft, Nameable, ReceiptSearch, ReceiptView
from teamvars.domain.effective import Holdings
from teamvars.domain.errors import NO_VALID_TOKEN, Code, Fault, Refusal, refuse_all
from teamvars.domain.keys import NOTHING_SEALED
from teamvars.domain.pages import Page, Paged
from teamvars.domain.times import SECOND
from teamvars.domain.variables import StoredVariable, Variable, damaged_value
from teamvars.kernel import Discreet
from teamvars.protocol import MACHINE, Malformed, bundles, decoded, token_id
from teamvars.protocol.bundles import Delivered, Delivery, Info
from teamvars.recent import Recent
from teamvars.security.assertions import (
    SKEW_SECONDS,
    Assertion,
    Unproven,
    asserted,
    claimed,
    require_signed,
)
from teamvars.security.keyring import Keyring
from teamvars.security.sealing import DataKey
from teamvars.security.tokens import RUNNER, hash_token, new_token
from teamvars.services.house import House, UseCases
from teamvars.storage import runners
from teamvars.storage.database import MissingReference

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token"
SUBJECT_TYPES = (
    "urn:ietf:params:oauth:token-type:jwt",
    "urn:ietf:params:oauth:token-type:id_token",
)
_WORKSPACE = re.compile(r"/api/v2/workspaces/(ws-[1-9A-HJ-NP-Za-km-z]{16})")
_COUNTED_RUNNERS = 10_000
_TOLD_RUNNERS = 20
"""In a line of the log."""
_TOLD_A_MINUTE = 60
"""Refused exchanges of an organization of which the log says what each runner does not accept; of
more, it has as much as of any other refused request.
"""
_VARIABLE_BYTES = 1024
"""What a variable takes beside its value, with Python's own need; and a workspace beside these."""
_FORGOTTEN_AT_ONCE = 500
_KEPT = 3600 * SECOND
"""After what has expired, so that a clock that is set back makes no used token good again."""
_AT_ONCE = 24
"""Deliveries of a worker, each of which holds all values of a workspace: more than an organization
has slots while others ask.
"""
_KEPT_BYTES = 8 * 1024 * 1024
"""Of sealed values, in a worker."""
_HUGE_BYTES = 16 * 1024 * 1024
"""Of values that reach a workspace, which sets can make more than it holds itself: they are looked
up for one job of a worker at a time.
"""
_LARGE_BYTES = 256 * 1024
"""Of values, which take some ms: more are opened and sealed in a thread, and of one workspace at a
time, since there they are several times in memory.
"""

_UNPROVEN_TOKEN = (
    "The subject token is not accepted: the service's log says why. "
    "Its issuer, its audience or a clock may be wrong, or the issuer may be away."
)
_ISSUED, _UNPROVEN, _UNMEANT, _DELIVERED = "given a token", "unproven", "unmeant", "handed values"
JOBS = metrics.Counter(
    "teamvars_jobs_total",
    "Jobs that were given a token, that nobody vouches for, that no runner means, and deliveries.",
    "outcome",
    (_ISSUED, _UNPROVEN, _UNMEANT, _DELIVERED),
)

Check = Callable[[str, Callable[[], None]], Awaitable[None]]
"""Does what costs a stranger nothing and us something, when it is the turn of whom it names."""


class ExchangeForm(Discreet, frozen=True):
    """What a job says when it asks for a token: the parameters of RFC 8693, and two of ours."""

    grant_type: str = ""
    subject_token: str = ""
    subject_token_type: str = ""
    resource: str = ""
    thumbprint: str | None = None
    runner: str | None = None
    audience: str | None = None
    scope: str | None = None
    requested_token_type: str | None = None
    actor_token: str | None = None


class IssuedToken(Discreet, frozen=True):
    """A token of a job, which nobody is shown again; `expires_in` seconds."""

    token: str
    runner_id: str
    version: int
    expires_in: int


class KeptValues(Recent[Holdings]):
    """What workspaces have, sealed, as it was when all of it was last handed out: one is delivered
    more often than it is changed. Whether that is what they still have is found out with the
    receipt: see `decisions.deliver`.
    """

    def keep_values(self, workspace_id: str, has: Holdings, keys: bytes) -> None:
        """Keeps what a workspace has, in place of what it had. All its values have opened under
        these wrapped data keys: one that is sealed anew moves no head, and its former seal opens
        only as long as there is the key.
        """
        values = sum(stored.value_bytes for stored in has.variables)
        size = _VARIABLE_BYTES * (1 + len(has.variables)) + values
        self.keep(workspace_id, replace(has, keys=keys), size)


class Deliveries(UseCases):
    """What jobs do: ask for a token, and with it for values."""

    def __init__(self, house: House, keyring: Keyring, service: str | None) -> None:
        """`service`: what audiences and resources begin with; None: no token is given."""
        super().__init__(house)
        self._service = service
        self._refused: dict[str, int] = {}
        """How many jobs each runner has refused, since this process began."""
        self._told, self._told_until = Counter[str](), 0
        """Of how many refusals of each organization the log has said more, in the minute that ends
        then.
        """
        self._kept = KeptValues(_KEPT_BYTES)
        self._meant = KnownCallers()
        """Of jobs, those that a runner has meant when they were last seen."""
        self._some = asyncio.Semaphore(_AT_ONCE)
        self._one_huge, self._one_large = asyncio.Lock(), asyncio.Lock()
        self.take(keyring)

    def take(self, keyring: Keyring) -> None:
        """See `keyring.User`."""
        server = keyring.server
        self._signer = (
            None
            if server is None
            else Ed25519PrivateKey.from_private_bytes(server.keys[server.active])
        )

    async def proven(self, form: ExchangeForm, check: Check) -> Asked:
        """What a job asks for, after its issuer's signature was found to hold in a `check`, and
        whatever takes less before that.

        Refuses: a token or form that is itself bad (invalid_request), what is no workspace of this
        service (invalid_target).
        """
        if self._service is None or self._signer is None:
            raise Refusal(_bad("This service exchanges no tokens."))
        workspace_id = self._workspace(form)
        try:
            said = claimed(form.subject_token)
            assertion = asserted(said, self._clock() // SECOND)
            thumbprint, is_bound = self._key_named(assertion, form)
            key = await self._trust.key_for(said)
            await check(assertion.job, lambda: require_signed(said, key))
        except Unproven as unproven:
            JOBS.add(_UNPROVEN)
            why = {"reason": unproven.reason}
            raise Refusal(_bad(_UNPROVEN_TOKEN), why=why) from None
        is_machine = assertion.issuer.startswith(MACHINE)
        proof = Proof(
            assertion.issuer,
            assertion.issuer.removeprefix(MACHINE) if is_machine else None,
            assertion.claims,
            assertion.once,
            (assertion.expires_at + SKEW_SECONDS) * SECOND,
        )
        return Asked(workspace_id, proof, thumbprint, is_bound, form.runner)

    async def exchange(self, caller: Caller, asked: Asked) -> IssuedToken:
        """A token for the workspace, if a runner means the job. The caller is whoever has it then.

        Refuses: what was used before (invalid_request); everything else in the same words
        (invalid_target).
        """
        token = new_token(RUNNER)
        hash_, job = hash_token(token), _job(asked)
        change = Change(
            caller,
            asked.proof.once.hex(),
            lambda found: decisions.exchange(found, asked, hash_, self._trust),
            foreseen=(Reaching(asked.workspace_id, asked.proof.once),),
            is_admitted=self._meant.knows(caller, job),
            is_brief=True,
        )
        try:
            issued = await self._house.changes.make(change)
        except Refusal as refused:
            self._meant.forget(caller, job)
            if isinstance(refused, NoTarget):
                JOBS.add(_UNMEANT)
                refused.why = self._noted(asked, refused)
            raise
        except MissingReference:  # the runner or the workspace was deleted meanwhile
            raise Refusal(NO_TARGET) from None
        self._meant.note(caller, job)
        caller.token_hash, caller.actor = hash_, job_of(issued.token)
        caller.organization_id = issued.runner.organization_id
        self._house.changes.introduce(caller, hash_.hex())
        JOBS.add(_ISSUED)
        lives = (issued.token.expires_at - self._clock()) // SECOND
        return IssuedToken(token, issued.runner.id, issued.token.version, lives)

    async def receipts(
        self, caller: Caller, organization: str, search: ReceiptSearch, page: Page
    ) -> Paged[ReceiptView]:
        """The last delivery of each workspace to each runner, newest first, for owners.

        Refuses: unauthenticated, not found, forbidden.
        """
        return await self._house.changes.look(
            caller, lambda found: decisions.receipts(found, organization, search, page, self._trust)
        )

    async def receipts_of_workspace(
        self, caller: Caller, workspace_id: str, search: ReceiptSearch, page: Page
    ) -> Paged[ReceiptView]:
        """The last delivery of a workspace to each runner, newest first, for its readers.

        Refuses: unauthenticated, not found.
        """
        return await self._house.changes.look(
            caller,
            lambda found: decisions.receipts_of_workspace(
                found, workspace_id, search, page, self._trust
            ),
        )

    async def admit(self, caller: Caller, workspace_id: str) -> None:
        """Refuses whoever has no token that delivers the workspace: unauthenticated."""
        await self._house.changes.glance(
            caller, lambda found: decisions.admit(found, workspace_id, self._trust)
        )

    async def names(self, caller: Caller, workspace_id: str) -> Sequence[Nameable]:
        """What the job of a token is handed, without values, and what the workspace has besides.

        Refuses: unauthenticated, for whatever is wrong with the token.
        """
        async with self._some:
            return await self._house.changes.glance(
                caller, lambda found: decisions.names(found, workspace_id, self._trust)
            )

    async def forget_expired(self) -> None:
        """Deletes what expired an hour ago of tokens of jobs, and of issuers' that were used, some
        at a time.
        """
        before = self._clock() - _KEPT
        forget = partial(runners.forget_expired, before=before, most=_FORGOTTEN_AT_ONCE)
        while await self._database.write(forget):
            pass

    async def deliver(self, caller: Caller, workspace_id: str, draft: DeliveryDraft) -> Delivery:
        """The workspace's variables, sealed to the job's key. The receipt is committed before any
        value is opened.

        Refuses: unauthenticated, for whatever is wrong with the token; every fault of the draft; a
        damaged value.
        """

        if self._signer is None:  # any more: there was when the token was given
            raise Refusal(NO_VALID_TOKEN)
        async with self._some:
            kept, bundle = self._kept.find(workspace_id), None
            if kept is not None:
                bundle = await self._bundle(caller, workspace_id, kept, draft)
            if bundle is None:
                has = await self._seen(caller, ValuesForJob(workspace_id, _HUGE_BYTES))
                if has.is_whole:
                    bundle = await self._bundle(caller, workspace_id, has, draft)
            if bundle is not None:
                return await self._delivered(bundle)
        # Those that wait for their turn take no place from others.
        async with self._one_huge, self._some:
            has = await self._seen(caller, ValuesForJob(workspace_id))
            bundle = await self._bundle(caller, workspace_id, has, draft)
            assert bundle is not None  # none of it was kept
            return await self._delivered(bundle)

    async def _seen(self, caller: Caller, need: ValuesForJob) -> Holdings:
        return await self._house.changes.glance(caller, lambda found: found.of(need))

    async def _bundle(
        self, caller: Caller, workspace_id: str, has: Holdings, draft: DeliveryDraft
    ) -> Bundle | None:
        """What is to be handed out, with its receipt committed; None: what was kept is no more what
        there is.
        """
        change = Change(
            caller,
            caller.token_hash.hex(),
            lambda found: decisions.deliver(found, workspace_id, has, draft, self._trust),
            foreseen=(ToDelivery(workspace_id, has.places),),
            is_admitted=has.keys is None,  # with its token it was looked up
            is_brief=True,
        )
        bundle = await self._house.changes.make(change)
        if bundle is not None:
            caller.organization_id = bundle.handed.workspace.organization_id
        return bundle

    async def _delivered(self, bundle: Bundle) -> Delivery:
        assert self._signer is not None  # asked before
        key, signer = self._tools.sealer.data_key(bundle.handed.key), self._signer
        if sum(stored.value_bytes for stored in bundle.variables) <= _LARGE_BYTES:
            delivery = _sealed(bundle, key, signer)
        else:
            async with self._one_large:
                delivery = await asyncio.to_thread(_sealed, bundle, key, signer)
        if bundle.is_whole and bundle.has.keys is None:
            handed = bundle.handed
            self._kept.keep_values(handed.workspace.id, bundle.has, handed.key.wrapped)
        JOBS.add(_DELIVERED)
        return delivery

    def _noted(self, asked: Asked, refused: NoTarget) -> Mapping[str, object]:
        """Counts the refusal for each runner; what the log says of it, and the job is not told. It
        is in no trail, and a flood says little: anybody has tokens of an issuer that serves
        everybody.
        """
        reasons = refused.reasons
        for runner_id in reasons:
            self._refused[runner_id] = self._refused.pop(runner_id, 0) + 1
            if len(self._refused) > _COUNTED_RUNNERS:
                self._refused.pop(next(iter(self._refused)))
        why = {"reason": "no runner means this job"}
        if not self._may_tell_more(refused.organization):
            return why
        some = list(reasons)[:_TOLD_RUNNERS]
        return {
            **why,
            "workspace": asked.workspace_id,
            "issuer": asked.proof.issuer,
            "unmet": {id_: list(reasons[id_]) for id_ in some},
            "refused": {id_: self._refused[id_] for id_ in some if id_ in self._refused},
        }

    def _may_tell_more(self, organization: str) -> bool:
        """A flood of one organization's leaves that of others to be told."""
        if (now := self._clock()) >= self._told_until:
            self._told, self._told_until = Counter(), now + 60 * SECOND
        self._told[organization] += 1
        return self._told[organization] <= _TOLD_A_MINUTE

    def _workspace(self, form: ExchangeForm) -> str:
        """The id of the workspace that the form names. Refuses: invalid_request, invalid_target."""
        _require_exchange(form)
        assert self._service is not None
        if form.audience is not None or not form.resource.startswith(self._service):
            raise Refusal(NO_TARGET)
        found = _WORKSPACE.fullmatch(form.resource.removeprefix(self._service))
        if found is None:
            raise Refusal(NO_TARGET)
        return found[1]

    def _key_named(self, assertion: Assertion, form: ExchangeForm) -> tuple[str, bool]:
        """The key that the token is to deliver to, and whether the issuer vouches for it.

        Raises Unproven.
        """
        service, separator, thumbprint = assertion.audience.partition("#")
        if service != self._service:
            raise Unproven("another audience")
        if not separator:
            thumbprint = form.thumbprint or ""
        elif form.thumbprint not in (None, thumbprint):
            raise Unproven("two keys")
        try:
            is_one = len(decoded(thumbprint)) == _THUMBPRINT_BYTES
        except Malformed:
            is_one = False
        if not is_one:
            raise Unproven("no thumbprint of a key")
        return thumbprint, bool(separator)


_THUMBPRINT_BYTES = 32


class HostDeliveries(UseCases):
    """What an operator's command is handed."""

    async def hand_out(self, caller: Caller, draft: HostDraft) -> Sequence[Variable]:
        """The variables with their values, sensitive ones too. The receipt is committed before any
        value is opened.

        Refuses: see `decisions.deliveries.hand_out`; damaged values.
        """
        bundle = await self._make(caller, decisions.hand_out, draft)
        opened = _opened(bundle.variables, self._tools.sealer.data_key(bundle.key))
        return [variable.with_value(value) for variable, value in opened]


def _require_exchange(form: ExchangeForm) -> None:
    """Refuses a form that asks for anything else than a token for a job."""
    if not form.grant_type:
        raise Refusal(_bad("Send grant_type."))
    if form.grant_type != GRANT_TYPE:
        raise Refusal(Fault(Code.UNSUPPORTED_GRANT_TYPE, f"The grant_type is {GRANT_TYPE}."))
    if form.scope is not None:
        raise Refusal(Fault(Code.INVALID_SCOPE, "A token is for one workspace, without scopes."))
    if form.requested_token_type not in (None, ACCESS_TOKEN_TYPE) or form.actor_token:
        raise Refusal(_bad("There are access tokens alone, for the job itself."))
    if form.subject_token_type not in SUBJECT_TYPES:
        raise Refusal(_bad(f"The subject_token_type is one of {', '.join(SUBJECT_TYPES)}."))
    if not form.subject_token or not form.resource:
        raise Refusal(_bad("Send subject_token and resource."))


def _info(bundle: Bundle) -> Info:
    token, workspace = bundle.handed.token, bundle.handed.workspace
    return Info(
        workspace.organization_id,
        workspace.id,
        token.runner_id,
        token.version,
        token_id(token.hash),
        token.thumbprint,
        bundle.has.head.hex(),
        token.expires_at // SECOND,
        tuple(bundle.wanted.only),
    )


def _sealed(bundle: Bundle, key: DataKey, signer: Ed25519PrivateKey) -> Delivery:
    """The bundle as it is sent. Refuses: damaged values, no public key."""
    try:
        return bundles.deliver(
            _delivered(bundle, key), _info(bundle), bundle.wanted.public_key, signer
        )
    except Malformed:
        raise Refusal(_no_key()) from None


def _delivered(bundle: Bundle, key: DataKey) -> list[Delivered]:
    valued = [*_opened(bundle.variables, key), *((one, None) for one in bundle.withheld)]
    return [
        Delivered(
            variable.id,
            variable.key,
            value,
            variable.category,
            variable.hcl,
            variable.sensitive,
            variable.version_id,
        )
        for variable, value in valued
    ]


def _opened(every: Sequence[StoredVariable], key: DataKey) -> list[tuple[Variable, str]]:
    """Variables with their values. Refuses: damaged values."""
    damaged: set[str] = set()
    opener_of = cache(partial(key.opener, damaged=damaged))
    found = []
    for stored in every:
        variable = stored.variable
        opened = opener_of(variable.owner_id, variable.sensitive)
        content, version = stored.sealed or NOTHING_SEALED
        found.append((variable, opened(content, version, variable.id)))
    refuse_all(damaged_value(one) for one, _ in found if one.id in damaged)
    return found


def _job(asked: Asked) -> str:
    """Stands for all that an issuer calls by one `sub`, and that ask for the same workspace."""
    said = f"{asked.proof.issuer} {asked.proof.claims['sub']} {asked.workspace_id}"
    return sha256(said.encode()).hexdigest()


def _bad(detail: str) -> Fault:
    return Fault(Code.INVALID_REQUEST, detail)


def _no_key() -> Fault:
    detail = "This is no public key of the suite."
    return Fault(Code.INVALID_VALUE, detail, pointer="/data/attributes/public-key")
