"""What the tfe provider asks, as it was recorded, is answered as it expects, on both engines.

`python3 dev.py provider` records it anew, with a provider that somebody built.
"""

from typing import Any

import httpx

from tests.clients.conftest import Hosted
from tests.clients.provider import table
from tests.clients.provider.table import Line, Names, like, read_of
from tests.support.tenant import JSON_API


def test_the_provider_finds_all_that_it_reads(hosted: Hosted) -> None:
    names = Names()
    with hosted.server.client(hosted.root) as client:
        for number, line in enumerate(table.lines(), 1):
            answer = asked(client, names, line)
            where = f"line {number}, {line.method} {line.path}: {answer.text}"
            assert answer.status_code == line.status, where
            said = read_of(answer.json()) if line.answer is not None else None
            assert names.named(like(line.answer, said)) == line.answer, where


def test_the_table_has_everything_made_changed_read_and_deleted() -> None:
    lines = list(table.lines())
    for part in (
        "organizations",
        "organization-memberships",
        "teams",
        "workspaces",
        "projects",
        "team-projects",
        "vars",
        "varsets",
    ):
        made = [line.method for line in lines if part in line.path and line.status < 300]
        assert {"GET", "POST", "DELETE"} <= set(made), part
    assert lines[-1][:2] == ("DELETE", "/api/v2/organizations/acme")


def asked(client: httpx.Client, names: Names, line: Line) -> httpx.Response:
    """What the service answers to the request of a line."""
    said: tuple[str, Any] = names.filled([line.path, line.body])
    path, body = said
    content = {} if body is None else {"json": body, "headers": {"Content-Type": JSON_API}}
    return client.request(line.method, path, **content)
