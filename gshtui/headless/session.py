"""`gsh-tui session resume`: which conversation is meant, before a window opens on it. And a person's yes or no.

Called by `cli`; the window itself is opened by whoever is handed in.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gshtui.headless import exits, streams
from gshtui.headless.line import STORE_ONLY, LineOptions, run_line

if TYPE_CHECKING:
    from gshtui.commands.declaration import Outcome


def find(id: str, *, as_json: bool, then: Callable[[str], int] | None) -> int:
    """Find the conversation; say it, or open it in its own folder with `then(session)`."""
    from gshtui.commands.lexer import quote

    if then is not None and not (os.isatty(0) and os.isatty(1) and os.isatty(2)):
        streams.complain("`session resume` opens the window and needs a terminal; `prompt --session ID` does not.")
        return exits.USAGE
    found: dict[str, Any] = {}

    def keep(outcome: Outcome) -> None:
        found.update(outcome.data)

    line = f"session resume target={quote(id)}"
    code = run_line(LineOptions(line, json=as_json, parts=STORE_ONLY, write=keep if then is not None else None))
    if code or then is None:
        return code
    try:
        os.chdir(found["cwd"])
    except OSError as error:
        streams.complain(f"its folder {found['cwd']} cannot be opened: {error.strerror}. The current one is used.")
    return then(str(found["session"]))


def confirmed(question: str) -> bool:
    """A person's yes; without a terminal nobody is asked, and what was typed stands."""
    if not (os.isatty(0) and os.isatty(2)):
        return True
    return streams.asked(question)
