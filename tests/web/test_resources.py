"""A resource of a few rows: what follows from them."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from teamvars.domain.errors import Fault
from teamvars.domain.pages import Paged
from teamvars.services.rendered import Rendered
from teamvars.web.http import openapi
from teamvars.web.http.resource_objects import REQUIRED, Attribute, Group, self_link
from teamvars.web.http.resources import Found, Operations, Resource, with_included
from tests.support.turns import turns_of_others


class Planet(msgspec.Struct, frozen=True):
    """What is shown."""

    id: str
    name: str
    moons: int = 0
    nickname: str | None = None
    is_inhabited: bool = False


class PlanetDraft(msgspec.Struct, frozen=True):
    """What is sent."""

    name: str | None
    nickname: str | None
    is_inhabited: bool | None
    id: str | None = None
    faults: tuple[Fault, ...] = ()


LIFE = Group[Planet](
    "Life",
    "Who lives there.",
    Attribute("inhabited", bool, lambda one: one.is_inhabited, given=bool, to="is_inhabited"),
    Attribute("intelligent", bool, default=False),
    given="Who lives there, as far as anybody says.",
)
PLANET = Resource[Planet](
    type="planets",
    name="Planet",
    noun="a planet",
    tag="Planets",
    id=lambda one: one.id,
    path=lambda one: f"/planets/{one.id}",
    draft=PlanetDraft,
    attributes=(
        Attribute(
            "name",
            str,
            lambda one: one.name,
            given=Annotated[str, Meta(max_length=9)],
            new=REQUIRED,
        ),
        Attribute(
            "nick-name",
            str,
            lambda one: one.nickname,
            given=str | None,
            to="nickname",
            when=lambda one: one.nickname is not None,
        ),
        Attribute("life", LIFE, given=LIFE),
        Attribute("moons", int, lambda one: one.moons),
        Attribute("is-round", bool, default=True),
    ),
    members=(self_link(lambda one: f"/planets/{one.id}"),),
    whole=True,
)
NEW = PLANET.new_body(attributes={"name": "Mars"})
CHANGED = PLANET.changed_body(attributes={"name": "Mars"})


async def work(*_: object) -> Any:
    """What a service would do."""


def sent(**attributes: Any) -> dict[str, Any]:
    return {"data": {"type": "planets", "attributes": attributes}}


def places(draft: PlanetDraft) -> list[tuple[str, str | None]]:
    return [(fault.code.word, fault.pointer) for fault in draft.faults]


def test_an_answer_has_what_the_rows_show_and_leaves_out_what_is_not_there() -> None:
    mars = PLANET.document(Planet("p-1", "Mars", 2, is_inhabited=True))
    assert msgspec.to_builtins(mars) == {
        "data": {
            "id": "p-1",
            "type": "planets",
            "attributes": {
                "name": "Mars",
                "life": {"inhabited": True, "intelligent": False},
                "moons": 2,
                "is-round": True,
            },
            "links": {"self": "/planets/p-1"},
        }
    }
    named = msgspec.to_builtins(PLANET.document(Planet("p-1", "Mars", nickname="Red")))
    assert named["data"]["attributes"]["nick-name"] == "Red"


async def test_others_go_on_while_a_long_list_is_made_that_is_whole() -> None:
    many = Paged([Planet(f"p-{number}", "Mars") for number in range(5_000)], 5_000)
    made, turns = await turns_of_others(PLANET.every(many))
    assert len(made.pieces) > 2
    assert turns >= len(made.pieces)
    assert b"".join(made.pieces) == msgspec.json.encode(PLANET.listing(many))


async def test_others_go_on_while_much_is_included() -> None:
    mars, moons = Planet("p-1", "Mars"), [Planet(f"p-{n}", "Moon") for n in range(5_000)]
    found = Found([mars], 1, map(PLANET.shape.of, moons))
    made, turns = await turns_of_others(with_included(PLANET.document(mars), found))
    assert isinstance(made.body, Rendered)
    assert turns >= len(made.body.pieces) > 2
    expected = {
        **msgspec.to_builtins(PLANET.document(mars)),
        "included": [msgspec.to_builtins(PLANET.shape.of(one)) for one in moons],
    }
    assert msgspec.json.decode(b"".join(made.body.pieces)) == expected


def test_a_draft_has_what_a_request_says_and_null_says_nothing_where_it_may_stand() -> None:
    document = sent(**{"name": "Mars", "nick-name": None, "life": {"inhabited": True}, "moons": 7})
    assert PLANET.new_draft(document) == PlanetDraft("Mars", None, is_inhabited=True)
    changed = PLANET.changed_draft({"data": {"type": "planets", "id": "p-1"}})
    assert changed == PlanetDraft(None, None, None, id="p-1")


def test_a_draft_has_every_fault_with_its_place() -> None:
    at = "/data/attributes"
    document = sent(**{"nick-name": 7, "life": {"inhabited": None}})
    assert places(PLANET.new_draft(document)) == [
        ("missing_member", f"{at}/name"),
        ("wrong_type", f"{at}/nick-name"),
        ("wrong_type", f"{at}/life/inhabited"),
    ]
    assert places(PLANET.changed_draft(sent(name=None))) == [("wrong_type", f"{at}/name")]


def test_the_document_of_the_api_says_the_same() -> None:
    do = Operations(PLANET)
    all_, one = "/planets", "/planets/{planet}"
    routes = [
        do.lists(all_, "List planets.", work),
        do.creates(all_, "Create a planet.", work, NEW),
        do.reads(one, "Read a planet.", work),
        do.updates(one, "Update a planet.", work, CHANGED),
        do.deletes(one, "Delete a planet.", work),
    ]
    document = openapi.document(routes, {}, {"Planets": "Worlds."}, lambda _: None)
    operations = [
        (method, operation["operationId"], operation["description"])
        for path in document["paths"].values()
        for method, operation in path.items()
        if method != "parameters"
    ]
    assert operations == [
        ("get", "listPlanets", "List planets."),
        ("post", "createPlanet", "Create a planet."),
        ("get", "readPlanet", "Read a planet."),
        ("patch", "updatePlanet", "Update a planet."),
        ("delete", "deletePlanet", "Delete a planet."),
    ]
    schemas = document["components"]["schemas"]
    assert schemas["NewPlanetAttributes"]["required"] == ["name"]
    assert schemas["PlanetChanges"]["required"] == []
    assert list(schemas["NewPlanetAttributes"]["properties"]) == ["name", "nick-name", "life"]
    assert schemas["PlanetAttributes"]["required"] == ["name", "life", "moons"]
    assert schemas["PlanetDocument"]["description"] == "One planet."
