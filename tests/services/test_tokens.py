"""Tokens that an operator makes and revokes."""

import pytest

from teamvars.domain.errors import Refusal
from teamvars.domain.ids import new_id
from teamvars.domain.tokens import OwnerName
from teamvars.security.tokens import new_token
from tests.services.calls import Calls
from tests.support.deployment import operator


async def test_a_token_tells_whether_it_is_a_users_a_teams_or_an_organizations(
    calls: Calls,
) -> None:
    organization = calls.tenant.organization
    (username,) = calls.named("plain")
    owners = {
        "tvu_": OwnerName(user=username),
        "tvt_": OwnerName(organization=organization, team="crew"),
        "tvo_": OwnerName(organization=organization),
    }
    for prefix, owner in owners.items():
        made = await calls.services.tokens.create(operator(), owner, None)
        assert made.secret.startswith(prefix)


async def test_who_revokes_what_is_not_there_is_told_its_id_and_never_a_token(
    calls: Calls,
) -> None:
    unknown, pasted = new_id("at"), new_token("user")
    for text, is_told in ((unknown, True), (pasted, False)):
        with pytest.raises(Refusal) as refused:
            await calls.services.issued_tokens.revoke(operator(), text)
        (fault,) = refused.value.faults
        assert (text in fault.detail) is is_told
