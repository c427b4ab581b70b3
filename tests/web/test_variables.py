"""Variables over HTTP: spec.md and contract §4, on both engines."""

from tests.world import World, faults, variable_document


async def test_a_created_variable_is_shown_as_the_specification_says(world: World) -> None:
    document = variable_document(key="region", value="eu-central-1", description="where")
    answer = await world.call("writer", "POST", world.vars_path(), document)
    assert answer.status_code == 201
    data = answer.json()["data"]
    workspace_id = world.workspaces["network"]
    assert data == {
        "id": data["id"],
        "type": "vars",
        "attributes": {
            "key": "region",
            "value": "eu-central-1",
            "description": "where",
            "category": "tool",
            "hcl": False,
            "sensitive": False,
            "version-id": data["attributes"]["version-id"],
        },
        "relationships": {
            "configurable": {
                "data": {"id": workspace_id, "type": "workspaces"},
                "links": {
                    "related": f"/api/v2/organizations/{world.organization}/workspaces/network"
                },
            }
        },
        "links": {"self": f"/api/v2/workspaces/{workspace_id}/vars/{data['id']}"},
    }
    assert answer.headers["Location"] == data["links"]["self"]


async def test_a_taken_key_is_refused_alone_and_names_the_key(world: World) -> None:
    await world.make_variable("region")
    answer = await world.call("owner", "POST", world.vars_path(), variable_document(key="region"))
    assert answer.status_code == 422
    assert faults(answer) == [("422", "key_taken", "/data/attributes/key")]
