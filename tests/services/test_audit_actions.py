"""Everything that `ACTIONS` declares is written, and nothing else is."""

from collections import defaultdict
from collections.abc import Callable

from teamvars import wiring
from teamvars.changes.waves import Change
from teamvars.decisions import Decision, Found
from teamvars.decisions.deliveries import HostDraft
from teamvars.decisions.invitations import Asked
from teamvars.decisions.tokens import created
from teamvars.decisions.users import Disabling
from teamvars.decisions.variables import ToWorkspace
from teamvars.domain.access import Caller
from teamvars.domain.applies import ApplyDraft, CopyDraft, ItemDraft, OnConflict
from teamvars.domain.audit import ACTIONS, Acceptance
from teamvars.domain.directory import Directory, TeamEntry, UserEntry
from teamvars.domain.keys import MASTER
from teamvars.domain.memberships import InvitationDraft
from teamvars.domain.moves import MoveDraft
from teamvars.domain.organizations import OrganizationDraft
from teamvars.domain.project_grants import ProjectGrantDraft
from teamvars.domain.projects import ProjectDraft
from teamvars.domain.runners import RunnerDraft
from teamvars.domain.team_access import AccessType
from teamvars.domain.teams import TeamDraft
from teamvars.domain.times import DAY
from teamvars.domain.tokens import WAY_BACK, LimitsDraft, NewToken, OwnerName, SaidLimit, Token
from teamvars.domain.variable_sets import Attaching, SetDraft, TargetsDraft
from teamvars.domain.variables import ANY_VERSION, VariableDraft
from teamvars.domain.workspaces import WorkspaceDraft
from teamvars.kernel.variables import Category
from teamvars.protocol.bundles import JobKey
from teamvars.security.keyring import Keyring
from teamvars.security.tokens import hash_token
from teamvars.services.outbox import Outbox
from teamvars.services.tokens import fresh_token
from teamvars.storage.database import Transaction
from tests.services.altered_trails import execute
from tests.services.calls import AS_WRITTEN, Calls, caller
from tests.services.jobs import Job, approve, propose
from tests.services.test_audit import all_kinds_of_changes
from tests.support.deployment import open_deployment, operator, secret_of
from tests.support.mailbox import open_mailbox


async def use_users(calls: Calls) -> None:
    """Invited and claimed, renamed, linked and not any more, disabled and enabled."""
    services, tenant = calls.services, calls.tenant
    email = f"claimed-{tenant.organization}@example.com"
    invitation = caller(tenant, "owner"), tenant.organization, InvitationDraft(email)
    await services.invitations.invite(*invitation)
    entry = UserEntry(f"claimed-{tenant.organization}", email)
    await services.directory.apply(operator(), Directory((entry,)), AS_WRITTEN)
    (plain, owner) = calls.named("plain", "owner")
    await services.accounts.rename(operator(), plain, f"new-{plain}")
    account = "https://login.example.com", plain
    await services.accounts.link(operator(), f"new-{plain}", *account)
    await services.accounts.unlink(operator(), f"new-{plain}", *account)
    await services.accounts.disable(operator(), owner, Disabling(force=True))
    await services.accounts.enable(operator(), owner)


async def use_sign_ins(calls: Calls) -> None:
    """An owner who has signed in has everybody do so, and the host lets them in all the same."""
    services, tenant, fresh = calls.services, calls.tenant, fresh_token("user")
    (owner,) = calls.named("owner")
    of_organization = caller(tenant, "organization-token")
    seen = await services.organizations.read(of_organization, tenant.organization)

    def sign_in(found: Found) -> Decision[NewToken]:
        reach = frozenset({seen.organization.id})
        ends, user = found.now + DAY, tenant.users["owner"]
        token = Token(fresh.id, "user", user, found.now, ends, None, "", user, reach)
        return created(found, token, fresh)

    await services.changes.make(Change(operator(), None, sign_in))
    for is_so in (True, False):
        draft = OrganizationDraft(sso_required=is_so)
        by = Caller(hash_token(fresh.secret), "req-1")
        await services.organizations.update(by, tenant.organization, draft)
        await services.tokens.create(operator(), OwnerName(user=owner), WAY_BACK)


async def use_data_keys(calls: Calls) -> None:
    """Added, activated, and the one before retired after a job."""
    keys = calls.services.data_keys
    await keys.activate(operator(), await keys.add(operator()))
    await calls.services.rewraps.run(operator(), lambda _: None)
    await keys.retire(operator(), "data-1", leaked=True)


