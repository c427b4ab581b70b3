"""The variables of a workspace or a variable set, as the service shows them."""

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from teamvars.cli.client.api import SET, Api, Resource, at
from teamvars.cli.client.api.errors import ApiError, says
from teamvars.cli.client.api.targets import WORKSPACE_FLAG
from teamvars.cli.client.together import with_all
from teamvars.cli.exits import NOT_FOUND, Failure, Misuse
from teamvars.cli.output import Row, note
from teamvars.domain.names import is_name
from teamvars.domain.variables import ATTRIBUTES, Variable
from teamvars.kernel.variables import Category, key_faults

TERRAFORM = "terraform"
"""What HCP Terraform, and a service in the dialect of that name, calls the category `tool`."""


WORKSPACES, SETS = "workspaces", "varsets"
SET_NAME, OF_CATEGORY = "varset-name", "filter[category]"
_PAGE = "100"
_DAMAGED = "damaged_value"
_FIELDS = (*ATTRIBUTES, "version-id")


class Owner(NamedTuple):
    """What has variables: a workspace, or a variable set."""

    id: str
    name: str
    type: str = WORKSPACES

    @property
    def noun(self) -> str:
        """What it is called, for programs too."""
        return "workspace" if self.type == WORKSPACES else "set"

    def path(self, *more: str, query: Mapping[str, str] | None = None) -> str:
        """What is below it."""
        return at(self.type, self.id, *more, query=query)

    def variables_path(self, *more: str) -> str:
        """That of its variables, or of one."""
        below = ("vars",) if self.type == WORKSPACES else ("relationships", "vars")
        return self.path(*below, *more)


class Contents(NamedTuple):
    """A workspace or a set and all of its variables. `etag` stands for them as they were when read.

    `tool` is the service's word for the category of the tool's own variables.
    """

    owner: Owner
    variables: Sequence[Variable]
    etag: str | None
    tool: str

    @property
    def name(self) -> str:
        """That of the owner."""
        return self.owner.name

    @property
    def told(self) -> Resource:
        """The owner, as programs are told of it."""
        return {self.owner.noun: self.owner.name}

    @property
    def option(self) -> str:
        """What a command has behind it that is about the same, whatever else says another."""
        return f" --{self.owner.noun} {shlex.quote(self.name)}"

    def word(self, category: Category) -> str:
        """What the service calls a category."""
        return self.tool if category is Category.TOOL else category.value

    def called(self, key: str) -> list[Variable]:
        """The variables with that key: none, one, or one of each category."""
        return [one for one in self.variables if one.key == key]

    def in_category(self, category: Category | None) -> list[Variable]:
        """The variables of a category; all, without one."""
        return [one for one in self.variables if category in (None, one.category)]

    def has(self, key: str, category: Category | None) -> bool:
        """Whether there is a variable that is meant."""
        return bool(self._meant(key, category))

    def one(self, key: str, category: Category | None) -> Variable:
        """The variable that is meant. Fails where there is none, and where there are two."""
        found = self._meant(key, category)
        if not found:
            of = "" if category is None else f" of the category {self.word(category)}"
            raise Failure(
                f"{self.name} has no variable {key}{of}. To see its variables: "
                f"teamvars vars list{self.option}",
                NOT_FOUND,
            )
        if len(found) > 1:
            words = " or ".join(self.word(one.category) for one in found)
            raise Misuse(f"{self.name} has two variables {key}. Give --category {words}.")
        return found[0]

    def _meant(self, key: str, category: Category | None) -> list[Variable]:
        return [one for one in self.called(key) if category in (None, one.category)]


def category_of(word: str | None) -> Category | None:
    """The category that an option names. Fails on a word that names none."""
    if word is None:
        return None
    found = CATEGORIES.get(word)
    if found is None:
        raise Misuse("--category is env or tool.")
    return found


def is_for_several(api: Api) -> bool:
    """Whether the flag has a pattern or several names, however many that comes to."""
    given = api.target.workspace
    return (
        api.target.set is None
        and given is not None
        and given.origin == WORKSPACE_FLAG
        and not is_name(given.value)
    )


def shown_in(api: Api, rows: Iterable[Row]) -> Iterator[Row]:
    """Rows that begin with the workspace; without it where the command is about one."""
    cut = 0 if is_for_several(api) else 1
    return (row[cut:] for row in rows)


def owner_for(api: Api) -> Owner:
    """The one workspace, or the set, that a command is for."""
    if api.target.set is not None:
        return set_owner(api, api.target.set)
    return workspace_of(api.workspace())


def set_owner(api: Api, word: str) -> Owner:
    """A set by its name or id."""
    found = SET.named(api, word)
    return Owner(found["id"], found["attributes"]["name"], SETS)


def owners_for(api: Api) -> list[Owner]:
    """The workspaces a command is for: one by its name or id, or all that match what the flag says;
    or the set.

    Patterns and names are parted by commas. Only the flag has them: what a folder or a setting
    says leads to one workspace, never to all.
    """
    if not is_for_several(api):
        return [owner_for(api)]
    assert api.target.workspace is not None
    seen = [workspace_of(one) for one in api.workspaces()]
    patterns = [pattern.strip() for pattern in api.target.workspace.value.split(",")]
    if "" in patterns:
        raise Misuse("--workspace has an empty name between its commas.")
    meant: set[str] = set()
    for pattern in patterns:
        found = {one.id for one in seen if one.id == pattern} or {
            one.id for one in seen if fnmatchcase(one.name.lower(), pattern.lower())
        }
        if not found:
            text = f"You see no workspace like {pattern}. See which there are: "
            raise Failure(f"{text}teamvars workspace list", NOT_FOUND)
        meant |= found
    return [one for one in seen if one.id in meant]


