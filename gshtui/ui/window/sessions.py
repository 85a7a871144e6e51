"""Conversations to continue: the picker, and what is said about each.

Owns how a conversation is described; gets them as the data of `session ls`. Opened by the app.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, cast

from gshtui.ui.kit import figures
from gshtui.ui.kit.picker import Choice, Picker

NEW = "new"


class SessionsScreen(Picker):
    """Choose a conversation; the answer is its id, or `new`."""

    def __init__(self, sessions: Sequence[dict[str, Any]], current: str = "", now: float | None = None) -> None:
        listed = [Choice(NEW, "New conversation", "this one is kept")]
        listed += [described(session, now or time.time(), current) for session in sessions]
        super().__init__(
            "Conversations",
            listed,
            empty="There is no conversation yet.",
            hint="enter opens · escape closes · all are kept",
        )


def described(session: dict[str, Any], now: float, current: str = "") -> Choice:
    """One conversation of `session ls` as an entry."""
    id = str(session.get("id", ""))
    messages = int(session.get("messages") or 0)
    parts = [
        figures.age(max(0.0, now - float(session.get("updated") or now))),
        "1 message" if messages == 1 else f"{messages} messages",
        str(session.get("model") or ""),
        f"open in {session['held_by']}" if session.get("held_by") else "",
    ]
    return Choice(id, title_of(session), " · ".join(part for part in parts if part), current=id == current)


def title_of(session: dict[str, Any]) -> str:
    """What a conversation is called."""
    from gshtui.guard.sanitise import one_line

    return one_line(str(session.get("title") or "") or "(no title)", 80)


def listed(data: Any) -> list[dict[str, Any]]:
    """The conversations in the data of `session ls`, whatever else there is."""
    if isinstance(data, dict):
        data = cast("dict[str, Any]", data).get("sessions", [])
    if not isinstance(data, list):
        return []
    return [cast("dict[str, Any]", one) for one in cast("list[Any]", data) if isinstance(one, dict)]
