"""Follows this hub's agents while they live: the ends of all terminals, and the status of other people's programs.

It never declares an agent ended: what it notices only triggers a reconciliation, which decides. Held by the fleet,
which tells it after each reconciliation who is alive.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import msgspec

from gshtui.bus.agent_data import ENDED_STATUSES, AgentRow, AnswerSource, GuardMode, OpenQuestion, ProgramMode
from gshtui.bus.agent_reducer import REPORT_LENGTH
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import AgentStatusChanged, SourcesDisagreed, Status, TurnFinished
from gshtui.bus.events.fleet_events import MessageSubmitted, MessageTyped
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.messages import Stop
from gshtui.fleet.core.agent_programs import Programs
from gshtui.fleet.core.fleet_context import FleetContext
from gshtui.fleet.lifecycle.asked_questions import AskedQuestions
from gshtui.fleet.lifecycle.program_usage import ProgramUsage
from gshtui.programs.hooks.hook_reports import HookFeed
from gshtui.programs.profiles.profile import GENERIC, Profile
from gshtui.programs.profiles.profile_files import LoadedProfiles
from gshtui.programs.session.cli_session import CliSession, SessionError
from gshtui.programs.session.status_watcher import CliStatus, Pacer, unheard
from gshtui.programs.status.evidence import QUIET, WORKING
from gshtui.programs.status.status import KnownStatus
from gshtui.programs.transcripts.transcript_readers import READERS, TurnText
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, start_job
from gshtui.tmux.watcher import PaneChange

_LOOKS, _LOOK_EVERY = 15, 1.0
"""How often to look for a short turn's answer, and the seconds in between."""
_WRITTEN_LOOKS, _WRITTEN_EVERY = 32, 0.25
"""How often to look into a transcript for the end of a turn that is over, and the seconds in between."""
_RECORDED = 0.25
"""Seconds between the first two looks into a transcript for what a program asks about; each further interval doubles.
"""
_BEGUN_AFTER = (0.5, 1, 2, 4, 8, 16, 32)
"""Seconds between two looks for the record of a program that was just started."""
_EARLIER = 15.0
"""Seconds that a prompt may have been written down before it was seen that it was taken up."""
_COUNT_EVERY, _COUNTED_AFTER = 1.0, 3
"""Seconds between two looks at what a working program has used, and how many follow once it rests."""
_SOON = 0.1
"""Seconds until the first look at a command in a shell; each further interval doubles."""
_LOOK_WITHIN = 10.0
"""Seconds for one look at a program that is not followed here."""
_Key = tuple[str, str, int]


class _Spell(NamedTuple):
    """A time in which a program was seen at work."""

    began: float
    """In seconds since 1970; 0: before it was followed."""
    doubted: bool
    """The program said all the time that it rests."""


class _ToldAnswer(NamedTuple):
    """The answer of a turn that was published last."""

    text: str
    at: float
    message: str = ""
    """The prompt of its turn in the transcript; empty: the answer is not from there."""

    def is_of(self, turn: TurnText) -> bool:
        """Whether it is the answer of this turn."""
        if self.message:
            return turn.message == self.message
        return turn.at <= self.at and turn.answer.strip() == self.text.strip()


_NOTHING_TOLD = _ToldAnswer("", 0.0)
"""(agent, pane, process): a new process gets a new follower."""


