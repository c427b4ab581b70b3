"""What a workspace or a set should hold, and the changes for that: shown, agreed to, and made in
one request for each.
"""

import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from teamvars.cli.asking import confirm
from teamvars.cli.client.api import Api, Resource
from teamvars.cli.client.api.errors import ApiError, says
from teamvars.cli.client.api.sending import end_unknown
from teamvars.cli.client.contents import SETS, TERRAFORM, Contents, contents_of
from teamvars.cli.client.options import dry_run_option, yes_option
from teamvars.cli.client.together import with_each
from teamvars.cli.exits import DIFFERENCES, ERROR, NOT_FOUND, UNKNOWN_OUTCOME, Failure
from teamvars.cli.options import Function, json_option, together
from teamvars.cli.output import Row, aligned, note, show
from teamvars.domain.applies import Outcome
from teamvars.domain.key_names import says_secret
from teamvars.domain.names import escaped, fold
from teamvars.domain.variables import Variable
from teamvars.kernel import Discreet
from teamvars.kernel.variables import Category

_WIDTH = 40
SIGNS = {Outcome.CREATED: "+", Outcome.UPDATED: "~", Outcome.DELETED: "-"}
SENSITIVE = "(sensitive)"
HIDDEN = "(hidden)"
_OVERWRITTEN = "write-only, will be overwritten"
NOTHING = "There is nothing to change."
NO_EFFECTS: Resource = {"gaining": 0, "changing": 0, "losing": 0, "workspaces": []}
"""What is said of a workspace, whose changes no other feels."""

Show = Callable[[str | None], str]
_ATTEMPTS = 5
_STALE = "precondition_failed"
_VERSIONED = "/meta/versioned"
"""What a service refuses that is older than this command."""


class Wanted(Discreet, frozen=True):
    """What a variable should be; None leaves it as it is, or as a new one is."""

    key: str
    category: Category
    value: str | None = None
    hcl: bool | None = None
    sensitive: bool | None = None
    description: str | None = None

    @classmethod
    def like(cls, one: object) -> "Wanted":
        """All that is known of a variable, wherever it is."""
        return cls(*(getattr(one, name) for name in cls.__struct_fields__))

    @property
    def said(self) -> dict[str, Any]:
        """What is said of it, by name."""
        named = {name: getattr(self, name) for name in self.__struct_fields__}
        return {
            name: value
            for name, value in named.items()
            if name not in ("key", "category") and value is not None
        }

    def changes(self, before: Variable) -> list[str]:
        """The names of what would be another. A sensitive value counts as one: nobody sees it."""
        return [
            name
            for name, value in self.said.items()
            if value != getattr(before, name) and (name != "hcl" or self.category is Category.TOOL)
        ]


class Change(Discreet, frozen=True):
    """What becomes of one variable. `before` is None for a new one, `wanted` for one that goes."""

    outcome: Outcome
    key: str
    category: Category
    before: Variable | None
    wanted: Wanted | None
    names: Sequence[str] = ()
    """Of what will be another."""
    unseen: bool = False
    """Whether its values are not to be shown, whatever it is called."""

    @property
    def after(self) -> Variable | None:
        """What the variable will be; of a new one, without an id and a version."""
        if self.wanted is None:
            return None
        empty = Variable("", "", self.key, "", "", self.category, False, False, "", 0)
        before, said = self.before or empty, self.wanted.said
        said["sensitive"] = before.sensitive or bool(self.wanted.sensitive)
        return replace(before, **said)

    @property
    def is_hidden(self) -> bool:
        """Whether no value is shown, past or future: the key says what it is, or it is unseen."""
        return self.unseen or says_secret(self.key)

    @property
    def is_secret(self) -> bool:
        """Whether the value that it will have is not to be shown."""
        return self.is_hidden or (self.after is not None and self.after.sensitive)

    @property
    def is_unknown(self) -> bool:
        """Whether nobody can tell if anything changes: it is about a sensitive value alone."""
        return self.before is not None and self.before.sensitive and list(self.names) == ["value"]


def deleted(variable: Variable, *, unseen: bool) -> Change:
    """That it goes."""
    name = variable.key, variable.category
    return Change(Outcome.DELETED, *name, variable, None, unseen=unseen)


