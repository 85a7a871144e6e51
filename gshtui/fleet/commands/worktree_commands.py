"""The command `worktree finish`: merges the branch of a worktree, ends the agents that work there, and removes both.

A person is asked first and shown what will be done, which is found on paper: a refusal changes nothing. Registered by
the hub with the fleet's commands.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
from msgspec.structs import replace
from pydantic import Field

from gshtui.bus.agent_data import AgentRow
from gshtui.commands.declaration import (
    Access,
    Action,
    CommandError,
    Effect,
    Invocation,
    Mark,
    Outcome,
    Parameters,
    Question,
    Returns,
    Unconfirmed,
    Where,
)
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.commands.shell_form import ShellForm, ShellGroup, ShellOption
from gshtui.fleet.core.agent_calls import FLEET_PARTS, ListedAgent
from gshtui.fleet.core.fleet_context import is_over
from gshtui.fleet.core.ports import FleetError
from gshtui.fleet.lifecycle.fleet import Fleet
from gshtui.text.plain_name import known_names
from gshtui.text.sanitise import one_line, visible
from gshtui.tools.git.worktree import Worktree, find_worktree, list_worktrees
from gshtui.tools.git.worktree_finish import FinishedWorktree, FinishPlan, How, finish_worktree, plan_finish
from gshtui.tools.git.worktree_setup import Consent, place_of

if TYPE_CHECKING:
    from gshtui.guard.sandbox.sandboxes import Sandboxes


class TearDown(msgspec.Struct, frozen=True):
    """The command that a worktree is torn down with, and how consent to it is asked for."""

    argv: tuple[str, ...]
    consent: Consent
    output: Path
    """Folder that keeps what it prints."""
    sandboxes: Sandboxes | None = None
    """Gives the sandbox that it runs in; `None`: it runs without."""


class FinishWorktree(Parameters, Returns[FinishedWorktree]):
    """Merge a worktree's branch into the one that it came from, then remove the worktree and the branch.

    NAME is an agent, a branch or the worktree's folder. Nothing is merged if files are uncommitted or conflict: you are
    told which. Agents that still work there are ended, after a question.
    """

    COMMAND: ClassVar[str] = "worktree"
    WORD: ClassVar[str] = "finish"
    SHELL = ShellForm(
        ("name",),
        summary="Merge a worktree's branch, then remove both.",
        parts=FLEET_PARTS,
        waiting="Finishing the worktree",
        yes="Do not ask, even if agents still work there.",
        own_hub=True,
    )

    name: Annotated[str, ShellOption(kind="agent", required=True)] = Field(
        default="", description="Agent, branch or folder."
    )
    commit: bool = Field(default=False, description="Commit what is uncommitted first, with --message.")
    message: Annotated[str, Mark.VERBATIM, ShellOption("--message -m", metavar="TEXT")] = Field(
        default="", description="Message of the commit that is made."
    )
    into: Annotated[str, ShellOption(metavar="BRANCH")] = Field(
        default="", description="Branch to merge into; by default the one that it came from."
    )
    how: Annotated[How, ShellOption("--how")] = Field(
        default="merge",
        description="merge: a fast-forward, or else a merge commit; squash: one commit; rebase: its commits, anew.",
    )
    teardown: Annotated[bool, ShellOption("--teardown")] = Field(
        default=False, description="Run the configured tear-down command without asking about it."
    )
    skip_teardown: Annotated[bool, ShellOption("--no-teardown")] = Field(
        default=False, description="Do not run the configured tear-down command."
    )
    yes: bool = Field(default=False, description="End the agents that still work there, and lose copied files.")


_GROUP = ShellGroup(
    "Git worktrees of agents: finish one.",
    """\
The git worktrees that agents work in.

