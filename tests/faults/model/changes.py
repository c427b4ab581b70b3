"""What an apply or a copy makes of a workspace, worked out before anything of it happens."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.faults.model.refusals import FaultTriple
from tests.faults.model.variables import DEFAULTS, Attributes, Name, changed, faults, missing

KEY_TAKEN = "key_taken"
KEYS = "/data/attributes/keys"


class Changes:
    """Outcomes of the variables of one workspace, in the order of the answer, and all faults."""

    def __init__(self, there: Mapping[Name, Attributes]) -> None:
        self.there = there
        self.faults: list[FaultTriple] = []
        self.outcomes: list[tuple[str, Attributes, list[str]]] = []
        """Each outcome with the variable as it will be, or was, and what is another."""
        self._named: set[Name] = set()

    def apply_items(self, items: Iterable[Any]) -> None:
        """Each variable becomes what its item says."""
        for n, item in enumerate(items):
            self._apply(item, f"/data/{n}")

    def prune(self) -> None:
        """What no item has named goes, in the order of a list."""
        for name in sorted(self.there.keys() - self._named):
            self.outcomes.append(("deleted", self.there[name], []))

    def put(self, name: Name, given: Attributes) -> None:
        """The variable of that name becomes what is given."""
        before = self.there.get(name)
        key, category = name
        if before is None:
            made = {**DEFAULTS, **given, "key": key, "category": category}
            self.outcomes.append(("created", made, []))
            return
        names = changed(before, given)
        after = {**before, **{attribute: given[attribute] for attribute in names}}
        self.outcomes.append(("updated" if names else "unchanged", after, names))

    def named(self, names: Sequence[Name] | None) -> Mapping[Name, str] | None:
        """The variables that a copy names, each once, and where. None: all that there are."""
        if names is None:
            return None
        places: dict[Name, str] = {}
        for n, name in enumerate(names):
            if name in places:
                self.faults.append(("422", KEY_TAKEN, f"{KEYS}/{n}/key"))
            else:
                places[name] = f"{KEYS}/{n}"
        return places

    def copy(
        self,
        originals: Mapping[Name, Attributes],
        wanted: Mapping[Name, str] | None,
        on_conflict: str,
        *,
        is_owner: bool,
    ) -> None:
        """Those of another workspace that are wanted are to be here as well."""
        if wanted is None:
            wanted = dict.fromkeys(sorted(originals), KEYS)
        for name, at in wanted.items():
            original = originals.get(name)
            if original is None:
                self.faults.append(("422", "invalid_value", at))
            elif original["sensitive"] and not is_owner:
                self.faults.append(("403", "forbidden", at))
            elif name not in self.there or on_conflict == "replace":
                # Never that it is readable: what is sensitive here stays so.
                stays = {} if original["sensitive"] else {"sensitive"}
                names = [one for one in DEFAULTS if one not in stays]
                self.put(name, {attribute: original[attribute] for attribute in names})
            elif on_conflict == "skip":
                self.put(name, {})
            else:
                self.faults.append(("422", KEY_TAKEN, at))
        self.faults.sort(key=_number)

    @property
    def growth(self) -> int:
        """By how many variables the workspace grows."""
        outcomes = [outcome for outcome, _, _ in self.outcomes]
        return outcomes.count("created") - outcomes.count("deleted")

    def _apply(self, item: Any, at: str) -> None:
        if not isinstance(item, dict):
            self.faults.append(("422", "wrong_type", at))
            return
        found: list[FaultTriple] = []
        if item["type"] != "vars":
            found.append(("409", "type_conflict", f"{at}/type"))
        if "id" in item:
            found.append(("403", "client_id_not_supported", f"{at}/id"))
        given = item["attributes"]
        name = self._name(given)
        place = f"{at}/attributes"
        if name in self._named:
            found.append(("422", KEY_TAKEN, f"{place}/key"))
        found += faults(given, self.there.get(name) if name else None, place)
        found += missing(given, "key", "category", at=place)
        self.faults += sorted(found, key=lambda fault: _place(fault, item, at))
        if name is not None:
            self._named.add(name)
            if not found:
                self.put(name, given)

    @staticmethod
    def _name(given: Attributes) -> Name | None:
        """What the item is about, if it says so."""
        key, category = given.get("key"), given.get("category")
        if isinstance(key, str) and category in ("tool", "env"):
            return key, category
        return None


def _place(fault: FaultTriple, item: Attributes, at: str) -> tuple[int, ...]:
    """Where in the item the fault is: what is missing comes last."""
    _, _, pointer = fault
    assert pointer is not None
    member, _, attribute = pointer.removeprefix(f"{at}/").partition("/")
    given = list(item["attributes"])
    number = given.index(attribute) if attribute in given else len(given)
    return list(item).index(member), number


def _number(fault: FaultTriple) -> int:
    """Which of the names of a copy is at fault."""
    _, _, pointer = fault
    assert pointer is not None
    number = pointer.removeprefix(KEYS).split("/")[1:2]
    return int(*number)