def compare(
    variables: Sequence[Variable],
    wanted: Sequence[Wanted],
    prune: Collection[Category] = (),
    hidden: Collection[str] = (),
) -> list[Change]:
    """What changes, in the order of `wanted`, and then what goes: of the categories to `prune`.

    Values of the keys that are `hidden` are not to be shown.
    """
    present = {(one.key, one.category): one for one in variables}
    changes = []
    for want in wanted:
        name, unseen = (want.key, want.category), want.key in hidden
        before = present.pop(name, None)
        if before is None:
            changes.append(Change(Outcome.CREATED, *name, None, want, unseen=unseen))
        elif names := want.changes(before):
            changes.append(Change(Outcome.UPDATED, *name, before, want, names, unseen))
    gone = (one for one in present.values() if one.category in prune)
    return [*changes, *(deleted(one, unseen=one.key in hidden) for one in gone)]


def in_full(value: str | None) -> str:
    """A value for standard output: as `glance` on a terminal, else all of it."""
    return glance(value) if value is None or sys.stdout.isatty() else value


def glance(value: str | None) -> str:
    """A value on one line and in short; nothing of one that cannot be read."""
    if value is None:
        return SENSITIVE
    text = escaped(value[: _WIDTH + 1])
    return text if len(value) <= _WIDTH and len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def number(count: int, one: str) -> str:
    """So many of them in words."""
    return f"{count} {one}" if count == 1 else f"{count} {one}s"


def change_row(change: Change, category: str, show: Show = glance) -> Row:
    """What becomes of a variable; a value that is, or will be, sensitive is not shown, and neither
    is one that is hidden."""
    return SIGNS[change.outcome], change.key, category, _said(change, show)


def _said(change: Change, show: Show) -> str:
    before, wanted = change.before, change.wanted
    if before is None:
        assert wanted is not None
        return SENSITIVE if wanted.sensitive else _shown(change, wanted.value or "", show)
    if wanted is None:
        return _shown(change, before.value, show)
    return ", ".join(_other(name, change, show) for name in change.names)


def _other(name: str, change: Change, show: Show) -> str:
    before, wanted = change.before, change.wanted
    assert before is not None
    assert wanted is not None
    if name != "value":
        return name if name != "hcl" else f"hcl {str(wanted.hcl).lower()}"
    if before.sensitive:
        return _OVERWRITTEN
    after = SENSITIVE if wanted.sensitive else _shown(change, wanted.value, show)
    return f"{_shown(change, before.value, show)} -> {after}"


def _shown(change: Change, value: str | None, show: Show) -> str:
    """A value of the variable, unless it is hidden."""
    return HIDDEN if change.is_hidden and value is not None else show(value)


class Work(NamedTuple):
    """What is to be done in a workspace or a set.

    `versioned`: only the variables it is about must be as they were read, not all there are.
    """

    there: Contents
    changes: list[Change]
    versioned: bool = False


def effect_rows(effects: Resource) -> list[Row]:
    """What workspaces would get: each with what becomes of a key."""
    return [
        (one["name"], verb, key)
        for one in effects["workspaces"]
        for verb in ("gains", "changes", "loses")
        for key in one[verb]
    ]


def summed_up(effects: Resource) -> str:
    """How many workspaces would get what, and which runners these are handed to."""
    said = (
        f"{number(effects['gaining'], 'workspace')} would get a value more, "
        f"{effects['changing']} another value, and {effects['losing']} would lose one."
    )
    runners = sorted({name for one in effects["workspaces"] for name in one["runners"]})
    if not runners:
        return said
    return f"{said}\nRunners that these are handed to: {', '.join(map(escaped, runners))}."


def is_felt(effects: Resource) -> bool:
    """Whether any workspace would get other values."""
    return any(effects[kind] for kind in ("gaining", "changing", "losing"))


def send(api: Api, work: Work, *, dry_run: bool = False) -> list[Resource]:
    """What became of each variable that is another now. Raises ApiError, nothing being changed.

    Versioned work that is refused as stale is sent again where its variables are at the versions
    they had nevertheless: what somebody made meanwhile is gone again.
    """
    results: list[Resource] = _answered(api, work, dry_run=dry_run)["results"]
    return [one for one in results if one["outcome"] != Outcome.UNCHANGED]


def _answered(api: Api, work: Work, *, dry_run: bool) -> Resource:
    for _ in range(_ATTEMPTS - 1):
        try:
            return _spoken(api, work, dry_run=dry_run)
        except ApiError as error:
            if not (work.versioned and says(error.faults, _STALE) and _stands(api, work)):
                raise
    return _spoken(api, work, dry_run=dry_run)


