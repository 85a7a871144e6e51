"""Running one command: with parameters, a tool call's arguments, or a value from code. `evaluation` runs lines.

Access is checked here, approval is not.

Every failure of a handler becomes a `CommandError`; cancellation passes through.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from pydantic import ValidationError

from gshtui.commands.declaration import (
    Access,
    Action,
    CommandError,
    Invocation,
    NotAllowed,
    Outcome,
    Parameters,
    Question,
    Returns,
    Unconfirmed,
    UsageError,
    as_data,
    option_of,
)
from gshtui.commands.language import bind, is_bound_at_once, read_line, strip_slash, validate
from gshtui.commands.line_values import Variables
from gshtui.commands.registry import AnyCommand, Registry, may_run, refused
from gshtui.system.expected_error import ExpectedError
from gshtui.system.tasks import report_unexpected

A = TypeVar("A")
R = TypeVar("R")


def command_error(error: ExpectedError) -> CommandError:
    """The error as a command's. Scripts get its kind, if it has one, as `{"kind": …}`."""
    if isinstance(error, CommandError):
        return error
    kind = getattr(error, "kind", None)
    return CommandError(error.message, hint=error.hint, data=None if kind is None else {"kind": kind})


@contextmanager
def command_errors(*kinds: type[ExpectedError]) -> Generator[None]:
    """Raise the block's errors of these classes as command errors."""
    try:
        yield
    except kinds as error:
        raise command_error(error) from error


async def run_call(command: AnyCommand, arguments: dict[str, Any], invocation: Invocation) -> Outcome:
    """Run a command with plain arguments, as a model gives them. Raises as `run_parsed` does."""
    return await run_parsed(command, validate(command, arguments), invocation)


async def run_parsed(command: AnyCommand, parameters: Parameters, invocation: Invocation) -> Outcome:
    """Run a command with validated parameters. Raises `UsageError`: the caller may not run it, or the parameters do not
    fit together; `CommandError`: the command could not do it.
    """
    if not may_run(command, invocation.caller):
        raise refused(command.name, invocation.caller)
    outcome = await _guarded(command.name, command.handler(invocation, parameters))
    return as_data(outcome) if command.gives_data and invocation.caller.is_agent else outcome


T = TypeVar("T")
P = TypeVar("P", bound=Parameters)


async def call(registry: Registry, parameters: Returns[T], invocation: Invocation) -> T:
    """Run the action of these parameters, and return its typed result. Raises as `run_parsed` does."""
    action = _allowed(registry, parameters, invocation)
    return await _guarded(parameters.COMMAND, action.run(invocation, parameters))


async def run_value(registry: Registry, parameters: Returns[Any], invocation: Invocation) -> Outcome:
    """Run the action of these parameters, and render its result. Raises as `run_parsed` does."""
    action = _allowed(registry, parameters, invocation)
    return await _guarded(parameters.COMMAND, action.handle(invocation, parameters))


async def question(registry: Registry, parameters: Returns[Any], invocation: Invocation) -> Question | None:
    """The question to a person before it runs; `None`: there is none. Raises as `run_parsed` does."""
    action = _allowed(registry, parameters, invocation)
    if action.asks is None:
        return None
    return await _guarded(parameters.COMMAND, action.asks(invocation, parameters))


async def run_asked(
    registry: Registry, parameters: Returns[Any], invocation: Invocation, ask: Callable[[Question], Awaitable[bool]]
) -> Outcome | None:
    """Ask what its action asks, run what a person agrees to, and render its result; `None`: they agree to nothing.

    It is asked again where the situation changed after the question. Raises as `run_parsed` does.
    """
    while (asked := await question(registry, parameters, invocation)) is not None:
        if not await ask(asked):
            return None if asked.otherwise is None else await run_value(registry, asked.otherwise, invocation)
        with suppress(Unconfirmed):
            return await run_value(registry, asked.agreed, invocation)
    return await run_value(registry, parameters, invocation)


def stream(registry: Registry, parameters: Returns[Any], invocation: Invocation) -> AsyncIterator[Outcome] | None:
    """The result of these parameters' action, piece by piece until the caller stops; `None`: it comes at once.

    Raises as `run_parsed` does, also while it is read.
    """
    action = _allowed(registry, parameters, invocation)
    pieces = None if action.streams is None else action.streams(invocation, parameters)
    if pieces is None:
        return None

    async def rendered() -> AsyncGenerator[Outcome]:
        with _command_errors(parameters.COMMAND):
            async for piece in pieces:
                yield action.render(invocation, piece)

    return rendered()


