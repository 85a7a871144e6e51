"""What is known of commands without creating them, as `python -m tests.kit.shell_forms` writes it.

A request to a model lists the tools, and a hint names commands as one types them in a shell, this way
without the declarations. A test checks that they match.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypedDict


class _Known(TypedDict):
    tools: dict[str, tuple[str, bool]]
    does: dict[str, str]
    others: dict[str, str]
    shell: list[str]


FILE = Path(__file__).with_suffix(".json")
_KNOWN: _Known = json.loads(FILE.read_bytes())
TOOLS = _KNOWN["tools"]
"""By name: the family, and whether each request describes it."""
DOES = _KNOWN["does"]
NO_TOOLS = _KNOWN["others"]
"""The families of the commands that are no tools, by name."""
SHELL_FORMS = frozenset(_KNOWN["shell"])
"""Commands that are words of `gsh-tui`."""
