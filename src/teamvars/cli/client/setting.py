"""`vars set`, `vars unset`, `vars edit`, `vars copy`."""

import sys
from collections.abc import Sequence

from msgspec.structs import replace

from teamvars.cli.asking import agrees, confirm, is_terminal, secret, text_of
from teamvars.cli.client.api import Api, Resource, connect
from teamvars.cli.client.api.errors import ApiError
from teamvars.cli.client.api.targets import Where
from teamvars.cli.client.changes import (
    NO_EFFECTS,
    NOTHING,
    SIGNS,
    Change,
    How,
    Wanted,
    Work,
    change,
    compare,
    deleted,
    effect_rows,
    how_options,
    is_felt,
    refuse_older,
    send,
    summed_up,
)
from teamvars.cli.client.contents import (
    Contents,
    category_of,
    contents_of,
    contents_to_change,
    contents_to_show,
    is_for_several,
    owner_for,
    source_for,
)
from teamvars.cli.client.options import (
    category_option,
    connected,
    key_argument,
    offered,
    placed,
    require_said,
)
from teamvars.cli.client.scratch import Scratch
from teamvars.cli.client.secrecy import Intent, Secrecy, secret_keys, settled
from teamvars.cli.exits import DIFFERENCES, UNKNOWN_OUTCOME, Failure, Misuse
from teamvars.cli.options import Decorator, OneOf, argument, command, flag, option
from teamvars.cli.output import aligned, note, show
from teamvars.domain.applies import OnConflict, Outcome
from teamvars.domain.names import escaped
from teamvars.domain.variables import Variable
from teamvars.kernel.variables import MAX_VALUE_BYTES, Category

_TAKEN = "key_taken"


@command
@argument(
    "words",
    "What to set, and to what.",
    nargs=-1,
    required=True,
    metavar="KEY | KEY=VALUE…",
    shell_complete=offered("key"),
)
@option("--file", "The value, byte for byte; - is standard input.")
@category_option
@option("--hcl/--no-hcl", "The value is code.", default=None)
@option(
    "--sensitive/--no-sensitive",
    "Make it sensitive for ever; or make new ones readable.",
    default=None,
)
@option("--description", "What it is for.")
@how_options
@placed("organization", "workspace", "set")
def set_(
    where: Where,
    words: Sequence[str],
    file: str | None,
    category: str | None,
    hcl: bool | None,
    sensitive: bool | None,
    description: str | None,
    how: How,
) -> None:
    """Set variables: create or update them.

    For a KEY alone, type the value, which is not shown, or give it on standard input. KEY=VALUE
    stays in your shell's history, so a sensitive value is refused there. Changes that others make
    meanwhile do not matter, unless they change the same variable.

    -w 'prod-*' or -w eu,us means every workspace that matches, each changed completely or not at
    all. A variable that is sensitive in one of them is made sensitive where it is new; where it is
    readable, choose --sensitive or --no-sensitive.

    Example: teamvars vars set LOG_LEVEL=debug
    """
    require_said({"file": file})
    entries = _entries(words)
    if sensitive and any("=" in word for word in words):
        raise Misuse(_not_as_argument(entries))
    if file is not None and any("=" in word for word in words):
        raise Misuse("Give the value in the file or as an argument, not as both.")
    of = category_of(category) or (Category.TOOL if hcl else None)
    api = connect(where)
    api.announce()
    values = {key: _asked(key, file) if value is None else value for key, value in entries.items()}
    founds = contents_to_change(api, list(entries))
    _refuse_arguments(entries, founds)

    hidden = secret_keys(founds) | {key for key, value in entries.items() if value is None}

    intents = [
        Intent(
            found,
            [
                Wanted(key, _category(found, key, of), value, hcl=hcl, description=description)
                for key, value in values.items()
            ],
        )
        for found in founds
    ]
    work = [
        Work(each.there, compare(each.there.variables, each.wanted, (), hidden), versioned=True)
        for each in settled(intents, Secrecy(sensitive))
    ]
    change(api, work, how._replace(asks=False))


def _keys_argument(help_: str) -> Decorator:
    """Keys of variables that are there, one at least."""
    key = offered("key")
    return argument("keys", help_, nargs=-1, required=True, metavar="KEY…", shell_complete=key)


@command
@_keys_argument("What to delete.")
@category_option
@how_options
@connected("organization", "workspace", "set")
def unset(api: Api, keys: Sequence[str], category: str | None, how: How) -> None:
    """Delete variables, all or none. Nobody can bring a sensitive one back.

    -w 'prod-*' or -w eu,us means every workspace that matches, each changed completely or not at
    all. Workspaces without the variable are skipped.

    Example: teamvars vars unset OLD_FLAG --yes
    """
    founds = _told_of(api, keys, category)
    hidden = secret_keys(found for found, _ in founds)
    work = [
        Work(found, [deleted(one, unseen=one.key in hidden) for one in going], versioned=True)
        for found, going in founds
    ]
    change(api, work, how)


