"""What is run for somebody's program: exact arguments and environment, for a first start and for a resumed one."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from gshtui.programs import hook_reports, hooks
from gshtui.programs.profile import Profile
from gshtui.programs.transcripts import claude_transcript, gemini_transcript
from gshtui.programs.transcripts.program_transcript import TranscriptEntry, TranscriptQuery
from gshtui.system import processes
from gshtui.text.linear_regex import compile_linear

_READERS: Mapping[str, Any] = {"claude": claude_transcript, "gemini": gemini_transcript}
"""Programs that take ids of ours: they alone can be started anew under the same one."""


ConversationState = Literal["absent", "empty", "said", "unknown"]
"""absent: there is no transcript. empty: there is one, and nobody has said anything in it."""


def conversation_state(program: str, id: str, environ: Mapping[str, str], cwd: str = "") -> ConversationState:
    """How far the conversation came. Blocks for a moment.

    Args:
        program: whose transcripts they are, by the name of its profile or the kind of its hooks.
        environ: what the program inherits; it says where its files are.
    """
    reader = _READERS.get(program)
    if reader is None or not id:
        return "unknown"
    home = Path(environ.get("HOME", "") or "~").expanduser()
    try:
        path = reader.find(TranscriptQuery(program, id, cwd, 0.0), environ, home)
        if path is None:
            return "absent"
        return "said" if any(map(_said, reader.read(path).entries)) else "empty"
    except OSError:
        return "unknown"


def _said(entry: TranscriptEntry) -> bool:
    """Whether a person said this; programs put words of their own in front."""
    return entry.role == "user" and entry.kind == "text"


_HELP_WITHIN = 8.0


@dataclass(frozen=True, slots=True)
class Launch:
    """One start. `blank`: a conversation was expected, and it starts without; `why` says the reason."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Added to the environment of the agent."""
    unset: tuple[str, ...] = ()
    """Names, or prefixes with `*`, to leave out of it."""
    external_id: str = ""
    blank: bool = False
    why: str = ""
    hooked: bool = False
    """The program will report by itself."""

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """The whole environment: what is inherited, without what must not be, and what is added."""
        kept = {name: value for name, value in inherited.items() if not _matches(name, self.unset)}
        return kept | dict(self.env)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(name.startswith(word[:-1]) if word.endswith("*") else name == word for word in patterns)


def new_conversation_id(profile: Profile) -> str:
    """An id for a new conversation; empty where the program makes its own."""
    return str(uuid.uuid4()) if profile.conversation.mint else ""


def can_resume(profile: Profile, external_id: str) -> str:
    """Why a conversation cannot be gone on with; empty when it can."""
    if not profile.conversation.resume:
        return f"{profile.title} cannot be started with an earlier conversation"
    if not external_id:
        return f"the id of its conversation is not known, since {profile.title} never told it"
    if not compile_linear(profile.conversation.id).fullmatch(external_id):
        return "what is noted as its conversation's id is none"
    return ""


def placed(profile: Profile, argv: Sequence[str], arguments: Sequence[str]) -> tuple[str, ...]:
    """The command line with arguments about the conversation in the place that the program wants."""
    words = tuple(argv)
    if profile.conversation.place == "end" or not arguments:
        return (*words, *arguments)
    at = next((n + 1 for n, word in enumerate(words) if Path(word).name in profile.programs), 1)
    return (*words[:at], *arguments, *words[at:])


def names_conversation(profile: Profile, argv: Sequence[str]) -> bool:
    """A command line that chooses a conversation by itself; nothing is added to it then."""
    words = {word.split("=", 1)[0] for word in argv[1:]}
    own = {*profile.conversation.mint, *profile.conversation.resume} - {"{id}"}
    return bool(words & (own | {"--resume", "--continue", "--session-id", "-c", "-r", "resume", "--session"}))


