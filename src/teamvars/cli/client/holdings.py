"""What an organization holds, read over the API that HCP Terraform and teamvars have in common.

Everything is told by names, without an id: so what two services hold can be compared.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from teamvars.cli.client.api import Api, Resource, at
from teamvars.cli.client.api.errors import ApiError
from teamvars.cli.client.contents import CATEGORIES, SETS, WORKSPACES, Owner
from teamvars.cli.exits import CONFLICT, NOT_FOUND, Failure
from teamvars.domain import project_grants, team_access
from teamvars.domain.names import fold
from teamvars.domain.tags import Tags
from teamvars.domain.team_access import Terms
from teamvars.domain.teams import OWNERS, Right, Visibility, whole
from teamvars.kernel import Discreet
from teamvars.kernel.variables import Category

Key = tuple[str, str]
"""A type and a folded name: the same at two services for what is the same."""

PROJECTS, TEAMS = "projects", "teams"
TEAM_PROJECTS, TEAM_WORKSPACES = "team-projects", "team-workspaces"
MEMBERSHIPS, MEMBERS = "organization-memberships", "members"
TYPES = (
    PROJECTS,
    WORKSPACES,
    TEAMS,
    TEAM_PROJECTS,
    TEAM_WORKSPACES,
    SETS,
    MEMBERSHIPS,
    MEMBERS,
)
"""In the order in which they can be made: each needs nothing but what stands before it."""

NO_TAGS = Tags()

_ACCESS, _RIGHTS = "access", "organization-access"
_CUSTOM = "custom"
_TERMS: Mapping[str, Terms] = {
    TEAM_WORKSPACES: team_access.TERMS,
    TEAM_PROJECTS: project_grants.TERMS,
}


class Thing(Discreet, frozen=True):
    """Something that an organization holds. A member of an attribute that is an object is called
    by both names with a slash between; `unsaid` is what its service says of it and ours cannot.
    """

    type: str
    name: str
    id: str = ""
    attributes: Mapping[str, Any] = {}
    links: Mapping[str, tuple[Key, ...]] = {}
    tags: Tags = NO_TAGS
    unsaid: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        """What it is found by at another service."""
        return self.type, fold(self.name)

    @property
    def owner(self) -> Owner:
        """Itself as what has variables."""
        return Owner(self.id, self.name, self.type)


class StatedVariable(Discreet, frozen=True):
    """A variable as the other service shows it. The value is None while nobody has said it: a
    sensitive one can be read nowhere.
    """

    key: str
    category: Category
    value: str | None
    hcl: bool
    sensitive: bool
    description: str


class Holdings:
    """What an organization holds that the token sees, by key."""

    def __init__(self, api: Api, organization: str, *, with_members: bool) -> None:
        """Reads it, variables left out. Fails if somebody changes it meanwhile."""
        self._api, self._organization = api, organization
        self._keys: dict[tuple[str, str], Key] = {}
        self.things: dict[Key, Thing] = {}
        self.twice: list[Thing] = []
        """What has the name of another that is among the things."""
        self._read_places()
        self._read_teams()
        for kind, place in ((TEAM_PROJECTS, PROJECTS), (TEAM_WORKSPACES, WORKSPACES)):
            self._read_grants(kind, place)
        self._read_sets()
        if with_members:
            self._read_members()

    def of_type(self, kind: str) -> list[Thing]:
        """Those of a type."""
        return [one for one in self.things.values() if one.type == kind]

    def variables(self, thing: Thing) -> list[StatedVariable]:
        """What a workspace or a set has itself."""
        return [
            _stated(one["attributes"]) for one in self._api.listed(thing.owner.variables_path())
        ]

    def _read_places(self) -> None:
        for one in self._api.listed(self._path(PROJECTS)):
            said = {"description": _description(one)}
            self._add(_named(PROJECTS, one, said, tags=self._tags(one)))
        for one in self._api.listed(self._path(WORKSPACES)):
            said = {"description": _description(one)}
            links = self._links(one, "project")
            self._add(_named(WORKSPACES, one, said, links, tags=self._tags(one)))

    def _tags(self, one: Resource) -> Tags:
        """Those that something has itself, without what it inherits."""
        names = {fold(_text(name)) for name in one["attributes"].get("tag-names") or ()}
        try:
            listed = self._api.get(at(one["type"], _text(one["id"]), "tag-bindings")).document
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise
            listed = {"data": []}  # from before there were any
        # Where they are listed, they need not have an id.
        bound = [each["attributes"] for each in listed["data"]]
        bindings = {_text(each["key"]): _text(each.get("value") or "") for each in bound}
        return Tags(tuple(sorted(names)), bindings)

    def _read_teams(self) -> None:
        for one in self._api.listed(self._path(TEAMS)):
            its = one["attributes"]
            is_owners = fold(_text(its["name"])) == OWNERS
            self._add(_named(TEAMS, one, {} if is_owners else _team(its)))

    def _read_grants(self, kind: str, place: str) -> None:
        relation = place.removesuffix("s")
        for where in self.of_type(place):
            query = {f"filter[{relation}][id]": where.id}
            for one in self._api.listed(at(kind, query=query)):
                links = self._links(one, "team")
                name = f"{self.things[links['team'][0]].name} on {where.name}"
                said, unsaid = _access(one["attributes"], _TERMS[kind])
                links[relation] = (where.key,)
                self._add(Thing(kind, name, _text(one["id"]), said, links, unsaid=unsaid))

    def _read_sets(self) -> None:
        for listed in self._api.listed(self._path(SETS)):
            query = {"include": f"{WORKSPACES},{PROJECTS}"}
            path = at(SETS, _text(listed["id"]), query=query)
            one = self._api.get(path).document["data"]
            its = one["attributes"]
            said = {
                "description": _description(one),
                "global": its["global"] is True,
                "priority": its.get("priority") is True,
            }
            reach = () if said["global"] else (WORKSPACES, PROJECTS)
            self._add(_named(SETS, one, said, self._links(one, "parent", *reach)))

    def _read_members(self) -> None:
        for one in self._api.listed(self._path(MEMBERSHIPS)):
            email = one["attributes"].get("email")
            if not email:
                continue
            member = Thing(MEMBERSHIPS, _text(email), _text(one["id"]))
            self._add(member)
            for team in self._links(one, TEAMS).get(TEAMS, ()):
                name = f"{member.name} in {self.things[team].name}"
                self._add(Thing(MEMBERS, name, links={"team": (team,), "member": (member.key,)}))

    def _path(self, kind: str) -> str:
        return at("organizations", self._organization, kind)

    def _links(self, resource: Resource, *relations: str) -> dict[str, tuple[Key, ...]]:
        """What a resource is linked to, but for the organization itself."""
        found: dict[str, tuple[Key, ...]] = {}
        for relation in relations:
            data = (resource.get("relationships", {}).get(relation) or {}).get("data") or []
            items = data if isinstance(data, list) else [data]
            keys = tuple(self._key(one) for one in items if one["type"] != "organizations")
            found |= {relation: keys} if keys else {}
        return found

    def _key(self, linkage: Resource) -> Key:
        known = self._keys.get((linkage["type"], linkage["id"]))
        if known is None:
            where = f"{self._organization} on {self._api.target.address}"
            raise Failure(
                f"{where} was changed while it was read, or the token does not see all of it. "
                "Nothing was written. Run the command again.",
                CONFLICT,
            )
        return known

    def _add(self, thing: Thing) -> None:
        if thing.id:
            self._keys[thing.type, thing.id] = thing.key
        if thing.key in self.things:
            self.twice.append(thing)
        self.things.setdefault(thing.key, thing)


def _named(
    kind: str,
    one: Resource,
    said: Mapping[str, Any],
    links: Mapping[str, tuple[Key, ...]] | None = None,
    tags: Tags = NO_TAGS,
) -> Thing:
    """A thing that has its name from its resource."""
    name = _text(one["attributes"]["name"])
    return Thing(kind, name, _text(one["id"]), said, links or {}, tags)


def _description(one: Resource) -> str:
    return _text(one["attributes"].get("description") or "")


def _text(value: object) -> str:
    """A text, which it has to be: whatever says something else is no such service."""
    if not isinstance(value, str):
        raise TypeError
    return value


def _team(its: Mapping[str, Any]) -> dict[str, Any]:
    """Who sees a team, and its rights that have effect, with those that they include."""
    given = its.get(_RIGHTS) or {}
    rights = whole(right for right in Right if given.get(right) is True)
    visibility = Visibility(its.get("visibility", Visibility.SECRET))
    flags = {f"{_RIGHTS}/{right.value}": right in rights for right in Right}
    return {"visibility": visibility.value, **flags}


def _access(its: Mapping[str, Any], terms: Terms) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What a grant permits in words that ours has, and the names of what it cannot say.

    Whether a team may lock follows from what it may do with variables, and is not said.
    """
    access = terms.types(its[_ACCESS]).value
    if access != _CUSTOM:
        return {_ACCESS: access}, ()
    flat = dict(_flat(its))
    kept = {_ACCESS: access, terms.variables: flat.get(terms.variables, "none")}
    settings = terms.permissions.by_name
    said = {name: flat[name] for name in settings if name in flat and name != terms.locking}
    unsaid = [
        name
        for name, value in said.items()
        if not settings[name].may_be(value) or settings[name].faults(value)
    ]
    kept |= {name: value for name, value in said.items() if name not in unsaid}
    return kept, tuple(unsaid)


def _flat(said: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in said.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}/")
        else:
            yield f"{before}{name}", value


def nested(said: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes as a document has them, the members of an object within it."""
    found: dict[str, Any] = {}
    for name, value in said.items():
        group, slash, member = name.partition("/")
        if slash:
            found.setdefault(group, {})[member] = value
        else:
            found[name] = value
    return found


def _stated(its: Mapping[str, Any]) -> StatedVariable:
    is_sensitive = its["sensitive"] is not False
    category = CATEGORIES[its["category"]]
    return StatedVariable(
        _text(its["key"]),
        category,
        None if is_sensitive else _text(its.get("value") or ""),
        its.get("hcl") is True and category is Category.TOOL,
        is_sensitive,
        _text(its.get("description") or ""),
    )
