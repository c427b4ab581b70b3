"""Operations on resources: the routes of what is declared, each with its use case.

A use case takes the caller, what the request asks about (which is what the path names, in its
order, unless an operation `asks` otherwise) and a draft where there is a document.
"""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, Generic, TypeVar

from teamvars.web.http import paging
from teamvars.web.http.idempotency import changed
from teamvars.web.http.parameters import including, requested_includes
from teamvars.web.http.request import Request
from teamvars.web.http.resources import Found, Resource
from teamvars.web.http.routes import RequestBody, Route
from teamvars.web.http.sending import Response

Work = Callable[..., Awaitable[Any]]

T = TypeVar("T")


class Operations(Generic[T]):
    """The operations on resources of one type, each with a sentence on what it does.

    `more` is said of the route besides. Of what the work returns `shows` makes what is shown, if it
    is another thing, knowing what to include where something can be; work that has to know
    whether anything is to be included `expands` that: its keyword. Of what a change returns `made`
    makes the id that a repeat is told in its place. Its document may have types `also`; None: none.
    Where it takes something else than one such resource, `draft` reads that.
    """

    def __init__(self, resource: Resource[T]) -> None:
        self._resource = resource
        self._include = (including(resource.include),) if resource.include else ()

    def lists(self, path: str, text: str, work: Work, **more: Any) -> Route:
        """Lists a page, or where it is `whole` all there are, unless a page is asked for.

        The work takes the page as well.
        """
        asks, whole = more.pop("asks", _asks), more.pop("whole", False)
        shows, expands = more.pop("shows", _as_found), more.pop("expands", "")

        async def handle(request: Request) -> Response:
            includes = self._includes(request)
            asked, page = asks(request), None
            if not whole or any(request.values(one.name) for one in paging.PARAMETERS):
                page = paging.requested_page(request)
            told = {expands: any(includes)} if expands else {}
            found = await work(request.require_caller(), *asked, page, **told)
            found = shows(found, *includes)
            ends = () if page is None else paging.links_and_meta(request, page, found.total)
            return Response.document(200, self._resource.listing(found, *ends))

        reads = more.pop("reads", ())
        reads = (*paging.PARAMETERS, *self._include, *reads)
        said = {"name": f"list{self._resource.name}s", "reads": reads, **more}
        return self._route("GET", path, text, handle, responses={200: self._resource.page}, **said)

    def reads(self, path: str, text: str, work: Work, **more: Any) -> Route:
        """Reads one. Where something can be included, what is shown is a page."""
        asks, include = more.pop("asks", _asks), self._include
        shows, expands = more.pop("shows", _as_found), more.pop("expands", "")
        if not self._resource.one_includes:
            include = ()

        async def handle(request: Request) -> Response:
            includes = self._includes(request) if include else ()
            told = {expands: any(includes)} if expands else {}
            found = await work(request.require_caller(), *asks(request), **told)
            return self._response(200, shows(found, *includes))

        said = {"name": f"read{self._resource.name}", "reads": include, **more}
        return self._route("GET", path, text, handle, responses={200: self._resource.one}, **said)

    def creates(self, path: str, text: str, work: Work, takes: RequestBody, **more: Any) -> Route:
        """Creates one."""
        said = {"name": f"create{self._resource.name}", "takes": takes, "status": 201, **more}
        return self._changes("POST", path, text, work, **said)

    def updates(self, path: str, text: str, work: Work, takes: RequestBody, **more: Any) -> Route:
        """Updates one; by another method than PATCH as well."""
        method = more.pop("method", "PATCH")
        said = {"name": f"update{self._resource.name}", "takes": takes, **more}
        return self._changes(method, path, text, work, **said)

    def acts(self, path: str, text: str, work: Work, **more: Any) -> Route:
        """Does something else to one; with the status 204 it shows nothing."""
        return self._changes("POST", path, text, work, **more)

    def deletes(self, path: str, text: str, work: Work, **more: Any) -> Route:
        """Deletes one."""
        said = {"name": f"delete{self._resource.name}", "status": 204, "keyed": False, **more}
        return self._changes("DELETE", path, text, work, **said)

    def _changes(self, method: str, path: str, text: str, work: Work, **more: Any) -> Route:
        status, made = more.pop("status", 200), more.pop("made", None)
        asks, shows = more.pop("asks", _asks), more.pop("shows", _as_found)
        known = self._resource.new_draft if method == "POST" else self._resource.changed_draft
        draft = more.pop("draft", partial(known, also=more.pop("also", ())))
        drafts = (draft,) if "takes" in more else ()

        def render(found: Any) -> Response:
            return Response(204) if status == 204 else self._response(status, shows(found))

        async def handle(request: Request) -> Response:
            said = (draft(request.document) for draft in drafts)
            asked = work(request.require_caller(), *asks(request), *said)
            return await changed(request, asked, render, made=made)

        responses = {status: None if status == 204 else self._resource.one}
        said = {"keyed": True, "may_forbid": True, "responses": responses, **more}
        return self._route(method, path, text, handle, **said)

    def _route(self, method: str, path: str, text: str, handle: Any, **said: Any) -> Route:
        return Route(method, path, handle, text=text, tag=self._resource.tag, **said)

    def _includes(self, request: Request) -> list[frozenset[str]]:
        """Which related resources to include, if any can be."""
        return [requested_includes(request)] if self._resource.include else []

    def _response(self, status: int, found: Found[T] | T) -> Response:
        page = found if isinstance(found, Found) else Found([found], 1)
        headers = {"Location": self._resource.path(page.items[0])} if status == 201 else {}
        document = self._resource.document(page.items[0], page.included)
        return Response.document(status, document, headers)


def _asks(request: Request) -> Iterable[Any]:
    return request.parameters.values()


def _as_found(found: Any, *_: frozenset[str]) -> Any:
    return found
