"""A client that a generator makes of `/openapi.json` works as it stands, with types and names."""

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from tests.support.served_deployment import ServedDeployment
from tests.support.tenant import Tenant

PACKAGE = "generated_teamvars"
Find = Callable[[str], Any]


@pytest.fixture(scope="session")
def generated(served: ServedDeployment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Find]:
    """Finds a module of the package generated from the document of a real server."""
    folder = tmp_path_factory.mktemp("generated")
    config = folder / "config.yaml"
    config.write_text("post_hooks: []\n")  # which would make it pretty
    program = Path(sys.executable).parent / "openapi-python-client"
    url, package = f"{served.server.url}/openapi.json", folder / PACKAGE
    whither = ["--output-path", str(package), "--config", str(config)]
    made = subprocess.run(
        [program, "generate", "--url", url, "--meta", "none", "--fail-on-warning", *whither],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        # What is made by the test has no place at the top of the file.
        yield lambda name: importlib.import_module(f"{PACKAGE}.{name}")  # noqa: TID251


async def test_a_generated_client_creates_lists_and_updates_a_variable(
    generated: Find, served: ServedDeployment, served_tenant: Tenant
) -> None:
    models = generated("models")
    create = generated("api.variables.create_variable").asyncio
    list_ = generated("api.variables.list_variables").asyncio
    update = generated("api.variables.update_variable").asyncio
    workspace_id = served_tenant.workspaces["network"]
    token = served_tenant.tokens["writer"]
    async with generated("client").AuthenticatedClient(served.server.url, token) as client:
        new = models.NewVariableAttributes(
            key="region",
            description="where",
            category=models.NewVariableAttributesCategory.ENV,
            value="eu-central-1",
        )
        resource = models.NewVariableResource(models.NewVariableResourceType.VARS, new)
        body = models.NewVariableDocument(data=resource)
        made = await create(workspace_id, client=client, body=body)
        assert made.data.attributes.value == "eu-central-1"

        listed = await list_(workspace_id, client=client)
        assert [one.id for one in listed.data] == [made.data.id]

        changes = models.VariableChanges(value="eu-north-1", sensitive=True)
        changed = models.ChangedVariableResource(
            made.data.id, models.ChangedVariableResourceType.VARS, changes
        )
        body = models.ChangedVariableDocument(data=changed)
        updated = await update(workspace_id, made.data.id, client=client, body=body)
        assert updated.data.attributes.value is None
        assert updated.data.attributes.version_id != made.data.attributes.version_id


async def test_a_generated_client_knows_pages_times_and_faults(
    generated: Find, served: ServedDeployment, served_tenant: Tenant
) -> None:
    list_ = generated("api.memberships.list_memberships").asyncio
    read = generated("api.teams.read_team").asyncio_detailed
    token = served_tenant.tokens["owner"]
    async with generated("client").AuthenticatedClient(served.server.url, token) as client:
        status = generated("models").ListMembershipsFilterstatus.ACTIVE
        page = await list_(
            served_tenant.organization, client=client, pagesize=2, filterstatus=status
        )
        assert len(page.data) == 2
        assert page.meta.pagination.page_size == 2
        assert page.data[0].attributes.created_at.tzinfo is not None
        missing = await read("team-nothing", client=client)
        assert missing.status_code is HTTPStatus.NOT_FOUND
        assert missing.parsed.errors[0].code == "not_found"
