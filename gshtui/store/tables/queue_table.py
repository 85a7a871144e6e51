"""The table `queued_prompts`: the prompts that wait in a conversation, until the record has their messages.

`message_table.append_message` removes a prompt in the transaction that appends its message, so no prompt is both sent
and still waiting. Runs its SQL inside the caller's transaction.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Sequence

import msgspec

from gshtui.bus.agent_data import InboxPrompt
from gshtui.store.engine.encoding import clean, clean_text, decoder
from gshtui.store.engine.store_errors import missing
from gshtui.store.engine.table import Table

WAITS = "EXISTS (SELECT 1 FROM queued_prompts WHERE session = sessions.id)"
"""Condition on a row of `sessions`: a prompt waits in it."""


def put_prompt(connection: sqlite3.Connection, session: str, prompt: InboxPrompt) -> None:
    """Keep a waiting prompt, or its new text or conversation in the same place; one that was sent does not wait.
    Raises `StoreError`: there is no such conversation (`unknown`).
    """
    if not connection.execute("SELECT 1 FROM sessions WHERE id = ?", (session,)).fetchone():
        raise missing(session)
    data = msgspec.json.encode(clean(msgspec.to_builtins(prompt))).decode()
    name = clean_text(prompt.id)
    connection.execute(
        "INSERT INTO queued_prompts (prompt, session, at, data) SELECT ?1, ?2, ?3, ?4"
        " WHERE NOT EXISTS (SELECT 1 FROM messages WHERE session = ?2 AND message = ?1)"
        " ON CONFLICT (prompt) DO UPDATE SET session = excluded.session, data = excluded.data",
        (name, session, time.time(), data),
    )


def drop_prompt(connection: sqlite3.Connection, prompt: str) -> None:
    """Remove a prompt that waits no longer."""
    connection.execute("DELETE FROM queued_prompts WHERE prompt = ?", (clean_text(prompt),))


def prompts_of(connection: sqlite3.Connection, session: str) -> list[InboxPrompt]:
    """The prompts that wait in a conversation, in their order."""
    found = connection.execute("SELECT data FROM queued_prompts WHERE session = ? ORDER BY number", (session,))
    prompts: list[InboxPrompt] = []
    for (data,) in found.fetchall():
        with contextlib.suppress(msgspec.DecodeError):  # a damaged one keeps none of the others from waiting
            prompts.append(decoder(InboxPrompt).decode(data))
    return prompts


def waiting_in(connection: sqlite3.Connection, cwd: str) -> list[tuple[str, int]]:
    """The conversations of a folder in which prompts wait, and how many."""
    found = connection.execute(
        "SELECT session, count(*) FROM queued_prompts JOIN sessions ON sessions.id = session WHERE sessions.cwd = ?"
        " GROUP BY session ORDER BY min(number)",
        (cwd,),
    )
    return [(str(session), int(number)) for session, number in found.fetchall()]


def known_prompts(connection: sqlite3.Connection, prompts: Sequence[str]) -> list[str]:
    """Those of some prompts of this moment that the record has: they wait, were sent, or are mail for their agent."""
    return [prompt for prompt in prompts if connection.execute(_KNOWN, (clean_text(prompt), _RECENT)).fetchone()]


_RECENT = 1_000
"""Messages of all conversations among which one is that was just sent."""
_KNOWN = """\
SELECT 1 FROM queued_prompts WHERE prompt = ?1 UNION ALL SELECT 1 FROM mail WHERE id = ?1 UNION ALL
SELECT 1 FROM (SELECT message FROM messages ORDER BY id DESC LIMIT ?2) WHERE message = ?1"""


class QueueTable(Table):
    """`store.queue`: the prompts that wait."""

    put = Table.writes(put_prompt)
    drop = Table.writes(drop_prompt)
    find_all = Table.reads(prompts_of)
    waiting_in = Table.reads(waiting_in)
    known = Table.reads(known_prompts)