def _spoken(api: Api, work: Work, *, dry_run: bool) -> Resource:
    """Sends it in the service's words; names the keys that are refused."""
    if api.says_terraform:
        work = work._replace(there=work.there._replace(tool=TERRAFORM))
    try:
        return _sent(api, work, dry_run=dry_run)
    except ApiError as error:
        refuse_older(api, error)
        pointers = [fault.pointer or "" for fault in error.faults]
        is_of_category = any(one.endswith("/category") for one in pointers)
        if work.there.tool == TERRAFORM or not is_of_category:
            api.says_terraform &= not is_of_category  # or that was not what is wrong with it
            raise error.about(_keys_at_fault(work, error)) from None
    # What was read does not tell how the service calls its own variables where there are none.
    api.says_terraform = True
    return _spoken(api, work, dry_run=dry_run)


def refuse_older(api: Api, error: ApiError) -> None:
    """Fails in the place of a refusal that says that the service holds nothing to a version."""
    if any(fault.pointer == _VERSIONED for fault in error.faults):
        raise Failure(
            f"The service at {api.target.address} is older than this command, and cannot "
            "protect changes to single variables: nothing was changed. To compare the "
            "versions: teamvars version"
        ) from None


def _sent(api: Api, work: Work, *, dry_run: bool) -> Resource:
    deletes = any(one.outcome is Outcome.DELETED for one in work.changes)
    how = {"versioned": True} if work.versioned else {"prune": deletes}
    changes = _named(work)
    items = [_item(work, one) for one in changes]
    stays = _stays(work) if deletes and not work.versioned else ()
    document = {
        "data": [*items, *({"type": "vars", "attributes": name} for name in stays)],
        "meta": {**how, "dry-run": dry_run},
    }
    answer = api.post(
        work.there.owner.path("actions", "apply"),
        document,
        if_match=None if work.versioned else work.there.etag,
        quotable={
            "data": [
                None if one.is_secret else item for one, item in zip(changes, items, strict=True)
            ]
        },
    )
    meta: Resource = answer.document["meta"]
    return meta


def _named(work: Work) -> list[Change]:
    """The changes that have an item: what goes has one in versioned work alone."""
    return [one for one in work.changes if work.versioned or one.wanted is not None]


def _item(work: Work, change: Change) -> Resource:
    item: Resource = {"type": "vars", "attributes": _name(work.there, change)}
    if work.versioned:
        item["meta"] = {"version-id": change.before.version_id if change.before else None}
    if change.wanted is None:
        item["meta"]["delete"] = True
        return item
    item["attributes"] |= change.wanted.said
    if change.before is not None and change.before.sensitive:
        # Said again of what is sensitive already, so that no fault ever shows its value.
        item["attributes"]["sensitive"] = True
    return item


def _stays(work: Work) -> Iterator[dict[str, str]]:
    """The names of all that a request which prunes leaves as it is."""
    touched = {(one.key, one.category) for one in work.changes}
    for variable in work.there.variables:
        if (variable.key, variable.category) not in touched:
            yield _name(work.there, variable)


def _name(there: Contents, one: Change | Variable) -> dict[str, str]:
    return {"key": one.key, "category": there.word(one.category)}


def _stands(api: Api, work: Work) -> bool:
    """Whether all the variables it is about are at the versions they had."""
    now = contents_of(api, work.there.owner)
    versions = {(one.key, one.category): one.version_id for one in now.variables}
    return all(
        versions.get((one.key, one.category)) == (one.before.version_id if one.before else None)
        for one in work.changes
    )


def _keys_at_fault(work: Work, error: ApiError) -> str:
    """The keys of the items that are refused; a request begins with those of the changes."""
    keys = [one.key for one in _named(work)]
    places = (re.match(r"/data/(\d+)/", fault.pointer or "") for fault in error.faults)
    numbers = [int(place[1]) for place in places if place]
    return ", ".join(dict.fromkeys(keys[number] for number in numbers if number < len(keys)))


class How(NamedTuple):
    """What a command was told of the way to do it."""

    yes: bool = False
    dry_run: bool = False
    asks: bool = True
    """Whether it asks even where it is about one workspace."""


def how_options(function: Function) -> Function:
    """What is told to a command that makes changes: its `how`."""
    return together("how", How, yes=yes_option, dry_run=dry_run_option)(json_option(function))


