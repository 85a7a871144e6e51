"""How to run another program: exact arguments and environment, for a first start and for resuming a conversation."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from gshtui.programs.codex import app_server_launch
from gshtui.programs.hooks import hook_reports, hooks
from gshtui.programs.opencode import server_launch
from gshtui.programs.profiles.profile import Profile
from gshtui.programs.transcripts.program_transcript import TranscriptQuery
from gshtui.programs.transcripts.transcript_readers import ConversationState, conversation_state, transcript_file
from gshtui.system.processes import processes
from gshtui.text.linear_regex import compile_linear

RESUMED = "resumed its conversation"
ANEW = "had no conversation yet; started anew"
FORKED = "went on from a copy of the original's conversation"
_HELP_WITHIN = 8.0
_PLACE = re.compile(r"\{(id|new|file|cwd)\}")


class Launch(msgspec.Struct, frozen=True):
    """One start. `blank`: a conversation was expected, and it starts without; `why` says the reason.

    `how`: what a restart makes of the conversation, as words about the agent; empty where there is nothing to say.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    """Added to the environment of the agent."""
    unset: tuple[str, ...] = ()
    """Names, or prefixes with `*`, to leave out of it."""
    external_id: str = ""
    blank: bool = False
    why: str = ""
    hooked: bool = False
    """The program will report by itself."""
    how: str = ""
    alone: tuple[str, ...] = ()
    """Its command line to be connected to a server of its own (`with_server`); empty: it has none."""

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """The whole environment: the inherited variables, minus forbidden ones, plus additions."""
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
        return f"the id of its conversation is unknown, since {profile.title} never reported it"
    if not compile_linear(profile.conversation.id).fullmatch(external_id):
        return "the recorded id of its conversation is not valid"
    return ""


def can_fork(profile: Profile, argv: Sequence[str], external_id: str, *, here: bool = False) -> str:
    """Why a program cannot start with a copy of a conversation; empty when it can. `here`: in the original's folder."""
    if not profile.conversation.fork:
        return f"{profile.title} cannot start with a copy of a conversation"
    if names_conversation(profile, argv):
        return "its command line chooses a conversation by itself"
    if profile.conversation.fork_stays and not here:
        return f"{profile.title} would go on with the copy in the original's folder, not in the new worktree"
    if not external_id:
        return f"the id of its conversation is unknown, since {profile.title} has not told it"
    if not compile_linear(profile.conversation.id).fullmatch(external_id):
        return "the recorded id of its conversation is not valid"
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
    usual = {"--resume", "--continue", "--session-id", "-r", "resume", "fork", "--session"}
    # Where a subcommand names the conversation, `-c` is an option of another kind.
    usual |= {"-c"} if profile.conversation.place == "end" else set()
    return bool(words & (own | usual))


async def first_launch(
    profile: Profile,
    argv: Sequence[str],
    *,
    agent: str,
    data: Path,
    environ: Mapping[str, str],
    folder: Path | None = None,
    cwd: str = "",
    origin: str = "",
    version: str = "",
) -> Launch:
    """How to start a new agent; `blank` if it was to go on from a copy of a conversation that is gone.

    Args:
        cwd: the agent's folder.
        origin: the conversation that it goes on from a copy of; empty: a new one.
        argv: the requested command line; empty: the profile's own.
        data: the data folder, which contains the program's reports.
        environ: the environment that the agent inherits.
        folder: the folder of the hook recipes; by default the user's configuration.
        version: of the program; empty: unknown.
    """
    words = tuple(argv) or profile.argv
    if origin:
        copy = await _copied(profile, words, origin, environ, cwd)
        if profile.protocol == "codex" and not copy.blank:
            copy = await _copied_before(profile, words, origin, environ, cwd, data, agent) or copy
        made = await _started(profile, words, copy.arguments, copy.external_id, agent, data, environ, folder, version)
        return replace(made, blank=copy.blank, why=copy.why, how=copy.how)
    conversation = "" if names_conversation(profile, words) else new_conversation_id(profile)
    arguments = _filled(profile.conversation.mint, conversation) if conversation else ()
    return await _started(profile, words, arguments, conversation, agent, data, environ, folder, version)


class Resumption(msgspec.Struct, frozen=True):
    """What a restart makes of an agent's conversation."""

    how: str
    """As words about the agent; empty where there is nothing to say."""
    external_id: str = ""
    arguments: tuple[str, ...] = ()
    blank: bool = False
    why: str = ""
    """Why it is blank."""


