"""The window in a real browser: Chromium without a screen, or a line that says that there is none."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.kit.browser import Page, browser, chromium
from tests.kit.command import start_gsh

DRAWN = "document.body && document.body.classList.contains('-first-byte')"


@pytest.mark.parametrize("chromium_program", [chromium()] if chromium() else [])
async def test_the_window_is_drawn_typed_into_and_watched(tmp_path: Path, chromium_program: str) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    with start_gsh("serve", "--web", "--json", cwd=folder) as process:
        assert process.stdout is not None
        links = json.loads(await asyncio.to_thread(process.stdout.readline))
        async with browser(tmp_path) as open_page:
            owner: Page = await open_page(links["url"])
            await owner.wait_for(DRAWN)
            assert "token" not in await owner.value("location.href"), "it is neither in the bar nor in the history"
            assert await owner.value("document.cookie") == "", "no script of the page reads the cookie"
            await owner.wait_for("document.activeElement.classList.contains('xterm-helper-textarea')")
            viewer: Page = await open_page(links["viewer_url"])
            await viewer.call(
                "Emulation.setDeviceMetricsOverride", width=500, height=400, deviceScaleFactor=1, mobile=False
            )
            await viewer.wait_for(DRAWN)
            await viewer.wait_for("window.wanted === undefined && wanted && cells && wanted.width === cells.width")
            for wrong in ("link.wrong", "link.wrong?of=another program", ""):
                stranger: Page = await open_page(f"{links['url'].partition('#')[0]}#{wrong}")
                await stranger.wait_for("document.body && document.body.innerText.includes('not valid')")
            before = await owner.picture(tmp_path / "before.png")
            await owner.type("hello")
            assert await owner.picture(tmp_path / "after.png") != before
