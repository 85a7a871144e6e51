"""The seven tools that every agent has, declared as commands: read write edit glob grep bash git_worktree.

Registers nothing by itself; the hub calls `commands` and registers what it returns.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from gshtui.commands.declaration import Access, Command, Effect
from gshtui.tools import bash, edit, git_worktree, glob, grep, read, write
from gshtui.tools.path_location import complete_path
from gshtui.tools.workspace import ToolConfig, Workspace


def commands(config: ToolConfig) -> list[Command[Any]]:
    """Return the tools, which share one memory of which agent has read which file."""
    workspace = Workspace(config)
    return [*_reading(workspace), *_changing(workspace)]


def _reading(workspace: Workspace) -> list[Command[Any]]:
    return [
        Command(
            name="read",
            summary="Read a file, or list a folder",
            parameters=read.ReadParameters,
            handler=partial(read.run, workspace),
            positions=("path", "start_line", "end_line"),
            description=read.DESCRIPTION,
            details=read.DETAILS,
            family="files",
            tool=True,
            always_offered=True,
            assess=partial(read.assess, workspace),
            complete=complete_path,
        ),
        Command(
            name="glob",
            summary="Find files by path pattern",
            parameters=glob.GlobParameters,
            handler=partial(glob.run, workspace),
            positions=("pattern", "path"),
            description=glob.DESCRIPTION,
            details=glob.DETAILS,
            family="files",
            tool=True,
            always_offered=True,
            assess=partial(glob.assess, workspace),
            complete=complete_path,
        ),
        Command(
            name="grep",
            summary="Search file contents",
            parameters=grep.GrepParameters,
            handler=partial(grep.run, workspace),
            positions=("pattern", "path"),
            description=grep.DESCRIPTION,
            details=grep.DETAILS,
            family="files",
            tool=True,
            always_offered=True,
            assess=partial(grep.assess, workspace),
            complete=complete_path,
        ),
    ]


def _changing(workspace: Workspace) -> list[Command[Any]]:
    worktrees = git_worktree.WorktreeCommand(workspace)
    return [
        Command(
            name="write",
            summary="Write a whole file",
            parameters=write.WriteParameters,
            handler=partial(write.run, workspace),
            access=Access.AGENT_PRIMARY,
            effect=Effect.WRITE,
            positions=("path", "content"),
            description=write.DESCRIPTION,
            family="files",
            tool=True,
            always_offered=True,
            assess=partial(write.assess, workspace),
            complete=complete_path,
        ),
        Command(
            name="edit",
            summary="Replace one piece of text in a file",
            parameters=edit.EditParameters,
            handler=partial(edit.run, workspace),
            access=Access.AGENT_PRIMARY,
            effect=Effect.WRITE,
            positions=("path", "old_text", "new_text"),
            description=edit.DESCRIPTION,
            details=edit.DETAILS,
            family="files",
            tool=True,
            always_offered=True,
            assess=partial(edit.assess, workspace),
            complete=complete_path,
        ),
        Command(
            name="bash",
            summary="Run a command in its own shell",
            parameters=bash.BashParameters,
            handler=partial(bash.run, workspace),
            access=Access.AGENT_PRIMARY,
            effect=Effect.EXECUTE,
            positions=("command",),
            description=bash.DESCRIPTION,
            details=bash.DETAILS,
            family="run",
            tool=True,
            always_offered=True,
            assess=partial(bash.assess, workspace),
            complete=complete_path,
        ),
        Command(
            name="git_worktree",
            summary="Create, list, compare, merge and remove git worktrees",
            parameters=git_worktree.WorktreeParameters,
            handler=worktrees.run,
            actions=tuple(worktrees.actions.values()),
            bind=worktrees.bind,
            access=Access.AGENT_PRIMARY,
            effect=Effect.WRITE,
            positions=("action", "branch", "path"),
            description=git_worktree.DESCRIPTION,
            family="run",
            tool=True,
            assess=partial(git_worktree.assess, workspace),
            complete=complete_path,
        ),
    ]
