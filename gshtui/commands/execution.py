"""Running a command: a line of the language, or a tool call's arguments. Access is checked here, approval is not.

Every way that a handler can fail comes out as a `CommandError`; cancellation passes through.
"""

from __future__ import annotations

from typing import Any

from gshtui.commands.declaration import CommandError, Invocation, Outcome, UsageError
from gshtui.commands.language import parse, validate
from gshtui.commands.registry import AnyCommand, Registry, may_run
from gshtui.system.tasks import report_unexpected


async def run_line(registry: Registry, line: str, invocation: Invocation) -> Outcome:
    """Run one line.

    Raises:
        UsageError: the line is no valid use of a command that the caller may run.
        CommandError: the command could not do it.
    """
    parsed = parse(registry, line)
    return await run_parsed(parsed.command, parsed.parameters, invocation)


async def run_call(command: AnyCommand, arguments: dict[str, Any], invocation: Invocation) -> Outcome:
    """Run a command with plain arguments, as a model gives them. Raises as `run_line` does."""
    return await run_parsed(command, validate(command, arguments), invocation)


async def run_parsed(command: AnyCommand, parameters: Any, invocation: Invocation) -> Outcome:
    """Run a command with validated parameters. Raises as `run_line` does."""
    if not may_run(command, invocation.caller):
        raise UsageError(f"{command.name} is for people only.")
    try:
        return await command.handler(invocation, parameters)
    except CommandError:
        raise
    except TimeoutError as error:
        raise CommandError(f"{command.name} took too long and was stopped.") from error
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        raise CommandError(f"{command.name}:{where} {error.strerror or error}.") from error
    except Exception as error:
        report_unexpected(f"the command {command.name}", error)
        raise CommandError(f"{command.name} failed: {type(error).__name__}: {error}.") from error
