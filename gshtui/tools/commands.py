"""The tools that every agent has, declared as commands: for files, virtual ones too, bash, git_commit and git_worktree.

Registers nothing by itself; the hub calls `commands` and registers what it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from gshtui.commands.declaration import Access, Command, Does, Effect
from gshtui.tools.code.change_problems import ChangeProblems
from gshtui.tools.files import edit, glob, grep, read, write
from gshtui.tools.files.file_changes import AppendParameters, FileChanges, MkdirParameters, RemovePath
from gshtui.tools.files.file_paths import FilePaths
from gshtui.tools.files.file_views import (
    CatParameters,
    CdParameters,
    FileViews,
    LsParameters,
    PartParameters,
    PwdParameters,
)
from gshtui.tools.files.path_location import complete_path
from gshtui.tools.files.virtual_tools import VirtualTools, routed
from gshtui.tools.files.workspace import ToolConfig, Workspace
from gshtui.tools.git import git_commit, git_worktree
from gshtui.tools.shell import bash
from gshtui.vfs.file_system import FileSystem

if TYPE_CHECKING:
    from gshtui.code.language_servers import LanguageServers


def commands(
    config: ToolConfig,
    paths: FilePaths | None = None,
    language_servers: Callable[[], LanguageServers] | None = None,
) -> list[Command[Any]]:
    """Return the tools, which share one memory of which agent has read which file.

    Args:
        paths: what paths mean in this hub; without it, all of them are real.
        language_servers: gives those that look at changed files; `None`: there are none.
    """
    workspace = Workspace(config)
    tools = _Tools(workspace, paths or FilePaths(FileSystem(), {}), language_servers)
    declared = [*_reading(tools), *_viewing(tools), *_changing(tools), *_running(workspace, tools.problems)]
    return [replace(command, acts=True) for command in declared]


class _Tools:
    """What the declarations share."""

    def __init__(
        self, workspace: Workspace, paths: FilePaths, language_servers: Callable[[], LanguageServers] | None
    ) -> None:
        self.workspace = workspace
        self.paths = paths
        self.views = FileViews(workspace, paths)
        self.changes = FileChanges(workspace, paths)
        self.virtual = VirtualTools(workspace.config, paths, self.views, self.changes)
        self.complete = self.views.complete
        self.problems = ChangeProblems(paths, language_servers)
        """Adds what language servers say of a change."""


def _reading(tools: _Tools) -> list[Command[Any]]:
    virtual, workspace = tools.virtual, tools.workspace
    return [
        Command(
            name="read",
            summary="Read a file, or list a folder",
            parameters=read.ReadParameters,
            handler=routed(tools.paths, partial(read.run, workspace), virtual.read),
            positions=("path", "start_line", "end_line"),
            description=read.DESCRIPTION,
            details=read.DETAILS,
            family="files",
            tool=True,
            does="read",
            always_offered=True,
            assess=routed(tools.paths, partial(read.assess, workspace), virtual.assess_read),
            complete=tools.complete,
        ),
        Command(
            name="glob",
            summary="Find files by path pattern",
            parameters=glob.GlobParameters,
            handler=routed(tools.paths, partial(glob.run, workspace), virtual.refuse),
            positions=("pattern", "path"),
            description=glob.DESCRIPTION,
            details=glob.DETAILS,
            family="files",
            tool=True,
            does="search",
            always_offered=True,
            assess=routed(tools.paths, partial(glob.assess, workspace), virtual.refuse),
            complete=tools.complete,
        ),
        Command(
            name="grep",
            summary="Search file contents",
            parameters=grep.GrepParameters,
            handler=grep.piped(workspace.config, routed(tools.paths, partial(grep.run, workspace), virtual.grep)),
            positions=("pattern", "path"),
            description=grep.DESCRIPTION,
            details=grep.DETAILS,
            family="files",
            tool=True,
            does="search",
            always_offered=True,
            assess=grep.assessed(routed(tools.paths, partial(grep.assess, workspace), virtual.assess_read)),
            complete=tools.complete,
        ),
    ]


def _viewing(tools: _Tools) -> list[Command[Any]]:
    views = tools.views

    def command(
        name: str,
        summary: str,
        does: Does,
        parameters: Any,
        handler: Any,
        assess: Any,
        *places: str,
        effect: Effect = Effect.READ,
        guests: bool = False,
    ) -> Command[Any]:
        return Command(
            name,
            summary,
            parameters,
            handler,
            guests=guests,
            effect=effect,
            positions=places,
            family="files",
            tool=True,
            does=does,
            assess=assess,
            complete=views.complete,
        )

    return [
        command("cat", "Show files whole", "read", CatParameters, views.cat, views.assess_cat, "path"),
        command(
            "head", "Show the first lines of a file", "read", PartParameters, views.head, views.assess_part, "path", "n"
        ),
        command(
            "tail", "Show the last lines of a file", "read", PartParameters, views.tail, views.assess_part, "path", "n"
        ),
        command("ls", "List a folder", "list", LsParameters, views.ls, views.assess_ls, "path"),
        command(  # a write, so that the calls behind it in an answer wait for it
            "cd", "Work in another folder", "go", CdParameters, views.cd, views.assess_cd, "to", effect=Effect.WRITE
        ),
        command("pwd", "Print the working folder", "", PwdParameters, views.pwd, views.assess_nothing, guests=True),
    ]


def _changing(tools: _Tools) -> list[Command[Any]]:
    virtual, changes, workspace = tools.virtual, tools.changes, tools.workspace
    return [
        Command(
            name="write",
            summary="Write a whole file",
            parameters=write.WriteParameters,
            handler=tools.problems.of_edit(routed(tools.paths, partial(write.run, workspace), virtual.write)),
            effect=Effect.WRITE,
            positions=("path", "content"),
            instead={"message": "say"},
            description=write.DESCRIPTION,
            family="files",
            tool=True,
            does="write",
            always_offered=True,
            assess=routed(tools.paths, partial(write.assess, workspace), virtual.assess_write),
            complete=tools.complete,
        ),
        Command(
            name="edit",
            summary="Replace one piece of text in a file",
            parameters=edit.EditParameters,
            handler=tools.problems.of_edit(routed(tools.paths, partial(edit.run, workspace), virtual.refuse)),
            access=Access.AGENT_PRIMARY,
            effect=Effect.WRITE,
            positions=("path", "old_text", "new_text"),
            description=edit.DESCRIPTION,
            details=edit.DETAILS,
            family="files",
            tool=True,
            does="edit",
            always_offered=True,
            assess=routed(tools.paths, partial(edit.assess, workspace), virtual.refuse),
            complete=tools.complete,
        ),
        Command(
            name="append",
            summary="Add lines at the end of a file",
            parameters=AppendParameters,
            handler=tools.problems.of_edit(changes.append),
            effect=Effect.WRITE,
            positions=("path", "content"),
            family="files",
            tool=True,
            does="write",
            assess=changes.assess_append,
            complete=tools.complete,
        ),
        Command(
            name="mkdir",
            summary="Make a folder",
            parameters=MkdirParameters,
            handler=changes.mkdir,
            effect=Effect.WRITE,
            positions=("path",),
            family="files",
            tool=True,
            does="make",
            assess=changes.assess_mkdir,
            complete=tools.complete,
        ),
        Command(
            name="rm",
            summary="Remove a file, or a folder with its files",
            parameters=RemovePath,
            handler=changes.remove.handle,
            effect=Effect.WRITE,
            positions=("path",),
            family="files",
            tool=True,
            does="remove",
            assess=changes.assess_rm,
            complete=tools.complete,
            actions=(changes.remove,),
        ),
    ]


def _running(workspace: Workspace, problems: ChangeProblems) -> list[Command[Any]]:
    worktrees = git_worktree.WorktreeCommand(workspace)
    return [
        Command(
            name="bash",
            summary="Run a command in its own shell",
            parameters=bash.BashParameters,
            handler=problems.of_command(partial(bash.run, workspace)),
            access=Access.AGENT_PRIMARY,
            effect=Effect.EXECUTE,
            positions=("command",),
            description=bash.DESCRIPTION,
            details=bash.DETAILS,
            family="run",
            tool=True,
            does="run",
            always_offered=True,
            assess=partial(bash.assess, workspace),
            complete=complete_path,
        ),
        Command(
            name="git_commit",
            summary="Commit what is staged, or every change",
            parameters=git_commit.CommitParameters,
            handler=partial(git_commit.run, workspace),
            access=Access.AGENT_PRIMARY,
            effect=Effect.WRITE,
            positions=("message",),
            description=git_commit.DESCRIPTION,
            family="run",
            tool=True,
            assess=partial(git_commit.assess, workspace),
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
