"""Going back in a conversation: which prompts there are, what a way back would do to the files, and doing it.

The log is only ever added to: a rewind goes on in a fork that ends before the prompt, and undoing it goes back to the
conversation that was left. What the person changed themselves, between turns, is told apart from what turns changed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
from msgspec.structs import replace

from gshtui.bus.messages import Message
from gshtui.commands.declaration import CommandError
from gshtui.store.record.store import Store
from gshtui.store.tables.checkpoint_table import Checkpoint
from gshtui.store.tables.session_table import SessionInfo
from gshtui.system.expected_error import ExpectedError
from gshtui.text.sanitise import one_line
from gshtui.text.units import counted
from gshtui.tools.git.shadow_repository import FileRestore, ShadowError, ShadowRepository

_NAMED = 5
_MOST_RESULTS = 200
"""Messages with results of one message's calls that are looked for behind it."""


class EarlierPrompt(msgspec.Struct, frozen=True):
    """A prompt to which one can go back. `number` counts from the newest, 1."""

    number: int
    seq: int
    id: str
    text: str
    at: float
    files: int = 0
    """How many files its turn changed, as far as that is known."""

    @property
    def changed(self) -> str:
        """That, behind its other words; empty: none."""
        return f" · {counted(self.files, 'file')}" if self.files else ""


class FilePlan(msgspec.Struct, frozen=True):
    """What restoring files would do."""

    tree: str = ""
    """Empty: there is no checkpoint, so files stay as they are."""
    now: str = ""
    changes: tuple[FileRestore, ...] = ()
    yours: tuple[str, ...] = ()
    """Paths among them that were changed while no turn ran: by the person, or by another program."""


class Rewound(msgspec.Struct, frozen=True):
    """What a rewind, or its undoing, did."""

    session: SessionInfo
    prompt: str = ""
    """The text of the prompt that was taken back."""
    restored: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """Sentences about files that were left alone."""
    checkpoint: bool = True
    """Whether there was one to restore files from."""
    files: bool = msgspec.field(default=True)
    """Whether restoring files was wanted."""


def earlier_prompts(messages: Sequence[tuple[int, Message]]) -> list[EarlierPrompt]:
    """The prompts of a conversation, newest first."""
    said = [(seq, one) for seq, one in messages if one.role == "user" and one.agent not in ("hook",)]
    return [EarlierPrompt(n, seq, one.id, one.text, one.at) for n, (seq, one) in enumerate(reversed(said), 1)]


