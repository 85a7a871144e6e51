"""What the form of a command in the shell, `gsh-tui NAME …`, needs beyond its declaration. Plain data.

A command has such a form where its parameters declare one (`Parameters.SHELL`); names, help, types and bounds come from
the parameters themselves, and `cli/form_projection.py` makes the form of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["", "agent", "session", "persona", "profile", "model", "provider", "folder", "file"]
"""What a text names: a shell completes it, and paths are checked. Empty: any text."""

ALL_COMMANDS = frozenset({"store", "guard", "providers", "fleet"})
"""The parts of the hub that bring all commands."""


@dataclass(frozen=True, slots=True)
class ShellOption:
    """One field in the shell, as the metadata of its annotation. What is empty comes from the field."""

    name: str = ""
    """Another name than the field's; options may have several (`--out -o`)."""
    metavar: str = ""
    kind: Kind = ""
    help: str = ""
    choices: tuple[str, ...] = ()
    synonyms: tuple[tuple[str, str], ...] = ()
    """Other words for a choice, each with the choice."""
    default: str = ""
    required: bool = False
    """An argument that a line may leave out, and a shell may not."""
    words: int = 1
    """Words of the shell that make one text; -1: all that follow."""
    piped: bool = False
    """`-` alone is all of standard input."""
    absent: bool = False
    """It is no option."""
    fixed: bool = False
    """A switch that is always on; it is no option."""
    with_json: bool = False
    """A switch that `--json` turns on."""


@dataclass(frozen=True, slots=True)
class ShellForm:
    """How a command is called in the shell."""

    places: tuple[str, ...] = ()
    """Fields that are given by place, in order; all others are options."""
    name: str = ""
    """What calls it, `agent spawn`; empty: the command's name and word."""
    summary: str = ""
    """Its line in the list of commands; empty: the first sentence of its help."""
    help: str = ""
    """Empty: the docstring of its parameters."""
    examples: tuple[str, ...] = ()
    """Whole lines."""
    parts: frozenset[str] = ALL_COMMANDS
    """The parts of the hub that it needs."""
    waiting: str = "Working"
    """What a person reads after a second of silence."""
    prints_agents: bool = False
    """Its result is the id of each agent that it starts, written as soon as that one runs."""
    needs_terminal: str = ""
    """What is said, with exit code 2, where there is none and `--json` is not given; empty: it needs none."""
    yes: str = "Do not ask, also in a terminal."
    """Help of `--yes`, which every command has that asks something."""
    takes_settings: bool = False
    """It has `--set KEY=VALUE`."""


@dataclass(frozen=True, slots=True)
class ShellGroup:
    """The group of a family such as `agent`, declared with the family's own parameters."""

    summary: str
    help: str
    synonyms: tuple[tuple[str, str], ...] = ()
    """Other words for its commands, each with the command."""
