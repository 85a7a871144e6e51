"""What becomes of a line of the command language: run it, then show in the right place what it said.

Owns the choice between a few words and the viewer, and the commands that are a picker when nothing is named. Refuses
to run anything by itself: lines come from people; and to show again what was shown as it ran. Called by the app.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from gshtui.system.tasks import report_unexpected
from gshtui.ui.kit.bridge import NotReady
from gshtui.ui.kit.messages import OpenTerminal

if TYPE_CHECKING:
    from gshtui.ui.window.actions import ActingApp

SHORT = 160
"""Characters of an outcome that are shown for a moment; longer ones open the viewer."""
PICKERS = {
    "model": "models",
    "session": "sessions",
    "resume": "sessions",
    "theme": "theme",
    "keys": "keys",
    "spawn": "spawn",
    "diff": "changes",
    "context": "inspect",
}
"""Lines that open a list in this window, where the command alone could only print one."""
_BOLD = re.compile(r"\*\*(.+?)\*\*")
"""What outcomes are set in, which a few words for a moment are shown without."""


async def run_line(app: ActingApp, line: str) -> None:
    """Run a line as the person, and show its outcome. Raises nothing that a command raises on purpose."""
    if (picker := PICKERS.get(line.strip().removeprefix("/"))) is not None:
        await app.run_action(f"app.{picker}")
        return
    try:
        outcome = await app.bridge.run(line)
    except NotReady as error:
        app.notify(str(error), severity="error", markup=False, timeout=8)
        return
    except Exception as error:  # CommandError, whose module loads pydantic; and what nobody expected
        report_unexpected("a command", error)
        _failed(app, line, error)
        return
    if outcome.shown:
        return
    if outcome.intent is not None:
        app.publish(outcome.intent)
        return
    if (agent := _attached(line, outcome.data)) is not None:
        app.post_message(OpenTerminal(agent, attach=True))
        return
    text = outcome.text.strip()
    if outcome.is_error:
        app.notify(text, title=line, severity="error", markup=False, timeout=8)
    elif len(text) > SHORT or text.count("\n") > 2:
        from gshtui.ui.kit.transcript.text_screen import TextScreen

        app.push_screen(TextScreen(line, text))
    elif text:
        app.notify(_BOLD.sub(r"\1", text), markup=False)


def _attached(line: str, data: Any) -> str | None:
    """The agent that a line asked to attach to: here that is done, and not only told how."""
    words = line.strip().removeprefix("/").split()
    asked = len(words) > 2 and words[0] == "agent" and words[1] in ("attach", "action=attach")
    told = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    return str(told["id"]) if asked and "argv" in told else None


def _failed(app: ActingApp, line: str, error: Exception) -> None:
    from gshtui.commands.declaration import CommandError

    expected = isinstance(error, CommandError)
    if expected and error.shown:
        return
    text = str(error) if expected else f"`{line}` failed: {type(error).__name__}: {error}"
    app.notify(text, severity="error", markup=False, timeout=8)