async def use_invitations(calls: Calls) -> None:
    """Sent, refused, sent again, accepted, revoked and expired, with the user that one made."""
    database, services, keys = calls.services.database, calls.services, calls.node.keys
    async with open_mailbox() as mailbox:
        setup = wiring.Setup(mail_server=mailbox.server(insecure=True))
        url = calls.node.config.url
        async with open_deployment(url, keys=keys, setup=setup) as node:
            outbox = node.services.outbox
            await send_all(outbox)  # what else there is has been due for longer
            asked = [Asked(f"{n}@invited.example", calls.tenant.organization) for n in range(3)]
            invitations = node.services.operator_invitations
            made = [
                (await invitations.create(operator(), one, show=False)).membership for one in asked
            ]
            mailbox.says["RCPT"] = "550 no"
            await outbox.send_next()
            mailbox.says.clear()
            await send_all(outbox)
    renewed = await services.operator_invitations.resend(operator(), made[0].id, show=True)
    by = Caller(hash_token(secret_of(renewed)), "req-1")
    await services.invitation_links.accept(by, secret_of(renewed))
    await services.operator_invitations.revoke(operator(), made[1].id)

    async def let_time_go_by(tx: Transaction) -> None:
        await tx.execute("UPDATE invitations SET expires_at = 1")
        await tx.execute("UPDATE users SET created_at = 1 WHERE placeholder = 1")

    await database.write(let_time_go_by)
    await services.operator_invitations.expire()


async def send_all(outbox: Outbox) -> None:
    """Sends whatever is due."""
    while await outbox.send_next():
        pass


async def use_contents(calls: Calls) -> None:
    """A team, a workspace and a variable renamed, a grant changed, a workspace locked."""
    services, tenant = calls.services, calls.tenant
    owner = caller(tenant, "owner")
    for access in (AccessType.READ, AccessType.WRITE):
        await calls.apply(
            TeamEntry("crew", workspaces={"network": access}), workspaces=("network",)
        )
    await services.teams.update(owner, tenant.teams["crew"], TeamDraft(name="band"))
    place = owner, tenant.workspaces["network"]
    await services.workspaces.lock(*place)
    await services.workspaces.unlock(*place, force=False)
    await services.workspaces.update(*place, WorkspaceDraft(name="net"))
    for value in ("1", "2"):
        wanted = VariableDraft(key="copied", category=Category.ENV, value=value)
        source = tenant.workspaces["payments"]
        asked = ApplyDraft([ItemDraft(wanted)])
        await services.applies.apply(owner, ToWorkspace(source), asked, ANY_VERSION)
        copy = CopyDraft(source, on_conflict=OnConflict.REPLACE)
        await services.copies.copy(owner, ToWorkspace(place[1]), copy)
    made = await calls.create(key="former")
    renamed = VariableDraft(key="later")
    owner_, workspace_id = place
    await services.variables.update(
        owner_, ToWorkspace(workspace_id), made.id, renamed, ANY_VERSION
    )


async def use_sets(calls: Calls) -> None:
    """Made, changed, renamed, attached, attached no more, and deleted."""
    sets, tenant, owner = calls.services.variable_sets, calls.tenant, caller(calls.tenant, "owner")
    project = (
        await calls.services.projects.create(owner, tenant.organization, ProjectDraft(name="sets"))
    ).project
    draft = SetDraft(name="shared", project_id=project.id)
    made = (await sets.create(owner, tenant.organization, draft)).set.id
    await sets.update(owner, made, SetDraft(name="common"))
    projects = TargetsDraft((project.id,), kind="projects")
    for how in (Attaching.ADD, Attaching.REMOVE):
        await sets.attach(owner, made, projects, how)
    await sets.delete(owner, made)
    other = (await sets.create(owner, tenant.organization, SetDraft(name="other"))).set.id
    await sets.attach(owner, other, TargetsDraft((tenant.workspaces["payments"],)), Attaching.ADD)


async def use_organizations(calls: Calls) -> None:
    """Made, renamed and deleted."""
    admin = caller(calls.tenant, "admin")
    name = f"made-{calls.tenant.organization}"
    await calls.services.organizations.create(admin, OrganizationDraft(name=name))
    limits = LimitsDraft((SaidLimit("team", 86_400_000, ""),))
    await calls.services.token_limits.put(admin, name, limits)
    renamed = OrganizationDraft(name=f"new-{name}")
    await calls.services.organizations.update(admin, name, renamed)
    await calls.services.organizations.delete(admin, f"new-{name}", force=True)


