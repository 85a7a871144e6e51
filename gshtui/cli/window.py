"""Opens the workbench: a first frame before Textual is imported, then the app.

Imports nothing heavy itself. Called by `entry`, and by commands that end by opening a window.
"""

from __future__ import annotations

import os

from gshtui.cli.opening import Opening

TYPE_CHECKING = False  # `typing` takes longer to import than the frame takes to paint
if TYPE_CHECKING:
    from gshtui.client.hub_dial import HubDial


def open_window(opening: Opening) -> int:
    """Show the workbench until the person leaves it; returns the exit code."""
    from gshtui.system.face_mark import mark_face
    from gshtui.ui.window.first_frame import paint

    if allowed := _too_little_memory():
        said = f"gsh-tui: a program may use {allowed} MB of addresses here (ulimit -v), and a window needs {_NEEDED}; "
        os.write(2, f"{said}`ulimit -v unlimited` lifts the limit.\n".encode())
        return 1
    cwd = current_folder()
    if not cwd:
        os.write(2, b"gsh-tui: the current folder is gone; change to one that exists.\n")
        return 1
    mark_face()
    first_frame = paint(cwd)
    try:
        hub = None if opening.alone else _dial(opening, cwd)
        from gshtui.ui.window.app import run

        return run(
            cwd=cwd,
            session=opening.session,
            agent=opening.agent,
            provider=opening.provider,
            model=opening.model,
            mode=opening.mode or None,
            pane=opening.pane,
            alone=opening.alone,
            hub=hub,
            first_frame=first_frame,
        )
    finally:
        # Also if the import fails: its message must not vanish with the frame.
        if first_frame is not None:
            first_frame.abandon()


def _dial(opening: Opening, cwd: str) -> HubDial:
    from gshtui.client.hub_dial import HubDial, window_opening
    from gshtui.fleet.keeper.keeper import call_keeper

    asked = window_opening(
        cwd=cwd,
        session=opening.session,
        agent=opening.agent,
        provider=opening.provider,
        model=opening.model,
        mode=opening.mode or None,
        environ=os.environ,
    )
    return HubDial(asked, call_keeper(os.environ))


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