async def resumption(
    profile: Profile,
    argv: Sequence[str],
    external_id: str,
    *,
    environ: Mapping[str, str],
    cwd: str = "",
    since: float = 0.0,
    origin: str = "",
) -> Resumption:
    """How an agent's conversation would go on; changes nothing.

    An agent that was never spoken to has no conversation to lose: it starts again, where we choose the id under the
    same one, or under another one if the program has already used the old one.

    Args:
        cwd, since: the agent's folder and start (epoch seconds), by which a conversation without an id is looked for.
        origin: the conversation that its own was begun as a copy of, and is again where it has none of its own yet.
    """
    words = tuple(argv) or profile.argv
    own = names_conversation(profile, words)
    state: ConversationState = "unknown"
    if profile.conversation.resume and not own and (external_id or cwd):
        wanted = TranscriptQuery(profile.hooks.kind or profile.name, external_id, cwd, since)
        around = {**environ, **assigned(words), **profile.environment}
        state = await asyncio.to_thread(conversation_state, wanted, around)
    unsaid = state in ("absent", "empty")
    if origin and not own and profile.conversation.fork and (unsaid or not external_id):
        return await _copied(profile, words, origin, environ, cwd)
    if not (unsaid and not external_id) and (why := can_resume(profile, external_id)):
        how = f"started anew, since {why}" if profile.conversation.resume and not own else ""
        return Resumption(how, blank=True, why=why)
    if unsaid:
        if state == "empty" or not external_id or not profile.conversation.mint:
            external_id = new_conversation_id(profile)
        return Resumption(ANEW, external_id, _filled(profile.conversation.mint, external_id) if external_id else ())
    if own:
        return Resumption("", external_id)
    return Resumption(RESUMED, external_id, _filled(profile.conversation.resume, external_id))


async def _copied(
    profile: Profile, words: Sequence[str], origin: str, environ: Mapping[str, str], cwd: str
) -> Resumption:
    """A start with a copy of a conversation."""
    template = profile.conversation.fork
    new = str(uuid.uuid4()) if any("{new}" in word for word in template) else ""
    file = ""
    if any("{file}" in word for word in template):
        wanted = TranscriptQuery(profile.hooks.kind or profile.name, origin, "", 0.0)
        found = await asyncio.to_thread(transcript_file, wanted, {**environ, **assigned(words), **profile.environment})
        if found is None:
            why = f"the file of the original's conversation {origin} is gone"
            return Resumption(f"started anew, since {why}", blank=True, why=why)
        file = str(found)
    known = {"id": origin, "new": new, "file": file, "cwd": cwd}
    arguments = tuple(_PLACE.sub(lambda name: known[name.group(1)], word) for word in template)
    return Resumption(FORKED, new, arguments)


async def _copied_before(
    profile: Profile,
    words: Sequence[str],
    origin: str,
    environ: Mapping[str, str],
    cwd: str,
    data: Path,
    agent: str,
) -> Resumption | None:
    """A start with a copy that is there already; `None`: it cannot be made before the start."""
    from gshtui.programs.codex.conversation_copy import copy_conversation

    at = next((place for place, word in enumerate(words) if Path(word).name in profile.programs), -1)
    if at < 0 or not app_server_launch.keeps_permissions(words):
        return None
    if app_server_launch.REMOTE not in await help_text(words, environ):
        return None
    around = {**environ, **profile.environment}
    made = await copy_conversation(words[: at + 1], origin, cwd, data, agent, around)
    if not compile_linear(profile.conversation.id).fullmatch(made):
        return None
    return Resumption(FORKED, made, _filled(profile.conversation.resume, made))


async def next_launch(
    profile: Profile,
    argv: Sequence[str],
    external_id: str,
    *,
    agent: str,
    data: Path,
    environ: Mapping[str, str],
    folder: Path | None = None,
    cwd: str = "",
    since: float = 0.0,
    origin: str = "",
    version: str = "",
) -> Launch:
    """How to restart an agent: with its conversation, or `blank` and the reason. See `resumption`."""
    words = tuple(argv) or profile.argv
    found = await resumption(profile, words, external_id, environ=environ, cwd=cwd, since=since, origin=origin)
    if found.blank:
        new = await first_launch(
            profile, words, agent=agent, data=data, environ=environ, folder=folder, version=version
        )
        return replace(new, blank=True, why=found.why, how=found.how)
    made = await _started(profile, words, found.arguments, found.external_id, agent, data, environ, folder, version)
    return replace(made, how=found.how)


