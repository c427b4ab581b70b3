"""The API as commands call it: documents in, documents out, a change once however often it is sent.

Whatever is refused raises ApiError, which ends the command unless it is caught.
"""

import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import msgspec

from teamvars import __version__
from teamvars.cli.client.api.addresses import Address
from teamvars.cli.client.api.errors import ApiError, faults_of
from teamvars.cli.client.api.sending import (
    KEY,
    MEDIA_TYPE,
    Sending,
    answer_once,
    document_of,
    object_of,
)
from teamvars.cli.client.api.targets import Given, Target, Where, resolve
from teamvars.cli.client.api.transport import Connection, Request, Travel
from teamvars.cli.exits import CONFLICT, NOT_FOUND, Failure, Misuse
from teamvars.cli.output import note
from teamvars.domain.names import fold

Resource = dict[str, Any]
"""An object of the API's JSON, as it came or as it goes."""

WORKSPACE_ID = re.compile(r"ws-[1-9A-HJ-NP-Za-km-z]{16}")

_PREFIX = "/api/v2"
_LARGEST_PAGE = 100
_READINGS = 3
"""Of a list that changes each time, before that is said."""
_MOST_LISTED = 100_000
"""More than any list here can have: what goes on for ever is none."""
_NO_CONTENT = 204


class Answer(NamedTuple):
    """An answer that is no refusal; the names of its headers are in small letters."""

    document: Any
    headers: Mapping[str, str]


def at(*segments: str, query: Mapping[str, str] | None = None) -> str:
    """The path below `/api/v2` of these segments, each encoded: none can lead elsewhere."""
    if any(segment in ("", ".", "..") for segment in segments):
        raise Misuse("A name or id is missing, or is one that cannot be in a path.")
    path = _PREFIX + "".join(f"/{quote(segment, safe='')}" for segment in segments)
    return f"{path}?{urlencode(query, safe='[]')}" if query else path


def connect(where: Where, *, use_link: bool = True) -> "Api":
    """The service that the flags, the environment, the link and the settings lead to."""
    return Api(resolve(where, use_link=use_link))


