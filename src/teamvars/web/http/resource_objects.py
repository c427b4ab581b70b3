"""What resource objects of JSON:API are made of, whatever their type."""

import msgspec

from teamvars.web.http.formats import Path


class Identifier(msgspec.Struct):
    """A resource identifier object."""

    id: str
    type: str


class RelatedLink(msgspec.Struct):
    """The path of a related resource."""

    related: Path


class SelfLink(msgspec.Struct, gc=False):
    """The path of the resource itself."""

    self: Path