def all_contents(api: Api) -> list[Contents]:
    """What each of the workspaces that a command is for holds, or the set."""
    return with_all(api, owners_for(api), contents_of)


def contents_to_change(api: Api, keys: Sequence[str]) -> list[Contents]:
    """The same, of which only variables with these keys matter: those of many workspaces are asked
    for together. Of values that are damaged it says so, and none is read: others can take their
    place.
    """
    return _contents_with(api, keys, [name for name in _FIELDS if name != "value"])


def contents_to_show(api: Api, key: str) -> list[Contents]:
    """The same of variables with this key, which are read. Fails where one of these is damaged."""
    return _contents_with(api, [key], _FIELDS)


def _contents_with(api: Api, keys: Sequence[str], beside: Sequence[str]) -> list[Contents]:
    """`beside`: the fields that are read where a value is damaged."""
    # What is no key, or ends as the beginning of keys does, is nothing to look for.
    is_whole = not is_for_several(api) or any(key.endswith("*") or key_faults(key) for key in keys)
    try:
        return all_contents(api) if is_whole else _found_with(api, keys, _FIELDS)
    except ApiError as refused:
        if not says(refused.faults, _DAMAGED):
            raise
        found = _found_with(api, keys, beside)
        note(str(refused))
        return found


def _found_with(api: Api, keys: Sequence[str], fields: Sequence[str]) -> list[Contents]:
    owners = owners_for(api)
    found: defaultdict[tuple[str, str], list[Resource]] = defaultdict(list)
    for key in dict.fromkeys(keys):
        for one in searched(api, {"filter[key]": key}, fields):
            of_set = one[SET_NAME]
            where = (SETS, of_set) if of_set else (WORKSPACES, one["workspace-name"])
            found[where].append({"value": None, **one})
    tool = _word_of_tool(one for many in found.values() for one in many)
    return [
        Contents(each, [_variable(each, one) for one in found[each.type, each.name]], None, tool)
        for each in owners
    ]


def searched(api: Api, query: Mapping[str, str], fields: Sequence[str]) -> Iterator[Resource]:
    """These attributes of what is found, and of whom it is, page by page; a page may be empty
    before the last. The category `tool` may be called otherwise there.
    """
    fields = [*fields, "workspace-name", SET_NAME]
    cursor: str | None = None
    while True:
        after = {} if cursor is None else {"page[after]": cursor}
        wanted = {"fields[vars]": ",".join(fields), "page[size]": _PAGE}
        path = at(
            "organizations",
            api.organization,
            "vars",
            query={**query, **wanted, **after},
        )
        try:
            document = api.get(path).document
        except ApiError as refused:
            said = "".join(fault.detail for fault in refused.faults)
            if SET_NAME in fields and SET_NAME in said:
                # An older service, which has no variable sets and does not know the field.
                fields = [field for field in fields if field != SET_NAME]
            elif query.get(OF_CATEGORY) == Category.TOOL and OF_CATEGORY in said:
                query = {**query, OF_CATEGORY: TERRAFORM}
            else:
                raise
            continue
        for one in document["data"]:
            yield {SET_NAME: "", **one["attributes"], "id": one["id"]}
        following = document["links"]["next"]
        if following is None:
            return
        # Of the link the cursor alone is taken: no answer leads to another path.
        cursor = parse_qs(urlsplit(following).query)["page[after]"][0]


def contents_of(api: Api, owner: Owner | None = None, *, effective: bool = False) -> Contents:
    """What a workspace or a set holds, or what the workspace gets, from variable sets as well; the
    one that the command is for, unless another is given.
    """
    where = owner or owner_for(api)
    if effective:
        refuse_set(api)
    answer = api.get(where.path("all-vars") if effective else where.variables_path())
    found = [{"id": one["id"], **one["attributes"]} for one in answer.document["data"]]
    variables = [_variable(where, one) for one in found]
    return Contents(where, variables, answer.headers.get("etag"), _word_of_tool(found))


def source_for(api: Api, word: str, *, is_set: bool) -> Contents:
    """What the workspace or set holds that is copied from."""
    return contents_of(api, set_owner(api, word) if is_set else workspace_of(api.workspace(word)))


def _variable(owner: Owner, found: Resource) -> Variable:
    """A variable of an owner as it was read."""
    return Variable(
        id=found["id"],
        owner_id=owner.id,
        key=found["key"],
        value=found["value"],
        description=found["description"] or "",
        category=CATEGORIES[found["category"]],
        hcl=found["hcl"],
        sensitive=found["sensitive"],
        version_id=found["version-id"],
        created_at=0,
    )


def _word_of_tool(found: Iterable[Resource]) -> str:
    """What the service calls the category `tool`, as far as what was read tells."""
    # The dialect's word; `created-at` is there in that of HCP Terraform alone.
    is_said = any("created-at" in one or one["category"] == TERRAFORM for one in found)
    return TERRAFORM if is_said else Category.TOOL.value


def refuse_set(api: Api) -> None:
    """Fails where --effective comes with --set."""
    if api.target.set is not None:
        raise Misuse("--effective is about what a workspace gets. Give it without --set.")


def gotten(api: Api, workspace: Owner) -> list[Resource]:
    """What a workspace gets, each with where it is from and what it overrides."""
    data = api.get(workspace.path("effective-vars")).document["data"]
    return [{"workspace": workspace.name, "id": one["id"], **one["attributes"]} for one in data]


def workspace_of(resource: Resource) -> Owner:
    """The workspace of a resource."""
    return Owner(resource["id"], resource["attributes"]["name"])


CATEGORIES = {"env": Category.ENV, "tool": Category.TOOL, TERRAFORM: Category.TOOL}
