"""What becomes of jobs that ask for a token, and of those that ask for values."""

import hashlib
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.decisions import Decision, Found
from teamvars.decisions.deliveries import (
    Asked,
    Bundle,
    Handed,
    Issue,
    Issued,
    NoTarget,
    NoteDelivery,
    Proof,
    Reaching,
    ReceiptsPage,
    SensitiveAmong,
    ToDelivery,
    Use,
    ValuesForJob,
    admit,
    deliver,
    exchange,
    meant,
    names,
    receipts,
    receipts_of_workspace,
    told,
)
from teamvars.domain import effective
from teamvars.domain.access import Level, WrappedKey
from teamvars.domain.audit import Stream
from teamvars.domain.deliveries import (
    ENDED,
    DeliveryDraft,
    Earlier,
    HandedVariable,
    JobToken,
    LastDelivery,
    Receipt,
    ReceiptSearch,
    Since,
)
from teamvars.domain.errors import NO_VALID_TOKEN, Refusal, invalid
from teamvars.domain.keys import Sealed
from teamvars.domain.pages import Page, Paged
from teamvars.domain.runners import Approval, ApprovalMode, Runner, RunnerSpec
from teamvars.domain.variables import StoredVariable, Variable
from teamvars.domain.workspaces import Usage
from teamvars.kernel.variables import Category
from teamvars.protocol import MACHINE
from teamvars.protocol.bundles import PUBLIC_KEY_BYTES, thumbprint
from tests.decisions.directory import NETWORK, NOW, actions, found, refused, to_acme, to_network

SECOND = 1_000_000
KEY = "K" * 43
PUBLIC = b"k" * PUBLIC_KEY_BYTES
ISSUER = "https://ci.example.org"
CLAIMS = {"sub": "job", "ref": "main", "extra": "1", "number": 7}
LATER = NOW + 600 * SECOND
SPEC = RunnerSpec(
    "ci", LATER, issuer=ISSUER, conditions={"sub": "job"}, workspace_ids=("ws-1",), max_ttl=60
)
FEDERATED = Runner(
    "run-1",
    "org-1",
    2,
    SPEC,
    1,
    approval=Approval(
        2, SPEC, frozenset({"ws-1"}), ISSUER, ApprovalMode.OPERATOR, 1, "root", "ak-1", b"mac"
    ),
)
TOKEN = JobToken(
    b"hash",
    "run-1",
    2,
    "ws-1",
    thumbprint(PUBLIC),
    is_bound=True,
    claims={"iss": ISSUER, "sub": "job"},
    run_link=None,
    expires_at=NOW + 1,
    key_id="ak-1",
    mac=b"mac",
)
PROOF = Proof(ISSUER, None, CLAIMS, b"once", LATER)
HASH = b"new"
ASKED = Asked("ws-1", PROOF, "thumb", is_bound=True, runner_id=None)


class Trusting:
    """Trusts whatever has the right MAC, which is `mac`."""

    mode: ApprovalMode = ApprovalMode.OPERATOR
    issuers: Mapping[str, str] = {ISSUER: ISSUER}

    def digest(self, runner: Runner, reach: frozenset[str]) -> str:
        """Of the version."""
        return hashlib.sha256(f"{runner.version} {sorted(reach)}".encode()).hexdigest()

    def sealed(self, _: Runner, approval: Approval) -> Approval:
        """With the MAC."""
        return replace(approval, mac=b"mac")

    def holds(self, runner: Runner) -> bool:
        """Whether it has the MAC."""
        return self.was_approved(runner)

    def was_approved(self, runner: Runner) -> bool:
        """The same."""
        return runner.approval is not None and runner.approval.mac == b"mac"

    def issued(self, token: JobToken) -> JobToken:
        """With the MAC."""
        return replace(token, mac=b"mac")

    def has_issued(self, token: JobToken) -> bool:
        """Whether it has the MAC."""
        return token.mac == b"mac"


TRUST = Trusting()


def spec_of(runner: Runner, **more: Any) -> Runner:
    """The runner, of which a later version says something else."""
    return replace(runner, version=3, spec=replace(runner.spec, **more))


def approved_as(runner: Runner, **more: Any) -> Runner:
    """The runner, of which another version is approved."""
    assert runner.approval is not None
    return replace(runner, approval=replace(runner.approval, **more))


def approved_spec(runner: Runner, **more: Any) -> Runner:
    """The runner, of whose version something else was approved."""
    assert runner.approval is not None
    return approved_as(runner, spec=replace(runner.approval.spec, **more))