async def use_projects(calls: Calls) -> None:
    """One made, renamed, deleted, and a workspace moved."""
    services, owner = calls.services, caller(calls.tenant, "owner")
    made = await services.projects.create(
        owner, calls.tenant.organization, ProjectDraft(name="made")
    )
    id_ = made.project.id
    await services.projects.update(owner, id_, ProjectDraft(name="renamed"))
    network = MoveDraft((calls.tenant.workspaces["network"],))
    await services.projects.move(owner, id_, network)
    await services.projects.move(owner, calls.tenant.project, network)
    await services.projects.delete(owner, id_)
    given = await services.project_grants.create(
        owner,
        ProjectGrantDraft(
            team_id=calls.tenant.teams["crew"], project_id=calls.tenant.project, access="read"
        ),
    )
    await services.project_grants.update(owner, given.id, ProjectGrantDraft(access="write"))
    await services.project_grants.delete(owner, given.id)


async def use_runners(calls: Calls) -> None:
    """One proposed, changed, approved, used, revoked and deleted."""
    services, owner = calls.services, caller(calls.tenant, "owner")
    runner_id = await propose(calls.tenant)
    await services.runners.update(owner, runner_id, RunnerDraft(description="of the pipeline"))
    await approve(calls.tenant, runner_id)
    job = Job(calls.tenant, JobKey.generate())
    await job.deliver(await job.exchange())
    await services.host_deliveries.hand_out(
        operator(), HostDraft(calls.tenant.organization, "payments", "a test")
    )
    await services.approvals.revoke(operator(), runner_id)
    await services.runners.delete(caller(calls.tenant, "owner"), runner_id)


async def use_trails(calls: Calls) -> None:
    """One altered, and accepted."""
    stream = calls.tenant.workspaces["network"]
    touch = "UPDATE streams SET head = link WHERE id = $1"
    await execute(calls.services.database, stream, touch)
    _, (found,) = await calls.services.audit.verify()
    wanted = Acceptance(stream, 0, found.found or "", "", "why")
    await calls.services.audit.accept(operator(), wanted)


async def use_keys(calls: Calls) -> None:
    keys, in_use = calls.services.keys, calls.services.keys_in_use

    def file(step: Callable[[Keyring], Keyring]) -> Keyring:
        in_use.take(step(in_use.keyring))
        return in_use.keyring

    first, second = [await keys.add(operator(), MASTER, file) for _ in range(2)]
    for key_id in (first, second):
        await keys.activate(operator(), key_id, file)
    await keys.retire(operator(), first, file, leaked=True)
    await keys.rotate(operator(), file)


async def test_every_action_is_written_with_all_its_details(own_calls: Calls) -> None:
    await all_kinds_of_changes(own_calls)
    await use_users(own_calls)
    await use_sign_ins(own_calls)
    await use_invitations(own_calls)
    await use_contents(own_calls)
    await use_sets(own_calls)
    await use_organizations(own_calls)
    await use_projects(own_calls)
    await use_runners(own_calls)
    await use_trails(own_calls)
    await use_keys(own_calls)
    await use_data_keys(own_calls)
    found: dict[str, set[str]] = defaultdict(set)
    for entry in await own_calls.services.audit.newest(10_000):
        details = entry.read_details()
        assert details is not None
        assert ACTIONS[entry.action].admits(details)
        assert ACTIONS[entry.action].subject_type == entry.subject_type
        found[entry.action] |= details.keys()
    found["runner.approve"].add("proposed-by")  # by owners of a week: see test_owner_approvals.py
    for action in ("token.create", "token.revoke"):
        found[action].add("provider")  # of a session: see test_sign_ins.py and test_sign_outs.py
    missing = ACTIONS.keys() - found.keys()
    assert not missing, f"declared but never written: {', '.join(missing)}; add it to a use_*"
    declared = {name: action.always | action.sometimes for name, action in ACTIONS.items()}
    assert found == declared


def test_details_that_are_not_declared_or_not_complete_are_told() -> None:
    action = ACTIONS["grant.put"]
    assert action.admits(("workspace", "access", "variables"))
    assert action.admits(("workspace", "access", "variables", "changed"))
    assert not action.admits(("workspace", "access"))
    assert not action.admits(("workspace", "access", "variables", "value"))
