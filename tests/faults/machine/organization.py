"""People and teams: what changes who may do what."""

from collections.abc import Coroutine
from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.faults.machine.lockstep import Lockstep
from tests.faults.machine.strategies import MEMBERS, keyed, linkage, team, who
from tests.faults.model.organization import Verb
from tests.faults.nodes import Nodes, Reply


class OrganizationRules(Lockstep):
    """What owners, managers and the operator do with people and teams."""

    @rule(who=who, team=team, linkage=linkage)
    def list_members(self, who: str, team: str, linkage: str) -> None:
        expected = partial(self.model.members, who, team)
        self.agree(
            200,
            expected,
            lambda nodes: nodes.call(who, "GET", nodes.tenant.linkage_path(team, linkage)),
        )

    @rule(
        who=who,
        team=team,
        linkage=linkage,
        verb=st.sampled_from(("add", "remove")),
        people=st.lists(st.sampled_from((*MEMBERS, "owner", "outsider")), max_size=3),
        keyed=keyed,
    )
    def change_members(
        self, who: str, team: str, linkage: str, verb: Verb, people: list[str], keyed: bool
    ) -> None:
        headers = self.key(keyed)

        def ask(nodes: Nodes) -> Coroutine[Any, Any, Reply]:
            items = [{"type": linkage, "id": nodes.member_id(person, linkage)} for person in people]
            method = "POST" if verb == "add" else "DELETE"
            path = nodes.tenant.linkage_path(team, linkage)
            return nodes.call(who, method, path, {"data": items}, headers)

        expected = partial(self.model.change, who, team, linkage, verb, people)
        self.agree(204, expected, ask, keyed and verb == "add")

    @rule(
        team=st.sampled_from(("writers", "readers", "crew")),
        grants=st.dictionaries(st.sampled_from(("network", "payments")), st.sampled_from((1, 2))),
    )
    def grant(self, team: str, grants: dict[str, int]) -> None:
        expected = partial(self.model.grant, team, grants)
        self.agree(204, expected, lambda nodes: nodes.grant(team, grants))

    @rule(person=st.sampled_from(MEMBERS), status=st.sampled_from(("active", "invited")))
    def set_status(self, person: str, status: str) -> None:
        expected = partial(self.model.set_status, person, status)
        self.agree(204, expected, lambda nodes: nodes.set_status(person, status))

    @rule(person=st.sampled_from(("owner", "writer", "manager", "disabled")))
    def disable_or_enable(self, person: str) -> None:
        verb = "enable" if person in self.model.disabled else "disable"
        expected = partial(getattr(self.model, verb), person)
        self.agree(204, expected, lambda nodes: getattr(nodes, verb)(person))

    @rule(who=st.sampled_from(("writer", "reader", "manager", "writers-token")))
    def revoke_or_issue(self, who: str) -> None:
        again = who in self.model.revoked
        if again and who in self.model.disabled:
            return  # the operator is refused a token that would be refused
        self.all(nodes.issue(who) if again else nodes.revoke(who) for nodes in self.stores)
        self.model.revoked ^= {who}
        # A key is the token's.
        self.kept = [kept for kept in self.kept if kept.expected.args[0] != who]