def remote_launch(profile: Profile, argv: Sequence[str], earlier: str | None) -> Launch:
    """How to start a program on another machine, whose files are not read: with an id of ours where it takes one.
    `earlier`: the conversation to go on with, empty if it is unknown; `None`: a new agent.
    """
    words = tuple(argv) or profile.argv
    env, own = dict(profile.environment), names_conversation(profile, words)
    if earlier is not None and not own:
        if not (why := can_resume(profile, earlier)):
            resumed = placed(profile, words, _filled(profile.conversation.resume, earlier))
            return Launch(resumed, env, external_id=earlier, how=RESUMED)
        if profile.conversation.resume:
            fresh = remote_launch(profile, words, None)
            return replace(fresh, blank=True, why=why, how=f"started anew, since {why}")
    new = "" if own else new_conversation_id(profile)
    made = placed(profile, words, _filled(profile.conversation.mint, new) if new else ())
    return Launch((*made,), env, external_id=new, blank=earlier is not None)


def assigned(argv: Sequence[str]) -> dict[str, str]:
    """The variables that a command line sets for its program (`env NAME=VALUE … program`)."""
    found: dict[str, str] = {}
    for word in argv[1:] if argv and Path(argv[0]).name == "env" else ():
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier():
            break
        found[name] = value
    return found


async def _started(
    profile: Profile,
    words: tuple[str, ...],
    arguments: tuple[str, ...],
    conversation: str,
    agent: str,
    data: Path,
    environ: Mapping[str, str],
    folder: Path | None,
    version: str,
) -> Launch:
    given, reports = await asyncio.to_thread(_hooked, profile, words, agent, data, environ, folder)
    known = await help_text(words, environ) if profile.offered or profile.protocol == "codex" else ""
    extra = profile.offered if _offers(profile, words, known) else ()
    alone = (*placed(profile, words, arguments), *given.arguments)
    argv = (*placed(profile, words, arguments), *extra, *given.arguments)
    env = {**profile.environment, **given.environment, **reports}
    served = profile.protocol == "codex" and app_server_launch.REMOTE in known
    made = Launch(argv, env, profile.scrub, conversation, hooked=bool(reports), alone=alone if served else ())
    return _with_opencode_server(made, profile, environ, version) if profile.protocol == "opencode" else made


def with_server(
    profile: Profile, made: Launch, alone: tuple[str, ...], plain: tuple[str, ...], data: Path, agent: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The command line of a program that is connected to a server of its own, and what its terminal runs for that.

    Where it cannot be, the plain command line and nothing. Blocks for a moment. `alone`: `Launch.alone`, with the
    arguments for its mode.
    """
    at = next((place for place, word in enumerate(alone) if Path(word).name in profile.programs), -1)
    try:
        socket = app_server_launch.server_socket(data, agent)
    except OSError:
        return plain, ()  # it is reached by its terminal alone
    if socket is None or at < 0:
        return plain, ()
    # What its mode allows, its link holds it to; words of its own, nobody does.
    keeps = made.how in (RESUMED, FORKED) and app_server_launch.keeps_permissions(made.alone)
    return app_server_launch.with_server(alone, at, plain, socket, keeps=keeps) or (plain, ())


def _with_opencode_server(made: Launch, profile: Profile, environ: Mapping[str, str], version: str) -> Launch:
    """The same start with the program's own server, where that can be made safe."""
    at = next((place for place, word in enumerate(made.argv) if Path(word).name in profile.programs), -1)
    plain = at == 0 or (Path(made.argv[0]).name == "env" and all("=" in word for word in made.argv[1:at]))
    served = server_launch.with_server(made.argv, at, made.environment(environ), version) if plain and at >= 0 else None
    return made if served is None else replace(made, argv=served[0], env={**made.env, **served[1]})


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


def _offers(profile: Profile, argv: Sequence[str], known: str) -> bool:
    """Whether the program's help mentions the argument that the profile wants to pass."""
    return bool(profile.offered) and profile.offered[0] not in argv and profile.offered[0] in known


async def help_text(argv: Sequence[str], environ: Mapping[str, str]) -> str:
    """What the program says of its arguments; empty if it says nothing in time."""
    try:
        process = await processes.start_child(
            argv[0],
            "--help",
            env=dict(environ),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return ""
    try:
        output, _ = await asyncio.wait_for(process.communicate(), _HELP_WITHIN)
    except TimeoutError:
        return ""
    finally:
        await processes.kill_child(process)
    return output.decode("utf-8", "replace")