@command
@_keys_argument("What to make sensitive.")
@category_option
@how_options
@connected("organization", "workspace", "set")
def make_sensitive(api: Api, keys: Sequence[str], category: str | None, how: How) -> None:
    """Make variables sensitive, with the values they have, all or none. There is no way back.

    -w 'prod-*' or -w eu,us means every workspace that matches, each changed completely or not at
    all. Workspaces without the variable are skipped, and so is what is sensitive already.

    Example: teamvars vars make-sensitive DB_PASSWORD -w 'pay*' --yes
    """
    founds = _told_of(api, keys, category)
    work = []
    for found, meant in founds:
        wanted = [Wanted(one.key, one.category, sensitive=True) for one in meant]
        work.append(Work(found, compare(found.variables, wanted, hidden=keys), versioned=True))
    if total := sum(len(one.changes) for one in work):
        may = "could" if how.dry_run else "can"
        note(f"Nobody {may} read {'this value' if total == 1 else f'these {total} values'} again.")
    change(api, work, how)


def _told_of(
    api: Api, keys: Sequence[str], category: str | None
) -> list[tuple[Contents, list[Variable]]]:
    """Each workspace that a command is for, or the set, and which variables of it have the keys.

    One workspace alone has to have all of them; of several those are named that none has.
    """
    of = category_of(category)
    api.announce()
    may_lack = is_for_several(api)
    founds = contents_to_change(api, keys)
    for key in keys if may_lack else ():
        if not any(found.has(key, of) for found in founds):
            note(f"None of these workspaces has a variable {escaped(key)}.")
    return [
        (
            found,
            [
                found.one(key, of)
                for key in dict.fromkeys(keys)
                if not may_lack or found.has(key, of)
            ],
        )
        for found in founds
    ]


def _entries(words: Sequence[str]) -> dict[str, str | None]:
    """Keys and what stands for their values; None where nothing does."""
    entries: dict[str, str | None] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals and len(words) > 1:
            text = f"{key} has no value here. Give KEY=VALUE for each of several"
            raise Misuse(f"{text}; a secret value must be set by itself.")
        if key in entries:
            raise Misuse(f"{key} is given twice.")
        entries[key] = value if equals else None
    return entries


def _asked(key: str, file: str | None) -> str:
    """The value from the file, the person at the terminal, or standard input."""
    if file is not None:
        return text_of(file)
    value = secret(f"{key}: ", MAX_VALUE_BYTES)
    if not value and not is_terminal():
        raise Misuse("There is no value on standard input. For an empty one: --file /dev/null")
    return value


def _category(found: Contents, key: str, given: Category | None) -> Category:
    """That of the variable that is there; of a new one `env`, unless it is said."""
    if given is not None:
        return given
    return found.one(key, None).category if found.called(key) else Category.ENV


def _refuse_arguments(entries: dict[str, str | None], founds: Sequence[Contents]) -> None:
    """Fails on a value that is an argument where the variable is sensitive already."""
    given = [key for key, value in entries.items() if value is not None]
    if any(one.sensitive for found in founds for key in given for one in found.called(key)):
        raise Misuse(_not_as_argument(given))


def _not_as_argument(keys: Sequence[str] | dict[str, str | None]) -> str:
    return (
        "A sensitive value must not be an argument: your shell keeps it, and everybody on this "
        f"host sees it. Give {next(iter(keys))} alone, and the value when you are asked or on "
        "standard input."
    )


@command
@key_argument
@category_option
@flag("--allow-disk", "Use a disk if there is no file system in memory.")
@connected("organization", "workspace", "set")
def edit(api: Api, key: str, category: str | None, allow_disk: bool) -> None:
    """Edit a value in your own editor: $VISUAL, else $EDITOR.

    Only you can read the file, which is in memory and deleted afterwards. For a sensitive variable
    it begins empty, since nobody can read the value.

    Example: EDITOR=true teamvars vars edit LOG_LEVEL
    """
    (found,) = contents_to_show(api, key)
    variable = found.one(key, category_of(category))
    api.announce()
    is_code = variable.hcl and variable.category is Category.TOOL
    with Scratch("value.hcl" if is_code else "value.txt", allow_disk=allow_disk) as scratch:
        text = scratch.edit(variable.value or "")
        if text == (variable.value or ""):
            note(f"{key}: nothing was changed.")
            return
        while (problem := _problem(api, found, variable, text)) is not None:
            variable = _again(api, found, variable, problem)
            text = scratch.edit(text)
    note(f"{key}: updated.")


