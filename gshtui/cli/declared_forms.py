"""The shell forms of declared commands as plain data, so that click commands can be made without loading a declaration.

`python -m tests.kit.shell_forms` writes them; a test checks that they match. Every call reads them at its start, so
they are made of nothing but `NamedTuple`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class FormValue(NamedTuple):
    """One field of a command's parameters: an option, or an argument if its name has no dashes."""

    field: str
    """Its name in the parameters."""
    name: str
    """As typed; several names are separated by spaces."""
    kind: str = "text"
    """`text`, `flag`, `int`, `float`, `choice`, or what the text names (`agent`, `folder` …)."""
    help: str = ""
    metavar: str = ""
    """The placeholder for the value in the usage; empty: click's own."""
    choices: Sequence[str] = ()
    synonyms: Sequence[tuple[str, str]] = ()
    """Other words for a choice, each with its choice."""
    low: tuple[float, bool] | None = None
    """The lower bound, and whether the bound itself is excluded."""
    high: tuple[float, bool] | None = None
    default: str | float | None = None
    """The value if the field is left out, where the help shows it."""
    many: int = 0
    """How many words are joined into one text; -1: all that follow, 0: a single word."""
    each: bool = False
    """It takes several values, as words or as a repeated option."""
    required: bool = False
    """The argument must be given."""
    piped: bool = False
    """A lone `-` means all of standard input."""
    file: str = ""
    """The option that names a file with the text instead; empty: there is none."""
    lines: bool = False
    """A lone `-` means that each line of standard input is a question of its own."""
    alone: bool = False
    """With it, the keeper is not asked."""
    whole: bool = False
    """A comma in a value does not separate two."""

    @property
    def is_argument(self) -> bool:
        """Whether it is positional."""
        return not self.name.startswith("-")


class CommandForm(NamedTuple):
    """One command: `name` is the words that call it, `parameters` the class in `module` built from its values."""

    name: str
    module: str
    parameters: str
    values: Sequence[FormValue] = ()
    """Arguments first."""
    help: str = ""
    summary: str = ""
    """Its line in the list of commands; empty: the first sentence of the help."""
    yes: str = ""
    """The help of `--yes`; empty: it asks nothing."""
    takes_settings: bool = False
    """It has `--set`."""
    by_keeper: str = ""
    """The progress line while the keeper does it; empty: it never does."""
    brings_keeper: bool = False
    """It needs the record, so the keeper is started where none runs."""
    quiet: bool = False
    """That the keeper does not answer is not printed: the result says what matters."""

    @property
    def declared(self) -> str:
        """The class of its parameters, `module:name`."""
        return f"{self.module}:{self.parameters}"


class GroupForm(NamedTuple):
    """A family of commands such as `agent`, with synonyms for some of them."""

    name: str
    summary: str
    help: str
    synonyms: Sequence[tuple[str, str]] = ()


FILE = Path(__file__).with_suffix(".json")


def read_forms(text: bytes) -> tuple[list[GroupForm], list[CommandForm]]:
    """The forms in a text of `form_projection.written`."""
    found = json.loads(text)
    commands = [one | {"values": [FormValue(**value) for value in one.get("values", ())]} for one in found["commands"]]
    return [GroupForm(**one) for one in found["groups"]], [CommandForm(**one) for one in commands]


GROUPS, COMMANDS = read_forms(FILE.read_bytes())
