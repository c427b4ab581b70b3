"""What axe finds wrong with a page, for whoever does not see it well or has no pointer.

axe is a script of one file, pinned with what else reads the console (`workshop/package-lock.json`).
"""

from pathlib import Path

from playwright.async_api import Page

from tests.support import node_tools

WORKSHOP = Path(__file__).parent / "workshop"
# Off by itself, since it is experimental.
_OPTIONS = {"label-content-name-mismatch": {"enabled": True}}
_RUN = """async (options) => {
  const { violations } = await axe.run({ resultTypes: ["violations"], ...options });
  const said = (one) => `${one.target}: ${one.failureSummary}`;
  return violations.map(({ id, nodes }) => [id, ...nodes.map(said)].join("\\n  "));
}"""


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
