"""Chromium without a screen, where it is installed, driven by its own protocol."""

import asyncio
import base64
import contextlib
import itertools
import json
import os
import shutil
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from tests.kit.tmux import eventually

DEADLINE = 60.0


def chromium() -> str:
    """The program; empty where there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome") or ""


class Page:
    """One page of a browser."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._numbers = itertools.count(1)

    async def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol; gives its result."""
        number = next(self._numbers)
        await self._connection.send(json.dumps({"id": number, "method": method, "params": parameters}))
        async with asyncio.timeout(DEADLINE):
            while True:
                answer = json.loads(await self._connection.recv())
                if answer.get("id") == number:
                    assert "error" not in answer, answer
                    return answer["result"]

    async def value(self, expression: str) -> Any:
        found = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return found["result"].get("value")

    async def wait_for(self, expression: str) -> None:
        """Wait until an expression on the page holds."""
        await eventually(lambda: self.value(expression), within=DEADLINE)

    async def type(self, text: str) -> None:
        await self.call("Input.insertText", text=text)

    async def picture(self, file: Path) -> bytes:
        """What the page shows, as a PNG."""
        found = await self.call("Page.captureScreenshot", format="png")
        data = base64.b64decode(found["data"])
        await asyncio.to_thread(file.write_bytes, data)
        return data


@asynccontextmanager
async def browser(folder: Path) -> AsyncGenerator[Any]:
    """A browser; gives a function that opens a page."""
    process = await asyncio.create_subprocess_exec(
        chromium(),
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-extensions",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--remote-debugging-port=0",
        f"--user-data-dir={folder / 'chromium'}",
        "--window-size=1200,700",
        "about:blank",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    connections: list[ClientConnection] = []
    try:
        assert process.stderr is not None
        async with asyncio.timeout(DEADLINE):
            address = ""
            while "DevTools listening on " not in address:
                address = (await process.stderr.readline()).decode()
                assert address, "the browser ended"
        socket = address.split("listening on ")[1].strip()
        root = Page(await connect(socket, max_size=None))
        base = socket.split("/devtools")[0]

        async def open_page(url: str) -> Page:
            target = await root.call("Target.createTarget", url=url)
            connection = await connect(f"{base}/devtools/page/{target['targetId']}", max_size=None)
            connections.append(connection)
            page = Page(connection)
            await page.call("Page.enable")
            return page

        yield open_page
    finally:
        for connection in connections:
            await connection.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.communicate()
