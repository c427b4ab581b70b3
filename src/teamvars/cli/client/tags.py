"""Tags of a workspace or project that are there, and here."""

from collections.abc import Iterator

from teamvars.domain.names import escaped
from teamvars.domain.tags import (
    KEY,
    KEY_RULE,
    NAME,
    NAME_RULE,
    VALUE,
    VALUE_RULE,
    SaidBinding,
    SaidName,
    TagChange,
    Tags,
    TagsDraft,
    surplus,
)


def merged(there: Tags, here: Tags) -> Tags:
    """All that are here and those that are there; of a key in both, the value there."""
    names = tuple(SaidName(name, "") for name in there.names)
    bindings = tuple(SaidBinding(key, value, "") for key, value in there.bindings.items())
    return TagsDraft(names, bindings).applied_to(here, TagChange.ADD)


def more(there: Tags, here: Tags) -> list[str]:
    """Those that are not here, or have another value here, as people write them."""
    names = set(there.names).difference(here.names)
    return _written(Tags(tuple(names), dict(there.bindings.items() - here.bindings.items())))


def kept(there: Tags, here: Tags) -> list[str]:
    """Those here whose names and keys are not there, likewise."""
    bound = {key: value for key, value in here.bindings.items() if key not in there.bindings}
    return _written(Tags(tuple(set(here.names).difference(there.names)), bound))


def _written(tags: Tags) -> list[str]:
    bound = (f"{key}={value}" for key, value in tags.bindings.items())
    return sorted((*tags.names, *bound))


def faults(there: Tags, here: Tags) -> Iterator[str]:
    """A sentence for each that cannot be here, and one if they would be too many."""
    wrong = [(one, NAME_RULE) for one in there.names if NAME.fullmatch(one) is None]
    wrong += [(one, KEY_RULE) for one in there.bindings if KEY.fullmatch(one) is None]
    wrong += [
        (key, VALUE_RULE) for key, one in there.bindings.items() if VALUE.fullmatch(one) is None
    ]
    yield from (f"its tag {escaped(one)}: {rule}" for one, rule in wrong)
    yield from (one.detail for one in surplus(here, merged(there, here)))


def linkage(tags: Tags) -> dict[str, object]:
    """What a document says of all that have a value."""
    data = [
        {"type": "tag-bindings", "attributes": {"key": key, "value": value}}
        for key, value in tags.bindings.items()
    ]
    return {"data": data}
