"""What a workflow is: its parameters, and its steps with what they do, when they run and what a failure means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from gshtui.bus.workflow_data import RunState, StepResult, WorkflowRunRow, WorkflowSource
from gshtui.system.expected_error import ExpectedError

ParameterType = Literal["string", "bool", "int", "float", "enum"]
OnFailure = Literal["exit", "continue", "ask", "retry"]
Value = str | bool | int | float | None


MOST_BYTES = 128 * 1024
"""Of one file: what is read within a second."""


class WorkflowError(ExpectedError):
    """A workflow cannot be read or begun. `code`: the exit code that says so."""

    def __init__(self, message: str, hint: str = "", code: int = 2) -> None:
        super().__init__(message, hint)
        self.code = code


class Template(msgspec.Struct, frozen=True):
    """A text to be rendered, and the line of its file in which it begins."""

    text: str
    line: int = 0


class Parameter(msgspec.Struct, frozen=True):
    """One parameter; without a value and a default it is empty."""

    name: str
    type: ParameterType
    default: Value = None
    required: bool = False
    help: str = ""
    choices: tuple[str, ...] = ()


class Retry(msgspec.Struct, frozen=True):
    """How often a failed step is tried again, and after how long."""

    max: int = 2
    base_ms: int = 500
    factor: float = 2.0
    jitter_ms: int = 250


class ShellAction(msgspec.Struct, frozen=True):
    """Runs a script in a shell."""

    command: Template
    shell: Literal["bash", "sh", "zsh"] = "bash"
    cwd: Template | None = None
    env: Mapping[str, Template] = msgspec.field(default_factory=dict[str, Template])
    stdin: Template | None = None
    terminal: bool = False
    """It is given the person's terminal where there is one; what it prints there is not captured."""


class PythonAction(msgspec.Struct, frozen=True):
    """Runs Python code, or a module as a program."""

    code: str = ""
    module: str = ""
    env: Mapping[str, Template] = msgspec.field(default_factory=dict[str, Template])
    stdin: Template | None = None


class ToolAction(msgspec.Struct, frozen=True):
    """Calls a tool; without a server, one of our own."""

    name: str
    server: str = ""
    args: Mapping[str, object] = msgspec.field(default_factory=dict[str, object])
    """Texts in it, at any depth, are `Template`s."""


class LlmAction(msgspec.Struct, frozen=True):
    """Asks a model: an agent of this process, or one in a terminal of its own."""

    user: Template
    system: Template | None = None
    agent: str = ""
    """A persona; empty: the one that the workflow was started with."""
    provider: str = ""
    model: str = ""
    tools: bool = False
    """It may use tools, behind the guard."""
    terminal: bool = False
    """It works in a terminal of its own."""
    worktree: Template | None = None
    """The branch of the git worktree that it works in."""


Action = ShellAction | PythonAction | ToolAction | LlmAction


class WorkflowStep(msgspec.Struct, frozen=True):
    """One step of a workflow."""

    number: int
    """From 1."""
    action: Action
    line: int
    id: str = ""
    description: str = ""
    when: Template | None = None
    timeout_seconds: Template | None = None
    on_failure: OnFailure = "exit"
    retry: Retry = Retry()
    artifacts: tuple[str, ...] = ()
    """Patterns of files that it makes or changes."""
    needs: frozenset[int] = frozenset()
    """Numbers of the steps that must have ended before it begins."""

    @property
    def name(self) -> str:
        return self.description or self.id or f"step {self.number}"

    @property
    def kind(self) -> str:
        """shell, python, tool or llm."""
        return type(self.action).__name__.removesuffix("Action").lower()


class Workflow(msgspec.Struct, frozen=True):
    """One workflow, checked: every reference in it leads somewhere."""

    name: str
    parameters: Mapping[str, Parameter]
    steps: tuple[WorkflowStep, ...]
    file: Path
    line: int
    description: str = ""
    source: WorkflowSource = "yours"
    text: str = ""
    """The file's whole text, so that a run can go on as it began."""


def templates_in(value: object) -> Iterator[Template]:
    """The templates of an action's argument, at any depth."""
    if isinstance(value, Template):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from templates_in(each)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, list | tuple):
        for each in value:  # pyright: ignore[reportUnknownVariableType]
            yield from templates_in(each)  # pyright: ignore[reportUnknownArgumentType]


class RunEnd(msgspec.Struct, frozen=True):
    """How a run ended. `step`: the one that decided it."""

    run: str
    state: RunState
    exit_code: int
    error: str = ""
    step: WorkflowStep | None = None
    results: Mapping[int, StepResult] = msgspec.field(default_factory=dict[int, StepResult])


def unknown_steps(row: WorkflowRunRow, steps: Mapping[int, StepResult]) -> list[str]:
    """The names of steps that had begun and of which nobody knows how far they got."""
    return [head.name for head in row.steps if (one := steps.get(head.number)) and one.state == "interrupted"]


def stopped_sentence(row: WorkflowRunRow, steps: Mapping[int, StepResult]) -> str:
    """Where a run stopped, for people; empty: it did not."""
    if begun := unknown_steps(row, steps):
        return f"The run stopped in {' and '.join(begun)}, which had begun: how far it got is not known."
    for head in row.steps:
        result = steps.get(head.number)
        if row.state != "done" and (result is None or not result.is_over):
            if result is None:
                return f"The run stopped before step {head.number} ({head.name})."
            return f"The run stopped in step {head.number} ({head.name}), with exit code {result.exit_code}."
    return ""
