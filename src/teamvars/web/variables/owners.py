"""What has variables, a workspace or a variable set: where each is, and what it is called."""

from collections.abc import Callable

import msgspec

from teamvars.decisions.variables import ToOwner, ToSet, ToWorkspace
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import Identifier


class OwnerKind(msgspec.Struct, frozen=True):
    """Where owners of one kind are, by which parameter of the `path`; their variables are `below`,
    each by the parameter `variable`.

    `type` and `noun` are what it is called in documents and texts; `names` stands before
    `Variable` in the names of operations.
    """

    path: str
    parameter: str
    below: str
    variable: str
    type: str
    to: Callable[[str], ToOwner]
    noun: str
    names: str

    def asked(self, request: Request) -> ToOwner:
        """What the path of a request names."""
        return self.to(request.parameters[self.parameter])

    def variable_of(self, request: Request) -> str:
        """The id of the variable that the path names."""
        return request.parameters[self.variable]

    def identifier(self, request: Request) -> Identifier:
        """The same, as a resource identifier."""
        return Identifier(request.parameters[self.parameter], self.type)


OF_WORKSPACES = OwnerKind(
    "/api/v2/workspaces/{workspace_id}",
    "workspace_id",
    "/vars",
    "variable_id",
    "workspaces",
    ToWorkspace,
    "a workspace",
    "",
)
OF_SETS = OwnerKind(
    "/api/v2/varsets/{varset_id}",
    "varset_id",
    "/relationships/vars",
    "set_variable_id",
    "varsets",
    ToSet,
    "a variable set",
    "Set",
)
EVERY = OF_WORKSPACES, OF_SETS
