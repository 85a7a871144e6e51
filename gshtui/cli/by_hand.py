"""The commands of `gsh-tui` that are not declared ones, each with the reason: a closed list, which a test checks.

All others are made from the declarations (`declared_forms`). Imports nothing: the start of every call reads it.
"""

from __future__ import annotations

MODULES = {
    # A turn: it streams an agent's events, and its words are for a model.
    "prompt": "gshtui.cli.prompt",
    # Tells a question from a command before there is either.
    "gsh": "gshtui.cli.prompt",
    # The command language itself: one line, or lines from standard input, with anyone's rights.
    "run": "gshtui.cli.run",
    # The shells' side: their files and plugins, even where no hub and no settings work.
    "shell": "gshtui.cli.shell",
    # A script for a shell, made from this very command line.
    "completion": "gshtui.cli.shell",
    # Checks the things that a hub needs before it can start.
    "doctor": "gshtui.cli.upkeep",
    # Lends its input, output and exit code to any program.
    "sandbox": "gshtui.cli.run",
    # The help of this very command line.
    "help": "gshtui.cli.root",
    "version": "gshtui.cli.root",
    # A key is for the keyring alone: no declared command may carry it.
    "login": "gshtui.cli.upkeep",
    "logout": "gshtui.cli.upkeep",
    # Replaces the very program that runs it.
    "update": "gshtui.cli.upkeep",
    # Takes away what others have set up, by their own commands.
    "uninstall": "gshtui.cli.upkeep",
    # Runs an agent in this process; the agent commands only call one.
    "agent run": "gshtui.cli.faces",
    # Gives the terminal to an editor, then reports the errors that are left in the file.
    "config edit": "gshtui.cli.upkeep",
    # Reports faults, even where no hub can start; it is read before it is written.
    "report": "gshtui.cli.upkeep",
    # Opens a window of its own on the record.
    "replay": "gshtui.features.replay.command_line",
    # A face of its own for people elsewhere: a process, not a call of one.
    "serve": "gshtui.cli.faces",
    # A face for one client on standard input and output, until that has gone.
    "acp": "gshtui.features.acp.command_line",
    # Its options are a workflow's parameters, known once its file is read; it lends steps this terminal.
    "workflow run": "gshtui.features.workflows.command_line",
    # Goes on with such a run, and lends the terminal in the same way.
    "workflow resume": "gshtui.features.workflows.command_line",
    # A face for other programs: a process, not a call of one.
    "mcp serve": "gshtui.features.mcp_server.command_line",
    # Is the keeper: a process, not a call of one.
    "hub run": "gshtui.cli.faces",
}
"""The module of each, by its words; `help` and `version` are the root's own."""


def command_words() -> frozenset[str]:
    """Every first word that is a command."""
    from gshtui.cli.declared_forms import COMMANDS

    return frozenset(name.partition(" ")[0] for name in (*MODULES, *(form.name for form in COMMANDS)))
