"""Conversations as `session ls` gives them to the window."""

from gshtui.store.sessions.session_calls import SessionList
from gshtui.store.tables.session_table import SessionInfo
from tests.kit.fake_hub import Answer


def conversation(
    id: str, title: str = "", *, messages: int, updated: float, model: str = "", held_by: str = ""
) -> SessionInfo:
    """A conversation of the window's folder."""
    return SessionInfo(id, title, "/src/aurora", "main", "", model, updated, updated, messages, held_by=held_by)


def conversations(*listed: SessionInfo) -> Answer:
    """The answer to `session ls`."""
    return Answer(SessionList(list(listed), everywhere=False))
