"""The tools that every agent has, declared as commands: for files, virtual ones too, bash, git_commit and git_worktree.

Registers nothing by itself; the hub calls `commands` and registers what it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec.structs import replace

from gshtui.commands.declaration import Access, Assess, Command, Does, Effect, Handler, P
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.tools.files import edit, glob, grep, read, write
from gshtui.tools.files.change_problems import ChangeChecker, ChangeProblems
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
from gshtui.vfs import FileSystem


def commands(
    config: ToolConfig,
    paths: FilePaths | None = None,
    checker: Callable[[], ChangeChecker] | None = None,
) -> list[Command[Any]]:
    """Return the tools, which share one memory of which agent has read which file. `paths`: what paths mean in this
    hub; without it, all of them are real. `checker`: gives what checks changed files; `None`: nothing does.
    """
    workspace = Workspace(config)
    tools = _Tools(workspace, paths or FilePaths(FileSystem(), {}), checker)
    declared = [*_reading(tools), *_viewing(tools), *_changing(tools), *_running(workspace, tools.problems)]
    return [replace(command, acts=True) for command in declared]


class _Tools:
    """What the declarations share."""

    def __init__(self, workspace: Workspace, paths: FilePaths, checker: Callable[[], ChangeChecker] | None) -> None:
        self.workspace = workspace
        self.paths = paths
        self.views = FileViews(workspace, paths)
        self.changes = FileChanges(workspace, paths)
        self.virtual = VirtualTools(workspace.config, paths, self.views, self.changes)
        self.routed = partial(routed, paths)
        self.problems = ChangeProblems(paths, checker)
        """Adds what there is to say of a change."""

    def command(
        self,
        name: str,
        summary: str,
        does: Does,
        parameters: type[P],
        run: Handler[P],
        assess: Assess[P],
        *places: str,
        **more: Any,
    ) -> Command[P]:
        """A tool for files. `places`: its parameters by position."""
        about: dict[str, Any] = {"family": "files", "tool": True, "does": does, "complete": self.views.complete}
        return Command(name, summary, parameters, run, assess=assess, positions=places, **about, **more)


def _reading(tools: _Tools) -> list[AnyCommand]:
    virtual, workspace = tools.virtual, tools.workspace
    search = tools.routed(partial(grep.run, workspace), virtual.grep)
    return [
        tools.command(
            "read",
            "Read a file, or list a folder",
            "read",
            read.ReadParameters,
            tools.routed(partial(read.run, workspace), virtual.read),
            tools.routed(partial(read.assess, workspace), virtual.assess_read),
            *("path", "start_line", "end_line"),
            description=read.DESCRIPTION,
            details=read.DETAILS,
            always_offered=True,
        ),
        tools.command(
            "glob",
            "Find files by path pattern",
            "search",
            glob.GlobParameters,
            tools.routed(partial(glob.run, workspace), virtual.refuse),
            tools.routed(partial(glob.assess, workspace), virtual.refuse),
            *("pattern", "path"),
            description=glob.DESCRIPTION,
            details=glob.DETAILS,
            always_offered=True,
        ),
        tools.command(
            "grep",
            "Search file contents",
            "search",
            grep.GrepParameters,
            grep.piped(workspace.config, search),
            grep.assessed(tools.routed(partial(grep.assess, workspace), virtual.assess_read)),
            *("pattern", "path"),
            description=grep.DESCRIPTION,
            details=grep.DETAILS,
            always_offered=True,
        ),
    ]


def _viewing(tools: _Tools) -> list[AnyCommand]:
    views, command, part = tools.views, tools.command, PartParameters
    first, last = "Show the first lines of a file", "Show the last lines of a file"
    cd = "Work in another folder"
    return [
        command("cat", "Show files whole", "read", CatParameters, views.cat, views.assess_cat, "path"),
        command("head", first, "read", part, views.head, views.assess_part, "path", "n"),
        command("tail", last, "read", part, views.tail, views.assess_part, "path", "n"),
        command("ls", "List a folder", "list", LsParameters, views.ls, views.assess_ls, "path"),
        # A write, so that the calls behind it in an answer wait for it.
        command("cd", cd, "go", CdParameters, views.cd, views.assess_cd, "to", effect=Effect.WRITE),
        command("pwd", "Print the working folder", "", PwdParameters, views.pwd, views.assess_nothing, guests=True),
    ]


def _changing(tools: _Tools) -> list[AnyCommand]:
    virtual, changes, workspace = tools.virtual, tools.changes, tools.workspace
    write_it, effect = tools.routed(partial(write.run, workspace), virtual.write), Effect.WRITE
    add, make = changes.assess_append, changes.assess_mkdir
    return [
        tools.command(
            "write",
            "Write a whole file",
            "write",
            write.WriteParameters,
            tools.problems.of_edit(write_it),
            tools.routed(partial(write.assess, workspace), virtual.assess_write),
            *("path", "content"),
            effect=effect,
            instead={"message": "say"},
            description=write.DESCRIPTION,
            always_offered=True,
        ),
        tools.command(
            "edit",
            "Replace one piece of text in a file",
            "edit",
            edit.EditParameters,
            tools.problems.of_edit(tools.routed(partial(edit.run, workspace), virtual.refuse)),
            tools.routed(partial(edit.assess, workspace), virtual.refuse),
            *("path", "old_text", "new_text"),
            access=Access.AGENT_PRIMARY,
            effect=effect,
            description=edit.DESCRIPTION,
            details=edit.DETAILS,
            always_offered=True,
        ),
        tools.command(
            "append",
            "Add lines at the end of a file",
            "write",
            AppendParameters,
            tools.problems.of_edit(changes.append),
            add,
            "path",
            "content",
            effect=effect,
        ),
        tools.command("mkdir", "Make a folder", "make", MkdirParameters, changes.mkdir, make, "path", effect=effect),
        tools.command(
            "rm",
            "Remove a file, or a folder with its files",
            "remove",
            RemovePath,
            changes.remove.handle,
            changes.assess_rm,
            "path",
            effect=effect,
            actions=(changes.remove,),
        ),
    ]


def _running(workspace: Workspace, problems: ChangeProblems) -> list[Command[Any]]:
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
        group(
            "git_worktree",
            "Create, list, compare, merge and remove git worktrees",
            *git_worktree.WorktreeCommand(workspace).actions,
            family="run",
            bare="",
            access=Access.AGENT_PRIMARY,
            assess=partial(git_worktree.assess, workspace),
            complete=complete_path,
            description=git_worktree.DESCRIPTION,
            tool=True,
            acts=True,
        ),
    ]
