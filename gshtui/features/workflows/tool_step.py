"""The steps that call a tool: one of our own, or one of a server; through the same door as an agent's calls."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import msgspec
from pydantic import ValidationError

from gshtui.agents.toolbox import Toolbox
from gshtui.bus.messages import ResultStatus, ToolCall
from gshtui.bus.workflow_data import StepResult, StepState
from gshtui.commands.declaration import CommandError
from gshtui.commands.line_parser import ACTION
from gshtui.commands.registry import AnyCommand, Registry
from gshtui.features.workflows import templates
from gshtui.features.workflows.definition import Template, ToolAction, WorkflowError, WorkflowStep, templates_in
from gshtui.system.ids import new_id
from gshtui.system.json_types import is_array, is_object
from gshtui.text.plain_name import similar_names
from gshtui.text.sanitise import one_line

_STATES: Mapping[ResultStatus, tuple[StepState, int]] = {
    "ok": ("done", 0),
    "denied": ("denied", 4),
    "timeout": ("timeout", 124),
    "cancelled": ("cancelled", 130),
}


class StepTools(msgspec.Struct, frozen=True):
    """The tools that steps can call."""

    registry: Registry
    toolbox: Toolbox
    run: str
    load: Callable[[], Awaitable[None]]
    """Makes the tools of servers known."""

    def check(self, step: WorkflowStep, action: ToolAction) -> None:
        """Raise `WorkflowError`: there is no such server or tool (exit code 3), or its arguments do not fit (2)."""
        named = self._command(action)
        where = f"line {step.line}: the tool {named.name}"
        templated = {name for name, value in action.args.items() if _is_open(value)}
        if named.words and ACTION in templated:
            return  # which of its actions is called, the run tells
        arguments = {name: _rendered(value, None) for name, value in action.args.items()}
        try:
            command, given = self.toolbox.usable(ToolCall("", named.name, arguments))
        except CommandError as error:
            raise WorkflowError(f"{where}: {error.message}", error.hint) from None
        given, open_ones = map(command.parameters.renamed, (given, dict.fromkeys(templated)))
        fields: dict[str, object] = command.parameters.model_json_schema().get("properties", {})
        for name in given:
            if fields and name not in fields:
                near = similar_names(name, tuple(fields), most=1)
                raise WorkflowError(
                    f"{where} has no argument {one_line(name, 60)!r}.", f"Did you mean {near[0]}?" if near else ""
                )
        try:
            command.parameters.model_validate(given)
        except ValidationError as error:
            for wrong in error.errors(include_url=False, include_context=False):
                if not wrong["loc"] or wrong["loc"][0] not in open_ones:
                    at = ".".join(map(str, wrong["loc"]))
                    raise WorkflowError(f"{where}: {at}: {one_line(wrong['msg'], 200)}.") from None

    def _command(self, action: ToolAction) -> AnyCommand:
        name = f"{action.server}__{action.name}" if action.server else action.name
        tools = {command.name: command for command in self.registry.tools()}
        if (command := tools.get(name)) is not None:
            return command
        if action.server and not any(each.startswith(f"{action.server}__") for each in tools):
            raise WorkflowError(
                f"There is no server {one_line(action.server, 60)!r} with tools here.",
                "`gsh-tui mcp ls` lists the servers; leave out `server` for a tool of gsh-tui.",
                code=3,
            )
        near = similar_names(name, tuple(tools), most=1)
        hint = f"Did you mean {near[0]}?" if near else ""
        raise WorkflowError(f"There is no tool {one_line(name, 80)!r}.", hint, code=3)

    async def call(self, action: ToolAction, values: Mapping[str, object]) -> StepResult:
        """Call the tool. Raises `TemplateError`."""
        began = time.time()
        arguments = cast("dict[str, Any]", _rendered(dict(action.args), values))
        call = ToolCall(f"step-{new_id()}", self._command(action).name, arguments)
        results, interrupted = await self.toolbox.run([call], self.run, call.id)
        result = results[0]
        state, code = _STATES.get(result.status, ("failed", 1))
        if interrupted:
            state, code = "cancelled", 130
        text = result.content
        return StepResult(
            state=state,
            stdout=text if state == "done" else "",
            stderr="" if state == "done" else text,
            exit_code=code,
            started_at=began,
            ended_at=time.time(),
            sandboxed=result.sandboxed,
        )


def _is_open(value: object) -> bool:
    """Whether what it is depends on values that are not there yet."""
    return any("{{" in template.text for template in templates_in(value))


def _rendered(value: object, values: Mapping[str, object] | None) -> object:
    """The argument with its templates rendered; with `None`, as they are written."""
    if isinstance(value, Template):
        return value.text if values is None else templates.render(value, values)
    if is_object(value):
        return {name: _rendered(each, values) for name, each in value.items()}
    if is_array(value):
        return [_rendered(each, values) for each in value]
    return value