def variable(key: str, *, sensitive: bool = False) -> StoredVariable:
    made = Variable(
        id=f"var-{key}",
        owner_id="ws-1",
        key=key,
        value=None,
        description="",
        category=Category.ENV,
        hcl=False,
        sensitive=sensitive,
        version_id=f"v-{key}",
        created_at=1,
    )
    return StoredVariable(made, Sealed(b"sealed", 1), 1)


STORED = [variable("password", sensitive=True), variable("region")]


PLACES = ("ws-1:07",)
HAS = effective.Holdings(b"head", PLACES, tuple(STORED))
FORMER = effective.Holdings(b"former", ("ws-1:06", "varset-1:02"), tuple(STORED[:1]))


def asking(handed: Handed | Refusal) -> Found:
    """A job that asks for values with that."""
    answers = {
        ToDelivery("ws-1"): handed,
        ValuesForJob("ws-1"): HAS,
        ToDelivery("ws-1", HAS.places): handed,
        ToDelivery("ws-1", FORMER.places): handed,
    }
    return found(answers, locked=("run-1",))


def handed(runner: Runner = FEDERATED, **token: Any) -> Handed:
    """A token and its runner."""
    key = WrappedKey("org-1", 1, "mk-1", b"wrapped")
    stream = Stream(runner.id, runner.organization_id, 1, b"", b"", Usage(0, 0))
    return Handed(replace(TOKEN, **token), runner, NETWORK, key, 1, None, stream)


NONE = Refusal(NO_VALID_TOKEN)
REACHING = Reaching("ws-1", b"once")


def reaching(*runners: Runner, was_used: bool = False) -> Found:
    """What there is to be found of a workspace."""
    return found({REACHING: (NETWORK, runners, was_used)})


def exchanged(known: Found, asked: Asked) -> Decision[Issued]:
    """A token for a job that some runner means."""
    return exchange(known, asked, HASH, TRUST)


def bundle(decided: Decision[Bundle | None]) -> Bundle:
    assert decided.answer is not None
    return decided.answer


def keys(decided: Decision[Bundle | None]) -> set[str]:
    return {each.variable.key for each in bundle(decided).variables}


DRAFT = DeliveryDraft(PUBLIC)


def test_a_delivery_is_noted_before_anything_is_opened() -> None:
    decided = deliver(asking(handed()), "ws-1", HAS, DRAFT, TRUST)
    assert keys(decided) == {"password", "region"}
    assert bundle(decided).withheld == ()
    assert actions(decided) == [("run-1", "variable.deliver")]
    assert decided.streams == {"run-1"}
    (write,) = decided.writes
    assert isinstance(write, NoteDelivery)
    assert write.delivery.versions == {"var-password": "v-password", "var-region": "v-region"}
    assert write.says_all
    assert {each.sealed for each in bundle(decided).variables} == {Sealed(b"sealed", 1)}


def test_what_the_workspace_had_before_is_not_handed_out_once_it_has_changed() -> None:
    decided = deliver(asking(handed()), "ws-1", FORMER, DRAFT, TRUST)
    assert bundle(decided).has.head == b"head"
    assert keys(decided) == {"password", "region"}


def test_what_the_workspace_has_is_not_looked_up_again_where_nothing_has_changed() -> None:
    known = asking(handed())
    del known.answers[ValuesForJob("ws-1")]
    assert keys(deliver(known, "ws-1", HAS, DRAFT, TRUST)) == {"password", "region"}


@pytest.mark.parametrize(
    "kept",
    [replace(HAS, keys=b"others"), replace(FORMER, keys=b"wrapped")],
    ids=["under other keys", "of another time"],
)
def test_what_was_kept_and_is_there_no_more_is_neither_handed_out_nor_looked_up(
    kept: effective.Holdings,
) -> None:
    known = asking(handed())
    del known.answers[ValuesForJob("ws-1")]
    assert deliver(known, "ws-1", kept, DRAFT, TRUST) == Decision(None)
    assert keys(deliver(known, "ws-1", replace(HAS, keys=b"wrapped"), DRAFT, TRUST))


def test_a_receipt_names_the_set_that_a_variable_is_of() -> None:
    own = {"key": "region", "category": "env", "version-id": "v-region"}
    assert told(STORED[1].variable, "ws-1") == own
    assert told(STORED[1].variable, "ws-2") == {**own, "varset": "ws-1"}


