"""The commands `file`, `init` and `review`: each sends the agent in front a prompt.

Its turn does the work under its guard.
A window publishes the prompt; `gsh-tui prompt /init` takes it as its own. Nothing is read or changed here but what git
says of the working tree.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from pydantic import Field

from gshtui.bus.events.agent_events import PromptSubmitted
from gshtui.commands.declaration import Access, Command, CommandError, Invocation, Outcome, Parameters, UsageError
from gshtui.commands.registry import AnyCommand
from gshtui.system.ids import new_id
from gshtui.text.sanitise import one_line
from gshtui.tools.git.git import git

AGENTS_FILE = "AGENTS.md"
PROMPT_COMMANDS = ("init", "review", "file")
_INIT = """\
{task} It tells agents what they must know to work in this project.

First look: README, build files, tests, CI, the main folders{others}. Then put in, briefly and only what you have seen:
- what the project is, in two sentences;
- the commands that build, test and check it; run the quick ones to see that they work;
- the layout, a line for each main folder;
- conventions that are not the usual ones, and what to leave alone.

At most about 60 lines. Leave out advice that would hold anywhere."""
_NEW = "Write {file}."
_OLD = """\
Improve {file}, which exists. Read it first, keep what is right and what somebody decided on purpose, correct what is \
wrong, and add what is missing. Change it with `edit`; do not replace it as a whole."""
_OTHERS = ("CLAUDE.md", "GEMINI.md", ".cursorrules", ".github/copilot-instructions.md")
_REVIEW = """\
Review {what}. Change nothing.

Look at the changes with {how}{new}, and read the code around them and what calls it. Then report what is wrong, the \
most serious first: where (path:line), what happens and when, and the fix in a sentence. Say which of it you have \
seen happen, and which you only suspect. Name what no test covers. If nothing is wrong, say so; don't retell the \
changes."""


class InitParameters(Parameters):
    """Parameters of `init`: none."""


class FileParameters(Parameters):
    """Parameters of `file`."""

    path: str = Field(description="The file: a picture, a PDF, a sound or a short text.", max_length=4_000)
    text: str = Field(default="", description="What to say about it.", max_length=100_000)


class ReviewParameters(Parameters):
    """Parameters of `review`."""

    base: str = Field(
        default="", description="Branch or commit to compare with; empty: what is not committed yet.", max_length=200
    )


def commands() -> list[AnyCommand]:
    return [
        Command(
            "file",
            "Send the agent a picture, a PDF, a sound or a text file",
            FileParameters,
            _file,
            access=Access.HUMAN_ONLY,
            positions=("path", "text"),
            description="What it is, its content says. `@FILE` in a prompt sends pictures, PDFs and sounds, too.",
            family="agents",
        ),
        Command(
            "init",
            "Have the agent write the project's AGENTS.md",
            InitParameters,
            _init,
            access=Access.HUMAN_ONLY,
            description="An AGENTS.md that exists is improved, not replaced.",
            family="agents",
        ),
        Command(
            "review",
            "Have the agent review the working tree",
            ReviewParameters,
            _review,
            access=Access.HUMAN_ONLY,
            positions=("base",),
            description="Without a base it reviews what is not committed; with one, all changes since they parted.",
            family="agents",
        ),
    ]


def _prompt(invocation: Invocation, text: str) -> Outcome:
    """The outcome that a window turns into a turn of the agent in front."""
    intent = PromptSubmitted(prompt=new_id(), agent=invocation.addressed, text=text)
    return Outcome({"prompt": text}, text, intent=intent)


def _nothing(why: str) -> Outcome:
    """The outcome where there is nothing to prompt for, which is no failure."""
    return Outcome({"prompt": ""}, why)


async def _file(invocation: Invocation, parameters: FileParameters) -> Outcome:
    try:
        path = invocation.project / Path(parameters.path.removeprefix("@")).expanduser()
        found = await asyncio.to_thread(path.is_file)
    except (OSError, ValueError, RuntimeError):
        found, path = False, Path(parameters.path)
    if not found:
        raise CommandError(f"There is no file {one_line(parameters.path, 200)}.", hint="Give its path.")
    text = parameters.text.strip() or f"Here is the file {one_line(path.name, 200)}."
    intent = PromptSubmitted(prompt=new_id(), agent=invocation.addressed, text=text, attachments=(str(path),))
    return Outcome({"prompt": text, "file": str(path)}, text, intent=intent)


async def _init(invocation: Invocation, _parameters: InitParameters) -> Outcome:
    file = invocation.project / AGENTS_FILE

    def look() -> tuple[bool, list[str]]:
        return file.exists(), [name for name in _OTHERS if (invocation.project / name).is_file()]

    exists, others = await asyncio.to_thread(look)
    task = (_OLD if exists else _NEW).format(file=file)
    also = f", and take over what is in {', '.join(others)}" if others else ""
    return _prompt(invocation, _INIT.format(task=task, others=also))


async def _review(invocation: Invocation, parameters: ReviewParameters) -> Outcome:
    root, base = invocation.project, parameters.base.strip()
    if not base:
        if prompt := await _uncommitted(root):
            return _prompt(invocation, prompt)
        return _nothing("Everything is committed. `review BASE` reviews all changes since a branch.")
    parted = await git(root, "merge-base", "HEAD", "--end-of-options", base) if base[0] != "-" else None
    if parted is None or parted.code:
        raise UsageError(f"{one_line(base, 60)!r} is no branch or commit that this one has grown from.")
    start = parted.out.strip()
    changed = await git(root, "diff", "--quiet", start)
    new = await _new_files(root)
    if not changed.code and not new:
        return _nothing(f"Nothing has changed since {one_line(base, 60)}.")
    what = f"the changes of the working tree {root} since it parted from {base}, committed or not"
    return _prompt(invocation, _REVIEW.format(what=what, how=f"`git diff {start[:12]}`", new=new))


async def _uncommitted(root: Path) -> str:
    """The prompt for what is not committed; empty: nothing is. Raises `CommandError`: this is no repository."""
    status = await git(root, "status", "--porcelain")
    if status.code:
        raise CommandError(f"{root} is not in a git repository, so there is nothing to compare with.")
    if not status.out.strip():
        return ""
    started = await git(root, "rev-parse", "--verify", "--quiet", "HEAD")
    how = "`git diff HEAD`" if not started.code else "`git diff --cached` and `git diff`"
    new = await _new_files(root)
    return _REVIEW.format(what=f"the changes in {root} that are not committed", how=how, new=new)


async def _new_files(root: Path) -> str:
    """The part about files that git does not know yet; empty: there are none."""
    others = await git(root, "ls-files", "--others", "--exclude-standard", "--directory")
    return " and read the new files that `git status` names" if others.out.strip() else ""
