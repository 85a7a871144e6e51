"""`gsh-tui run`, and the words that are a line of the command language each: `search`, `usage`, `guard check`."""

from __future__ import annotations

import click

from gshtui.cli.options import AGENT, MODEL, SESSION, json_option, set_option, yes_option


@click.group(short_help="What the policy thinks of a shell line.")
def guard() -> None:
    """Ask the policy without running anything."""


@guard.command(short_help="Say whether a line would run, be asked about, or be refused.")
@click.argument("command")
@json_option
def check(command: str, as_json: bool) -> int:
    """Say what the policy thinks of COMMAND: allow, ask or deny, by which rule, and why.

    With `-` it reads JSON lines {"command": …} and answers each with one, in order.

    \b
    Examples:
      gsh-tui guard check 'git log --oneline -5 | head'
      gsh-tui guard check - < commands.jsonl
    """
    if command == "-":
        from gshtui.headless.command_lines import check_guard_lines

        return check_guard_lines()
    from gshtui.commands.language import quote
    from gshtui.headless.command_lines import LineOptions, run_line

    return run_line(LineOptions(f"guard check command={quote(command)}", json=as_json, parts=frozenset()))


_SOURCES = ["shell_history", "sessions", "logs"]
_SHORT = {"history": "shell_history", "shell": "shell_history"}


class _Source(click.Choice[str]):
    """The sources, also by the short names of the first."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return super().convert(_SHORT.get(value, value), param, ctx)


@click.command(short_help="Find shell commands, past conversations, log records.")
@click.argument("source", type=_Source(_SOURCES))
@click.argument("query", nargs=-1)
@click.option(
    "--cwd",
    default="",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Only in this folder or below.",
)
@click.option("--exit-code", type=click.IntRange(-1, 255), help="Exit code; -1: any failure (shell_history).")
@click.option("--event-type", default="", metavar="TYPE", help="Kind of record: bash_exec, tool_call, error … (logs).")
@click.option("--agent", type=AGENT, default="", metavar="NAME", help="Only what this agent did (shell_history, logs).")
@click.option("--since", default="", metavar="WHEN", help="Only from then on: 2h, 7d, today, 2026-11-21 …")
@click.option("--until", default="", metavar="WHEN", help="Only before that moment.")
@click.option("--last-n", "-n", type=click.IntRange(1, 50), default=20, show_default=True, help="Results at most.")
@json_option
def search(
    source: str,
    query: tuple[str, ...],
    cwd: str,
    exit_code: int | None,
    event_type: str,
    agent: str,
    since: str,
    until: str,
    last_n: int,
    as_json: bool,
) -> int:
    """Find what was before: SOURCE is shell_history (or history), sessions or logs.

    QUERY is plain text, in capitals or not: nothing in it is syntax. Without it the newest come.

    \b
    Examples:
      gsh-tui search history docker --exit-code -1
      gsh-tui search sessions "retry policy" --since 7d
      gsh-tui search logs test --event-type bash_exec
    """
    from gshtui.commands.language import quote
    from gshtui.headless.command_lines import STORE_ONLY, LineOptions, run_line

    named = {"source": source, "query": " ".join(query), "cwd": cwd, "event_type": event_type, "agent": agent}
    named |= {"exit_code": "" if exit_code is None else str(exit_code), "since": since, "until": until}
    named["last_n"] = str(last_n)
    words = [f"{name}={quote(value)}" for name, value in named.items() if value]
    return run_line(LineOptions(" ".join(["search_context", *words]), json=as_json, parts=STORE_ONLY))


@click.command(short_help="Tokens, money and time used.")
@click.option("--by", type=click.Choice(["day", "agent", "model", "session"]), default="day", show_default=True,
              help="What each line is.")  # fmt: skip
@click.option("--since", default="", metavar="WHEN", help="Only from then on: 2h, 7d, today, 2026-11-21 …")
@click.option("--agent", type=AGENT, default="", metavar="NAME", help="Only this agent's.")
@click.option("--model", type=MODEL, default="", metavar="NAME", help="Only this model's.")
@click.option(
    "--session",
    type=SESSION,
    default="",
    metavar="ID",
    help="Only of this conversation and the agents started from it.",
)
@json_option
def usage(by: str, since: str, agent: str, model: str, session: str, as_json: bool) -> int:
    """Show what model requests used, by day, agent, model or conversation, of every folder.

    Tokens are the providers' count. `estimate` says by how much our own estimate of what was sent was off.
    """
    from gshtui.commands.language import quote
    from gshtui.headless.command_lines import STORE_ONLY, LineOptions, run_line

    named = {"by": by, "since": since, "agent": agent, "model": model, "session": session}
    words = [f"{name}={quote(value)}" for name, value in named.items() if value]
    return run_line(LineOptions(" ".join(["usage", *words]), json=as_json, parts=STORE_ONLY))


@click.command(
    short_help="One line of the command language.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("line", nargs=-1, required=True)
@click.option("--as", "agent", default="", metavar="AGENT", help="With an agent's rights: the guard decides.")
@click.option("--timeout", type=click.FloatRange(0.001, 1e7), metavar="SECONDS", help="Stop after this time, code 124.")
@yes_option("With --as: let it run as far as policy allows, inside the project.")
@set_option
@json_option
def run(
    line: tuple[str, ...], agent: str, timeout: float | None, yes: bool, flags: dict[str, str], as_json: bool
) -> int:
    """Run one LINE of the command language, as you or with an agent's rights.

    Quote the line, so that the shell leaves it alone. Options go before it. `gsh-tui run help` lists the commands.

    \b
    Examples:
      gsh-tui run 'grep TODO'
      gsh-tui run --json 'read path=README.md'
      gsh-tui run --as main 'bash make test'
    """
    from gshtui.headless.command_lines import LineOptions, run_line

    return run_line(
        LineOptions(" ".join(line), agent=agent, yes=yes, json=as_json, timeout=timeout or 0.0, flags=flags)
    )