NOT_HANDED: dict[str, Handed | Refusal] = {
    "no such token": NONE,
    "another runner": handed(runner_id="run-2"),
    "another workspace": handed(workspace_id="ws-2"),
    "another organization": handed(replace(FEDERATED, organization_id="org-2")),
    "an expired token": handed(expires_at=NOW),
    "a token of somebody's own": handed(mac=b""),
    "an approval of somebody's own": handed(approved_as(FEDERATED, mac=b"")),
    "no approval": handed(replace(FEDERATED, approval=None)),
    "a version approved since": handed(approved_as(FEDERATED, version=3)),
    "an earlier version": handed(version=1),
    "an expired runner": handed(spec_of(FEDERATED, expires_at=NOW)),
    "a runner that was approved until now": handed(approved_spec(FEDERATED, expires_at=NOW)),
    "a workspace taken away": handed(spec_of(FEDERATED, workspace_ids=("ws-2",))),
    "a workspace not approved": handed(approved_as(FEDERATED, reach=frozenset({"ws-2"}))),
    "a condition added": handed(spec_of(FEDERATED, conditions={"sub": "job", "ref": "main"})),
    "a condition not met": handed(claims={"iss": ISSUER, "sub": "another"}),
    "another issuer": handed(claims={"iss": "https://evil.example", "sub": "job"}),
    "no issuer": handed(claims={"sub": "job"}),
    "a key where an issuer is meant": handed(claims={"iss": MACHINE + KEY, "sub": "job"}),
    "an issuer where a key is meant": handed(spec_of(FEDERATED, issuer=None, public_key=KEY)),
    "an unbound token": handed(is_bound=False),
    "an unbound token that the approval forbids": handed(
        spec_of(FEDERATED, allow_unbound=True), is_bound=False
    ),
}


@pytest.mark.parametrize("guard", NOT_HANDED)
def test_every_other_token_is_no_token(guard: str) -> None:
    asked = asking(NOT_HANDED[guard])
    assert refused(deliver, asked, "ws-1", HAS, DRAFT, TRUST) == ["unauthenticated"]


OF_KEY = approved_spec(
    replace(FEDERATED, spec=replace(SPEC, issuer=None, conditions={}, public_key=KEY)),
    issuer=None,
    conditions={},
    public_key=KEY,
)


@pytest.mark.parametrize(
    ("claims", "is_handed"),
    [
        ({"iss": MACHINE + KEY, "sub": "m"}, True),
        ({"iss": MACHINE + "L" * 43, "sub": "m"}, False),
        ({"iss": KEY, "sub": "m"}, False),
        ({"iss": ISSUER, "sub": "m"}, False),
    ],
)
def test_a_machine_is_its_key(claims: dict[str, str], is_handed: bool) -> None:
    asked = asking(handed(OF_KEY, claims=claims))
    if is_handed:
        assert keys(deliver(asked, "ws-1", HAS, DRAFT, TRUST))
    else:
        assert refused(deliver, asked, "ws-1", HAS, DRAFT, TRUST) == ["unauthenticated"]


@pytest.mark.parametrize(
    "runner",
    [
        spec_of(FEDERATED, include_sensitive=False),
        approved_spec(FEDERATED, include_sensitive=False),
    ],
)
def test_sensitive_values_are_handed_out_where_both_versions_say_so(runner: Runner) -> None:
    decided = deliver(asking(handed(runner)), "ws-1", HAS, DRAFT, TRUST)
    assert keys(decided) == {"region"}
    assert [one.key for one in bundle(decided).withheld] == ["password"]


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        ((), {"password", "region"}),
        (("pass*",), {"password"}),
        (("PASS*",), set()),
        (("x", "reg?on"), {"region"}),
    ],
)
def test_a_job_gets_what_it_asks_for(only: tuple[str, ...], expected: set[str]) -> None:
    draft = DeliveryDraft(PUBLIC, only)
    assert keys(deliver(asking(handed()), "ws-1", HAS, draft, TRUST)) == expected


@pytest.mark.parametrize(
    ("only", "codes"),
    [
        (("x" * 256,) * 50, []),
        (("x",) * 51, ["invalid_value"]),
        (("x", "x" * 257), ["invalid_value"]),
    ],
)
def test_a_job_asks_by_so_many_globs_of_such_a_length(
    only: tuple[str, ...], codes: list[str]
) -> None:
    assert [fault.code.word for fault in DeliveryDraft(PUBLIC, only).all_faults()] == codes


