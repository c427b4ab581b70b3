"""Documents that name resources by id, all or none of which a change concerns."""

from typing import Annotated

import msgspec
from msgspec import Meta

from teamvars.domain.pages import MAX_ITEMS, IdsDraft
from teamvars.web.http.reader import Reader


class DryRunOptions(msgspec.Struct, rename="kebab", omit_defaults=True):
    """How to change what resources are linked to."""

    dry_run: Annotated[bool, Meta(description="Change nothing, and say what would come of it.")] = (
        False
    )


def ids_draft(document: object, type_: str) -> IdsDraft:
    """The ids of a document that names resources of that type alone."""
    read = Reader(document)
    return IdsDraft(read.identifiers(read.data(list) or [], type_, MAX_ITEMS), read.faults)


def ids_or_dry_run(document: object, type_: str) -> tuple[IdsDraft, bool]:
    """The same, and whether they are only asked about."""
    read = Reader(document)
    ids = read.identifiers(read.data(list) or [], type_, MAX_ITEMS)
    whole = document if isinstance(document, dict) else None
    options = read.member(whole, "meta", dict, "", required=False)
    read.refuse_unknown(options, {"dry-run"}, "/meta")
    dry_run = read.member(options, "dry-run", bool, "/meta", required=False)
    return IdsDraft(ids, read.faults), bool(dry_run)
