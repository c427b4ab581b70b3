"""What a decision is told, and how what it decides is written, where there is no store."""

from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.changes import Tools, making, nouns, runners, trails
from teamvars.changes import variables as of_variables
from teamvars.decisions import Found, Locks, Note
from teamvars.decisions import variables as decisions
from teamvars.decisions.deliveries import ValuesOf
from teamvars.decisions.invitations import Invite
from teamvars.decisions.needs import DataKeyOf, DetailsOf, MembershipWithId
from teamvars.decisions.runners import Recorded
from teamvars.decisions.variables import ToSet, ToWorkspace
from teamvars.domain.access import Level, SetAccess, WorkspaceAccess
from teamvars.domain.audit import Stream
from teamvars.domain.errors import Refusal
from teamvars.domain.invitations import Delivery, Invitation
from teamvars.domain.variable_sets import VariableSet
from teamvars.domain.workspaces import Workspace
from teamvars.security import keyring
from teamvars.security.chain import Chain
from teamvars.security.sealing import Sealer
from teamvars.security.tokens import hash_token
from teamvars.storage import effective, streams, workspaces
from teamvars.storage.database import Statement
from tests.decisions.directory import INVITED
from tests.security.samples import VARIABLE, event
from tests.support.deployment import operator

KEYS = keyring.generate()
TOOLS = Tools(Sealer(KEYS), Chain(KEYS), lambda: 7)
OPENED = TOOLS.chain.open("org-1", "org-1")
ENTRY, _ = TOOLS.chain.extend(OPENED, event(1))
OTHERWISE: Any = {"organization_id": 7}


class Transaction:
    """What is asked of it, and whether others wait or write beside it."""

    def __init__(self, *, may_pause: bool = False, one_writer: bool = True) -> None:
        self.may_pause, self.has_one_writer = may_pause, one_writer
        self.done: list[Any] = []

    async def execute_long(self, sql: str, *args: object) -> None:
        self.done.append((sql, args))

    async def execute_many(self, sql: str, args: Any) -> None:
        self.done.append((sql, args))


def answering(answer: object) -> Any:
    async def answering(*_: object) -> object:
        return answer

    return answering


async def ask(look_ups: Any, need: Any, tx: Any = None) -> Any:
    return await look_ups[type(need)](tx, TOOLS, Found(operator(), 7), need)


async def refusal_of(look_ups: Any, need: Any) -> str:
    with pytest.raises(Refusal) as refused:
        await ask(look_ups, need)
    return refused.value.faults[0].code.word


@pytest.mark.parametrize(
    ("entry", "is_told"),
    [
        (None, True),
        (ENTRY, True),
        (ENTRY._replace(details="{}"), False),
        (ENTRY._replace(**OTHERWISE), False),
    ],
)
async def test_an_entry_that_somebody_has_altered_decides_nothing(
    monkeypatch: pytest.MonkeyPatch, entry: Any, is_told: bool
) -> None:
    monkeypatch.setattr(streams, "newest_about", answering(entry))
    need = Recorded("org-1", "run-1", ("runner.approve",))
    if is_told:
        assert await ask(runners.LOOK_UPS, need) == entry
    else:
        assert await refusal_of(runners.LOOK_UPS, need) == "forbidden"


async def test_what_is_not_there_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspaces, "find_details", answering({}))
    assert await refusal_of(nouns.LOOK_UPS, DetailsOf("ws-1")) == "not_found"


@pytest.mark.parametrize("may_pause", [True, False])
async def test_what_takes_long_gives_way_where_others_can_use_it(
    monkeypatch: pytest.MonkeyPatch, may_pause: bool
) -> None:
    pauses = []

    async def sealed(_: object, __: str, pause: object) -> None:
        pauses.append(pause)

    monkeypatch.setattr(effective, "sealed_of_workspace", sealed)
    with pytest.raises(Refusal):
        await ask(runners.LOOK_UPS, ValuesOf("ws-1"), Transaction(may_pause=may_pause))
    assert (pauses == [runners._go_on]) is not may_pause


@pytest.mark.parametrize("one_writer", [True, False])
async def test_what_was_seen_before_a_lock_is_asked_again_where_others_write(
    monkeypatch: pytest.MonkeyPatch, one_writer: bool
) -> None:
    monkeypatch.setattr(streams, "lock_existing", answering({"org-1": OPENED}))
    found, tx = Found(operator(), 7), Transaction(one_writer=one_writer)
    found.answers[MembershipWithId("ou-1")] = INVITED
    need = Locks(frozenset({"org-1"}))
    look: Any = trails.LOOK_UPS[Locks]
    assert await look(tx, TOOLS, found, need) == {"org-1": OPENED}
    assert bool(found.answers) is one_writer


async def test_what_is_alike_is_written_together_and_what_is_long_by_itself() -> None:
    tx: Any = Transaction()
    long = [Statement("c", (n,), is_long=True) for n in (4, 5)]
    storing = making.Storing(tx, TOOLS, Found(operator(), 7))
    await storing._write([Statement("a", (1,)), Statement("a", (2,)), Statement("b", (3,)), *long])
    assert tx.done == [("a", [(1,), (2,)]), ("b", [(3,)]), ("c", (4,)), ("c", (5,))]


def test_only_where_something_ends_is_that_told() -> None:
    nothing: Any = None
    found = Found(operator(), 7, streams={"ws-1": TOOLS.chain.open("ws-1", "org-1")})
    storing = making.Storing(nothing, TOOLS, found)
    plain = Note("org-1", event(1))
    assert storing._ending(plain) is plain.event
    ending = Note("org-1", replace(event(1), details={"closes": ["ws-1"]}))
    details: Any = storing._ending(ending).details
    assert [(told["stream"], told["sequence"]) for told in details["closes"]] == [("ws-1", 0)]


@pytest.mark.parametrize(
    ("delivery", "has_link", "is_sealed"),
    [(Delivery.WAITING, True, True), (Delivery.SENT, True, False), (Delivery.NONE, False, False)],
)
def test_a_link_is_kept_by_its_hash_and_sealed_while_it_waits_to_be_sent(
    delivery: Delivery, has_link: bool, is_sealed: bool
) -> None:
    found = Found(operator(), 7)
    found.answers[DataKeyOf("org-1")] = TOOLS.sealer.new_data_key("org-1", 1)
    asked = Invite(INVITED, None, Invitation(9, delivery), "s3cret")
    stored = nouns.STATEMENTS[Invite](TOOLS, found, asked).args
    assert (hash_token("s3cret") in stored) is has_link
    assert (stored[-1] is not None) is is_sealed
    assert "s3cret" not in str(stored)


@pytest.mark.parametrize("owner_id", ["ws-1", "varset-1"])
def test_a_value_is_sealed_under_the_key_of_what_it_is_in(owner_id: str) -> None:
    key = TOOLS.sealer.new_data_key("org-1", 1)
    place: Any = {"key": key, "stream": Stream(owner_id, "org-1", 0, b"", b"")}
    found = Found(operator(), 7)
    if owner_id == "ws-1":
        workspace = Workspace("ws-1", "network", "org-1", "acme")
        found.answers[ToWorkspace("ws-1")] = WorkspaceAccess(workspace, Level.WRITE, **place)
    else:
        one = VariableSet("varset-1", "shared", "org-1", "acme")
        found.answers[ToSet("varset-1")] = SetAccess(one, Level.WRITE, **place)
    made = decisions.Insert(replace(VARIABLE, owner_id=owner_id, value="eu"), 2)
    stored = of_variables.STATEMENTS[decisions.Insert](TOOLS, found, made)
    assert "eu" not in map(str, stored.args)
