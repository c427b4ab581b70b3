"""Variables out again: what is chosen, as a file that is copied or downloaded."""

from pathlib import Path

from playwright.async_api import expect

from tests.console.accessibility import Inspection
from tests.console.visitors import Crowd, Site, on_each_engine

COPIES = """() => {
  window.copied = [];
  Object.defineProperty(navigator, "clipboard", { configurable: true, value: {
    writeText: async (text) => { window.copied.push(text); } } });
}"""


@on_each_engine
async def test_what_is_chosen_is_a_file_to_be_copied_or_downloaded(
    site: Site, crowd: Crowd, tmp_path: Path
) -> None:
    tenant = await site.tenant()
    await site.make(tenant, "LEVEL", "it's on")
    await site.make(tenant, "HOME_OF", "${HOME}")
    await site.make(tenant, "PSK", "topsecret", sensitive=True)
    await site.make(tenant, "ports", "[80, 443]", category=site.tool, hcl=True)
    visitor = await crowd.member(site, tenant, "reader")
    page = visitor.page
    await page.evaluate(COPIES)
    await visitor.button("Export").click()
    file = page.get_by_label("The file")
    await page.get_by_role("radio", name=".env").check()
    comment = "# Sensitive, so that nobody can read it: PSK\n"
    await expect(file).to_have_value(f"LEVEL=\"it's on\"\nTF_VAR_ports='[80, 443]'\n{comment}")
    left = page.get_by_role("dialog").get_by_role("listitem")
    await expect(left).to_have_text(["HOME_OF: its value has '${', which programs replace"])

    await page.set_viewport_size({"width": 360, "height": 640})
    await page.get_by_label("All of them").uncheck()
    await page.get_by_label("Export ports").check()
    await page.get_by_role("radio", name=".tfvars", exact=True).check()
    await expect(file).to_have_value("ports = [80, 443]\n")
    await visitor.button("Copy").click()
    await page.get_by_text("The file is copied.").first.wait_for()
    await visitor.button("Copy the value of LEVEL").click()
    await page.get_by_text("The value of LEVEL is copied.").first.wait_for()
    assert await page.evaluate("window.copied") == ["ports = [80, 443]\n", "it's on"]
    assert await visitor.button("Copy the value of PSK").count() == 0

    await page.get_by_role("radio", name="JSON").check()
    async with page.expect_download() as download:
        await visitor.button("Download").click()
    found = await download.value
    assert found.suggested_filename == "network.tfvars.json"
    await found.save_as(saved := tmp_path / "saved")
    assert saved.read_bytes() == b'{\n  "ports": [80, 443]\n}\n'

    # Where the browser copies nothing, a value stands in the file's place to be copied by hand.
    await page.evaluate("delete navigator.clipboard")
    await page.evaluate("void (navigator.clipboard.writeText = () => Promise.reject(new Error()))")
    await visitor.button("Copy the value of LEVEL").click()
    await expect(file).to_have_value("it's on")
    async with page.expect_download() as download:
        await visitor.button("Download").click()
    await (await download.value).save_as(again := tmp_path / "again")
    assert again.read_bytes() == saved.read_bytes()


async def test_what_the_filter_shows_is_exported_for_everybody_to_see(
    sqlite_site: Site, crowd: Crowd
) -> None:
    site, tenant = sqlite_site, await sqlite_site.tenant()
    for key in ("DB_URL", "DB_USER", "OTHER"):
        await site.make(tenant, key, "x")
    visitor = await crowd.member(site, tenant)
    await visitor.page.get_by_label("Filter variables").fill("db_")
    await visitor.button("Export").click()
    await expect(visitor.page.get_by_label("The file")).to_have_value("DB_URL=x\nDB_USER=x\n")
    inspection = Inspection(visitor.page)
    await inspection.look("export")
    assert inspection.found == []


async def test_of_many_the_first_are_shown_and_all_are_exported(
    sqlite_site: Site, crowd: Crowd
) -> None:
    tenant = await sqlite_site.tenant()
    keys = [f"KEY_{number:03}" for number in range(201)]
    items = [{"type": "vars", "attributes": {"key": key, "category": "env"}} for key in keys]
    path = f"/workspaces/{tenant.workspaces['network']}/actions/apply"
    assert (await tenant.call("owner", "POST", path, {"data": items})).is_success
    visitor = await crowd.member(sqlite_site, tenant)
    page = visitor.page
    await visitor.button("Export").click()
    rows = page.get_by_role("dialog").locator("tbody tr")
    await expect(rows).to_have_count(200)
    file = page.get_by_label("The file")
    await expect(file).to_have_value("".join(f"{key}=\n" for key in keys))
    await visitor.button("Show 1 more").click()
    await page.get_by_label("Export KEY_200").uncheck()
    await expect(file).to_have_value("".join(f"{key}=\n" for key in keys[:200]))
