"""Opens the workbench: a first frame before Textual is imported, then the app.

Imports nothing heavy itself. Called by `entry`, and by commands that end by opening a window.
"""

from __future__ import annotations

import os

from gshtui.cli.opening import Opening
from gshtui.client.named_settings import is_named

TYPE_CHECKING = False  # `typing` takes longer to import than the frame takes to paint
if TYPE_CHECKING:
    from gshtui.client.hub_dial import HubDial
    from gshtui.client.window_protocol import OpenRequest
    from gshtui.settings.model import Settings
    from gshtui.ui.window.lazy_imports import EmbeddedHub


NO_TERMINAL = """\
gsh-tui opens a full-screen window and needs a terminal; standard input, output or error is not one.
Without a terminal, use `gsh-tui prompt "…"` for one turn or `gsh-tui run '…'` for one command; see `gsh-tui --help`.
"""


def open_terminal(opening: Opening) -> int:
    """Open what a terminal is asked to show, or say why not; returns the exit code."""
    # Textual draws on standard error; anyone who redirected one of the three does not want a window.
    if not (os.isatty(0) and os.isatty(1) and os.isatty(2)):
        os.write(2, NO_TERMINAL.encode())
        return 2
    if opening.cwd:
        try:
            os.chdir(opening.cwd)
        except OSError as error:
            from gshtui.text.sanitise import one_line

            os.write(2, f"gsh-tui: {one_line(opening.cwd, 400)} cannot open: {error.strerror}.\n".encode())
            return 1
    lines = opening.lines or _asks_for_lines()
    if not lines and os.environ.get("TERM") == "dumb":
        os.write(2, NO_TERMINAL.encode())
        return 2
    if lines and (opening.pane or opening.alone):
        option = "--pane" if opening.pane else "--alone"
        os.write(2, f"gsh-tui: {option} is for the window, and with lines for screen readers there is none.\n".encode())
        return 2
    if lines:
        from gshtui.headless.turns.line_face import LineFace
        from gshtui.ui.window.terminal_echo import ECHO

        ECHO.on()
        mode = opening.mode or None
        face = LineFace(opening.session, agent=opening.agent, provider=opening.provider, model=opening.model, mode=mode)
        return face.run()
    return open_window(opening)


def _asks_for_lines() -> bool:
    """Whether the person's settings ask for the face for screen readers."""
    found = settings_naming("screen_reader", "GSH_UI__SCREEN_READER")
    return found is not None and found.ui.screen_reader


def _is_to_be_alone() -> bool:
    """Whether the person's settings want no hub that stays."""
    found = settings_naming("alone", "GSH_HUB__KEEP")
    return found is not None and found.hub.keep == "alone"


def settings_naming(word: str, variable: str) -> Settings | None:
    """The settings if the person's own name this word, or a variable begins so; `None`: they do not, so that nothing
    was imported to read them.
    """
    if not is_named(word, variable):
        return None
    from gshtui.headless.called_here import load_settings

    return load_settings(quiet=True).settings


def open_window(opening: Opening) -> int:
    """Show the workbench until the person leaves it; returns the exit code."""
    from gshtui.system.face_mark import mark_face
    from gshtui.ui.window.first_frame import LOADING, paint

    if allowed := _too_little_memory():
        said = f"gsh-tui: a program may use {allowed} MB of addresses here (ulimit -v), and a window needs {_NEEDED}; "
        os.write(2, f"{said}`ulimit -v unlimited` lifts the limit.\n".encode())
        return 1
    cwd = current_folder()
    if not cwd:
        os.write(2, b"gsh-tui: the current folder is gone; change to one that exists.\n")
        return 1
    mark_face()
    first_frame = paint(cwd, LOADING if opening.session else "")
    try:
        own, alone = own_hub, opening.alone or _is_to_be_alone()
        if alone:
            hub = own_hub()
            own = lambda: hub  # noqa: E731
            try:
                if not hub.acquire():
                    if opening.alone:
                        if first_frame is not None:
                            first_frame.abandon()
                        os.write(2, _TAKEN.encode())
                        return 1
                    alone = False  # the one that runs serves it
            except OSError:
                pass  # the window says that nothing is recorded
        asked, is_first = _asked(opening, cwd, alone), _is_first()
        dialled = None if alone else _dial(asked)
        from gshtui.ui.window.window_run import run

        return run(asked, hub=dialled, own=own, first_frame=first_frame, is_first=is_first)
    finally:
        # Also if the import fails: its message must not vanish with the frame.
        if first_frame is not None:
            first_frame.abandon()


def own_hub() -> EmbeddedHub:
    from gshtui.headless.servers.keeper_process import OwnHub

    return OwnHub()


def _asked(opening: Opening, cwd: str, alone: bool) -> OpenRequest:
    from pathlib import Path

    from gshtui.client.window_protocol import OpenRequest

    return OpenRequest(
        Path(cwd),
        opening.session,
        opening.agent or "main",
        opening.provider,
        opening.model,
        opening.mode or None,
        opening.pane,
        alone,
    )


def _is_first() -> bool:
    """Whether nobody has connected a model here yet, or said that there is to be none."""
    from gshtui.settings import paths

    return not (paths.config_file().exists() or paths.set_up_file(create=False).exists())


def _dial(asked: OpenRequest) -> HubDial:
    from gshtui.client.hub_dial import HubDial, window_opening
    from gshtui.fleet.keeper.keeper import call_keeper

    return HubDial(window_opening(asked, os.environ), call_keeper(os.environ))


_TAKEN = """\
gsh-tui: a hub runs already, and --alone would start a second one.
Leave --alone out, or stop the hub first: `gsh-tui hub stop`.
"""
_NEEDED = 512
"""Megabytes of addresses without which libraries of a window crash instead of saying so."""


def _too_little_memory() -> int:
    """The megabytes that this process may use, where those are too few; 0: enough."""
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return 0 if soft == resource.RLIM_INFINITY or soft >= _NEEDED << 20 else max(1, soft >> 20)


def current_folder() -> str:
    """The real path of the current folder; empty if it was removed."""
    try:
        return os.getcwd()  # noqa: PTH109  # pathlib takes longer to import than all of this
    except OSError:
        return ""
