"""Makes what a package brings for other programs, man page and completions: `python -m tests.kit.packaged_files`.

They are made of the command line itself, so that they say what it knows; a test sees whether they are as they would be.
"""

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from gshtui.cli.root import root
from tests.kit import source

FOLDER = source.ROOT / ".github" / "packaging"
VARIABLE = "_GSH_TUI_COMPLETE"


def files() -> dict[str, str]:
    """Their texts by path below `.github/packaging/`."""
    shells = {"_gsh-tui": ZshComplete, "gsh-tui.bash": BashComplete, "gsh-tui.fish": FishComplete}
    made = {f"completions/{name}": kind(root, {}, "gsh-tui", VARIABLE).source() for name, kind in shells.items()}
    return {name: text.strip() + "\n" for name, text in {**made, "gsh-tui.1": _man_page()}.items()}


def _man_page() -> str:
    lines = [
        '.TH GSH-TUI 1 "" "gsh-tui" "User Commands"',
        ".SH NAME",
        "gsh-tui, gsh \\- a workbench for people who work in a shell beside several AI agents",
        ".SH SYNOPSIS",
        ".B gsh-tui",
        "[\\fIOPTIONS\\fR] [\\fIFOLDER\\fR | \\fICOMMAND\\fR ...]",
        ".br",
        ".B gsh",
        "[\\fIOPTIONS\\fR] \\fIWORDS\\fR ...",
        ".SH DESCRIPTION",
        "Without a command, it opens the window for the folder. At a shell prompt,",
        "\\fBgsh\\fR sends its words to the agent there.",
        ".SH OPTIONS",
        *_options(root),
        ".SH COMMANDS",
    ]
    context = click.Context(root, info_name="gsh-tui")
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        if command is not None and not command.hidden:
            lines += _command(name, command, context)
    return "\n".join(
        [
            *lines,
            *(".SH EXIT STATUS", ".nf"),
            *("0    done", "1    error", "2    wrong usage", "3    a provider or a tool cannot be reached"),
            *(
                "4    an approval was denied, or nobody was there to give it",
                "124  time-out",
                "130  interrupted",
                ".fi",
            ),
            *(
                ".SH FILES",
                ".TP",
                "\\fI~/.config/gsh/config.toml\\fR",
                "Settings; \\fBgsh-tui config\\fR shows and sets them.",
            ),
            *(".TP", "\\fI~/.local/share/gsh\\fR", "Conversations, and what agents did."),
            *(".SH SEE ALSO", ".BR tmux (1)"),
        ]
    )


def _command(name: str, command: click.Command, above: click.Context) -> list[str]:
    context = click.Context(command, info_name=name, parent=above)
    lines = [".TP", f"\\fB{_roff(name)}\\fR", _roff(command.get_short_help_str(200))]
    if isinstance(command, click.Group):
        lines.append(".RS")
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None and not found.hidden:
                lines += _command(f"{name} {inner}", found, context)
        lines.append(".RE")
    return lines


def _options(command: click.Command) -> list[str]:
    lines: list[str] = []
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            names = ", ".join(f"\\fB{_roff(one)}\\fR" for one in parameter.opts)
            value = "" if parameter.is_flag or not parameter.metavar else f" \\fI{_roff(parameter.metavar)}\\fR"
            lines += [".TP", names + value, _roff(parameter.help or "")]
    return lines


def _roff(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return f"\\&{text}" if text[:1] in (".", "'") else text


if __name__ == "__main__":
    for name, text in files().items():
        (FOLDER / name).write_text(text)
