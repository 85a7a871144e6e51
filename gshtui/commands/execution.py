"""Running a command: a line of the language, a tool call's arguments, or a value from code.

Access is checked here, approval is not.

Every way that a handler can fail comes out as a `CommandError`; cancellation passes through.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, TypeVar, cast

from gshtui.commands.declaration import Access, Action, CommandError, Invocation, Outcome, Question, Returns, UsageError
from gshtui.commands.language import parse, strip_slash, validate
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
    return await _guarded(command.name, command.handler(invocation, parameters))


T = TypeVar("T")


async def call(registry: Registry, parameters: Returns[T], invocation: Invocation) -> T:
    """Run what these parameters call, and give its typed result. Raises as `run_line` does."""
    action = _allowed(registry, parameters, invocation)
    return await _guarded(parameters.COMMAND, action.run(invocation, parameters))


async def run_value(registry: Registry, parameters: Returns[Any], invocation: Invocation) -> Outcome:
    """Run what these parameters call, and render its result. Raises as `run_line` does."""
    action = _allowed(registry, parameters, invocation)
    return await _guarded(parameters.COMMAND, action.handle(invocation, parameters))


async def question(registry: Registry, parameters: Returns[Any], invocation: Invocation) -> Question | None:
    """What a person is asked before it runs; `None`: nothing. Raises as `run_line` does."""
    action = _allowed(registry, parameters, invocation)
    if action.asks is None:
        return None
    return await _guarded(parameters.COMMAND, action.asks(invocation, parameters))


def bound(registry: Registry, line: str) -> Returns[Any] | None:
    """A line as the value that code would call; `None`: its command has none. Raises `UsageError`."""
    parsed = parse(registry, line)
    if not parsed.command.actions:
        return None
    bind = parsed.command.bind
    return cast("Returns[Any]", parsed.parameters if bind is None else bind(parsed.parameters))


def opened_list(registry: Registry, line: str) -> str:
    """The list that a line opens in a window, being the bare name of its command; empty: none."""
    name = strip_slash(line).rstrip()
    return registry.get(name).opens if name in registry else ""


def _allowed(registry: Registry, parameters: Returns[T], invocation: Invocation) -> Action[Any, T]:
    action = registry.action(parameters)
    if invocation.caller.is_agent and Access.HUMAN_ONLY in (action.access, registry.get(parameters.COMMAND).access):
        raise UsageError(f"`{' '.join(filter(None, (parameters.COMMAND, parameters.WORD)))}` is for people only.")
    return action


async def _guarded(name: str, work: Awaitable[T]) -> T:
    """What a handler gives, every failure as a `CommandError`."""
    try:
        return await work
    except CommandError:
        raise
    except TimeoutError as error:
        raise CommandError(f"{name} took too long and was stopped.") from error
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        raise CommandError(f"{name}:{where} {error.strerror or error}.") from error
    except Exception as error:
        report_unexpected(f"the command {name}", error)
        raise CommandError(f"{name} failed: {type(error).__name__}: {error}.") from error
