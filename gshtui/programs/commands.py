"""The commands `profiles` and `hooks`: which programs are known, and whether they report their status.

Anyone can look at profiles; only a person can install or remove hooks, and first sees exactly what would change.
Registered by the hub.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from pydantic import Field

from gshtui.commands.declaration import (
    Access,
    Action,
    Command,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    Returns,
    UsageError,
)
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.commands.shell_form import ShellForm, ShellGroup, ShellOption
from gshtui.programs.check.check_results import all_seen_here
from gshtui.programs.check.profile_trials import Look, check_action, trial_action
from gshtui.programs.check.profile_updates import update_action
from gshtui.programs.hooks import hooks
from gshtui.programs.profiles.profile import STATUS_RECORDS, Profile, is_untested
from gshtui.programs.profiles.profile_files import LoadedProfiles, ProfileError, load
from gshtui.settings.loader import Loaded
from gshtui.text.markdown_table import bare_columns, cell, fenced, table

_STATES = {
    "impossible": "no hooks",
    "absent": "hooks not installed",
    "installed": "hooks installed",
    "outdated": "hooks installed by another version",
    "unreadable": "cannot read hooks",
}


class ListedProfile(msgspec.Struct, frozen=True):
    """A program that can be an agent."""

    profile: Profile
    hooks: hooks.State
    file: str
    """Where the profile was read from."""


class ProfileList(msgspec.Struct, frozen=True):
    """The profiles by name, and a sentence about each bad profile file."""

    profiles: list[ListedProfile]
    problems: list[str]


class ShownProfile(msgspec.Struct, frozen=True):
    """A profile, and where it was read from: a file, or `nowhere`."""

    profile: Profile
    origin: str


class ListProfiles(Parameters, Returns[ProfileList]):
    """Every profile."""

    COMMAND: ClassVar[str] = "profiles"
    WORD: ClassVar[str] = "ls"
    SHELL = ShellForm(summary="List the profiles.", parts=frozenset())


class ShowProfile(Parameters, Returns[ShownProfile]):
    """One profile, whole."""

    COMMAND: ClassVar[str] = "profiles"
    WORD: ClassVar[str] = "show"
    SHELL = ShellForm(summary="Show a profile.", parts=frozenset())
    name: Annotated[str, ShellOption(metavar="NAME", required=True, kind="profile")] = Field(
        default="", description="The profile to show."
    )


_GROUP = ShellGroup(
    "Profiles of programs: list, show, check, test, update.",
    """\
Profiles of other programs: how each starts, looks and takes input.

`check` tries an installed program in ten steps against a small model on this machine, in a throw-away home; `test` says
what a profile reads from an agent's screen; `update` takes rules from a signed file.""",
    (("list", "ls"),),
)


class HooksParameters(Parameters):
    """Parameters of `hooks`."""

    action: Literal["status", "install", "remove"] = Field(
        default="status", description="status: which programs report. install, remove: for one program."
    )
    name: str = Field(default="", description="The profile: claude, codex, gemini, opencode.")
    yes: bool = Field(default=False, description="Apply the change; without this, it is only shown.")


def commands(config: Loaded, look: Look, read: Callable[[], LoadedProfiles] = load) -> list[AnyCommand]:
    """The family. `read`: loads the profiles; every run calls it, so that changed files apply at once."""

    async def listed(_: Invocation, _parameters: ListProfiles) -> ProfileList:
        loaded = await asyncio.to_thread(read)
        states = await asyncio.to_thread(_states, loaded)
        found = [
            ListedProfile(profile, states[profile.name], str(loaded.origins.get(profile.name, "")))
            for profile in sorted(loaded.profiles.values(), key=lambda each: each.name)
        ]
        return ProfileList(found, list(loaded.problems))

    async def show(_: Invocation, parameters: ShowProfile) -> ShownProfile:
        loaded = await asyncio.to_thread(read)
        profile = _named(loaded, parameters.name, "profiles show")
        return ShownProfile(profile, str(loaded.origins.get(profile.name, "nowhere")))

    async def run(invocation: Invocation, parameters: HooksParameters) -> Outcome:
        if invocation.caller.is_agent:
            raise UsageError("Only a person can change the hooks of other programs.")
        loaded = await asyncio.to_thread(read)
        if parameters.action == "status":
            states = await asyncio.to_thread(_states, loaded)
            rows = {name: state for name, state in sorted(states.items()) if state != "impossible"}
            data = {name: {"state": state, "file": str(_file(loaded, name))} for name, state in rows.items()}
            return _table(data, ("program", "hooks"), ((name, _STATES[state]) for name, state in rows.items()))
        profile = _named(loaded, parameters.name, f"program_hooks {parameters.action}")
        return await asyncio.to_thread(_change, profile, parameters.action == "remove", parameters.yes)

    return [
        group(
            "profiles",
            "Programs that can be agents: claude, codex, opencode and others",
            Action(ListProfiles, listed, _render_list),
            Action(ShowProfile, show, _render_profile, positions=("name",)),
            check_action(read, config.environ),
            trial_action(read, look),
            update_action(config.environ, lambda: config.settings.programs.rule_keys),
            family="agents",
            shell=_GROUP,
        ),
        Command(
            name="program_hooks",
            summary="Hooks by which other programs report their status: show, install, remove",
            aliases=("hooks",),
            parameters=HooksParameters,
            handler=run,
            access=Access.HUMAN_ONLY,
            effect=Effect.WRITE,
            positions=("action", "name", "yes"),
            family="agents",
        ),
    ]


