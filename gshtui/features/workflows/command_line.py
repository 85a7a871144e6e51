"""`gsh-tui workflow run NAME` and `workflow resume RUN`: a workflow in this terminal, with options of its own."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gshtui.cli.options import MODEL, PROVIDER, json_option, mode_option, set_option, yes_option

if TYPE_CHECKING:
    from gshtui.bus.agent_data import GuardMode
    from gshtui.features.workflows.definition import Parameter, Workflow
    from gshtui.features.workflows.workflow_library import WorkflowLibrary

_YES = "Allow, without asking, what fits in the sandbox or clearly stays inside the project."
_MODE = "What runs unasked: plan (reads), ask, edit (the project), auto (in the sandbox), yolo (everything)."


class _Workflows(click.Group):
    """A command for each workflow of the folder, made from its parameters."""

    @functools.cached_property
    def _library(self) -> WorkflowLibrary:
        from gshtui.features.workflows.workflow_library import read_library

        return read_library(Path.cwd())

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self._library.found)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = self._library.found.get(cmd_name)
        return None if found is None else _command(found)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Options before the name are the workflow's, as those after it."""
        known = [option for option in _OPTIONS.params if isinstance(option, click.Option)]
        options = {word: option for option in known for word in option.opts}
        at = 0
        while at < len(args) and (option := options.get(args[at].partition("=")[0])) is not None:
            at += 1 if option.is_flag or "=" in args[at] else 2
        return super().parse_args(ctx, [*args[at : at + 1], *args[:at], *args[at + 1 :]])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from gshtui.features.workflows.definition import WorkflowError

        if args and not args[0].startswith("-"):
            try:
                self._library.get(args[0])
            except WorkflowError as error:
                raise click.UsageError(f"{error.message} {error.hint}".strip(), ctx) from error
        return super().resolve_command(ctx, args)


@click.group("run", cls=_Workflows, short_help="Run a workflow.", subcommand_metavar="NAME [--PARAMETER …]")
def workflow_run() -> None:
    """Run a workflow, with its parameters as options.

    What its steps print goes to standard error, and the last step's output to standard output. Each step passes the
    guard. The exit code is that of the step that failed; 2: the workflow or its parameters are wrong, 3: a server or a
    model cannot be reached, 4: a step was not allowed.

    \b
    Examples:
      gsh-tui workflow run create-git-commit --amend
      gsh-tui workflow run create-git-commit --help
    """


def _options(made: Any) -> Any:
    made = json_option(made)
    made = set_option(made)
    made = yes_option(_YES)(made)
    made = mode_option(_MODE)(made)
    made = click.option("--model", type=MODEL, default="", metavar="NAME", help="Model of llm steps that name none.")(
        made
    )
    return click.option(
        "--provider", type=PROVIDER, default="", metavar="NAME", help="Provider of llm steps that name none."
    )(made)


_OPTIONS = click.command()(_options(lambda: None))
"""Those that every workflow has."""


def _command(workflow: Workflow) -> click.Command:
    def call(
        provider: str,
        model: str,
        mode: GuardMode | None,
        yes: bool,
        flags: dict[str, str],
        as_json: bool,
        **given: Any,
    ) -> int:
        if yes and mode:
            raise click.UsageError("--yes and --mode cannot be combined; choose one.")
        from gshtui.features.workflows.workflow_process import WorkflowOptions, run_workflow

        named = {name: given[name.lower()] for name in workflow.parameters}
        values = {name: value for name, value in named.items() if value is not None}
        return run_workflow(WorkflowOptions(workflow.name, values, provider, model, mode, yes, as_json, flags))

    made: Any = _options(call)
    for parameter in reversed(list(workflow.parameters.values())):
        made = _option(parameter)(made)
    return click.command(workflow.name, help=workflow.description or None)(made)


def _option(parameter: Parameter) -> Any:
    from gshtui.features.workflows.parameters import option

    word = option(parameter.name)
    said = [parameter.help] if parameter.help else []
    if parameter.default is not None:
        said.append(f"[default: {str(parameter.default).lower() if parameter.type == 'bool' else parameter.default}]")
    said += ["[required]"] if parameter.required else []
    name, text = parameter.name.lower(), "  ".join(said)
    if parameter.type == "bool":
        return click.option(f"--{word}/--no-{word}", name, default=None, help=text)
    kind = click.Choice(parameter.choices) if parameter.type == "enum" else str
    metavar = None if parameter.type == "enum" else {"int": "N", "float": "NUMBER"}.get(parameter.type, "TEXT")
    return click.option(f"--{word}", name, default=None, type=kind, metavar=metavar, help=text)


@click.command(name="resume", short_help="Go on with a run that stopped.")
@click.argument("run_id", metavar="RUN")
@_options
def workflow_resume(
    run_id: str,
    provider: str,
    model: str,
    mode: GuardMode | None,
    yes: bool,
    flags: dict[str, str],
    as_json: bool,
) -> int:
    """Go on with a run where it stopped: no step that was finished runs again.

    RUN is an id of `gsh-tui workflow runs`, or its beginning. A step that had begun when its process died may have done
    part of its work: it only runs again with a yes, or with --yes.
    """
    from gshtui.features.workflows.workflow_process import WorkflowOptions, run_workflow

    return run_workflow(WorkflowOptions("", {}, provider, model, mode, yes, as_json, flags, resume=run_id))
