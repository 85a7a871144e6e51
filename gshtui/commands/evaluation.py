"""Runs a line: its commands in order, each with the result of the one before it, and the lines inside values first.

A command in a pipe or in a substitution passes the same doors as by itself: access here, questions and approval in the
`run_stage` of the caller's invocation. What can be seen to be wrong without running anything is refused before the
first command runs; the first error stops the line.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec.structs import replace

from gshtui.commands.declaration import (
    CommandError,
    Invocation,
    Outcome,
    ProgramView,
    Question,
    RunStage,
    Unconfirmed,
    UsageError,
)
from gshtui.commands.execution import bound_parameters, has_value, run_asked, run_parsed
from gshtui.commands.language import bind, check_stage, located, read_line
from gshtui.commands.line_syntax import Pipeline, Script, SourceSpan, Stage, substitutions
from gshtui.commands.line_values import LineValue
from gshtui.commands.registry import AnyCommand, Registry, may_run, refused
from gshtui.text.sanitise import one_line

Ask = Callable[[Question], Awaitable[bool]]
_LONGEST = 200
"""Most characters of what a command printed in the sentence that says that it failed."""


async def run_line(registry: Registry, line: str, invocation: Invocation) -> Outcome:
    """Run a line of the language. Raises `UsageError`: with its position; the line is not of the language, or does not
    correctly use its commands. Raises `CommandError`: a command could not do it.
    """
    return await run_script(registry, read_line(registry, line), invocation)


async def run_script(registry: Registry, script: Script, invocation: Invocation) -> Outcome:
    """Run a line that was parsed; the result of each part of it becomes the variable `last`. Raises as `run_line`."""
    evaluation = _Evaluation(registry, script, invocation)
    if script.only_stage is None:
        evaluation.check()
    return await evaluation.run()


def result_of(outcome: Outcome) -> LineValue:
    """What an outcome gives to a variable, a pipe or a value: its data and its whole text."""
    text = outcome.full or outcome.text
    return LineValue(text if outcome.data is None else outcome.data, text, "computed")


def asking(registry: Registry, ask: Ask, run: RunStage) -> RunStage:
    """Runs the commands of a line after asking a person what each of them asks. `run`: runs those that ask nothing."""

    async def run_stage(command: AnyCommand, parameters: Any, invocation: Invocation) -> Outcome:
        if not has_value(command):
            return await run(command, parameters, invocation)
        outcome = await run_asked(registry, bound_parameters(command, parameters), invocation, ask)
        if outcome is None:
            raise Unconfirmed(f"{command.name} was not run, because you did not agree.")
        return outcome

    return run_stage


class _Evaluation(msgspec.Struct, frozen=True):
    registry: Registry
    script: Script
    invocation: Invocation
    is_inside: bool = False
    """It is a line inside a value."""

    def check(self) -> None:
        """Refuse what is wrong with any command, before the first one runs. Raises `UsageError`."""
        for pipeline in self.script.pipelines:
            for number, stage in enumerate(pipeline.stages):
                check_stage(self.registry, stage, self.script.source, self.invocation.caller, is_piped=number > 0)
                for argument in stage.arguments:
                    for inner in substitutions(argument.value):
                        replace(self, script=inner.script).check()

    async def run(self) -> Outcome:
        outcomes: list[Outcome] = []
        for pipeline in self.script.pipelines:
            if outcomes:
                self._refuse_failed(outcomes[-1], self.script.pipelines[len(outcomes) - 1].stages[-1])
            outcomes.append(await self._pipeline(pipeline))
            if not self.is_inside:
                self.invocation.variables.keep_last(result_of(outcomes[-1]))
        return outcomes[0] if len(outcomes) == 1 else _together(outcomes)

    async def _pipeline(self, pipeline: Pipeline) -> Outcome:
        outcome: Outcome | None = None
        for number, stage in enumerate(pipeline.stages):
            if outcome is not None:
                self._refuse_failed(outcome, pipeline.stages[number - 1])
            outcome = await self._stage(stage, None if outcome is None else result_of(outcome))
        assert outcome is not None
        return outcome

    async def _stage(self, stage: Stage, piped: LineValue | None) -> Outcome:
        if stage.name in self.registry and not may_run(self.registry.get(stage.name), self.invocation.caller):
            raise located(refused(stage.name, self.invocation.caller), self.script.source, stage.span)
        results: dict[SourceSpan, LineValue] = {}
        for argument in stage.arguments:
            for inner in substitutions(argument.value):
                outcome = await replace(self, script=inner.script, is_inside=True).run()
                self._refuse_failed(outcome, inner.script.pipelines[-1].stages[-1])
                results[inner.span] = replace(result_of(outcome), origin="readable" if inner.readable else "computed")
        source, variables = self.script.source, self.invocation.variables
        parsed = bind(self.registry, stage, source, variables, results, piped)
        with self._named(stage):
            run = self.invocation.run_stage or run_parsed
            return await run(parsed.command, parsed.parameters, self.invocation)

    @contextmanager
    def _named(self, stage: Stage) -> Generator[None]:
        """Say which command failed, where there are several."""
        try:
            yield
        except CommandError as error:
            if self.is_inside or self.script.only_stage is None:
                if not error.message.startswith(stage.name):
                    error.message = f"{stage.name}: {error.message}"
                    error.args = (error.message,)
                located(error, self.script.source, stage.span)
            elif isinstance(error, UsageError):
                located(error, self.script.source, stage.span)
            raise

    def _refuse_failed(self, outcome: Outcome, stage: Stage) -> None:
        """Raise `CommandError` if a command failed whose result is needed, or which something follows."""
        if isinstance(outcome.view, ProgramView):
            error = UsageError(
                f"{stage.name} runs in a terminal, so nothing can use its result.",
                hint="Put it by itself; `bash` gives what a program printed.",
            )
            raise located(error, self.script.source, stage.span)
        if outcome.is_error or outcome.timed_out:
            printed = one_line(outcome.text, _LONGEST)
            error = CommandError(
                f"{stage.name} failed, so the rest of the line was not run{f': {printed}' if printed else '.'}",
                data=outcome.data,
            )
            raise located(error, self.script.source, stage.span)


def _together(outcomes: list[Outcome]) -> Outcome:
    """The outcomes of several pipelines as one: all texts, and a list of the data."""
    texts = [outcome.text for outcome in outcomes if outcome.text and not outcome.shown]
    return replace(
        outcomes[-1],
        data=[outcome.data if outcome.data is not None else outcome.text for outcome in outcomes],
        text="\n".join(texts),
        full="",
        notes="",
        cut=False,
        plain="",
        aside="",
        bytes=0,
        shown=all(outcome.shown for outcome in outcomes),
        parts=tuple(outcomes),
        is_value=False,
    )