class Api:
    """A service, called with one token."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._connection = Connection(target.address, target.travel)
        self._announced = False
        self.says_terraform = False
        """Whether a refusal has told that it calls the category `tool` so."""

    def beside(self) -> "Api":
        """The same, on a connection of its own, for another thread."""
        other = Api(self.target)
        other._announced = self._announced
        return other

    def announce(self, what: str | None = None) -> None:
        """Says on stderr what is going to be changed, once; the first change does so at the latest.

        `what` is said in the place of organization and workspace.
        """
        if not self._announced:
            self._announced = True
            note(self.target.title if what is None else f"{what} on {self.target.address}")

    def get(self, path: str) -> Answer:
        """Reads."""
        return self._send("GET", path, None, {})

    def pages(self, path: str) -> Iterator[Any]:
        """The resources of a list that nobody needs whole, as far as they are wanted; `path` is
        made by `at` and has no page.
        """
        for document in self._documents(path):
            yield from document["data"]

    def listed(self, path: str) -> list[Resource]:
        """The resources of a list, all of them and each once."""
        return [one for document in self.documents(path) for one in document["data"]]

    def documents(self, path: str) -> list[Any]:
        """The documents that `listed` is read from, for what they have beside the resources.

        What comes or goes between two pages has others missed, or found twice: then all is read
        again. Fails where it never stays as it is.
        """
        for _ in range(_READINGS):
            found: list[Any] = []
            ids: list[object] = []
            counts: set[object] = set()
            for document in self._documents(path):
                found.append(document)
                ids += [one["id"] for one in document["data"]]
                counts.add(_pagination(document).get("total-count"))
                if len(ids) > _MOST_LISTED:
                    where = self.target.address
                    raise Failure(f"{where} lists more than {_MOST_LISTED} of one kind.")
            if len(ids) == len(set(ids)) and counts <= {None, len(ids)}:
                return found
        raise Failure(
            f"What {self.target.address} lists was changed while it was read, or the token does "
            "not see all of it. Nothing was changed. Run the command again.",
            CONFLICT,
        )

    def _documents(self, path: str) -> Iterator[Any]:
        """The documents of all pages of a list."""
        number: int | None = 1
        while number is not None:
            page = f"page[size]={_LARGEST_PAGE}&page[number]={number}"
            document = self.get(f"{path}{'&' if '?' in path else '?'}{page}").document
            yield document
            following = _pagination(document).get("next-page")
            # Always further on, whatever the service says: a list has an end.
            number = following if isinstance(following, int) and following > number else None

    @property
    def organization(self) -> str:
        """The organization; where nothing else says which, that of a workspace which is named by
        its id. Fails where there is none.
        """
        if self.target.organization is None and self.target.workspace is not None:
            first = self.target.workspace.value.partition(",")[0]
            if WORKSPACE_ID.fullmatch(first):
                self._workspace_with_id(first)
        return self.target.organization_name

    def workspace(self, name: str | None = None) -> Resource:
        """The resource of a workspace of the organization by name or id; of the one that the
        command is for, without one.
        """
        named = self.target.workspace_name if name is None else name
        # By its id first: another may have that for its name.
        found = self._workspace_with_id(named) if WORKSPACE_ID.fullmatch(named) else None
        organization = self.organization
        found = found or self._found(at("organizations", organization, "workspaces", named))
        if found is None:
            raise Failure(
                f"There is no workspace {organization}/{named}, or you may not see it. Those you "
                "see: teamvars workspace list",
                NOT_FOUND,
            )
        return found

    def _workspace_with_id(self, id_: str) -> Resource | None:
        """The workspace; the organization is that one's from then on if nothing has said which."""
        found = self._found(at("workspaces", id_))
        if found is None:
            return None
        organization = found["relationships"]["organization"]["data"]["id"]
        if self.target.organization is None:
            said = Given(organization, f"the workspace {id_}")
            self.target = msgspec.structs.replace(self.target, organization=said)
        return found if fold(organization) == fold(self.target.organization_name) else None

    def _found(self, path: str) -> Resource | None:
        """A resource; None where there is none that the caller may see."""
        try:
            found: Resource = self.get(path).document["data"]
        except ApiError as error:
            if error.code != NOT_FOUND or not error.faults:  # these are what a service says
                raise
            return None
        return found

    def workspaces(self) -> list[Resource]:
        """The resources of all workspaces of the organization that the caller sees, by name."""
        return self.listed(at("organizations", self.organization, "workspaces"))

    def organizations(self) -> list[str]:
        """The names of the organizations that the caller is in."""
        return [one["attributes"]["name"] for one in self.listed(at("organizations"))]

    def account(self) -> Resource:
        """Who calls."""
        found: Resource = self.get(at("account", "details")).document["data"]
        return found

    def post(
        self,
        path: str,
        document: object = None,
        *,
        if_match: str | None = None,
        quotable: object = None,
    ) -> Answer:
        """Changes something, once: the request carries an idempotency key of its own.

        `quotable` is what an error may show of the document; nothing, unless it is given.
        """
        self.announce()
        headers = {KEY: f'"{uuid.uuid4()}"'}
        if if_match is not None:
            headers["If-Match"] = if_match
        return self._send("POST", path, document, headers, quotable=quotable)

    def patch(self, path: str, document: object) -> Answer:
        """Changes a resource, once, as `post` does."""
        self.announce()
        return self._send("PATCH", path, document, {KEY: f'"{uuid.uuid4()}"'})

    def delete(self, path: str, document: object = None) -> Answer:
        """Takes something away. What is gone when it is sent again after no answer, went."""
        self.announce()
        return self._send("DELETE", path, document, {})

    def _send(
        self,
        method: str,
        path: str,
        document: object,
        more: Mapping[str, str],
        *,
        quotable: object = None,
    ) -> Answer:
        headers = {
            "Accept": MEDIA_TYPE,
            "Authorization": f"Bearer {self.target.token.value}",
            **more,
        }
        body = None
        if document is not None:
            body = msgspec.json.encode(document)
            headers["Content-Type"] = MEDIA_TYPE
        request = Request(method, path, headers, body)
        is_dry_run = isinstance(document, dict) and document.get("meta", {}).get("dry-run") is True
        changes = method != "GET" and not is_dry_run
        sending = Sending(self._connection, request, changes=changes)
        reply = sending.answer()
        found = document_of(reply)
        if reply.status < 300:
            if not _is_document(found) and (method == "GET" or reply.status != _NO_CONTENT):
                where = self.target.address
                raise Failure(f"What answers at {where} is not teamvars. Check the address.")
            return Answer(found, reply.headers)
        if reply.status < 400:
            raise Failure(
                f"{self.target.address} answers with a redirect, which is never followed. Is this "
                "the address of the service itself?"
            )
        if method == "DELETE" and sending.uncertain and reply.status == 404:
            return Answer(None, reply.headers)
        raise ApiError(self.target, f"{method} {path}", reply.status, faults_of(found), quotable)


