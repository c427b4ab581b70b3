"""Callers, and what they ask for."""

from hypothesis import strategies as st

PEOPLE = (
    *("owner", "writer", "reader", "manager", "hidden", "plain", "disabled"),
    *("invited_writer", "outsider"),
)
CALLERS = (*PEOPLE, "owners-token", "writers-token", "organization-token")
MEMBERS = (*PEOPLE[:-1], "invited")

# Mostly those who may do something: else there would be little to do it to.
_able = st.sampled_from(("owner", "owner", "writer", "organization-token"))
who = _able | st.sampled_from(CALLERS)
changer = _able | _able | _able | st.sampled_from(CALLERS)
workspace = st.sampled_from(("network", "network", "payments"))
team = st.sampled_from(("crew", "crew", "owners", "writers", "managers", "secret"))
linkage = st.sampled_from(("users", "organization-memberships"))
number = st.integers(0, 1000)
if_match = st.sampled_from((None, None, None, "now", "version#1", "*"))
attributes: dict[str, st.SearchStrategy[object]] = {
    "key": st.sampled_from(("A", "a", "b", "b", "ü", "", "a b")),
    "value": st.sampled_from(("1", "1", '"eu"', "[1, 2]", '"grüß\\n"', "1 +")),
    "description": st.sampled_from(("", "what it is for")),
    "category": st.sampled_from(("tool", "env")),
    "hcl": st.booleans(),
    "sensitive": st.booleans(),
}
_always = {name: attributes[name] for name in ("key", "value", "category")}
new = st.fixed_dictionaries(
    _always, optional={k: v for k, v in attributes.items() if k not in _always}
) | st.fixed_dictionaries({**_always, "description": attributes["description"]})
changes = st.fixed_dictionaries({}, optional=attributes)
keyed = st.booleans()

name = st.tuples(st.sampled_from(("a", "b", "b", "A", "ü")), attributes["category"])
_said = {k: v for k, v in attributes.items() if k not in ("key", "category")}
_good = st.builds(
    lambda name, said: {"key": name[0], "category": name[1], **said},
    name,
    st.fixed_dictionaries({}, optional=_said),
)
_odd = st.fixed_dictionaries(
    {},
    optional={
        **attributes,
        "key": attributes["key"] | st.just(5),
        "category": st.sampled_from(("tool", "env", "terraform")),
        "value": attributes["value"] | st.just(7),
        "hcl": st.sampled_from((True, "yes")),
        "valeu": st.just(""),
    },
)


def _items(attributes: st.SearchStrategy[dict[str, object]]) -> st.SearchStrategy[object]:
    return attributes.map(lambda given: {"type": "vars", "attributes": given})


_odd_item = (
    _items(_odd)
    | st.just(5)
    | st.just({"type": "teams", "id": "var-1", "attributes": {"key": "a", "category": "env"}})
)
# Mostly lists that nothing is wrong with by themselves.
_sound = st.lists(
    _good, min_size=1, max_size=5, unique_by=lambda given: (given["key"], given["category"])
)
_all_sound = _sound.map(lambda all_: [{"type": "vars", "attributes": given} for given in all_])
_one_twice = _all_sound.map(lambda all_: [*all_, all_[0]])
_anything = st.lists(_items(_good) | _odd_item, max_size=5)
items = _all_sound | _all_sound | _all_sound | _one_twice | _anything
source = st.sampled_from((*["other"] * 6, "same", "elsewhere", "nowhere"))
_usual = st.sampled_from((("a", "tool"), ("b", "tool"), ("b", "env")))
_some = st.lists(_usual, max_size=3, unique=True)
names = st.none() | st.none() | _some | _some | st.lists(name, max_size=3)
on_conflict = st.sampled_from(("refuse", "skip", "replace", "replace", "replace"))
head = st.sampled_from((None, None, None, "now", "head#1", "*"))
