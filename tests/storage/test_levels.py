"""What workspaces get, as it is stored, is what an oracle says of thirteen levels."""

from tests.storage.levels import AT_ONCE, compare
from tests.storage.stores import bring_up, opened


async def test_an_oracle_agrees_on_organizations_by_chance_and_once_workspaces_are_moved(
    empty_url: str,
) -> None:
    async with opened(empty_url) as database:
        await bring_up(database)
        assert await compare(database, 0, AT_ONCE) is None
