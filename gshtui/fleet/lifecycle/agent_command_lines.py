"""The command line of each agent: our own program with its spec, or somebody else's program.

Chooses argv and environment; refuses a program that does not exist. Prompts go into a spec file (0600, in the data
folder), never into our arguments. The fleet uses it as its launcher.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from gshtui.bus.agent_data import AgentRow, GuardMode, SpawnRequest
from gshtui.commands.declaration import CommandError
from gshtui.fleet.core.agent_programs import PERSON, Programs, find_program
from gshtui.fleet.core.ports import AgentStart, FleetError, LaunchTerms, OwnWorktree, SetupPlan
from gshtui.guard.modes import inherited, strictest
from gshtui.guard.secrets.child_environment import named_variables
from gshtui.programs.profiles import program_modes
from gshtui.programs.profiles.profile import Profile
from gshtui.system.caller_environment import caller_environ, program_environment
from gshtui.text.plain_name import known_names

if TYPE_CHECKING:
    from gshtui.fleet.native.spec import Spec
    from gshtui.tools.git.worktree_setup import Consent


_RESUMED = "resumed its conversation"
_UNKNOWN: tuple[GuardMode, ...] = ("ask",)
"""What another vendor's program that shows no mode may at most have others do."""


class CommandLines:
    """Makes command lines, and worktrees."""

    def __init__(
        self,
        data: Path,
        terms: LaunchTerms,
        hub: Callable[[], str] = lambda: "",
        *,
        programs: Programs | None = None,
        consent: Callable[[str], Consent] | None = None,
        notice: Callable[[str, str], None] = lambda text, about: None,
    ) -> None:
        """
        Args:
            hub: returns the socket that agents report to; empty if there is none.
            programs: somebody's programs.
            consent: asks for consent to a worktree's set-up command for an agent; without it, nobody consents.
            notice: receives a sentence for people, and the agent concerned.
        """
        self._data = data
        self._programs = programs or Programs()
        self._terms = terms
        self._hub = hub
        self._consent = consent
        self._notice = notice

    async def agreed(self, request: SpawnRequest, above: Mapping[str, AgentRow | None]) -> SpawnRequest:
        """The request with the mode that it comes to. Raises `FleetError`."""
        limit = await asyncio.to_thread(self._limit, above) if above else ""
        if request.cli or request.profile:
            environ = program_environment(caller_environ(), "") | named_variables(request.env)
            mode = await self._mode(request, environ, limit=limit, start=inherited(self._terms.mode_of("")))
            return msgspec.structs.replace(request, mode=mode)
        return msgspec.structs.replace(request, mode=strictest(request.mode or limit, limit)) if limit else request

    async def _mode(
        self,
        request: SpawnRequest,
        environ: Mapping[str, str],
        *,
        limit: GuardMode | Literal[""] = "",
        start: GuardMode = "ask",
    ) -> GuardMode | Literal[""]:
        """Our mode that a program is to be started in; empty: its own, which nothing can be said about.

        Args:
            limit: the widest, where an agent starts it, or it is a copy; empty: a person starts it.
            start: where none is asked for.

        Raises `FleetError`: it has no mode like the one that is asked for, or cannot be held to the limit.
        """
        profile, argv = await self._programs.requested(request)
        asked = request.mode
        if asked and (why := program_modes.refusal(profile, asked, argv)):
            raise FleetError("invalid", why, hint=_mode_hint(profile))
        if limit and (wider := program_modes.widened(profile, argv)):
            said = (
                f"{wider} lets {profile.title} do more than its mode does; started by an agent, it is held to {limit}."
            )
            raise FleetError("limit", said, hint="Leave that out.")
        if program_modes.chosen(profile, argv):
            own = program_modes.mode_of_argv(profile, argv)
            if limit and (own is None or strictest(own, limit) != own):
                said = f"The command line of {profile.title} chooses a mode by itself; it may be no wider than {limit}."
                raise FleetError("limit", said, hint="Leave that out: it is started in yours.")
            return ""
        offered = program_modes.offered(profile)
        if not offered:
            return ""
        wanted = strictest(asked or limit or start, limit or "yolo")
        if asked and asked == wanted and not await self._has_mode(profile, argv, asked, request, environ):
            said = f"The {profile.title} that is installed here has no mode like {asked}."
            raise FleetError("invalid", said, hint=_mode_hint(profile))
        for mode in program_modes.within(profile, wanted):
            if mode == asked or await self._has_mode(profile, argv, mode, request, environ):
                return mode
        if limit:
            raise FleetError("limit", f"{profile.title} has no mode that is as strict as {limit}, which holds for it.")
        return offered[0]

    async def _has_mode(
        self, profile: Profile, argv: Sequence[str], mode: GuardMode, request: SpawnRequest, environ: Mapping[str, str]
    ) -> bool:
        """Whether this version of a program has the mode, by its help where not every one has."""
        from gshtui.programs.session import launch
        from gshtui.text.linear_regex import compile_linear

        rule = program_modes.passed_rule(profile, mode)
        if rule is None or not rule.help or request.host:
            return True
        words = (await asyncio.to_thread(find_program, argv[0], Path(request.cwd or ".")), *argv[1:])
        said = await launch.help_text(words, environ)
        return not said or any(compile_linear(rule.help).search(line) for line in said.split("\n"))

    def _limit(self, above: Mapping[str, AgentRow | None]) -> GuardMode:
        """The strictest mode of these agents, at most `auto`. Blocks for a moment."""
        from gshtui.fleet.native.spec import SpecError, read_spec, spec_path

        modes: list[GuardMode] = []
        for id, row in above.items():
            if row is not None and row.kind == "cli":
                shown = row.program_mode.like if row.program_mode is not None else ""
                known: list[GuardMode] = [mode for mode in (row.held_to, shown) if mode]
                modes += known or list(_UNKNOWN)
                continue
            modes.append(self._terms.mode_of(id))
            with contextlib.suppress(SpecError):
                modes.append(read_spec(spec_path(self._data, id)).mode)
        return inherited(strictest(*modes))

    async def start(self, row: AgentRow, request: SpawnRequest) -> AgentStart:
        """For a new agent. Raises `FleetError`."""
        if row.speaks_events:
            return await self._native(row, request)
        return await self._program(row, request, again=False)

    async def restart(self, row: AgentRow, request: SpawnRequest) -> AgentStart:
        """For one that was there before. Raises `FleetError`."""
        if row.speaks_events:
            return replace(await self._native_again(row, request), how=_RESUMED)
        return await self._program(row, request, again=True)

    async def plan(self, row: AgentRow, request: SpawnRequest) -> AgentStart:
        """What `restart` would make of its conversation, with nothing to run. Raises `FleetError`."""
        if row.speaks_events:
            return AgentStart((), external_id=row.session, how=_RESUMED)
        return await self._programs.plan(row, request, _environment(row))

    async def worktree(self, row: AgentRow, branch: str, *, setup: bool = False) -> OwnWorktree:
        """Its git worktree: a new one, or the one that the branch has already. Raises `FleetError`. `setup`: a person
        agreed to the set-up command; then it also runs in a worktree that was there.
        """
        from gshtui.tools.git.worktree import list_worktrees
        from gshtui.tools.git.worktree_create import create_worktree

        terms, cwd = self._terms, Path(row.cwd)
        try:
            there = next((tree for tree in await list_worktrees(cwd) if tree.branch == branch), None)
            if there is not None and not there.main and not there.gone:
                self._notice(
                    f"{row.name} ({row.id}) works in {there.shown}, where {branch} was already checked out.", row.id
                )
                if setup:
                    self._tell(row, branch, await self._set_up(row, Path(there.path), setup))
                return OwnWorktree(Path(there.path))
            made = await create_worktree(cwd, branch, inside=terms.worktrees_inside)
        except CommandError as error:
            raise FleetError("invalid", error.message, hint=error.hint) from error
        place, new_branch = Path(made.path), branch if made.new_branch else ""
        try:
            self._tell(row, branch, [*made.notes, *await self._set_up(row, place, setup)])
        except BaseException:
            await asyncio.shield(self.discard_worktree(place, new_branch))
            raise
        return OwnWorktree(place, is_new=True, new_branch=new_branch)

    async def fork_worktree(self, row: AgentRow, branch: str, *, setup: bool = False) -> tuple[Path, Path]:
        """A git worktree on a new branch, equal to the one that its folder is in; that, and its folder there.

        Raises `FleetError`.
        """
        from gshtui.tools.git.worktree import find_worktree
        from gshtui.tools.git.worktree_fork import fork_worktree

        terms, cwd = self._terms, Path(row.cwd)
        try:
            made = await fork_worktree(cwd, branch, inside=terms.worktrees_inside)
            top = Path((await find_worktree(cwd)).path)
        except CommandError as error:
            raise FleetError("invalid", error.message, hint=error.hint) from error
        try:
            self._tell(row, branch, [*made.notes, *await self._set_up(row, Path(made.path), setup)])
            inner = await asyncio.to_thread(lambda: cwd.resolve().relative_to(top.resolve()))
            folder = Path(made.path) / inner
            await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
        except BaseException as error:
            await asyncio.shield(self.discard_worktree(Path(made.path), branch))
            if isinstance(error, OSError):
                raise FleetError("invalid", f"The worktree has no folder for it: {error.strerror or error}.") from error
            raise
        return Path(made.path), folder

    async def unasked_setup(self, cwd: Path, branch: str) -> SetupPlan | None:
        """The set-up command of a new worktree about which nobody here is asked once that is made."""
        from gshtui.tools.git.worktree import list_worktrees
        from gshtui.tools.git.worktree_setup import place_of

        argv = self._terms.setup
        if not argv or self._consent is not None:
            return None
        try:
            if branch and any(tree.branch == branch for tree in await list_worktrees(cwd)):
                return None  # it is not run in one that is there
        except CommandError:
            return None  # the start says why
        return SetupPlan(shlex.join(argv), await place_of(argv, cwd, self._terms.sandboxes()))

    async def _set_up(self, row: AgentRow, worktree: Path, agreed: bool) -> list[str]:
        """Run the set-up command there if somebody consents, or has `agreed`; what became of it, a sentence each."""
        from gshtui.tools.git.worktree_setup import no_consent, run_setup

        argv = self._terms.setup
        if not argv:
            return ["There is no set-up command: `[worktrees] setup` of the configuration has it."] if agreed else []
        ran = await run_setup(
            argv,
            worktree,
            no_consent if self._consent is None else self._consent(row.id),
            agreed=agreed,
            output=self._data / "worktrees",
            sandboxes=self._terms.sandboxes(),
        )
        return [ran.note]

    def _tell(self, row: AgentRow, branch: str, notes: Sequence[str]) -> None:
        for note in notes:
            self._notice(f"Worktree {branch}: {note}", row.id)

    async def discard_worktree(self, worktree: Path, branch: str) -> None:
        """Take that back. Never raises `FleetError`. `branch`: empty: it was there before, and stays."""
        from gshtui.tools.git.worktree import discard_worktree, list_worktrees

        try:
            main = (await list_worktrees(worktree))[0]
        except CommandError as error:
            self._notice(f"The worktree {worktree} of an agent that did not start may be left: {error.message}", "")
            return
        await discard_worktree(Path(main.path), worktree, branch)

    async def unsaved(self, row: AgentRow) -> list[str]:
        """What is uncommitted or unpushed in its worktree, or a sentence that this is unknown."""
        from gshtui.tools.git.worktree_state import unsaved_work

        if not row.worktree:
            return []
        try:
            return await unsaved_work(Path(row.worktree))
        except CommandError as error:
            return [f"Cannot check its worktree {row.worktree} for unsaved work: {error.message}"]

    async def _native(self, row: AgentRow, request: SpawnRequest) -> AgentStart:
        from gshtui.agents.personas import load_personas
        from gshtui.fleet.native.spec import SpecError, make_spec

        try:
            personas = await asyncio.to_thread(load_personas, Path(row.home))
            persona = personas.get(request.persona) if request.persona else None
            spec = make_spec(row, request, persona, self._terms, data=self._data, hub=self._hub())
        except KeyError as error:
            raise FleetError("invalid", str(error.args[0])) from error
        except SpecError as error:
            raise FleetError("invalid", error.message, hint=error.hint) from error
        return await self._from_spec(row, spec)

    async def _native_again(self, row: AgentRow, request: SpawnRequest) -> AgentStart:
        """Start it from its own spec, but without repeating the prompt it was given."""
        from gshtui.fleet.native.spec import SpecError, read_spec, spec_path

        try:
            spec = await asyncio.to_thread(read_spec, spec_path(self._data, row.id))
        except SpecError:
            # Its conversation already contains the prompt; a new spec must not repeat it.
            return await self._native(row, msgspec.structs.replace(request, prompt=""))
        spec = msgspec.structs.replace(spec, hub=self._hub(), session=row.session, tmux_socket=row.socket)
        return await self._from_spec(row, spec)

    async def _from_spec(self, row: AgentRow, spec: Spec) -> AgentStart:
        from gshtui.fleet.native.spec import SpecError, native_argv, write_spec

        try:
            file = await asyncio.to_thread(write_spec, spec)
        except SpecError as error:
            raise FleetError("invalid", error.message, hint=error.hint) from error
        return AgentStart(tuple(native_argv(row, file)), _environment(row))

    async def _program(self, row: AgentRow, request: SpawnRequest, *, again: bool) -> AgentStart:
        # What this machine's variables say holds on no other.
        environ = named_variables(row.env) if row.host else _environment(row)
        mode, by = row.held_to, PERSON if row.held_by == PERSON else ""
        if again and mode in ("", "yolo"):  # that one is given for one start
            above = {request.parent: None} if request.parent else {}
            mode, by = (await self.agreed(msgspec.structs.replace(request, mode=""), above)).mode, ""
        return await self._programs.start(row, request, self._data, environ, again=again, mode=mode, by=by)


def _environment(row: AgentRow) -> dict[str, str]:
    """The agent's variables: those of this process that are passed on, and the ones that it was given."""
    return program_environment(caller_environ(), row.id) | named_variables(row.env)


def _mode_hint(profile: Profile) -> str:
    """Which modes it does have."""
    return known_names("modes", offered) if (offered := program_modes.offered(profile)) else "Leave the mode out."