@pytest.mark.parametrize("public", [b"", b"x" * PUBLIC_KEY_BYTES, PUBLIC[:-1], PUBLIC + b"k"])
def test_a_token_delivers_to_its_own_key(public: bytes) -> None:
    draft = DeliveryDraft(public)
    assert refused(deliver, asking(handed()), "ws-1", HAS, draft, TRUST) == ["invalid_value"]


def test_what_a_token_names_may_be_no_key_at_all() -> None:
    short = b"k" * (PUBLIC_KEY_BYTES - 1)
    asked = asking(handed(thumbprint=thumbprint(short)))
    told = refused(deliver, asked, "ws-1", HAS, DeliveryDraft(short), TRUST)
    assert told == ["invalid_value"]


def test_a_token_that_is_none_is_told_of_no_fault_of_its_document() -> None:
    draft = DeliveryDraft(b"", ("x" * 1000,) * 1000)
    assert refused(deliver, asking(NONE), "ws-1", HAS, draft, TRUST) == ["unauthenticated"]
    two = ["invalid_value", "invalid_value"]
    assert refused(deliver, asking(handed()), "ws-1", HAS, draft, TRUST) == two


def test_a_job_that_an_approved_runner_means_gets_a_token_once() -> None:
    decided = exchanged(reaching(FEDERATED), ASKED)
    token = decided.answer.token
    assert decided.writes == (Use(b"once", LATER), Issue(token))
    assert (decided.notes, decided.opens) == ((), {})
    assert token.claims == {"iss": ISSUER, "sub": "job"}
    assert (token.version, token.thumbprint, token.mac) == (2, "thumb", b"mac")
    assert (token.hash, token.expires_at) == (HASH, NOW + 60 * SECOND)
    assert decided.taken is not None


def test_a_token_tells_the_claims_that_either_version_asks_for() -> None:
    for runner in (
        spec_of(FEDERATED, conditions={"ref": "main"}),
        approved_spec(FEDERATED, conditions={"ref": "main"}),
    ):
        token = exchanged(reaching(runner), ASKED).answer.token
        assert token.claims == {"iss": ISSUER, "ref": "main", "sub": "job"}


def test_a_token_of_an_issuer_that_was_used_is_refused_before_anything_is_written() -> None:
    known = reaching(FEDERATED, was_used=True)
    assert refused(meant, known, ASKED, TRUST) == ["invalid_request"]
    nobody = reaching(was_used=True)  # of which a stranger is not told
    assert refused(meant, nobody, ASKED, TRUST) == ["invalid_target"]


def _expiry(runner: Runner, proof: Proof = PROOF) -> int:
    asked = replace(ASKED, proof=proof)
    return exchanged(reaching(runner), asked).answer.token.expires_at - NOW


def test_a_token_ends_with_whatever_ends_first() -> None:
    assert _expiry(FEDERATED, replace(PROOF, expires_at=NOW + 5)) == 5
    assert _expiry(spec_of(FEDERATED, expires_at=NOW + 6)) == 6
    assert _expiry(approved_spec(FEDERATED, expires_at=NOW + 7)) == 7
    assert _expiry(spec_of(FEDERATED, max_ttl=1)) == SECOND
    assert _expiry(approved_spec(FEDERATED, max_ttl=2)) == 2 * SECOND


OTHER_CLAIMS: Mapping[str, object] = {"sub": 7}
REFUSED: dict[str, tuple[Runner | None, Asked]] = {
    "no runner": (None, ASKED),
    "not approved": (replace(FEDERATED, approval=None), ASKED),
    "an approval of somebody's own": (approved_as(FEDERATED, mac=b""), ASKED),
    "expired": (spec_of(FEDERATED, expires_at=NOW), ASKED),
    "another workspace": (spec_of(FEDERATED, workspace_ids=("ws-2",)), ASKED),
    "a workspace not approved": (approved_as(FEDERATED, reach=frozenset()), ASKED),
    "another runner is asked for": (FEDERATED, replace(ASKED, runner_id="run-2")),
    "another issuer": (
        FEDERATED,
        replace(ASKED, proof=replace(PROOF, issuer="https://evil.example")),
    ),
    "a machine": (FEDERATED, replace(ASKED, proof=replace(PROOF, public_key=KEY))),
    "a claim that is no text": (FEDERATED, replace(ASKED, proof=replace(PROOF, claims={"sub": 7}))),
    "no claim": (FEDERATED, replace(ASKED, proof=replace(PROOF, claims={}))),
    "a condition added": (spec_of(FEDERATED, conditions={"sub": "job", "x": "y"}), ASKED),
    "a condition not approved away": (
        approved_spec(FEDERATED, conditions={"sub": "job", "x": "y"}),
        ASKED,
    ),
    "an unbound token": (FEDERATED, replace(ASKED, is_bound=False)),
    "unbound is not approved": (
        spec_of(FEDERATED, allow_unbound=True),
        replace(ASKED, is_bound=False),
    ),
    "unbound is taken away": (
        approved_spec(FEDERATED, allow_unbound=True),
        replace(ASKED, is_bound=False),
    ),
}


