"""What commands answer: a window draws it as Markdown, and a shell prints it; neither shows the marks."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.events.agent_events import AgentStatusChanged
from gshtui.commands.config_calls import SettingValue
from gshtui.commands.config_commands import _render_value  # pyright: ignore[reportPrivateUsage]
from gshtui.commands.declaration import Caller, CommandError, Effect
from gshtui.commands.known_tools import NO_TOOLS, TOOLS
from gshtui.commands.printed_outcome import line_printed, printed
from gshtui.headless import streams
from gshtui.headless.outcomes import print_outcome
from gshtui.store.sessions.session_calls import SessionExport
from gshtui.store.sessions.session_commands import _render_export  # pyright: ignore[reportPrivateUsage]
from gshtui.store.tables.session_table import SessionInfo
from gshtui.text.markdown_table import outside_fences
from tests.kit.markdown_page import shown_lines
from tests.kit.running_hub import running_hub
from tests.kit.shell_forms import PARTS
from tests.kit.tmux import eventually

_OF_OTHERS = ("files", "run", "language")
"""Families whose text is that of files and programs."""
_DRAWN = re.compile(r"\*\*|^#{1,6} |^\|? ?---|\\[`*_|]")
_COLUMNS = re.compile(r"[^\s|] {3,}[^\s|]")
"""What only a text that is shown as it is keeps."""
_PRINTED = re.compile(r"\*\*|\\[`*_|]")
NAME = "a_b"


async def test_no_command_answers_with_raw_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(streams, "is_terminal", lambda _: True)
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((200, 50)))
    families = NO_TOOLS | {name: family for name, (family, _) in TOOLS.items()}
    raw: list[tuple[str, str]] = []
    answered: set[str] = set()
    async with running_hub(tmp_path, parts=PARTS, visiting=True) as hub:
        hub.bus.publish(AgentStatusChanged(agent=NAME, status="thinking", source="agent", doing="a *long* `look`"))
        await hub.run("remember a_note 'What I _know_'")
        await eventually(lambda: hub.run(f"status {NAME}"))
        reads = [one for named in hub.registry for one in (named, *named.words.values()) if one.effect is Effect.READ]
        lines = [one.name for one in reads if families.get(one.first_word) not in _OF_OTHERS]
        for line in [f"status {NAME}", "help status", "profiles show claude", "program_hooks", *lines]:
            try:
                outcome = await hub.run(line)
            except CommandError:
                continue  # it wants to be told more
            answered.add(line)
            capfd.readouterr()
            print_outcome(line_printed(outcome, as_json=False, plain=True), line.partition(" ")[0])
            print_outcome(printed(outcome, as_json=False), line)
            drawn = [shown for shown in shown_lines(outcome.drawn, 200) if _DRAWN.search(shown)]
            raw += [(line, shown) for shown in drawn]
            read = outside_fences(lambda text: "!" + text if _COLUMNS.search(text) else text, outcome.drawn)
            raw += [(line, text) for text in read.split("\n") if text.startswith("!")]
            raw += [(line, shown) for shown in capfd.readouterr().out.split("\n") if _PRINTED.search(shown)]
    assert raw == []
    assert answered >= {f"status {NAME}", "who", "skills", "memory", "personas", "config show", "context", "help"}


VALUE = r"**/*.env \\* \_ a_b_c `config show` <b> &amp; [x](y) ~~z~~"
"""Somebody's text with all that could be a mark, and with a command in it."""


@pytest.mark.parametrize("terminal", [True, False])
async def test_a_value_is_exactly_the_same_in_every_face(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], terminal: bool
) -> None:
    monkeypatch.setattr(streams, "is_terminal", lambda _: terminal)
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((200, 50)))

    def out(said: dict[str, Any], name: str) -> str:
        capfd.readouterr()
        print_outcome(said, name)
        return capfd.readouterr().out

    async with running_hub(tmp_path, parts=PARTS, visiting=True) as hub:
        export = SessionExport(SessionInfo("1", "", "/", "main", "", "", 0.0, 0.0, 1), "json", VALUE)
        values = {
            "echo": await hub.run(f"echo '{VALUE}'"),
            "env kept": await hub.run(f"env kept '{VALUE}'"),
            "env": await hub.run("env"),
            "session export": _render_export(hub.invocation(Caller()), export),
            "config get": _render_value(SettingValue(["cp", VALUE])),
        }
        await hub.run(f"remember a_note '{VALUE}'")
        await hub.run(f"say '{VALUE}' call=lobby")
        words = {line: await hub.run(line) for line in ("memory", "history")}
    wrong: list[tuple[str, str, str]] = []
    for line, outcome in {**values, **words}.items():
        exact = json.dumps(VALUE, ensure_ascii=False)[1:-1] if line == "config get" else VALUE
        faces = {
            "shell": out(printed(outcome, as_json=False), line),
            "json": json.dumps(json.loads(out(printed(outcome, as_json=True), line)), ensure_ascii=False),
        }
        if line != "history":  # what people write to each other there is Markdown of theirs
            faces["window"] = "\n".join(shown_lines(outcome.drawn, 200))
        if line in values:
            faces["line"] = out(line_printed(outcome, as_json=False, plain=terminal), line)
            faces["reader"] = out(line_printed(outcome, as_json=False, plain=True, aloud=True), line)
        for face, text in faces.items():
            wanted = json.dumps(VALUE, ensure_ascii=False)[1:-1] if face == "json" else exact
            wrong += [(line, face, text)] if wanted not in text else []
    assert wrong == []
