"""Sets and what runs get: jobs are handed what counts, and attaching a set is no way to read it."""

from collections.abc import Sequence
from copy import deepcopy

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from teamvars import wiring
from teamvars.changes.waves import Change
from teamvars.decisions import Decision, Found
from teamvars.decisions import deliveries as decisions
from teamvars.decisions.deliveries import Bundle, ValuesForJob
from teamvars.domain.access import Caller
from teamvars.domain.deliveries import DeliveryDraft
from teamvars.protocol.bundles import JobKey
from teamvars.security.tokens import hash_token
from teamvars.services.diagnosis import Diagnosis
from tests.support.deployment import Deployment, operator
from tests.support.exchanging import CANARY, Job, job_in, runner_in
from tests.support.jobs import runner_document
from tests.support.tenant import Tenant, build_tenant, linkage_document
from tests.web.test_project_grants import grant as grant_on_project
from tests.web.test_project_sets import make_owned
from tests.web.test_projects import make, move
from tests.web.test_variable_sets import as_global, attach, changed, make_set, put, rights

BOTH = "manage-workspaces", "manage-projects"


@pytest.fixture
async def job(tenant: Tenant) -> Job:
    return await job_in(tenant)


async def test_a_job_is_handed_what_counts_of_sets_too(job: Job) -> None:
    tenant = job.tenant
    made = await make_set(tenant, "shared", "network")
    await put(tenant, made, "region", "of the set")
    hidden = await put(tenant, made, "token", "secret-of-the-set", sensitive=True)
    info, values = job.opened(await job.deliver(await job.token()))
    assert values == {"region": "eu", "password": CANARY, "token": "secret-of-the-set"}
    assert (await changed(tenant, made, priority=True)).status_code == 200
    after, values = job.opened(await job.deliver(await job.token()))
    assert values["region"] == "of the set"
    assert info.head != after.head
    events = await tenant.call("owner", "GET", f"/runners/{job.runner['id']}/audit-events")
    handed = events.json()["data"][0]["attributes"]["details"]["variables"]
    by_key = {one["key"]: one for one in handed}
    assert by_key["token"] == {
        "key": "token",
        "category": "tool",
        "version-id": hidden["attributes"]["version-id"],
        "varset": made,
    }
    assert "varset" not in by_key["password"]
    assert await tenant.deployment.audit_holds()


@pytest.mark.parametrize("change", ["nothing", "a variable", "an attachment", "a detachment"])
async def test_what_was_seen_of_sets_is_looked_at_again_once_it_has_changed(
    job: Job, change: str
) -> None:
    tenant, workspace_id = job.tenant, job.tenant.workspaces["network"]
    first, second = await make_set(tenant, "first", "network"), await make_set(tenant, "second")
    await put(tenant, first, "one")
    await put(tenant, second, "two")
    deliveries, changes = tenant.deployment.services.deliveries, tenant.deployment.services.changes
    caller, draft = Caller(hash_token(await job.token()), "req-1"), DeliveryDraft(job.key.public)
    seen = await changes.glance(caller, lambda found: found.of(ValuesForJob(workspace_id)))
    expected = {"region", "password", "one"}
    if change == "a variable":
        await put(tenant, first, "more")
        expected |= {"more"}
    elif change == "an attachment":
        await attach(tenant, second, "network")
        expected |= {"two"}
    elif change == "a detachment":
        await attach(tenant, first, "network", method="DELETE")
        expected -= {"one"}
    looked: list[bool] = []

    def decide(found: Found) -> Decision[Bundle | None]:
        looked.append(ValuesForJob(workspace_id) in found.answers)
        return decisions.deliver(found, workspace_id, seen, draft, deliveries._trust)

    bundle = await changes.make(Change(caller, "job", decide, is_admitted=True))
    assert bundle is not None
    assert {one.variable.key for one in bundle.variables} == expected
    assert any(looked) is (change != "nothing")


async def test_what_a_set_handed_out_is_to_be_rotated_once_the_runner_is_ended(job: Job) -> None:
    tenant = job.tenant
    made = await make_set(tenant, "shared", "network")
    hidden = await put(tenant, made, "token", "secret", sensitive=True)
    job.opened(await job.deliver(await job.token()))
    await tenant.call("owner", "POST", f"/runners/{job.runner['id']}/actions/revoke")
    path = f"/organizations/{tenant.organization}/deliveries"
    (receipt,) = (await tenant.call("owner", "GET", path)).json()["data"]
    keys = {one["id"]: one["key"] for one in receipt["attributes"]["to-rotate"]}
    assert keys[hidden["id"]] == "token"
    assert sorted(keys.values()) == ["password", "token"]