@pytest.mark.parametrize("guard", REFUSED)
def test_every_other_job_is_refused_in_the_same_words(guard: str) -> None:
    runner, asked = REFUSED[guard]
    known = reaching(*([] if runner is None else [runner]))
    assert refused(meant, known, asked, TRUST) == ["invalid_target"]
    assert refused(meant, found({REACHING: None}), asked, TRUST) == ["invalid_target"]


def test_of_several_runners_it_is_the_lowest_id_or_the_one_that_was_asked_for() -> None:
    two, stranger = replace(FEDERATED, id="run-2"), spec_of(FEDERATED, conditions={"sub": "x"})
    three = replace(stranger, id="run-0")
    known = reaching(two, FEDERATED, three)
    assert exchanged(known, ASKED).answer.runner.id == "run-1"
    asked = replace(ASKED, runner_id="run-2")
    assert exchanged(known, asked).answer.runner.id == "run-2"


@pytest.mark.parametrize("guard", NOT_HANDED)
def test_what_delivers_nothing_names_nothing(guard: str) -> None:
    known = asking(NOT_HANDED[guard])
    for decide in (names, admit):
        assert refused(decide, known, "ws-1", TRUST) == ["unauthenticated"]


def test_a_good_token_names_what_it_is_handed() -> None:
    sparing = handed(spec_of(FEDERATED, include_sensitive=False))
    for runner, gets_sensitive in ((sparing, False), (handed(FEDERATED), True)):
        known = asking(runner)
        admit(known, "ws-1", TRUST)
        told = {one.variable.key: one.is_handed_out for one in names(known, "ws-1", TRUST)}
        assert told == {"password": gets_sensitive, "region": True}


def test_an_unbound_token_is_good_where_both_versions_say_so() -> None:
    both = approved_spec(spec_of(FEDERATED, allow_unbound=True), allow_unbound=True)
    decided = exchanged(reaching(both), replace(ASKED, is_bound=False))
    assert not decided.answer.token.is_bound
    assert keys(deliver(asking(handed(both, is_bound=False)), "ws-1", HAS, DRAFT, TRUST))


def test_a_job_that_no_runner_means_is_not_told_why_and_the_log_is() -> None:
    forged = approved_as(FEDERATED, mac=b"")
    stranger = replace(ASKED, proof=replace(ASKED.proof, claims={"sub": "another"}))
    for runner, asked, why in (
        (forged, ASKED, ["approval"]),
        (forged, stranger, ["sub"]),
        (FEDERATED, replace(ASKED, is_bound=False), ["unbound"]),
        (spec_of(FEDERATED, conditions={"sub": "job", "x": "y"}), ASKED, ["x"]),
    ):
        with pytest.raises(NoTarget) as refusal:
            exchanged(reaching(runner), asked)
        assert refusal.value.reasons == {"run-1": why}


def test_a_key_that_cannot_be_read_is_one_fault() -> None:
    pointer = "/data/attributes/public-key"
    draft = DeliveryDraft(b"", faults=(invalid("public-key", "No.").at(pointer),))
    assert refused(deliver, asking(handed()), "ws-1", HAS, draft, TRUST) == ["invalid_value"]
    draft = DeliveryDraft(b"", faults=(invalid("only", "No."),))
    two = ["invalid_value", "invalid_value"]
    assert refused(deliver, asking(handed()), "ws-1", HAS, draft, TRUST) == two


