"""The commands' shell forms, as `python -m tests.kit.shell_forms` writes them from their declarations.

A test checks that they match.
"""

from __future__ import annotations

import json
from pathlib import Path

from gshtui.cli.command_form import CommandForm, FormValue, GroupForm

FILE = Path(__file__).with_suffix(".json")


def read_forms(text: bytes) -> tuple[list[GroupForm], list[CommandForm]]:
    """The forms in a text of `form_projection.written`."""
    found = json.loads(text)
    commands = [one | {"values": [FormValue(**value) for value in one.get("values", ())]} for one in found["commands"]]
    return [GroupForm(**one) for one in found["groups"]], [CommandForm(**one) for one in commands]


GROUPS, COMMANDS = read_forms(FILE.read_bytes())
