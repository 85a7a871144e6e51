"""One turn without a window: `gsh-tui prompt`, and `gsh` at the shell prompt.

The words of `gsh` are a question for an agent, or a `gsh-tui` command: a first word is a command only if the words
after it fit, so `gsh show me the log` is a question and `gsh show 12` is not. Called by the console script `gsh`, and
as `gsh-tui gsh` by the shell plugins.
"""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from gshtui.cli.declared import DeclaredGroup, group
from gshtui.cli.options import (
    MODEL,
    PROVIDER,
    SESSION,
    agent_option,
    context_lines_option,
    json_option,
    mode_option,
    set_option,
    version_option,
    yes_option,
)
from gshtui.settings.known_providers import PROVIDER_NAMES

if TYPE_CHECKING:
    from gshtui.bus.agent_data import GuardMode
    from gshtui.headless.turns.familiar_output import Output
    from gshtui.hub.faces.large_input import Large


FORMATS = ("text", "json", "stream-json", "codex")


@click.command(short_help="Run one turn without a window.")
@click.argument("text", nargs=-1)
@agent_option
@click.option(
    "--provider",
    type=PROVIDER,
    default="",
    metavar="NAME",
    help=f"Provider: {PROVIDER_NAMES}.",
)
@click.option(
    "--model", "-m", type=MODEL, default="", metavar="NAME", help="Model; alone it also selects the provider."
)
@click.option(
    "--session",
    "--resume",
    "-r",
    "session",
    type=SESSION,
    default="",
    metavar="ID",
    help="Continue this conversation, or `latest`.",
)
@click.option("--continue", "-c", "latest", is_flag=True, help="The same as --session latest.")
@click.option(
    "--print", "printed", is_flag=True, help="With --session: print the conversation so far, then go on in it."
)
@click.option(
    "--max-iterations",
    "--max-turns",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help="Maximum number of model requests in the turn.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0.001, 1e7),
    metavar="SECONDS",
    help="Give up after this many seconds, with exit code 124.",
)
@click.option(
    "--prompt", "kept", default="", metavar="NAME", help="Send this prompt that you keep; TEXT: its arguments."
)
@click.option(
    "--batches", "large", flag_value="batches", default="", help="Have the model read long standard input in parts."
)
@click.option("--summarise", "large", flag_value="summary", help="Send a summary of standard input in its place.")
@click.option(
    "--output-format",
    "output",
    type=click.Choice(FORMATS),
    default="text",
    help="text; json and stream-json: as `claude -p` prints them; codex: as `codex exec --json`.",
)
@click.option("--verbose", is_flag=True, hidden=True)
@context_lines_option
@mode_option("What runs unasked: plan (reads), ask, edit (the project), auto (in the sandbox), yolo (everything).")
@yes_option("Allow, without asking, what fits in the sandbox or clearly stays inside the project.")
@set_option
@json_option
def prompt(
    text: tuple[str, ...],
    agent: str,
    provider: str,
    model: str,
    session: str,
    latest: bool,
    printed: bool,
    max_iterations: int | None,
    timeout: float | None,
    kept: str,
    large: Large,
    output: Output,
    verbose: bool,
    context_lines: int,
    mode: GuardMode | None,
    yes: bool,
    flags: dict[str, str],
    as_json: bool,
) -> int:
    """Run one turn without a window, and print the answer as it arrives.

    Piped input, at most 4 MB, is appended to TEXT; of up to 64 MB, --batches sends what the model says to TEXT about
    each part, and --summarise a summary by the small model. Without --yes, whatever needs approval is refused (exit
    code 4), since there is nobody to ask. With --json each event is a line, and the last one is
    {"type": "TurnFinished", …}; --output-format prints what scripts for other programs read.

    \b
    Examples:
      gsh-tui prompt "what does this project do?"
      git diff | gsh-tui prompt "review this"
      gsh-tui prompt --batches "which requests failed, and why?" <server.log
      gsh-tui prompt --yes --timeout 300 --json "make the tests pass"
      gsh-tui prompt /review main
      gsh-tui -p "what does this project do?" --output-format json
      gsh-tui prompt --prompt standup yesterday
    """
    if yes and mode:
        raise click.UsageError("--yes and --mode cannot be combined; choose one.")
    if latest and session:
        raise click.UsageError("--continue and --session cannot be combined; choose one.")
    session = "latest" if latest else session
    if as_json and output != "text":
        raise click.UsageError("--json and --output-format cannot be combined; choose one.")
    if printed and (not session or as_json or output != "text"):
        raise click.UsageError("--print needs --session, and prints no JSON (`session show --json` does).")
    from gshtui.headless.turns.prompt_turn import prompt as do
    from gshtui.hub.faces.turn_request import TurnRequest

    words = " ".join(text) if not kept else shlex.join(text)
    return do(
        TurnRequest(
            text=f"/prompt {kept} {words}".rstrip() if kept else words,
            agent=agent,
            provider=provider,
            model=model,
            session=session or "new",
            max_iterations=max_iterations or 0,
            mode=mode,
            respondent="policy" if yes else "nobody",
            large=large,
            printed=printed,
            flags=flags,
            recent=context_lines > 0,
            context_lines=context_lines,
        ),
        timeout=timeout or 0.0,
        json=as_json,
        output=output,
    )


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
