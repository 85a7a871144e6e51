"""Other people's programs as agents: their profiles, and how each is started, typed to and observed.

Keeps the profiles once they are read, and one `CliSession` per terminal; refuses a program that does not exist. Used by
the fleet's launcher, transports and follower.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from gshtui.bus.agent_data import AgentRow, GuardMode, OpenQuestion, ProgramMode, SpawnRequest, without_choices
from gshtui.bus.events.hub_events import Noticed
from gshtui.fleet.core import agent_tables
from gshtui.fleet.core.ports import AgentStart, FleetError, Kind
from gshtui.guard.secrets.child_environment import named_variables
from gshtui.programs.check.check_results import seen_here
from gshtui.programs.profiles.profile import GENERIC, Profile
from gshtui.programs.profiles.profile_files import LoadedProfiles, ProfileError
from gshtui.programs.profiles.profile_folder import OnProfiles, ProfileFolder
from gshtui.programs.profiles.program_versions import kept_versions
from gshtui.programs.screen.same_question import as_told
from gshtui.programs.transcripts.program_transcript import TranscriptQuery
from gshtui.programs.transcripts.transcript_readers import READERS, LastTurns, TurnText, conversation_state, home_of
from gshtui.system.caller_environment import caller_environ
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_errors import TmuxError

if TYPE_CHECKING:
    from gshtui.programs.pane.pane_view import Profiles, Seen, SessionError
    from gshtui.programs.pane.pane_writer import PaneWriter
    from gshtui.programs.pane.program_link import ProgramLink
    from gshtui.programs.session.cli_session import CliSession
    from gshtui.programs.status.evidence import LiveSource
    from gshtui.programs.status.status import KnownStatus
    from gshtui.programs.transcripts.conversation_loading import ConversationLoading

PERSON = "person"
"""Who chose an agent's mode, where it is not the program's own settings (`AgentRow.held_by`)."""
_WRITTEN, _AGAIN = 2.0, 0.1
"""Seconds that a program may take to write down what was said, and between two looks for that."""
_KINDS: dict[str, Kind] = {"ended": "ended", "unfit": "invalid", "untaken": "failed", "terminal": "tmux"}


def is_known(row: AgentRow) -> bool:
    """Whether something is known of the agent's program: how it is interrupted without being ended."""
    return row.speaks_events or row.profile not in ("", GENERIC)


