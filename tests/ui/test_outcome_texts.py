"""What commands answer: a window draws it as Markdown, and a shell prints it; neither shows the marks."""

import os
import re
from pathlib import Path

import pytest

from gshtui.bus.events.agent_events import AgentStatusChanged
from gshtui.commands.declaration import CommandError, Effect
from gshtui.commands.known_tools import NO_TOOLS, TOOLS
from gshtui.commands.printed_outcome import line_printed, printed
from gshtui.headless import streams
from gshtui.headless.outcomes import print_outcome
from gshtui.text.verbatim import outside_fences
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
            drawn = [shown for shown in shown_lines(outcome.text, 200) if _DRAWN.search(shown)]
            raw += [(line, shown) for shown in drawn]
            read = outside_fences(lambda text: "!" + text if _COLUMNS.search(text) else text, outcome.text)
            raw += [(line, text) for text in read.split("\n") if text.startswith("!")]
            raw += [(line, shown) for shown in capfd.readouterr().out.split("\n") if _PRINTED.search(shown)]
    assert raw == []
    assert answered >= {f"status {NAME}", "who", "skills", "memory", "personas", "config show", "context", "help"}
