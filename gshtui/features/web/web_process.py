"""`gsh-tui serve --web`: the window in a browser on this machine, until it is stopped."""

from __future__ import annotations

import contextlib
import importlib.util
import os

from gshtui.headless import exits, streams
from gshtui.headless.called_here import working_folder
from gshtui.headless.runner import Stop, run_command
from gshtui.headless.streams import complain
from gshtui.system.installation import own_command


def serve_window(host: str, port: int, as_json: bool) -> int:
    """Serve until asked to stop; returns the exit code. `port`: 0 for any free one."""
    if importlib.util.find_spec("textual_serve") is None:
        complain("the browser needs the package textual-serve.", "Install it: `pip install textual-serve`.")
        return exits.ERROR
    return run_command(lambda stop: _run(host, port, as_json, stop))


async def _run(host: str, port: int, as_json: bool, stop: Stop) -> int:
    from gshtui.features.web.web_server import WebAddress, WebServer, WebServerError, size_text
    from gshtui.features.web.web_window import WebWindow
    from gshtui.system.caller_environment import without_terminal

    window = WebWindow(own_command(), without_terminal(os.environ), working_folder(), size_text)

    def show(address: WebAddress, before: str = "") -> None:
        if as_json:
            streams.result_json({"url": address.url, "viewer_url": address.viewer_url})
        else:
            streams.result(f"{before}Your window: {address.url}\nTo only look at it: {address.viewer_url}")

    def show_next(address: WebAddress) -> None:
        with contextlib.suppress(OSError):  # nobody reads it, and the window goes on
            show(address, "That link is used up. For another browser:\n")

    server = WebServer(window, host, port, show_next)
    try:
        show(await server.open())
        await stop.asked.wait()
    except WebServerError as error:
        complain(error.message, error.hint)
        return exits.ERROR
    finally:
        await server.close()
    return exits.DONE
