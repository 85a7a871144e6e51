"""The actions `profiles check` and `profiles test`: a profile against the installed program, and against one screen.

`check` starts the program in a throw-away home and touches nothing else; `test` only looks. Part of the family
`profiles` (`programs/commands.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Annotated, Any, ClassVar

import msgspec
from pydantic import Field

from gshtui.bus.agent_data import AgentRow
from gshtui.commands.declaration import (
    Access,
    Action,
    Effect,
    Invocation,
    Mark,
    Outcome,
    Parameters,
    Returns,
    UsageError,
)
from gshtui.commands.shell_form import ShellForm, ShellOption
from gshtui.programs.check.check_results import CheckedStep, CheckResult
from gshtui.programs.profiles.profile import Profile
from gshtui.programs.profiles.profile_files import LoadedProfiles, ProfileError
from gshtui.programs.screen.line_styles import plain_lines
from gshtui.programs.screen.screen_reading import RuleMatch, ScreenReading, read_screen, rule_matches
from gshtui.text.sanitise import one_line, plain
from gshtui.tmux.server import PaneInfo

Look = Callable[[str], Awaitable[tuple[AgentRow, PaneInfo, tuple[str, ...]]]]
"""An agent's row, its terminal and the styled lines of its screen, of the same moment. Raises `ExpectedError`."""
_VERDICTS = {"W": "works", "P": "in part", "N": "does not work", "-": "has none"}


class CheckProfile(Parameters, Returns[CheckResult]):
    """Check an installed program in ten steps, from its first rest to its conversation after a restart.

    It is started in a throw-away home against a small model on this machine: no key, no network, about a minute. Each
    step gets W (works), P (in part) or N (does not), with the reason. The result is kept for this version of it.
    """

    COMMAND: ClassVar[str] = "profiles"
    WORD: ClassVar[str] = "check"
    SHELL = ShellForm(
        summary="Check an installed program in ten steps.", parts=frozenset(), waiting="Checking", alone=True
    )
    name: Annotated[str, ShellOption(metavar="NAME", required=True, kind="profile")] = Field(
        default="", description="The profile of the program."
    )
    whole: Annotated[bool, Mark.CODE_ONLY, ShellOption(with_json=True)] = Field(
        default=False, description="Tell the result as one, not step by step."
    )


class CheckPiece(CheckResult, frozen=True):
    """A step's result as soon as it is known; or, after the last one, all of them, which have been told."""

    over: bool = False


class ScreenTrial(msgspec.Struct, frozen=True):
    """What a profile reads from an agent's screen."""

    profile: Profile
    agent: AgentRow
    rows: tuple[str, ...]
    title: str
    input_row: int | None
    matches: tuple[RuleMatch, ...]
    reading: ScreenReading


class TryProfile(Parameters, Returns[ScreenTrial]):
    """Try a profile on an agent's screen: which rule fits which row, and the status, draft and choices that it reads.

    Nothing is typed, and the agent goes on with the profile that it has.
    """

    COMMAND: ClassVar[str] = "profiles"
    WORD: ClassVar[str] = "test"
    SHELL = ShellForm(
        ("name",), summary="Try a profile on an agent's screen.", waiting="Looking at the agent", own_hub=True
    )
    name: Annotated[str, ShellOption(metavar="NAME", required=True, kind="profile")] = Field(
        default="", description="The profile to try."
    )
    agent: Annotated[str, ShellOption(metavar="ID", required=True, kind="agent")] = Field(
        default="", description="The agent whose screen is read."
    )


def check_action(read: Callable[[], LoadedProfiles], environ: Mapping[str, str]) -> Action[CheckProfile, CheckResult]:
    """`profiles check`."""

    async def steps(name: str) -> AsyncGenerator[CheckedStep]:
        from gshtui.programs.check.check_run import check_program

        profile = await _named(read, name, "profiles check claude")
        async with aclosing(check_program(profile, environ)) as running:
            async for step in running:
                yield step

    async def check(invocation: Invocation, parameters: CheckProfile) -> CheckResult:
        found: list[CheckedStep] = []
        async with aclosing(steps(parameters.name)) as running:
            async for step in running:
                invocation.output(f"{_step_line(step)}\n")
                found.append(step)
        return CheckResult(tuple(found))

    async def pieces(name: str) -> AsyncIterator[CheckResult]:
        found: list[CheckedStep] = []
        async with aclosing(steps(name)) as running:
            async for step in running:
                yield CheckPiece((step,))
                found.append(step)
        yield CheckPiece(tuple(found), over=True)

    def streams(_: Invocation, parameters: CheckProfile) -> AsyncIterator[CheckResult] | None:
        return None if parameters.whole else pieces(parameters.name)

    return Action(
        CheckProfile,
        check,
        _render_check,
        access=Access.HUMAN_ONLY,
        effect=Effect.EXECUTE,
        streams=streams,
        positions=("name",),
    )