def test_a_part_that_is_handed_out_does_not_forget_the_rest() -> None:
    versions = {"var-region": "v-0", "var-password": "v-0", "var-gone": "v-1"}
    before = LastDelivery("run-1", "ws-1", "org-1", 1, versions, None)
    for last, kept in ((before, {"var-region"}), (None, set())):
        known = asking(replace(handed(), last=last))
        known.answers[SensitiveAmong(frozenset({"var-gone"}))] = ()
        decided = deliver(known, "ws-1", HAS, DeliveryDraft(PUBLIC, ("pass*",)), TRUST)
        (write,) = decided.writes
        assert isinstance(write, NoteDelivery)
        assert write.delivery.earlier.keys() == kept
        assert not write.says_all


def test_what_was_handed_out_and_is_elsewhere_now_is_to_be_rotated_until_it_is() -> None:
    """A secret of a set that is attached no more is with the job all the same."""
    before = LastDelivery("run-1", "ws-1", "org-1", 1, {"var-a": "v-1", "var-b": "v-1"}, None)
    known = asking(replace(handed(), last=before))
    there = [HandedVariable(f"var-{n}", n, Category.ENV, f"v-{v}") for n, v in (("a", 1), ("b", 2))]
    known.answers[SensitiveAmong(frozenset(before.versions))] = there
    whole = deliver(known, "ws-1", HAS, DRAFT, TRUST).writes[0]
    assert isinstance(whole, NoteDelivery)
    assert whole.delivery.earlier == {"var-a": Earlier("v-1", 1, None)}


SINCE: dict[str, tuple[Runner | None, Since]] = {
    "gone": (None, Since.DELETED),
    "taken back": (replace(FEDERATED, approval=None), Since.REVOKED),
    "an approval of somebody's own": (approved_as(FEDERATED, mac=b""), Since.REVOKED),
    "ended just now": (spec_of(FEDERATED, expires_at=NOW), Since.EXPIRED),
    "approved": (FEDERATED, Since.APPROVED),
    "changed": (spec_of(FEDERATED, max_ttl=1), Since.CHANGED),
    "altered": (replace(FEDERATED, spec=replace(SPEC, max_ttl=61)), Since.CHANGED),
}


@pytest.mark.parametrize("case", SINCE)
def test_a_receipt_says_what_has_become_of_its_runner_and_what_to_rotate(case: str) -> None:
    runner, since = SINCE[case]
    delivery = LastDelivery("run-1", "ws-1", "org-1", 1, {"var-a": "v-1", "var-b": "v-1"}, None)
    ours = HandedVariable("var-a", "a", Category.ENV, "v-1")
    sensitive = [
        ours,
        replace(ours, id="var-b", version_id="v-2"),
        replace(ours, id="var-c"),
    ]
    for search, rotate in (
        (ReceiptSearch(), {"var-a"}),
        (ReceiptSearch(variable="var-a"), {"var-a"}),
        (ReceiptSearch(variable="var-b"), set()),
    ):
        page = Paged([Receipt(delivery, runner, "network")], 1)
        known = found(
            to_acme(),
            {
                ReceiptsPage("org-1", search, Page()): page,
                SensitiveAmong(frozenset({"var-a", "var-b"})): sensitive,
            },
        )
        (view,) = receipts(known, "acme", search, Page(), TRUST).items
        assert view.since is since
        assert {one.id for one in view.to_rotate} == (rotate if since in ENDED else set())
        shown = view.receipt.delivery.versions.keys()
        assert shown == ({"var-a", "var-b"} if search.variable is None else {search.variable})
    members = found(to_acme(owner=False))
    assert refused(receipts, members, "acme", ReceiptSearch(), Page(), TRUST) == ["forbidden"]
    stranger = found(to_network(Level.NONE))
    asked = stranger, "ws-1", ReceiptSearch(), Page(), TRUST
    assert refused(receipts_of_workspace, *asked) == ["not_found"]


def test_a_value_is_to_be_rotated_by_the_receipts_of_ended_runners_alone() -> None:
    one = HandedVariable("var-a", "a", Category.ENV, "v-1")
    delivery = LastDelivery("run-1", "ws-1", "org-1", 1, {"var-a": "v-1"}, None)
    last = Paged([Receipt(delivery, each, "network") for each in (None, FEDERATED)], 2)
    asked = "org-1", ReceiptSearch(), Page()
    known = found(
        to_acme(), {ReceiptsPage(*asked): last, SensitiveAmong(frozenset({"var-a"})): [one]}
    )
    gone, approved = receipts(known, "acme", ReceiptSearch(), Page(), TRUST).items
    assert (gone.to_rotate, approved.to_rotate) == ([one], ())