async def test_only_owners_bring_sensitive_values_to_where_a_runner_is_handed_them(
    job: Job,
) -> None:
    tenant = job.tenant
    await rights(tenant, "writers", *BOTH)
    made = await make_set(tenant, "shared")
    await put(tenant, made, "region")
    # What anybody may read who sees the set is no secret.
    assert (await attach(tenant, made, "network", who="writer")).status_code == 204
    assert (await attach(tenant, made, "network", who="writer", method="DELETE")).is_success
    await put(tenant, made, "token", "secret", sensitive=True)
    refused = await attach(tenant, made, "network", who="writer")
    assert refused.status_code == 403
    assert f"network ({job.runner['attributes']['name']})" in refused.text
    assert (await changed(tenant, made, "writer", **as_global())).status_code == 403
    linked = {"data": [{"type": "workspaces", "id": tenant.workspaces["network"]}]}
    document = {"data": {"type": "varsets", "relationships": {"workspaces": linked}}}
    answer = await tenant.call("writer", "PATCH", f"/varsets/{made}", document)
    assert answer.status_code == 403
    assert (await attach(tenant, made, "payments", who="writer")).status_code == 204
    assert (await attach(tenant, made, "network")).status_code == 204
    # It is there already: who attaches it again brings nothing.
    assert (await attach(tenant, made, "network", who="writer")).status_code == 204
    assert (await attach(tenant, made, "network", method="DELETE")).status_code == 204
    await tenant.call("owner", "POST", f"/runners/{job.runner['id']}/actions/revoke")
    assert (await attach(tenant, made, "network", who="writer")).status_code == 204


async def test_no_other_name_takes_a_workspace_out_of_reach_for_a_moment(tenant: Tenant) -> None:
    document = runner_document(workspace_patterns=["net*"])
    path = f"/organizations/{tenant.organization}/runners"
    runner = (await tenant.call("owner", "POST", path, document)).json()["data"]
    digest = runner["attributes"]["digest"]
    await tenant.deployment.services.approvals.approve(operator(), runner["id"], digest)
    await rights(tenant, "writers", *BOTH)
    made = await make_set(tenant, "shared")
    await put(tenant, made, "token", "secret", sensitive=True)
    id_ = tenant.workspaces["network"]
    renamed = {"data": {"type": "workspaces", "id": id_, "attributes": {"name": "other"}}}
    assert (await tenant.call("writer", "PATCH", f"/workspaces/{id_}", renamed)).is_success
    assert (await attach(tenant, made, "network", who="writer")).status_code == 403
    assert (await changed(tenant, made, "writer", **as_global())).status_code == 403
    # Nor does a version that waits for approval.
    narrowed = {"data": {"type": "runners", "attributes": {"workspace-patterns": ["x*"]}}}
    assert (await tenant.call("owner", "PATCH", f"/runners/{runner['id']}", narrowed)).is_success
    assert (await attach(tenant, made, "network", who="writer")).status_code == 403
    assert (await attach(tenant, made, "network")).status_code == 204


AT_PROJECT = {"attach to the project": "POST", "detach from the project": "DELETE"}
ALONE = {"attach": "POST", "detach": "DELETE"}
MOVES = "move in", "move out"
BY_OWNER = "hide", "approve", "revoke"
"""What is always done by an owner."""
KEEPER = "hidden"
"""Who writes the sets of the project and the variables in it, and no others."""
# Steps: who, what, and of which workspace.
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["writer", "writer", KEEPER, "owner"]),
        st.sampled_from([*ALONE, *AT_PROJECT, *MOVES, "global", "local", *BY_OWNER]),
        st.sampled_from(["network", "payments"]),
    ),
    min_size=4,
    max_size=18,
)
BEGUN = st.sampled_from(
    [(), tuple(("owner", what, "network") for what in ("hide", "approve", MOVES[0]))]
)
"""Before these: most matter little until there is a secret, and a runner that may be handed it."""


class Model:
    """Whose the set is, what is attached, what is in the project, what is a secret, and where a
    runner is handed what.
    """

    def __init__(self, *, is_of_project: bool) -> None:
        self.is_of_project = is_of_project
        self.attached: set[str] = set()
        self.inside: set[str] = set()
        self.is_at_project = False
        self.is_global = False
        self.has_secret = False
        self.handed: set[str] = set()

    def exposed(self) -> set[str]:
        """The workspaces whose runners are handed the secret."""
        reached = self.attached | (self.inside if self.is_at_project else set())
        reached = {"network", "payments"} if self.is_global else reached
        return self.handed & reached if self.has_secret else set()

    def is_possible(self, who: str, what: str, workspace: str) -> bool:
        """Whether it may be done by who has that right, were there no runners."""
        if who == KEEPER and (what in MOVES or not self.is_of_project):
            return False
        needs_inside = ALONE if who == KEEPER else ("attach",)  # which sees no workspace elsewhere
        is_elsewhere = what in needs_inside and workspace not in self.inside
        return not (self.is_of_project and (what == "global" or is_elsewhere))

    def do(self, what: str, workspace: str) -> None:
        if what == "move out" and self.is_of_project:
            self.attached.discard(workspace)
        if what in ALONE:
            change = self.attached.add if what == "attach" else self.attached.discard
            change(workspace)
        elif what in MOVES:
            change = self.inside.add if what == "move in" else self.inside.discard
            change(workspace)
        elif what in AT_PROJECT:
            self.is_at_project = AT_PROJECT[what] == "POST"
        elif what in ("global", "local"):
            self.is_global = what == "global"
        elif what == "hide":
            self.has_secret = True
        else:
            change = self.handed.add if what == "approve" else self.handed.discard
            change(workspace)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(begun=BEGUN, steps=STEPS)