def answering(registry: Registry, parameters: Returns[Any], invocation: Invocation) -> Callable[[object], object]:
    """The function that answers one JSON value after another for these parameters. Raises `UsageError`: their action
    answers none.
    """
    answers = _allowed(registry, parameters, invocation).answers
    if answers is None:
        raise UsageError(f"{parameters.COMMAND} reads no lines from standard input.")
    return lambda value: answers(invocation, value)


def from_shell(parameters: type[P], values: Mapping[str, Any], *, as_json: bool, yes: bool) -> P:
    """The parameters as its shell form gives them, with the switches that are always on there.

    Args:
        values: by field name; omitted fields are left out.
        as_json: `--json` was given.
        yes: `--yes` was given.

    Raises `UsageError`: the values are not valid.
    """
    fields = parameters.model_fields
    always = {name: True for name, field in fields.items() if option_of(field).fixed}
    always |= {name: True for name, field in fields.items() if option_of(field).with_json and as_json}
    always |= {"yes": True} if yes and "yes" in fields else {}
    try:
        return parameters(**{**values, **always})
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_context=False)[0]
        raise UsageError(f"{'.'.join(map(str, wrong['loc']))}: {wrong['msg']}.") from error


def bound(registry: Registry, line: str, variables: Variables | None = None) -> Returns[Any] | None:
    """A line as the value that code would call; `None`: it has none, or is of several commands. Raises `UsageError`."""
    script = read_line(registry, line)
    stage = script.only_stage
    if stage is None or not is_bound_at_once(script):
        return None
    parsed = bind(registry, stage, script.source, variables or Variables(), {})
    return bound_parameters(parsed.command, parsed.parameters) if has_value(parsed.command) else None


def has_value(command: AnyCommand) -> bool:
    """Whether a line of it is a value that code would call: a group's name alone may be none."""
    return bool(command.actions) and issubclass(command.parameters, Returns)


def bound_parameters(command: AnyCommand, parameters: Parameters) -> Returns[Any]:
    """A line's parameters as the value that code would call. Raises `UsageError`."""
    if not isinstance(parameters, Returns):
        raise UsageError(f"{command.name} cannot be called by value.")
    return parameters


def opened_list(registry: Registry, line: str) -> str:
    """The list that a line opens in a window, being the bare name of its command, or a word of it that lacks what that
    needs; empty: none.
    """
    name = strip_slash(line).rstrip()
    if name in registry and (opens := registry.get(name).opens):
        return opens
    try:
        stage = read_line(registry, name).only_stage
        if stage is None or stage.name not in registry:
            return ""
        if not stage.arguments and not name.startswith(stage.name):  # `agent spawn` is `spawn`
            return registry.get(stage.name).opens
        value = bound(registry, name)
        lacks = isinstance(value, Parameters) and value.PICKS and not value.model_fields_set
    except CommandError:
        lacks = True
    word, *others = name.split()
    return registry.get(word).opens if lacks and word in registry and len(others) == 1 else ""


def _allowed(registry: Registry, parameters: Returns[T], invocation: Invocation) -> Action[Any, T]:
    action = registry.action(parameters)
    if not may_run(registry.get(parameters.COMMAND), invocation.caller):
        raise refused(parameters.COMMAND, invocation.caller)
    if invocation.caller.is_agent and Access.HUMAN_ONLY in (action.access, registry.get(parameters.COMMAND).access):
        raise NotAllowed(f"`{' '.join(filter(None, (parameters.COMMAND, parameters.WORD)))}` is for people only.")
    return action


async def _guarded(name: str, work: Awaitable[T]) -> T:
    """The handler's result; every failure becomes a `CommandError`."""
    with _command_errors(name):
        return await work


@contextmanager
def _command_errors(name: str) -> Generator[None]:
    """Raise every failure as a `CommandError`."""
    try:
        yield
    except CommandError:
        raise
    except ExpectedError as error:
        raise command_error(error) from error
    except TimeoutError as error:
        raise CommandError(f"{name} took too long and was stopped.") from error
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        raise CommandError(f"{name}:{where} {error.strerror or error}.") from error
    except Exception as error:
        report_unexpected(f"the command {name}", error)
        raise CommandError(f"{name} failed: {type(error).__name__}: {error}.") from error
