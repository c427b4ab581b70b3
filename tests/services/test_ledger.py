"""How one transaction locks streams and adds to them."""

from collections.abc import Sequence

import pytest

from teamvars.domain.errors import Refusal
from teamvars.security.chain import Chain
from teamvars.services.directory.ledger import Ledger
from teamvars.storage import streams
from teamvars.storage.database import Transaction
from tests.services.calls import Calls
from tests.support.deployment import operator


async def test_it_is_looked_again_until_all_that_was_found_is_locked(calls: Calls) -> None:
    first, second = calls.tenant.teams["crew"], calls.tenant.teams["secret"]
    answers = [[first], [first, second], [second], ["never looked at"]]
    looks = iter(answers)

    async def body(tx: Transaction) -> Sequence[str]:
        ledger = Ledger(tx, operator(), Chain(calls.node.keys), 1)

        async def look() -> Sequence[str]:
            return next(looks)

        found = await ledger.locked(look, lambda seen: seen)
        assert ledger.ends([first, second])  # both are held
        return found

    assert await calls.services.database.write(body) == [second]
    assert next(looks) == ["never looked at"]


async def test_what_is_gone_before_it_is_locked_is_not_found(calls: Calls) -> None:
    async def body(tx: Transaction) -> None:
        ledger = Ledger(tx, operator(), Chain(calls.node.keys), 1)

        async def look() -> list[str]:
            return ["team-gone"]

        await ledger.locked(look, lambda seen: seen)

    with pytest.raises(Refusal):
        await calls.services.database.write(body)


async def test_a_stream_locked_elsewhere_is_adopted_and_goes_on(calls: Calls) -> None:
    team = calls.tenant.teams["crew"]
    details = {"organization-memberships": ["ou-1"]}

    async def body(tx: Transaction) -> int:
        before = (await streams.lock(tx, [team]))[team]
        ledger = Ledger(tx, operator(), Chain(calls.node.keys), 1)
        ledger.adopt(before)
        await ledger.record(team, "member.add", team, details)
        await ledger.record(team, "member.remove", team, details)
        after = (await streams.lock(tx, [team]))[team]
        return after.sequence - before.sequence

    assert await calls.services.database.write(body) == 2
