"""What `/openapi.json` allows is accepted, and what it forbids is refused, at every bound it names.

schemathesis makes the requests, the same each time: for each part of one what is just allowed, and
what is just not.
"""

import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest
import requests
import schemathesis
from schemathesis.core.failures import FailureGroup
from schemathesis.core.parameters import ParameterLocation
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from tests.support.ids import ids_of
from tests.support.served_deployment import ServedDeployment
from tests.support.tenant import build_tenant

# A schema cannot say what else there is, who has been here before, or what two members say of each
# other. These are refused for one of the three.
REFUSED = {
    "already_member": "who is invited, or has accepted, already is",
    "default_project_stays": "the project that is asked about is the one of its organization",
    "hcl_syntax": "code is what its language has",
    "idempotency_key_reused": "the key is that of an earlier request",
    "invalid_parameter filter[tagged][0][value]": "a value needs its key",
    "invalid_parameter page[after]": "a cursor is that of a page of this list",
    "invalid_value /data/0/id": "the workspace has no such variable",
    "invalid_value /data/0/meta/delete": "nothing is deleted unless the request is versioned",
    "invalid_value /data/0/meta/version-id": "the same of what must not have changed",
    "invalid_value /data/attributes/conditions": "an issuer needs some, and no issuer none",
    "invalid_value /data/attributes/description": "the path says if a team's token has one",
    "invalid_value /data/attributes/expired-at": "a token ends later than now",
    "invalid_value /data/attributes/expires-in": "no token outlives that which it is made with",
    "invalid_value /data/attributes/issuer": "a runner has an issuer or a key",
    "invalid_value /data/attributes/secret": "nobody made that link",
    "invalid_value /data/attributes/trigger-patterns": "without file triggers there are none",
    "invalid_value /data/attributes/user-code": "nothing waits with that code",
    "invalid_value /data/attributes/workspace-patterns": "a runner reaches some workspace",
    "invalid_value /data/attributes/workspace-patterns/0": "a pattern has a name's characters or *",
    "invalid_value /filter/organization/name": "it is the one in the path",
    "invalid_value /filter/workspace/name": "it is the one in the path",
    "key_taken": "the workspace has a variable of that name",
    "missing_member /data/0/attributes": "a tag is known by its id or by its name",
    "missing_member /data/attributes/code-challenge": "a program has a code or a browser",
    "missing_member /data/attributes/description": "the path says if a team's token has one",
    "missing_member /data/attributes/host": "a program has a code or a browser",
    "missing_member /data/attributes/redirect-uri": "the same",
    "missing_member /data/attributes/state": "the same",
    "missing_member /data/attributes/user-code": "only a program that waits is refused here",
    "missing_member /data/relationships/tags/data/0/attributes": "the same",
    "name_taken": "something else is called so",
    "not_found": "there is nothing of that id",
    "not_offered": "no state is kept, and nothing runs",
    "precondition_failed": "it has changed, or was never so",
    "read_only": "only a custom access names its permissions",
    "type_conflict": "something else has that id",
}
ACCEPTED = {
    "/actions/preview": "a preview of nothing, or of null, is that of a deletion",
    "/authentication-token": "clients that say nothing of a token send an empty document, or null",
    "filter[since]": "an empty filter is none",
    "page[size]": "clients of HCP Terraform ask for large pages, and get the largest",
}
WITHOUT_DOCUMENTS = "/oauth/"
"""Refuses in words of its own (RFC 6749)."""
OF_A_STATE = ("Idempotency-Key", "If-Match")
"""What a document was sent for before, or was changed since, hides what else is wrong with it."""


async def test_parameters_are_as_tight_as_the_document_says(served: ServedDeployment) -> None:
    await all_is_as_tight(served, bodies=False)


@pytest.mark.long
async def test_documents_are_as_tight_as_the_document_says(served: ServedDeployment) -> None:
    await all_is_as_tight(served, bodies=True)


async def all_is_as_tight(served: ServedDeployment, *, bodies: bool) -> None:
    """Every request, as an owner of an organization that each operation has for itself, unless it
    only reads.
    """
    url = served.server.url
    document = (await served.client.get(f"{url}/openapi.json")).json()
    if not bodies:
        take_examples_alone(document)
    loose = []
    readers = await build_tenant(served.near)
    to_read = await ids_of(readers)
    with requests.Session() as session:
        session.trust_env = False  # what proxies there are it would look up for each request
        for one in schemathesis.openapi.from_dict(document).get_all_operations():
            operation: Any = one.ok() if isinstance(one, Ok) else pytest.fail(str(one))
            if operation.path.startswith(WITHOUT_DOCUMENTS):
                continue
            tenant, ids = readers, to_read
            if operation.method.upper() != "GET":
                tenant = await build_tenant(served.near)
                ids = await ids_of(tenant)
            headers = {"Authorization": f"Bearer {tenant.tokens['owner']}"}
            for case in cases(operation, bodies=bodies):
                case.path_parameters.update({name: ids[name] for name in case.path_parameters})
                answer = case.call(base_url=url, session=session, headers=headers)
                loose += faults(case, answer)
    assert loose == []


def take_examples_alone(document: Any) -> None:
    """A body is its example, and nothing else: what is not sent need not be made."""
    for path in document["paths"].values():
        for method, operation in path.items():
            if method != "parameters" and "requestBody" in operation:
                for content in operation["requestBody"]["content"].values():
                    content["schema"] = {"const": content["example"]}


def cases(operation: Any, *, bodies: bool) -> Iterator[Any]:
    """The requests for an operation that change its body, or those that change another part."""
    config = operation.schema.config.generation_for(operation=operation)
    modes = list(GenerationMode)
    for case in operation.schema.iter_coverage_cases(
        operation, generation_modes=modes, generation_config=config
    ):
        changes_body = case.meta.phase.data.parameter_location is ParameterLocation.BODY
        changes_path = case.meta.phase.data.parameter_location is ParameterLocation.PATH
        if changes_body is not bodies or changes_path or case.method != operation.method.upper():
            continue
        for name in OF_A_STATE if bodies else ():
            case.headers.pop(name, None)
        yield case


def faults(case: Any, answer: Any) -> list[str]:
    """What is wrong with an answer, unless there is a reason for it."""
    try:
        case.validate_response(answer, checks=[negative_data_rejection, positive_data_acceptance])
    except FailureGroup:
        what = case.meta.phase.data
        if answer.status_code < HTTPStatus.BAD_REQUEST:
            known = what.parameter in ACCEPTED or case.operation.path.endswith(tuple(ACCEPTED))
            return [] if known else [f"{case.operation.label}: {what.description}: {answer.text}"]
        refused = [error for error in answer.json()["errors"] if not is_known(error)]
        return [f"{case.operation.label}: {what.description}: {error}" for error in refused]
    return []


def is_known(error: Any) -> bool:
    """Whether a schema could not say that this is refused."""
    where = next(iter(error.get("source", {}).values()), "")
    return error["code"] in REFUSED or f"{error['code']} {re.sub(r'[0-9]+', '0', where)}" in REFUSED
