"""`gsh` at the shell prompt: its words are a question for an agent, or a `gsh-tui` command.

Owns telling the two apart: a first word is a command only if the words after it fit, so `gsh show me the log` is a
question and `gsh show 12` is not. Called by the console script `gsh`, and as `gsh-tui gsh` by the shell plugins.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from gshtui.cli.declared import DeclaredGroup, group
from gshtui.cli.options import (
    MODEL,
    PROVIDER,
    SESSION,
    agent_option,
    context_lines_option,
    json_option,
    version_option,
    yes_option,
)
from gshtui.cli.prompt import prompt

HELP = """\
Ask an agent, with your recent commands in this shell as context. A follow-up continues the same conversation.

\b
Commands:
  gsh fix the failing test      ask; the answer and any approval questions appear here
  gsh --background WORDS        give the task to a new agent and keep working
  gsh show 12                   print that agent's report
  gsh attach 12                 open its terminal
  gsh -w NAME --PARAMETER …     run a workflow
  gsh run -- COMMAND            run a command as usual, and record its output
  gsh note WORDS                add a remark to the shell log, which agents find too
  gsh chat                      open the window
  gsh dashboard                 open the last conversation there, at its timeline
  gsh agents | sessions | config | logs | prompt …    as `gsh-tui agent`, `session`, `config`, `logs`, `prompt`

Your shell interprets quotes: write `gsh "what's this?"`, or press ctrl+g to send the line exactly as typed.
"""
_AGENT = group("agent")
_GROUPS: dict[str, DeclaredGroup] = {"agents": _AGENT, "sessions": group("session"), "config": group("config")}
_FIRST = {"agents": "ls", "sessions": "ls", "config": "show"}


_COMMANDS = {
    "--list-workflows": "gsh-tui workflow ls",
    "--list-prompts": "gsh-tui prompts ls",
    "--list-sessions": "gsh-tui session ls",
    "--show-session": "gsh-tui session show ID",
    "--list-agents": "gsh-tui agent ls",
}
"""What an option that somebody may look for is here."""


def command_of(words: list[str]) -> list[str] | None:
    """The `gsh-tui` arguments that these words mean; `None` if they are a question."""
    if not words:
        return None
    first, rest = words[0], words[1:]
    if first in _GROUPS:
        family = _GROUPS[first]
        if not rest or rest[0].startswith("-"):
            return [family.name or first, _FIRST[first], *rest]
        return [family.name or first, *rest] if family.knows(rest[0]) else None
    if first in ("show", "attach"):
        return ["agent", first, *rest] if len(rest) == 1 or (rest and rest[1:] == ["--json"]) else None
    if first == "note":
        return ["note", *rest] if rest else None
    if first == "logs":
        return ["logs", *rest] if not rest or rest[0].startswith("-") else None
    if first == "prompt":
        return ["prompt", *rest] if rest else None
    if first in ("chat", "dashboard"):
        words = rest if first == "chat" else [*([] if rest else ["--continue"]), "--pane", "timeline", *rest]
        return words if all(word.startswith("-") for word in rest) else None
    return None


class AtPrompt(click.Group):
    """Parses the leading options; everything after them is words, whatever it looks like."""

    allow_interspersed_args = False

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words, and whether a `--` marked them all as plain words."""
        if args[:1] and args[0] in ("-w", "--workflow") and len(args) > 1:
            args = [*args[:2], "--", *args[2:]]  # what follows are the workflow's own options
        given = list(args)
        try:
            rest = click.Command.parse_args(self, ctx, args)
        except click.NoSuchOption as error:
            if (command := _COMMANDS.get(error.option_name)) is None:
                raise
            raise click.UsageError(f"There is no option {error.option_name}: it is `{command}`.", ctx) from error
        ctx.params["words"] = tuple(rest)
        ctx.params["verbatim"] = "--" in given[: len(given) - len(rest)]
        return rest

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Without the parent, so that the usage line calls it as people do."""
        return super().make_context("gsh", args, None, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run only the callback: the words are not click subcommands."""
        return click.Command.invoke(self, ctx)


@click.command(
    cls=AtPrompt,
    name="gsh",
    hidden=True,
    invoke_without_command=True,
    help=HELP,
    subcommand_metavar="WORDS…",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--background", "-b", is_flag=True, help="Start a new agent for it, in its own terminal.")
@click.option("--workflow", "-w", default="", metavar="NAME", help="Run this workflow, with the options that follow.")
@click.option("--new", "-n", is_flag=True, help="Start a new conversation.")
@click.option("--session", type=SESSION, default="", metavar="ID", help="Continue this conversation.")
@agent_option
@click.option("--provider", type=PROVIDER, default="", metavar="NAME", help="Provider to ask.")
@click.option("--model", type=MODEL, default="", metavar="NAME", help="Model to ask.")
@click.option(
    "--timeout", type=click.FloatRange(0.001, 1e7), metavar="SECONDS", help="Give up after this many seconds."
)
@context_lines_option
@version_option
@yes_option("Allow, without asking, what fits in the sandbox or clearly stays inside the project.")
@json_option
@click.pass_context
def gsh(context: click.Context, words: tuple[str, ...], verbatim: bool, **options: Any) -> int:
    given = list(words)
    if workflow := options.pop("workflow"):
        from gshtui.cli.entry import main

        return main(["workflow", "run", workflow, *given, *(["--json"] if options["as_json"] else [])])
    if given[:2] == ["run", "--"]:
        from gshtui.headless.shells.recorded_run import run_recorded

        return run_recorded(given[2:], as_json=bool(options["as_json"]))
    plain = not any(value for name, value in options.items() if name not in ("agent", "as_json"))
    if plain and not verbatim and (command := command_of(given)) is not None:
        from gshtui.cli.entry import main

        return main([*command, "--json"] if options["as_json"] else command)
    from gshtui.headless.turns.gsh_prompt import AskOptions, ask

    if not given and not options["background"] and sys.stdin.isatty():
        click.echo(context.get_help())
        return 2
    as_json, timeout = options.pop("as_json"), options.pop("timeout")
    return ask(AskOptions(text=" ".join(given), json=as_json, timeout=timeout or 0.0, **options))


for _name, _group in _GROUPS.items():
    gsh.add_command(_group, _name)
gsh.add_command(prompt, "prompt")
for _word in ("show", "attach"):
    if (_command := _AGENT.command_named(_word)) is not None:
        gsh.add_command(_command)