class Programs:
    """This hub's profiles, read when the first program is examined, and again when a file of theirs changes."""

    def __init__(self, screen_only: Collection[str] = ()) -> None:
        """`screen_only`: the profiles whose programs' own protocols are not used; `*`: none is."""
        self._screen_only = frozenset(screen_only)
        self._folder = ProfileFolder()
        self._sessions: dict[tuple[str, int], CliSession] = {}
        self._links: dict[tuple[str, int], ProgramLink | None] = {}
        self._turns = LastTurns()
        self._versions = kept_versions()

    def watch(self, changed: OnProfiles) -> Callable[[], Awaitable[None]]:
        """Call this with the profiles whenever they have changed; returns what ends that."""
        return self._folder.watch(changed)

    async def profile(self, row: AgentRow) -> Profile:
        """An agent's profile, or the generic one if its own no longer exists."""
        return self.chosen(await self._folder.current(), row)

    async def of_process(self) -> Profiles:
        """What finds the profile of a running program."""
        return (await self._folder.current()).of_process

    @staticmethod
    def chosen(loaded: LoadedProfiles, row: AgentRow) -> Profile:
        """The same of these profiles."""
        own = loaded.profiles.get(row.profile) if row.profile != GENERIC else None
        return own.started_by(row.argv) if own is not None else loaded.for_argv(row.argv)

    async def silent_sources(self, row: AgentRow, telling: set[str]) -> list[tuple[str, str]]:
        """The sources of a status that this program could have and that say nothing, each with the reason.

        `telling`: those that say something.
        """
        from gshtui.programs.acp.acp_commands import KNOWN
        from gshtui.programs.hooks.hooks import state

        profile = await self.profile(row)
        found: list[tuple[str, str]] = []
        if "protocol" not in telling and profile.name in KNOWN:
            found.append(("protocol", f"not connected; `agent spawn --acp {profile.name}` drives it by one"))
        if row.host:
            found.append(("record", f"its files are on {row.host}"))
        elif profile.record and "record" not in telling:
            found.append(("record", "this version keeps none with its status, or has not begun it"))
        if profile.hooks.kind and "hook" not in telling:
            absent = await asyncio.to_thread(state, profile) == "absent"
            install = f"not installed; `program_hooks install {profile.name}` does that for new starts"
            found.append(("hook", install if absent else "nothing was reported since its start"))
        if not row.host and "transcript" not in telling and (profile.hooks.kind or profile.name) in READERS:
            found.append(("transcript", "no turn is written down as finished" if row.external_id else "not known yet"))
        if not telling & {"screen", "title", "process"}:
            found.append(("screen", "no rule of its profile fits" if profile.rules else "there are no rules for it"))
        return found

    async def files_read(self, row: AgentRow) -> list[Path]:
        """The files by which an agent's program is known: its profile, and the transcript of its conversation."""
        from gshtui.programs.transcripts.transcript_readers import transcript_file

        loaded = await self._folder.current()
        origin = loaded.origins.get(self.chosen(loaded, row).name)
        found = [origin] if origin is not None else []
        if (query := await self.transcript(row)) is not None:
            written = await asyncio.to_thread(transcript_file, *query)
            found += [written] if written is not None else []
        return found

    async def version(self, row: AgentRow, *, at_once: bool = False) -> dict[str, str]:
        """The fields of the row about its program's version; empty where nothing tells that, or it has none. `at_once`:
        only what takes no longer than to read a file.
        """
        profile = await self.profile(row)
        if row.kind != "cli" or not profile.ai:
            return {}
        environ, version = self._environ(row, profile), ""
        if at_once and not row.host:
            version = await asyncio.to_thread(self._versions.quick, profile, row.argv, environ)
        elif not row.host:
            version = await self._versions.find(profile, row.argv, environ, row.pid)
        return {} if not version and profile.knows(version) else self.version_fields(profile, version)

    @staticmethod
    def version_fields(profile: Profile, version: str) -> dict[str, str]:
        """The fields of a row about its program's version."""
        seen = "" if profile.knows(version) else profile.seen_nearest(version) or agent_tables.NEVER
        checked = seen_here(profile.name, version)
        return {
            "version": version,
            "version_seen": seen,
            "version_checked": checked.sums if checked is not None else "",
        }

    async def version_notice(self, row: AgentRow) -> Noticed | None:
        """What a person is told, once for each version, of one whose screens were never seen; `None`: nothing."""
        from gshtui.programs.acp.acp_commands import KNOWN
        from gshtui.programs.hooks.hooks import state

        if not row.version_seen or not await asyncio.to_thread(self._versions.note, row.profile, row.version):
            return None
        profile = await self.profile(row)
        unseen = agent_tables.unseen_words(row)
        text = f"{f'{profile.title} {row.version}'.strip()}: {unseen}, so what only its screen says is marked with `?`."
        better = ""
        if profile.hooks.kind and await asyncio.to_thread(state, profile) == "absent":
            better = f"`program_hooks install {profile.name}` has it report by itself"
        if profile.name in KNOWN:
            other = f"`agent spawn --acp {profile.name}` drives it without its screen"
            better = f"{better}, and {other}" if better else other
        return Noticed(level="warning", text=text, hint=f"{better}." if better else "", about=row.id)

    async def writer(self, server: TmuxServer, pane: str, name: str, argv: Sequence[str]) -> PaneWriter:
        """The writer for a terminal that is not an agent's; `argv` is the command line that started it."""
        from gshtui.programs.pane.pane_view import PaneView
        from gshtui.programs.pane.pane_writer import PaneWriter

        loaded = await self._folder.current()
        return PaneWriter(PaneView(server, pane, name, loaded.for_argv(argv), loaded.of_process))

    async def session(self, server: TmuxServer, row: AgentRow) -> CliSession:
        """The conversation with the program that runs in the agent's terminal; one, so that texts never mix."""
        from gshtui.programs.session.cli_session import CliSession

        key = (row.id, row.pid)
        profile, loaded = await self.profile(row), await self._folder.current()
        if key not in self._sessions:
            loading, link = await self.loading(row), await self.link(server, row)
            self._sessions.setdefault(key, CliSession(server, row, profile, loaded.of_process, loading, link))
        self._sessions[key].use(profile, loaded.of_process)
        return self._sessions[key]

    async def link(self, server: TmuxServer, row: AgentRow) -> ProgramLink | None:
        """The connection to the agent's program by its own protocol; `None`: there is none."""
        key = (row.id, row.pid)
        if key not in self._links:
            self._links.setdefault(key, self._new_link(server, row, await self.profile(row)))
        return self._links[key]

    def _new_link(self, server: TmuxServer, row: AgentRow, profile: Profile) -> ProgramLink | None:
        from gshtui.programs.session.live_sources import link_to

        return link_to(self._allowed(profile), server, row)

    async def stop(self) -> None:
        """End all connections."""
        links, self._links = [link for link in self._links.values() if link is not None], {}
        for link in links:
            await link.stop()

    async def loading(self, row: AgentRow) -> ConversationLoading:
        """Whether the agent's program has yet to read the conversation that it was started with."""
        from gshtui.programs.transcripts.conversation_loading import ConversationLoading

        profile = await self.profile(row)
        return ConversationLoading(profile, 0 if row.host else row.pid, row.cwd, self._environ(row, profile))

    async def live_sources(
        self, server: TmuxServer, row: AgentRow, newest: Callable[[], AgentRow | None], *, glance: bool = False
    ) -> list[LiveSource]:
        """What tells the status of the agent's program while it runs, besides its hooks and its screen.

        Args:
            newest: its row at any later moment.
            glance: they are ended soon, so no connection among them is the one by which others reach the program.
        """
        from gshtui.programs.session.live_sources import live_sources

        async def last_turn() -> TurnText | None:
            now = newest()
            return await self.last_turn(now) if now is not None and now.pid == row.pid else None

        profile = await self.profile(row)
        # Of OpenCode one of its own: whoever follows it ends it as well, and what sends prompts needs no stream.
        own = glance or profile.protocol == "opencode"
        link = self._new_link(server, row, profile) if own else await self.link(server, row)
        others = live_sources(profile, row, self._environ(row, profile), last_turn)
        return [link, *others] if link is not None else others

    def _environ(self, row: AgentRow, profile: Profile) -> dict[str, str]:
        """The environment of the agent's program, as far as it says where its files are."""
        from gshtui.programs.session import launch

        return {**caller_environ(), **named_variables(row.env), **launch.assigned(row.argv), **profile.environment}

    async def requested(self, request: SpawnRequest) -> tuple[Profile, tuple[str, ...]]:
        """The profile and the command line as they are asked for. Raises `FleetError`."""
        loaded = await self._folder.current()
        try:
            profile = loaded.get(request.profile) if request.profile else loaded.for_argv(request.cli)
        except ProfileError as error:
            raise FleetError("invalid", str(error), hint="`profiles` lists them.") from error
        argv = request.cli or profile.argv
        if not argv:
            raise FleetError(
                "invalid", f"The profile {profile.name} does not name a program.", hint="Name it with `cli`."
            )
        return profile, tuple(argv)

    async def start(
        self,
        row: AgentRow,
        request: SpawnRequest,
        data: Path,
        environ: Mapping[str, str],
        *,
        again: bool,
        mode: GuardMode | Literal[""] = "",
        by: str = "",
    ) -> AgentStart:
        """What to run. Raises `FleetError`.

        Args:
            mode: one that the program has.
            by: `PERSON`: who chose that, so that the program's own settings do not count.
        """
        from gshtui.programs.profiles import program_modes
        from gshtui.programs.session import launch, own_modes

        profile, argv = await self._command(row, request)
        profile = self._allowed(profile)
        version = await self._versions.find(profile, argv, environ) if profile.protocol and not row.host else ""
        if row.host:
            made = launch.remote_launch(profile, argv, row.external_id if again else None)
        elif again:
            made = await launch.next_launch(
                profile,
                argv,
                row.external_id,
                agent=row.id,
                data=data,
                environ=environ,
                cwd=row.cwd,
                since=row.created,
                origin=request.conversation,
                version=version,
            )
        else:
            made = await launch.first_launch(
                profile,
                argv,
                agent=row.id,
                data=data,
                environ=environ,
                cwd=row.cwd,
                origin=request.conversation,
                version=version,
            )
            if made.blank:
                raise FleetError("blank", f"It cannot go on from the original's conversation: {made.why}.")
        prompt = "" if again else request.prompt
        env, words = made.environment(environ), made.argv
        shown: ProgramMode | None = None
        arguments: tuple[str, ...] = ()
        if mode:
            own = None
            if by != PERSON and not row.host:
                own = await asyncio.to_thread(own_modes.own_mode, profile, words, environ, Path(row.cwd))
            mode, arguments, more, its = own_modes.passed_mode(profile, mode, own)
            words, env, by = program_modes.with_arguments(words, arguments), {**env, **more}, by or its
            rule = program_modes.passed_rule(profile, mode)
            if not any(each.shown for each in profile.modes.each):
                shown = ProgramMode(rule.name if rule is not None and not its else f"{mode} by its settings", mode)
        command: tuple[str, ...] = ()
        if made.alone:
            alone = program_modes.with_arguments(made.alone, arguments)
            words, command = await asyncio.to_thread(launch.with_server, profile, made, alone, words, data, row.id)
        return AgentStart(
            words, env, prompt, made.blank, made.external_id, profile.name, made.how, mode, shown, command, by
        )

    async def plan(self, row: AgentRow, request: SpawnRequest, environ: Mapping[str, str]) -> AgentStart:
        """What a restart would make of its conversation, with nothing to run. Raises `FleetError`."""
        from gshtui.programs.session import launch

        profile, argv = await self._command(row, request)
        if row.host:
            made = launch.remote_launch(profile, argv, row.external_id)
            return AgentStart((), blank=made.blank, external_id=made.external_id, profile=profile.name, how=made.how)
        found = await launch.resumption(
            profile,
            argv,
            row.external_id,
            environ=environ,
            cwd=row.cwd,
            since=row.created,
            origin=request.conversation,
        )
        goes_on = found.external_id if found.how == launch.RESUMED else ""
        return AgentStart((), blank=found.blank, external_id=goes_on, profile=profile.name, how=found.how)

    async def _command(self, row: AgentRow, request: SpawnRequest) -> tuple[Profile, tuple[str, ...]]:
        """The profile and the whole command line. Raises `FleetError`."""
        profile, argv = await self.requested(request)
        if row.host:
            return profile, argv  # whether there is such a program, its terminal there says
        return profile, (await asyncio.to_thread(find_program, argv[0], Path(row.cwd)), *argv[1:])

    async def booted(self, server: TmuxServer, row: AgentRow) -> str:
        """Wait until a started program takes input or asks something; why it does not, or empty.

        One whose screen says neither for long enough within its profile's time may show its input all the same, or have
        opened its conversation: that is enough.
        """
        from gshtui.programs.pane.pane_view import SessionError

        session = await self.session(server, row)
        try:
            await session.start()
        except SessionError as error:
            if error.kind == "ended":
                return error.message
            if not (await session.shows_input() or await self.conversation(server, row, ())):
                return error.message
        return ""

    async def fork_obstacle(self, row: AgentRow, request: SpawnRequest, *, here: bool) -> tuple[str, bool]:
        """Why the agent's program cannot start with a copy of its conversation (empty: it can), and whether anybody has
        said anything in that.

        Args:
            row: with the conversation that the agent is in.
            request: how it was started.
            here: the copy is to work in the same folder.
        """
        from gshtui.programs.session import launch

        profile = await self.profile(row)
        if row.host:
            return f"its conversation is on {row.host}", True
        argv = request.cli or profile.argv
        unsaid = not await self.written_down(row) and not launch.names_conversation(profile, argv)
        if unsaid and profile.conversation.fork:
            return "", False
        return launch.can_fork(profile, argv, row.external_id, here=here), True

    async def written_down(self, row: AgentRow) -> bool:
        """Whether its program has written down that anything was said to it; it is given a moment for that.

        What is written on another machine is not read.
        """
        if row.host:
            return False
        profile = await self.profile(row)
        environ = self._environ(row, profile)
        wanted = TranscriptQuery(profile.hooks.kind or profile.name, row.external_id, row.cwd, row.created)
        ends = time.monotonic() + _WRITTEN
        while await asyncio.to_thread(conversation_state, wanted, environ) in ("absent", "empty"):
            if time.monotonic() >= ends:
                return False
            await asyncio.sleep(_AGAIN)
        return True

    async def conversation(self, server: TmuxServer, row: AgentRow, others: Sequence[AgentRow]) -> str:
        """The id of the conversation that the agent's running program is in; empty where that cannot be told. `others`:
        the other agents, whose conversations are not this one's.
        """
        from gshtui.programs.transcripts import conversation_binding

        if row.kind != "cli" or row.host or row.ended or not row.pane or not row.pid:
            return ""
        profile = await self.profile(row)
        try:
            title = (await server.pane(row.pane)).title
        except TmuxError:
            return ""
        like = [other for other in others if other.profile == row.profile and other.id != row.id]
        wanted = conversation_binding.BindingQuery(
            profile.hooks.kind or profile.name,
            row.pid,
            row.cwd,
            title,
            [other.external_id for other in like if other.external_id],
            all(other.external_id or other.ended or other.cwd != row.cwd for other in like),
        )
        environ = self._environ(row, profile)
        return await asyncio.to_thread(conversation_binding.bound_conversation, wanted, environ, home_of(environ))

    async def bound(self, server: TmuxServer, row: AgentRow, others: Sequence[AgentRow]) -> AgentRow:
        """The row with the conversation that the agent's program is in now, or with the last one that is known."""
        id = await self.conversation(server, row, others) or row.external_id
        return msgspec.structs.replace(row, external_id=id)

    async def last_turn(self, row: AgentRow) -> TurnText | None:
        """The last turn of exactly the agent's conversation, by its program's transcript; `None` where it has none."""
        found = await self.transcript(row)
        return None if found is None else await asyncio.to_thread(self._turns.find, *found)

    async def whole_question(
        self, server: TmuxServer, row: AgentRow, question: OpenQuestion, answered: Set[str]
    ) -> OpenQuestion:
        """What a program asks on its screen, with all that it is about: by its transcript, else by what its terminal
        has above the screen. `answered`: calls about which it asks no more.
        """
        from gshtui.programs.transcripts.asked_call import whole_question

        link, shown = await self.link(server, row), question
        is_told = link is not None and link.asks(question.id)  # its protocol has told all of it
        if not is_told and (found := await self.transcript(row)) is not None:
            question = await asyncio.to_thread(whole_question, question, *found, answered)
        if question.command:
            question = await asyncio.to_thread(_with_warnings, question, row)
        if not is_told and question.partial:
            question = await (await self.session(server, row)).question_with_past(question)
        return as_told(shown, question)

    async def transcript(self, row: AgentRow) -> tuple[TranscriptQuery, Mapping[str, str]] | None:
        """How to find the transcript of the agent's conversation, and in which environment; `None`: it is unknown.

        On another machine it always is: there, an answer is what the screen shows.
        """
        if row.kind != "cli" or row.host or not row.external_id:
            return None
        profile = await self.profile(row)
        wanted = TranscriptQuery(profile.hooks.kind or profile.name, row.external_id, row.cwd, row.created)
        return wanted, self._environ(row, profile)

    async def glance(self, server: TmuxServer, row: AgentRow) -> dict[str, Any]:
        """The program's current status by one look, weighed as in what follows it."""
        from gshtui.programs.pane.pane_view import SessionError
        from gshtui.programs.status.status import by_foreground

        session, link = await self.session(server, row), await self.link(server, row)
        if link is not None and await link.connected() and (told := link.evidence) is not None:
            mode = _shown_mode(row, link.mode)
            waits = told.status == "waiting"
            asked = await link.question() if waits else None
            before = row.question
            if waits and before is not None and (not link.asks(before.id) if asked is None else asked.id == before.id):
                asked = (
                    before  # with what was found out about it; of what it does not tell, the screen shows what it asks
                )
            if told.status == row.status and asked == row.question:
                return mode
            known = {"status": told.status, "status_source": told.source, "doing": told.doing}
            return known | mode | {"needs_you": waits, "question": asked}
        try:
            seen = await session.read_screen()
        except SessionError:
            return {}
        status, doing, source = seen.reading.status, seen.reading.doing, "screen"
        if session.takes_code:
            status, doing, source = by_foreground(seen.profile, seen.reading, seen.front) or (status, doing, "process")
        elif seen.profile.ai and not seen.dead:
            known = await self._weighed(row, seen)
            if known.source in ("activity", "spawn"):
                status = ""  # whether it moves, one look does not show
            elif known.status == "quiet" and row.status == "idle":
                status = "idle"  # no more is known of it than before
            else:
                status, doing, source = known.status, known.doing, known.source if known.sure else f"{known.source}?"
        asks = seen.reading.read.question if status == "waiting" and seen.reading.read is not None else None
        asks = asks if status == "waiting" else row.unsent
        mode = _shown_mode(row, seen.reading.mode)
        if not status or (status == row.status and asks == row.question):
            return mode
        if row.version_seen and source in ("screen", "screen?"):
            source, asks = "screen?", without_choices(asks) if asks is not None and status == "waiting" else asks
        needs_you = status == "waiting" or row.unsent is not None
        known = {"status": status, "status_source": source, "doing": doing, "needs_you": needs_you, "question": asks}
        return mode | known

    async def _weighed(self, row: AgentRow, seen: Seen) -> KnownStatus:
        """The status of a program that thinks, by its screen, its record and its transcript."""
        from gshtui.programs.session.live_sources import live_sources
        from gshtui.programs.status.status import StatusFacts, decide

        sources = live_sources(seen.profile, row, self._environ(row, seen.profile), lambda: self.last_turn(row))
        for source in sources:
            await source.refresh(quiet=seen.reading.status in ("", "idle"))
            await source.stop()
        evidences = [told for source in sources if (told := source.evidence) is not None]
        now = time.time()
        rests = row.status == "idle" and not row.status_source.endswith("?")
        facts = StatusFacts(
            started=row.created,
            title=seen.info.title,
            titled=now,
            since=row.created,
            reading=seen.reading,
            counted=now,
            ended=now,
            ready=True,
            rested=row.status_at if rests else 0.0,
            unseen=bool(row.version_seen),
        )
        return decide(seen.profile, evidences, facts, now)

    def _allowed(self, profile: Profile) -> Profile:
        """The profile, without its program's own protocol where the settings say so."""
        barred = self._screen_only & {profile.name, "*"}
        return msgspec.structs.replace(profile, protocol="") if barred and profile.protocol else profile