def change(api: Api, work: Sequence[Work], how: How) -> None:
    """Makes the changes of each workspace once they were shown and, where it asks, agreed to.

    Each workspace is changed whole or not at all, and only as it was when its changes were shown.
    """
    api.announce()
    to_do = [one for one in work if one.changes]
    for there, changes, _ in to_do if how.asks or len(work) > 1 or how.dry_run else []:
        note(f"{there.name}:")
        for line in aligned([change_row(one, there.word(one.category)) for one in changes]):
            note(f"  {line}")
    is_felt_elsewhere = any(_tell_effects(api, one) for one in to_do)  # a set is one alone
    if not to_do:
        note(NOTHING)
    elif not how.dry_run and (how.asks or len(to_do) > 1 or is_felt_elsewhere):
        total = sum(len(one.changes) for one in to_do)
        what = "this change" if total == 1 else f"these {total} changes"
        where = to_do[0].there.name if len(to_do) == 1 else f"{len(to_do)} workspaces"
        confirm(f"Make {what} in {where}?", yes=how.yes)
    results, failures = carried_out(api, to_do, how)
    show(results, ())
    require_none(failures, f"{len(to_do)} workspaces")
    if to_do and how.dry_run:
        sys.exit(DIFFERENCES)


def _tell_effects(api: Api, work: Work) -> bool:
    """Says what workspaces get by a change of a set; whether any gets other values."""
    if work.there.owner.type != SETS:
        return False
    return tell_effects(_answered(api, work, dry_run=True)["effects"])


def tell_effects(effects: Resource) -> bool:
    """Says what workspaces would get; whether any would get other values."""
    for line in aligned(effect_rows(effects)):
        note(f"  {line}")
    if is_felt(effects):
        note(summed_up(effects))
    return is_felt(effects)


def counted(changes: Sequence[Change], *, is_done: bool) -> str:
    """How many of each kind, in words: as what was done, or as what would be."""
    counts = {kind: sum(one.outcome is kind for one in changes) for kind in Outcome}
    verb = "" if is_done else "would be "
    said = (f"{count} {verb}{kind}" for kind, count in counts.items() if count)
    return ", ".join(said) or "unchanged"


def carried_out(api: Api, work: Sequence[Work], how: How) -> tuple[list[Resource], list[Failure]]:
    """What became of each variable, and what failed. Says how it goes; one alone fails at once."""
    if len(work) == 1:
        return _told(work[0], send(api, work[0], dry_run=how.dry_run), how), []
    results: list[Resource] = []
    failures: list[Failure] = []
    names: dict[tuple[int, str], list[str]] = {}  # of the workspaces that fail alike
    api.announce()
    sent = with_each(api, work, lambda own, one: send(own, one, dry_run=how.dry_run))
    try:
        for one, made in zip(work, sent, strict=True):
            if isinstance(made, Failure):
                failures.append(made)
                names.setdefault((made.code, str(made)), []).append(one.there.name)
            else:
                results += _told(one, made, how)
    except KeyboardInterrupt:
        if how.dry_run:
            raise
        end_unknown()  # of those that are under way
    finally:
        for (code, text), those in names.items():
            is_known = code != UNKNOWN_OUTCOME
            what = "failed, and nothing was changed there" if is_known else "nobody knows"
            note(f"{', '.join(those)}: {what}.\n{text}")
    return results, failures


def _told(work: Work, made: list[Resource], how: How) -> list[Resource]:
    note(f"{work.there.name}: {counted(work.changes, is_done=not how.dry_run)}.")
    return [{**work.there.told, **result} for result in made]


def require_none(failures: Sequence[Failure], of: str) -> None:
    """Fails where some have; `of` says how many of what there were."""
    if failures:
        text = f"{len(failures)} of {of} failed. Run the command again to do the rest."
        raise Failure(text, _together(failures))


def _together(failures: Sequence[Failure]) -> int:
    """What several failures are to whoever has one exit code for them."""
    codes = {failure.code for failure in failures}
    if UNKNOWN_OUTCOME in codes:
        return UNKNOWN_OUTCOME
    return codes.pop() if len(codes) == 1 else ERROR


def linked_workspaces(api: Api, names: Sequence[str]) -> Resource:
    """Workspaces by name or id. Fails with each that the caller does not see."""
    seen = api.workspaces()
    by_name = {fold(one["attributes"]["name"]): one["id"] for one in seen}
    by_id = {one["id"]: one["id"] for one in seen}
    ids = {name: by_id.get(name) or by_name.get(fold(name)) for name in names}
    if lacking := [name for name, id_ in ids.items() if id_ is None]:
        raise Failure(f"You see no workspace {', '.join(lacking)}. Nothing was changed.", NOT_FOUND)
    return {"data": [{"type": "workspaces", "id": ids[name]} for name in names]}
