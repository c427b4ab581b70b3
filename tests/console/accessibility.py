"""What axe finds wrong with a page, for whoever does not see it well or has no pointer.

axe is a script of one file, pinned with what else reads the console (`workshop/package-lock.json`).
"""

from pathlib import Path

from playwright.async_api import Page, ViewportSize

from tests.support import node_tools

WORKSHOP = Path(__file__).parent / "workshop"
# Off by itself, since it is experimental.
_OPTIONS = {"label-content-name-mismatch": {"enabled": True}}
_RUN = """async (options) => {
  const { violations } = await axe.run({ resultTypes: ["violations"], ...options });
  const said = (one) => `${one.target}: ${one.failureSummary}`;
  return violations.map(({ id, nodes }) => [id, ...nodes.map(said)].join("\\n  "));
}"""
_NARROW: ViewportSize = {"width": 320, "height": 900}
_WIDE: ViewportSize = {"width": 1200, "height": 900}
# How far the page, or a dialog on it, can be scrolled sideways.
WIDEST = """() => Math.max(...[...document.querySelectorAll("html, dialog")]
  .map((one) => one.scrollWidth - one.clientWidth))"""


class Axe:
    """axe; skips the test where there is no node to get it with."""

    def __init__(self) -> None:
        programs = node_tools.install(WORKSHOP, "axe, which tries the console's pages,")
        self._source = (programs / "axe-core" / "axe.min.js").read_text()

    async def violations(self, page: Page) -> list[str]:
        """Those of a page as it is now, in both themes; it is light before and after."""
        if not await page.evaluate("'axe' in window"):
            await page.evaluate(self._source)
        found = await page.evaluate(_RUN, {"rules": _OPTIONS})
        # Of all rules one depends on the theme, and all take half a second a time.
        await page.emulate_media(color_scheme="dark")
        in_the_dark = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
        found += await page.evaluate(_RUN, in_the_dark)
        await page.emulate_media(color_scheme="light")
        return [str(one) for one in found]


class Inspection:
    """What is wrong with the pages that somebody looks at one after the other."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._axe = Axe()
        self.found: list[str] = []

    async def look(self, place: str) -> None:
        """Looks at the page as it is now: in both themes, and on a narrow screen."""
        self.found += [f"{place}: {one}" for one in await self._axe.violations(self._page)]
        await self._page.set_viewport_size(_NARROW)
        if wider := await self._page.evaluate(WIDEST):
            self.found.append(f"{place}: {wider} px too wide")
        await self._page.set_viewport_size(_WIDE)
