"""How one transaction locks streams and adds to them."""

from collections.abc import Sequence

import pytest

from teamvars.domain.errors import Refusal
from teamvars.security.chain import Chain
from teamvars.services.directory.ledger import Ledger
from teamvars.storage import streams
from teamvars.storage.database import Transaction
from tests.house import operator
from tests.services.people import Desk


async def test_it_is_looked_again_until_all_that_was_found_is_locked(desk: Desk) -> None:
    first, second = desk.world.teams["crew"], desk.world.teams["secret"]
    answers = [[first], [first, second], [second], ["never looked at"]]
    looks = iter(answers)

    async def body(tx: Transaction) -> Sequence[str]:
        ledger = Ledger(tx, operator(), Chain(desk.node.keys), 1)

        async def look() -> Sequence[str]:
            return next(looks)

        found = await ledger.locked(look, lambda seen: seen)
        assert ledger.ends([first, second])  # both are held
        return found

    assert await desk.services.database.write(body) == [second]
    assert next(looks) == ["never looked at"]


async def test_what_is_gone_before_it_is_locked_is_not_found(desk: Desk) -> None:
    async def body(tx: Transaction) -> None:
        ledger = Ledger(tx, operator(), Chain(desk.node.keys), 1)

        async def look() -> list[str]:
            return ["team-gone"]

        await ledger.locked(look, lambda seen: seen)

    with pytest.raises(Refusal):
        await desk.services.database.write(body)


async def test_a_stream_locked_elsewhere_is_adopted_and_goes_on(desk: Desk) -> None:
    team = desk.world.teams["crew"]
    details = {"organization-memberships": ["ou-1"]}

    async def body(tx: Transaction) -> int:
        before = (await streams.lock(tx, [team]))[team]
        ledger = Ledger(tx, operator(), Chain(desk.node.keys), 1)
        ledger.adopt(before)
        await ledger.record(team, "member.add", team, details)
        await ledger.record(team, "member.remove", team, details)
        after = (await streams.lock(tx, [team]))[team]
        return after.sequence - before.sequence

    assert await desk.services.database.write(body) == 2
