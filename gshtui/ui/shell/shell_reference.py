"""A reference to a shell log command in a prompt: what ran where, how it ended, and its output.

Pure. The output is marked as data, is bounded, and cannot close its own mark. Called by the shell log's actions.
"""

from __future__ import annotations

import re

from gshtui.bus.shell_data import ShellRecord
from gshtui.context.tasks.pin_mark import TAG
from gshtui.text import units
from gshtui.ui.shell import shell_format as words

MOST_LINES = 400
MOST = 24_000
"""How many characters of output are included; of longer output, the beginning and the end."""
_MARK = re.compile(rf"<(/?{TAG})", re.IGNORECASE)


def reference(record: ShellRecord, output: str, *, pinned: bool = False) -> str:
    """The command and its output as text for an agent.

    Args:
        output: everything stored of it; empty: nothing.
        pinned: the message containing it must never be cut.
    """
    facts = {
        "pinned": "yes" if pinned else "",
        "id": str(record.id),
        "at": words.moment(record.at),
        "folder": record.cwd,
        "terminal": words.terminal(record),
        "branch": record.branch,
        "ended": words.ended(record),
        "took": units.duration(record.duration) if record.duration is not None else "",
        "pipestatus": " ".join(map(str, record.pipestatus)) if len(record.pipestatus) > 1 else "",
    }
    known = " ".join(f'{name}="{_attribute(value)}"' for name, value in facts.items() if value)
    lines = [f"<{TAG} {known}>", f"$ {_inside(record.command)}"]
    if record.expanded and record.expanded != record.command:
        lines.append(f"(expanded: {_inside(record.expanded)})")
    lines.append(_inside(bounded(output.rstrip("\n"))) if output else "(its output was not kept)")
    return "\n".join((*lines, f"</{TAG}>"))


def bounded(text: str) -> str:
    """A text without its middle if it is too long; a note says how much was left out."""
    rows = text.split("\n")
    if len(rows) > MOST_LINES:
        half = MOST_LINES // 2
        text = "\n".join((*rows[:half], f"… {len(rows) - 2 * half:,} lines left out …", *rows[-half:]))
    if len(text) > MOST:
        half = MOST // 2
        text = f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"
    return text


def _inside(text: str) -> str:
    from gshtui.text.sanitise import plain  # not before the first letter

    return _MARK.sub(r"<\\\1", plain(text))


def _attribute(text: str) -> str:
    from gshtui.text.sanitise import one_line  # not before the first letter

    return one_line(text, 300).replace('"', "'")
