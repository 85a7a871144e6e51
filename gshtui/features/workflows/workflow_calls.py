"""Commands about workflows as code calls them, and their results."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from pydantic import Field

from gshtui.bus.workflow_data import StepResult, WorkflowRunRow
from gshtui.commands.declaration import Mark, Parameters, Returns
from gshtui.commands.shell_form import ShellForm, ShellGroup, ShellOption
from gshtui.features.workflows.definition import RunEnd, Workflow
from gshtui.features.workflows.workflow_library import WorkflowLibrary

PARTS = frozenset({"store", "guard"})
RUN_PARTS = frozenset({"store", "guard", "providers", "fleet"})
"""The parts of the hub that runs need: agents of steps have models, and may live in terminals."""
GROUP = ShellGroup(
    "List, show, run, resume and cancel workflows.",
    """\
Workflows: chains of steps around a model.

They are read from ~/.config/gsh/workflows/*.yml and, once the folder is trusted, .gsh/workflows/*.yml.""",
    (("list", "ls"),),
)


class ListWorkflows(Parameters, Returns[WorkflowLibrary]):
    """List the workflows of this folder, with their parameters."""

    COMMAND: ClassVar[str] = "workflow"
    WORD: ClassVar[str] = "ls"
    SHELL = ShellForm(parts=PARTS)


class ShownWorkflow(msgspec.Struct, frozen=True):
    """A workflow, or one run of it."""

    workflow: Workflow | None = None
    run: WorkflowRunRow | None = None
    results: tuple[tuple[int, StepResult], ...] = ()


class ShowWorkflow(Parameters, Returns[ShownWorkflow]):
    """Show a workflow: its parameters and steps; or a run of one: its steps with what they printed."""

    COMMAND: ClassVar[str] = "workflow"
    WORD: ClassVar[str] = "show"
    SHELL = ShellForm(("name",), parts=PARTS, examples=("gsh-tui workflow show create-git-commit",))
    name: Annotated[str, ShellOption(metavar="NAME")] = Field(description="The workflow, or the id of a run.")


class RunWorkflow(Parameters, Returns[RunEnd]):
    """Run a workflow, and wait for its end."""

    COMMAND: ClassVar[str] = "workflow"
    WORD: ClassVar[str] = "run"
    name: str = Field(description="The workflow.")
    args: Annotated[str, Mark.VERBATIM, ShellOption(absent=True)] = Field(
        default="", description="Its parameters: --amend, level=high …"
    )


class WorkflowRuns(msgspec.Struct, frozen=True):
    """Runs, newest first."""

    rows: tuple[WorkflowRunRow, ...]


class ListRuns(Parameters, Returns[WorkflowRuns]):
    """List the runs of workflows in this folder, newest first."""

    COMMAND: ClassVar[str] = "workflow"
    WORD: ClassVar[str] = "runs"
    SHELL = ShellForm(parts=PARTS)
    everywhere: Annotated[bool, ShellOption("--all", help="Those of every folder.")] = Field(
        default=False, description="Those of every folder."
    )


class ResumeRun(Parameters, Returns[RunEnd]):
    """Go on with a run where it stopped; no finished step runs again."""

    COMMAND: ClassVar[str] = "workflow"
    WORD: ClassVar[str] = "resume"
    run: str = Field(description="The id of the run, or its beginning.")
    yes: bool = Field(default=False, description="Run a step again that had begun when its process died.")


class CancelRun(Parameters, Returns[str]):
    """End a run, with everything that its steps started; also one that another window or shell started."""

    COMMAND: ClassVar[str] = "workflow"
    WORD: ClassVar[str] = "cancel"
    SHELL = ShellForm(("run",), parts=PARTS)
    run: Annotated[str, ShellOption(metavar="RUN")] = Field(
        default="", description="The id of the run, or its beginning; empty: the only one."
    )
