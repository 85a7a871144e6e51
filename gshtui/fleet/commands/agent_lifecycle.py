"""How agents are restarted, forked, renamed, killed, recovered and put away. Used by `commands`."""

from __future__ import annotations

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.commands.declaration import Invocation, Question, Returns, Unconfirmed, UsageError
from gshtui.fleet.core import agent_calls as calls
from gshtui.fleet.core.fleet_context import is_over
from gshtui.fleet.core.ports import FleetError, RecoveredAgents, RevivedAgent, SetupPlan
from gshtui.fleet.lifecycle.fleet import Fleet
from gshtui.text.sanitise import visible


def kill_question(row: AgentRow, losses: list[str]) -> Question:
    """The question before an agent is killed."""
    return Question(
        calls.KillAgent(agent=row.id, yes=bool(losses)),
        f"Kill {row.name} ({row.id})?",
        f"It {_state(row)}",
        "Kill",
        losses=tuple(losses),
        note="Undo with u within 60 s, if the process has not exited. Its files and conversation are kept.",
    )


def restart_question(row: AgentRow) -> Question:
    """The question before a running agent is restarted."""
    return Question(
        calls.RestartAgent(agent=row.id),
        f"Restart {row.name} ({row.id})?",
        "Its process is stopped and restarted with the same conversation.",
        "Restart",
    )


def setup_question(planned: SetupPlan, agreed: Returns[object], otherwise: Returns[object]) -> Question:
    """Whether the set-up command may run in the worktree that is about to be made; it is made all the same."""
    return Question(
        agreed,
        "Run it there?",
        f"The set-up command for new worktrees is `{visible(planned.command)}`.",
        otherwise=otherwise,
        yes="Run it",
        note=" ".join(filter(None, (planned.where, "The agent starts in either case."))),
    )


def _state(row: AgentRow) -> str:
    doing = f" · {row.doing}" if row.doing else ""
    return f"{row.state}{doing}" if row.state == "needs you" else f"is {row.state}{doing}"


class AgentLifecycle:
    """The handlers, and the questions that come before some of them."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    async def ask_restart(self, _invocation: Invocation, parameters: calls.RestartAgent) -> Question | None:
        row = await self._fleet.find(parameters.agent)
        return None if is_over(row) else restart_question(row)

    async def restart(self, _invocation: Invocation, parameters: calls.RestartAgent) -> RevivedAgent:
        return await self._fleet.restart(parameters.agent)

    async def fork(self, _invocation: Invocation, parameters: calls.ForkAgent) -> RevivedAgent:
        if parameters.setup and parameters.here:
            raise UsageError("`setup` is for a fork in a git worktree of its own.", hint="Leave out `here` or `setup`.")
        original = await self._fleet.find(parameters.agent)
        setup = parameters.setup or (parameters.yes and await self._fork_setup(original, parameters) is not None)
        wish = SpawnRequest(
            fork=original.id,
            prompt=parameters.message,
            name=parameters.name,
            worktree=parameters.branch,
            here=parameters.here,
            anew=parameters.anew,
        )
        return await self._fleet.fork(wish, setup=setup)

    async def ask_fork(self, _invocation: Invocation, parameters: calls.ForkAgent) -> Question | None:
        if parameters.setup or parameters.yes:
            return None
        planned = await self._fork_setup(await self._fleet.find(parameters.agent), parameters)
        if planned is None:
            return None
        return setup_question(planned, parameters.model_copy(update={"setup": True}), parameters)

    async def _fork_setup(self, original: AgentRow, parameters: calls.ForkAgent) -> SetupPlan | None:
        return None if parameters.here else await self._fleet.unasked_setup(original.cwd, parameters.branch)

    async def rename(self, _invocation: Invocation, parameters: calls.RenameAgent) -> AgentRow:
        if not parameters.name.strip():
            raise UsageError("No new name given.", hint=f"Write `agent rename {parameters.agent} NAME`.")
        return await self._fleet.rename(parameters.agent, parameters.name)

    async def ask_kill(self, _invocation: Invocation, parameters: calls.KillAgent) -> Question | None:
        if parameters.yes:
            return None
        row = await self._fleet.find(parameters.agent)
        try:
            losses = await self._fleet.unsaved(row.id)
        except FleetError as error:
            losses = [f"Can't tell what is unsaved: {error}"]
        if not parameters.now:
            return kill_question(row, losses) if losses else None  # what loses nothing, an undo takes back
        agreed = calls.KillAgent(agent=row.id, yes=bool(losses), now=True)
        return Question(agreed, f"End {row.name} ({row.id}) for good?", yes="End", losses=tuple(losses))

    async def kill(self, _invocation: Invocation, parameters: calls.KillAgent) -> AgentRow:
        row = await self._fleet.find(parameters.agent)
        if not parameters.yes and (unsaved := await self._fleet.unsaved(row.id)):
            raise Unconfirmed(
                f"{row.name} ({row.id}) has unsaved work. {' '.join(unsaved)}",
                hint=f"`agent kill {row.id} yes=true` (`--yes`) kills it anyway.",
                data={"agent": row.id, "unsaved": unsaved},
            )
        return await self._fleet.kill(row.id, now=parameters.now)

    async def undo(self, _invocation: Invocation, parameters: calls.UndoKill) -> AgentRow:
        return await self._fleet.undo_kill(parameters.agent)

    async def recover(self, _invocation: Invocation, parameters: calls.RecoverAgents) -> calls.RecoveryReport:
        everyone = parameters.agent == "all"
        if parameters.dry_run:
            return calls.RecoveryReport(plans=await self._fleet.plan_recovery("" if everyone else parameters.agent))
        if everyone:
            return calls.RecoveryReport(await self._fleet.recover_all())
        return calls.RecoveryReport(RecoveredAgents([await self._fleet.recover(parameters.agent)]))

    async def archive(self, _invocation: Invocation, parameters: calls.ArchiveAgent) -> AgentRow:
        return await self._fleet.archive(parameters.agent)

    async def unarchive(self, _invocation: Invocation, parameters: calls.UnarchiveAgent) -> AgentRow:
        return await self._fleet.unarchive(parameters.agent)

    async def remove(self, _invocation: Invocation, parameters: calls.RemoveAgent) -> AgentRow:
        row = await self._fleet.find(parameters.agent)
        await self._fleet.remove(row.id)
        return row
