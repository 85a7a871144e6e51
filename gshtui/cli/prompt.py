"""`gsh-tui prompt`: one turn without a window."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from gshtui.cli.options import (
    MODEL,
    PROVIDER,
    SESSION,
    agent_option,
    context_lines_option,
    json_option,
    mode_option,
    set_option,
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
