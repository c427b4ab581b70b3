"""Variables of workspaces as older clients find them: by the names of the workspace, by what a
document says, or by the variable's id alone. What comes of it is the same as at the workspace's own
path.
"""

from teamvars.decisions.variables import ToWorkspace
from teamvars.domain.workspaces import ByNames
from teamvars.services.variables import Variables
from teamvars.services.workspaces import Workspaces
from teamvars.web.dialects import Dialect
from teamvars.web.http.negotiation import IF_MATCH, IF_NONE_MATCH
from teamvars.web.http.parameters import Parameter, text_of
from teamvars.web.http.request import Request
from teamvars.web.http.routes import Route
from teamvars.web.http.sending import Response
from teamvars.web.variables import requests
from teamvars.web.variables.documents import VariableDocument, VariableListDocument
from teamvars.web.variables.routes import DEPRECATION, of_workspaces

_ALL, _ONE = "/api/v2/vars", "/api/v2/vars/{variable_id}"
_NAMED = tuple(
    Parameter(f"filter[{noun}][name]", f"The name of the {noun}.", required=True)
    for noun in ("organization", "workspace")
)


def routes(variables: Variables, workspaces: Workspaces, dialect: Dialect) -> list[Route]:
    """One row an operation."""
    by_workspace = of_workspaces(variables, dialect)

    async def list_(request: Request) -> Response:
        """List all variables of a workspace that is named, as older clients do."""
        view = await workspaces.read(request.require_caller(), _names(request))
        return await by_workspace.listed(request, ToWorkspace(view.workspace.id))

    async def create(request: Request) -> Response:
        """Create a variable of the workspace that the document names, as older clients do."""
        id_ = requests.named_workspace(request.document, dialect)
        return await by_workspace.created(request, id_)

    async def update(request: Request) -> Response:
        """Update a variable of whichever workspace has it, as older clients do."""
        return await by_workspace.updated(request, await id_of(request))

    async def delete(request: Request) -> Response:
        """Delete a variable of whichever workspace has it, as older clients do."""
        return await by_workspace.deleted(request, ToWorkspace(await id_of(request)))

    async def id_of(request: Request) -> str:
        return await variables.workspace_of(request.parameters["variable_id"])

    return [
        Route(
            "GET",
            _ALL,
            list_,
            {200: VariableListDocument},
            precondition=IF_NONE_MATCH,
            has_entity_tag=True,
            name="listVariablesOfNamedWorkspace",
            reads=_NAMED,
            refuses=(404,),
        ),
        Route(
            "POST",
            _ALL,
            create,
            {201: VariableDocument},
            takes=requests.new_named_body(dialect),
            keyed=True,
            has_entity_tag=True,
            sends=DEPRECATION,
            may_forbid=True,
            name="createVariableOfNamedWorkspace",
            refuses=(404,),
        ),
        Route(
            "PATCH",
            _ONE,
            update,
            {200: VariableDocument},
            takes=requests.changed_body(dialect, "variable_id"),
            keyed=True,
            precondition=IF_MATCH,
            has_entity_tag=True,
            may_forbid=True,
            name="updateVariableById",
        ),
        Route(
            "DELETE",
            _ONE,
            delete,
            {204: None},
            precondition=IF_MATCH,
            may_forbid=True,
            name="deleteVariableById",
        ),
    ]


def _names(request: Request) -> ByNames:
    return ByNames(*(text_of(request, one) or "" for one in _NAMED))
