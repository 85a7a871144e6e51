"""A command of the shell log as a prompt refers to it: what ran where, how it ended, and what it printed.

Pure. What was printed is marked as data, is bounded, and cannot end its own mark. Called by the shell log's actions.
"""

from __future__ import annotations

import re

from gshtui.bus.shell_data import ShellRecord
from gshtui.context.pin_mark import TAG
from gshtui.text.sanitise import one_line, plain
from gshtui.ui.shell import shell_format as words

MOST_LINES = 400
MOST = 24_000
"""Characters of output that go along; of more, the beginning and the end."""
_MARK = re.compile(rf"<(/?{TAG})", re.IGNORECASE)


def reference(record: ShellRecord, output: str, *, pinned: bool = False) -> str:
    """The command and its output as text for an agent.

    Args:
        output: all that was kept of it; empty: nothing was.
        pinned: the message that it is sent in shall never be cut.
    """
    facts = {
        "pinned": "yes" if pinned else "",
        "id": str(record.id),
        "at": words.moment(record.at),
        "folder": record.cwd,
        "terminal": words.terminal(record),
        "branch": record.branch,
        "ended": words.ended(record),
        "took": words.took(record.duration) if record.duration is not None else "",
        "pipestatus": " ".join(map(str, record.pipestatus)) if len(record.pipestatus) > 1 else "",
    }
    known = " ".join(f'{name}="{_attribute(value)}"' for name, value in facts.items() if value)
    lines = [f"<{TAG} {known}>", f"$ {_inside(record.command)}"]
    if record.expanded and record.expanded != record.command:
        lines.append(f"(expanded: {_inside(record.expanded)})")
    lines.append(_inside(bounded(output.rstrip("\n"))) if output else "(its output was not kept)")
    return "\n".join((*lines, f"</{TAG}>"))


def bounded(text: str, lines: int = MOST_LINES, characters: int = MOST) -> str:
    """A text with its middle left out, where it is too long; how much that is stands in its place."""
    rows = text.split("\n")
    if len(rows) > lines:
        half = lines // 2
        text = "\n".join((*rows[:half], f"… {len(rows) - 2 * half:,} lines left out …", *rows[-half:]))
    if len(text) > characters:
        half = characters // 2
        text = f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"
    return text


def _inside(text: str) -> str:
    return _MARK.sub(r"<\\\1", plain(text))


def _attribute(text: str) -> str:
    return one_line(text, 300).replace('"', "'")