@pytest.mark.parametrize("is_of_project", [False, True], ids=["organization", "project"])
async def test_no_sequence_of_steps_hands_a_secret_to_a_runner_without_an_owner(
    deployment: Deployment,
    is_of_project: bool,
    begun: Sequence[tuple[str, str, str]],
    steps: Sequence[tuple[str, str, str]],
) -> None:
    tenant, model = await build_tenant(deployment), Model(is_of_project=is_of_project)
    await rights(tenant, "writers", *BOTH)
    shop = await make(tenant)
    made = await (make_owned(tenant, shop) if is_of_project else make_set(tenant, "shared"))
    custom = {"workspace_access": {"variables": "write"}}
    own = {"project_access": {"variable-sets": "write"}}
    await grant_on_project(tenant, shop, "secret", access="custom", **custom, **own)
    runners: dict[str, str] = {}
    for who, what, workspace in (*begun, *steps):
        before = model.exposed()
        after = deepcopy(model)
        after.do(what, workspace)
        may = what in BY_OWNER or (
            model.is_possible(who, what, workspace)
            and (who == "owner" or after.exposed() <= before)
        )
        if what in MOVES:
            project = shop if what == "move in" else tenant.project
            is_done = (await move(tenant, project, workspace, who=who)).is_success
        elif what in AT_PROJECT:
            document = linkage_document(shop, type_="projects")
            path = f"/varsets/{made}/relationships/projects"
            is_done = (await tenant.call(who, AT_PROJECT[what], path, document)).is_success
        else:
            is_done = await do(tenant, made, (who, what, workspace), runners)
        assert is_done is may, (who, what, workspace)
        if is_done:
            model = after
        job = Job(tenant, JobKey.generate(), {})
        if "network" in model.handed:
            _, values = job.opened(await job.deliver(await job.token()))
            assert ("secret" in values.values()) == ("network" in model.exposed())


async def do(
    tenant: Tenant, made: str, step: tuple[str, str, str], runners: dict[str, str]
) -> bool:
    """Does a step, and says whether it was done."""
    who, what, workspace = step
    if what in ALONE:
        method = ALONE[what]
        return (await attach(tenant, made, workspace, who=who, method=method)).is_success
    if what in ("global", "local"):
        return (await changed(tenant, made, who, **as_global(is_=what == "global"))).is_success
    if what == "hide":
        path = f"/varsets/{made}/relationships/vars"
        if not (await tenant.call("owner", "GET", path)).json()["data"]:
            await put(tenant, made, "token", "secret", sensitive=True)
    elif what == "approve":
        if workspace not in runners:
            runner = await runner_in(tenant, workspace)
            runners[workspace] = runner["id"]
    elif workspace in runners:
        id_ = runners.pop(workspace)
        await tenant.deployment.services.approvals.revoke(operator(), id_)
        await tenant.call("owner", "DELETE", f"/runners/{id_}")
    return True


async def test_doctor_names_global_sets_with_secrets_where_there_are_runners(
    tenant: Tenant,
) -> None:
    database = tenant.deployment.services.database
    attached, wide = await make_set(tenant, "a", "network"), await make_set(tenant, "wide")
    for made in (attached, wide):
        await put(tenant, made, f"of-{made}", "secret", sensitive=True)
    readable = await make_set(tenant, "readable", **as_global())
    await put(tenant, readable, "region")

    async def named() -> list[str]:
        found = await Diagnosis(database, wiring.clock).of_data()
        texts = [one.text for one in found if one.subject == "variable sets"]
        return [text for text in texts if f"Set {tenant.organization}/" in text]

    assert (await changed(tenant, wide, **as_global())).status_code == 200
    assert await named() == []
    await job_in(tenant)
    (text,) = await named()
    assert text.startswith(f"Set {tenant.organization}/wide is global and has secrets")
    assert (await changed(tenant, wide, **as_global(is_=False))).status_code == 200
    assert await named() == []
