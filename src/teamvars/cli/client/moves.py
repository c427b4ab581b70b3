"""What it takes for an organization to hold what another service holds, and doing it.

Nothing is deleted: what the other service does not have stays, and so does a variable that is
sensitive here. Where both have something, it becomes what the other says, access included.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from teamvars.cli.client import tags
from teamvars.cli.client.api import Api, at
from teamvars.cli.client.changes import SIGNS, Change, Wanted, Work, compare, number
from teamvars.cli.client.contents import SETS, WORKSPACES, Contents, Owner, contents_of
from teamvars.cli.client.holdings import (
    MEMBERS,
    MEMBERSHIPS,
    NO_TAGS,
    PROJECTS,
    TEAM_PROJECTS,
    TEAM_WORKSPACES,
    TEAMS,
    TYPES,
    Holdings,
    Key,
    StatedVariable,
    Thing,
    nested,
)
from teamvars.cli.client.unread_values import Entry, Name
from teamvars.cli.exits import Failure
from teamvars.domain.client_settings import MAX_CHARACTERS
from teamvars.domain.linked import MAX_ITEMS
from teamvars.domain.names import (
    EMAIL_RULE,
    NAME_RULE,
    PROJECT_NAME_RULE,
    TEAM_NAME_RULE,
    escaped,
    is_email,
    is_name,
    is_project_name,
    is_team_name,
)
from teamvars.domain.tags import Tags
from teamvars.domain.variable_sets import MAX_DESCRIPTION_CHARACTERS, is_set_name
from teamvars.domain.variable_sets import NAME_RULE as SET_NAME_RULE
from teamvars.domain.variables import VariableDraft
from teamvars.hcl import HclError, parse
from teamvars.kernel import Discreet
from teamvars.kernel.variables import Category

_NAMED = {
    PROJECTS: (is_project_name, PROJECT_NAME_RULE),
    WORKSPACES: (is_name, NAME_RULE),
    TEAMS: (is_team_name, TEAM_NAME_RULE),
    SETS: (is_set_name, SET_NAME_RULE),
    MEMBERSHIPS: (is_email, EMAIL_RULE),
}
_WITH_VARIABLES = (WORKSPACES, SETS)
_NOTHING = (False, "none")
"""What says of something new that it permits nothing."""
_PARENT, _TEXT = "parent", "description"
_MOST_TEXT = {
    PROJECTS: MAX_CHARACTERS,
    WORKSPACES: MAX_CHARACTERS,
    SETS: MAX_DESCRIPTION_CHARACTERS,
}
"""Characters of the descriptions of what has one."""
_TAG_NAMES, _TAG_BINDINGS = "tag-names", "tag-bindings"
_CALLED = {
    PROJECTS: "project",
    WORKSPACES: "workspace",
    TEAMS: "team",
    TEAM_PROJECTS: "access to a project",
    TEAM_WORKSPACES: "access to a workspace",
    SETS: "set",
    MEMBERSHIPS: "invitation",
    MEMBERS: "member",
}


class Step(Discreet, frozen=True):
    """A thing that is made, or of one that is `there` what becomes another."""

    thing: Thing
    there: Thing | None
    attributes: Mapping[str, Any]
    links: Mapping[str, tuple[Key, ...]]
    tags: Tags
    """All that it has then."""

    @property
    def told(self) -> tuple[str, str, str, str]:
        """As people see it: a sign, what it is, its name, and what it permits and reaches; of what
        is there all that becomes another.
        """
        said = [
            name if value is True or name == _TEXT else f"{name} {value}"
            for name, value in self.attributes.items()
            if self.there is not None or (value not in _NOTHING and name != _TEXT)
        ]
        said += [
            number(len(keys), name.removesuffix("s")) if _is_many(name) else name
            for name, keys in self.links.items()
            if self.there is not None or _is_many(name)
        ]
        if more := tags.more(self.tags, _tags(self.there)):
            said.append(f"tags {' '.join(more)}")
        sign, what = "~" if self.there else "+", _CALLED[self.thing.type]
        return sign, what, self.thing.name, ", ".join(said)


class OfOwner(NamedTuple):
    """What becomes of the variables of a workspace or set, which may not be there yet."""

    thing: Thing
    there: Contents
    changes: list[Change]


class Plan(NamedTuple):
    """What is to be done. `missing` are variables whose values nobody has said, which are not made,
    `unsaid` what ours cannot say, `kept` tags that are only here, and `left` how many things and
    variables are as they should be.
    """

    steps: list[Step]
    variables: list[OfOwner]
    missing: list[Entry]
    unsaid: list[str]
    kept: list[str]
    left: int


class Stated(NamedTuple):
    """What the other service has: its things, and the variables of each that has some. `unknown`
    are entries of the file that are about no variable of it whose value has to be said.
    """

    holdings: Holdings
    variables: Mapping[Key, list[StatedVariable]]
    unknown: Sequence[Entry] = ()


def stated(holdings: Holdings, tell: Callable[[str], None]) -> Stated:
    """Reads the variables as well, and tells how far it is."""
    owners = [one for kind in _WITH_VARIABLES for one in holdings.of_type(kind)]
    found = {}
    for count, one in enumerate(owners, 1):
        if variables := holdings.variables(one):
            found[one.key] = variables
        if count % 50 == 0 or count == len(owners):
            tell(f"Read the variables of {count} of {len(owners)} workspaces and sets.")
    return Stated(holdings, found)


def filled(source: Stated, values: Mapping[Name, Entry]) -> Stated:
    """The same with what the file says of values that cannot be read."""
    known, variables = set(), {}
    for key, listed in source.variables.items():
        entries = [_entry(source.holdings.things[key], one) for one in listed]
        known |= {e.is_of for e, one in zip(entries, listed, strict=True) if one.sensitive}
        variables[key] = [
            replace(one, value=values[entry.is_of].value)
            if one.sensitive and entry.is_of in values
            else one
            for entry, one in zip(entries, listed, strict=True)
        ]
    unknown = [values[name] for name in values if name not in known]
    return Stated(source.holdings, variables, unknown)


def _entry(thing: Thing, one: StatedVariable) -> Entry:
    return Entry(thing.type, thing.name, one.key, one.category)


def faults(source: Stated, target: Holdings) -> list[str]:
    """Why it cannot all be here: a sentence for each thing and variable that a rule refuses."""
    found = [f"{_name(one)}: there are two of this name." for one in source.holdings.twice]
    for entry in source.unknown:
        text = f"{escaped(entry.name)}, {escaped(entry.key)} ({entry.category})"
        found.append(f"{text}: the file names it, and there is no such sensitive variable.")
    for one in source.holdings.things.values():
        found += [f"{_name(one)}: {said}" for said in _thing_faults(one, target)]
    for key, variables in source.variables.items():
        owner = source.holdings.things[key]
        for variable in variables:
            text = f"{_name(owner)}, {escaped(variable.key)}"
            found += [f"{text}: {said}" for said in _variable_faults(variable)]
    return found


def _name(thing: Thing) -> str:
    return f"{_CALLED[thing.type]} {escaped(thing.name)}"


def _thing_faults(thing: Thing, target: Holdings) -> Iterator[str]:
    holds, rule = _NAMED.get(thing.type, (bool, ""))
    if not holds(thing.name):
        yield f"its name has to be {rule}."
    most = _MOST_TEXT.get(thing.type)
    if most is not None and len(thing.attributes[_TEXT]) > most:
        yield f"its description has more than {most} characters."
    there = target.things.get(thing.key)
    if there is not None and there.links.get(_PARENT) != thing.links.get(_PARENT):
        yield "there is one of that name here that belongs to another project, or to none."
    if any(len(keys) > MAX_ITEMS for keys in thing.links.values()):
        yield f"it is attached to more than {MAX_ITEMS}."
    yield from tags.faults(thing.tags, _tags(there))


def _tags(here: Thing | None) -> Tags:
    return NO_TAGS if here is None else here.tags


def _variable_faults(variable: StatedVariable) -> Iterator[str]:
    yield from (fault.detail for fault in VariableDraft.like(variable).all_faults())
    if variable.hcl and variable.value is not None:
        try:
            parse(variable.value)
        except HclError as error:
            yield f"its value is no code: {error.message} (line {error.line})."


def plan(source: Stated, target: Holdings, api: Api) -> Plan:
    """What is to be done at `target`, whose `api` says which variables there are."""
    things = [one for kind in TYPES for one in source.holdings.of_type(kind)]
    steps = [step for one in things if (step := _step(one, target.things.get(one.key)))]
    missing: list[Entry] = []
    found, left = [], len(things) - len(steps)
    for key, variables in source.variables.items():
        thing, there = source.holdings.things[key], target.things.get(key)
        contents = _contents(api, thing, there)
        open_, lacking = _open(variables, contents)
        missing += [_entry(thing, one) for one in lacking]
        wanted = [replace(Wanted.like(one), sensitive=one.sensitive or None) for one in open_]
        changes = compare(contents.variables, wanted)
        left += len(wanted) - len(changes)
        found.append(OfOwner(thing, contents, changes))
    unsaid = [f"{_name(one)}: {', '.join(one.unsaid)}" for one in things if one.unsaid]
    kept = [
        f"{_name(one)}: {' '.join(more)}"
        for one in things
        if (more := tags.kept(one.tags, _tags(target.things.get(one.key))))
    ]
    return Plan(steps, [one for one in found if one.changes], missing, unsaid, kept, left)


def _step(thing: Thing, there: Thing | None) -> Step | None:
    """What becomes of a thing; None if nothing does. What it is attached to here, it stays."""
    if there is None:
        return Step(thing, None, thing.attributes, thing.links, thing.tags)
    said = {
        name: value
        for name, value in thing.attributes.items()
        if there.attributes.get(name) != value
    }
    links = {}
    for name, keys in thing.links.items():
        known = there.links.get(name, ())
        if set(keys) - set(known):
            links[name] = tuple(dict.fromkeys((*known, *keys))) if _is_many(name) else keys
    all_ = tags.merged(thing.tags, there.tags)
    is_same = not said and not links and all_ == there.tags
    return None if is_same else Step(thing, there, said, links, all_)


def _is_many(relation: str) -> bool:
    return relation in (WORKSPACES, PROJECTS)


def _contents(api: Api, thing: Thing, there: Thing | None) -> Contents:
    if there is not None:
        return contents_of(api, there.owner)
    return Contents(Owner("", thing.name, thing.type), (), None, Category.TOOL.value)


def _open(
    variables: Sequence[StatedVariable], there: Contents
) -> tuple[list[StatedVariable], list[StatedVariable]]:
    """What can be made so, and what cannot since nobody has said its value. Neither has what is
    sensitive here: that stays, since a value which is sent to it always counts as another.
    """
    before = {(one.key, one.category): one for one in there.variables}
    found, lacking = [], []
    for one in variables:
        here = before.get((one.key, one.category))
        if here is None and one.value is None:
            lacking.append(one)
        elif here is None or not here.sensitive:
            found.append(one)
    return found, lacking


class Mover:
    """Carries steps out, and knows the ids of what there is."""

    def __init__(self, api: Api, target: Holdings) -> None:
        self._api = api
        self._ids = {key: one.id for key, one in target.things.items()}

    def carry_out(self, step: Step) -> None:
        """Makes or changes a thing. Fails with its name before what is wrong."""
        try:
            self._carry_out(step)
        except Failure as failure:
            raise Failure(f"{_name(step.thing)}: {failure}", failure.code) from None

    def _carry_out(self, step: Step) -> None:
        thing = step.thing
        if thing.type == MEMBERS:
            self._join(thing)
            return
        attributes = nested(step.attributes)
        data: dict[str, Any] = {"type": thing.type, "attributes": attributes}
        data["relationships"] = {name: self._linked(name, step) for name in step.links}
        changed = step.tags.changed_from(_tags(step.there))
        if _TAG_NAMES in changed:
            attributes[_TAG_NAMES] = step.tags.names
        if _TAG_BINDINGS in changed:
            data["relationships"][_TAG_BINDINGS] = tags.linkage(step.tags)
        if step.there is not None:
            self._api.patch(at(thing.type, step.there.id), {"data": {**data, "id": step.there.id}})
            return
        if thing.type == MEMBERSHIPS:
            attributes["email"] = thing.name
        elif thing.type in _NAMED:
            attributes["name"] = thing.name
        made = self._api.post(self._collection(thing), {"data": data})
        self._ids[thing.key] = made.document["data"]["id"]

    def _collection(self, thing: Thing) -> str:
        if thing.type in _NAMED:
            return at("organizations", self._api.organization, thing.type)
        return at(thing.type)

    def _linked(self, relation: str, step: Step) -> dict[str, Any]:
        items = [self._linkage(key) for key in step.links[relation]]
        return {"data": items if _is_many(relation) else items[0]}

    def _linkage(self, key: Key) -> dict[str, str]:
        return {"type": key[0], "id": self._ids[key]}

    def _join(self, member: Thing) -> None:
        team, person = member.links["team"][0], member.links["member"][0]
        path = at(TEAMS, self._ids[team], "relationships", MEMBERSHIPS)
        self._api.post(path, {"data": [self._linkage(person)]})

    def work(self, one: OfOwner) -> Work:
        """The changes of variables, of an owner that is there by now."""
        owner = Owner(self._ids[one.thing.key], one.thing.name, one.thing.type)
        return Work(one.there._replace(owner=owner), one.changes, versioned=True)


def told(plan: Plan) -> Sequence[tuple[str, str, str, str]]:
    """A plan for people; of variables how many, by what becomes of them."""
    rows = [one.told for one in plan.steps]
    for thing, _, changes in plan.variables:
        for outcome in dict.fromkeys(change.outcome for change in changes):
            keys = [change.key for change in changes if change.outcome is outcome]
            rows.append((SIGNS[outcome], "variables", _name(thing), " ".join(keys)))
    return rows
