"""Whatever is sent to any operation, a real server answers as `/openapi.json` says, and never 5xx.

`python3 dev.py fuzz` is the long run; `--hypothesis-seed` and what a failure prints repeat it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import hypothesis
import psutil
import pytest
import requests
import schemathesis
from hypothesis import strategies as some
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.support.ids import ids_of
from tests.support.patience import HANGS
from tests.support.served_deployment import ServedDeployment
from tests.support.tenant import Tenant

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
ROLES = ("owner", "writer", "reader", "outsider", "organization-token")
# How a request is laid on the wire: what is wrong with that is for the raw bytes, in
# tests/faults/test_raw_bytes.py, and answered before our application sees a request.
FRAMING = {"connection", "content-length", "expect", "host", "te", "transfer-encoding", "upgrade"}
# With the headers, near the 16 KiB that the head of a request has; a hundred words of a list can
# be more.
LONG_QUERY = 15_000
MEGABYTE = 2**20


@dataclass(frozen=True)
class Fuzzer:
    """Sends generated requests to a server as callers of several roles."""

    url: str
    tokens: Sequence[str]
    ids: Mapping[str, Sequence[str]]
    session: requests.Session

    def hammer(self, operation: Any, examples: int) -> None:
        """So many requests for the operation; fails with the smallest that is answered wrongly."""

        @hypothesis.settings(
            max_examples=examples,
            deadline=None,
            database=None,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(some.data())
        def one(data: some.DataObject) -> None:
            mode = data.draw(some.sampled_from(list(GenerationMode)))
            case = data.draw(operation.as_strategy(generation_mode=mode))
            for name in self.ids.keys() & (case.path_parameters or {}):
                # Mostly of something real: the rest would end at 404.
                if data.draw(some.integers(0, 9)):
                    case.path_parameters[name] = data.draw(some.sampled_from(self.ids[name]))
            for name in [name for name in case.headers or {} if name.lower() in FRAMING]:
                del case.headers[name]
            token = data.draw(some.sampled_from(self.tokens))
            headers = {"Authorization": f"Bearer {token}"}
            answer = case.call(base_url=self.url, session=self.session, headers=headers)
            if answer.status_code == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE:
                assert len(answer.request.url or "") > LONG_QUERY, (
                    "what is short has another answer"
                )
                return
            case.validate_response(answer, checks=CHECKS)

        one()


@pytest.fixture
async def fuzzer(served: ServedDeployment, served_tenant: Tenant) -> Fuzzer:
    """Knows every id of its tenant; some of another organization's are among them."""
    tenant = served_tenant
    made = [await tenant.make_variable(f"key-{number}") for number in range(5)]
    hidden = await tenant.make_variable("secret", sensitive=True)
    ids = await ids_of(tenant)
    own = f"/users/{tenant.users['owner']}/authentication-tokens"
    tokens = (await tenant.call("owner", "GET", own)).json()["data"]
    return Fuzzer(
        url=served.server.url,
        tokens=[tenant.tokens[role] for role in ROLES],
        ids={
            **{name: [id_] for name, id_ in ids.items()},
            "workspace_id": [*tenant.workspaces.values(), tenant.other_workspace],
            "variable_id": [variable["id"] for variable in (*made, hidden)],
            "team_id": [*tenant.teams.values(), tenant.other_team],
            "organization": [tenant.organization, tenant.other_organization],
            "workspace": ["network", "payments", "elsewhere"],
            "membership_id": [*tenant.memberships.values(), tenant.other_membership],
            "token_id": [token["id"] for token in tokens],
        },
        session=requests.Session(),
    )


def operations(served: ServedDeployment) -> list[Any]:
    document = requests.get(f"{served.server.url}/openapi.json", timeout=HANGS).json()
    found: Iterable[Any] = schemathesis.openapi.from_dict(document).get_all_operations()
    return [one.ok() for one in found]


def hammer_all(served: ServedDeployment, fuzzer: Fuzzer, examples: int) -> None:
    before = len(served.server.log_lines())
    with fuzzer.session:
        for operation in operations(served):
            fuzzer.hammer(operation, examples)
    lines = served.server.log_lines()[before:]
    assert [line for line in lines if line["level"] == "error"] == []


def test_generated_requests_are_answered_as_documented(
    served: ServedDeployment, fuzzer: Fuzzer
) -> None:
    hammer_all(served, fuzzer, examples=3)


@pytest.mark.long
def test_generated_requests_are_answered_as_documented_for_long_and_memory_stays(
    served: ServedDeployment, fuzzer: Fuzzer
) -> None:
    hammer_all(served, fuzzer, examples=100)
    before = resident(served)
    hammer_all(served, fuzzer, examples=1000)
    assert resident(served) - before < 32 * MEGABYTE


def test_a_server_that_breaks_its_document_is_found_out(
    served: ServedDeployment, fuzzer: Fuzzer
) -> None:
    """The control: the same requests against a document that promises something else."""
    document = requests.get(f"{served.server.url}/openapi.json", timeout=HANGS).json()
    document["components"]["schemas"]["LinkageDocument"]["required"] = ["data", "more"]
    path = "/api/v2/teams/{team_id}/relationships/users"
    operation = schemathesis.openapi.from_dict(document)[path]["GET"]
    with pytest.raises(FailureGroup, match='"more" is a required property'), fuzzer.session:
        fuzzer.hammer(operation, examples=50)


def resident(served: ServedDeployment) -> int:
    """The memory of the server's processes, in bytes."""
    main = psutil.Process(served.server.pid)
    size: int = sum(one.memory_info().rss for one in (main, *main.children()))
    return size