_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def _shown_mode(row: AgentRow, mode: ProgramMode | None) -> dict[str, Any]:
    """What its row is to say of the mode, if that has changed."""
    shown = row.as_shown(mode) if mode is not None else row.program_mode
    return {"program_mode": shown} if shown != row.program_mode else {}


def from_session_error(error: SessionError) -> FleetError:
    """The fleet's error for one of a conversation's."""
    from gshtui.programs.pane.pane_view import PASSES

    kind = _KINDS.get(error.kind, "busy" if error.kind in PASSES else "tmux")
    return FleetError(kind, error.message, hint=error.hint)


def find_program(program: str, cwd: Path) -> str:
    """The program's path, ready to start. Blocks for a moment. Raises `FleetError` if it does not exist."""
    candidate = str(cwd / program) if "/" in program else program
    path = shutil.which(candidate, path=caller_environ().get("PATH"))
    if path is None:
        from gshtui.programs.acp.acp_commands import kept_agents

        where = "there is no such program" if "/" in program else "it is not on the PATH"
        hint = "Install it, or give its full path."
        if _ASSIGNMENT.match(program):
            hint = f"Variables stand apart from the command: --env {program}, or in a window env={program}."
        elif program in kept_agents():
            hint = f"It was installed from the registry: --acp {program}, or in a window acp={program}, starts it."
        raise FleetError("invalid", f"Cannot start {program}: {where}.", hint=hint)
    return str(Path(path).absolute())


def _with_warnings(question: OpenQuestion, row: AgentRow) -> OpenQuestion:
    """The question with what a person should know of the line that would run."""
    from gshtui.tools.shell.shell_assessment import line_warnings  # not before something is to run

    project = Path(row.worktree or row.home or row.cwd)
    return msgspec.structs.replace(question, warnings=line_warnings(question.command, Path(row.cwd), project))
