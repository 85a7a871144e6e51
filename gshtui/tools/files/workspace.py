"""What the file tools share: their limits, and the memory of which agent read which file in which state.

In memory only: after a restart an agent must read a file again before it overwrites it.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from gshtui.commands.declaration import Invocation

if TYPE_CHECKING:
    from gshtui.guard.sandbox.sandboxes import Sandboxes
    from gshtui.settings.model import Settings

_HASHED = 16 * 1024 * 1024
"""Largest file, in bytes, whose content is compared; larger ones by size and time only."""
_REMEMBERED = 4096

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class ToolConfig:
    """Limits and policy of the tools."""

    environ: Mapping[str, str] = field(repr=False)
    """Of whoever opened the folder; commands get what is passed on of it."""
    max_output_bytes: int = 30_000
    """Bytes of a result if the caller does not say; 0: unlimited."""
    max_full_bytes: int = 50_000_000
    """Bytes of a command's output that are kept; beyond that, only the first and the last half."""
    bash_timeout_ms: int = 120_000
    max_timeout_ms: int = 3_600_000
    search_timeout_s: float = 30.0
    git_timeout_s: float = 60.0
    ripgrep: str = "rg"
    """Program that `grep` runs."""
    bash: str = "bash"
    worktrees_inside: bool = False
    """Create worktrees under `.gsh/worktrees` of the repository, not beside it."""
    worktree_setup: tuple[str, ...] = ()
    """Command to run in a new worktree, once a person has agreed to it."""
    environment: tuple[str, ...] = ()
    """Variables that agents' commands get besides the usual ones."""
    sandboxes: Sandboxes | None = None
    """For commands that nobody is asked about; `None`: there are none."""

    @classmethod
    def from_settings(
        cls, settings: Settings, environ: Mapping[str, str], sandboxes: Sandboxes | None = None
    ) -> ToolConfig:
        """Read the configuration from the settings and the environment of whoever opened the folder."""
        return cls(
            environ=environ,
            max_output_bytes=settings.context.max_tool_output_bytes,
            worktrees_inside=settings.worktrees.place == "inside",
            worktree_setup=tuple(settings.worktrees.setup),
            environment=tuple(settings.sandbox.environment),
            sandboxes=sandboxes,
        )


class Fingerprint(msgspec.Struct, frozen=True):
    """A file's state: equal when nothing was written in between."""

    mtime_ns: int
    size: int
    digest: bytes = b""
    """Hash of the content; empty for files over 16 MB."""

    def same_content(self, other: Fingerprint) -> bool:
        """Whether the content is unchanged, ignoring mtime."""
        if self.digest and other.digest:
            return self.digest == other.digest
        return (self.mtime_ns, self.size) == (other.mtime_ns, other.size)


def fingerprint(mtime_ns: int, content: bytes) -> Fingerprint:
    """Return the state of a file with this content."""
    digest = hashlib.blake2b(content, digest_size=16).digest() if len(content) <= _HASHED else b""
    return Fingerprint(mtime_ns, len(content), digest)


class AssessedLine(msgspec.Struct, frozen=True):
    """What a person or the policy was told about a shell line, and what must still be so when it runs."""

    inside: bool
    """It clearly stays inside the project."""
    leads_to: tuple[str, ...]
    """Where its words lead, outside the project or to secrets."""


class Workspace(msgspec.Struct):
    """The shared state of one hub's file tools."""

    config: ToolConfig
    _seen: OrderedDict[tuple[str, str, str], Fingerprint] = msgspec.field(
        default_factory=OrderedDict[tuple[str, str, str], Fingerprint]
    )
    _assessed: OrderedDict[tuple[str, str], str] = msgspec.field(default_factory=OrderedDict[tuple[str, str], str])
    _lines: OrderedDict[str, AssessedLine] = msgspec.field(default_factory=OrderedDict[str, AssessedLine])
    _trees: OrderedDict[str, str] = msgspec.field(default_factory=OrderedDict[str, str])

    def record_read(self, invocation: Invocation, real: Path, state: Fingerprint) -> None:
        """Remember that the caller has read or written the file in this state."""
        _remember(self._seen, (invocation.session, invocation.caller.name, str(real)), state)

    def last_read(self, invocation: Invocation, real: Path) -> Fingerprint | None:
        """Return the state in which the caller last saw the file, if any."""
        return self._seen.get((invocation.session, invocation.caller.name, str(real)))

    def record_assessed(self, invocation: Invocation, asked: str, real: Path) -> None:
        """Remember which real path the person is shown when asked about this call."""
        if invocation.call:
            _remember(self._assessed, (invocation.call, asked), str(real))

    def record_line(self, invocation: Invocation, line: AssessedLine) -> None:
        """Remember how the line of this call was judged, whether a person was asked or not."""
        if invocation.call:
            _remember(self._lines, invocation.call, line)

    def assessed_line(self, invocation: Invocation) -> AssessedLine | None:
        """How the line of this call was judged, if it was."""
        return self._lines.get(invocation.call) if invocation.call else None

    def record_tree(self, invocation: Invocation, tree: str) -> None:
        """Remember which files, by git's name for all of them, this call was judged to commit."""
        if invocation.call:
            _remember(self._trees, invocation.call, tree)

    def assessed_tree(self, invocation: Invocation) -> str:
        """The files that this call was judged to commit; empty if it was not."""
        return self._trees.get(invocation.call, "") if invocation.call else ""

    def approved_path(self, invocation: Invocation, asked: str) -> str:
        """Return the real path shown to the person when this call was approved, or an empty string."""
        return self._assessed.get((invocation.call, asked), "") if invocation.call else ""


def _remember(memory: OrderedDict[K, V], key: K, value: V) -> None:
    memory[key] = value
    memory.move_to_end(key)
    if len(memory) > _REMEMBERED:
        memory.popitem(last=False)