async def first_launch(
    profile: Profile,
    argv: Sequence[str],
    *,
    agent: str,
    data: Path,
    environ: Mapping[str, str],
    folder: Path | None = None,
) -> Launch:
    """A new agent's start.

    Args:
        argv: the command line as it was asked for; the profile's own when empty.
        data: the data folder, where the program's reports are kept.
        environ: what the agent inherits.
        folder: of the hook recipes; the user's configuration by default.
    """
    words = tuple(argv) or profile.argv
    conversation = "" if names_conversation(profile, words) else new_conversation_id(profile)
    arguments = _filled(profile.conversation.mint, conversation) if conversation else ()
    return await _started(profile, words, arguments, conversation, agent, data, environ, folder)


async def next_launch(
    profile: Profile,
    argv: Sequence[str],
    external_id: str,
    *,
    agent: str,
    data: Path,
    environ: Mapping[str, str],
    folder: Path | None = None,
) -> Launch:
    """A start of an agent that was there before. With its conversation, or `blank` and why.

    One that was never spoken to has no conversation to go on with, and loses none: it begins under the same id, or
    under another one of ours where the program has noted the old one already.
    """
    words = tuple(argv) or profile.argv
    if why := can_resume(profile, external_id):
        new = await first_launch(profile, words, agent=agent, data=data, environ=environ, folder=folder)
        return Launch(new.argv, new.env, new.unset, new.external_id, True, why, new.hooked)
    arguments: tuple[str, ...] = ()
    if not names_conversation(profile, words):
        far = await asyncio.to_thread(_begun, profile, external_id, environ)
        external_id = new_conversation_id(profile) if far == "empty" else external_id
        template = profile.conversation.mint if far in ("absent", "empty") else profile.conversation.resume
        arguments = _filled(template, external_id)
    return await _started(profile, words, arguments, external_id, agent, data, environ, folder)


async def _started(
    profile: Profile,
    words: tuple[str, ...],
    arguments: tuple[str, ...],
    conversation: str,
    agent: str,
    data: Path,
    environ: Mapping[str, str],
    folder: Path | None,
) -> Launch:
    given, reports = await asyncio.to_thread(_hooked, profile, words, agent, data, environ, folder)
    extra = profile.offered if await _offers(profile, words, environ) else ()
    argv = (*placed(profile, words, arguments), *extra, *given.arguments)
    env = {**profile.environment, **given.environment, **reports}
    return Launch(argv, env, profile.scrub, conversation, hooked=bool(reports))


def _begun(profile: Profile, external_id: str, environ: Mapping[str, str]) -> ConversationState:
    """How far the conversation came; of a program that makes its own ids, it is always gone on with."""
    if not profile.conversation.mint:
        return "unknown"
    return conversation_state(profile.hooks.kind or profile.name, external_id, {**environ, **profile.environment})


def _filled(template: Sequence[str], external_id: str) -> tuple[str, ...]:
    return tuple(word.replace("{id}", external_id) for word in template)


def _hooked(
    profile: Profile, argv: Sequence[str], agent: str, data: Path, environ: Mapping[str, str], folder: Path | None
) -> tuple[hooks.HookSetup, dict[str, str]]:
    """What makes the program report, where a person has consented to it."""
    if hooks.state(profile, folder) not in ("installed", "outdated"):
        return hooks.NOTHING, {}
    try:
        given = hooks.hook_setup(profile, hooks.file_of(profile, folder), argv, environ)
        if not given.reports:
            return given, {}
        return given, {hook_reports.VARIABLE: str(hook_reports.open_spool(data, agent))}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return hooks.NOTHING, {}  # a recipe that cannot be used must not keep the program from starting


async def _offers(profile: Profile, argv: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Whether the program's help names the argument that the profile would like to give."""
    if not profile.offered or profile.offered[0] in argv:
        return False
    try:
        process = await asyncio.create_subprocess_exec(
            argv[0],
            "--help",
            env=dict(environ),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return False
    try:
        output, _ = await asyncio.wait_for(process.communicate(), _HELP_WITHIN)
    except TimeoutError:
        await processes.kill_child(process)
        return False
    return profile.offered[0].encode() in output