`agent spawn --worktree BRANCH` and `agent fork` make one; `worktree finish` merges it and removes it.""",
)


def commands(fleet: Fleet, tear_down: TearDown) -> list[AnyCommand]:
    """The command, on this fleet."""
    finisher = _Finisher(fleet, tear_down)
    return [
        group(
            "worktree",
            "Finish a git worktree: merge its branch, then remove both",
            Action(
                FinishWorktree,
                finisher.finish,
                _render,
                finisher.ask,
                effect=Effect.EXECUTE,
                where=(Where("agents.finish", _of_agent),),
                positions=("name", "message"),
            ),
            family="agents",
            bare="",
            shell=_GROUP,
            access=Access.HUMAN_ONLY,
        )
    ]


def _of_agent(row: ListedAgent) -> FinishWorktree | None:
    return FinishWorktree(name=row.id) if row.terminal and row.worktree else None


class _Finisher:
    def __init__(self, fleet: Fleet, tear_down: TearDown) -> None:
        self._fleet = fleet
        self._tear_down = tear_down

    async def ask(self, invocation: Invocation, wanted: FinishWorktree) -> Question | None:
        if wanted.yes:
            return None
        tree, agents = await self._found(invocation, wanted.name)
        plan = await self._plan(tree, wanted)
        argv = () if wanted.skip_teardown else self._tear_down.argv
        where = await place_of(argv, Path(tree.path), self._tear_down.sandboxes) if argv else ""
        runs = f" First `{visible(shlex.join(argv))}` runs in it.{' ' if where else ''}{where}" if argv else ""
        ended = tuple(f"{row.name} ({row.id}) works there, and is ended." for row in agents)
        return Question(
            wanted.model_copy(update={"yes": True, "teardown": bool(argv)}),
            f"Finish {tree.branch}?",
            f"{_sentence(plan.text)}{runs}",
            "Finish",
            losses=(*ended, *(f"{_sentence(loss)} will be lost." for loss in plan.lost)),
            note=f"Its commits stay in {plan.base}.",
            doing="Finishing the worktree",
        )

    async def finish(self, invocation: Invocation, wanted: FinishWorktree) -> FinishedWorktree:
        tree, agents = await self._found(invocation, wanted.name)
        plan = await self._plan(tree, wanted)
        if await asyncio.to_thread(_is_inside, invocation.cwd, tree):
            raise CommandError(f"{tree.shown} is your current folder.", hint="Finish it from another one.")
        if (agents or plan.lost) and not wanted.yes:
            named = ", ".join(f"{row.name} ({row.id})" for row in agents)
            why = f"{named} still work{'s' if len(agents) == 1 else ''} in {tree.shown}" if agents else ""
            lost = f"{tree.shown} has {' and '.join(plan.lost)}, which would be lost" if plan.lost else ""
            raise Unconfirmed(
                f"{'; '.join(filter(None, (why, lost)))}.",
                hint="With yes=true (--yes) it is finished anyway.",
                data={"agents": [row.id for row in agents], "lost": list(plan.lost)},
            )
        for row in agents:
            await self._fleet.kill(row.id, now=True)
        down = self._tear_down
        done = await finish_worktree(
            plan,
            how=wanted.how,
            message=wanted.message,
            teardown=() if wanted.skip_teardown else down.argv,
            consent=down.consent,
            agreed=wanted.teardown,
            output=down.output,
            sandboxes=down.sandboxes,
        )
        for row in self._fleet.rows():  # without their folder they cannot be started again
            if is_over(row) and row.worktree and Path(row.worktree) == Path(tree.path):
                try:
                    await self._fleet.archive(row.id)
                except FleetError as error:
                    said = f"{row.name} ({row.id}) was not archived: {error.message}"
                    done = replace(done, notes=(*done.notes, said))
        return done

    async def _plan(self, tree: Worktree, wanted: FinishWorktree) -> FinishPlan:
        return await plan_finish(tree, base=wanted.into, how=wanted.how, message=wanted.message, commit=wanted.commit)

    async def _found(self, invocation: Invocation, name: str) -> tuple[Worktree, list[AgentRow]]:
        """The worktree that is meant, and the agents that work in it. Raises `CommandError`: there is none."""
        if not name:
            raise CommandError("Which worktree is to be finished?", hint="Name an agent, a branch or its folder.")
        await self._fleet.refresh()
        row = await self._agent(name)
        if row is not None:
            if not row.worktree:
                raise CommandError(f"{row.name} ({row.id}) has no worktree of its own.", hint="It works in its folder.")
            tree = await find_worktree(Path(row.worktree))
        else:
            tree = await self._tree(invocation.cwd, name)
        rows = [row for row in self._fleet.rows() if not is_over(row)]
        return tree, await asyncio.to_thread(_those_inside, rows, tree)

    async def _agent(self, name: str) -> AgentRow | None:
        try:
            return await self._fleet.find(name)
        except FleetError as error:
            if error.kind == "unknown":
                return None
            raise

    async def _tree(self, cwd: Path, name: str) -> Worktree:
        trees = await list_worktrees(cwd)
        if (found := await asyncio.to_thread(_named, trees, name, cwd)) is not None:
            return found
        raise CommandError(
            f"There is no agent, branch or worktree {one_line(visible(name), 80)}.",
            hint=known_names("worktrees", (tree.branch or tree.shown for tree in trees[1:])),
        )


def _is_inside(folder: Path, tree: Worktree) -> bool:
    return folder.resolve().is_relative_to(Path(tree.path).resolve())


def _those_inside(rows: Sequence[AgentRow], tree: Worktree) -> list[AgentRow]:
    return [row for row in rows if _is_inside(Path(row.worktree or row.cwd), tree)]


def _named(trees: Sequence[Worktree], name: str, cwd: Path) -> Worktree | None:
    folder = (cwd / Path(name).expanduser()).resolve()
    return next((tree for tree in trees if tree.branch == name or Path(tree.path).resolve() == folder), None)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _render(_invocation: Invocation, done: FinishedWorktree) -> Outcome:
    data = {
        "branch": done.branch,
        "base": done.base,
        "path": done.path,
        "commits": done.commits,
        "commit": done.commit,
        "tip": done.tip,
        "notes": list(done.notes),
    }
    return Outcome(data, _sentence(done.text))
