"""Makes the pictures of the console in docs/images: `python3 dev.py screenshots`.

They show the sample data of `teamvars dev`, in both themes.
"""

import asyncio
import re
import shutil
import tempfile
import time
from pathlib import Path
from typing import Literal

import httpx
from playwright.async_api import Browser, Page, async_playwright

from tests.support.commands import Host
from tests.support.patience import HANGS
from tests.support.server import end_group, free_port

FOLDER = Path(__file__).parents[2] / "docs" / "images"
Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")
FILE = """\
domain   = "shop.example.com"
replicas = 4
regions = {
  "eu-central-1" = { replicas = 4, primary = true }
  "us-east-1"    = { replicas = 2, primary = false }
}
payment_api_token = "not-a-real-one"
"""


async def main() -> None:
    """Starts the sample server, looks at it, and ends it."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "out").open("w+") as out:
        port = free_port()
        server = Host(Path(folder)).start("dev", "--port", port, out=out, err=out)
        try:
            text = printed(Path(folder) / "out")
            tokens = dict(re.findall(r"^ +(\w+), .*?(tvu_\w+)$", text, re.MULTILINE))
            async with async_playwright() as playwright:
                program = shutil.which("chromium")
                browser = await playwright.chromium.launch(
                    executable_path=program, args=["--no-sandbox"]
                )
                for theme in THEMES:
                    await take(browser, theme, f"http://127.0.0.1:{port}", tokens)
                await browser.close()
        finally:
            end_group(server)


def printed(out: Path) -> str:
    """What the server prints, once it is ready."""
    deadline = time.monotonic() + HANGS
    while "Paste these" not in (text := out.read_text()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return text


async def take(browser: Browser, theme: Theme, url: str, tokens: dict[str, str]) -> None:
    """All pictures in one theme; nothing is saved but a proposal."""
    context = await browser.new_context(
        color_scheme=theme, viewport={"width": 1080, "height": 860}, reduced_motion="reduce"
    )
    page = await context.new_page()
    await page.goto(f"{url}/app/acme/workspaces/checkout")
    await page.get_by_label("Token").fill(tokens["alice"])
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await page.get_by_role("radio", name="tool").check()
    await page.get_by_role("button", name="Edit regions").click()
    await page.locator(".evaluated").wait_for()
    await page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    await picture(page, "variables", theme)
    await conflict(page, url, tokens["bob"])
    await picture(page, "conflict", theme)
    await page.get_by_role("button", name="Keep theirs").click()
    await page.evaluate("scrollTo(0, 0)")
    await page.get_by_role("button", name="Import").click()
    await page.get_by_label("Contents of the file").fill(FILE)
    await page.get_by_role("button", name="Preview").click()
    box = page.get_by_role("row").filter(has_text="payment_api_token").get_by_label("Sensitive")
    await box.check()
    await page.evaluate("document.activeElement.blur()")
    await picture(page, "import", theme)
    await page.get_by_role("button", name="Cancel").click()
    await page.get_by_role("link", name="Activity").click()
    await page.get_by_role("button", name="Show").wait_for()
    await page.evaluate("document.activeElement.blur()")
    await picture(page, "activity", theme)
    await page.goto(f"{url}/app/acme/teams")
    await page.get_by_role("link", name="platform").click()
    await page.get_by_role("button", name="Add members").click()
    await page.get_by_label("Whom to add").fill("dave, erin@example.com, bob, zoe@example.com")
    await page.get_by_role("button", name="Add to the team").click()
    await page.get_by_text("Nobody is added yet").wait_for()
    await page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    await picture(page, "members", theme)
    await runners(page, url)
    await picture(page, "runners", theme)
    await context.close()


async def runners(page: Page, url: str) -> None:
    """A runner is proposed beside the one that the sample data has."""
    await page.goto(f"{url}/app/acme/runners")
    await page.get_by_role("button", name="Propose a runner").wait_for()
    if await page.get_by_text("release-of-main").count():
        return
    await page.get_by_role("button", name="Propose a runner").click()
    form = page.get_by_role("form", name="A new runner")
    await form.get_by_label("Name", exact=True).fill("release-of-main")
    await form.get_by_role("radio", name="It has a key of its own").check()
    await form.get_by_label("Public key").fill("A" * 42 + "E")
    await form.get_by_label("Workspaces").fill("checkout")
    await form.get_by_role("button", name="Propose").click()
    await form.wait_for(state="detached")
    await page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")


async def conflict(page: Page, url: str, token: str) -> None:
    """Somebody else changes the variable that is open, and then it is saved."""
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as bob:
        path = f"{url}/api/v2/organizations/acme/workspaces/checkout"
        workspace = (await bob.get(path)).json()["data"]["id"]
        listed = (await bob.get(f"{url}/api/v2/workspaces/{workspace}/vars")).json()["data"]
        (found,) = (one for one in listed if one["attributes"]["key"] == "regions")
        theirs = '{\n  "eu-central-1" = { replicas = 5, primary = true }\n}'
        changed = {"type": "vars", "id": found["id"], "attributes": {"value": theirs}}
        sent = {"Content-Type": "application/vnd.api+json"}
        await bob.patch(url + found["links"]["self"], json={"data": changed}, headers=sent)
        value = page.get_by_label("Value", exact=True)
        await value.fill((await value.input_value()).replace("replicas = 2", "replicas = 3"))
        await page.get_by_role("button", name="Save").click()
        await page.get_by_text("changed value").wait_for()
        back = {**changed, "attributes": {"value": found["attributes"]["value"]}}
        await bob.patch(url + found["links"]["self"], json={"data": back}, headers=sent)


async def picture(page: Page, name: str, theme: Theme) -> None:
    """Of what is in the window."""
    await page.screenshot(path=FOLDER / f"{name}-{theme}.png")


if __name__ == "__main__":
    asyncio.run(main())