class AgentFollower:
    """One follower per agent. `stop` ends them all."""

    def __init__(self, context: FleetContext, programs: Programs, check_now: Callable[[], None]) -> None:
        """`check_now`: called when something has changed."""
        self._context = context
        self._programs = programs
        self._check_now = check_now
        self._feed = HookFeed(context.options.data)
        self._pace = Pacer()
        self._statuses: dict[_Key, CliStatus | None] = {}
        self._ends: dict[_Key, Callable[[], None]] = {}
        self._turn = asyncio.Lock()
        self._worked: dict[str, _Spell] = {}
        """Agents seen working since their last answer."""
        self._approved: dict[_Key, GuardMode] = {}
        """Modes into which a person let programs go, until they show another one after that."""
        self._rested: set[_Key] = set()
        """Programs that were seen idle."""
        self._told: dict[str, _ToldAnswer] = {}
        self._usage = ProgramUsage(context.store, programs)
        self._counting: dict[_Key, int] = {}
        """Programs whose usage is being recorded → looks that are still to come."""
        self._answers: set[asyncio.Task[None]] = set()
        self.questions = AskedQuestions()
        self._looking: dict[str, str] = {}
        """Agent → the question for which its transcript is looked into."""
        self._subscription = context.bus.subscribe(self._asked, MessageSubmitted, MessageTyped, name="follower")
        self._unwatch_profiles = programs.watch(self._profiles_changed)

    async def follow(self, alive: list[AgentRow]) -> None:
        """Follow exactly these agents."""
        async with self._turn:
            wanted = {(row.id, row.pane, row.pid): row for row in alive if row.pane}
            for key in [key for key in self._statuses if key not in wanted]:
                await self._leave(key)
            for key, row in wanted.items():
                if key in self._statuses:
                    continue
                try:
                    await self._follow(key, row)
                except BaseException:  # also called off with whoever asked for it: the next look begins anew
                    if key in self._statuses:
                        await self._leave(key)
                    raise

    async def stop(self) -> None:
        """Follow nobody."""
        self._subscription.unsubscribe()
        await self._unwatch_profiles()
        async with self._turn:
            for key in list(self._statuses):
                await self._leave(key)
            await self._feed.close()
        await cancel_and_wait(*self._answers)

    def _profiles_changed(self, loaded: LoadedProfiles) -> None:
        """Go by the changed profiles, and say what is wrong with them."""
        for problem in loaded.problems:
            self._context.bus.publish(Noticed(level="warning", text=problem, about="profiles"))
        for key, status in self._statuses.items():
            if status is not None and (row := self._context.rows.get(key[0])) is not None:
                profile = self._programs.chosen(loaded, row)
                status.use(profile, loaded.of_process)
                self._know_program(row, profile)
                self._take_version(key, row, profile, row.version)

    def _know_program(self, row: AgentRow, profile: Profile) -> None:
        """Note the profile of a program of which nothing was known when it was started."""
        if row.profile in ("", GENERIC) and profile.name != GENERIC:
            self._context.rows.change_soon(row.id, {"profile": profile.name})

    async def _follow(self, key: _Key, row: AgentRow) -> None:
        server = self._context.terminals.server(row.socket)
        self._ends[key] = server.watcher.watch(row.pane, self._changed)
        self._statuses[key] = None
        if row.kind == "cli":
            profile = await self._programs.profile(row)
            self._know_program(row, profile)
            status = await self._watcher(
                row,
                profile,
                functools.partial(self._said, key, row),
                self._feed,
                bound=functools.partial(self._bound, row.id),
                moded=functools.partial(self._moded, row),
                disagreed=functools.partial(self._disagreed, row.id),
            )
            self._statuses[key] = status
            await status.start()
            if answer := status.take_answer():
                self._told[row.id] = _ToldAnswer(answer, time.time())
                if answer[:REPORT_LENGTH] != row.report:
                    self._answered(row.id, answer, "report")  # while nobody was there to hear it
            if not row.version:
                self._start_answer(self._find_version(key, row, profile), row)

    async def _watcher(
        self,
        row: AgentRow,
        profile: Profile,
        told: Callable[[KnownStatus], None],
        feed: HookFeed,
        *,
        bound: Callable[[str], None] = unheard,
        moded: Callable[[ProgramMode], None] = unheard,
        disagreed: Callable[[str], None] | None = None,
        glance: bool = False,
    ) -> CliStatus:
        """What follows the status of a program, not yet started. `glance`: only to look once, beside another one."""
        server, programs = self._context.terminals.server(row.socket), self._programs
        newest = functools.partial(self._context.rows.get, row.id)
        return CliStatus(
            server,
            row,
            profile,
            told,
            feed=feed,
            bound=bound,
            moded=moded,
            pace=self._pace,
            loading=await self._programs.loading(row),
            sources=await programs.live_sources(server, row, newest, glance=glance),
            disagreed=disagreed,
            profiles=await programs.of_process(),
        )

    async def explained(self, row: AgentRow) -> tuple[KnownStatus | None, list[Path]]:
        """The status of a program with what each of its sources says, and the files that they read: as it is followed
        here, else by one look."""
        if (status := self._statuses.get((row.id, row.pane, row.pid))) is not None:
            return status.known, status.files
        feed = HookFeed(self._context.options.data)
        status = await self._watcher(row, await self._programs.profile(row), unheard, feed, glance=True)
        try:
            async with time_limit(_LOOK_WITHIN):
                await status.start()
                await status.looked.wait()
            return status.known, status.files
        except TimeoutError:
            return None, status.files
        finally:
            await status.stop()
            await feed.close()

    def is_followed(self, row: AgentRow) -> bool:
        """Whether the status of the agent's program is followed here."""
        return self._statuses.get((row.id, row.pane, row.pid)) is not None

    def _disagreed(self, agent: str, sentence: str) -> None:
        now = self._context.rows.get(agent)
        version = f", {now.profile} {now.version}".rstrip() if now is not None else ""
        self._context.bus.publish(SourcesDisagreed(agent=agent, text=f"{sentence}{version}"))

    async def _find_version(self, key: _Key, row: AgentRow, profile: Profile) -> None:
        """Find out the version of a program where its start, or the hub that saw it, could not tell it at once."""
        fields = await self._programs.version(row)
        status = self._statuses.get(key)
        self._take_version(
            key, row, profile, (status.version if status is not None else "") or fields.get("version", "")
        )
        now = self._context.rows.get(row.id)
        if now is None or self._context.options.everywhere:
            return  # nobody would see what the keeper says of it: the next start does
        if (notice := await self._programs.version_notice(now)) is not None:
            self._context.bus.publish(notice)

    def _take_version(self, key: _Key, row: AgentRow, profile: Profile, version: str) -> None:
        """Note the version, and whether the profile knows it."""
        now, status = self._context.rows.get(row.id), self._statuses.get(key)
        if status is None or now is None or now.pid != row.pid:
            return
        if not (version or now.version_seen) and profile.knows(version):
            return
        fields = self._programs.version_fields(profile, version)
        if fields != {name: getattr(now, name) for name in fields}:
            self._context.rows.change_soon(row.id, fields)
        status.know_version(unseen=bool(fields["version_seen"]))

    async def _leave(self, key: _Key) -> None:
        self._ends.pop(key)()
        status = self._statuses.pop(key)
        self._rested.discard(key)
        self._approved.pop(key, None)
        self._usage.forget(key[0])
        self.questions.forget(key[0])
        if status is not None:
            await status.stop()

    def _changed(self, change: PaneChange) -> None:
        if change.what & {"dead", "gone"}:
            self._check_now()

    def _said(self, key: _Key, row: AgentRow, known: KnownStatus) -> None:
        if known.status in ENDED_STATUSES:
            self.questions.forget(row.id)
            self._check_now()
            return
        goes_on = known.question is None and known.sure and known.status != "waiting"
        if (question := self.questions.as_told(row.id, known.question, goes_on=goes_on)) is not None:
            self.questions.note_seen(row.id, question)
        self._context.bus.publish(
            AgentStatusChanged(
                agent=row.id,
                status=cast("Status", known.status),
                source=known.source if known.sure else f"{known.source}?",
                doing=known.doing,
                question=question,
            )
        )
        asked = known.question.id if known.question is not None and known.question.choices else ""
        if asked != self._looking.get(row.id, ""):
            self._looking.pop(row.id, None)
            if known.question is not None and asked and not self.questions.is_told(row.id, asked):
                self._looking[row.id] = asked
                self._start_answer(self._complete(key, row, known.question), row)
        self._start_count(key, row)
        if (status := self._statuses.get(key)) is not None and status.version:
            self._take_version(key, row, status.profile, status.version)  # as its own record has it
        rests = known.rests
        if rests or known.status == QUIET:  # by its transcript it may be known that it rests
            self._start_answer(self._bind_late(key, row), row)
        if rests:
            self._rested.add(key)
        if known.status in WORKING and (known.sure or known.source != "screen"):  # not only about to take up a text
            doubted = not known.sure and status is not None and status.hooked
            spell = self._worked.get(row.id)
            if spell is None:
                spell = _Spell(time.time() if key in self._rested else 0.0, doubted=doubted)
                if status is not None and not doubted:
                    status.take_answer()  # it is not this turn's
            self._worked[row.id] = spell._replace(doubted=spell.doubted and doubted)
        elif known.rests and row.id in self._worked:
            spell = self._worked.pop(row.id)
            if status is not None and status.takes_code:
                return  # what was entered there is followed until it has run
            self._start_answer(self._answer(key, row, spell), row)

    def approve(self, row: AgentRow, mode: GuardMode | Literal[""]) -> None:
        """A person lets its program go into this mode, or after all not. What it is held to stays, and so does what its
        children may do.
        """
        self._approved.pop(key := (row.id, row.pane, row.pid), None)
        if mode:
            self._approved[key] = mode

    def _moded(self, row: AgentRow, mode: ProgramMode) -> None:
        """Its program shows this mode. If it does more unasked than it was started to do, a person hears that once."""
        before, key = self._context.rows.get(row.id), (row.id, row.pane, row.pid)
        if before is not None:
            mode = before.as_shown(mode)  # approved, perhaps, where another hub heard it
        if self._approved.get(key) == mode.like:
            mode = msgspec.structs.replace(mode, approved=True)
        else:
            self._approved.pop(key, None)
        if before is None or before.program_mode == mode:
            return
        self._context.rows.change_soon(row.id, {"program_mode": mode})
        if msgspec.structs.replace(before, program_mode=mode).exceeds and not before.exceeds:
            shown = f"{before.name} ({row.id}) shows {mode.name!r}"
            text = f"{shown}, in which it does more unasked than in {before.held_to}."
            hint = f"`mode {before.held_to} {row.id}` puts it back."
            self._context.bus.publish(Noticed(level="warning", text=text, hint=hint, about=row.id))

    async def _complete(self, key: _Key, row: AgentRow, question: OpenQuestion) -> None:
        """Publish a question once more, with all that it is about, once that can be had: some programs write down the
        call after they ask about it. Two looks must say the same, since another call may be written down even later.
        """
        pause, before = _RECORDED, question
        try:
            await self._bind(row)
            while (whole := await self._look_up(key, row, question)) is not None and not (whole == before != question):
                await asyncio.sleep(pause)
                pause, before = 2 * pause, whole
        finally:
            if self._looking.get(row.id) == question.id:
                del self._looking[row.id]

    async def _look_up(self, key: _Key, row: AgentRow, question: OpenQuestion) -> OpenQuestion | None:
        """Publish a question if its transcript says something else of it than before; `None`: it is asked no longer."""
        server, answered = self._context.terminals.server(row.socket), self.questions.answered_calls(row.id)
        whole = await self._programs.whole_question(server, self._context.rows.get(row.id) or row, question, answered)
        status = self._statuses.get(key)
        now = status.known if status is not None else None
        if now is not None and now.question is not None:
            self.questions.note_seen(row.id, whole)
        if now is None or now.question is None or now.question.id != question.id:
            return None
        if whole != self.questions.as_told(row.id, question, goes_on=False):
            self.questions.note_told(row.id, whole)
            self._said(key, row, now)
        return whole

    def replace_question(self, row: AgentRow, question: OpenQuestion) -> None:
        """Publish what it asks as this, in place of what was told by the same id."""
        key = (row.id, row.pane, row.pid)
        status = self._statuses.get(key)
        now = status.known.question if status is not None else None
        if status is None or now is None or now.id != question.on_screen:
            return
        self.questions.note_told(row.id, question)
        self._said(key, row, status.known)

    def _start_count(self, key: _Key, row: AgentRow) -> None:
        """Something happens that may use tokens, or has just used some."""
        if row.profile in READERS:
            if key not in self._counting:
                self._start_answer(self._count(key, row), row)
            self._counting[key] = _COUNTED_AFTER

    async def _count(self, key: _Key, row: AgentRow) -> None:
        """Record what it uses for as long as it works, and what it wrote down when it had just come to rest."""
        try:
            while self._counting[key] and (status := self._statuses.get(key)) is not None:
                await asyncio.sleep(_COUNT_EVERY)
                self._counting[key] = _COUNTED_AFTER if status.known.status in WORKING else self._counting[key] - 1
                now = self._context.rows.get(row.id)
                if now is not None and now.pid == row.pid:
                    with contextlib.suppress(StoreError):  # busy or full: the next look reads it again
                        self._context.rows.change_soon(row.id, await self._usage.record(now))
        finally:
            del self._counting[key]

    def _start_answer(self, telling: Coroutine[Any, Any, None], row: AgentRow) -> None:
        task = start_job(telling, f"the answer of {row.id}")
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    def _asked(self, batch: Sequence[Event]) -> None:
        """Note that a text was submitted: its turn may end before anything showed its start."""
        for event in batch:
            assert isinstance(event, MessageSubmitted | MessageTyped)
            for key, status in self._statuses.items():
                row = self._context.rows.get(key[0])
                if status is None or event.agent != key[0]:
                    continue
                if isinstance(event, MessageTyped) and not event.text.startswith(("/", "!")):
                    status.given_prompt(event.at)  # a command of its own begins no turn
                if isinstance(event, MessageSubmitted) and row:
                    self._start_answer(self._short_turn(key, row, status), row)
                    self._start_count(key, row)

    async def _short_turn(self, key: _Key, row: AgentRow, status: CliStatus) -> None:
        """Detect a turn too short to be noticed: the program is idle, and two looks show the same answer, or its
        transcript says that it is over.
        """
        session = await self._programs.session(self._context.terminals.server(row.socket), row)
        if session.takes_code:
            await self._ran(key, row, status, session)
            return
        before, began, written = "", time.time(), None
        for _ in range(_LOOKS):
            await asyncio.sleep(_LOOK_EVERY)
            if status.hooked or row.id in self._worked or self._statuses.get(key) is not status:
                return  # it says so itself, or the end of its work will be seen
            now, last, written = "", written, None
            if status.known.rests:
                turn = written = await self._new_turn(row, began)
                failed = turn is not None and turn.stop == "error"
                told = turn is not None and turn.over and bool(turn.answer.strip())
                if turn is not None and (failed or told) and (turn.final or turn == last):
                    self._start_count(key, row)
                    self._publish_turn(session, row, turn, "error" if failed else "end")
                    return
                if turn is not None:
                    continue  # it is not done, whatever its screen shows
                try:
                    now = await session.text_so_far()
                except SessionError:
                    return
            if now.strip() and now == before:
                await self._answer(key, row, _Spell(began, doubted=False))
                return
            before = now

    async def _ran(self, key: _Key, row: AgentRow, status: CliStatus, session: CliSession) -> None:
        """Get what a shell or an interpreter printed, once it is back at its prompt, even if that is nothing."""
        wait, rested = _SOON, 0
        try:
            while rested < 2:  # between a line and its command a shell looks as if it were at its prompt
                if self._statuses.get(key) is not status:
                    return
                await asyncio.sleep(wait)
                rested = rested + 1 if await session.is_still() else 0
                wait = _SOON if rested else min(wait * 2, _LOOK_EVERY)
            said = await session.answer()
        except SessionError:
            return  # its terminal is gone, which the next look tells
        self._answered(row.id, said, "screen")

    async def _answer(self, key: _Key, row: AgentRow, spell: _Spell) -> None:
        """Handle the end of a turn: find its answer in the program's report or transcript, else on its screen. A rest
        that was only doubted may have been one: there was a turn if there is another answer than was published last.
        """
        status = self._statuses.get(key)
        session = await self._programs.session(self._context.terminals.server(row.socket), row)
        report = status.take_answer() if status is not None else ""  # only now: a stop may be told after the rest
        told = self._told.get(row.id, _NOTHING_TOLD)
        if report and not (spell.doubted and report.strip() == told.text.strip()):
            session.forget_input()
            self._answered(row.id, report, "report")
            return
        asked = session.last_input
        last = await self._last_turn(row, spell.began)
        stop = last.stop if last is not None and not spell.doubted else "end"
        turn = last if last is not None and (last.answer.strip() or stop == "error") else None
        if status is not None and self._statuses.get(key) is status and _goes_on(status.known, turn):
            later = self._worked.get(row.id, spell)
            self._worked[row.id] = _Spell(min(spell.began, later.began), doubted=spell.doubted and later.doubted)
            return  # it only looked idle for a moment
        if turn is not None:
            self._start_count(key, row)
            self._publish_turn(session, row, turn, stop)
            return
        if report or session.last_input is not asked:
            return  # a later text was entered meanwhile, and what is on the screen is its answer
        try:
            said = await session.answer()
        except SessionError:
            return  # its terminal is gone, which the next look tells
        if said.strip() or stop != "end":
            self._answered(row.id, said, "screen", stop=stop)

    async def _last_turn(self, row: AgentRow, began: float) -> TurnText | None:
        """The turn that has just ended or stopped, by the program's transcript; `None`: only the screen tells of it."""
        await self._bind(row)
        turn: TurnText | None = None
        for _ in range(_WRITTEN_LOOKS):  # some programs write it down a moment after they show it
            turn = await self._new_turn(row, began)
            now = self._context.rows.get(row.id)
            if now is None or not now.external_id or (turn is not None and (turn.over or turn.stop != "end")):
                break
            await asyncio.sleep(_WRITTEN_EVERY)
        return turn

    async def _new_turn(self, row: AgentRow, began: float) -> TurnText | None:
        """The last turn in its transcript, if it can be the one that began then (epoch seconds; 0: unknown)."""
        now = self._context.rows.get(row.id)
        turn = await self._programs.last_turn(now) if now is not None and now.pid == row.pid else None
        if turn is None or turn.at < began - _EARLIER:
            return None
        told = self._told.get(row.id, _NOTHING_TOLD)
        return None if told.is_of(turn) and told.at < began else turn  # the one before is no news

    def _publish_turn(self, session: CliSession, row: AgentRow, turn: TurnText, stop: Stop = "end") -> None:
        """Publish a turn's answer, once."""
        if not self._told.get(row.id, _NOTHING_TOLD).is_of(turn):
            session.forget_input()
            self._answered(row.id, turn.answer, "transcript", turn.message, stop, turn.error)

    def _answered(
        self, agent: str, text: str, source: AnswerSource, message: str = "", stop: Stop = "end", error: str = ""
    ) -> None:
        self._told[agent] = _ToldAnswer(text, time.time(), message)
        event = TurnFinished(agent=agent, session="", turn="", stop=stop, text=text, error=error, source=source)
        self._context.bus.publish(event)

    async def _bind_late(self, key: _Key, row: AgentRow) -> None:
        """Write down the conversation that it is in: one that only seems to rest may begin its record later."""
        for pause in _BEGUN_AFTER:
            await self._bind(row)
            status, now = self._statuses.get(key), self._context.rows.get(row.id)
            if status is None or status.known.status != QUIET or now is None or now.external_id:
                return
            await asyncio.sleep(pause)

    async def _bind(self, row: AgentRow) -> None:
        """Write down the conversation that the program is in."""
        server = self._context.terminals.server(row.socket)
        id = await self._programs.conversation(server, row, self._context.rows.all())
        now = self._context.rows.get(row.id)
        if id and now is not None and now.pid == row.pid and id != now.external_id:
            self._bound(row.id, id)

    def _bound(self, agent: str, conversation: str) -> None:
        self._context.rows.change_soon(agent, {"external_id": conversation})


def _goes_on(known: KnownStatus, turn: TurnText | None) -> bool:
    """Whether a program is still in the turn after which it was seen at rest.

    With the end of that turn in its transcript, what it asks now a person has opened. Where the words so far only look
    like that end, a question to allow something is of that turn: some programs write down its call after they ask.
    """
    if known.status != "waiting" or turn is None or not turn.over:
        return known.status in (*WORKING, "waiting")
    return not turn.final and known.question is not None and any(one.means for one in known.question.choices)