def told(resource: Any, names: Mapping[str, str]) -> Resource:
    """What commands show of a resource: by each name one of its attributes, or its `id`."""
    known = {"id": resource["id"], **resource["attributes"]}
    return {name: known[attribute] for name, attribute in names.items()}


class Noun(NamedTuple):
    """What an organization has of one type: what sentences call one, and which commands list it."""

    type: str
    name: str
    commands: str

    def seen(self, api: Api) -> list[Resource]:
        """Those that the caller sees."""
        return api.listed(at("organizations", api.organization, self.type))

    def named(self, api: Api, word: str) -> Resource:
        """The one that has the word for its id, else the one that is called so in any case. Fails
        where the caller sees none.
        """
        # By its id first: another may have that for its name.
        for one in sorted(self.seen(api), key=lambda one: word != one["id"]):
            if word == one["id"] or fold(word) == fold(one["attributes"]["name"]):
                return one
        told = f"You see no {self.name} {word}. Those you see: teamvars {self.commands} list"
        raise Failure(told, NOT_FOUND)


PROJECT = Noun("projects", "project", "project")
RUNNER = Noun("runners", "runner", "runner")
SET = Noun("varsets", "variable set", "set")
TEAM = Noun("teams", "team", "team")


def _pagination(document: Any) -> Any:
    """What a document says of the pages of its list; a list that has none says nothing."""
    return document.get("meta", {}).get("pagination", {})


def _is_document(found: Any) -> bool:
    """Whether it has what every document of the API has: `data`, `meta` or both."""
    if not isinstance(found, dict):
        return False
    return any(isinstance(found.get(name), dict | list) for name in ("data", "meta"))


def release_of(service: Address, travel: Travel) -> str:
    """The release of a service. Fails where it cannot be reached, or is something else."""
    request = Request("GET", "/", {"Accept": "application/json"}, None)
    with closing(Connection(service, travel)) as connection:
        reply = answer_once(connection, request)
    said = object_of(reply) or {}
    if reply.status != 200 or said.get("name") != "teamvars":
        raise Failure(f"What answers at {service} is not teamvars. Check the address.")
    return str(said.get("version", "-"))


def misfit(service: Address, release: str) -> str | None:
    """What to say of a service of that release; None where this command fits it."""
    if _line(release) == _line(__version__):
        return None
    return (
        f"These versions do not fit: {service} is release {release}, and this command "
        f"{__version__}. Install release {release} here, or ask the operator of the service."
    )


def _line(release: str) -> list[str]:
    """The numbers that two releases have in common when they fit."""
    numbers = release.split(".")
    return numbers[: 2 if numbers[0] == "0" else 1]