def _problem(api: Api, found: Contents, variable: Variable, text: str) -> Failure | None:
    """Gives the variable that value; why it may not have it now. Fails where nobody can be asked
    what to do about it.
    """
    wanted = Wanted(variable.key, variable.category, text)
    change = Change(Outcome.UPDATED, variable.key, variable.category, variable, wanted, ("value",))
    try:
        send(api, Work(found, [change], versioned=True))
    except Failure as problem:
        if not is_terminal():
            raise
        return problem
    return None


def _again(api: Api, found: Contents, variable: Variable, problem: Failure) -> Variable:
    """The variable as it may be overwritten. Fails where the person does not want to go on."""
    note(str(problem))
    is_known = problem.code != UNKNOWN_OUTCOME
    question = "Edit it again, and overwrite what is there now?" if is_known else "Edit it again?"
    if not agrees(f"{question} [y/N] "):
        raise Failure(f"{variable.key} stays as it is there.", problem.code)
    if not is_known:
        return variable  # at its former version: a repeat takes nothing from anybody else
    try:
        now = api.get(found.owner.variables_path(variable.id)).document["data"]["attributes"]
    except Failure as unread:
        note(str(unread))
        return variable
    # With the version it has now: the person has seen that there may be another.
    return replace(variable, sensitive=now["sensitive"], version_id=now["version-id"])


@command
@argument("source", "What to copy from.", metavar="SOURCE", shell_complete=offered("source"))
@flag("--from-set", "SOURCE is a variable set.")
@argument(
    "keys", "Only these, instead of all.", nargs=-1, metavar="[KEY…]", shell_complete=offered("key")
)
@category_option
@option(
    "--on-conflict",
    "What happens to a variable that already exists.",
    type=OneOf(OnConflict),
    default=OnConflict.REFUSE.value,
)
@how_options
@connected("organization", "workspace", "set")
def copy(
    api: Api,
    source: str,
    from_set: bool,
    keys: Sequence[str],
    category: str | None,
    on_conflict: OnConflict,
    how: How,
) -> None:
    """Copy variables from another workspace or set. Only owners can copy sensitive ones.

    Each is copied as it was shown, here and there: what somebody has changed meanwhile ends the
    command with 6, and nothing is copied.

    Example: teamvars vars copy payments --on-conflict skip --yes
    """
    target = owner_for(api)
    found = source_for(api, source, is_set=from_set)
    document = _document(
        found, contents_of(api, target), _meant(found, keys, category), on_conflict
    )
    api.announce()
    path = target.path("actions", "copy")
    planned, effects = _copied(api, path, document, dry_run=True)
    rows = [(SIGNS[Outcome(one["outcome"])], one["key"], one["category"]) for one in planned]
    for line in aligned([*rows, *effect_rows(effects)]) if rows else [NOTHING]:
        note(line)
    if is_felt(effects):
        note(summed_up(effects))
    if planned and not how.dry_run:
        confirm(f"Copy {len(planned)} from {found.name} to {target.name}?", yes=how.yes)
        planned, _ = _copied(api, path, document, dry_run=False)
        note(f"{target.name}: {len(planned)} copied.")
    show(planned, ())
    if planned and how.dry_run:
        sys.exit(DIFFERENCES)


def _meant(source: Contents, keys: Sequence[str], category: str | None) -> list[Variable]:
    """Those that are named, of the category that is said; all of it without a name."""
    of = category_of(category)
    if keys:
        return [source.one(key, of) for key in dict.fromkeys(keys)]
    return source.in_category(of)


def _document(
    source: Contents, target: Contents, meant: Sequence[Variable], on_conflict: OnConflict
) -> Resource:
    """Copies of these, each held to its version and to that of what it comes to."""
    there = {(one.key, one.category): one.version_id for one in target.variables}
    keys = [
        {
            "key": one.key,
            "category": source.word(one.category),
            "version-id": one.version_id,
            "target-version-id": there.get((one.key, one.category)),
        }
        for one in meant
    ]
    attributes = {"on-conflict": on_conflict.value, "keys": keys}
    related = {"source": {"data": {"type": source.owner.type, "id": source.owner.id}}}
    return {"type": "copies", "attributes": attributes, "relationships": related}


def _copied(
    api: Api, path: str, data: Resource, *, dry_run: bool
) -> tuple[list[Resource], Resource]:
    """What became, or would become, of each variable that is another then; and of a set, what
    workspaces would get.
    """
    try:
        answer = api.post(path, {"data": data, "meta": {"versioned": True, "dry-run": dry_run}})
    except ApiError as error:
        refuse_older(api, error)
        if not any(fault.code == _TAKEN for fault in error.faults):
            raise
        text = (
            f"{error}\nWith --on-conflict skip these stay as they are, with replace they are "
            "overwritten."
        )
        raise Failure(text, error.code) from None
    meta: Resource = answer.document["meta"]
    results = [one for one in meta["results"] if one["outcome"] != Outcome.UNCHANGED]
    return results, meta.get("effects") or NO_EFFECTS
