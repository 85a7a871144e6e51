"""What a command's shell form, `gsh-tui NAME …`, needs beyond the command's declaration. Plain data.

A command has a shell form if its parameters declare one (`Parameters.SHELL`). Names, help, types and bounds come from
the parameters; `cli/form_projection.py` makes the form.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["", "agent", "session", "persona", "profile", "model", "provider", "folder", "file"]
"""What a text names, so that a shell can complete it; paths are also checked. Empty: any text."""

ALL_COMMANDS = frozenset({"store", "guard", "providers", "fleet"})
"""The parts of the hub that together provide all commands."""


class ShellOption(msgspec.Struct, frozen=True):
    """How one field appears in the shell, as metadata of its annotation. Empty values come from the field."""

    name: str = ""
    """A name other than the field's; options can have several (`--out -o`)."""
    metavar: str = ""
    kind: Kind = ""
    help: str = ""
    choices: tuple[str, ...] = ()
    synonyms: tuple[tuple[str, str], ...] = ()
    """Other words for a choice, each with its choice."""
    default: str = ""
    required: bool = False
    """The argument is optional in a command line of the window, but required in the shell."""
    words: int = 1
    """How many shell words make one text; -1: all that follow."""
    piped: bool = False
    """A lone `-` means all of standard input."""
    file: str = ""
    """The option that names a file with the text, in place of the words; `-` means standard input."""
    lines: bool = False
    """A lone `-` means that each line of standard input is a JSON value, answered with one line (`Action.answers`)."""
    absent: bool = False
    """The shell has no option for it."""
    fixed: bool = False
    """A switch that is always on in the shell, without an option."""
    with_json: bool = False
    """A switch that `--json` turns on."""
    alone: bool = False
    """With this switch its own process does it, not the hub."""
    whole: bool = False
    """A repeated option whose values may contain commas, which separate several values otherwise."""


class ShellForm(msgspec.Struct, frozen=True):
    """How a command is called in the shell."""

    places: tuple[str, ...] | None = None
    """The positional fields, in order; all others are options. None: the command's own positions."""
    name: str = ""
    """The words that call it, such as `agent spawn`; empty: the command's name and word."""
    summary: str = ""
    """Its line in the list of commands; empty: the first sentence of its help."""
    help: str = ""
    """Empty: the docstring of its parameters."""
    examples: tuple[str, ...] = ()
    """Whole lines."""
    parts: frozenset[str] = ALL_COMMANDS
    """The parts of the hub that the command needs; none: the settings are enough (`hub/command_offers.py`)."""
    waiting: str = "Working"
    """The progress line shown after a second of silence."""
    prints_agents: bool = False
    """It prints the id of each agent it starts, as soon as the agent runs."""
    needs_terminal: str = ""
    """The error without a terminal, with exit code 2, unless `--json` is given; empty: it needs no terminal."""
    yes: str = ""
    """Help of `--yes` in place of the usual words, which every command that asks a question has."""
    takes_settings: bool = False
    """Whether it has `--set KEY=VALUE`."""
    needs_answer: bool = False
    """Where it has a question and there is nobody to ask, it ends with exit code 4 unless `--yes` is given; false: it
    asks only in a terminal."""
    json_lines: bool = False
    """Whether `--json` prints each item of the data as a line."""
    alone: bool = False
    """Its own process does it: it is about the hub, or needs no record and waits for a network or a program."""
    rights: bool = False
    """It answers a question, or changes who may do what: the hub does it for a person alone."""
    own_hub: bool = False
    """The hub does it on one made for it, with the settings and the environment of where it is called: it starts
    programs, or changes a conversation."""
    quiet: bool = False
    """Problems of the settings are not printed on stderr, because the result reports those that matter."""

    @property
    def for_person(self) -> bool:
        """Whether the hub does it for a person alone."""
        return self.rights or self.needs_answer


class ShellGroup(msgspec.Struct, frozen=True):
    """The group of a family such as `agent`, declared with the family's parameters."""

    summary: str
    help: str
    synonyms: tuple[tuple[str, str], ...] = ()
    """Synonyms for its commands, each with its command."""
