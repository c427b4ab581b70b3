"""Documents that name resources by id, all or none of which a change concerns."""

from teamvars.domain.linked import IdsDraft
from teamvars.domain.team_members import MAX_ITEMS
from teamvars.web.http.reader import Reader


def ids_draft(document: object, type_: str) -> IdsDraft:
    """The ids of a document that names resources of that type alone."""
    read = Reader(document)
    return IdsDraft(read.identifiers(read.data(list) or [], type_, MAX_ITEMS), read.faults)