def _states(loaded: LoadedProfiles) -> dict[str, hooks.State]:
    return {name: hooks.state(profile) for name, profile in loaded.profiles.items()}


def _file(loaded: LoadedProfiles, name: str) -> str:
    return str(hooks.file_of(loaded.profiles[name]))


def _named(loaded: LoadedProfiles, name: str, line: str) -> Profile:
    if not name:
        raise UsageError(f"`{line}` needs the name of a profile.", hint=f"For example: {line} claude")
    try:
        return loaded.get(name)
    except ProfileError as error:
        raise UsageError(str(error)) from error


def _can(profile: Profile) -> list[str]:
    """What is known of a program, and so what it can be used for; nothing of shells and interpreters."""
    if not profile.ai:
        return []
    if profile.login:
        return ["needs you at its login", "all else is guessed"]
    sources = {
        "protocol": profile.protocol,
        "record": profile.record in STATUS_RECORDS,
        "hooks": profile.hooks.kind,
        "screen": profile.rules,
    }
    asks = profile.question
    can = {
        f"status by {', '.join(filter(sources.get, sources))}": profile.rules,
        "answers": profile.protocol or asks.choice or asks.buttons or asks.keys or asks.letters,
        "modes": profile.modes.each,
        "resumes": resumes(profile),
    }
    found = [words for words, there in can.items() if there]
    return ["untested", *found] if is_untested(profile) else found


def resumes(profile: Profile) -> bool:
    """Whether its conversation goes on at a restart: how is known, and also which one it is."""
    from gshtui.programs.transcripts.conversation_binding import finds_conversation

    known = profile.conversation.mint or profile.hooks.kind or finds_conversation(profile.name)
    return bool(profile.conversation.resume and known)


def _render_list(_invocation: Invocation, found: ProfileList) -> Outcome:
    data: list[dict[str, Any]] = [
        {
            "name": one.profile.name,
            "title": one.profile.title,
            "programs": list(one.profile.programs),
            "resumes": resumes(one.profile),
            "hooks": one.hooks,
            "seen": list(one.profile.seen),
            "untested": is_untested(one.profile),
            "can": _can(one.profile),
            "file": one.file,
        }
        for one in found.profiles
    ]
    rows = [
        (one.profile.name, one.profile.title, _STATES[one.hooks], " · ".join(_can(one.profile)))
        for one in found.profiles
    ]
    head = ("profile", "program", "hooks", "can")
    return _table({"profiles": data, "problems": found.problems}, head, rows, found.problems)


def _table(data: object, head: Sequence[str], rows: Iterable[Sequence[str]], below: Sequence[str] = ()) -> Outcome:
    text = "\n".join([table(head, [[*map(cell, row)] for row in rows]), *[""] * bool(below), *below])
    return Outcome(data, text, plain=bare_columns(text))


def _render_profile(_invocation: Invocation, shown: ShownProfile) -> Outcome:
    profile = shown.profile
    data = msgspec.to_builtins(profile)
    lines = [f"{profile.title} ({profile.name}), from {shown.origin}"]
    lines.append(f"programs: {', '.join(profile.programs) or 'none'}")
    never = "never: untested, made from its documentation" if is_untested(profile) else "never recorded"
    lines.append(f"seen: {', '.join(profile.seen) or never}")
    lines += [f"seen here: {version}, {result.sums}" for version, result in all_seen_here(profile.name).items()]
    lines += [f"can: {' · '.join(can)}"] if (can := _can(profile)) else []
    lines.append(f"resumed by: {' '.join(profile.conversation.resume) or 'nothing'}")
    lines.append(f"interrupted by: {' '.join(profile.keys.interrupt)}; ended by: {' '.join(profile.keys.exit)}")
    lines.append(f"idle after {profile.timing.idle:g} s without output, if nothing else shows the status")
    lines += [f"note: {note}" for note in profile.notes]
    return Outcome(data, "\n".join(lines))


def _change(profile: Profile, remove: bool, yes: bool) -> Outcome:
    what = hooks.plan(profile, remove=remove)
    verb = "remove" if remove else "install"
    data: dict[str, Any] = {"profile": profile.name, "file": str(what.file), "done": False, "backups": []}
    if not what.diff:
        return Outcome(data, f"Nothing to {verb}: {what.file} is as it should be.")
    if not yes:
        before = (
            f"This is everything that would change; {profile.title}'s own settings are not touched, and the change has "
            "an effect only in agents that gsh-tui starts."
        )
        line = f"program_hooks {verb} {profile.name} yes"
        text = f"{before}\n\n{fenced(what.diff)}\n\n`/{line}` does it."
        plain = f"{before}\n\n{what.diff}\n\n`gsh-tui run '{line}'` does it."
        return Outcome(data, text, plain=plain, diff=what.diff)
    backups = [str(path) for path in hooks.apply_plan(what)]
    data |= {"done": True, "backups": backups}
    kept = f" The previous version is kept in {', '.join(backups)}." if backups else ""
    if remove:
        return Outcome(data, f"Removed. Agents that are already running report until they end.{kept}", diff=what.diff)
    needs = f" {profile.hooks.needs}" if profile.hooks.needs else ""
    return Outcome(data, f"Installed for agents started from now on.{needs}{kept}", diff=what.diff)
