"""The keys that sign what jobs are handed: one more takes the place of another, which stays."""

from msgspec.structs import replace

from teamvars.domain.keys import SERVER
from teamvars.protocol.bundles import read_keys
from teamvars.security.keyring import generate, new_key
from teamvars.security.server_keys import text, thumbprint


def test_a_key_more_is_in_use_and_the_former_ones_stay() -> None:
    before, added = generate(), new_key(SERVER)
    assert before.server is not None
    assert replace(before, server=None).holding(SERVER, added).server == added
    held = before.holding(SERVER, added)
    assert held.server is not None
    assert held.server.active == before.server.active
    after = held.using(SERVER, added.active).server
    assert after is not None
    assert after.active == added.active
    assert after.keys == {**before.server.keys, **added.keys}
    assert thumbprint(after) == thumbprint(added)


def test_clients_are_told_the_former_key_only_while_nodes_sign_by_it() -> None:
    before = generate().server
    assert before is not None
    added = new_key(SERVER)
    held = replace(generate(), server=before).holding(SERVER, added)
    after = held.using(SERVER, added.active).server
    assert after is not None
    first, second = read_keys(text(after, before))
    assert [first] == read_keys(text(after))
    assert [second] == read_keys(text(before))
