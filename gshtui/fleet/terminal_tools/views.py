"""What terminals look like as a tool's result: sanitised, without empty ends, cut to size, with a word on their state.

Pure. Called by `tmux`.
"""

from __future__ import annotations

from gshtui.commands.declaration import Invocation, Outcome
from gshtui.fleet.terminal_tools.reach import Target, of_project
from gshtui.guard.sanitise import one_line, plain
from gshtui.text.shorten import original_size
from gshtui.tmux.readiness import Ready
from gshtui.tools.output import shown


def screen(target: Target, text: str, limit: int) -> Outcome:
    """What a terminal shows."""
    full = plain(text)
    info = target.info
    state = f"[ended, exit status {info.exit_status}]" if info.dead else ""
    seen = shown(full, limit, state, "(nothing)")
    data = {"pane": info.pane, "command": info.command, "dead": info.dead, "text": seen.output}
    return Outcome(data, seen.text, full=full, notes=state, cut=seen.cut, bytes=original_size(full))


def ready(target: Target, came: Ready, idle: float, timeout: float, limit: int) -> Outcome:
    """Why a wait ended, and what came."""
    full = plain(came.text)
    why = {
        "pattern": "[ready: the pattern showed]",
        "idle": f"[still for {idle:g} s: probably ready; read it before you go on]",
        "timeout": f"[not ready after {timeout:g} s: still at work]",
        "dead": "[the program has ended]",
    }[came.reason]
    seen = shown(full, limit, why, "(nothing came)")
    return Outcome(
        {
            "pane": target.info.pane,
            "reason": came.reason,
            "ready": came.reason in ("pattern", "idle"),
            "text": seen.output,
        },
        seen.text,
        full=full,
        notes=why,
        cut=seen.cut,
        bytes=original_size(full),
        timed_out=came.reason == "timeout",
        is_error=came.reason == "dead",
    )


def panes(targets: list[Target], invocation: Invocation) -> Outcome:
    """A list of terminals; of other projects, only that they are there."""
    rows = [_row(target, of_project(target, invocation.project)) for target in targets]
    if not rows:
        return Outcome([], "No terminal is open. `terminal` or `tmux action=send` opens the shared shell.")
    head = ["| pane | whose | runs | size | status |", "| --- | --- | --- | --- | --- |"]
    lines = [
        f"| {r['pane']} | {r['name']} | {r['command']} | {r['width']}x{r['height']} | {r['status']} |" for r in rows
    ]
    return Outcome(rows, "\n".join((*head, *lines)))


def _row(target: Target, here: bool) -> dict[str, object]:
    info, row = target.info, target.row
    status = f"ended ({info.exit_status})" if info.dead else row.status if row is not None else "open"
    return {
        "pane": info.pane,
        "agent": row.id if row is not None else "",
        "name": target.label,
        "kind": row.kind if row is not None else "shell",
        "session_name": info.session,
        "command": one_line(info.command, 40) if here else "(another project)",
        "title": one_line(info.title, 80) if here else "",
        "width": info.width,
        "height": info.height,
        "status": status,
        "dead": info.dead,
    }
