"""Resources: from one declaration follow documents, drafts and routes, each with its use case.

Types are made for `/openapi.json` and for encoding; what is sent is read by hand, to collect every
fault (decision 002), and judged by the domain. A use case takes the caller, what the request asks
about (which is what the path names, in its order, unless an operation `asks` otherwise) and a draft
where there is a document.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Generic, Literal, TypeVar, Union, cast

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from teamvars.domain.errors import OTHERWISE_RELATED, Fault
from teamvars.domain.pages import Paged
from teamvars.pace import in_batches
from teamvars.services.rendered import Rendered
from teamvars.web.http import paging
from teamvars.web.http.idempotency import changed
from teamvars.web.http.negotiation import MEDIA_TYPE
from teamvars.web.http.paging import PageLinks, PageMeta
from teamvars.web.http.parameters import including, requested_includes
from teamvars.web.http.reader import Linkage, Reader, named_in
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import Attribute, Field, Group, self_link, structure
from teamvars.web.http.routes import RequestBody, Route
from teamvars.web.http.sending import Response, rendered

T = TypeVar("T")

Json = Mapping[str, Any]

Work = Callable[..., Awaitable[Any]]

_AT_ONCE = 50
"""How many resources of many are encoded before the piece that they fill may be full."""
_HEADERS = {"Content-Type": MEDIA_TYPE}


class Found(Paged[T], Generic[T], frozen=True):
    """One page of resources, and what is included with them, which may be much."""

    included: Iterable[msgspec.Struct] | UnsetType = UNSET


class Relations(msgspec.Struct, frozen=True):
    """The relationships that a create names: their type, and how they are read, by the names that
    a draft has for them. An update may name them as well where they are `changeable`. Some may name
    nothing where something is made: `refused` says why.
    """

    type: Any
    read: Callable[[Reader, Json | None], dict[str, Any]] = lambda *_: {}
    required: bool = True
    changeable: bool = False
    refused: Mapping[str, str] = {}


class Resource(msgspec.Struct, Generic[T], frozen=True, dict=True, kw_only=True):
    """What the resources of one `type` show and take; each is made of a `T`.

    Types and texts call one by `name` and `noun`, such as `Team` and `a team`; `texts` are those of
    types of which more is to be said, and `tag` groups its operations. `path` is where one is, if
    not below its type by its id, and `members` are what it has beside attributes: relationships and
    links. One that is `linked` has its own path.

    `include` are the words that ask for related resources, of the types `included`; unless
    `one_includes` them as well, lists alone do. What is included beside others is `tagged`.

    A `draft` is made of what a request says. With `aliases` a create may use other types, or leave
    out attributes and document; types call it `new_name` where it is not a new one of them. There
    may be a list that is `whole`, in no pages. One that is `strict` takes no attribute that it does
    not know.
    """

    type: str
    name: str
    noun: str
    tag: str
    id: Callable[[T], str]
    attributes: tuple[Attribute[T], ...]
    members: tuple[Attribute[T], ...] = ()
    path: Callable[[T], str] | None = None
    linked: bool = False
    draft: Callable[..., Any] | None = None
    relations: Relations | None = None
    include: Sequence[str] = ()
    included: tuple[Any, ...] = ()
    one_includes: bool = True
    tagged: bool = False
    aliases: tuple[str, ...] = ()
    new_name: str = ""
    whole: bool = False
    strict: bool = False
    texts: Mapping[str, str] = {}

    @cached_property
    def said(self) -> Group[T]:
        """Its attributes."""
        return Group(*self._called("{}Attributes", "{A}'s attributes."), *self.attributes)

    @cached_property
    def shape(self) -> Group[T]:
        """The resource as it stands in a document."""
        tag = self.type if self.tagged else ""
        members: list[Attribute[T]] = [Attribute("id", str, self.id)]
        if not tag:
            members.append(Attribute("type", str, lambda _: self.type))
        members.append(Attribute("attributes", self.said.type, self.said.of))
        members.extend(self.members)
        if self.linked:
            members.append(self_link(self.path_of))
        return Group(*self._called("{}Resource", "{A}."), *members, tag=tag)

    def path_of(self, one: T) -> str:
        """Where that one is."""
        if self.path is not None:
            return self.path(one)
        return f"/api/v2/{self.type}/{self.id(one)}"

    @cached_property
    def _related(self) -> Group[T] | None:
        """What it is related to."""
        return next((one.shown for one in self.members if one.name == "relationships"), None)

    @cached_property
    def _unchanged(self) -> list[str]:
        """The relationships that are shown, and that no update changes."""
        shown = [] if self._related is None else _names_of(self._related.type)
        if self.relations is None or not self.relations.changeable:
            return shown
        changed = _names_of(self.relations.type)
        return [name for name in shown if name not in changed]

    @cached_property
    def one(self) -> Any:
        """The type of a document of one."""
        data: list[Field] = [("data", self.shape.type)]
        included = self._included() if self.one_includes else []
        return structure(*self._called("{}Document", "One {}."), data + included)

    @cached_property
    def page(self) -> Any:
        """The type of a document of one page."""
        data: list[Field] = [("data", cast(Any, list)[self.shape.type])]
        ends: list[Field] = [("links", PageLinks), ("meta", PageMeta)]
        if self.whole:
            ends = [(name, type_ | UnsetType, UNSET) for name, type_, *_ in ends]
        text = "One page of the {}s that a caller sees."
        return structure(*self._called("{}ListDocument", text), data + self._included() + ends)

    def document(
        self, one: T, included: Iterable[msgspec.Struct] | UnsetType = UNSET
    ) -> msgspec.Struct:
        """The document of one."""
        beside = self._beside(included) if self.one_includes else {}
        document: msgspec.Struct = self.one(data=self.shape.of(one), **beside)
        return document

    def listing(
        self,
        found: Paged[T],
        links: PageLinks | UnsetType = UNSET,
        meta: PageMeta | UnsetType = UNSET,
    ) -> msgspec.Struct:
        """The document of one page, or of the whole list."""
        data = [self.shape.of(one) for one in found.items]
        included = self._beside(found.included if isinstance(found, Found) else UNSET)
        document: msgspec.Struct = self.page(data=data, links=links, meta=meta, **included)
        return document

    async def every(self, found: Paged[T]) -> Rendered:
        """The document of a whole list, however long: others have the loop in between."""
        batches = in_batches(found.items, lambda _: 1, _AT_ONCE)
        beside = msgspec.json.encode(self.listing(replace(found, items=[])))
        rest = beside.removeprefix(b'{"data":[]').removesuffix(b"}")
        return await rendered("", ([self.shape.of(one) for one in some] for some in batches), rest)

    def new_draft(self, document: object, also: Collection[str | None] = ()) -> Any:
        """What a create asks for, with every fault of the document. It may have types `also`."""
        assert self.draft is not None
        if self.aliases and document in (None, {}):
            return self.draft()
        read = Reader(document)
        data = read.resource(self.type, (*self.aliases, *also))
        read.refuse_client_id(data)
        attributes = read.member(data, "attributes", dict, "/data", required=not self.aliases)
        said = self._read(read, attributes, is_new=True)
        if self.relations is not None:
            required = self.relations.required
            named = read.member(data, "relationships", dict, "/data", required=required)
            said |= self.relations.read(read, named)
            for name, why in self.relations.refused.items():
                read.refuse_some(named, name, why)
        return self.draft(**said, faults=read.faults)

    def changed_draft(self, document: object, also: Collection[str | None] = ()) -> Any:
        """What an update asks for; clients may leave out both `id` and `attributes`."""
        assert self.draft is not None
        read = Reader(document)
        data, id_, attributes = read.changed_resource(self.type, also)
        said = self._read(read, attributes, is_new=False)
        named = read.member(data, "relationships", dict, "/data", required=False)
        if self.relations is not None and self.relations.changeable:
            said |= self.relations.read(read, named)
        if others := read.linkages(named, self._unchanged):
            said["unlike"] = partial(self._unlike, others)
        return self.draft(**said, id=id_, faults=read.faults)

    def new_body(self, **example: Any) -> RequestBody:
        """What a create sends, with an example of its `data`."""
        text = "What a create says about {a}"
        text += "." if self.strict else "; attributes that are not here are ignored."
        said = structure(*self._called("{new}Attributes", text), self.said.new_fields())
        types = cast(Any, Literal)[(self.type, *self.aliases)]
        attributes = (said | UnsetType, UNSET) if self.aliases else (said,)
        members: list[Field] = [("type", types), ("attributes", *attributes)]
        if self.relations is not None:
            type_, is_needed = self.relations.type, self.relations.required
            relations = (type_,) if is_needed else (type_ | UnsetType, UNSET)
            members.append(("relationships", *relations))
        data = structure(*self._called("{new}Resource", "{A} to create."), members)
        body = structure(*self._called("{new}Document", "Creates {a}."), [("data", data)])
        return RequestBody(body, self._example(example), optional=bool(self.aliases))

    def changed_body(self, **example: Any) -> RequestBody:
        """What an update sends, with an example of its `data`."""
        text = "What an update says about {a}; what is left out stays."
        said = structure(*self._called("{}Changes", text), self.said.changed_fields())
        members: list[Field] = [
            ("type", cast(Any, Literal)[self.type]),
            ("id", str | UnsetType, UNSET),
            ("attributes", said | UnsetType, UNSET),
        ]
        if self.relations is not None and self.relations.changeable:
            members.append(("relationships", self.relations.type | UnsetType, UNSET))
        text = "{A} to update; an `id`, when there is one, is the path's."
        data = structure(*self._called("Changed{}Resource", text), members)
        body = structure(*self._called("Changed{}Document", "Updates {a}."), [("data", data)])
        return RequestBody(body, self._example(example))

    def _read(self, read: Reader, attributes: Json | None, *, is_new: bool) -> dict[str, Any]:
        if self.strict:
            known = {one.name for one in self.attributes}
            read.refuse_unknown(attributes, known)
        said: dict[str, Any] = {}
        for to, found in self.said.read(read, attributes, "/data/attributes", is_new=is_new):
            whole, _, name = to.partition("/")
            if not name:
                said[whole] = found
            elif found is not None:
                said.setdefault(whole, {})[name] = found
        return said

    def _unlike(self, named: Mapping[str, Linkage], one: T) -> list[Fault]:
        """A fault for each relationship that is named otherwise than it is shown."""
        assert self._related is not None  # else none is named
        shown = msgspec.to_builtins(self._related.of(one))
        there = {name: named_in(relation.get("data")) for name, relation in shown.items()}
        others = [name for name, said in named.items() if said != there.get(name, named_in(None))]
        return [OTHERWISE_RELATED.at(f"/data/relationships/{name}/data") for name in others]

    def _called(self, name: str, text: str) -> tuple[str, str]:
        """The name and the text of one of its types."""
        name = name.format(self.name, new=self.new_name or f"New{self.name}")
        article, noun = self.noun.split(" ", 1)
        text = text.format(noun, a=self.noun, A=f"{article.capitalize()} {noun}")
        return name, self.texts.get(name, text)

    def _included(self) -> list[Field]:
        if not self.included:
            return []
        some = cast(Any, list)[cast(Any, Union)[self.included]]
        return [("included", some | UnsetType, UNSET)]

    def _beside(self, included: Iterable[msgspec.Struct] | UnsetType) -> dict[str, Any]:
        if not self.included or isinstance(included, UnsetType):
            return {}
        return {"included": list(included)}

    def _example(self, data: Json) -> Json:
        return {"data": {"type": self.type, **data}}


class Operations(Generic[T]):
    """The operations on resources of one type, each with a sentence on what it does.

    `more` is said of the route besides. Of what the work returns `shows` makes what is shown, if it
    is another thing, knowing what to include where something can be; work that has to know
    whether anything is to be included `expands` that: its keyword. Of what a change returns `made`
    makes the id that a repeat is told in its place. Its document may have types `also`; None: none.
    Where it takes something else than one such resource, `draft` reads that. With the status 204,
    or where its work returns None, it shows nothing; what is `whole` is all of a list, which
    `shows` makes knowing what the request says as well. Where one shows a document of its own,
    `renders` makes that response.
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
            if page is None:
                return Response(200, await self._resource.every(found), _HEADERS)
            ends = paging.links_and_meta(request, page, found.total)
            document = self._resource.listing(Paged(found.items, found.total), *ends)
            return await with_included(document, found)

        reads = more.pop("reads", ())
        reads = (*paging.PARAMETERS, *self._include, *reads)
        said = {"name": f"list{self._resource.name}s", "reads": reads, **more}
        return self._route("GET", path, text, handle, responses={200: self._resource.page}, **said)

    def reads(self, path: str, text: str, work: Work, **more: Any) -> Route:
        """Reads one. Where something can be included, what is shown is a page."""
        asks, include = more.pop("asks", _asks), self._include
        shows, expands = more.pop("shows", _as_found), more.pop("expands", "")
        renders = more.pop("renders", None)
        if not self._resource.one_includes:
            include = ()

        async def handle(request: Request) -> Response:
            includes = self._includes(request) if include else ()
            told = {expands: any(includes)} if expands else {}
            found = await work(request.require_caller(), *asks(request), **told)
            if renders is not None:
                return cast(Response, renders(found))
            found = _in_page(shows(found, *includes))
            return await with_included(self._resource.document(found.items[0]), found)

        said = {
            "name": f"read{self._resource.name}",
            "reads": include,
            "responses": {200: self._resource.one},
            **more,
        }
        return self._route("GET", path, text, handle, **said)

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
        """Does something else to one."""
        return self._changes("POST", path, text, work, **more)

    def deletes(self, path: str, text: str, work: Work, **more: Any) -> Route:
        """Deletes one."""
        said = {"name": f"delete{self._resource.name}", "status": 204, "keyed": False, **more}
        return self._changes("DELETE", path, text, work, **said)

    def _changes(self, method: str, path: str, text: str, work: Work, **more: Any) -> Route:
        status, made = more.pop("status", 200), more.pop("made", None)
        whole, renders = more.pop("whole", False), more.pop("renders", None)
        asks, shows = more.pop("asks", _asks), more.pop("shows", _as_found)
        known = self._resource.new_draft if method == "POST" else self._resource.changed_draft
        draft = more.pop("draft", partial(known, also=more.pop("also", ())))
        drafts = (draft,) if "takes" in more else ()

        def render(said: Sequence[Any], found: Any) -> Response:
            if status == 204 or found is None:
                return Response(204)
            if renders is not None:
                return cast(Response, renders(found))
            if whole:
                every = shows(found, *said)
                return Response.document(status, self._resource.listing(Paged(every, len(every))))
            return self._response(status, shows(found))

        async def handle(request: Request) -> Response:
            said = [draft(request.document) for draft in drafts]
            asked = work(request.require_caller(), *asks(request), *said)
            return await changed(request, asked, partial(render, said), made=made)

        shown = self._resource.page if whole else self._resource.one
        responses = {status: None if status == 204 else shown}
        said = {"keyed": True, "may_forbid": True, "responses": responses, **more}
        return self._route(method, path, text, handle, **said)

    def _route(self, method: str, path: str, text: str, handle: Any, **said: Any) -> Route:
        return Route(method, path, handle, text=text, tag=self._resource.tag, **said)

    def _includes(self, request: Request) -> list[frozenset[str]]:
        """Which related resources to include, if any can be."""
        return [requested_includes(request)] if self._resource.include else []

    def _response(self, status: int, found: Found[T] | T) -> Response:
        page = _in_page(found)
        headers = {"Location": self._resource.path_of(page.items[0])} if status == 201 else {}
        document = self._resource.document(page.items[0], page.included)
        return Response.document(status, document, headers)


def _in_page(found: Found[T] | T) -> Found[T]:
    return found if isinstance(found, Found) else Found([found], 1)


async def with_included(document: msgspec.Struct, found: Paged[Any]) -> Response:
    """The document with what is included, however much: others have the loop in between."""
    if not isinstance(found, Found) or isinstance(found.included, UnsetType):
        return Response.document(200, document)
    before = msgspec.json.encode(document).removesuffix(b"}") + b',"included":['
    batches = in_batches(found.included, lambda _: 1, _AT_ONCE)
    return Response(200, await rendered("", batches, before=before), _HEADERS)


def _names_of(type_: Any) -> list[str]:
    """What the members of an object of that type are called in documents."""
    return [field.encode_name for field in msgspec.structs.fields(type_)]


def _asks(request: Request) -> Iterable[Any]:
    return request.parameters.values()


def _as_found(found: Any, *_: object) -> Any:
    return found