class Rewinder:
    """Goes back in conversations about one folder."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self._shadow = ShadowRepository(folder)

    async def prompts(self, session: str) -> list[EarlierPrompt]:
        """The conversation's prompts, newest first. Raises `StoreError`."""
        stored = await self._store.messages.read(session)
        return earlier_prompts([(one.seq, one.message) for one in stored])

    async def counted(self, session: str, prompts: Sequence[EarlierPrompt]) -> list[EarlierPrompt]:
        """These prompts with how many files each one's turn changed. Raises `StoreError`."""
        turns = {
            one.message: (one.tree, after.tree)
            for one, after in pairwise(await self._points(session))
            if one.kind == "before" and after.kind == "after"
        }
        return [
            replace(one, files=await self._differing(*turns[one.id])) if one.id in turns else one for one in prompts
        ]

    async def _differing(self, before: str, after: str) -> int:
        try:
            return len(await self._shadow.changes(after, before))
        except ShadowError:
            return 0  # nothing can be restored either

    async def prompt(self, session: str, number: int, message: str = "") -> EarlierPrompt:
        """The prompt of this number, or of this message. Raises `CommandError` and `StoreError`."""
        found = await self.prompts(session)
        if message:
            prompt = next((one for one in found if one.id == message), None)
            if prompt is None:
                raise CommandError("That prompt is not in this conversation.", hint="`rewind` lists its prompts.")
            return prompt
        if not 1 <= number <= len(found):
            raise CommandError(
                f"There is no prompt {number}: the conversation has {len(found)}.", hint="`rewind` lists them."
            )
        return found[number - 1]

    async def plan(self, session: str, prompt: EarlierPrompt) -> FilePlan:
        """What restoring the files as they were before a prompt would do. Raises `ShadowError` and `StoreError`."""
        points = await self._points(session)
        place = next((n for n, one in enumerate(points) if one.message == prompt.id and one.kind == "before"), None)
        return FilePlan() if place is None else await self._plan_to(points[place].tree, points[place:])

    async def plan_back(self, session: str) -> FilePlan:
        """What restoring the files as they were before the rewind that made this conversation would do."""
        points = [one for one in await self._points(session) if one.session == session]
        place = next((n for n, one in enumerate(points) if one.kind == "rewound"), None)
        return FilePlan() if place is None else await self._plan_to(points[place].tree, points[place + 1 :])

    async def rewind(self, session: str, prompt: EarlierPrompt, plan: FilePlan | None) -> Rewound:
        """Go on before a prompt, with the files as they were then. `plan`: `None` leaves files alone."""
        old = await self._store.sessions.find(session)
        new = await self._store.sessions.fork(
            session,
            cwd=old.cwd,
            agent=old.agent,
            title=old.title,
            parent=old.parent,
            upto=prompt.seq - 1,
            rewound=True,
        )
        if plan is None or not plan.tree:
            return Rewound(new, prompt.text, checkpoint=plan is None, files=plan is not None)
        try:
            await self._store.checkpoints.add(new.id, session, "rewound", str(self._folder), plan.now)
            left = await self._shadow.restore(plan.tree, plan.now, plan.changes)
            await self._store.checkpoints.add(new.id, "", "after", str(self._folder), await self._shadow.record_files())
        except BaseException as error:
            await asyncio.shield(self._take_back(error, plan, new.id))
            raise
        return Rewound(new, prompt.text, tuple(one.path for one in plan.changes), tuple(left))

    async def _take_back(self, error: BaseException, plan: FilePlan, session: str) -> None:
        """A step has failed: the files as they were before, and no new conversation. Raises `ShadowError` with what
        stays otherwise, as far as that can be told."""
        if session:
            with contextlib.suppress(ExpectedError, OSError):
                await self._store.sessions.delete(session)
        differ: Sequence[FileRestore] = plan.changes
        try:
            now = await self._shadow.record_files()
            await self._shadow.restore(plan.now, now, await self._shadow.changes(now, plan.now))
            differ = await self._shadow.changes(await self._shadow.record_files(), plan.now)
        except (ExpectedError, OSError):
            pass  # which of them differ cannot be told
        if not (differ and isinstance(error, ExpectedError | OSError)):
            return
        named = ", ".join(one_line(one.path, 100) for one in differ[:_NAMED])
        more = f" and {len(differ) - _NAMED} more" if differ[_NAMED:] else ""
        why = error.message if isinstance(error, ExpectedError) else f"{error.strerror or error}."
        raise ShadowError(f"{why} These files may not be as they were: {named}{more}.") from error

    async def undo(self, session: str, plan: FilePlan) -> Rewound:
        """Go back to the conversation that a rewind left. Raises `CommandError`, `ShadowError` and `StoreError`."""
        before = await self._store.sessions.find(await self.left_by(session))
        if not plan.tree:
            await self._store.sessions.touch(before.id)
            return Rewound(before, files=False)
        try:
            left = await self._shadow.restore(plan.tree, plan.now, plan.changes)
            await self._store.sessions.touch(before.id)
            tree = await self._shadow.record_files()
            await self._store.checkpoints.add(before.id, "", "after", str(self._folder), tree)
        except BaseException as error:
            await asyncio.shield(self._take_back(error, plan, ""))
            raise
        return Rewound(before, "", tuple(one.path for one in plan.changes), tuple(left))

    async def left_by(self, session: str) -> str:
        """The conversation that a rewind left for this one. Raises `CommandError`: none did."""
        if not (before := await self._store.sessions.rewound_from(session)):
            raise CommandError("Nothing was rewound in this conversation.", hint="`rewind` goes back to a prompt.")
        return before

    async def end_before(self, session: str, message: str) -> int:
        """Position of the last message that a fork at a message takes over: of the one before a prompt, or else of the
        message itself, with the results of its calls; 0: none. Raises `CommandError` and `StoreError`."""
        at = await self._store.messages.position(session, message)
        if not at:
            raise CommandError("That message is not in this conversation yet.", hint="It is once it is whole.")
        [found] = await self._store.messages.read(session, before=at + 1, limit=1)
        if found.message.role == "user":
            return at - 1
        for later in await self._store.messages.read_after(session, at, _MOST_RESULTS):
            if later.message.role != "tool":
                break
            at = later.seq
        return at

    async def tree_before(self, session: str, seq: int) -> str:
        """The tree of the files before the first prompt after a message; empty: there is none."""
        points = await self._points(session)
        later = [one for one in await self.prompts(session) if one.seq > seq]
        ids = {later[-1].id} if later else set[str]()
        return next((one.tree for one in points if one.message in ids and one.kind == "before"), "")

    async def export(self, tree: str, target: Path) -> None:
        """Make another folder's files those of a tree. Raises `ShadowError`."""
        await self._shadow.export(tree, target)

    async def _points(self, session: str) -> list[Checkpoint]:
        return await self._store.checkpoints.find_all(session, str(self._folder))

    async def _plan_to(self, tree: str, since: Sequence[Checkpoint]) -> FilePlan:
        now = await self._shadow.record_files()
        changes = await self._shadow.changes(now, tree)
        touched = {change.path for change in changes}
        yours: set[str] = set()
        # A turn lies between its `before` and the next checkpoint, its `after` if it may have changed anything.
        last = ""
        in_turn = ""
        for one in since:
            if one.kind == "before":
                if last:
                    yours |= {change.path for change in await self._shadow.changes(last, one.tree)}
                in_turn = last = one.tree
            else:
                last, in_turn = one.tree, ""
        if last or in_turn:
            yours |= {change.path for change in await self._shadow.changes(last or in_turn, now)}
        return FilePlan(tree, now, tuple(changes), tuple(sorted(yours & touched)))
