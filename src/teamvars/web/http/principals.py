"""Whose requests count together, as far as one worker knows before it asks storage."""

from collections import OrderedDict
from weakref import WeakValueDictionary

from teamvars.domain.access import Caller
from teamvars.web.http.budgets import Principal
from teamvars.web.http.fair_slots import FairSlots, Group, Party

REMEMBERED_TOKENS = 16_384
"""By their hashes, the least recently used are forgotten first; some 13 MiB."""


class Principals:
    """The principal of each token that was lately let in, and whose organization it is counted to.

    It is that of which the principal was last shown something: a team and an organization have no
    other, and a user of several is counted to one at a time. Those who were shown nothing yet count
    together, as do all strangers: else a hundred teams that ask for what they may not see, or one
    stranger with a hundred networks, would have a share each. Nothing is granted by what is
    remembered here: each request asks storage. A token that is not remembered counts as a
    stranger's at its address.
    """

    def __init__(self, slots: FairSlots) -> None:
        self._slots = slots
        self._by_token: OrderedDict[bytes, Party] = OrderedDict()
        # What is remembered, or has a request under way, and nothing else.
        self._parties: WeakValueDictionary[Principal, Party] = WeakValueDictionary()
        self._groups: WeakValueDictionary[str, Group] = WeakValueDictionary()
        self._shown_nothing = Group()
        self._strangers = Group()

    def known(self, caller: Caller) -> Party | None:
        """The principal of a token that was lately let in."""
        party = self._by_token.get(caller.token_hash)
        if party is not None:
            self._by_token.move_to_end(caller.token_hash)
        return party

    def stranger(self, address: str) -> Party:
        """Whoever is not known at an address as it is counted."""
        principal = "address", address
        party = self._parties.get(principal)
        if party is None:
            party = self._parties[principal] = Party(principal, self._strangers, is_address=True)
        return party

    def note(self, caller: Caller) -> Party:
        """Remembers a caller whom storage has let in."""
        assert caller.actor is not None  # it has
        party = self._by_token.get(caller.token_hash)
        if party is None:
            party = self._party((caller.actor.kind, caller.actor.id))
            self._by_token[caller.token_hash] = party
            if len(self._by_token) > REMEMBERED_TOKENS:
                self._by_token.popitem(last=False)
        organization = caller.organization_id
        if organization is not None and party.group.organization_id != organization:
            self._slots.move(party, self._group(organization))
        return party

    def forget(self, caller: Caller) -> None:
        """Forgets a token that storage has refused."""
        self._by_token.pop(caller.token_hash, None)

    def _party(self, principal: Principal) -> Party:
        party = self._parties.get(principal)
        if party is None:
            party = self._parties[principal] = Party(principal, self._shown_nothing)
        return party

    def _group(self, organization_id: str) -> Group:
        group = self._groups.get(organization_id)
        if group is None:
            group = self._groups[organization_id] = Group(organization_id)
        return group