def trial_action(read: Callable[[], LoadedProfiles], look: Look) -> Action[TryProfile, ScreenTrial]:
    """`profiles test`."""

    async def test(_: Invocation, parameters: TryProfile) -> ScreenTrial:
        profile = await _named(read, parameters.name, "profiles test claude agent=ID")
        if not parameters.agent:
            raise UsageError("`profiles test` needs an agent, whose screen is read.", hint="`agents` lists them.")
        row, info, lines = await look(parameters.agent)
        cursor = (info.cursor_x, info.cursor_y)
        place, matches = rule_matches(profile, lines, info.title, cursor)
        reading = read_screen(profile, lines, info.title, cursor, info.width)
        return ScreenTrial(profile, row, tuple(plain_lines(lines)), info.title, place, tuple(matches), reading)

    return Action(TryProfile, test, _render_test, positions=("name", "agent"))


async def _named(read: Callable[[], LoadedProfiles], name: str, example: str) -> Profile:
    if not name:
        raise UsageError("It needs the name of a profile.", hint=f"For example: {example}")
    loaded = await asyncio.to_thread(read)
    try:
        return loaded.get(name)
    except ProfileError as error:
        about = [problem for problem in loaded.problems if f"/{name}.toml" in problem]
        raise UsageError(" ".join([*about, str(error)])) from error


def _step_line(step: CheckedStep) -> str:
    return f"{step.step:10} {step.verdict}  {plain(step.reason)}".rstrip()


def _render_check(_: Invocation, result: CheckResult) -> Outcome:
    data = {"steps": [msgspec.to_builtins(step) for step in result.steps]}
    if isinstance(result, CheckPiece) and not result.over:
        return Outcome(data, "\n".join(map(_step_line, result.steps)))
    lines = [] if isinstance(result, CheckPiece) else list(map(_step_line, result.steps))
    lines.append(f"{result.sums}. W works, P in part, N does not, - there is none.")
    return Outcome(data, "\n".join(lines), is_error=not result.is_good)


def _render_test(_: Invocation, tested: ScreenTrial) -> Outcome:
    reading, first = tested.reading, next((each for each in tested.matches if each.fits), None)
    choices = reading.read.question.choices if reading.read is not None else ()
    data: dict[str, Any] = {
        "profile": tested.profile.name,
        "agent": tested.agent.id,
        "status": reading.status,
        "doing": reading.doing,
        "draft": reading.draft,
        "input_row": None if tested.input_row is None else tested.input_row + 1,
        "rule": "" if first is None else first.rule.name,
        "rules": [
            {
                "name": each.rule.name,
                "status": each.rule.status,
                "fits": each.fits,
                "failed": each.failed,
                "rows": [row + 1 for row in each.rows],
            }
            for each in tested.matches
        ],
        "choices": [msgspec.to_builtins(one) for one in choices],
    }
    return Outcome(data, "\n".join(_test_lines(tested, first, [f"{one.key} {one.label}" for one in choices])))


def _test_lines(tested: ScreenTrial, first: RuleMatch | None, choices: Sequence[str]) -> list[str]:
    reading = tested.reading
    by = f"by the rule {_name(first)}" if first is not None else "no rule fits"
    lines = [f"{tested.profile.name} on {tested.agent.name} ({tested.agent.id}), title {plain(tested.title)!r}"]
    doing = f", {one_line(reading.doing, 80)}" if reading.doing else ""
    lines.append(f"status:  {reading.status or 'unknown'} ({by}){doing}")
    where = f"row {tested.input_row + 1}" if tested.input_row is not None else "not on the screen"
    where = where if tested.profile.input.line else "unknown, without `line` in [input]"
    lines.append(f"input:   {where}; typed in it: {plain(reading.draft)!r}")
    if reading.status == "waiting":
        asks = "a dialog, which asks nobody" if reading.dialog else " · ".join(map(plain, choices)) or "cannot be read"
        lines.append(f"choices: {asks}")
    for number, each in enumerate(tested.matches, 1):
        ahead = first is not None and each is not first and each.fits
        says = "fits" + (", but an earlier one counts" if ahead else "") if each.fits else f"no: {each.failed}"
        lines.append(f"{number:3} {_name(each):18} {each.rule.status:9} {says}")
        lines += [f"      row {row + 1}: {_row(tested.rows, row)}" for row in dict.fromkeys(each.rows)]
    return lines


def _name(match: RuleMatch | None) -> str:
    return "" if match is None else match.rule.name or "(no name)"


def _row(rows: Sequence[str], row: int) -> str:
    return one_line(rows[row], 100) if 0 <= row < len(rows) else ""
