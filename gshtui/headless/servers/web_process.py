"""`gsh-tui serve --web`: the window in a browser on this machine, until it is stopped."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys

import msgspec

from gshtui.headless import exits, streams
from gshtui.headless.commands.command_hub import working_folder
from gshtui.headless.runner import Stop, run_command
from gshtui.headless.streams import complain


class WebOptions(msgspec.Struct, frozen=True):
    """Where to listen. `port`: 0 for any free one."""

    host: str = "127.0.0.1"
    port: int = 0
    json: bool = False


def serve_window(options: WebOptions) -> int:
    """Serve until asked to stop; returns the exit code."""
    if importlib.util.find_spec("textual_serve") is None:
        complain("the browser needs the package textual-serve.", "Install it: `pip install textual-serve`.")
        return exits.ERROR
    return run_command(lambda stop: _run(options, stop))


async def _run(options: WebOptions, stop: Stop) -> int:
    from gshtui.system.caller_environment import without_terminal
    from gshtui.web.web_server import WebAddress, WebServer, WebServerError, size_text
    from gshtui.web.web_window import WebWindow

    window = WebWindow((sys.executable, "-m", "gshtui"), without_terminal(os.environ), working_folder(), size_text)

    def show(address: WebAddress, before: str = "") -> None:
        if options.json:
            streams.result_json({"url": address.url, "viewer_url": address.viewer_url})
        else:
            streams.result(f"{before}Your window: {address.url}\nTo only look at it: {address.viewer_url}")

    def show_next(address: WebAddress) -> None:
        with contextlib.suppress(OSError):  # nobody reads it, and the window goes on
            show(address, "That link is used up. For another browser:\n")

    server = WebServer(window, options.host, options.port, show_next)
    try:
        show(await server.open())
        await stop.asked.wait()
    except WebServerError as error:
        complain(error.message, error.hint)
        return exits.ERROR
    finally:
        await server.close()
    return exits.DONE
